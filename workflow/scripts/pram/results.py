"""Check all numbered results of [pram] on small cases."""

from deniable.files import write_table

from reproduction.papers.pram.numbered_results import numbered_results
from reproduction.pipeline import job

with job(snakemake):
    write_table(snakemake.output.results, numbered_results(snakemake.input.said))
