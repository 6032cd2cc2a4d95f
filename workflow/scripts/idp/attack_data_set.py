"""Attack releases of one data set, and compare the protection of the methods."""

from deniable.files import write_table
from deniable.records import read_true_records

from reproduction.papers.idp.attacks import attack_table, protection_table
from reproduction.papers.idp.audit import file_of
from reproduction.pipeline import job

with job(snakemake):
    name, data = snakemake.wildcards.dataset, read_true_records(snakemake.input.data)
    settings = snakemake.params.settings
    file = file_of(name, data, settings["domain_factor"])
    of = file, data.values, snakemake.params.seed, settings["k"], settings["epsilons"]
    write_table(snakemake.output.attacks, attack_table(*of, settings["runs"]))
    write_table(snakemake.output.protection, protection_table(*of))
