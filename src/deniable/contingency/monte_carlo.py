"""Tests of independence on noisy tables whose critical values are simulated, or borrowed.

Three tests of [rrba], Table 3, which share one algorithm (Gaboardi et al., 2016, for Laplace
noise; [rrba], 7.3, for randomized response). From a noisy table the two-step maximum likelihood
(`deniable.contingency.two_step`) fits the null; l tables are sampled from the fit and noised in
their turn; the null is rejected if the statistic of the noisy table,

    X^2 = sum over cells of (noisy - fitted)^2 / fitted,

exceeds the one of rank ceil((l + 1) (1 - alpha)) among theirs. Two tests of tables with Laplace
noise simulate nothing. `asymptotic_test` takes the critical value of the chi-squared distribution,
which holds for tables without noise: it rejects true nulls too often.
`test_against_true_statistic` is the test of [rrba], 7.3.1, which uses the original table.

The rule of five. As printed ([rrba], section 6 and 7.3) the null is accepted if any count that
the two-step estimate gives is below 5, in the noisy table's or "at any point" in a sampled table's.
Which of the two steps' counts are meant is left open; and with hundreds of sampled tables the rule
turns the test off where cells expect some 50 records. All readings are offered.

Rounding decides nothing (`deniable.arrays.at_least`): with 43 records a cell and p = .5 counts of
exactly 5 occur, which floats put on either side, and reports being counts statistics are often
equal.
"""

import math
from dataclasses import dataclass
from typing import Literal, Protocol, get_args

import numpy as np
import numpy.typing as npt
import scipy

from deniable.arrays import ROUNDING, Flags, Floats, at_least
from deniable.channels import Channel
from deniable.contingency.independence import chi_squared, draw_tables, rounds
from deniable.contingency.log_linear import LogLinearModel
from deniable.contingency.two_step import nearest_tables, two_step_estimate
from deniable.errors import DeniableError

SmallCells = Literal["table", "fitted", "ignore"]
"""Which counts below 5 accept the null: of step one, of step two, none."""
LEAST_COUNT = 5.0


class NoisyRelease(Protocol):
    """A mechanism that releases noisy tables of counts."""

    @property
    def epsilon(self) -> float:
        """Exact epsilon of a table, for the replacement of one record."""

    def release(self, tables: npt.ArrayLike, generator: np.random.Generator) -> Floats:
        """Return the noisy counts of true `tables`, shape (..., cells), drawn by `generator`."""

    def sample(
        self, proportions: Floats, records: Floats, tables: int, generator: np.random.Generator
    ) -> Floats:
        """Draw so many `tables` from each of some distributions, and return their noisy counts.

        The `proportions` have the shape (number, cells), the numbers of `records` of a table
        (number,), and the counts (number, tables, cells); `generator` draws both.
        """


@dataclass(frozen=True)
class LaplaceRelease:
    """Counts with Laplace noise of a stated scale, by a trusted curator (central privacy).

    Replacing a record changes two counts by one each: the sensitivity is 2 and epsilon is
    2 / scale, exactly (Dwork et al., 2006). Noise is drawn in floating point: for studies only.

    Parameters
    ----------
    scale : float, positive
        The honest one is 2 / epsilon; [rrba], 7.4, prints 2 |T| / epsilon.
    """

    scale: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.scale) and self.scale > 0):
            raise DeniableError(f"the scale of the noise is {self.scale}; it must be positive")

    @property
    def epsilon(self) -> float:
        """Epsilon of a table."""
        return 2 / self.scale

    def release(self, tables: npt.ArrayLike, generator: np.random.Generator) -> Floats:
        """Return true `tables` of counts with noise by `generator`, shape (..., cells)."""
        counts = np.asarray(tables, dtype=float)
        return counts + generator.laplace(0.0, self.scale, counts.shape)

    def sample(
        self, proportions: Floats, records: Floats, tables: int, generator: np.random.Generator
    ) -> Floats:
        """Draw so many `tables` of `records` from each of `proportions`, and add noise.

        Shapes are those of `NoisyRelease.sample`; `generator` draws tables and noise.
        """
        return self.release(draw_tables(proportions, records, tables, generator), generator)


