"""Dependences of Adult's attributes, the clusters they form, and what assessing them spends."""

import pandas as pd

from deniable.randomized_response import (
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
    """Confront "equal risk" with every epsilon that is spent, assessing dependences included."""
    data, grids = given.data["adult"], given.settings["grids"]
    found = given.tables["multirr_dependences"]
    probabilities, least = values_of(grids, "p"), min(values_of(grids, "t_d"))
    clusters = {
        t_v: cluster_attributes(data.domain, found, t_v, least) for t_v in values_of(grids, "t_v")
    }
    risk = risk_table(data.domain, clusters, probabilities)
    return {
        # Which clusters there are depends on the data.
        "multirr_risk": risk.assign(data_source=data.marks["data_source"]),
        "multirr_waiver": waiver_table(probabilities),
    }
