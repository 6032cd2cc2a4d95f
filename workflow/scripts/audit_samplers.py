"""Test the samplers of all releases against their transition matrices."""

from deniable.files import read_json, write_table
from deniable.plans import plan_from_json

from reproduction.papers import audit_samplers
from reproduction.pipeline import job
from reproduction.report import public_folders

with job(snakemake):
    plans = (read_json(each / "plan.json") for each in public_folders(snakemake.input.releases))
    releases = {plan["release"]["name"]: plan_from_json(plan).channels() for plan in plans}
    write_table(snakemake.output[0], audit_samplers(releases, snakemake.params.seed))
