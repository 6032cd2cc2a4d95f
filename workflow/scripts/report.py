"""Write the report as pages in a folder or as one file; both work offline."""

from reproduction.pipeline import job
from reproduction.report import gather, write

with job(snakemake):
    write(snakemake.output[0], gather(snakemake.input, snakemake.params.config))
