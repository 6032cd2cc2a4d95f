"""Set the tables of a rehearsal, and what was decided of them, beside the truth."""

from deniable.files import read_json, write_table
from deniable.records import read_parquet
from deniable.release.collection import (
    CollectionDesign,
    check_collection,
    margins_of_network,
    read_rows,
)

from job import job

with job(snakemake):
    design = CollectionDesign.from_json(read_json(snakemake.input.views))
    data = read_parquet(snakemake.input.data)
    files = snakemake.input
    tables = read_rows([files.tables, files.consistent, files.fitted, files.tests])
    margin = margins_of_network(files.network[0]) if files.network else None
    checked = check_collection(design, data, *tables, margin=margin)
    checked["rehearsal"] = True
    checked["data_source"] = data.marks["data_source"]
    write_table(snakemake.output[0], checked)
