"""Attack releases of one data set, and compare the protection of the methods."""

from deniable.files import write_table
from deniable.records import read_true_records

from reproduction.papers.idp.attacks import attack_table, protection_table
from reproduction.pipeline import job

with job(snakemake):
    name, data = snakemake.wildcards.dataset, read_true_records(snakemake.input.data)
    settings, seed = dict(snakemake.params.settings), snakemake.params.seed
    runs = settings.pop("runs")
    write_table(snakemake.output.attacks, attack_table(name, data, seed, runs=runs, **settings))
    write_table(snakemake.output.protection, protection_table(name, data, seed, **settings))
