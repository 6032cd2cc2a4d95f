"""Hold every numbered result of [pram] against small cases."""

from deniable.files import write_table
from deniable.papers.pram.numbered_results import numbered_results

from job import job

with job(snakemake):
    write_table(snakemake.output[0], numbered_results())
