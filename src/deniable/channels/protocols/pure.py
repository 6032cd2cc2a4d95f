"""Two-level channels: one probability for the values that support a category, one for others."""

import math
from abc import abstractmethod
from collections.abc import Callable
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from deniable.arrays import Codes, Counts, Flags, Floats
from deniable.channels.base import MAX_TUNED, Channel
from deniable.channels.dense import DenseChannel
from deniable.channels.exact import closest_within, exact_ratio, refuse_epsilon, refuse_no_number
from deniable.channels.maps import SINGULAR_WEIGHT, refuse_other_than_whole
from deniable.errors import ChannelError
from deniable.sampling import KeyedColumn, Levels, RandomSource, multinomial

MAX_TALLY = 2**27  # largest number of randomized values with a counter for each: a gigabyte
CHUNK_RECORDS = 1 << 16  # draws and codes of a chunk stay in the processor's cache


class TwoLevelChannel(Channel):
    """A channel from a block design: P[u, v] is high for v in S_u, and low for any other value.

    There are at least 2 `categories`. A set S_u of c of the m values supports category u, and any
    two sets share l values. One float in [0, 1] is stored, the `probability` p that a value
    supports the true category. The exact matrix of the draws has

        high = p / c,    low = (1 - p) / (m - c),    parity = high / low, or low / high.

    A value supports any other category with probability q = l high + (c - l) low. So the proportion
    of values in S_u is unbiased for q + (p - q) pi_u. The own left inverse, for any true
    distribution, is

        D[v, u] = (1[v in S_u] - q) / (p - q).

    A kind supplies m, c and l, sums over sets, tests of membership, and value number j for category
    u: for j < c a member of S_u, for j >= c another value. All vectors may have leading batch axes.
    Raises `ChannelError` if a parameter is out of range.

    SOURCE: Wang, Blocki, Li and Jha 2017, [local_hashing].
    """

    categories: int
    probability: float

    @property
    def size(self) -> int:
        return self.categories

    @property
    def returns_categories(self) -> bool:
        return False

    @abstractmethod
    def membership_sums(self, values: Floats) -> Floats:
        """Return the sums of `values`, shape (..., reports), over each S_u, shape (..., size)."""

    @abstractmethod
    def point_sums(self, weights: Floats) -> Floats:
        """Return for each value the sum of the `weights` of the categories that it supports.

        The `weights` have the shape (..., size), and the result (..., reports). This is the
        transpose of `membership_sums`.
        """

    @abstractmethod
    def supported_by(self, reports: Codes, category: int) -> Flags:
        """Return whether `reports`, values of any shape, support a `category`; the same shape."""

    @property
    def singular(self) -> bool:
        """Whether p - q is zero up to rounding: values then reveal nothing."""
        return abs(self.gain) < SINGULAR_WEIGHT

    def solve_transposed(self, reported: Floats) -> Floats:
        total = reported.sum(axis=-1, keepdims=True)
        sums = self.membership_sums(reported)
        return np.asarray((sums - self.support_of_others * total) / self.gain)

    def solve(self, weights: Floats) -> Floats:
        total = weights.sum(axis=-1, keepdims=True)
        return np.asarray((self.point_sums(weights) - self.support_of_others * total) / self.gain)

    def moments(self, reported: Floats, power: int) -> Floats:
        q, sums = self.support_of_others, self.membership_sums(reported)
        rest = reported.sum(axis=-1, keepdims=True) - sums
        return np.asarray((sums * (1 - q) ** power + rest * (-q) ** power) / self.gain**power)

    def own_moments(self, power: int) -> Floats:
        p, q = self.probability, self.support_of_others
        moment = (p * (1 - q) ** power + (1 - p) * (-q) ** power) / self.gain**power
        return np.full(self.size, moment)

    def own_variance(self, proportions: npt.ArrayLike = 0.0) -> Floats:
        """Return n times the variance of the own estimate of categories of these `proportions`.

        It is s (1 - s) / (p - q) ** 2 with s = q + (p - q) pi, for any proportions of the other
        categories. By default the category is rare. SOURCE: [local_hashing].
        """
        self.refuse_singular()
        supported = self.support_of_others + self.gain * np.asarray(proportions, dtype=float)
        return np.asarray(supported * (1 - supported) / self.gain**2)

    def of_least_variance(self, proportions: npt.ArrayLike) -> Channel:
        if self.singular or self.size * self.reports > MAX_TUNED:
            return self
        return DenseChannel(self.matrix(), np.asarray(proportions, dtype=float))

    def refuse_large_tally(self, limit: int = MAX_TALLY) -> None:
        """Raise `ChannelError` if there are over `limit` values, too many for a counter each."""
        if self.reports > limit:
            raise ChannelError(
                f"{self.reports:,} randomized values are too many for a counter each (limit "
                f"{limit:,}); use another protocol, for example the result of `best_protocol`"
            )

    @property
    @abstractmethod
    def block_design(self) -> tuple[int, int, int]:
        """Return m, the number of values, c in the set of a category, and l shared by two sets."""

    @property
    def reports(self) -> int:
        return self.block_design[0]

    @property
    def members(self) -> int:
        """Return c, the number of values in the set of a category."""
        return self.block_design[1]

    @property
    def shared(self) -> int:
        """Return l, the number of values that the sets of any two categories share."""
        return self.block_design[2]

    @abstractmethod
    def place(self, categories: Counts, indexes: Counts) -> Counts:
        """Return value number j of category u for each pair; for j < c it is a member of S_u.

        The u are `categories`, in 0 .. size - 1, and the j are `indexes`, in 0 .. reports - 1. Both
        are int64 and of one shape. For one category the values are a permutation of the indexes.
        """

    def _check_probability(self) -> None:
        """Store the probability as a float; raise `ChannelError` if it is outside [0, 1]."""
        refuse_no_number("the probability", self.probability)
        probability = float(self.probability)
        if not 0 <= probability <= 1:
            raise ChannelError(
                f"the probability of a value in the set of the true category is {probability}; "
                "it must be in [0, 1]"
            )
        object.__setattr__(self, "probability", probability)

    @property
    def high(self) -> Fraction:
        """Exact probability of each value in S_u, for true category u."""
        return Fraction(self.probability) / self.members

    @property
    def low(self) -> Fraction:
        """Exact probability of each value outside of S_u, for true category u."""
        return (1 - Fraction(self.probability)) / (self.reports - self.members)

    @cached_property
    def support_of_others(self) -> float:
        return float(self.shared * self.high + (self.members - self.shared) * self.low)

    @cached_property
    def gain(self) -> float:
        return float((self.members - self.shared) * (self.high - self.low))

    @property
    def exact_parity(self) -> Fraction | None:
        return exact_ratio(max(self.high, self.low), min(self.high, self.low))

    def exact_column(self, report: int) -> list[Fraction]:
        code = np.array([report])
        return [
            self.high if self.supported_by(code, category)[0] else self.low
            for category in range(self.size)
        ]

    def _fill_matrix(self) -> Floats:
        codes, matrix = np.arange(self.reports), np.full((self.size, self.reports), float(self.low))
        for category, row in enumerate(matrix):
            row[self.supported_by(codes, category)] = float(self.high)
        return matrix

    def reported(self, proportions: npt.ArrayLike) -> Floats:
        x = self._fitting(proportions, "proportions")
        raised = float(self.high - self.low) * self.point_sums(x)
        return np.asarray(raised + float(self.low) * x.sum(axis=-1, keepdims=True))

    def expected(self, values: npt.ArrayLike) -> Floats:
        x = self._fitting(values, "values", self.reports)
        raised = float(self.high - self.low) * self.membership_sums(x)
        return np.asarray(raised + float(self.low) * x.sum(axis=-1, keepdims=True))

    @cached_property
    def _levels(self) -> Levels:
        return Levels(self.probability, self.members, self.reports - self.members)

    def _drawn(self, true: Codes, source: RandomSource) -> Codes:
        return self._placed(true, lambda part: self._levels.draw(source, part.stop - part.start))

    def _drawn_keyed(self, true: Codes, column: KeyedColumn) -> Codes:
        return self._placed(true, lambda part: self._levels.draw_keyed(column.chosen(part)))

    def _placed(self, true: Codes, indexes: Callable[[slice], Counts]) -> Codes:
        """Return the value of the index that is drawn for each record."""
        reports = np.empty(true.size, dtype=self._report_type(true))
        flat = true.reshape(-1)
        for start in range(0, flat.size, CHUNK_RECORDS):
            part = slice(start, min(start + CHUNK_RECORDS, flat.size))
            reports[part] = self.place(flat[part].astype(np.int64), indexes(part))
        return reports.reshape(true.shape)

    def _drawn_counts(self, true: Counts, generator: np.random.Generator) -> Counts:
        self.refuse_large_tally()
        tables = true.reshape(-1, self.size)
        few = tables.sum() < tables.size * self.reports
        drawn = self._counts_by_record if few else self._counts_by_category
        return drawn(tables, generator).reshape(*true.shape[:-1], self.reports)

    def _counts_by_record(self, tables: Counts, generator: np.random.Generator) -> Counts:
        cells = len(tables) * self.reports
        reports, ends = np.zeros(cells, dtype=np.int64), np.cumsum(tables)
        step = max(CHUNK_RECORDS, cells // 4)
        for start in range(0, int(ends[-1]) if ends.size else 0, step):
            records = np.arange(start, min(start + step, int(ends[-1])))
            table, category = np.divmod(np.searchsorted(ends, records, side="right"), self.size)
            drawn = self.randomize(category, generator)
            reports += np.bincount(table * self.reports + drawn, minlength=cells)
        return reports

    def _counts_by_category(self, tables: Counts, generator: np.random.Generator) -> Counts:
        reports = np.zeros((len(tables), self.reports), dtype=np.int64)
        for category in range(self.size):
            codes = self.place(np.full(self.reports, category), np.arange(self.reports))
            hit = generator.binomial(tables[:, category], self.probability)
            sets = np.split(codes, [self.members])
            for total, own in zip((hit, tables[:, category] - hit), sets, strict=True):
                reports[:, own] += multinomial(generator, total, np.full(own.size, 1 / own.size))
        return reports


def refuse_few_categories(size: int, what: str) -> None:
    """Raise `ChannelError` unless a protocol, `what`, has a `size` of at least 2 categories."""
    refuse_other_than_whole("the number of categories", size, 0)
    if size < 2:
        raise ChannelError(f"{what} is for at least 2 categories, not {size}")


def variance_of_design(size: int, epsilon: float, design: tuple[int, int, int]) -> float:
    """Return n times the variance of the own estimate, with the sampling of the records.

    It is for `size` equally frequent categories, an `epsilon` and a `block_design`, `design`.
    """
    reports, members, shared = design
    p = members / (members + (reports - members) * math.exp(-epsilon))
    gain = (members - shared) * (p / members - (1 - p) / (reports - members))
    supported = p - gain * (1 - 1 / size)
    return supported * (1 - supported) / gain**2


def probability_of_epsilon(epsilon: float, reports: int, members: int) -> float:
    """Return the largest p of a two-level channel with an exact epsilon of at most `epsilon`.

    Before rounding, p = c exp(epsilon) / (c exp(epsilon) + m - c), with m `reports`, and c
    `members` in a set. Raises `ChannelError` if epsilon is not in (0, 30], or too small for floats.
    """
    refuse_epsilon(epsilon)
    others = reports - members

    def parity(probability: float) -> Fraction:
        exact = Fraction(probability)
        return exact * others / (members * (1 - exact))

    odds = others / members
    return closest_within(epsilon, float(1 / (1 + odds * np.exp(-epsilon))), parity)
