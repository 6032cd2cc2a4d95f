"""Audit the epsilon of every mechanism, assessment and release at every setting."""

import pandas as pd

from deniable.files import read_json, write_table
from deniable.randomized_response import audit_assessments, audit_multirr
from deniable.records import read_parquet
from deniable.release.categorical import audit_release
from deniable.release.collection import audit_collection
from deniable.study import values_of

from job import job

with job(snakemake):
    grids = snakemake.params.study["grids"]
    data = read_parquet(snakemake.input.data)
    audited = audit_multirr(
        data.domain,
        pd.read_csv(snakemake.input.dependences),
        *(values_of(grids, column) for column in ("p", "t_v", "t_d")),
    )
    assessed = audit_assessments(data.domain, values_of(grids, "p"))
    releases = [audit_release(read_json(file)) for file in snakemake.input.channels]
    # release.json, views.json and collection.csv of one collection after another.
    asked = zip(*[iter(snakemake.input.collections)] * 3, strict=True)
    collections = [
        audit_collection(read_json(described), read_json(views), pd.read_csv(answers))
        for described, views, answers in asked
    ]
    audited = pd.concat([audited, assessed, *releases, *collections], ignore_index=True)
    # Which clusters there are to audit depends on the data.
    write_table(snakemake.output[0], audited.assign(data_source=data.marks["data_source"]))
