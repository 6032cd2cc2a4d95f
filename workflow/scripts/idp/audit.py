"""Join the audits of individual differential privacy on each data set."""

from pathlib import Path

from deniable.files import read_table, write_table
from deniable.records import read_true_records

from reproduction.papers.idp.audit import of_datasets
from reproduction.pipeline import job

with job(snakemake):
    found = snakemake.input
    records = {Path(file).stem: read_true_records(file) for file in found.data}
    sources = {name: data.marks["data_source"] for name, data in records.items()}
    parts = (found.audits, found.clusters, found.attacks, found.protection)
    for files, output in zip(parts, snakemake.output, strict=True):
        tables = dict(zip(records, map(read_table, files), strict=True))
        write_table(output, of_datasets(tables, sources))
