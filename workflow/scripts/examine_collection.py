"""Test the attributes of each table of a collection for independence, knowing the channel."""

from deniable.release import marked_as, read_made, write_made
from deniable.release.collection import CollectionDesign, independence_tests
from deniable.sampling import generator_for

from job import job

with job(snakemake):
    made = read_made(snakemake.input)
    key = {"release": snakemake.wildcards.release, "step": "independence"}
    generator = generator_for(snakemake.params.seed, key)
    design, collection = CollectionDesign.from_json(made["views"]), made["collection"]
    tests = independence_tests(design, collection, generator)
    write_made(snakemake.output, {"independence": marked_as(tests, collection)})
