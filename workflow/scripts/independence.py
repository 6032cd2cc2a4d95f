"""Test the independence of the columns of each table, adjusted for randomization and number."""

from deniable.analysis import Released, as_result
from deniable.files import write_table

from reproduction.pipeline import job

with job(snakemake):
    public, tables = snakemake.params.public, snakemake.params.tables
    table = as_result(public, Released(public).independence_of_pairs, tables)
    write_table(snakemake.output[0], table)
