"""Test independence on noisy tables, with simulated or approximate critical values.

Three tests of [rrba], Table 3, use the same algorithm (Gaboardi et al., 2016, for Laplace noise;
[rrba], 7.3, for randomized response). Two-step maximum likelihood (`two_step_estimate`)
fits the null to a noisy table. Then l tables are sampled from the fit and perturbed. The null is
rejected if the statistic of the noisy table,

    X^2 = sum over cells of (noisy - fitted)^2 / fitted,

exceeds the one of rank ceil((l + 1) (1 - alpha)) among the sampled statistics. Two further tests of
tables with Laplace noise simulate nothing.

**The rule of five.** The published tests ([rrba], section 6 and 7.3) accept the null if any count
of a two-step estimate is below 5. They check the noisy table and, "at any point", the sampled ones.
The paper does not name the step, so all are available. With hundreds of sampled tables the rule
disables the test even if some 50 records are expected per cell.

Comparisons ignore rounding (`deniable.arrays.at_least`): with 43 records per cell and p = .5,
counts of exactly 5 occur, and statistics are often equal.
"""

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
import scipy

from deniable.arrays import ROUNDING, Flags, Floats, at_least
from deniable.channels import Channel
from deniable.contingency.independence import chi_squared, draw_tables, rounds
from deniable.contingency.two_step import Independence, nearest_tables, two_step_estimate
from deniable.errors import DeniableError, refuse_unknown

SmallCells = Literal["table", "fitted", "ignore"]
"""The counts below 5 that accept the null: of step one, of step two, or none."""
LEAST_COUNT = 5.0


@dataclass(frozen=True)
class LaplaceRelease:
    """Counts with Laplace noise of a given `scale`, from a trusted curator (central privacy).

    Replacing a record changes two counts by one each. So the sensitivity is 2, and epsilon is
    exactly 2 / scale (Dwork et al., 2006). The correct scale is 2 / epsilon; [rrba], 7.4, publishes
    2 |T| / epsilon. Noise is drawn in floating point: use it for studies only.
    """

    scale: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.scale) and self.scale > 0):
            raise DeniableError(f"the scale of the noise is {self.scale}; it must be positive")

    @property
    def epsilon(self) -> float:
        """Epsilon of a table, for the replacement of one record."""
        return 2 / self.scale

    def release(self, tables: npt.ArrayLike, generator: np.random.Generator) -> Floats:
        """Return original `tables` of counts, shape (..., cells), with noise from `generator`."""
        counts = np.asarray(tables, dtype=float)
        return counts + generator.laplace(0.0, self.scale, counts.shape)

    def sample(
        self, proportions: Floats, records: Floats, tables: int, generator: np.random.Generator
    ) -> Floats:
        """Draw tables of counts from each of some distributions, and return noisy counts.

        The `proportions` have the shape (number, cells), the numbers of `records` (number,), and
        the counts (number, `tables`, cells). `generator` draws tables and noise.
        """
        return self.release(draw_tables(proportions, records, tables, generator), generator)


@dataclass(frozen=True, eq=False)
class RandomizedRelease:
    """Counts estimated from randomized values through a `channel` (local privacy).

    Each record is randomized separately. The table is computed from the randomized values alone
    (post-processing), so it has the channel's epsilon.
    """

    channel: Channel

    @property
    def epsilon(self) -> float:
        """Epsilon of a randomized value, and therefore of the table."""
        return self.channel.epsilon

    def estimated(self, reports: npt.ArrayLike) -> Floats:
        """Return estimated counts from counts of randomized values, `reports` ([rrba], (4)).

        The shape (..., reports) becomes (..., cells). The channel's own left inverse is used, so
        the estimate of a table does not depend on other tables.
        """
        counts = np.asarray(reports)
        return np.asarray(self.channel.estimate(counts, "own") * counts.sum(axis=-1, keepdims=True))

    def release(self, tables: npt.ArrayLike, generator: np.random.Generator) -> Floats:
        """Return estimated counts of original `tables`, (..., cells), randomized by `generator`."""
        return self.estimated(self.channel.randomize_counts(tables, generator))

    def sample(
        self, proportions: Floats, records: Floats, tables: int, generator: np.random.Generator
    ) -> Floats:
        """Return estimated counts of drawn tables, see `LaplaceRelease.sample`.

        `proportions`, `records`, `tables` and `generator` are as there. Sampling and randomizing
        are one multinomial draw ([pram], (1.1)).
        """
        reported = self.channel.reported(proportions)
        return self.estimated(draw_tables(reported, records, tables, generator))


NoisyRelease = LaplaceRelease | RandomizedRelease


@dataclass(frozen=True, eq=False)
class MonteCarloTest:
    """Results of a simulated test for a batch of noisy tables, arrays of shape (number,).

    The null is `rejected` if the `statistic` exceeds the `threshold`. The threshold is NaN if the
    rule of five accepts without simulation, or if not all tables were drawn. `too_small` marks
    nulls that the rule accepted.
    """

    statistic: Floats
    threshold: Floats
    too_small: Flags
    rejected: Flags


