"""An epsilon split over attributes, or over clusters of them, so that it is never exceeded.

Independent reports of one record compose exactly: their parities multiply. A share is rounded down
to a float, so that the shares' exact sum is at most the whole; a channel of at most its share in
exact arithmetic then has a parity of at most exp(share), and the product of all of them is at most
exp(epsilon).
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Literal, get_args

import numpy as np
import scipy

from deniable.arrays import Floats
from deniable.channels import Channel, KeepOrReplace, refuse_bad_budget, rounded_down
from deniable.errors import DeniableError, refuse_unknown

ChannelOf = Callable[[int, float], Channel]
"""How a question is asked: from a number of categories, at least 2, and an epsilon, a channel.

Its exact epsilon must not be above the one given.
"""
How = Literal["even", "size", "least_variance"]
STEP = 1e-4  # of the logarithm of epsilon, for derivatives of variances
LARGEST_STEP = 20.0  # logarithms of shares further apart than this are none that anybody wants


def checked_channel(channel_of: ChannelOf, size: int, epsilon: float) -> Channel:
    """Return the channel of a question, held to its epsilon; one category has nothing to hide.

    Raises `DeniableError` if `channel_of`, which is given the `size` and the `epsilon`, returns a
    channel of another size or of a larger epsilon.
    """
    if size == 1:
        return KeepOrReplace(1.0, np.zeros(1))
    channel = channel_of(size, epsilon)
    if channel.size != size or channel.epsilon > epsilon:
        raise DeniableError(
            f"asked for {size} categories at epsilon {epsilon}, channel_of gave a channel over "
            f"{channel.size} of epsilon {channel.epsilon}; give a function that keeps to both"
        )
    return channel


def mean_variance(channel: Channel) -> float:
    """Return the mean over categories of n times the variance of the estimate, at uniform truth.

    For the target "population", by the left inverse of the `channel` of least variance there.
    """
    uniform = np.full(channel.size, 1 / channel.size)
    fitted = channel.of_least_variance(uniform)
    return float(fitted.second_moments(fitted.reported(uniform)).mean()) - channel.size**-2


def split_budget(
    epsilon: float,
    sizes: Sequence[int],
    how: How = "even",
    channel_of: ChannelOf = KeepOrReplace.of_epsilon,
) -> tuple[float, ...]:
    """Return the epsilon of each attribute; as fractions they sum to at most `epsilon`.

    They miss it by rounding alone. An attribute of one category has nothing to hide and gets 0.

    Parameters
    ----------
    epsilon : float, above 0
        Of the whole record.
    sizes : sequence of int
        Numbers of categories of the attributes, or of cells of the clusters.
    how : "even", "size" or "least_variance"
        - ``even``: the same epsilon each.
        - ``size``: in proportion to the logarithm of the number of categories.
        - ``least_variance``: what minimizes the sum over attributes of the mean variance of their
          estimated proportions at uniform truth, found numerically, and never worse than the two
          before. Through generalized randomized response of a small epsilon it is in proportion to
          the third root of the number of categories less 1.
    channel_of : function, optional
        How the attributes will be asked; only ``least_variance`` depends on it.

    Raises
    ------
    DeniableError
        If epsilon is not a finite number above 0, a size is below 1, or all of them are 1.

    Examples
    --------
    >>> split_budget(1.0, [2, 1, 4])
    (0.5, 0.0, 0.5)
    """
    refuse_unknown("way to split a budget", how, get_args(How))
    refuse_bad_budget(epsilon)
    if any(size < 1 for size in sizes) or not any(size > 1 for size in sizes):
        raise DeniableError(
            f"an epsilon cannot be split over attributes of {', '.join(map(str, sizes)) or 'no'} "
            "categories; give at least 1 each, and one attribute at least 2"
        )
    several = np.array([size for size in sizes if size > 1])
    if how == "even":
        weights = np.ones(len(several))
    elif how == "size":
        weights = np.log(several)
    else:
        weights = _of_least_variance(epsilon, several.tolist(), channel_of)
    total = sum(map(Fraction, weights.tolist()), Fraction())
    shares = (rounded_down(Fraction(epsilon) * Fraction(w) / total) for w in weights.tolist())
    return tuple(next(shares) if size > 1 else 0.0 for size in sizes)


def _of_least_variance(epsilon: float, sizes: list[int], channel_of: ChannelOf) -> Floats:
    """Return weights, one an attribute: attributes of one size have one weight."""
    kinds, which, often = np.unique(sizes, return_inverse=True, return_counts=True)

    def shares(logarithms: Floats) -> Floats:
        weights = np.exp(np.clip(logarithms - logarithms.max(), -LARGEST_STEP, 0))
        return np.asarray(weights / (often @ weights))

    def variances(of: Floats) -> Floats:
        pairs = zip(kinds.tolist(), (epsilon * of).tolist(), strict=True)
        each = [mean_variance(channel_of(size, own)) for size, own in pairs]
        return np.asarray(often * np.array(each))

    def loss(logarithms: Floats) -> tuple[float, Floats]:
        # ln of the sum of variances: with s = exp(z) / sum, ds_j / dz_k = s_j (1[j = k] - m_k s_k).
        own = shares(logarithms)
        here = variances(own)
        slopes = (variances(own * np.exp(STEP)) - variances(own * np.exp(-STEP))) / (2 * STEP)
        slopes /= here.sum()
        return float(np.log(here.sum())), slopes - often * own * slopes.sum()

    starts = [np.zeros(len(kinds)), np.log(np.log(kinds)), np.log(kinds - 1.0) / 3]
    best = min(starts, key=lambda start: float(variances(shares(start)).sum()))
    found = scipy.optimize.minimize(loss, best, jac=True, method="BFGS").x if len(kinds) > 1 else 0
    tried = [best, np.asarray(found + np.zeros(len(kinds)))]
    least = min(tried, key=lambda start: float(variances(shares(start)).sum()))
    return np.asarray(shares(least)[which])
