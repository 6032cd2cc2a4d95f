"""Choose the domains of a release of numbers, audit it, and say what it promises."""

from deniable.datasets import load_manifest
from deniable.files import write_json, write_table
from deniable.pipeline import release_from
from deniable.records import read_numeric_parquet
from deniable.release.numeric import audit_numeric_release, chosen, describe, domains, with_figures

from job import job

with job(snakemake):
    settings = release_from(snakemake.params.release)
    manifest = load_manifest(snakemake.input.manifest)
    data = chosen(settings, read_numeric_parquet(snakemake.input.data))
    source = data.marks["data_source"]
    stated = domains(settings, data, manifest[settings.data].bounds)
    audit = audit_numeric_release(settings, stated, data)
    audit["rehearsal"] = settings.rehearsal
    audit["data_source"] = source
    write_table(snakemake.output.audit, audit)
    description = describe(settings, stated, data, source)
    write_json(snakemake.output.described, with_figures(description, audit.to_dict("records")))
