"""Estimate the tables of a collection from all answers."""

from deniable.files import read_json, write_table
from deniable.release.collection import CollectionDesign, estimate_tables, read_rows

from job import job

with job(snakemake):
    design = CollectionDesign.from_json(read_json(snakemake.input.views))
    said = read_json(snakemake.input.described)
    (collection,) = read_rows([snakemake.input.collection])
    tables = estimate_tables(design, collection, said["clients"])
    tables["rehearsal"] = said["rehearsal"]
    tables["data_source"] = said["data_source"]
    write_table(snakemake.output[0], tables)
