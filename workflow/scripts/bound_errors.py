"""Tabulate Figure 1, the accuracy analysis of 3.3, the propagation of 2.3, the order of 4.1."""

from deniable.files import write_table
from deniable.papers.multirr import error_analysis
from deniable.records import read_parquet
from deniable.study import values_of

from job import job

COPIES = (1, 6)  # Adult and Adult6

with job(snakemake):
    data = read_parquet(snakemake.input.data)
    write_table(snakemake.output.figure_1, error_analysis.figure_1(data.domain.shape))
    accuracy = error_analysis.accuracy_table(data.domain, [len(data) * n for n in COPIES])
    write_table(snakemake.output.accuracy, accuracy)
    probabilities = values_of(snakemake.params.study["grids"], "p")
    propagation = error_analysis.propagation_table(data.domain, probabilities)
    write_table(snakemake.output.propagation, propagation)
    order = error_analysis.expected_dependence_order(data, probabilities)
    write_table(snakemake.output.order, order.assign(data_source=data.marks["data_source"]))
