"""Estimate tables of a release by two-step maximum likelihood, with and without independence."""

from deniable.analysis import Released, as_result
from deniable.files import write_table

from reproduction.pipeline import job

with job(snakemake):
    public, tables = snakemake.params.public, snakemake.params.tables
    write_table(snakemake.output[0], as_result(public, Released(public).two_step, tables))
