"""Compare the estimates of a test release with the original records."""

from pathlib import Path

import pandas as pd

from deniable.analysis import compare_test_release
from deniable.files import kept_private, read_table, write_table

from reproduction.pipeline import job

with job(snakemake):
    given, params = snakemake.input, snakemake.params
    names = ("margins", "pairs", "consistent", "two_step", "independence", "weights")
    estimates = {name: read_table(given[name]) for name in names}
    estimates["synthetic"] = pd.read_parquet(given.synthetic)
    compared = compare_test_release(params.public, given.records, params.seed, estimates)
    if params.private:
        kept_private(Path(snakemake.output[0]).parent)
    write_table(snakemake.output[0], compared)
