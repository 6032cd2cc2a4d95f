"""Compare noises for numbers on a public grid, on the ages of Adult."""

from deniable.files import write_table
from deniable.records import read_true_records

from reproduction.papers.idp.grid import compare_noises
from reproduction.pipeline import job

with job(snakemake):
    adult_age = read_true_records(snakemake.input.adult_age)
    noises = compare_noises(adult_age, snakemake.params.seed, **snakemake.params.settings)
    write_table(snakemake.output.noises, noises)
