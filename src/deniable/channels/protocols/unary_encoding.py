"""Unary encoding, for comparison: one randomized bit for each category."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from deniable.arrays import Codes, Counts, Flags, Floats
from deniable.channels.asked import closest_within, refuse_epsilon, refuse_no_number
from deniable.channels.exact import exact_ratio
from deniable.channels.protocols.pure import CHUNK_RECORDS, PureProtocol, refuse_few_categories
from deniable.errors import ChannelError
from deniable.sampling import KeyedColumn, RandomSource, events, keyed_events

MAX_CATEGORIES = 62
MAX_ENUMERATED = 2**20
"""Reports up to which there are sums over a tally."""


@dataclass(frozen=True, eq=False)
class UnaryEncoding(PureProtocol):
    """Report a bit for each category: 1 with probability p if it is the true one, else with q.

    The value is the whole number with these bits, lowest for category 0. S_u has the values with
    bit u. The parity is p (1 - q) / ((1 - p) q), since two categories change two bits. With p = 1 /
    2 and q = 1 / (exp(epsilon) + 1), n times the variance of a rare category is 4 exp(epsilon) /
    (exp(epsilon) - 1) ** 2, for any number of categories. There are 2 to 62 `categories`; `own` is
    p and `others` is q, in (0, 1). Raises `ChannelError` if a parameter is out of range.

    SOURCE: Wang, Blocki, Li and Jha 2017, [local_hashing] (optimized unary encoding).

    Examples
    --------
    >>> UnaryEncoding(2, 0.5, 0.25).matrix()
    array([[0.375, 0.375, 0.125, 0.125],
           [0.375, 0.125, 0.375, 0.125]])
    >>> UnaryEncoding(2, 0.5, 0.25).parity
    3.0
    """

    categories: int
    own: float
    others: float

    def __post_init__(self) -> None:
        refuse_few_categories(self.size, "unary encoding")
        if self.size > MAX_CATEGORIES:
            raise ChannelError(
                f"unary encoding of {self.size} categories; there are bits for {MAX_CATEGORIES}: "
                "choose ProjectiveGeometry, which has about the same variance"
            )
        for name in ("own", "others"):
            refuse_no_number(f"the probability {name}", getattr(self, name))
            probability = float(getattr(self, name))
            if not 0 < probability < 1:
                raise ChannelError(
                    f"the probability of a bit ({name}) is {probability}; it must be in (0, 1)"
                )
            object.__setattr__(self, name, probability)

    @classmethod
    def of_epsilon(cls, size: int, epsilon: float) -> "UnaryEncoding":
        """Return the optimized channel of `size` categories with at most the exact `epsilon`."""

        def parity(others: float) -> Fraction:
            return (1 - Fraction(others)) / Fraction(others)

        refuse_few_categories(size, "unary encoding")
        refuse_epsilon(epsilon)
        first = float(1 / (np.exp(epsilon) + 1))
        return cls(size, 0.5, closest_within(epsilon, first, parity, growing=False))

    @property
    def reports(self) -> int:
        return int(2**self.size)

    @property
    def support_of_own(self) -> float:
        return self.own

    @property
    def support_of_others(self) -> float:
        return self.others

    @property
    def gain(self) -> float:
        return self.own - self.others

    @property
    def exact_parity(self) -> Fraction | None:
        p, q = Fraction(self.own), Fraction(self.others)
        odds, others = p / (1 - p), q / (1 - q)
        return exact_ratio(max(odds, others), min(odds, others))

    def _drawn(self, true: Codes, source: RandomSource) -> Codes:
        flat, reports = true.reshape(-1), np.zeros(true.size, dtype=np.int64)
        for start in range(0, flat.size, CHUNK_RECORDS):
            part = flat[start : start + CHUNK_RECORDS]
            for category in range(self.size):
                bits = events(source, self.others, part.size)
                at = np.flatnonzero(part == category)
                bits[at] = events(source, self.own, at.size)
                reports[start : start + CHUNK_RECORDS] |= bits.astype(np.int64) << category
        return reports.astype(self._report_type(true)).reshape(true.shape)

    def _drawn_keyed(self, true: Codes, column: KeyedColumn) -> Codes:
        reports = np.zeros(true.size, dtype=np.int64)
        for category in range(self.size):
            factor = column.factor(category)
            bits = keyed_events(factor, self.others)
            at = np.flatnonzero(true == category)
            bits[at] = keyed_events(factor.chosen(at), self.own)
            reports |= bits.astype(np.int64) << category
        return reports.astype(self._report_type(true))

    def reported(self, proportions: npt.ArrayLike) -> Floats:
        x = self._fitting(proportions, "proportions")
        without = (1 - self.own) / (1 - self.others)
        raised = (self.own / self.others - without) * self.point_sums(x)
        return np.asarray(self._alike * (raised + without * x.sum(axis=-1, keepdims=True)))

    def expected(self, values: npt.ArrayLike) -> Floats:
        x = self._alike * self._fitting_reports(values, "values")
        without = (1 - self.own) / (1 - self.others)
        raised = (self.own / self.others - without) * self.membership_sums(x)
        return np.asarray(raised + without * x.sum(axis=-1, keepdims=True))

    @property
    def _alike(self) -> Floats:
        """The probabilities of the values if no category is true."""
        self.refuse_large_tally(MAX_ENUMERATED)
        ones = np.bitwise_count(np.arange(self.reports))
        powers = [
            self.others**n * (1 - self.others) ** (self.size - n) for n in range(self.size + 1)
        ]
        return np.array(powers)[ones]

    def exact_column(self, report: int) -> list[Fraction]:
        column = []
        for category in range(self.size):
            probability = Fraction(1)
            for bit in range(self.size):
                one = Fraction(self.own if bit == category else self.others)
                probability *= one if report >> bit & 1 else 1 - one
            column.append(probability)
        return column

    def _fill_matrix(self) -> Floats:
        codes, rows = np.arange(self.reports), []
        with_own, without = self.own / self.others, (1 - self.own) / (1 - self.others)
        for category in range(self.size):
            bit = self.supported_by(codes, category)
            rows.append(self._alike * np.where(bit, with_own, without))
        return np.array(rows)

    def supported_by(self, reports: Codes, category: int) -> Flags:
        return np.asarray((np.asarray(reports) >> category & 1) == 1)

    def _supports(self, reported: Codes) -> Counts:
        counts = [np.count_nonzero(self.supported_by(reported, u)) for u in range(self.size)]
        return np.array(counts, dtype=np.int64)

    def membership_sums(self, values: Floats) -> Floats:
        self.refuse_large_tally(MAX_ENUMERATED)
        sums = [
            np.reshape(values, (*np.shape(values)[:-1], -1, 2, 2**u))[..., 1, :].sum(axis=(-2, -1))
            for u in range(self.size)
        ]
        return np.stack(sums, axis=-1)

    def point_sums(self, weights: Floats) -> Floats:
        self.refuse_large_tally(MAX_ENUMERATED)
        sums = np.zeros((*np.shape(weights)[:-1], 1))
        for u in range(self.size):
            sums = np.concatenate([sums, sums + weights[..., u : u + 1]], axis=-1)
        return sums
