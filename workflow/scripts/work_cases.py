"""Work the examples of [rrba] in fractions, and make tables agree that randomized views gave."""

from deniable.files import write_table
from deniable.papers.rrba.consistency import consistency_table
from deniable.papers.rrba.worked_cases import worked_cases
from deniable.records import read_parquet

from job import job

PROBABILITIES = (0.3, 0.5, 0.7)

with job(snakemake):
    write_table(snakemake.output.examples, worked_cases().assign(data_source="formula"))
    files = {"survey": read_parquet(snakemake.input.data)}
    table = consistency_table(files, PROBABILITIES, seed=snakemake.params.seed)
    write_table(snakemake.output.consistency, table.assign(data_source="network"))
