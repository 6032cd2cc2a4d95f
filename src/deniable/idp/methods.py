"""Individual differential privacy by microaggregation: [idp], Propositions 1 to 3.

Four ways to mask numeric records. Each attribute j has a share epsilon_j of the budget and the
domain [0, U_j]. All but the first cut it into clusters of consecutive values, add one Laplace draw
of scale sensitivity / epsilon_j to the centroid of each cluster, clip the result to the domain, and
give it to every record of the cluster.

- ``dp``: no clusters, each value gets noise of its own; sensitivity U.
- ``dp_um``: sensitivity U / n, with n the size of the cluster (global, section 3.1).
- ``idp_ls``: sensitivity max(U - min, max) / n (local, Proposition 2).
- ``idp_cbls``: the smallest and the largest value of each cluster are replaced by the second
  smallest and the second largest before the mean is taken; its sensitivity comes from the cluster
  alone (Proposition 3).

What is claimed is epsilon-individual differential privacy (Definition 3; for ``dp`` and ``dp_um``
epsilon-differential privacy), with sequential composition over attributes and parallel composition
over clusters. The sensitivities are right for one centroid of a fixed set of records. The parallel
composition is not sound: a record that changes its rank shifts a value in every cluster between its
old and its new place. What is delivered is for the audit to say.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats
from deniable.errors import DeniableError
from deniable.idp.microaggregation import Clusters, Ranking
from deniable.sampling import Noise

Method = Literal["dp", "dp_um", "idp_ls", "idp_cbls"]
Reading = Literal["exact", "prose"]
METHODS: tuple[Method, ...] = get_args(Method)
READINGS: tuple[Reading, ...] = get_args(Reading)
SMALLEST_CLUSTER = 3
"""Of ``idp_cbls``: below it second smallest and second largest are not both there."""


def domain_bounds(values: npt.ArrayLike, factor: float) -> Floats:
    """Return the upper ends of the domains [0, U_j], U_j = factor * max_j ([idp], section 4).

    The maximum is itself data: bounds made so cost privacy that no epsilon accounts for. Whoever
    releases data should give bounds that are known without them.

    Parameters
    ----------
    values : array, shape (records, attributes), >= 0
    factor : float, >= 1

    Returns
    -------
    array, shape (attributes,)
    """
    if not factor >= 1:
        raise DeniableError(f"the domain factor is {factor:g}; it must be at least 1")
    return np.asarray(factor * np.max(np.asarray(values, dtype=float), axis=0))


def global_sensitivity(clusters: Clusters, upper: Floats) -> Floats:
    """Return U_j / n, the global sensitivity of a cluster's mean ([idp], section 3.1).

    Returns
    -------
    array, shape (attributes, clusters)
    """
    return upper[:, None] / clusters.sizes


def local_sensitivity(clusters: Clusters, upper: Floats) -> Floats:
    """Return max(U_j - min, max - 0) / n ([idp], Proposition 2).

    Returns
    -------
    array, shape (attributes, clusters)
    """
    farthest = np.maximum(upper[:, None] - clusters.smallest(), clusters.largest())
    return np.asarray(farthest / clusters.sizes)


def cluster_based_sensitivity(clusters: Clusters, reading: Reading = "exact") -> Floats:
    """Return the local sensitivity of a mean of preprocessed values ([idp], Proposition 3).

    For the sorted values x_1 .. x_n of a cluster, n >= 3, it is 1 / n times the larger of

        (x_n - x_2) + (x_3 - x_2) + (x_n - x_{n-1})  and
        (x_{n-1} - x_1) + (x_{n-1} - x_{n-2}) + (x_2 - x_1).

    This is attained, for one record of the cluster moving beyond one of its ends while the others
    stay. The proof's prose leaves out the last term of each: with ``reading="prose"`` the bound is
    too small by up to a factor of 2.

    Parameters
    ----------
    clusters : Clusters
        Of at least 3 values.
    reading : "exact" or "prose"

    Returns
    -------
    array, shape (attributes, clusters)
    """
    _refuse_small_clusters(clusters)
    if reading not in READINGS:
        raise DeniableError(f"unknown reading {reading!r}; use {', '.join(READINGS)}")
    first, second, third = (clusters.smallest(nth) for nth in (1, 2, 3))
    last, second_last, third_last = (clusters.largest(nth) for nth in (1, 2, 3))
    upward = (last - second) + (third - second)
    downward = (second_last - first) + (second_last - third_last)
    if reading == "exact":
        upward = upward + (last - second_last)
        downward = downward + (second - first)
    return np.asarray(np.maximum(upward, downward) / clusters.sizes)


def preprocessed_centroids(clusters: Clusters) -> Floats:
    """Return the mean of each cluster after the preprocessing of [idp], section 3.2.2.

    The smallest value is replaced by the second smallest and the largest by the second largest:
    of three values this leaves the middle one.

    Returns
    -------
    array, shape (attributes, clusters)
    """
    _refuse_small_clusters(clusters)
    inner = clusters.sums - clusters.smallest() - clusters.largest()
    return clusters.within((inner + clusters.smallest(2) + clusters.largest(2)) / clusters.sizes)


@dataclass(frozen=True, eq=False)
class Masking:
    """How records are masked: everything but the noise.

    Attributes
    ----------
    method : str
    clusters : Clusters
        Of single values for ``dp``.
    centres : array, shape (attributes, clusters)
        What gets noise.
    sensitivities : array, shape (attributes, clusters)
    epsilons : array, shape (attributes,)
        The share of the budget of each attribute.
    upper : array, shape (attributes,)
        U_j; results are clipped to [0, U_j].
    """

    method: Method
    clusters: Clusters
    centres: Floats
    sensitivities: Floats
    epsilons: Floats
    upper: Floats

    @cached_property
    def scales(self) -> Floats:
        """Scale of the noise of each centroid, shape (attributes, clusters)."""
        return np.asarray(self.sensitivities / self.epsilons[:, None])

    def noisy_centroids(self, noise: Noise, runs: int = 1) -> Floats:
        """Return centroids with noise, clipped to the domain, (runs, attributes, clusters)."""
        noisy = noise.add(self.centres, self.scales, runs)
        return np.clip(noisy, 0.0, self.upper[:, None], out=noisy)

    def mask(self, noise: Noise, runs: int = 1) -> Floats:
        """Return masked records, shape (runs, records, attributes), in their original order."""
        return self.clusters.expand(self.noisy_centroids(noise, runs))


def masking(
    method: Method,
    ranking: Ranking,
    k: int,
    upper: npt.ArrayLike,
    epsilon: float,
    *,
    shares: npt.ArrayLike | None = None,
    reading: Reading = "exact",
) -> Masking:
    """Work out how records are masked.

    Parameters
    ----------
    method : str
        Of `METHODS`.
    ranking : Ranking
        Of the records; all its values in [0, U_j].
    k : int
        Least size of a cluster; at least 3 for ``idp_cbls``, of no effect on ``dp``.
    upper : array, shape (attributes,)
        U_j.
    epsilon : float, > 0
        Claimed for a record, over all attributes.
    shares : array, shape (attributes,), optional
        Of the budget; by default each attribute has the same.
    reading : "exact" or "prose"
        Of Proposition 3.

    Raises
    ------
    DeniableError
        If a value lies outside its domain, or a parameter outside its range.

    Examples
    --------
    >>> ranking = Ranking.of([[1.0], [2.0], [4.0], [7.0]])
    >>> found = masking("idp_cbls", ranking, 3, [10.0], epsilon=0.5)
    >>> found.centres, found.sensitivities
    (array([[3.]]), array([[2.5]]))
    """
    if method not in _CALIBRATIONS:
        raise DeniableError(f"unknown method {method!r}; use {', '.join(METHODS)}")
    bounds = np.array(upper, dtype=float)
    _refuse_domain(ranking, bounds)
    clusters = ranking.clusters(1 if method == "dp" else k)
    centres, sensitivities = _CALIBRATIONS[method](clusters, bounds, reading)
    epsilons = split_budget(epsilon, ranking.attributes, shares)
    return Masking(method, clusters, centres, sensitivities, epsilons, bounds)


def split_budget(epsilon: float, attributes: int, shares: npt.ArrayLike | None = None) -> Floats:
    """Return the epsilon of each attribute, by default epsilon / m each ([idp], section 3.1).

    Parameters
    ----------
    shares : array, shape (attributes,), > 0, of sum 1, optional
    """
    _refuse_budget(np.asarray(epsilon, dtype=float))
    if shares is None:
        return np.full(attributes, epsilon / attributes)
    parts = np.asarray(shares, dtype=float)
    if parts.shape != (attributes,) or not np.all(parts > 0) or abs(parts.sum() - 1) > 1e-9:
        raise DeniableError(
            f"the shares of the budget must be {attributes} positive numbers of sum 1"
        )
    return np.asarray(epsilon * parts)


Calibration = Callable[[Clusters, Floats, Reading], tuple[Floats, Floats]]
_CALIBRATIONS: Mapping[str, Calibration] = {
    "dp": lambda clusters, upper, _: (clusters.centroids, global_sensitivity(clusters, upper)),
    "dp_um": lambda clusters, upper, _: (clusters.centroids, global_sensitivity(clusters, upper)),
    "idp_ls": lambda clusters, upper, _: (clusters.centroids, local_sensitivity(clusters, upper)),
    "idp_cbls": lambda clusters, _, reading: (
        preprocessed_centroids(clusters),
        cluster_based_sensitivity(clusters, reading),
    ),
}


def _refuse_budget(epsilon: Floats) -> None:
    if not (np.all(np.isfinite(epsilon)) and np.all(epsilon > 0)):
        raise DeniableError(f"epsilon is {epsilon}; it must be a finite number above 0")


def _refuse_small_clusters(clusters: Clusters) -> None:
    if clusters.k < SMALLEST_CLUSTER:
        raise DeniableError(
            f"k is {clusters.k}; cluster-based local sensitivity needs at least "
            f"{SMALLEST_CLUSTER} values in each cluster"
        )


def _refuse_domain(ranking: Ranking, upper: Floats) -> None:
    if upper.shape != (ranking.attributes,) or not np.all(np.isfinite(upper)):
        raise DeniableError(
            f"the domains need a finite upper end for each of {ranking.attributes} attributes"
        )
    lowest, highest = ranking.values[:, 0], ranking.values[:, -1]
    outside = np.flatnonzero((lowest < 0) | (highest > upper))
    if outside.size:
        j = int(outside[0])
        raise DeniableError(
            f"column {j} has values from {lowest[j]:g} to {highest[j]:g}, but its domain is "
            f"[0, {upper[j]:g}]; widen the domain, or shift or cut the values"
        )
