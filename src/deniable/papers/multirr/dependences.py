"""The true dependences, the clusters that follow, and the audit of what is promised for them."""

import pandas as pd

from deniable.randomized_response import (
    audit_assessments,
    audit_multirr,
    cluster_attributes,
    clusters_table,
    dependences,
    risk_table,
    waiver_table,
)
from deniable.study import Given, values_of


def measured(given: Given) -> dict[str, pd.DataFrame]:
    """Measure the dependence of every pair of attributes, and form the clusters of each setting."""
    data, grids = given.data["adult"], given.settings["grids"]
    found = dependences(data, given.settings["ordinal"])
    clusters = clusters_table(data.domain, found, values_of(grids, "t_v"), values_of(grids, "t_d"))
    source = data.marks["data_source"]
    return {
        "multirr_dependences": found.assign(data_source=source),
        "multirr_clusters": clusters.assign(data_source=source),
    }


def risks(given: Given) -> dict[str, pd.DataFrame]:
    """Audit all claims; confront "equal risk" with every epsilon that is spent."""
    data, grids = given.data["adult"], given.settings["grids"]
    found = given.tables["multirr_dependences"]
    probabilities, t_v, t_d = (values_of(grids, name) for name in ("p", "t_v", "t_d"))
    clusters = {each: cluster_attributes(data.domain, found, each, min(t_d)) for each in t_v}
    risk = risk_table(data.domain, clusters, probabilities)
    audited = [
        audit_multirr(data.domain, found, probabilities, t_v, t_d),
        audit_assessments(data.domain, probabilities),
    ]
    # Which clusters there are depends on the data.
    source = data.marks["data_source"]
    return {
        "multirr_audit": pd.concat(audited, ignore_index=True).assign(data_source=source),
        "multirr_risk": risk.assign(data_source=source),
        "multirr_waiver": waiver_table(probabilities),
    }
