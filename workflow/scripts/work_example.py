"""Work Example 1 of [multirr], section 5, in fractions."""

from deniable.files import write_table
from deniable.papers.multirr.example_1 import example_1

from job import job

with job(snakemake):
    write_table(snakemake.output[0], example_1(sweeps=100))
