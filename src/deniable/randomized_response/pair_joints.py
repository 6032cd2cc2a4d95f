"""Joint distributions of two attributes from RR-Independent data, at no further cost of privacy.

[multirr] estimates the joint of two attributes under RR-Independent as the product of their
margins. Beyond the text: each attribute went through its own matrix, so the pair of reports went
through the product of the two, and inverting along both axes estimates the joint without bias. The
same reports are used, so epsilon is that of RR-Independent. What it costs is variance: `shrunk`
weighs it against the bias of the product of margins.

Counts are flat tables of the pair, shape (..., cells), the second attribute running fastest.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats
from deniable.channels import Channel, ProductChannel
from deniable.estimation import (
    TOLERANCE,
    clip_and_rescale,
    estimated_or_uniform,
    euclidean_projection,
    maximum_likelihood,
    unbiased_or_uniform,
)

PairEstimator = Callable[[npt.ArrayLike, ProductChannel], Floats]


def unbiased(counts: npt.ArrayLike, channel: ProductChannel) -> Floats:
    """Return the unbiased estimate of the joint, which may leave the simplex.

    A singular attribute is taken as uniform, with a warning, here and in all that follow.
    """
    return unbiased_or_uniform(np.asarray(counts), channel)


def clipped(counts: npt.ArrayLike, channel: ProductChannel) -> Floats:
    """Return the unbiased estimate, clipped and rescaled ([multirr], 6.4)."""
    return clip_and_rescale(unbiased(counts, channel))


def projected(counts: npt.ArrayLike, channel: ProductChannel) -> Floats:
    """Return the distribution nearest to the unbiased estimate in Euclidean distance."""
    return euclidean_projection(unbiased(counts, channel))


def likelihood(
    counts: npt.ArrayLike, channel: ProductChannel, tolerance: float = TOLERANCE
) -> Floats:
    """Return the joint that makes the reports most likely, to within `tolerance` nats."""

    def solve(known_counts: npt.NDArray[np.int64], known: Channel) -> Floats:
        return maximum_likelihood(known_counts, known, tolerance=tolerance).proportions

    return estimated_or_uniform(np.asarray(counts), channel, solve)


@dataclass(frozen=True, eq=False)
class Shrunk:
    """An estimate between the product of the margins and the unbiased joint.

    Attributes
    ----------
    estimate : shape (..., cells)
        product + weight (unbiased - product); sums to 1, may leave the simplex.
    weight : shape (...)
        In [0, 1]; 0 is the product of the margins, 1 the unbiased joint.
    """

    estimate: Floats
    weight: Floats


def shrunk(counts: npt.ArrayLike, channel: ProductChannel) -> Floats:
    """Return the distribution nearest to the estimate of `shrink`."""
    return euclidean_projection(shrink(counts, channel).estimate)


def shrink(counts: npt.ArrayLike, channel: ProductChannel) -> Shrunk:
    """Pull the unbiased joint towards the product of its own margins.

    The weight is positive-part James-Stein, max(0, 1 - V / D): D is the squared distance between
    unbiased joint and product, V what randomization adds to its expectation
    (`variance_of_dependence`). As D - V is unbiased for the squared distance d between true joint
    and true product, the weight estimates d / (d + V), the one of least squared error wherever the
    errors of the margins and of the dependence are uncorrelated (as they are, to leading order,
    for channels that replace uniformly).

    Of a singular channel only margins are left: the weight is 0.
    """
    values = np.asarray(counts, dtype=float)
    joint = unbiased(values, channel)
    product = _product_of_margins(joint, channel)
    if channel.singular:
        return Shrunk(product, np.zeros(values.shape[:-1]))
    distance = np.sum((joint - product) ** 2, axis=-1)
    variance = variance_of_dependence(values, channel)
    excess = np.maximum(distance - variance, 0.0)
    weight = np.divide(excess, distance, out=np.zeros_like(distance), where=distance > 0)
    return Shrunk(product + weight[..., None] * (joint - product), weight)


def variance_of_dependence(counts: npt.ArrayLike, channel: ProductChannel) -> Floats:
    """Estimate the total variance that randomization adds to joint minus product of margins.

    Summed over cells, for the target "file": the true records are given. Let a(v) be the row of the
    inverse for report v of the first attribute, of expectation the indicator e_x of the true x, and
    b(w) that of the second. Unbiased joint minus product of its margins t, u is the mean over
    records of (a(v) - t)(b(w) - u)'. Given a record's true (x, y) its two reports are independent,
    so the terms have total variance

        E|a(v) - t|^2 E|b(w) - u|^2 - |e_x - t|^2 |e_y - u|^2.

    The mean of the first part is estimated by that over the reports, of the second by that under
    the unbiased joint; divided by the number of records. Taking the estimated margins for the true
    ones errs by a share of order 1 / records.

    Returns
    -------
    array, shape (...), >= 0
    """
    values = np.asarray(counts, dtype=float)
    joint = channel.estimate(values)
    records = values.sum(axis=-1)
    table = joint.reshape(*joint.shape[:-1], *channel.shape)
    reports = values.reshape(table.shape) / records[..., None, None]
    margins = table.sum(axis=-1), table.sum(axis=-2)
    of_reports, of_truth = reports, table
    for axis, (factor, margin) in enumerate(zip(channel.factors, margins, strict=True)):
        scores = factor.estimate(np.eye(factor.size))
        of_reports = of_reports * _facing(_squared_distances(scores, margin), axis)
        of_truth = of_truth * _facing(_squared_distances(np.eye(factor.size), margin), axis)
    total = of_reports.sum(axis=(-2, -1)) - of_truth.sum(axis=(-2, -1))
    return np.asarray(np.maximum(total, 0.0) / records)


def _squared_distances(points: Floats, centre: Floats) -> Floats:
    """Return |point - centre|^2 for each row of points, shape (..., rows)."""
    inner = np.einsum("...i,vi->...v", centre, points)
    lengths = np.sum(points**2, axis=-1)
    return np.asarray(lengths - 2 * inner + np.sum(centre**2, axis=-1)[..., None])


def _facing(values: Floats, axis: int) -> Floats:
    return values[..., :, None] if axis == 0 else values[..., None, :]


def _product_of_margins(joint: Floats, channel: ProductChannel) -> Floats:
    table = joint.reshape(*joint.shape[:-1], *channel.shape)
    product = table.sum(axis=-1)[..., :, None] * table.sum(axis=-2)[..., None, :]
    return np.asarray(product.reshape(joint.shape))


PAIR_ESTIMATORS: Mapping[str, PairEstimator] = {
    "unbiased": unbiased,
    "clipped": clipped,
    "projected": projected,
    "likelihood": likelihood,
    "shrunk": shrunk,
}
