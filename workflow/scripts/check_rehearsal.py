"""Set the estimates of a rehearsal, and what is made from them, beside the true proportions."""

import pandas as pd

from deniable.files import read_json, write_table
from deniable.pram import StratifiedProtocol
from deniable.records import read_parquet
from deniable.release.categorical import (
    check_against_truth,
    coverage_of_redraws,
    distances_from_truth,
    read_estimates,
)
from deniable.sampling import generator_for

from job import job

with job(snakemake):
    estimates = read_estimates(snakemake.input.estimates[0])
    data = read_parquet(snakemake.input.data)
    protocol = StratifiedProtocol.from_json(read_json(snakemake.input.channels[0]))
    generator = generator_for(
        snakemake.params.seed, {"release": snakemake.wildcards.release, "check": "redraws"}
    )
    coverage = coverage_of_redraws(protocol, data, generator)
    checked = check_against_truth(estimates, coverage)
    write_table(snakemake.output.estimates, checked)
    distances = distances_from_truth(
        protocol,
        data,
        read_parquet(snakemake.input.protected),
        read_parquet(snakemake.input.synthetic),
        pd.read_csv(snakemake.input.weights)["weight"].to_numpy(),
    )
    distances["synthetic_from"] = snakemake.params.synthetic
    distances["rehearsal"] = True
    distances["data_source"] = data.marks["data_source"]
    write_table(snakemake.output.synthetic, distances)
