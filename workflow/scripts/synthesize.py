"""Weight the protected records of a release, and draw records from its joint distribution."""

from deniable.analysis import Released, as_result
from deniable.files import read_json, write_table
from deniable.joint import JointDistribution

from reproduction.pipeline import job

with job(snakemake):
    public, found = snakemake.params.public, read_json(snakemake.input.joint)
    released = Released(public)
    write_table(snakemake.output.weights, as_result(public, released.adjusted_weights))
    joint = None if "note" in found else JointDistribution.from_json(found)
    synthetic = as_result(public, released.synthetic, joint=joint)
    synthetic.to_parquet(snakemake.output.synthetic, index=False)
