"""Write the report: one page that opens without a network."""

from deniable.files import write_text
from deniable.report import render as report

from job import job

with job(snakemake):
    write_text(
        snakemake.output[0], report.render(report.gather(snakemake.input, snakemake.params.config))
    )
