"""Draw a file of [rrba] from its Bayesian network: the same records each time."""

from pathlib import Path

from deniable.datasets import drawn_from_resources

from reproduction.pipeline import job

with job(snakemake):
    folder = Path(snakemake.input.networks[0]).parent
    drawn = drawn_from_resources(snakemake.wildcards.file, folder)
    drawn.write_parquet(snakemake.output[0], private=True)
