"""Find the unlikely set of categories with the largest posterior: a knapsack per randomized value.

The set has a prior probability below a limit. Weights are prior probabilities, and values are joint
probabilities with the randomized value. The fractional knapsack (whole categories in the order of
their probability of the value, and part of one) is an upper bound. For up to 40 categories all
subsets of two halves are matched, which is exact.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.arrays import Flags, Floats

MAX_ENUMERATED = 40
MAX_WHOLE = 2**62
REPORTS_AT_ONCE = 256
ROUNDING = 1e-12

Weights = npt.NDArray[np.int64] | Floats


def largest_posterior_below(
    matrix: Floats, prior: Sequence[Fraction], limit: Fraction
) -> tuple[tuple[int, ...], int, float, bool] | None:
    """Return the set of prior probability below `limit` with the largest posterior.

    Returned are its members, the randomized value, an upper bound over all such sets and values,
    and whether the set attains it. None if no category has a positive prior below the limit. The
    `matrix` has the shape (categories, reports), the `prior` sums to 1, and the limit is in (0, 1].
    """
    items = np.array([u for u, p in enumerate(prior) if 0 < p < limit], dtype=np.intp)
    if not items.size:
        return None
    shares = np.array([float(p) for p in prior])
    total = shares @ matrix
    reports = np.flatnonzero(total > 0)
    values = shares[items, None] * matrix[np.ix_(items, reports)] / total[reports]
    weights, capacity = _weights([prior[u] for u in items], limit)
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


def _weights(prior: Sequence[Fraction], limit: Fraction) -> tuple[Weights, float]:
    """Return weights and the largest sum below the limit, in whole numbers if they fit."""
    scale = math.lcm(*(p.denominator for p in prior))
    if scale < MAX_WHOLE:
        whole = np.array([int(p * scale) for p in prior], dtype=np.int64)
        return whole, math.ceil(limit * scale) - 1
    return np.array([float(p) for p in prior]), math.nextafter(float(limit), 0)


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
    """All subsets of two halves of the categories, matched so that both together fit."""

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
        other = int(self.order[second[: self.last[one] + 1].argmax()])
        joint = one | other << self.middle
        bits = np.array([joint >> item & 1 for item in range(values.size)], dtype=bool)
        return bits, float(together[one])


def _subset_sums(values: Weights) -> npt.NDArray[Any]:
    """Return the sum of each subset; bit i of its number marks item i."""
    sums = np.zeros(1, dtype=values.dtype)
    for value in values:
        sums = np.concatenate([sums, sums + value])
    return sums
