"""Draw a release: randomize every record, or ask every client, as its design says."""

from pathlib import Path

from deniable.pipeline import OWNERS_COPIES
from deniable.records import read_true_records
from deniable.release import LANES, key_for, read_made, release_from, write_made

from job import job

with job(snakemake):
    release, design = release_from(snakemake.params.release), read_made(snakemake.input.design)
    data = read_true_records(snakemake.input.data[0])
    folder, private = Path(snakemake.output[0]).parent, Path(OWNERS_COPIES) / release.name
    key = key_for(release, snakemake.params.seed, folder, data, design, private)
    drawn = LANES[release.lane].draw(release, design, data, key)
    write_made(snakemake.output, drawn)
