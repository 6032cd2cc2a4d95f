"""Choose a release's clusters and channels, and say what they promise."""

from deniable.files import write_json
from deniable.pipeline import release_from
from deniable.records import read_parquet
from deniable.release.categorical import design as release

from job import job

with job(snakemake):
    settings = release_from(snakemake.params.release)
    data = read_parquet(snakemake.input.data)
    protocol = release.design(settings, data)
    description = release.describe(settings, protocol, data.marks["data_source"])
    write_json(snakemake.output[0], description)
