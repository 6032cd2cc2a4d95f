"""Make the tables of a collection agree on all margins that they share."""

from deniable.files import read_json, write_table
from deniable.release.collection import CollectionDesign, in_full, make_consistent, read_rows

from job import job

with job(snakemake):
    design = CollectionDesign.from_json(read_json(snakemake.input.views))
    (tables,) = read_rows([snakemake.input.tables])
    marks = {name: tables[name].iloc[0] for name in ("rehearsal", "data_source")}
    consistent, margins = make_consistent(design, tables)
    # In full: nine digits would undo the agreement to 1e-9.
    consistent = in_full(consistent, ["probability"])
    write_table(snakemake.output.consistent, consistent.assign(**marks))
    write_table(snakemake.output.margins, margins.assign(**marks))
