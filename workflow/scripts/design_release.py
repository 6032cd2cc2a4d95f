"""Design a release: what its records go through, and what that promises."""

from pathlib import Path

from deniable.datasets import load_manifest
from deniable.pipeline import OWNERS_COPIES
from deniable.records import read_true_records
from deniable.release import LANES, key_for, release_from, write_made

from job import job

with job(snakemake):
    release = release_from(snakemake.params.release)
    data = read_true_records(snakemake.input.data[0])
    # Of numbers alone, whose bounds it states.
    bounds = [load_manifest(file)[release.data].bounds for file in snakemake.input.manifest]
    folder, private = Path(snakemake.output[0]).parent, Path(OWNERS_COPIES) / release.name
    key = key_for(release, snakemake.params.seed, folder, data, private=private)
    made = LANES[release.lane].design(release, data, key, *bounds)
    write_made(snakemake.output, made)
