"""Weight the protected records of a release, and draw synthetic records from its estimates."""

from deniable.analysis import Released, as_result
from deniable.files import write_table

from reproduction.pipeline import job

with job(snakemake):
    public = snakemake.params.public
    released = Released(public)
    weights = as_result(public, released.adjusted_weights)
    write_table(snakemake.output.weights, weights)
    # Records repeated by weight preserve more of the dependence between clusters.
    basis = "weights" if "weight" in weights and not weights.attrs["left_out"] else "clusters"
    synthetic = as_result(public, released.synthetic, basis=basis)
    synthetic.to_parquet(snakemake.output.synthetic, index=False)
