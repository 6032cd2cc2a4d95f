"""Estimate from what a release protects, and from what it says of itself, step by step."""

from pathlib import Path

from deniable.release import LANES, read_made, release_from, write_made

from job import job

with job(snakemake):
    release = release_from(snakemake.params.release)
    folder = Path(snakemake.output[0]).parent
    for step in LANES[release.lane].estimates[snakemake.params.stage]:
        made = read_made(folder / file for file in step.reads)
        seed = [snakemake.params.seed] if step.seeded else []
        write_made([folder / file for file in step.leaves], step(release, made, *seed))
