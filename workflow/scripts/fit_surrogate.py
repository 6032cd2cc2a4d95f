"""Fit the surrogate of a data set to its published file."""

from pathlib import Path

from deniable.datasets import fit_surrogate, load_manifest, read_source, verified_file
from deniable.errors import DataError

from reproduction.pipeline import job

with job(snakemake):
    given, name = snakemake.input, snakemake.wildcards.dataset
    dataset, source = load_manifest(given.manifest)[name], read_source(given.source)
    if source.kind != "published":
        raise DataError(
            f"{name}: fitting a surrogate requires the published file, which is missing; put it "
            "into a directory and set DENIABLE_DATA_MIRROR to this directory"
        )
    fit_surrogate(
        dataset,
        verified_file(dataset, source, Path(given.source).parent),
        snakemake.output.model,
        sha256=source.sha256,
    )
