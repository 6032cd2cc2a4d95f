"""Write the report: one page that opens without a network."""

from job import job

from deniable import report
from deniable.files import write_text

with job(snakemake):
    write_text(snakemake.output[0], report.render(report.gather(snakemake.input, snakemake.params.config)))
