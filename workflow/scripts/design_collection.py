"""Choose what a collection asks of whom, and say what it promises."""

from deniable.files import write_json
from deniable.pipeline import release_from
from deniable.records import read_parquet
from deniable.release.collection import describe, design_collection

from job import job

with job(snakemake):
    settings = release_from(snakemake.params.release)
    data = read_parquet(snakemake.input.data)
    design = design_collection(settings, data.domain)
    write_json(snakemake.output.views, design.to_json(len(data)))
    write_json(snakemake.output.described, describe(settings, design, data))
