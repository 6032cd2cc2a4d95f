"""Test whether the published trend over T_d exceeds chance."""

import pandas as pd

from deniable.files import read_table, write_table

from reproduction.papers.multirr.verdicts import threshold_trend
from reproduction.pipeline import job

with job(snakemake):
    published = pd.concat(map(read_table, snakemake.input.tables))
    trend = threshold_trend(published, read_table(snakemake.input.clusters))
    write_table(snakemake.output.threshold_trend, trend)
