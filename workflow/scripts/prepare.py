"""Store published or surrogate records of a data set with their schema."""

from dataclasses import replace
from pathlib import Path

from deniable import datasets
from deniable.files import sha256
from deniable.sampling import generator_for

from reproduction.pipeline import job

with job(snakemake):
    given, name = snakemake.input, snakemake.wildcards.dataset
    dataset = datasets.load_manifest(given.manifest)[name]
    source = datasets.read_source(given.source)
    if source.kind == "published":
        file = datasets.verified_file(dataset, source, Path(given.source).parent)
        data = datasets.read_published(dataset, file)
        marks = {"data_source": "original", "source_sha256": source.sha256}
    else:
        generator = generator_for(snakemake.params.seed, {"surrogate": name})
        data = datasets.draw_surrogate(dataset, given.surrogate, generator)
        marks = {"data_source": "surrogate", "source_sha256": sha256(given.surrogate)}
    replace(data, marks=marks).write_parquet(snakemake.output.records, private=True)
    datasets.write_schema(snakemake.output.schema, data, name, getattr(dataset, "bounds", None))
