"""Bring what every mechanism, paper and release claims of privacy into one audit."""

from pathlib import Path

import pandas as pd

from deniable.files import read_json, write_table
from deniable.papers import one_audit
from deniable.release.categorical import audit_release
from deniable.release.collection import audit_collection

from job import job

with job(snakemake):
    tables = {Path(file).stem: pd.read_csv(file) for file in snakemake.input.tables}
    releases = []
    for file in snakemake.input.channels:
        said = read_json(file)
        audited = audit_release(said).assign(data_source=said["data_source"])
        releases.append((said["release"], said["parameters"]["mechanism"], audited))
    # release.json, views.json and collection.csv of one collection after another.
    asked = zip(*[iter(snakemake.input.collections)] * 3, strict=True)
    for described, views, answers in asked:
        said = read_json(described)
        audited = audit_collection(said, read_json(views), pd.read_csv(answers))
        audited = audited.assign(data_source=said["data_source"])
        releases.append((said["release"], "rrba", audited))
    for file in snakemake.input.numbers:
        audited = pd.read_csv(file)
        releases.append((Path(file).parent.name, audited["method"].iloc[0], audited))
    write_table(snakemake.output[0], one_audit(tables, releases))
