"""Fit independence to the tables of a collection, in two steps."""

from deniable.files import read_json, write_table
from deniable.release.collection import CollectionDesign, fit_in_two_steps, read_rows

from job import job

with job(snakemake):
    design = CollectionDesign.from_json(read_json(snakemake.input.views))
    (tables,) = read_rows([snakemake.input.tables])
    marks = {name: tables[name].iloc[0] for name in ("rehearsal", "data_source")}
    write_table(snakemake.output[0], fit_in_two_steps(design, tables).assign(**marks))
