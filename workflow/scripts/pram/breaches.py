"""Bound the information that a randomized value gives an intruder."""

from deniable.files import write_table
from deniable.records import read_true_records

from reproduction.papers.pram.breaches import (
    ATTRIBUTES,
    approach_table,
    bound_table,
    intruder_table,
    threshold_table,
    worst_set_table,
)
from reproduction.pipeline import job

with job(snakemake):
    adult = read_true_records(snakemake.input.adult)
    source = adult.marks["data_source"]
    intruder = intruder_table(adult, ATTRIBUTES).assign(data_source=source)
    worst_sets = worst_set_table(adult, ATTRIBUTES).assign(data_source=source)
    write_table(snakemake.output.breach_bounds, bound_table())
    write_table(snakemake.output.breach_thresholds, threshold_table())
    write_table(snakemake.output.approach, approach_table())
    write_table(snakemake.output.intruder, intruder)
    write_table(snakemake.output.worst_sets, worst_sets)
