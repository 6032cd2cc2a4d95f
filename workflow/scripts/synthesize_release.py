"""Make synthetic records from what is estimated from a protected file."""

from deniable.pipeline import release_from
from deniable.pram import StratifiedProtocol
from deniable.release import notes, read_made, source_for
from deniable.release.categorical import synthesize_release

from job import job

with job(snakemake):
    release, made = release_from(snakemake.params.release), read_made(snakemake.input)
    basis = snakemake.params.synthetic
    synthetic = synthesize_release(
        basis,
        StratifiedProtocol.from_json(made["channels"]),
        made["protected"],
        made["estimates"],
        made["adjusted_weights"]["weight"],
        source_for(release, snakemake.params.seed, step="synthesis"),
    )
    synthetic.write_parquet(snakemake.output.parquet)
    synthetic.write_csv(snakemake.output.csv, {"synthetic": basis} | notes(synthetic))
