"""The protocols of [multirr] at a stated epsilon: p is what comes out."""

import math

import numpy as np

from deniable.channels import KeepOrReplace
from deniable.errors import DeniableError
from deniable.randomized_response.budgets.splitting import (
    How,
    checked_channel,
    refuse_bad_budget,
    split_budget,
)
from deniable.randomized_response.dependence import Clusters
from deniable.randomized_response.protocols import Protocol, claimed_epsilon, rr_clusters
from deniable.randomized_response.readings import ClusterMechanism, Reading
from deniable.records import Domain

HALVINGS = 200
LARGEST_LOGIT = 36.0  # beyond it p is 1 as a float
SMALLEST_LOGIT = -700.0


def p_of_epsilon(
    domain: Domain,
    epsilon: float,
    reading: Reading,
    clusters: Clusters | None = None,
    mechanism: ClusterMechanism = "kronecker",
) -> float:
    """Return the p by which a record has a stated exact epsilon, rounded so as not to exceed it.

    For `rr_independent`, `rr_clusters` (clusters and mechanism given) and `rr_joint` (one cluster,
    "joint") with the same p and reading. Of the p that do not exceed it, it is the largest up to
    rounding of p.

    In the readings "printed" and "diagonal" the epsilon of an attribute is |ln p / (1 - p) + ln c|,
    c growing with its categories: small p tell as much as large ones, and attributes of different
    sizes have no p at which all tell nothing. The sum over attributes is convex in ln p / (1 - p)
    and rises beyond the median of the -ln c; below its value there no p has the epsilon asked for.

    Parameters
    ----------
    domain : Domain
    epsilon : float, above 0
        Of a whole record.
    reading : "printed", "keep" or "diagonal"
        As in `rr_channel`.
    clusters, mechanism : optional
        As in `rr_clusters`; by default each attribute is a cluster.

    Raises
    ------
    DeniableError
        If no p has the epsilon, or one below 1 that floats tell from 1.

    Examples
    --------
    >>> from deniable.records import Attribute
    >>> coin = Domain((Attribute("coin", ("heads", "tails")),))
    >>> round(p_of_epsilon(coin, 1.0986, "keep"), 3)
    0.5
    """
    refuse_bad_budget(epsilon)
    sizes = [size for size in domain.shape if size > 1]
    if not sizes:
        raise DeniableError("no attribute has two categories: no p gives a record an epsilon")
    parts = tuple((name,) for name in domain.names) if clusters is None else clusters

    def approximately(logit: float) -> float:
        return sum(claimed_epsilon(size, _expit(logit), reading) for size in sizes)

    low, high = _least_logit(sizes, reading), LARGEST_LOGIT
    _refuse_outside(epsilon, approximately(low), approximately(high), reading)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if approximately(middle) <= epsilon else (low, middle)
    p, back = _expit(low), math.ulp(_expit(low))
    # Growing steps: what rounding makes of a joint matrix can be far more than a step of p.
    while rr_clusters(domain, parts, p, reading, mechanism).epsilon > epsilon:
        p, back = p - back, 2 * back
    return p


def _refuse_outside(epsilon: float, least: float, largest: float, reading: Reading) -> None:
    if not least < epsilon < largest:
        raise DeniableError(
            f"epsilon is {epsilon:g}, but one p for all attributes in the reading {reading!r} "
            f"gives a record between {least:.4g} and {largest:.4g}; use the reading 'keep', or "
            "protocol_of_epsilon, which gives each attribute a share"
        )


def _expit(logit: float) -> float:
    return 1 / (1 + math.exp(-logit))


def _least_logit(sizes: list[int], reading: Reading) -> float:
    """Return ln p / (1 - p) from which on the epsilon of a record does not fall."""
    if reading == "keep":
        return SMALLEST_LOGIT
    turns = [-math.log(size if reading == "printed" else size - 1) for size in sizes]
    return float(np.median(turns))


def protocol_of_epsilon(
    domain: Domain, epsilon: float, clusters: Clusters | None = None, how: How = "even"
) -> Protocol:
    """Return RR-Independent, RR-Clusters or RR-Joint of a stated exact epsilon of a record.

    Each cluster has its share of epsilon (see `split_budget`) and goes, as joint cells, through
    generalized randomized response of it: the p of each follows. The protocol's exact epsilon is at
    most the one asked for, short of it by rounding alone.

    Parameters
    ----------
    domain : Domain
    epsilon : float, above 0
    clusters : tuple of tuples of attribute names, optional
        By default each attribute by itself, RR-Independent; one of all attributes is RR-Joint.
    how : "even", "size" or "least_variance"
        How epsilon is split over the clusters.

    Examples
    --------
    >>> from deniable.records import Attribute
    >>> domain = Domain((Attribute("a", ("x", "y")), Attribute("b", ("x", "y", "z"))))
    >>> protocol = protocol_of_epsilon(domain, 1.0)
    >>> 1 - 1e-12 < protocol.epsilon <= 1
    True
    """
    parts = tuple((name,) for name in domain.names) if clusters is None else clusters
    sizes = [domain.project(cluster).size for cluster in parts]
    shares = split_budget(epsilon, sizes, how)
    channels = (
        checked_channel(KeepOrReplace.of_epsilon, size, share)
        for size, share in zip(sizes, shares, strict=True)
    )
    return Protocol(domain, parts, tuple(channels))
