"""Tabulate Figure 1, accuracy (3.3), propagation (2.3) and expected order (4.1)."""

from deniable.files import write_table
from deniable.records import read_true_records

from reproduction.papers.multirr.error_analysis import (
    COPIES,
    accuracy_table,
    expected_dependence_order,
    figure_1,
    propagation_table,
)
from reproduction.pipeline import job
from reproduction.study import values_of

with job(snakemake):
    adult = read_true_records(snakemake.input.adult)
    domain, p = adult.domain, values_of(snakemake.params.settings["grids"], "p")
    order = expected_dependence_order(adult, p).assign(data_source=adult.marks["data_source"])
    write_table(snakemake.output.fig1, figure_1(domain.shape))
    write_table(snakemake.output.accuracy, accuracy_table(domain, [len(adult) * n for n in COPIES]))
    write_table(snakemake.output.propagation, propagation_table(domain, p))
    write_table(snakemake.output.order, order)
