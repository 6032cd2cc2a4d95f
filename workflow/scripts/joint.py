"""Estimate one consistent joint distribution of all columns of a release."""

from deniable.analysis import Released, release_of
from deniable.errors import DataError, DeniableError
from deniable.files import json_line, write_text

from reproduction.pipeline import job

with job(snakemake):
    released = Released(snakemake.params.public)
    try:
        found = released.joint(weight=released.plan.weight).to_json()
    except DataError:
        raise
    except DeniableError as error:
        found = {"note": str(error)}
    about = {"release": dict(release_of(snakemake.params.public))}
    write_text(snakemake.output[0], json_line(found | about) + "\n")
