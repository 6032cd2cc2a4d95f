"""Individual differential privacy by microaggregation: [idp], Propositions 1 to 3.

Each attribute j has the budget epsilon_j and the domain [0, U_j]. With ``dp`` each value gets noise
of its own. The other methods cut the attribute into clusters of consecutive values. They add one
Laplace draw of scale sensitivity / epsilon_j to each centroid and clip the sum to the domain. Every
record of the cluster gets the result.

The claim is epsilon-individual differential privacy (Definition 3; for ``dp`` and ``dp_um``
epsilon-differential privacy), with sequential composition over attributes and parallel composition
over clusters. The sensitivities are right for one centroid of a fixed set of records. The parallel
composition is not sound: if a record changes its rank, it shifts a value in every cluster between
its old and its new place. See `deniable.idp.audit` for the exact epsilons.
"""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats
from deniable.errors import DeniableError, refuse_unknown
from deniable.idp.microaggregation import Clusters, Edges, Ranking
from deniable.privacy import allocate
from deniable.sampling import Noise

Method = Literal["dp", "dp_um", "idp_ls", "idp_cbls"]
Variant = Literal[Method, "idp_cbls_prose"]
"""The methods, and for the audit ``idp_cbls`` with Proposition 3 in the words of its proof.

The words omit the last term of each expression: their bound is too small by up to a factor of 2.
"""
Centroid = Literal["mean", "preprocessed"]
METHODS: tuple[Method, ...] = get_args(Method)
SMALLEST_CLUSTER = 3
"""The least size for ``idp_cbls``, which needs a second smallest and a second largest value."""


def domain_bounds(values: npt.ArrayLike, factor: float) -> Floats:
    """Return the upper ends of the domains [0, U_j], U_j = `factor` * max_j ([idp], section 4).

    The maximum depends on the data, so no epsilon covers these bounds. Releases need bounds that do
    not depend on it. `values`, at least 0, have the shape (records, attributes), and `factor` is at
    least 1.
    """
    if not factor >= 1:
        raise DeniableError(f"the domain factor is {factor:g}; it must be at least 1")
    return np.asarray(factor * np.max(np.asarray(values, dtype=float), axis=0))


def sensitivity(method: Variant, clusters: Clusters | Edges, upper: npt.ArrayLike) -> Floats:
    """Return the claimed sensitivity of a `method` for the centroid of each of `clusters`.

    For n sorted values x_1 .. x_n in [0, U] it is 1 / n times

    - U for ``dp`` and ``dp_um``, the global sensitivity ([idp], section 3.1);
    - max(U - x_1, x_n) for ``idp_ls``, the local one (Proposition 2);
    - for ``idp_cbls``, n >= 3, the local one of preprocessed values (Proposition 3), which depends
      on the cluster alone: the larger of

          (x_n - x_2) + (x_3 - x_2) + (x_n - x_{n-1})  and
          (x_{n-1} - x_1) + (x_{n-1} - x_{n-2}) + (x_2 - x_1).

      The centroid changes by this amount if a record moves beyond an end of its cluster.

    `upper` is U; its shape broadcasts to the shape of the clusters.
    """
    ends = np.asarray(upper, dtype=float)
    if method in ("dp", "dp_um"):
        return np.asarray(ends / clusters.sizes)
    first, last = clusters.smallest(), clusters.largest()
    if method == "idp_ls":
        return np.asarray(np.maximum(ends - first, last) / clusters.sizes)
    second, second_last = clusters.smallest(2), clusters.largest(2)
    upward = (last - second) + (clusters.smallest(3) - second)
    downward = (second_last - first) + (second_last - clusters.largest(3))
    if method == "idp_cbls":
        upward, downward = upward + (last - second_last), downward + (second - first)
    return np.asarray(np.maximum(upward, downward) / clusters.sizes)


def centroid_of(method: Variant) -> Centroid:
    """Return the kind of centroid to which a `method` adds noise."""
    return "preprocessed" if method.startswith("idp_cbls") else "mean"


