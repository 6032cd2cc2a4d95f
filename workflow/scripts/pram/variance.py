"""Compare the variances of randomized response, PRAM and invariant PRAM."""

from deniable.files import write_table
from deniable.records import read_true_records

from reproduction.papers.pram.variance import variance_inflation, whole_file_epsilons
from reproduction.pipeline import job

with job(snakemake):
    adult = read_true_records(snakemake.input.adult)
    source, epsilons = adult.marks["data_source"], snakemake.params.settings["epsilons"]
    variance = variance_inflation(adult, epsilons)
    whole_file = whole_file_epsilons(adult, epsilons)
    write_table(snakemake.output.variance, variance.assign(data_source=source))
    write_table(snakemake.output.whole_file, whole_file.assign(data_source=source))
