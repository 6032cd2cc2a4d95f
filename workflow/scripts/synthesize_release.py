"""Make synthetic records from what is estimated from a protected file."""

import pandas as pd

from deniable.files import read_json
from deniable.pipeline import release_from
from deniable.pram import StratifiedProtocol
from deniable.records import read_parquet
from deniable.release.categorical import read_estimates, source_for, synthesize_release

from job import job

with job(snakemake):
    settings = release_from(snakemake.params.release)
    basis = snakemake.params.synthetic
    synthetic = synthesize_release(
        basis,
        StratifiedProtocol.from_json(read_json(snakemake.input.channels[0])),
        read_parquet(snakemake.input.protected),
        read_estimates(snakemake.input.estimates[0]),
        pd.read_csv(snakemake.input.weights)["weight"],
        source_for(settings, snakemake.params.seed, step="synthesis"),
    )
    synthetic.write_parquet(snakemake.output.parquet)
    notes = {"synthetic": basis} | ({"rehearsal": "yes"} if settings.rehearsal else {})
    if synthetic.marks["data_source"] == "surrogate":
        notes["data_source"] = "surrogate"
    synthetic.write_csv(snakemake.output.csv, notes)
