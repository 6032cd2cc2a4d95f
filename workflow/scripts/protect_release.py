"""Randomize every record of a release."""

from deniable.files import read_json
from deniable.pipeline import release_from
from deniable.pram import StratifiedProtocol
from deniable.records import read_parquet
from deniable.release.categorical import design as release

from job import job

with job(snakemake):
    settings = release_from(snakemake.params.release)
    protocol = StratifiedProtocol.from_json(read_json(snakemake.input.channels[0]))
    source = release.source_for(settings, snakemake.params.seed)
    protected = release.protect(settings, protocol, read_parquet(snakemake.input.data), source)
    protected.write_parquet(snakemake.output.parquet)
    notes = {"rehearsal": "yes"} if settings.rehearsal else {}
    if protected.marks["data_source"] == "surrogate":
        notes["data_source"] = "surrogate"
    protected.write_csv(snakemake.output.csv, notes)
