"""Simulate a chunk of the settings of a study."""

from deniable.files import write_table
from deniable.records import read_true_records

from reproduction.papers import STUDIES
from reproduction.pipeline import job
from reproduction.study import simulate_chunk

with job(snakemake):
    settings = snakemake.params.study
    study = STUDIES[snakemake.wildcards.study]
    files = map(read_true_records, snakemake.input.data)
    names = (name.rpartition("/")[2] for name in study.datasets)
    records = dict(zip(names, files, strict=True))
    data = records if len(records) > 1 else next(iter(records.values()), None)
    results = simulate_chunk(
        study.on(data, settings),
        snakemake.wildcards.study,
        settings["grids"],
        chunk=int(snakemake.wildcards.chunk),
        chunks=int(snakemake.wildcards.chunks),
        replicates=settings["replicates"],
        block=settings["block"],
        root_seed=snakemake.params.seed,
        summary=study.summary,
    )
    sources = {each.marks["data_source"] for each in records.values()}
    # Results are marked as surrogate if any of the data are.
    source = "surrogate" if "surrogate" in sources else max(sources, default="model")
    write_table(snakemake.output[0], results.assign(data_source=source))
