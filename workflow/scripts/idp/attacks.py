"""Attack releases of each data set, and compare the protection of the methods."""

from deniable.files import write_table
from deniable.records import read_true_records

from reproduction.papers.idp.attacks import attack_table, protection_table
from reproduction.papers.idp.audit import file_of, of_datasets
from reproduction.pipeline import job

with job(snakemake):
    records = {name: read_true_records(file) for name, file in snakemake.input.items()}
    sources = [data.marks["data_source"] for data in records.values()]
    settings = dict(snakemake.params.settings)
    factor, runs = settings.pop("domain_factor"), settings.pop("runs")
    attacks, protection = [], []
    for name, data in records.items():
        of = file_of(name, data, factor), snakemake.params.seed
        attacks.append(attack_table(*of, **settings, runs=runs))
        protection.append(protection_table(*of, **settings))
    write_table(snakemake.output.attacks, of_datasets(attacks, sources))
    write_table(snakemake.output.protection, of_datasets(protection, sources))
