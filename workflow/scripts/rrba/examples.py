"""Compute the examples of [rrba] in fractions, and make tables of randomized views consistent."""

from deniable.files import write_table
from deniable.records import read_true_records

from reproduction.papers.rrba.consistency import PROBABILITIES, consistency_table
from reproduction.papers.rrba.exact import worked_cases
from reproduction.pipeline import job

with job(snakemake):
    data = {"survey": read_true_records(snakemake.input.survey)}
    consistent = consistency_table(data, PROBABILITIES, snakemake.params.seed)
    write_table(snakemake.output.examples, worked_cases().assign(data_source="formula"))
    write_table(snakemake.output.consistency, consistent.assign(data_source="network"))
