"""Test the samplers of all releases against their transition matrices."""

import pandas as pd

from deniable.files import read_json, write_table
from deniable.plans import plan_from_json

from reproduction.papers import SAMPLER_COLUMNS, audit_samplers
from reproduction.pipeline import job
from reproduction.report import public_folders

with job(snakemake):
    tests = [pd.DataFrame(columns=list(SAMPLER_COLUMNS))]
    for public in public_folders(snakemake.input.releases):
        document = read_json(public / "plan.json")
        name, channels = document["release"]["name"], plan_from_json(document).channels()
        tests.append(audit_samplers(name, channels, snakemake.params.seed))
    write_table(snakemake.output[0], pd.concat([each for each in tests if len(each)] or tests))
