"""Protect the numbers of every record of a release."""

from deniable.files import read_json
from deniable.pipeline import release_from
from deniable.records import read_numeric_parquet
from deniable.release.numeric import Domains, noise_for, protect

from job import job

with job(snakemake):
    settings = release_from(snakemake.params.release)
    stated = Domains.from_json(read_json(snakemake.input.described[0])["domains"])
    data = read_numeric_parquet(snakemake.input.data)
    noise = noise_for(settings, snakemake.params.seed)
    protected = protect(settings, stated, data, noise, snakemake.params.seed)
    protected.write_parquet(snakemake.output.parquet)
    notes = {"rehearsal": "yes"} if settings.rehearsal else {}
    if protected.marks["data_source"] == "surrogate":
        notes["data_source"] = "surrogate"
    if "synthetic" in protected.marks:
        notes["synthetic"] = "yes"
    protected.write_csv(snakemake.output.csv, notes)
