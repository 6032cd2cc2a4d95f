"""Estimate means, standard deviations and quantiles from a protected file of numbers."""

from deniable.files import read_json, write_table
from deniable.pipeline.config import release_from
from deniable.records.numeric import read_numeric_parquet
from deniable.release.numeric.design import Domains
from deniable.release.numeric.estimates import estimate_numbers

from job import job

with job(snakemake):
    settings = release_from(snakemake.params.release)
    stated = Domains.from_json(read_json(snakemake.input.described)["domains"])
    protected = read_numeric_parquet(snakemake.input.protected)
    estimates = estimate_numbers(settings, stated, protected)
    estimates["rehearsal"] = settings.rehearsal
    estimates["data_source"] = protected.marks["data_source"]
    write_table(snakemake.output[0], estimates)
