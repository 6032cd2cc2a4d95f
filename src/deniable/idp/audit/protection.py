"""Whether noise on microaggregated data never protects less than microaggregation alone.

[idp] (section 1) says that it cannot. The argument would be post-processing: whatever is made of
the microaggregated file by chance alone tells no more than that file. It is sound for ``dp_um``,
whose noise depends on the clusters' sizes only. It does not apply to ``idp_ls`` and ``idp_cbls``:
their scales depend on values inside the cluster that the microaggregated file does not show, and
the preprocessed centroid is not even the cluster's mean.

Two clusters with the same mean are one and the same after microaggregation. `told_beyond_means`
gives the loss between their releases. With `idp_cbls` it is infinite for (1, 2, 3) and (2, 2, 2):
the latter is released as exactly 2, and whoever sees a value without noise knows all three values.

`certain_values` counts what an intruder learns for certain. From an exact preprocessed centroid:
the value of all its records. From a microaggregated file: a mean at an end of the domain, and
means of neighbouring clusters that are equal (the one's largest value is at most the other's
smallest), say that all values of these clusters are equal to it; of values that may be any numbers
of the domain, no other mean does.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats
from deniable.idp.audit.changes import Cut
from deniable.idp.audit.losses import Method, loss_between, sensitivity


def told_beyond_means(
    method: Method, one: npt.ArrayLike, other: npt.ArrayLike, upper: float, epsilon: float
) -> float:
    """Return the loss between releases of two single clusters with the same mean.

    Parameters
    ----------
    method : str
    one, other : array, shape (values,)
        Of one sum, so that microaggregation makes the same of them.
    upper, epsilon : float
    """
    sorted_values = [np.sort(np.asarray(each, dtype=float)) for each in (one, other)]
    cuts = [Cut(values, values.size, upper) for values in sorted_values]
    centres = [_centre(method, cut.values) for cut in cuts]
    scales = [sensitivity(method, cut.edges, upper) / epsilon for cut in cuts]
    return float(loss_between(centres[0], scales[0], centres[1], scales[1], upper)[0])


def _centre(method: Method, ordered: Floats) -> Floats:
    total = float(ordered.sum())
    if method.startswith("idp_cbls"):
        total += float(ordered[1] - ordered[0] + ordered[-2] - ordered[-1])
    return np.array([total / ordered.size])


@dataclass(frozen=True)
class CertainValues:
    """Shares of the values of an attribute that an intruder knows for certain.

    Attributes
    ----------
    microaggregated : float
        From the means alone.
    exact_centroids : float
        From clusters that Proposition 3 gives no noise.
    """

    microaggregated: float
    exact_centroids: float


def certain_values(cut: Cut) -> CertainValues:
    """Return what is known for certain of one attribute with the domain [0, upper]."""
    equal = cut.edges.low[:, 0] == cut.edges.high[:, 0]
    at_end = equal & ((cut.edges.low[:, 0] == 0) | (cut.edges.low[:, 0] == cut.upper))
    means = np.where(equal, cut.edges.low[:, 0], np.nan)
    like_next = np.append(means[1:] == means[:-1], False)
    like_last = np.append(False, means[1:] == means[:-1])
    told = at_end | like_next | like_last
    records = cut.values.size
    return CertainValues(
        float(cut.sizes[told].sum() / records), float(cut.sizes[equal].sum() / records)
    )


def linked_share(
    true: npt.ArrayLike,
    released: npt.ArrayLike,
    targets: npt.ArrayLike | None = None,
    block: int = 500,
) -> float:
    """Return the share of records that are nearest to their own released values.

    Distances are those of standardized values ([idp], (5)). An intruder who knows the true
    values of a record looks for it in the file; among equally near records he picks at random.

    Parameters
    ----------
    true, released : array, shape (records, attributes)
    targets : array of int, optional
        The records that are looked for; by default all of them.
    """
    numbers = np.asarray(true, dtype=float)
    deviations = numbers.std(axis=0, ddof=1)
    known, shown = numbers / deviations, np.asarray(released, dtype=float) / deviations
    squares = (shown**2).sum(axis=1)
    wanted = np.arange(len(known)) if targets is None else np.asarray(targets, dtype=np.intp)
    linked = 0.0
    for start in range(0, wanted.size, block):
        own = wanted[start : start + block]
        distances = squares - 2 * known[own] @ shown.T
        nearest = distances.min(axis=1)
        slack = 1e-9 * (1.0 + np.abs(nearest))
        near = distances <= (nearest + slack)[:, None]
        linked += float((near[np.arange(own.size), own] / near.sum(axis=1)).sum())
    return linked / wanted.size
