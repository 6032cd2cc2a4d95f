"""Channels for numbers on a public grid: square waves, also with missing values, and added noise.

Laplace and staircase noise have the period k - 1, the largest distance between two of the k cells:
a value further away by this distance is exp(epsilon) times less likely. Values beyond the grid
become its end, without a loss of privacy.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from deniable.arrays import Codes, Counts, Floats
from deniable.channels.base import channel_within
from deniable.channels.dense import DenseChannel, InvertedMatrix
from deniable.channels.exact import exact_ratio, numbers_in, refuse_epsilon, refuse_no_number
from deniable.channels.maps import refuse_other_than_whole
from deniable.channels.protocols import probability_of_epsilon
from deniable.errors import ChannelError
from deniable.sampling import Categories, KeyedColumn, Outcomes, RandomSource, events, multinomial

SMALL_EPSILON = 1e-4  # below, the width is computed from a series, with an error below 1e-8


@dataclass(frozen=True)
class SquareWave(InvertedMatrix):
    """Square wave mechanism: a cell near the true one with probability `inside`, else any other.

    The categories are the k `cells` of a grid in order, k >= 2. The grid of the values continues
    for b cells, the `half_width`, at either end, so there are k + 2b values. The window of cell u
    has the values u, ..., u + 2b. Each of them has the probability inside / (2b + 1), and each of
    the k - 1 other values (1 - inside) / (k - 1). With b = 0 this is generalized randomized
    response. Epsilon is the logarithm of the ratio of these two probabilities, with `inside` as the
    exact float. `inside` is in [(2b + 1) / (k + 2b), 1]; at the lower end values reveal nothing.

    The own left inverse has the least variance for equal proportions. It is computed from the
    matrix, so with more than about 4,096 cells there are draws but no estimates. Raises
    `ChannelError` if a parameter is out of range.

    SOURCE: Li, Wang, Lopuhaä-Zwakenberg, Li and Škorić 2020, [square_wave], in the discrete form
    (cells, then randomization).

    Examples
    --------
    >>> channel = SquareWave(3, 1, inside=0.75)
    >>> channel.matrix()[0]
    array([0.25 , 0.25 , 0.25 , 0.125, 0.125])
    >>> channel.parity
    2.0
    """

    cells: int
    half_width: int
    inside: float

    def __post_init__(self) -> None:
        for name, value, least in (("cells", self.cells, 2), ("half_width", self.half_width, 0)):
            refuse_other_than_whole(name, value, least)
            object.__setattr__(self, name, int(value))
        refuse_no_number("the probability inside", self.inside)
        inside = float(self.inside)
        even = Fraction(self.window, self.reports)
        if not (math.isfinite(inside) and even <= Fraction(inside) <= 1):
            raise ChannelError(
                f"the probability of the window is {inside:.9g}; with {self.cells} cells and the "
                f"half width {self.half_width} it must be in [{even}, 1]"
            )
        object.__setattr__(self, "inside", inside)

    @classmethod
    def of_epsilon(cls, cells: int, epsilon: float, half_width: int | None = None) -> "SquareWave":
        """Return the channel of `cells` with the largest exact epsilon that is at most `epsilon`.

        There are 2 or more cells, and epsilon is in (0, 30]. The `half_width` is by default
        `window_half_width`. Raises `ChannelError` if a parameter is out of range, or too small for
        floats.
        """
        refuse_epsilon(epsilon)
        refuse_other_than_whole("cells", cells, 1)
        b = window_half_width(cells, epsilon) if half_width is None else half_width
        probe = cls(cells, b, 1.0)  # checks the cells and the width
        return cls(cells, b, probability_of_epsilon(epsilon, probe.reports, probe.window))

    @property
    def size(self) -> int:
        return self.cells

    @property
    def reports(self) -> int:
        return self.cells + 2 * self.half_width

    @property
    def window(self) -> int:
        """Number of values in the window of a cell, 2b + 1."""
        return 2 * self.half_width + 1

    def _drawn(self, true: Codes, source: RandomSource) -> Codes:
        flat = true.reshape(-1).astype(np.int64)
        outcomes = np.empty(flat.size, dtype=np.int64)
        within = events(source, self.inside, flat.size)
        number = int(within.sum())
        outcomes[within] = source.integers(0, self.window, number)
        outcomes[~within] = source.integers(self.window, self.reports, flat.size - number)
        return self._placed(flat, outcomes).astype(self._report_type(true)).reshape(true.shape)

    def _drawn_keyed(self, true: Codes, column: KeyedColumn) -> Codes:
        outcomes = self._outcomes.draw(column).astype(np.int32)  # there are few values
        return self._placed(true.astype(np.int32), outcomes).astype(self._report_type(true))

    def _placed(self, true: Codes, outcomes: Codes) -> Codes:
        """Return the values of outcomes: first values in the window, then the others in order."""
        others = outcomes - self.window
        beyond = others + self.window * (others >= true)
        return np.where(others < 0, true + outcomes, beyond)

    @cached_property
    def _outcomes(self) -> Outcomes:
        high, low = self.exact_entries
        exact = [high] * self.window + [low] * (self.cells - 1)
        return Outcomes(np.array([exact], dtype=float), lambda _: Categories.of(exact))

    def _drawn_counts(self, true: Counts, generator: np.random.Generator) -> Counts:
        # Some records draw any cell with equal probabilities, the others a cell in their window.
        anywhere = generator.binomial(true, min(self._low_and_above[0] * self.reports, 1.0))
        reports = multinomial(generator, anywhere.sum(axis=-1), np.ones(self.reports))
        near = true - anywhere
        for cell in np.flatnonzero(near.reshape(-1, self.cells).any(axis=0)).tolist():
            drawn = multinomial(generator, near[..., cell], np.ones(self.window))
            reports[..., cell : cell + self.window] += drawn
        return reports

    @property
    def exact_entries(self) -> tuple[Fraction, Fraction]:
        """Return the exact probabilities of a value within and outside of the window."""
        inside = Fraction(self.inside)
        return inside / self.window, (1 - inside) / (self.cells - 1)

    @cached_property
    def _low_and_above(self) -> tuple[float, float]:
        """The probability outside of the window, and its difference to the one within."""
        high, low = self.exact_entries
        return float(low), float(high - low)

    def reported(self, proportions: npt.ArrayLike) -> Floats:
        x, (low, above) = self._fitting(proportions, "proportions"), self._low_and_above
        sums = np.insert(np.cumsum(x, axis=-1), 0, 0.0, axis=-1)
        ends = np.arange(1, self.reports + 1)
        first, last = np.maximum(ends - self.window, 0), np.minimum(ends, self.cells)
        near = sums[..., last] - sums[..., first]
        return np.asarray(above * near + low * sums[..., -1:])

    def expected(self, values: npt.ArrayLike) -> Floats:
        x, (low, above) = self._fitting(values, "values", self.reports), self._low_and_above
        sums = np.insert(np.cumsum(x, axis=-1), 0, 0.0, axis=-1)
        near = sums[..., self.window :] - sums[..., : -self.window]
        return np.asarray(above * near + low * sums[..., -1:])

    @property
    def exact_parity(self) -> Fraction | None:
        return exact_ratio(*self.exact_entries)

    def exact_column(self, report: int) -> list[Fraction]:
        high, low = self.exact_entries
        return [high if 0 <= report - u < self.window else low for u in range(self.cells)]

    def _fill_matrix(self) -> Floats:
        return self.with_entries(*map(float, self.exact_entries))

    def with_entries(self, high: float, low: float) -> Floats:
        """Return the matrix with `high` in the windows and `low` elsewhere, (cells, reports)."""
        steps = np.subtract.outer(-np.arange(self.cells), -np.arange(self.reports))
        return np.where((steps >= 0) & (steps < self.window), high, low)


def window_half_width(cells: int, epsilon: float) -> int:
    """Return the half width b with the largest mutual information, without prior knowledge.

    The `epsilon` is in (0, 30], and the grid has so many `cells`. As a proportion of the range, b
    is the width in the continuous mechanism, (epsilon e - e + 1) / (2 e (e - 1 - epsilon)) with e =
    exp(epsilon), rounded down to whole cells. SOURCE: [square_wave], where a bound on the mutual
    information is maximized.

    Examples
    --------
    >>> window_half_width(64, 1.0)
    16
    """
    refuse_epsilon(epsilon)
    if epsilon < SMALL_EPSILON:
        share = 0.5 - epsilon / 3
    else:
        share = (epsilon + math.expm1(-epsilon)) / (2 * (math.expm1(epsilon) - epsilon))
    return math.floor(share * cells)


class SquareWaveOrMissing(DenseChannel):
    """Square wave mechanism for numbers that can be missing, with "missing" as one more category.

    The categories are the k `cells` of a grid in order, k >= 2, and last "missing". The values are
    the k + 2b of `SquareWave`, with b the `half_width`, and last "missing". A number becomes
    "missing" with one probability, else a value of the square wave. A missing value stays "missing"
    with another probability, else becomes any cell of the wider grid with equal probabilities.

    The five `weights` are the distinct entries of the matrix. The row of a number has one for each
    value in its window, one for each other number, and one for "missing". The row of a missing
    value has one for each number, and one for "missing". Rows are taken in their exact proportions.
    Raises `ChannelError` if a parameter is out of range, or the weights are not a channel.

    Examples
    --------
    >>> SquareWaveOrMissing(2, 0, np.array([0.6, 0.2, 0.2, 0.25, 0.5])).matrix()
    array([[0.6 , 0.2 , 0.2 ],
           [0.2 , 0.6 , 0.2 ],
           [0.25, 0.25, 0.5 ]])
    """

    cells: int
    half_width: int
    weights: Floats

    def __init__(self, cells: int, half_width: int, weights: Floats) -> None:
        grid, own = SquareWave(cells, half_width, 1.0), numbers_in("the weights", weights)
        if own.shape != (5,):
            raise ChannelError(f"weights of shape {own.shape}; give five")
        near, far, made, spread, kept = own.tolist()
        matrix = np.pad(grid.with_entries(near, far), (0, 1), constant_values=made)
        matrix[-1] = [spread] * grid.reports + [kept]
        super().__init__(matrix)
        own.setflags(write=False)
        parameters = {"cells": grid.cells, "half_width": grid.half_width, "weights": own}
        for name, value in parameters.items():
            object.__setattr__(self, name, value)

    @classmethod
    def of_epsilon(cls, cells: int, epsilon: float) -> "SquareWaveOrMissing":
        """Return the channel of `cells`, >= 2, with at most the exact `epsilon`, in (0, 30].

        The wave is `SquareWave.of_epsilon`, with a ratio E = exp(epsilon) between the window and
        the other cells. So numbers that stay numbers are as informative as without missing values.
        Let "kept" be the probability that a missing value stays missing, and "made" the probability
        that a number becomes missing. Among channels with kept = E made, this one has the smallest
        "made". The most probable value of a number is r times as probable as the average value.
        Then (1 - made) r <= E (1 - E made) implies made = (E - r) / (E^2 - r). Raises
        `ChannelError` if a parameter is out of range, or too small for floats.
        """
        refuse_epsilon(epsilon)
        refuse_other_than_whole("cells", cells, 2)

        def of_target(target: float) -> "SquareWaveOrMissing":
            wave = SquareWave.of_epsilon(cells, target)
            ratio = math.exp(target)
            most = wave.inside / wave.window * wave.reports
            made = max((ratio - most) / (ratio**2 - most), 0.0)
            kept = min(ratio * made, 1.0)
            near, far = (1 - made) * np.array(list(map(float, wave.exact_entries)))
            weights = [near, far, made, (1 - kept) / wave.reports, kept]
            return cls(cells, wave.half_width, np.array(weights))

        return channel_within(epsilon, of_target)


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
