"""Make the tables of a collection agree on all margins that they share."""

from deniable.release import marked_as, read_made, write_made
from deniable.release.collection import CollectionDesign, in_full, make_consistent

from job import job

with job(snakemake):
    made = read_made(snakemake.input)
    design, tables = CollectionDesign.from_json(made["views"]), made["tables"]
    consistent, margins = make_consistent(design, tables)
    left = {
        # In full: nine digits would undo the agreement to 1e-9.
        "consistent": marked_as(in_full(consistent, ["probability"]), tables),
        "margins": marked_as(margins, tables),
    }
    write_made(snakemake.output, left)
