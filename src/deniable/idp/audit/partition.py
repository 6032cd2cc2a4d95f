"""Released records reveal more than centroids: the partition into clusters.

All records of a cluster are released with one value, and noise with a density gives different
clusters different values. So a file in its original order publishes the partition into clusters.
Let D' be a neighbour of D, and let a cluster of D' unite records of different clusters of D. Under
D' these records have one value with certainty. Under D they have different values with positive
probability, unless both clusters are without noise and have the same centroid. That event has
probability 0 under D' and above 0 under D. So no epsilon bounds the ratio, for any scales.

*When this happens.* Let there be at least two clusters of two records or more. Let the record with
the smallest value get one above all others. It leaves its old cluster and joins the highest
records. The exact epsilon of the release is infinite for every method that microaggregates,
``dp_um`` included. It is finite with one cluster, with clusters of one record, or if all clusters
in between are without noise and equal.

*How often.* Under D the records contradict D', unless all clusters that D' unites happen to have
one value. Only clipping (all at 0, or all at U) or centroids without noise cause this
(`refutation_by_a_full_shift`). An (epsilon, delta)-DP release needs a delta that is at least the
probability of a contradiction, for any epsilon.

*If the records are shuffled*, the file still shows the number of common records of any two clusters
of two attributes. If D' has fewer visible clusters or other such numbers, a release of D has with
positive probability a result that is impossible under D'. If D' has more, exchange D and D'
(`shown_when_shuffled`).
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats, Positions, quotients
from deniable.idp.methods import Centroid, centroids
from deniable.idp.microaggregation import Ranking


def visible(clusters: Positions, centres: Floats, scales: Floats) -> Positions:
    """Return the visible block of each record; clusters with equal exact centroids form one.

    `clusters` has the cluster of each record; `centres` and `scales` are by cluster.
    """
    blocks = np.arange(centres.size)
    exact = np.flatnonzero(scales == 0)
    _, first, which = np.unique(centres[exact], return_index=True, return_inverse=True)
    blocks[exact] = exact[first][which]
    return np.asarray(blocks[clusters])


def _log_at(end: float, centres: Floats, scales: Floats, upper: float) -> Floats:
    """Return the log probability that each noisy centroid is clipped to an end of the domain."""
    distance = np.abs(np.clip(centres, 0.0, upper) - end)
    noisy = np.log(0.5) - quotients(distance, scales)
    return np.where(scales > 0, noisy, np.where(distance == 0, 0.0, -np.inf))


def _unlabelled(blocks: Positions, others: Sequence[Positions]) -> tuple[int, ...]:
    """Return the visible numbers about blocks of one attribute in a shuffled file, without labels.

    They are the number of blocks, and for each other attribute the sum of squared numbers of common
    records.
    """
    found = [np.unique(blocks).size]
    for other in others:
        codes = blocks.astype(np.int64) * (int(other.max()) + 1) + other
        _, counts = np.unique(codes, return_counts=True)
        found.append(int((counts**2).sum()))
    return tuple(found)


def refutation_by_a_full_shift(centres: Floats, scales: Floats, upper: float) -> float:
    """Return the probability that records contradict a full shift: the smallest becomes largest.

    Each cluster then passes its first value to the cluster below, so the neighbour's clusters unite
    all clusters. If the probability is above 0, the exact epsilon of the released records is
    infinite. `centres`, in [0, `upper`], and `scales` are for clusters of two records or more.
    """
    if centres.size == 1:
        return 0.0
    if not scales.any():
        return float(np.ptp(centres) > 0)
    at_0, at_upper = (_log_at(end, centres, scales, upper).sum() for end in (0.0, upper))
    return float(-np.expm1(np.logaddexp(at_0, at_upper)))


def shown_when_shuffled(
    columns: npt.ArrayLike, k: int, centroid: Centroid, scales: Floats, upper: float
) -> bool:
    """Return whether even a shuffled release can distinguish the file from a neighbour.

    One record after the other, from the smallest, gets the largest value of the first attribute,
    `upper`. The search ends if blocks of equal values have other numbers of common records.
    `columns` has the shape (records, attributes), with two or more attributes. Clusters have at
    least `k` records, and `centroid` is the kind of their centroids. The `scales`, (attributes,
    clusters), are fixed.
    """

    def shown(values: Floats, scales: Floats) -> list[Positions]:
        clusters = Ranking.of(values).clusters(k)
        parts = zip(clusters.memberships, centroids(clusters, centroid), scales, strict=True)
        return [visible(*part) for part in parts]

    table = np.asarray(columns, dtype=float)
    own, *others = shown(table, scales)
    before = _unlabelled(own, others)
    for record in np.argsort(table[:, 0], kind="stable")[: 2 * k]:
        changed = table[:, :1].copy()
        changed[record] = upper
        (blocks,) = shown(changed, scales[:1])
        if _unlabelled(blocks, others) != before:
            return True
    return False
