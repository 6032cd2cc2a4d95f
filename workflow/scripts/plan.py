"""Make the plan of a release, and verify its epsilon from the plan file alone."""

from pathlib import Path

from deniable.files import kept_private, write_table
from deniable.plans import read_plan, verify_plan, write_plan
from deniable.release import ReleaseSettings
from deniable.responses import protected_file
from deniable.schema import RecordsFile, read_schema

from reproduction.pipeline import job

with job(snakemake):
    given, made = snakemake.input, snakemake.output
    settings = ReleaseSettings.model_validate(snakemake.params.release)
    schema = read_schema(given.schema[0]) if given.schema else None
    data = RecordsFile.open(given.records[0], schema) if given.records else None
    released = {}
    for name in settings.options.releases:
        public = Path("results/releases", name, "public")
        plan = read_plan(public / "plan.json")
        released[name] = plan.responses(protected_file(public, plan.protected_name))
    kept_private(Path(made.plan).parent)
    write_plan(made.plan, settings.make_plan(schema, data, released))
    write_table(made.verified, verify_plan(made.plan))
