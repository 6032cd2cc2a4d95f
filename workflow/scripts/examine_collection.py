"""Test the attributes of each table of a collection for independence, knowing the channel."""

from deniable.files import read_json, write_table
from deniable.release.collection import CollectionDesign, independence_tests, read_rows
from deniable.sampling import generator_for

from job import job

with job(snakemake):
    design = CollectionDesign.from_json(read_json(snakemake.input.views))
    (collection,) = read_rows([snakemake.input.collection])
    marks = {name: collection[name].iloc[0] for name in ("rehearsal", "data_source")}
    key = {"release": snakemake.wildcards.release, "step": "independence"}
    generator = generator_for(snakemake.params.seed, key)
    tests = independence_tests(design, collection, generator)
    write_table(snakemake.output[0], tests.assign(**marks))