@dataclass(frozen=True, eq=False)
class RandomizedRelease:
    """Counts estimated from reports through a channel (local privacy), n times the estimate.

    Each record is randomized by itself, through `channel`; the table is a function of the reports,
    and epsilon that of the channel.
    """

    channel: Channel

    @property
    def epsilon(self) -> float:
        """Epsilon of a report, and so of the table."""
        return self.channel.epsilon

    def estimated(self, reports: npt.ArrayLike) -> Floats:
        """Return the estimated true counts from counts of reports ([rrba], (4)).

        From `reports` of shape (..., reports) to (..., cells). By the channel's own left inverse:
        fixed beforehand, it makes of every table of reports the same, whatever the other tables
        are.
        """
        counts = np.asarray(reports)
        return np.asarray(self.channel.estimate(counts, "own") * counts.sum(axis=-1, keepdims=True))

    def release(self, tables: npt.ArrayLike, generator: np.random.Generator) -> Floats:
        """Return the estimated counts of true `tables`, (..., cells), randomized by `generator`."""
        return self.estimated(self.channel.randomize_counts(tables, generator))

    def sample(
        self, proportions: Floats, records: Floats, tables: int, generator: np.random.Generator
    ) -> Floats:
        """Draw reports at once: sampling and randomizing is one multinomial ([pram], (1.1)).

        So many `tables` of `records` from each of `proportions`, by `generator`, in the shapes of
        `NoisyRelease.sample`.
        """
        reported = self.channel.reported(proportions)
        return self.estimated(draw_tables(reported, records, tables, generator))


@dataclass(frozen=True, eq=False)
class MonteCarloTest:
    """What a simulated test found for a batch of noisy tables, arrays of shape (number,).

    The null is `rejected` where the `statistic` exceeds the `threshold`. That is NaN where the rule
    of five accepts without simulation, and where tables ended before the last; `too_small` says
    where the rule accepted the null.
    """

    statistic: Floats
    threshold: Floats
    too_small: Flags
    rejected: Flags


def monte_carlo_test(
    noisy: npt.ArrayLike,
    records: npt.ArrayLike,
    release: NoisyRelease,
    model: LogLinearModel,
    generator: np.random.Generator,
    *,
    tables: int = 99,
    level: float = 0.05,
    small_cells: SmallCells = "table",
    to_the_end: bool = True,
) -> MonteCarloTest:
    """Test a log-linear model on noisy tables as [rrba], 7.3, prints it.

    With `LaplaceRelease` this is MCIndep, with `RandomizedRelease` RRBA's test.

    Parameters
    ----------
    noisy : shape (number, cells)
        Released counts.
    records : positive, shape (number,) or a single number
    release : NoisyRelease
        What made them, and makes the sampled tables.
    model : LogLinearModel
        The null.
    generator : numpy.random.Generator
        Draws the sampled tables and their noise.
    tables : int, > 1 / level
        l, the number of sampled tables.
    level : float, in (0, 1)
    small_cells : "table", "fitted" or "ignore"
        Which counts below 5 accept the null: of step one, of step two, none.
    to_the_end : bool
        Whether all tables are drawn also where so many have a statistic at least as large that the
        null cannot be rejected any more. The decision is the same.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> noisy = [[120.0, 61.0, 55.0, 130.0]]
    >>> model = LogLinearModel.independence((2, 2))
    >>> monte_carlo_test(noisy, 366, LaplaceRelease(8.0), model, rng).rejected
    array([ True])
    """
    rank = critical_rank(tables, level)
    if small_cells not in get_args(SmallCells):
        raise DeniableError(
            f"unknown rule {small_cells!r} for small cells; use {', '.join(get_args(SmallCells))}"
        )
    values = np.atleast_2d(np.asarray(noisy, dtype=float))
    totals = np.broadcast_to(np.asarray(records, dtype=float), values.shape[:1])
    statistic, fitted, too_small = _two_steps(values, totals, model, small_cells)
    sampled, as_large = np.full((len(values), tables), np.nan), np.zeros(len(values), np.int64)
    # With more than l - rank as large the null is not rejected, however the rest may be.
    limit = tables + 1 if to_the_end else tables - rank + 1
    for chosen, those in rounds(np.flatnonzero(~too_small), tables, limit, as_large):
        null, number = fitted[chosen] / totals[chosen, None], those.stop - those.start
        drawn = release.sample(null, totals[chosen], number, generator)
        found, _, small = _two_steps(drawn, totals[chosen, None], model, small_cells)
        sampled[chosen, those] = found
        too_small[chosen] |= small.any(axis=1)
        larger = at_least(found + ROUNDING, statistic[chosen, None])
        as_large[chosen] += np.count_nonzero(larger, axis=1)
    # What was not drawn is NaN, and comes last.
    threshold = np.partition(sampled, rank - 1, axis=1)[:, rank - 1]
    rejected = ~too_small & ~np.isnan(threshold) & ~at_least(threshold + ROUNDING, statistic)
    return MonteCarloTest(statistic, threshold, too_small, rejected)


