"""Audit individual differential privacy by microaggregation on a data set."""

from deniable.files import write_table
from deniable.papers.idp.audit import AuditGrid, audit_table, cluster_table
from deniable.records import read_numeric_parquet

from job import job

with job(snakemake):
    name, seed = snakemake.wildcards.dataset, snakemake.params.seed
    data = read_numeric_parquet(snakemake.input.data)
    grid = AuditGrid(**snakemake.params.settings)
    write_table(snakemake.output.audit, audit_table(name, data, grid, seed))
    write_table(snakemake.output.clusters, cluster_table(name, data, grid))
