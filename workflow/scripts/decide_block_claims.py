"""Decide what [rrba] claims in words, from the tables of this run."""

import pandas as pd

from deniable.files import write_table
from deniable.papers.rrba.claims.decided import Tables, claims

from job import job

with job(snakemake):
    found = snakemake.input
    tables = Tables(
        distances=pd.concat(map(pd.read_csv, found.distances)),
        **{
            name: pd.read_csv(found[name])
            for name in ("equal", "figure_5", "figure_6", "table_3", "power")
        },
    )
    write_table(snakemake.output[0], claims(tables))
