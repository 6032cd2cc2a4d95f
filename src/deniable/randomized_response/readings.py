"""Names of interpretations of [multirr], and of estimators."""

from typing import Literal, get_args

Reading = Literal["printed", "keep", "diagonal"]
"""Interpretations of the RR matrix of [multirr], 6.3.1; see `protocols.rr_channel`."""

ClusterMechanism = Literal["joint", "kronecker"]
"""Ways to randomize a cluster of attributes; see `protocols.cluster_channel`."""

Projection = Literal["clip", "simplex", "likelihood"]
"""Ways to turn an unbiased estimate into a distribution; see `deniable.estimation`."""

PairEstimator = Literal[
    "randomized",
    "randomized_joint",
    "rr_independent",
    "pair_unbiased",
    "pair_clipped",
    "pair_projected",
    "pair_likelihood",
    "pair_shrunk",
]
"""Estimators of the joint distribution of two attributes."""

Assessment = Literal[
    "attributes", "attributes_inverted", "secure_sum", "pairs_joint", "pairs_kronecker"
]
"""Ways to assess dependences without a trusted party; see `assessment`."""

Clustering = tuple[tuple[str, ...], ...]
"""Clusters of attributes, by name."""

READINGS: tuple[Reading, ...] = get_args(Reading)
CLUSTER_MECHANISMS: tuple[ClusterMechanism, ...] = get_args(ClusterMechanism)
