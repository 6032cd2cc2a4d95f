"""Write a data set as microdata, from its published file or from its surrogate."""

from dataclasses import replace

from deniable.datasets import draw_surrogate, load_manifest, read_published
from deniable.sampling import generator_for

from reproduction.pipeline import job

with job(snakemake):
    name, kind = snakemake.wildcards.dataset, snakemake.params.kind
    dataset = load_manifest(snakemake.input.manifest)[name]
    if kind == "original":
        data = read_published(dataset, snakemake.input.origin)
    else:
        generator = generator_for(snakemake.params.seed, {"surrogate": name})
        data = draw_surrogate(dataset, snakemake.input.origin, generator)
    marks = {"data_source": kind, "source_sha256": snakemake.params.sha256}
    replace(data, marks=marks).write_parquet(snakemake.output[0], private=True)
