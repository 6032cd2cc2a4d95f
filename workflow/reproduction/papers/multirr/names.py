"""Names of methods, estimators and assessments, and rows, in figures and on the page."""

import pandas as pd

from reproduction.study import first_of, groups_of

METHODS = {
    "rr_independent": "RR-Independent",
    "rr_clusters": "RR-Clusters",
    "rr_independent_adjustment": "RR-Independent + Adjustment",
    "rr_clusters_adjustment": "RR-Clusters + Adjustment",
}
WORDS = METHODS | {"sigma": "σ", ">=": "≥"}  # of texts on claims
AT_EPSILON = {  # one entry per epsilon
    "rr_independent": "RR-Independent",
    "rr_independent_adjustment": "RR-Independent + Adjustment",
    "rr_clusters_kronecker": "RR-Clusters, kronecker",
    "rr_clusters_kronecker_adjustment": "RR-Clusters, kronecker + Adjustment",
    "rr_clusters_joint": "RR-Clusters, joint",
    "rr_clusters_joint_adjustment": "RR-Clusters, joint + Adjustment",
    "rr_joint": "RR-Joint",
    "uniform": "no data: all cells alike",
}
ESTIMATORS = {
    "randomized": "Randomized: product of raw margins",
    "randomized_joint": "Randomized: raw joint distribution",
    "rr_independent": "RR-Independent: product of margins",
    "pair_unbiased": "pair, unbiased",
    "pair_clipped": "pair, clipped",
    "pair_projected": "pair, projected",
    "pair_likelihood": "pair, maximum likelihood",
    "pair_shrunk": "pair, shrunk to independence",
}
IN_TITLE = {"pair_shrunk": "by pairs", "rr_independent": "by products"}
ASSESSMENTS = {
    "attributes": "4.1 RR on each attribute, as printed",
    "attributes_inverted": "4.1, pairs inverted (ours)",
    "secure_sum": "4.2 secure sum",
    "pairs_joint": "4.3 RR on each pair, one matrix",
    "pairs_kronecker": "4.3 RR on each pair, by attribute",
}


def first_clusters(table: pd.DataFrame) -> pd.DataFrame:
    """Return the first projection and coverage of a `table`, and each method's first clusters."""
    table = first_of(table, "projection", "sigma")
    parts = (part for _, part in groups_of(table, "attributes", "method"))
    return pd.concat([first_of(part, "t_v", "t_d") for part in parts])
