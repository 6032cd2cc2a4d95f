"""Draw a file of [rrba] from its Bayesian network, with the same records each time."""

from functools import partial
from pathlib import Path

from deniable.datasets import drawn_file, from_resources, write_schema

from reproduction.pipeline import job

with job(snakemake):
    folder, name = Path(snakemake.input.networks[0]).parent, snakemake.wildcards.file
    drawn = drawn_file(name, partial(from_resources, folder=folder))
    drawn.write_parquet(snakemake.output.records, private=True)
    write_schema(snakemake.output.schema, drawn, name)
