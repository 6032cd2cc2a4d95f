"""Optimize transition matrices for attributes of Adult by convex programs."""

from deniable.files import write_table
from deniable.records import read_true_records

from reproduction.papers.pram.design import channel_table, design_table
from reproduction.pipeline import job

with job(snakemake):
    adult = read_true_records(snakemake.input.adult)
    source = adult.marks["data_source"]
    design = design_table(adult, snakemake.params.settings["epsilons"])
    write_table(snakemake.output.design, design.assign(data_source=source))
    write_table(snakemake.output.channels, channel_table(adult).assign(data_source=source))
