"""Tabulate what designed channels gain over closed forms, and some of their matrices."""

from deniable.files import write_table
from deniable.papers.pram.design import channel_table, design_table
from deniable.records import read_parquet

from job import job

with job(snakemake):
    data = read_parquet(snakemake.input.data)
    source = data.marks["data_source"]
    designs = design_table(data, snakemake.params.epsilons)
    write_table(snakemake.output.designs, designs.assign(data_source=source))
    channels = channel_table(data)
    write_table(snakemake.output.channels, channels.assign(data_source=source))
