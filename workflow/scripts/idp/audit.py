"""Audit individual differential privacy by microaggregation on each data set."""

from deniable.files import write_table
from deniable.records import read_true_records

from reproduction.papers.idp.audit import audit_table, cluster_table, of_datasets
from reproduction.pipeline import job

with job(snakemake):
    records = {name: read_true_records(file) for name, file in snakemake.input.items()}
    sources = [data.marks["data_source"] for data in records.values()]
    settings = dict(snakemake.params.settings)
    sizes = [settings.pop(f"{name}_k") for name in records]
    audits, clusters = [], []
    for (name, data), k in zip(records.items(), sizes, strict=True):
        audits.append(audit_table(name, data, snakemake.params.seed, k=k, **settings))
        clusters.append(cluster_table(name, data, k, settings["domain_factors"]))
    write_table(snakemake.output.audit, of_datasets(audits, sources))
    write_table(snakemake.output.clusters, of_datasets(clusters, sources))
