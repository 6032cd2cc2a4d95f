"""Decide what [idp] claims in words, from the tables of this run."""

import pandas as pd

from deniable.files import write_table
from deniable.papers.idp.claims.decided import claims
from deniable.papers.idp.claims.tables import Tables
from deniable.records import read_numeric_parquet

from job import job

with job(snakemake):
    found = snakemake.input
    tables = [
        Tables(
            name,
            read_numeric_parquet(found[name]),
            pd.read_csv(found[f"{name}_sse"]),
            pd.read_csv(found[f"{name}_forests"]),
        )
        for name in ("census", "wine")
    ]
    write_table(snakemake.output[0], pd.concat(map(claims, tables)))
