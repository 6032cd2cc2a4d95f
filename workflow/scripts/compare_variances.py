"""Tabulate the variance inflation of each mechanism, and what an invariant epsilon omits."""

from deniable.files import write_table
from deniable.papers.pram.variance import variance_inflation, whole_file_epsilons
from deniable.records import read_parquet

from job import job

with job(snakemake):
    data = read_parquet(snakemake.input.data)
    epsilons = snakemake.params.epsilons
    source = data.marks["data_source"]
    inflation = variance_inflation(data, epsilons)
    write_table(snakemake.output.inflation, inflation.assign(data_source=source))
    whole_file = whole_file_epsilons(data, epsilons)
    write_table(snakemake.output.whole_file, whole_file.assign(data_source=source))
