"""Decide what [multirr] claims in words, from the tables of this run."""

import pandas as pd

from deniable.files import write_table
from deniable.papers.multirr.claims import Tables, claims

from job import job

with job(snakemake):
    found = snakemake.input
    compared = [found.multirr_table1, found.multirr_table2, found.multirr_sensitivity]
    thresholds = pd.concat(map(pd.read_csv, compared)).rename(columns={"regenerated": "median"})
    tables = Tables(
        gains=pd.read_csv(found.multirr_gains),
        methods=pd.read_csv(found.multirr_projections),
        thresholds=thresholds[thresholds["matrix"] == "printed"],
        attributes=pd.read_csv(found.multirr_attributes),
        clusters=pd.read_csv(found.clusters),
    )
    write_table(snakemake.output[0], claims(tables))
