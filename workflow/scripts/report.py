"""Write the report: pages in a folder, or one file; both open without a network."""

from deniable.report.contents import gather
from deniable.report.render import write

from job import job

with job(snakemake):
    write(snakemake.output[0], gather(snakemake.input, snakemake.params.config))
