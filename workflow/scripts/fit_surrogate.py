"""Fit the surrogate of a data set to its published file, and say how faithful it is."""

from deniable.datasets import fit_surrogate, load_manifest
from deniable.errors import DataError
from deniable.files import write_table
from deniable.sampling import generator_for

from reproduction.pipeline import job

with job(snakemake):
    name = snakemake.wildcards.dataset
    if snakemake.params.kind != "original":
        raise DataError(
            f"{name}: a surrogate is fitted to the published file, which is not here; put it into "
            "a directory and set DENIABLE_DATA_MIRROR to it"
        )
    fidelity = fit_surrogate(
        load_manifest(snakemake.input.manifest)[name],
        snakemake.input.origin,
        snakemake.output.model,
        sha256=snakemake.params.sha256,
        generator=generator_for(snakemake.params.seed, {"surrogate": name}),
    )
    write_table(snakemake.output.fidelity, fidelity)