def centroids(clusters: Clusters, centroid: Centroid) -> Floats:
    """Return the `centroid` of each of the `clusters`, shape (attributes, clusters).

    The preprocessed centroids of ``idp_cbls`` ([idp], section 3.2.2) are means after two
    replacements: the smallest value by the second smallest, and the largest by the second largest.
    """
    if centroid == "mean":
        return clusters.centroids
    if clusters.k < SMALLEST_CLUSTER:
        raise DeniableError(
            f"k is {clusters.k}; cluster-based local sensitivity needs at least "
            f"{SMALLEST_CLUSTER} values in each cluster"
        )
    inner = clusters.sums - clusters.smallest() - clusters.largest()
    return clusters.within((inner + clusters.smallest(2) + clusters.largest(2)) / clusters.sizes)


@dataclass(frozen=True, eq=False)
class Masking:
    """Centroids and noise scales of records masked by a `method`.

    The `centres` of the `clusters` (single values for ``dp``) and the `scales` of their noise have
    the shape (attributes, clusters). The budgets `epsilons` and the upper ends of domains, `upper`,
    have the shape (attributes,). Results are clipped to [0, U_j].
    """

    method: Variant
    clusters: Clusters
    centres: Floats
    scales: Floats
    epsilons: Floats
    upper: Floats

    def noisy_centroids(self, noise: Noise, runs: int) -> Floats:
        """Return centroids with `noise`, clipped to the domain: (`runs`, attributes, clusters)."""
        noisy = noise.add(self.centres, self.scales, runs)
        return np.clip(noisy, 0.0, self.upper[:, None], out=noisy)

    def mask(self, noise: Noise, runs: int = 1) -> Floats:
        """Return records masked by `noise`, shape (`runs`, records, attributes), in file order."""
        return self.clusters.expand(self.noisy_centroids(noise, runs))


def masking(
    method: Variant, ranking: Ranking, k: int, upper: npt.ArrayLike, epsilon: float
) -> Masking:
    """Return centroids and noise scales of a `method` for ranked records.

    Values of the `ranking` are in the domains [0, U_j], with U_j in `upper`, shape (attributes,).
    Clusters have at least `k` records, 3 or more for ``idp_cbls``; ``dp`` forms none. The claim for
    a record is `epsilon`, above 0, with equal budgets of attributes. Raises `DeniableError` if a
    value is outside its domain, or a parameter outside its range.

    Examples
    --------
    >>> ranking = Ranking.of([[1.0], [2.0], [4.0], [7.0]])
    >>> found = masking("idp_cbls", ranking, 3, [10.0], epsilon=0.5)
    >>> found.centres, found.scales
    (array([[3.]]), array([[5.]]))
    """
    refuse_unknown("method", method, get_args(Variant))
    bounds = np.array(upper, dtype=float)
    if bounds.shape != (ranking.attributes,) or not np.all(np.isfinite(bounds)):
        raise DeniableError(
            f"the domains need a finite upper end for each of {ranking.attributes} attributes"
        )
    lowest, highest = ranking.values[:, 0], ranking.values[:, -1]
    if (outside := np.flatnonzero((lowest < 0) | (highest > bounds))).size:
        j = outside[0]
        raise DeniableError(
            f"column {j} has values from {lowest[j]:g} to {highest[j]:g}, but its domain is "
            f"[0, {bounds[j]:g}]; widen the domain, or shift or clip the values"
        )
    clusters = ranking.clusters(1 if method == "dp" else k)
    centres = centroids(clusters, centroid_of(method))
    epsilons = split_budget(epsilon, ranking.attributes)
    scales = sensitivity(method, clusters, bounds[:, None]) / epsilons[:, None]
    return Masking(method, clusters, centres, scales, epsilons, bounds)


def split_budget(epsilon: float, attributes: int) -> Floats:
    """Return the epsilon of each of m `attributes`, `epsilon` / m rounded down ([idp], 3.1)."""
    return np.array(allocate(epsilon, np.ones(attributes).tolist()))
