"""Privacy breaches under a given prior ([pram], section 3).

An intruder has a prior over the categories and sees one randomized value. Q is a set of categories,
a property of interest to the intruder. For statements about all priors see
`deniable.privacy.amplification`.

For each randomized value, a knapsack finds the unlikely set with the largest posterior. The weights
are prior probabilities, and the values are joint probabilities with the randomized value. The
fractional knapsack (whole categories in the order of their probability of the randomized value, and
part of one) is an upper bound. Up to 40 categories, matching all subsets of two halves is exact.

Strict inequalities are decided in floats where these suffice, and otherwise in rational numbers. A
float is taken as its decimal text: 0.1 is 1/10.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from deniable.arrays import Flags, Floats, quotients
from deniable.channels import Channel, Number, Prior, exact_distribution, proportion, thresholds
from deniable.errors import ChannelError, named_types

UNSURE = 1e-9
"""If a float is closer to a threshold than this, rational numbers decide."""
MAX_ENUMERATED = 40
MAX_WHOLE = 2**62
REPORTS_AT_ONCE = 256
ROUNDING = 1e-12

Weights = npt.NDArray[np.int64] | Floats


@dataclass(frozen=True, eq=False)
class Breach:
    """The randomized values that cause a breach of one set under one prior (Definition 3.1).

    The set has a `prior_probability`, and a `posterior` given each randomized value, shape
    (reports,), from [pram], (3.1), NaN for impossible values. `upward` and `downward` are the
    values that cause a rho_1-to-rho_2 and a rho_2-to-rho_1 breach.
    """

    prior_probability: float
    posterior: Floats
    upward: tuple[int, ...]
    downward: tuple[int, ...]


@dataclass(frozen=True)
class WorstSet:
    """The set with the largest posterior, among all unlikely sets.

    It has the codes `members`, the `prior_probability`, and the `posterior` given the randomized
    value `report`. No such set has a posterior above `bound`. The set attains it if `exact`.
    """

    members: tuple[int, ...]
    report: int
    prior_probability: float
    posterior: float
    bound: float
    exact: bool


class Factor(NamedTuple):
    """The `ratio` of posterior to prior of a `category`, given the randomized value `report`."""

    ratio: float
    category: int
    report: int


@named_types
def find_breaches(
    channel: Channel, prior: Prior, members: Iterable[int], rho_1: Number, rho_2: Number
) -> Breach:
    """Return the randomized values that cause a breach of Q ([pram], Definition 3.1).

    Upward: Pr(Q) < rho_1 and Pr(Q | value) > rho_2. Downward: Pr(Q) > rho_2 and Pr(Q | value) <
    rho_1. Values that are impossible under the prior cause none. The `channel` has at most 4,096
    categories. The `prior`, shape (size,), is a distribution over them, and `members` are the codes
    of Q, at least one; otherwise `ChannelError` is raised. Raises `DeniableError` unless 0 <
    `rho_1` < `rho_2` < 1.

    Examples
    --------
    >>> from deniable.channels import KeepOrReplace
    >>> channel = KeepOrReplace.uniform(4, keep=0.5)
    >>> find_breaches(channel, [0.1, 0.3, 0.3, 0.3], [0], 0.2, 0.3).upward
    (0,)
    """
    low, high = thresholds(rho_1, rho_2)
    exact = exact_distribution(channel.size, prior)
    chosen = _members(channel, members)
    probability = sum((exact[u] for u in chosen), Fraction())
    posterior = _posterior(channel, exact, chosen)
    upward: tuple[int, ...] = ()
    downward: tuple[int, ...] = ()
    if probability < low:
        upward = _reports_above(posterior, high, exact, chosen, channel)
    elif probability > high:
        others = tuple(u for u in range(channel.size) if u not in chosen)
        downward = _reports_above(1 - posterior, 1 - low, exact, others, channel)
    return Breach(float(probability), posterior, upward, downward)


def worst_set(channel: Channel, prior: Prior, rho: Number) -> WorstSet | None:
    """Return the set of `prior` probability below `rho` with the largest posterior.

    An upward rho-to-rho_2 breach of some Q through the `channel` exists under this prior if and
    only if that posterior is above rho_2. The complement has the smallest posterior of all sets of
    probability above 1 - rho ([pram], after Definition 3.1). The knapsack for each randomized value
    is exact for up to 40 categories of positive prior. Otherwise the result is a greedy set with
    the bound of the fractional knapsack. It is None if no category has a positive prior probability
    below rho.
    """
    exact = exact_distribution(channel.size, prior)
    limit = proportion(rho, "rho_1")
    if (found := _largest_posterior_below(channel.matrix(), exact, limit)) is None:
        return None
    members, report, bound, attained = found
    posterior = float(_posterior(channel, exact, members)[report])
    mass = float(sum((exact[u] for u in members), Fraction()))
    return WorstSet(members, report, mass, posterior, posterior if attained else bound, attained)


def extreme_factors(channel: Channel, prior: Prior) -> tuple[Factor, Factor]:
    """Return the largest and smallest Pr(Q | value) / Pr(Q), [pram], (3.7), over sets and values.

    The `prior`, shape (categories,), is over the `channel`'s categories. Single categories attain
    the extremes, because the ratio of a set is a weighted mean of its members' ratios.

    Examples
    --------
    >>> from deniable.channels import KeepOrReplace
    >>> largest, _ = extreme_factors(KeepOrReplace.uniform(2, keep=0.5), [0.1, 0.9])
    >>> round(largest.ratio, 6), largest.category, largest.report
    (2.5, 0, 0)
    """
    weights = np.array([float(p) for p in exact_distribution(channel.size, prior)])
    matrix = channel.matrix()
    total = weights @ matrix
    possible = (weights > 0)[:, None] & (total > 0)
    ratios = np.divide(matrix, total, out=np.full_like(matrix, np.nan), where=possible)
    ends = (divmod(int(best(ratios)), channel.reports) for best in (np.nanargmax, np.nanargmin))
    largest, smallest = (Factor(float(ratios[u, v]), u, v) for u, v in ends)
    return largest, smallest


def _members(channel: Channel, members: Iterable[int]) -> tuple[int, ...]:
    """Return the set's codes in order, each once."""
    if not (chosen := tuple(sorted({int(member) for member in members}))):
        raise ChannelError("the set Q is empty; give at least one category")
    for member in chosen:
        if not 0 <= member < channel.size:
            raise ChannelError(
                f"the set Q has the category {member}, but the channel has 0 .. {channel.size - 1}"
            )
    return chosen


