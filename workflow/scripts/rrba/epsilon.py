"""Compare Theorem 4.1 with the exact ε of answers, views and rounds."""

from deniable.files import write_table
from deniable.records import read_true_records

from reproduction.papers.rrba.exact import epsilon_table, figure_4_table
from reproduction.pipeline import job

with job(snakemake):
    data = {name: read_true_records(file) for name, file in snakemake.input.items()}
    epsilon = epsilon_table(data, **snakemake.params.settings)
    write_table(snakemake.output.epsilon, epsilon.assign(data_source="network"))
    write_table(snakemake.output.fig4, figure_4_table().assign(data_source="formula"))
