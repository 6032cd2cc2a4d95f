"""Compare the estimates of a test release with the original records."""

from pathlib import Path

import pandas as pd

from deniable.analysis import Released, as_result, with_matrices
from deniable.files import kept_private, read_table, write_table
from deniable.sampling import generator_for
from deniable.schema import RecordsFile

from reproduction.pipeline import job

with job(snakemake):
    given, public = snakemake.input, snakemake.params.public
    released = Released(public)
    plan, responses = with_matrices(public, released)
    records = RecordsFile.open(given.records, plan.schema, passed=plan.passed)
    original = plan.original_records(records.portions())
    names = ("margins", "pairs", "consistent", "two_step", "independence", "weights")
    estimates = {name: read_table(given[name]) for name in names}
    estimates["synthetic"] = pd.read_parquet(given.synthetic)
    key = {"release": snakemake.wildcards.release, "check": "redraws"}
    generator = generator_for(snakemake.params.seed, key)
    compared = (responses, original, estimates, generator)
    if snakemake.params.private:
        kept_private(Path(snakemake.output[0]).parent)
    write_table(snakemake.output[0], as_result(public, plan.compare_with_original, *compared))
