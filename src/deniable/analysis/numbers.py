"""Mean, standard deviation and quantiles of a numeric column, from values on its grid."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from deniable.analysis.answers import EstimateOptions, intervals_of
from deniable.analysis.estimator import Estimator
from deniable.arrays import Floats
from deniable.channels import Channel
from deniable.errors import DeniableError
from deniable.responses import Table
from deniable.schema import Column

Row = tuple[str, float, float, float, float]
COLUMNS = ["statistic", "estimate", "standard_error", "ci_low", "ci_high"]
QUARTILES: tuple[float, ...] = (0.25, 0.5, 0.75)
MAX_LEVELS = 512
"""Points at which the distribution function has an interval; evenly spaced on finer grids."""


def summarized(
    column: Column,
    table: Table,
    known: Estimator,
    shares: Sequence[float],
    options: EstimateOptions,
) -> pd.DataFrame:
    """Return mean, standard deviation and quantiles of a `column`, among values not missing.

    They are estimated by `options` from the column's `table` of a `known` estimator. Mean and
    standard deviation follow from the unbiased estimate, with the error of their linearization. The
    spread around an estimated mean is too small by the squared error of the mean, which is added to
    the variance. The standard deviation and its limits are the roots, or 0 for negative values.

    A quantile is the smallest point up to which the consistent distribution has the proportion, one
    of `shares`, or the end of its interval if that point lies outside. The interval inverts tests
    of the distribution function (Woodruff, 1952). It contains a point q if, by the intervals of
    the unbiased estimate, the proportion up to q may reach the given one, and the proportion below
    q may be smaller. Raises `DeniableError` if a proportion is not in (0, 1).
    """
    for share in shares:
        if not 0 < share < 1:
            raise DeniableError(f"the quantile {share} does not exist; give a proportion in (0, 1)")
    own = _NumericColumn(column, table, known, options)
    rows = pd.DataFrame([*own.mean_and_deviation(), *map(own.quantile, shares)], columns=COLUMNS)
    rows.insert(0, "column", column.name)
    about = {"confidence": options.confidence, "target": options.target}
    return rows.assign(**about, records=own.counted.records)


class _NumericColumn:
    """A column with its estimate; each method returns rows of `COLUMNS`."""

    def __init__(
        self, column: Column, table: Table, known: Estimator, options: EstimateOptions
    ) -> None:
        self.points, self.options = column.points, options
        self.present = np.arange(table.domain.size) < self.points.size
        self.channel: Channel = table.channel
        self.counted = known.counted(table)
        self.sums = None if table.whole else table.functionals
        estimate = self.channel.estimate(self.counted.counts, options.inverse)
        self.estimate = estimate if self.sums is None else self.sums @ estimate
        self.cumulated = np.cumsum(known.consistent(table).proportions[self.present])
        step = -(-self.points.size // MAX_LEVELS)
        every = np.arange(step - 1, self.points.size, step)
        self.levels = np.unique(np.append(every, self.points.size - 1))

    def intervals(self, weights: Floats) -> Any:
        """Return the intervals of linear functionals, shape (functionals, categories)."""
        spread = weights if self.sums is None else weights @ self.sums
        return intervals_of(self.channel, self.counted, spread, self.options)

    def mean_and_deviation(self) -> list[Row]:
        values = np.pad(self.points, (0, self.present.size - self.points.size))
        share = self.estimate[self.present].sum()
        mean = float(self.estimate @ values / share)
        error, low, high = self._linearized(np.where(self.present, values - mean, 0.0) / share)
        squares = np.where(self.present, (values - mean) ** 2, 0.0)
        around = float(self.estimate @ squares / share)
        variance = around + error**2
        off, below, above = self._linearized(np.where(self.present, squares - around, 0.0) / share)
        value, least, most = (
            math.sqrt(max(each, 0.0)) for each in (variance, variance + below, variance + above)
        )
        return [
            ("mean", mean, error, mean + low, mean + high),
            ("standard deviation", value, off / (2 * value) if value else np.nan, least, most),
        ]

    def _linearized(self, weights: Floats) -> tuple[float, float, float]:
        found = self.intervals(weights[None])
        return float(found.standard_error[0]), float(found.low[0]), float(found.high[0])

    def quantile(self, share: float) -> Row:
        """Return the row of a quantile; F(q) >= share is linear among values not missing."""
        points, levels = self.points, self.levels
        weights = np.zeros((levels.size, self.present.size))
        weights[:, self.present] = (np.arange(points.size) <= levels[:, None]) - share
        found = self.intervals(weights)
        # A limit that does not exist (weighted, of a file) excludes nothing.
        reached = np.flatnonzero(~(found.high < 0))
        short = np.flatnonzero(~(found.low >= 0))
        first = reached[0] if reached.size else levels.size - 1
        low = levels[first - 1] + 1 if first else 0
        last = min(short[-1] + 1, levels.size - 1) if short.size else 0
        goal = share * self.cumulated[-1]
        at = min(int(np.searchsorted(self.cumulated, goal - 1e-12)), points.size - 1)
        ends = points[low], points[levels[last]]
        return f"quantile {share:g}", np.clip(points[at], *ends), np.nan, *ends
