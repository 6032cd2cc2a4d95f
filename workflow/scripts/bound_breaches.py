"""Tabulate breach bounds, priors that approach them, and an intruder who knows Adult's margins."""

from deniable.files import write_table
from deniable.papers.pram import breaches as pram_breaches
from deniable.records import read_parquet

from job import job

ATTRIBUTES = ("education", "occupation", "income")

with job(snakemake):
    data = read_parquet(snakemake.input.data)
    write_table(snakemake.output.bounds, pram_breaches.bound_table())
    write_table(snakemake.output.thresholds, pram_breaches.threshold_table())
    write_table(snakemake.output.approach, pram_breaches.approach_table())
    source = data.marks["data_source"]
    intruder = pram_breaches.intruder_table(data, ATTRIBUTES)
    write_table(snakemake.output.intruder, intruder.assign(data_source=source))
    worst = pram_breaches.worst_set_table(data, ATTRIBUTES)
    write_table(snakemake.output.worst_sets, worst.assign(data_source=source))
