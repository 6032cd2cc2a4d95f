"""Channels that add noise to numbers on a public grid: Laplace and staircase noise.

Both have the period k - 1, the largest distance between two of the k cells: a value further away by
this distance is exp(epsilon) times less likely. Values beyond the grid become its end, without a
loss of privacy.
"""

import math
from collections.abc import Callable

import numpy as np

from deniable.arrays import Floats
from deniable.channels.asked import channel_within, refuse_epsilon
from deniable.channels.dense import DenseChannel
from deniable.channels.maps import refuse_other_than_whole


def laplace_channel(cells: int, epsilon: float, beyond: int = 0) -> DenseChannel:
    """Return the channel that adds discrete Laplace (two-sided geometric) noise to a cell's number.

    There are k >= 2 `cells` in order, and `beyond` >= 0 additional values at either end of the
    grid: k + 2 beyond values. The probability of noise i is proportional to exp(-epsilon |i| / (k -
    1)). The exact epsilon is at most `epsilon`, in (0, 30]. Raises `ChannelError` if a parameter is
    out of range.

    SOURCE: Ghosh, Roughgarden, Sundararajan (2009), "Universally utility-maximizing privacy
    mechanisms", the (truncated) geometric mechanism.

    Examples
    --------
    >>> laplace_channel(3, 2 * np.log(2)).matrix().round(4)
    array([[0.6667, 0.1667, 0.1667],
           [0.3333, 0.3333, 0.3333],
           [0.1667, 0.1667, 0.6667]])
    """
    return _within(
        epsilon, cells, beyond, lambda e: np.exp(-e * np.arange(cells - 1) / (cells - 1))
    )


def staircase_channel(cells: int, epsilon: float, beyond: int = 0) -> DenseChannel:
    """Return the channel that adds staircase noise to a cell's number.

    All noises of a size below r are equally likely. Sizes from r to r + k - 2 are exp(epsilon)
    times less likely, and so on. The step r, at most k - 1, has the least mean absolute noise. The
    `cells`, `epsilon`, `beyond` and errors are as in `laplace_channel`.

    SOURCE: Geng, Viswanath (2014), "The optimal mechanism in differential privacy".
    """

    def first_period(target: float) -> Floats:
        first = _first_step(cells - 1, epsilon)
        return np.where(np.arange(cells - 1) < first, 1.0, math.exp(-target))

    return _within(epsilon, cells, beyond, first_period)


def _first_step(period: int, epsilon: float) -> int:
    """Return the length of the first step, in 1, ..., period, with the least mean noise."""
    less = math.exp(-epsilon)
    r = np.arange(1, period + 1)
    mass = r + (period - r) * less  # of noises 0, ..., period - 1
    mean = less * period * (period - 1) / 2 + (1 - less) * r * (r - 1) / 2
    # The mean over all periods uses the sums of less^j and of j less^j.
    absolute = mean / (1 - less) + period * mass * less / (1 - less) ** 2
    return int(r[(absolute / (2 * mass / (1 - less) - 1)).argmin()])


def _within(
    epsilon: float, cells: int, beyond: int, first_period: Callable[[float], Floats]
) -> DenseChannel:
    refuse_epsilon(epsilon)
    for name, value, least in (("cells", cells, 2), ("beyond", beyond, 0)):
        refuse_other_than_whole(name, value, least)
    return channel_within(
        epsilon, lambda e: DenseChannel(_added(first_period(e), e, cells, beyond))
    )


def _added(first_period: Floats, epsilon: float, cells: int, beyond: int) -> Floats:
    """Return the matrix of added noise, from weights of the noises 0, ..., k - 2.

    The weight of a noise larger by k - 1 is divided by exp(epsilon). Ends include all noise beyond.
    """
    whole, part = np.divmod(np.arange(cells + beyond), cells - 1)
    weights = np.exp(-epsilon * whole) * first_period[part]
    further = first_period.sum() / math.expm1(epsilon)  # weight of all periods after the first
    left_of_period = np.cumsum(first_period[::-1])[::-1]
    tails = np.exp(-epsilon * whole) * (left_of_period[part] + further)
    cell, report = np.ogrid[:cells, -beyond : cells + beyond]
    matrix = weights[np.abs(report - cell)]
    matrix[:, 0] = tails[np.arange(cells) + beyond]
    matrix[:, -1] = matrix[::-1, 0]
    return np.asarray(matrix / (2 * tails[0] - weights[0]))
