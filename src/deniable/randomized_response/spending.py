"""Return protocols with a required exact epsilon."""

import math

import numpy as np

from deniable.channels import KeepOrReplace, refuse_bad_budget
from deniable.errors import DeniableError, named_types
from deniable.privacy import Allocation, allocate_by_size
from deniable.randomized_response.protocols import (
    Clustering,
    ClusterMechanism,
    Protocol,
    Reading,
    rr_clusters,
)
from deniable.records import Domain


def p_of_epsilon(
    domain: Domain,
    epsilon: float,
    reading: Reading,
    clusters: Clustering | None = None,
    mechanism: ClusterMechanism = "kronecker",
) -> float:
    """Return the largest p, one for all attributes, with at most a given epsilon of a record.

    The p is for `rr_independent`, `rr_clusters` (with `clusters` and `mechanism`) or `rr_joint`
    (one cluster, "joint") of a `domain`, with `reading` as in `rr_channel`. At this p the exact
    epsilon is at most `epsilon`, and at the next larger float it is above. Raises `DeniableError`
    if no p below 1 has the epsilon.

    Unless `reading` is "keep", the epsilon of an attribute is |ln p / (1 - p) + ln c|, where c
    grows with its number of categories. So small p reveal as much as large ones, and for attributes
    of different sizes no p has epsilon 0. The sum over attributes is convex in ln p / (1 - p) and
    rises beyond the median of the -ln c. No p has an epsilon below the sum at this median.

    Examples
    --------
    >>> from deniable.randomized_response import rr_independent
    >>> from deniable.records import Attribute
    >>> two = Domain((Attribute("sex", ("f", "m")), Attribute("owner", ("no", "yes"))))
    >>> p = p_of_epsilon(two, 2.0, "keep")
    >>> round(p, 6)  # (e - 1) / (e + 1): epsilon is 1 for each attribute
    0.462117
    >>> rr_independent(two, p, "keep").epsilon <= 2.0
    True
    """
    refuse_bad_budget(epsilon)
    if not (sizes := [size for size in domain.shape if size > 1]):
        raise DeniableError(
            "no attribute has two categories, so epsilon is 0 for every p; add an attribute"
        )
    parts = tuple((name,) for name in domain.names) if clusters is None else clusters

    def spent(p: float) -> float:
        return rr_clusters(domain, parts, p, reading, mechanism).epsilon if p > 0 else 0.0

    low, high = 0.0, 1.0
    if reading != "keep":  # epsilon increases from here
        turns = [-math.log(size if reading == "printed" else size - 1) for size in sizes]
        low = 1 / (1 + math.exp(-float(np.median(turns))))
    least, largest = spent(low), spent(math.nextafter(1.0, 0.0))
    if not least < epsilon < largest:
        raise DeniableError(
            f"epsilon is {epsilon:g}, but with one p for all attributes and the matrix {reading!r} "
            f"a record has between {least:.4g} and {largest:.4g}; use the matrix 'keep', or "
            "protocol_from_epsilon, which allocates epsilon to the clusters"
        )
    while low < (p := (low + high) / 2) < high:
        low, high = (p, high) if spent(p) <= epsilon else (low, p)
    return low


@named_types
def protocol_from_epsilon(
    domain: Domain, epsilon: float, clusters: Clustering | None = None, how: Allocation = "even"
) -> Protocol:
    """Return RR-Independent, RR-Clusters or RR-Joint at a required exact epsilon of a record.

    Generalized randomized response randomizes the joint cells of each of the `clusters` of a
    `domain`, by default single attributes. One cluster of all attributes is RR-Joint. `how` is the
    budget allocation, "even" or by "size"; see `deniable.privacy.allocate_by_size`. The protocol's
    exact epsilon is at most `epsilon`, above 0, and only rounding makes them differ. Raises
    `DeniableError` if epsilon cannot be allocated.

    Examples
    --------
    >>> from deniable.records import Attribute
    >>> domain = Domain((Attribute("a", ("x", "y")), Attribute("b", ("x", "y", "z"))))
    >>> protocol = protocol_from_epsilon(domain, 1.0)
    >>> 1 - 1e-12 < protocol.epsilon <= 1
    True
    """
    parts = tuple((name,) for name in domain.names) if clusters is None else clusters
    sizes = [domain.project(cluster).size for cluster in parts]
    channels, kept = [], KeepOrReplace(1.0, np.zeros(1))  # a single cell needs no randomization
    for cluster, size, own in zip(parts, sizes, allocate_by_size(epsilon, sizes, how), strict=True):
        try:
            channels.append(kept if size == 1 else KeepOrReplace.of_epsilon(size, own))
        except DeniableError as error:
            raise DeniableError(f"{' x '.join(cluster)}: {error}") from None
    return Protocol(domain, parts, tuple(channels))
