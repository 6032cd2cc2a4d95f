"""Make synthetic records from what is estimated from a protected file."""

import pandas as pd

from deniable.files import read_json
from deniable.pipeline.config import release_from
from deniable.pram.protocol import StratifiedProtocol
from deniable.records.categorical import read_parquet
from deniable.release.categorical.design import source_for
from deniable.release.categorical.estimates import read_estimates
from deniable.release.categorical.synthesis import synthesize_release

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
