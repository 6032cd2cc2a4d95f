"""Estimate margins and joint distributions from a protected file and its channels."""

from deniable.files import read_json, write_table
from deniable.pram import StratifiedProtocol
from deniable.records import read_parquet
from deniable.release.categorical import estimate

from job import job

with job(snakemake):
    protocol = StratifiedProtocol.from_json(read_json(snakemake.input.channels[0]))
    protected = read_parquet(snakemake.input.protected)
    estimates = estimate(protocol, protected)
    estimates["rehearsal"] = snakemake.params.release["rehearsal"]
    estimates["data_source"] = protected.marks["data_source"]
    write_table(snakemake.output[0], estimates)