def _posterior(channel: Channel, prior: tuple[Fraction, ...], members: tuple[int, ...]) -> Floats:
    weights = np.array([float(p) for p in prior])
    matrix, chosen = channel.matrix(), list(members)
    return quotients(weights[chosen] @ matrix[chosen], weights @ matrix, np.nan)


def _reports_above(
    posterior: Floats,
    threshold: Fraction,
    prior: tuple[Fraction, ...],
    members: tuple[int, ...],
    channel: Channel,
) -> tuple[int, ...]:
    distance = posterior - float(threshold)
    above = distance > UNSURE
    for report in np.flatnonzero(np.abs(distance) <= UNSURE).tolist():
        joint = [p * q for p, q in zip(prior, channel.exact_column(report), strict=True)]
        above[report] = sum((joint[u] for u in members), Fraction()) > threshold * sum(joint)
    return tuple(np.flatnonzero(above).tolist())


def _largest_posterior_below(
    matrix: Floats, prior: Sequence[Fraction], limit: Fraction
) -> tuple[tuple[int, ...], int, float, bool] | None:
    """Return the members of `worst_set`, their randomized value, the bound, and if it is attained.

    The `matrix` has the shape (categories, reports), and the `prior` sums to 1.
    """
    items = np.array([u for u, p in enumerate(prior) if 0 < p < limit], dtype=np.intp)
    if not items.size:
        return None
    shares = np.array([float(p) for p in prior])
    total = shares @ matrix
    reports = np.flatnonzero(total > 0)
    values = shares[items, None] * matrix[np.ix_(items, reports)] / total[reports]
    scale = math.lcm(*(prior[u].denominator for u in items))
    # Weights and the largest sum below the limit, in whole numbers if they fit.
    weights: Weights = shares[items]
    capacity = math.nextafter(float(limit), 0)
    if scale < MAX_WHOLE:
        weights = np.array([int(prior[u] * scale) for u in items], dtype=np.int64)
        capacity = math.ceil(limit * scale) - 1
    bounds, attained, chosen = _greedy(values, shares[items], float(limit), weights, capacity)
    best = int(attained.argmax())
    if items.size > MAX_ENUMERATED:
        bound = float(min(bounds.max() + ROUNDING, 1.0))
        exact = bound <= attained[best] + 2 * ROUNDING
        return tuple(items[chosen[:, best]].tolist()), int(reports[best]), bound, exact
    members = chosen[:, best]
    largest = float(attained[best])
    halves = _Halves(weights, capacity)
    for column in np.argsort(-bounds).tolist():
        if bounds[column] <= largest:
            break
        found, value = halves.best(values[:, column])
        if value > largest:
            members, largest, best = found, value, column
    return tuple(items[members].tolist()), int(reports[best]), largest, True


