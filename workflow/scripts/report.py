"""Write the report: pages in a folder, or one file; both open without a network."""

from deniable.report import gather, write

from job import job

with job(snakemake):
    write(snakemake.output[0], gather(snakemake.input, snakemake.params.config))
