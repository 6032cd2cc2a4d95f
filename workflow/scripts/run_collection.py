"""Ask every client of a collection, block by block."""

from deniable.files import read_json, write_table
from deniable.pipeline import release_from
from deniable.records import read_parquet
from deniable.release.categorical import source_for
from deniable.release.collection import CollectionDesign, collect_answers, in_full

from job import job

with job(snakemake):
    settings = release_from(snakemake.params.release)
    design = CollectionDesign.from_json(read_json(snakemake.input.views[0]))
    data = read_parquet(snakemake.input.data)
    source = source_for(settings, snakemake.params.seed)
    collection, clients = collect_answers(settings, design, data, source)
    marks = {"rehearsal": settings.rehearsal, "data_source": data.marks["data_source"]}
    answers = in_full(collection, ["p", "fake", "epsilon"])
    write_table(snakemake.output.collection, answers.assign(**marks))
    write_table(snakemake.output.clients, clients.assign(**marks))
