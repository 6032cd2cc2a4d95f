"""Draw a test release according to its plan."""

from pathlib import Path

from deniable.plans import read_plan
from deniable.release import ReleaseSettings, protect_test

from reproduction.pipeline import data_source, job

with job(snakemake):
    given, params = snakemake.input, snakemake.params
    settings = ReleaseSettings.model_validate(params.release)
    protect_test(
        given.records[0],
        read_plan(given.plan[0]),
        Path(snakemake.output.public).parent,
        params.seed,
        name=settings.name,
        quasi_identifiers=settings.quasi_identifiers,
        outside_bounds=settings.outside_bounds,
        data_source=data_source(settings, given.source),
    )
