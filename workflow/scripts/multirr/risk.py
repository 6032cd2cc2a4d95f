"""Audit the claims of [multirr], and compare equal risk with all ε of the record."""

import pandas as pd

from deniable import randomized_response as rr
from deniable.files import read_table, write_table
from deniable.records import read_true_records

from reproduction.pipeline import job
from reproduction.study import values_of

with job(snakemake):
    adult = read_true_records(snakemake.input.adult)
    found, domain = read_table(snakemake.input.dependences), adult.domain
    grids = snakemake.params.settings["grids"]
    p, t_v, t_d = (values_of(grids, name) for name in ("p", "t_v", "t_d"))
    clusters = {each: rr.cluster_attributes(domain, found, each, min(t_d)) for each in t_v}
    audits = [rr.audit_multirr(domain, found, p, t_v, t_d), rr.audit_assessments(domain, p)]
    audit, risk = pd.concat(audits, ignore_index=True), rr.risk_table(domain, clusters, p)
    # The clusters depend on the data.
    source = adult.marks["data_source"]
    write_table(snakemake.output.audit, audit.assign(data_source=source))
    write_table(snakemake.output.risk, risk.assign(data_source=source))
    write_table(snakemake.output.waiver, rr.waiver_table(p))
