"""Fit the surrogate of a data set to its published file, and measure its distance to the file."""

from pathlib import Path

from deniable.datasets import fit_surrogate, load_manifest, read_source, verified_file
from deniable.errors import DataError
from deniable.files import write_table
from deniable.sampling import generator_for

from reproduction.pipeline import job

with job(snakemake):
    given, name = snakemake.input, snakemake.wildcards.dataset
    dataset, source = load_manifest(given.manifest)[name], read_source(given.source)
    if source.kind != "published":
        raise DataError(
            f"{name}: fitting a surrogate requires the published file, which is missing; put it "
            "into a directory and set DENIABLE_DATA_MIRROR to this directory"
        )
    fidelity = fit_surrogate(
        dataset,
        verified_file(dataset, source, Path(given.source).parent),
        snakemake.output.model,
        sha256=source.sha256,
        generator=generator_for(snakemake.params.seed, {"surrogate": name}),
    )
    write_table(snakemake.output.fidelity, fidelity)
