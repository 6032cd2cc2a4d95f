"""Tabulate Figure 1, accuracy (3.3), propagation (2.3) and expected order (4.1)."""

from deniable.files import write_table
from deniable.records import read_true_records

from reproduction.papers.multirr import error_analysis
from reproduction.pipeline import job
from reproduction.study import values_of

with job(snakemake):
    adult = read_true_records(snakemake.input.adult)
    domain, p = adult.domain, values_of(snakemake.params.settings["grids"], "p")
    order, source = error_analysis.expected_dependence_order(adult, p), adult.marks["data_source"]
    records = [len(adult) * copies for copies in error_analysis.COPIES]
    write_table(snakemake.output.fig1, error_analysis.figure_1(domain.shape))
    write_table(snakemake.output.accuracy, error_analysis.accuracy_table(domain, records))
    write_table(snakemake.output.propagation, error_analysis.propagation_table(domain, p))
    write_table(snakemake.output.order, order.assign(data_source=source))
