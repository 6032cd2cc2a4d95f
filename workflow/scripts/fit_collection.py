"""Fit independence to the tables of a collection, in two steps."""

from deniable.release import marked_as, read_made, write_made
from deniable.release.collection import CollectionDesign, fit_in_two_steps

from job import job

with job(snakemake):
    made = read_made(snakemake.input)
    fitted = fit_in_two_steps(CollectionDesign.from_json(made["views"]), made["tables"])
    write_made(snakemake.output, {"two_step": marked_as(fitted, made["tables"])})
