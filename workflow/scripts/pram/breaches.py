"""Compute bounds on the information that a randomized value gives an intruder."""

from deniable.files import write_table
from deniable.records import read_true_records

from reproduction.papers.pram import breaches
from reproduction.pipeline import job

with job(snakemake):
    adult = read_true_records(snakemake.input.adult)
    source = adult.marks["data_source"]
    intruder = breaches.intruder_table(adult, breaches.ATTRIBUTES).assign(data_source=source)
    worst_sets = breaches.worst_set_table(adult, breaches.ATTRIBUTES).assign(data_source=source)
    write_table(snakemake.output.breach_bounds, breaches.bound_table())
    write_table(snakemake.output.breach_thresholds, breaches.threshold_table())
    write_table(snakemake.output.approach, breaches.approach_table())
    write_table(snakemake.output.intruder, intruder)
    write_table(snakemake.output.worst_sets, worst_sets)
