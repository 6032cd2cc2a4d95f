"""Estimate means, standard deviations and quantiles from a protected file of numbers."""

from deniable.files import read_json, write_table
from deniable.pipeline import release_from
from deniable.records import read_numeric_parquet
from deniable.release.numeric import Domains, estimate_numbers

from job import job

with job(snakemake):
    settings = release_from(snakemake.params.release)
    stated = Domains.from_json(read_json(snakemake.input.described)["domains"])
    protected = read_numeric_parquet(snakemake.input.protected)
    estimates = estimate_numbers(settings, stated, protected)
    estimates["rehearsal"] = settings.rehearsal
    estimates["data_source"] = protected.marks["data_source"]
    write_table(snakemake.output[0], estimates)
