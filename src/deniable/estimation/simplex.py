"""Distributions from unbiased estimates, also through singular channels.

Projections work on the last axis. Like maximum likelihood (`deniable.estimation.likelihood`), they
are biased towards the inside of the simplex. `Channel.estimate` is unbiased.
"""

import warnings
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from deniable.arrays import Counts, Floats
from deniable.channels import Channel, ProductChannel
from deniable.errors import DeniableError, named_types

SUM_TOLERANCE = 1e-6  # of rounded distributions
TIE_DIGITS = 9  # digits after which remainders differ by rounding only


@named_types
def clip_and_rescale(estimate: npt.ArrayLike) -> Floats:
    """Return an estimate with 0 for negative values, rescaled to sum 1 ([multirr], 6.4).

    Contrary to the paper, this is not the Euclidean projection (`euclidean_projection`). The
    entries of `estimate`, shape (..., categories), are finite, and at least one in each vector is
    positive. Otherwise `DeniableError` is raised.

    Examples
    --------
    >>> clip_and_rescale([-0.5, 0.5, 1.0])
    array([0.        , 0.33333333, 0.66666667])
    """
    clipped = np.maximum(_finite(estimate), 0.0)
    totals = clipped.sum(axis=-1, keepdims=True)
    if np.any(totals == 0):
        raise DeniableError(
            "an estimate without any positive entry cannot be rescaled; check its channel"
        )
    return np.asarray(clipped / totals)


def rescaled(proportions: npt.ArrayLike, what: str) -> Floats:
    """Return `proportions`, one distribution of any shape, divided by their sum.

    Raises `DeniableError`, with their name `what`, if a proportion is negative or not a number, or
    the sum differs from 1 by more than 1e-6.
    """
    shares = np.asarray(proportions, dtype=float)
    # The condition also fails for NaN.
    if not (shares.size and np.all(shares >= 0) and abs(shares.sum() - 1) <= SUM_TOLERANCE):
        raise DeniableError(
            f"{what} are not a distribution (not negative, sum 1); project the estimate first"
        )
    return np.asarray(shares / shares.sum())


def repeat_cells(proportions: npt.ArrayLike, records: int) -> npt.NDArray[np.int64]:
    """Return the number of repetitions of each cell, by largest remainders.

    Every cell is within 1 of records x proportion, a cell of proportion 0 is not repeated, and the
    sum is exact. Of equal remainders, the first cell is rounded up. If most cells expect less than
    one record, rounding favours the larger cells. The `proportions` sum to 1; `records` is at least
    1.

    Examples
    --------
    >>> repeat_cells([0.5, 0.26, 0.24], 10)
    array([5, 3, 2])
    """
    if records < 1:
        raise DeniableError(f"{records} synthetic records are requested; request at least 1")
    shares = records * rescaled(proportions, "the proportions")
    times = np.floor(shares).astype(np.int64)
    remainders = np.round(shares - times, TIE_DIGITS).reshape(-1)
    order = np.argsort(-remainders, kind="stable")
    times.reshape(-1)[order[: records - int(times.sum())]] += 1
    return times


@named_types
def euclidean_projection(estimate: npt.ArrayLike) -> Floats:
    """Return the distribution closest to each vector of `estimate` in Euclidean distance.

    One number is subtracted from all entries, so that the positive parts have the sum 1 (Held,
    Wolfe and Crowder, 1974). The entries, shape (..., categories), are finite.

    Examples
    --------
    >>> euclidean_projection([-0.5, 0.5, 1.0])
    array([0.  , 0.25, 0.75])
    """
    values = _finite(estimate)
    # A shift of all entries does not change the result; this one keeps the "- 1" below accurate.
    values = values - values.max(axis=-1, keepdims=True)
    descending = np.sort(values, axis=-1)[..., ::-1]
    shifts = (np.cumsum(descending, axis=-1) - 1) / np.arange(1, values.shape[-1] + 1)
    kept = np.count_nonzero(descending > shifts, axis=-1, keepdims=True)
    projected = np.maximum(values - np.take_along_axis(shifts, kept - 1, axis=-1), 0.0)
    return np.asarray(projected / projected.sum(axis=-1, keepdims=True))


def estimate_or_uniform(
    reports: Counts,
    channel: Channel,
    estimate: Callable[[Channel, Counts], Floats] = Channel.estimate,
) -> Floats:
    """Return an estimate; uniform, with a warning, if the `channel` is singular.

    `reports` are counts of randomized values, shape (..., reports); the estimate has the shape
    (..., categories). In a product only singular attributes are uniform, and independent of others.
    The function `estimate` is for channels that are not singular, by default the unbiased estimate.
    """
    if not channel.singular:
        return estimate(channel, reports)
    warnings.warn(
        f"the channel over {channel.size} cells is singular: the estimates of "
        "its singular attributes are uniform",
        RuntimeWarning,
        stacklevel=3,
    )
    factors = channel.simple_factors
    table = reports.reshape(-1, *(factor.reports for factor in factors))
    erased = tuple(i for i, factor in enumerate(factors, 1) if factor.singular)
    known = tuple(factor for factor in factors if not factor.singular)
    shape = [1 if factor.singular else factor.size for factor in factors]
    found = np.ones((len(table), *shape))
    if known:
        margin = table.sum(axis=erased).reshape(len(table), -1)
        found = estimate(ProductChannel(known), margin).reshape(len(table), *shape)
    cells = np.prod([factors[i - 1].size for i in erased])
    every = (len(table), *(factor.size for factor in factors))
    return np.broadcast_to(found / cells, every).reshape(*reports.shape[:-1], channel.size)


def _finite(values: npt.ArrayLike) -> Floats:
    array = np.asarray(values, dtype=float)
    if array.ndim == 0 or not array.shape[-1]:
        raise DeniableError("a distribution needs at least one category on the last axis")
    if not np.isfinite(array).all():
        raise DeniableError("an estimate has entries that are not finite; check its channel")
    return array
