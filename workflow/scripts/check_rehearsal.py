"""Set the estimates of a rehearsal, and what is made from them, beside the truth."""

from deniable.records import read_true_records
from deniable.release import LANES, read_made, release_from, write_made

from job import job

with job(snakemake):
    release, files = release_from(snakemake.params.release), snakemake.input
    data, made = read_true_records(files.data[0]), read_made(files.made)
    check = LANES[release.lane].check
    write_made(snakemake.output, check(release, made, data, snakemake.params.seed, *files.network))
