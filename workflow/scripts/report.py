"""Write the report: one page that opens without a network."""

from deniable import report
from deniable.files import write_text

from job import job

with job(snakemake):
    write_text(
        snakemake.output[0], report.render(report.gather(snakemake.input, snakemake.params.config))
    )