def _greedy(
    values: Floats, shares: Floats, limit: float, weights: Weights, capacity: float
) -> tuple[Floats, Floats, Flags]:
    """Return for each randomized value the fractional bound, the value of a set, and that set."""
    items, reports = values.shape
    bounds, attained = np.empty(reports), np.empty(reports)
    chosen = np.zeros((items, reports), dtype=bool)
    for start in range(0, reports, REPORTS_AT_ONCE):
        part = values[:, start : start + REPORTS_AT_ONCE]
        columns = np.arange(part.shape[1])
        order = np.argsort(-part / shares[:, None], axis=0, kind="stable")
        sorted_shares = shares[order]
        room = limit - (np.cumsum(sorted_shares, axis=0) - sorted_shares)
        taken = np.clip(room / sorted_shares, 0.0, 1.0)
        bounds[start + columns] = (taken * np.take_along_axis(part, order, axis=0)).sum(axis=0)
        left = np.full(columns.size, capacity, dtype=weights.dtype)
        for row in order:
            fits = weights[row] <= left
            left -= np.where(fits, weights[row], 0)
            chosen[row[fits], start + columns[fits]] = True
        attained[start + columns] = np.where(chosen[:, start + columns], part, 0.0).sum(axis=0)
    return bounds, attained, chosen


class _Halves:
    """All subsets of two halves of the categories, matched to fit the capacity together."""

    def __init__(self, weights: Weights, capacity: float) -> None:
        self.middle = weights.size // 2
        second = _subset_sums(weights[self.middle :])
        self.order = np.argsort(second, kind="stable")
        rest = np.asarray(capacity, dtype=weights.dtype) - _subset_sums(weights[: self.middle])
        self.last = np.searchsorted(second[self.order], rest, side="right") - 1

    def best(self, values: Floats) -> tuple[Flags, float]:
        """Return the fitting subset of the largest value."""
        first = _subset_sums(values[: self.middle])
        second = _subset_sums(values[self.middle :])[self.order]
        reached = np.maximum.accumulate(second)
        together = np.where(self.last >= 0, first + reached[self.last], -np.inf)
        one = int(together.argmax())
        joint = one | int(self.order[second[: self.last[one] + 1].argmax()]) << self.middle
        bits = np.array([joint >> item & 1 for item in range(values.size)], dtype=bool)
        return bits, float(together[one])


def _subset_sums(values: Weights) -> npt.NDArray[Any]:
    """Return the sum of each subset; bit i of its number marks item i."""
    sums = np.zeros(1, dtype=values.dtype)
    for value in values:
        sums = np.concatenate([sums, sums + value])
    return sums