def asymptotic_test(
    noisy: npt.ArrayLike, records: npt.ArrayLike, model: LogLinearModel, *, level: float = 0.05
) -> Flags:
    """Test noisy tables with the critical value of tables without noise.

    Its size is not the nominal one, `level`. Returns where the null, `model`, is rejected, of shape
    (...) for `noisy` tables of shape (..., cells) and `records`, positive, of shape (...) or a
    single number.
    """
    statistic = _of_nearest(noisy, records, model)
    return np.asarray(scipy.special.chdtrc(model.degrees_of_freedom, statistic) <= level)


def test_against_true_statistic(
    noisy: npt.ArrayLike, true: npt.ArrayLike, records: npt.ArrayLike, model: LogLinearModel
) -> Flags:
    """Test noisy tables with the statistics of their true tables for critical values.

    How [rrba], 7.3.1, tests tables with Laplace noise, as we read it: since there are no critical
    values, "we used the true values of the attributes as the values for the comparison with noisy
    data (they are known in advance)". Has no level, and is of use only to who needs no test.

    Parameters
    ----------
    noisy, true : shape (..., cells)
        Released and true counts.
    records : positive, shape (...) or a single number
    model : LogLinearModel
        The null.

    Examples
    --------
    >>> model = LogLinearModel.independence((2, 2))
    >>> tables = [[35, 15, 15, 35], [25, 25, 25, 25]]
    >>> test_against_true_statistic(tables, [30, 20, 20, 30], 100, model)
    array([ True, False])
    """
    return np.asarray(_of_nearest(noisy, records, model) > _of_nearest(true, records, model))


def _of_nearest(noisy: npt.ArrayLike, records: npt.ArrayLike, model: LogLinearModel) -> Floats:
    """Return the statistics of the nearest tables: their cells, too, add up to the records."""
    values = np.asarray(noisy, dtype=float)
    return _two_steps(nearest_tables(values, records), records, model, "ignore")[0]


def critical_rank(tables: int, level: float) -> int:
    """Return ceil((l + 1) (1 - alpha)), the rank of the critical value among l statistics.

    These are of l `tables`; alpha is the `level`, in (0, 1).
    """
    if not 0 < level < 1:
        raise DeniableError(f"the level is {level}; it must be between 0 and 1")
    rank = math.ceil((tables + 1) * (1 - level) - 1e-9)  # 100 * .95 is a little more in floats
    if rank > tables:
        raise DeniableError(
            f"{tables} sampled tables give no critical value at level {level:g}; draw more than "
            f"{1 / level:g}"
        )
    return rank


def _two_steps(
    noisy: Floats, records: npt.ArrayLike, model: LogLinearModel, small_cells: SmallCells
) -> tuple[Floats, Floats, Flags]:
    """Return the statistic, the fitted counts, and where a count is too small."""
    found = two_step_estimate(noisy, records, model)
    small = np.zeros(noisy.shape[:-1], dtype=bool)
    if small_cells != "ignore":
        looked_at = found.tables if small_cells == "table" else found.fitted
        small = ~at_least(looked_at.min(axis=-1), LEAST_COUNT)
    return chi_squared(noisy, found.fitted), found.fitted, small
