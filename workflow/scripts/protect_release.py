"""Draw a release: randomize every record, or ask every client, as its design says."""

from deniable.records import read_true_records
from deniable.release import LANES, read_made, release_from, write_made

from job import job

with job(snakemake):
    release, design = release_from(snakemake.params.release), read_made(snakemake.input.design)
    data = read_true_records(snakemake.input.data[0])
    drawn = LANES[release.lane].draw(release, design, data, snakemake.params.seed)
    write_made(snakemake.output, drawn)
