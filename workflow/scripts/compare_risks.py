"""Confront "equal risk" with every epsilon that is spent, assessing dependences included."""

import pandas as pd

from deniable.files import write_table
from deniable.randomized_response import cluster_attributes, risk_table, waiver_table
from deniable.records import read_parquet
from deniable.study import values_of

from job import job

with job(snakemake):
    grids = snakemake.params.study["grids"]
    data = read_parquet(snakemake.input.data)
    measured = pd.read_csv(snakemake.input.dependences)
    probabilities, least = values_of(grids, "p"), min(values_of(grids, "t_d"))
    clusters = {
        t_v: cluster_attributes(data.domain, measured, t_v, least)
        for t_v in values_of(grids, "t_v")
    }
    risk = risk_table(data.domain, clusters, probabilities)
    # Which clusters there are depends on the data.
    write_table(snakemake.output.risk, risk.assign(data_source=data.marks["data_source"]))
    write_table(snakemake.output.waiver, waiver_table(probabilities))
