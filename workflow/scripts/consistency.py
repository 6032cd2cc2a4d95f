"""Make the estimated tables of a release consistent with each other."""

from deniable.analysis import Released, as_results, with_full_precision
from deniable.files import write_table

from reproduction.pipeline import job

with job(snakemake):
    public, tables = snakemake.params.public, snakemake.params.tables
    names = ("tables", "disagreement")
    found = as_results(public, names, Released(public).consistent, tables)
    for file, table in zip(snakemake.output, found, strict=True):
        write_table(file, with_full_precision(table, ["consistent"]))
