"""From an unbiased estimate, or from counts, to a distribution: three ways, each by its own name.

All work on the last axis and over any leading batch axes. All of them are biased towards the
inside of the simplex; what must be unbiased stays with `Channel.estimate`.
"""

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats
from deniable.channels import Channel, KeepOrReplace
from deniable.errors import DeniableError, SingularChannelError
from deniable.estimation.em import MOST_STEPS, TOLERANCE, Likelihood, expectation_maximization

__all__ = [
    "Likelihood",
    "clip_and_rescale",
    "euclidean_projection",
    "expectation_maximization",
    "maximum_likelihood",
]


def clip_and_rescale(estimate: npt.ArrayLike) -> Floats:
    """Replace negative values by 0 and rescale to sum 1 (the procedure of [multirr], 6.4).

    Not the Euclidean projection that the text takes it for: see `euclidean_projection`.

    Parameters
    ----------
    estimate : shape (..., categories), finite, with a positive entry in each vector

    Examples
    --------
    >>> clip_and_rescale([-0.5, 0.5, 1.0])
    array([0.        , 0.33333333, 0.66666667])
    """
    clipped = np.maximum(_finite(estimate), 0.0)
    totals = clipped.sum(axis=-1, keepdims=True)
    if np.any(totals == 0):
        raise DeniableError("an estimate without any positive entry cannot be rescaled")
    return np.asarray(clipped / totals)


def euclidean_projection(estimate: npt.ArrayLike) -> Floats:
    """Return the distribution closest to each vector in Euclidean distance.

    Subtracts from all entries the one number that leaves the positive parts with sum 1
    (Held, Wolfe and Crowder, 1974).

    Parameters
    ----------
    estimate : shape (..., categories), finite

    Examples
    --------
    >>> euclidean_projection([-0.5, 0.5, 1.0])
    array([0.  , 0.25, 0.75])
    """
    values = _finite(estimate)
    # The same shift of all entries changes nothing; this one keeps the "- 1" below from drowning.
    values = values - values.max(axis=-1, keepdims=True)
    descending = -np.sort(-values, axis=-1)
    ranks = np.arange(1, values.shape[-1] + 1)
    shifts = (np.cumsum(descending, axis=-1) - 1) / ranks
    kept = np.sum(descending > shifts, axis=-1, keepdims=True)
    shift = np.take_along_axis(shifts, kept - 1, axis=-1)
    projected = np.maximum(values - shift, 0.0)
    return np.asarray(projected / projected.sum(axis=-1, keepdims=True))


def maximum_likelihood(
    reported_counts: npt.ArrayLike,
    channel: Channel,
    *,
    tolerance: float = TOLERANCE,
    iterations: int = MOST_STEPS,
) -> Likelihood:
    """Return the distribution that makes the reported counts most likely.

    Closed form for keep-or-replace channels, expectation-maximization otherwise
    (`deniable.estimation.em`).

    Parameters
    ----------
    reported_counts : shape (..., categories)
    channel : Channel
    tolerance : float, > 0
        EM stops when the log-likelihood is provably within so many nats of its maximum.
    iterations : int
        EM stops here at the latest, with a warning that gives the gap that is left.

    Raises
    ------
    SingularChannelError
        If the channel cannot be inverted.
    ChannelError
        If the counts do not fit the channel, are negative, not finite, or all zero.
    """
    if channel.singular:
        raise SingularChannelError(
            f"the channel over {channel.size} categories is singular: many distributions are "
            "equally likely under it, there is no one maximum-likelihood estimate"
        )
    if isinstance(channel, KeepOrReplace):
        counts = np.asarray(reported_counts, dtype=float)
        channel._frequencies(counts)  # the same refusals as for an estimate
        return Likelihood(_fill_to_level(counts, channel), 0, 0.0)
    return expectation_maximization(
        reported_counts, channel, tolerance=tolerance, iterations=iterations
    )


def _fill_to_level(counts: Floats, channel: KeepOrReplace) -> Floats:
    """Water-filling: pi_v = max(0, n_v / mu - b_v / a), with mu such that the sum is 1.

    The categories with the largest n_v / b_v stay in (the smallest if a < 0), so one sort finds
    them. With a uniform b this is the closed form of Pinzon et al. (2026).
    """
    a, b = channel.diagonal_weight, channel.replacement
    if a < 0 and np.any(counts == 0):
        return _fill_where_nothing_is_reported(counts, channel)
    level = np.divide(counts, b, out=np.where(counts > 0, np.inf, 0.0), where=b > 0)
    order = np.argsort(-np.sign(a) * level, axis=-1, kind="stable")
    n = np.take_along_axis(counts, order, axis=-1)
    odds = np.broadcast_to(b / a, counts.shape)
    odds = np.take_along_axis(odds, order, axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        mu = np.cumsum(n, axis=-1) / (1 + np.cumsum(odds, axis=-1))
        positive = n / mu - odds > 0
    positive[..., 0] = True
    kept = np.sum(np.logical_and.accumulate(positive, axis=-1), axis=-1, keepdims=True)
    final = np.take_along_axis(mu, kept - 1, axis=-1)
    inside = np.maximum(counts / final - b / a, 0.0)
    return np.asarray(inside / inside.sum(axis=-1, keepdims=True))


def _fill_where_nothing_is_reported(counts: Floats, channel: KeepOrReplace) -> Floats:
    # With a negative weight a category that nobody reports can take all of the mass at no loss of
    # likelihood; several share it in proportion to b. Tables without such a category go on.
    b = channel.replacement
    unreported = counts == 0
    shares = np.where(unreported, b, 0.0)
    some = unreported.any(axis=-1)
    result = np.empty_like(counts)
    result[some] = shares[some] / shares[some].sum(axis=-1, keepdims=True)
    if not np.all(some):
        result[~some] = _fill_to_level(counts[~some], channel)
    return result


def _finite(values: npt.ArrayLike) -> Floats:
    array = np.asarray(values, dtype=float)
    if array.ndim == 0 or not array.shape[-1]:
        raise DeniableError("a distribution needs at least one category on the last axis")
    if not np.all(np.isfinite(array)):
        raise DeniableError("an estimate has entries that are not finite; look at its channel")
    return array
