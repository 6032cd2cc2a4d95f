"""Estimate something of all tables of a release: the method of `Released` that a rule names."""

from deniable.analysis import Released, as_result
from deniable.files import write_table

from reproduction.pipeline import job

with job(snakemake):
    public, tables = snakemake.params.public, snakemake.params.tables
    estimate = getattr(Released(public), snakemake.params.estimate)
    write_table(snakemake.output[0], as_result(public, estimate, tables))
