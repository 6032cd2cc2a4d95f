"""Hold the samplers of all releases against the matrices in their channel files."""

import pandas as pd

from deniable.files import read_json, write_table
from deniable.release import PUBLIC, folders_of
from deniable.release.categorical import SAMPLER_COLUMNS, audit_release_samplers

from reproduction.pipeline import job

with job(snakemake):
    folders = folders_of(snakemake.input.releases)
    descriptions = [read_json(folder / PUBLIC / "release.json") for folder in folders]
    tests = [audit_release_samplers(each, snakemake.params.seed) for each in descriptions]
    nothing = pd.DataFrame(columns=SAMPLER_COLUMNS)
    write_table(snakemake.output[0], pd.concat(tests) if tests else nothing)
