"""Join what the audit found on each data set, with the source of its records."""

import pandas as pd

from deniable.files import write_table
from deniable.papers.idp.audit import of_datasets
from deniable.records import read_numeric_parquet

from job import job

DATASETS = ("census", "wine")

with job(snakemake):
    found = snakemake.input
    sources = {
        name: read_numeric_parquet(found[f"{name}_data"]).marks["data_source"] for name in DATASETS
    }
    for output, part in (("audit", ""), ("clusters", "_clusters"), ("attacks", "_attacks"),
                         ("protection", "_protection")):  # fmt: skip
        tables = {
            name: pd.read_csv(found[f"{name}{part}"], dtype={"k": "Int64", "holds": "boolean"})
            for name in DATASETS
        }
        write_table(snakemake.output[output], of_datasets(tables, sources))
