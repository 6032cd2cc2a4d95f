"""Choose a release's clusters and channels, and say what they promise."""

from deniable import release
from deniable.config import release_from
from deniable.files import write_json
from deniable.microdata import read_parquet

from job import job

with job(snakemake):
    settings = release_from(snakemake.params.release)
    protocol = release.design(settings, read_parquet(snakemake.input.data))
    write_json(snakemake.output[0], release.describe(settings, protocol))
