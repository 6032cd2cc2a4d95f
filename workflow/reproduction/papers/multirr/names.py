"""Names of methods, estimators and assessments in figures and on pages."""

import pandas as pd

from reproduction.study import first_of, groups_of

METHODS = {
    "rr_independent": "RR-Independent",
    "rr_clusters": "RR-Clusters",
    "rr_independent_adjustment": "RR-Independent + Adjustment",
    "rr_clusters_adjustment": "RR-Clusters + Adjustment",
}
WORDS = METHODS | {"sigma": "σ", ">=": "≥"}  # replaced words in texts on claims
AT_EPSILON = {  # methods in the study at stated ε
    "rr_independent": "RR-Independent",
    "rr_independent_adjustment": "RR-Independent + Adjustment",
    "rr_clusters_kronecker": "RR-Clusters, kronecker",
    "rr_clusters_kronecker_adjustment": "RR-Clusters, kronecker + Adjustment",
    "rr_clusters_joint": "RR-Clusters, joint",
    "rr_clusters_joint_adjustment": "RR-Clusters, joint + Adjustment",
    "rr_joint": "RR-Joint",
    "uniform": "no data: uniform distribution",
}
ESTIMATORS = {
    "randomized": "Randomized: product of raw marginals",
    "randomized_joint": "Randomized: raw joint distribution",
    "rr_independent": "RR-Independent: product of marginals",
    "pair_unbiased": "pair, unbiased",
    "pair_clipped": "pair, clipped",
    "pair_projected": "pair, projected",
    "pair_likelihood": "pair, maximum likelihood",
}
IN_TITLE = {"pair_likelihood": "by pairs", "rr_independent": "by products"}
ASSESSMENTS = {
    "attributes": "4.1 RR on each attribute, as published",
    "attributes_inverted": "4.1, pairs inverted (ours)",
    "secure_sum": "4.2 secure sum",
    "pairs_joint": "4.3 RR on each pair, one matrix",
    "pairs_kronecker": "4.3 RR on each pair, by attribute",
}


def first_clusters(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a `table` with the first projection, coverage and clusters of a method."""
    table = first_of(table, "projection", "sigma")
    parts = (part for _, part in groups_of(table, "attributes", "method"))
    return pd.concat([first_of(part, "t_v", "t_d") for part in parts])


def clusterings(clusters: pd.DataFrame) -> "pd.Series[str]":
    """Return the names of all `clusters` (from `clusters_table`) together, by T_v and T_d."""
    return clusters.groupby(["t_v", "t_d"])["cluster"].agg("; ".join)
