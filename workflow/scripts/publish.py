"""Draw and publish a production release according to its plan, once."""

from pathlib import Path

from deniable.plans import read_plan
from deniable.release import ReleaseSettings, protect

from reproduction.pipeline import data_source, job

with job(snakemake):
    given, params = snakemake.input, snakemake.params
    settings = ReleaseSettings.model_validate(params.release)
    protect(
        given.records[0],
        read_plan(given.plan[0]),
        Path(snakemake.output[0]).parents[1],
        name=settings.name,
        ledger=params.ledger,
        consent=settings.consent,
        matched=settings.matched,
        quasi_identifiers=settings.quasi_identifiers,
        outside_bounds=settings.outside_bounds,
        key_folder=params.key_folder,
        approval=settings.approval,
        data_source=data_source(settings, given.source),
        settings=settings.stated(),
    )
