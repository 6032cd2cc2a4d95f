"""Attack releases by individual differential privacy, and compare what they protect."""

from deniable.files import write_table
from deniable.papers.idp.attacks import AttackGrid, attack_table, protection_table
from deniable.records import read_numeric_parquet

from job import job

with job(snakemake):
    name, seed = snakemake.wildcards.dataset, snakemake.params.seed
    data = read_numeric_parquet(snakemake.input.data)
    grid = AttackGrid(**snakemake.params.settings)
    write_table(snakemake.output.attacks, attack_table(name, data, grid, seed))
    write_table(snakemake.output.protection, protection_table(name, data, grid, seed))
