"""Test whether printed numbers that differ only in T_d differ by more than chance."""

import pandas as pd

from deniable.files import write_table
from deniable.papers.multirr.threshold_trend import threshold_trend

from job import job

with job(snakemake):
    results = pd.concat(map(pd.read_csv, snakemake.input.tables))
    trend = threshold_trend(results, pd.read_csv(snakemake.input.clusters))
    write_table(snakemake.output[0], trend)
