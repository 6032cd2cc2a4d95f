"""Audit individual differential privacy by microaggregation on one data set."""

from deniable.files import write_table
from deniable.records import read_true_records

from reproduction.papers.idp.audit import audit_table, cluster_table
from reproduction.pipeline import job

with job(snakemake):
    name, data = snakemake.wildcards.dataset, read_true_records(snakemake.input.data)
    settings = dict(snakemake.params.settings)
    sizes = {each: settings.pop(f"{each}_k") for each in ("census", "wine")}[name]
    audit = audit_table(name, data, snakemake.params.seed, k=sizes, **settings)
    write_table(snakemake.output.audit, audit)
    clusters = cluster_table(name, data, sizes, settings["domain_factors"])
    write_table(snakemake.output.clusters, clusters)