def monte_carlo_test(
    noisy: npt.ArrayLike,
    records: npt.ArrayLike,
    release: NoisyRelease,
    model: Independence,
    generator: np.random.Generator,
    *,
    tables: int = 99,
    level: float = 0.05,
    small_cells: SmallCells = "table",
    to_the_end: bool = True,
) -> MonteCarloTest:
    """Test independence on noisy tables as published in [rrba], 7.3.

    With `LaplaceRelease` this is MCIndep; with `RandomizedRelease` it is the test of RRBA.

    Parameters
    ----------
    noisy : shape (number, cells)
        Released counts.
    records : positive, shape (number,) or a single number
    release : NoisyRelease
        The mechanism of the noisy and of the sampled tables.
    model : Independence
        The null.
    generator : numpy.random.Generator
        Draws the sampled tables and their noise.
    tables : int, > 1 / level
        l, the number of sampled tables.
    level : float, in (0, 1)
    small_cells : "table", "fitted" or "ignore"
        The counts below 5 that accept the null: of step one, of step two, none.
    to_the_end : bool
        Whether to draw all tables even if the decision is already certain.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> noisy = [[120.0, 61.0, 55.0, 130.0]]
    >>> model = Independence((2, 2))
    >>> monte_carlo_test(noisy, 366, LaplaceRelease(8.0), model, rng).rejected
    array([ True])
    """
    rank = critical_rank(tables, level)
    refuse_unknown("rule for small cells", small_cells, get_args(SmallCells))
    values = np.atleast_2d(np.asarray(noisy, dtype=float))
    totals = np.broadcast_to(np.asarray(records, dtype=float), values.shape[:1])
    statistic, fitted, too_small = _two_steps(values, totals, model, small_cells)
    sampled, as_large = np.full((len(values), tables), np.nan), np.zeros(len(values), np.int64)
    # If more than l - rank statistics are as large, no further table can lead to a rejection.
    limit = tables + 1 if to_the_end else tables - rank + 1
    for chosen, those in rounds(np.flatnonzero(~too_small), tables, limit, as_large):
        null, number = fitted[chosen] / totals[chosen, None], those.stop - those.start
        drawn = release.sample(null, totals[chosen], number, generator)
        found, _, small = _two_steps(drawn, totals[chosen, None], model, small_cells)
        sampled[chosen, those] = found
        too_small[chosen] |= small.any(axis=1)
        larger = at_least(found + ROUNDING, statistic[chosen, None])
        as_large[chosen] += np.count_nonzero(larger, axis=1)
    # Tables that were not drawn have NaN, which sorts last.
    threshold = np.partition(sampled, rank - 1, axis=1)[:, rank - 1]
    rejected = ~too_small & ~np.isnan(threshold) & ~at_least(threshold + ROUNDING, statistic)
    return MonteCarloTest(statistic, threshold, too_small, rejected)


def asymptotic_test(
    noisy: npt.ArrayLike, records: npt.ArrayLike, model: Independence, *, level: float = 0.05
) -> Flags:
    """Return whether the null `model` is rejected at the critical value for tables without noise.

    The test rejects true nulls more often than the nominal `level`. The `noisy` tables have the
    shape (..., cells); `records` are positive, of shape (...) or a single number.
    """
    statistic = _of_nearest(noisy, records, model)
    return np.asarray(scipy.special.chdtrc(model.degrees_of_freedom, statistic) <= level)


def test_against_true_statistic(
    noisy: npt.ArrayLike, true: npt.ArrayLike, records: npt.ArrayLike, model: Independence
) -> Flags:
    """Test noisy tables with the statistics of their original tables as critical values.

    This is our interpretation of [rrba], 7.3.1, for tables with Laplace noise. There are no
    critical values, so "we used the true values of the attributes as the values for the comparison
    with noisy data (they are known in advance)". The test has no level, and needs the original
    tables. The `noisy` and the `true` counts have the shape (..., cells); for `records` and `model`
    see `asymptotic_test`.

    Examples
    --------
    >>> model = Independence((2, 2))
    >>> tables = [[35, 15, 15, 35], [25, 25, 25, 25]]
    >>> test_against_true_statistic(tables, [30, 20, 20, 30], 100, model)
    array([ True, False])
    """
    return np.asarray(_of_nearest(noisy, records, model) > _of_nearest(true, records, model))


def _of_nearest(noisy: npt.ArrayLike, records: npt.ArrayLike, model: Independence) -> Floats:
    values = np.asarray(noisy, dtype=float)
    return _two_steps(nearest_tables(values, records), records, model, "ignore")[0]


def critical_rank(tables: int, level: float) -> int:
    """Return ceil((l + 1) (1 - alpha)), the rank of the critical value among l statistics.

    l is the number of `tables`, and alpha the `level`, in (0, 1).
    """
    if not 0 < level < 1:
        raise DeniableError(f"the level is {level}; it must be between 0 and 1")
    rank = math.ceil((tables + 1) * (1 - level) - 1e-9)  # 100 * .95 exceeds 95 in floats
    if rank > tables:
        raise DeniableError(
            f"{tables} sampled tables give no critical value at level {level:g}; draw more than "
            f"{1 / level:g}"
        )
    return rank


def _two_steps(
    noisy: Floats, records: npt.ArrayLike, model: Independence, small_cells: SmallCells
) -> tuple[Floats, Floats, Flags]:
    """Return the statistic, the fitted counts, and flags of counts that are too small."""
    nearest, fitted = two_step_estimate(noisy, records, model)
    small = np.zeros(noisy.shape[:-1], dtype=bool)
    if small_cells != "ignore":
        looked_at = nearest if small_cells == "table" else fitted
        small = ~at_least(looked_at.min(axis=-1), LEAST_COUNT)
    return chi_squared(noisy, fitted), fitted, small
