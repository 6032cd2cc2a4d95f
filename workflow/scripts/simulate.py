"""Simulate a chunk of a study's cells."""

from deniable.files import write_table
from deniable.microdata import read_parquet
from deniable.studies.registry import STUDIES
from deniable.study import simulate_chunk

from job import job

with job(snakemake):
    settings = snakemake.params.study
    data = read_parquet(snakemake.input.data)
    study = STUDIES[snakemake.wildcards.study]
    results = simulate_chunk(
        study.simulator(data, settings),
        snakemake.wildcards.study,
        settings["grids"],
        chunk=int(snakemake.wildcards.chunk),
        chunks=int(snakemake.wildcards.chunks),
        replicates=settings["replicates"],
        block=settings["block"],
        root_seed=snakemake.params.seed,
        summary=study.summary,
    )
    source = "model" if study.from_model else data.marks["data_source"]
    write_table(snakemake.output[0], results.assign(data_source=source))
