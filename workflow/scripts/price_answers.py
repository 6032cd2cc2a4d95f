"""Hold Theorem 4.1 of [rrba] against the exact epsilons of answers, views and rounds."""

from pathlib import Path

from deniable.files import write_table
from deniable.papers.rrba.epsilon import epsilon_table, figure_4_table
from deniable.records import read_parquet

from job import job

FLOORS_OF_FIGURE_4 = (0.1,)

with job(snakemake):
    files = {Path(file).stem: read_parquet(file) for file in snakemake.input.data}
    epsilons = epsilon_table(files, **snakemake.params.settings)
    write_table(snakemake.output.epsilon, epsilons.assign(data_source="network"))
    curve = figure_4_table(FLOORS_OF_FIGURE_4)
    write_table(snakemake.output.figure_4, curve.assign(data_source="formula"))
