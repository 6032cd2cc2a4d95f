"""Draw a file of [rrba] from its Bayesian network: the same records each time."""

from pathlib import Path

from deniable.datasets import drawn_from_resources, write_schema

from reproduction.pipeline import job

with job(snakemake):
    folder, name = Path(snakemake.input.networks[0]).parent, snakemake.wildcards.file
    drawn = drawn_from_resources(name, folder)
    drawn.write_parquet(snakemake.output.records, private=True)
    write_schema(snakemake.output.schema, drawn, name)
