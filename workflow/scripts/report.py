"""Write the report: pages in a folder, or one file; both open without a network."""

from reproduction.pipeline import job
from reproduction.report import gather, write

with job(snakemake):
    write(snakemake.output[0], gather(snakemake.input, snakemake.params.config))
