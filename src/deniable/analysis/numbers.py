"""Mean, standard deviation and quantiles of a numeric column, from reports on its grid."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from deniable.analysis.answers import Asked, intervals_of
from deniable.analysis.estimator import Estimator
from deniable.arrays import Flags, Floats
from deniable.channels import Channel
from deniable.errors import DeniableError
from deniable.responses import Table
from deniable.schema import Column

SHARES: tuple[float, ...] = (0.25, 0.5, 0.75)
MAX_LEVELS = 512
"""Points at which the distribution function gets an interval; of finer grids every so many."""


def summarized(
    column: Column, table: Table, known: Estimator, shares: Sequence[float], asked: Asked
) -> pd.DataFrame:
    """Return mean, standard deviation and quantiles of a `column`, among values not missing.

    What is `known` of its `table`; quantiles are of given `shares`, intervals as
    `asked`. Mean and standard deviation are those of the unbiased estimate, with the error of their
    linearization. The variance adds the squared error of the mean, by which the spread around an
    estimated mean falls short; the standard deviation and its limits are roots of the variance's,
    or 0 where that is below. A quantile is the smallest point up to which there is a given share of
    the consistent distribution, or the end of its interval where that lies outside. Its interval
    inverts tests of the distribution function (Woodruff, 1952): it holds every point q for which
    neither "up to q there is less" nor "below q there is as much" is refused by the intervals of
    the unbiased estimate.

    Raises
    ------
    DeniableError
        If a share is not in (0, 1).
    """
    for share in shares:
        if not 0 < share < 1:
            raise DeniableError(f"the quantile of {share} is asked for; shares are in (0, 1)")
    present = np.arange(table.domain.size) < column.points.size
    own = _OneColumn(table, known, asked)
    mean = _mean(own, column.points, present)
    rows = [mean, _deviation(own, column.points, present, mean["standard_error"])]
    rows += _quantiles(own, column.points, present, shares)
    about = {"confidence": asked.confidence, "target": asked.target, "records": own.counted.records}
    return pd.DataFrame([{"column": column.name} | row | about for row in rows])


class _OneColumn:
    """The table of one column: its estimate, and intervals of what is linear in it."""

    def __init__(self, table: Table, known: Estimator, asked: Asked) -> None:
        self.channel: Channel = table.channel
        self.counted, self.asked = known.counted(table), asked
        self.sums = None if table.whole else table.functionals
        estimate = self.channel.estimate(self.counted.counts, asked.inverse)
        self.estimate = estimate if self.sums is None else self.sums @ estimate
        self.distribution = known.consistent(table).proportions

    def intervals(self, weights: Floats) -> Any:
        """Return the intervals of linear functionals, shape (functionals, categories)."""
        spread = weights if self.sums is None else weights @ self.sums
        return intervals_of(self.channel, self.counted, spread, self.asked)


def _row(statistic: str, value: float, low: float, high: float, error: float) -> dict[str, Any]:
    return {
        "statistic": statistic,
        "estimate": value,
        "standard_error": error,
        "ci_low": low,
        "ci_high": high,
    }


def _mean(own: _OneColumn, points: Floats, present: Flags) -> dict[str, Any]:
    values = _padded(points, present)
    share = own.estimate[present].sum()
    mean = float(own.estimate @ values / share)
    return _linearized(own, "mean", mean, np.where(present, values - mean, 0.0) / share)


def _deviation(
    own: _OneColumn, points: Floats, present: Flags, error_of_mean: float
) -> dict[str, Any]:
    values = _padded(points, present)
    share = own.estimate[present].sum()
    mean = own.estimate @ values / share
    squares = np.where(present, (values - mean) ** 2, 0.0)
    around = float(own.estimate @ squares / share)
    weights = np.where(present, squares - around, 0.0) / share
    found = _linearized(own, "variance", around + error_of_mean**2, weights)
    value, low, high = (
        math.sqrt(max(found[name], 0.0)) for name in ("estimate", "ci_low", "ci_high")
    )
    error = found["standard_error"] / (2 * value) if value else np.nan
    return _row("standard deviation", value, low, high, error)


def _linearized(own: _OneColumn, name: str, value: float, weights: Floats) -> dict[str, Any]:
    found = own.intervals(weights[None])
    low, high = value + float(found.low[0]), value + float(found.high[0])
    return _row(name, value, low, high, float(found.standard_error[0]))


def _padded(points: Floats, present: Flags) -> Floats:
    return np.pad(points, (0, present.size - points.size))


def _quantiles(
    own: _OneColumn, points: Floats, present: Flags, shares: Sequence[float]
) -> list[dict[str, Any]]:
    """Return a row a quantile; among the values not missing, F(q) >= share is linear too."""
    cumulated = np.cumsum(own.distribution[present])
    step = -(-points.size // MAX_LEVELS)
    levels = np.unique(np.append(np.arange(step - 1, points.size, step), points.size - 1))
    below = np.arange(points.size) <= levels[:, None]
    rows = []
    for share in shares:
        weights = np.zeros((levels.size, present.size))
        weights[:, present] = below - share
        found = own.intervals(weights)
        # A limit that does not exist (weighted, of a file) refuses nothing.
        reached = np.flatnonzero(~(found.high < 0))
        short = np.flatnonzero(~(found.low >= 0))
        first = reached[0] if reached.size else levels.size - 1
        low = levels[first - 1] + 1 if first else 0
        last = min(short[-1] + 1, levels.size - 1) if short.size else 0
        goal = share * cumulated[-1]
        at = min(int(np.searchsorted(cumulated, goal - 1e-12)), points.size - 1)
        ends = points[low], points[levels[last]]
        rows.append(_row(f"quantile {share:g}", np.clip(points[at], *ends), *ends, np.nan))
    return rows
