"""Write a data set as coded microdata, from its published file or from its surrogate."""

from deniable import bayesian_network, datasets, surrogates
from deniable.manifest import load_manifest
from deniable.microdata import Microdata
from deniable.randomness import generator_for

from job import job

with job(snakemake):
    name, kind = snakemake.wildcards.dataset, snakemake.params.kind
    dataset = load_manifest(snakemake.input.manifest)[name]
    if kind == "original":
        data = datasets.read_original(dataset, snakemake.input.origin)
    else:
        network = bayesian_network.read(snakemake.input.origin, dataset.domain)
        generator = generator_for(snakemake.params.seed, {"surrogate": name})
        data = surrogates.sample(network, dataset.records, generator)
    marks = {"data_source": kind, "source_sha256": snakemake.params.sha256}
    Microdata(data.domain, data.columns, marks).write_parquet(snakemake.output[0])
