"""Estimate from what a release protects, and from what it says of itself."""

from deniable.pipeline import release_from
from deniable.release import LANES, read_made, write_made

from job import job

with job(snakemake):
    release = release_from(snakemake.params.release)
    estimates = LANES[release.lane].estimate(release, read_made(snakemake.input))
    write_made(snakemake.output, estimates)
