"""Channels given by any row-stochastic matrix, as in PRAM."""

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from deniable.arrays import Codes, Floats
from deniable.channels.base import MAX_TUNED, Channel
from deniable.channels.exact import ROW_SUM_TOLERANCE, exact_sum, largest_column_ratio, numbers_in
from deniable.channels.maps import MAX_DENSE, distribution
from deniable.errors import ChannelError
from deniable.sampling import Categories, KeyedColumn, Outcomes, RandomSource

MAX_CONDITION = 1e12
MAX_REFINED = 128
"""Largest number of rows with a refined inverse. Refinement takes up to 30 ms, and eight times as
long for twice as many rows."""


class InvertedMatrix(Channel):
    """A channel with the inverse of its matrix.

    The own left inverse has the least variance at `reference`, by default equal proportions.
    """

    reference: Floats | None = None

    @cached_property
    def singular(self) -> bool:
        """Whether there are fewer values than categories, or the condition number exceeds 1e12."""
        return self.reports < self.size or bool(np.linalg.cond(self.matrix()) > MAX_CONDITION)

    @cached_property
    def _inverse(self) -> Floats:
        matrix = self.matrix()
        inverse = np.linalg.inv(matrix) if self.square else self._left_inverse(matrix)
        if self.size > MAX_REFINED:
            return np.asarray(inverse)
        # One step of Newton's iteration in extended precision, towards the inverse of the exact
        # matrix of the draws. At a condition number of 1e6, the error falls from 1e-11 to 1e-14.
        rows = matrix.astype(np.longdouble)
        rows /= rows.sum(axis=1, keepdims=True)
        return np.asarray(inverse + inverse @ (np.eye(self.size) - rows @ inverse), dtype=float)

    def _left_inverse(self, matrix: Floats) -> Floats:
        """Return D = L^-1 P' (P L^-1 P')^-1, with L the distribution of values at the reference.

        It uses orthogonal factors of L^-1/2 P', which does not square the condition number.
        """
        even = np.full(self.size, 1 / self.size)
        roots = np.sqrt((even if self.reference is None else self.reference) @ matrix)
        scale = np.divide(1.0, roots, out=np.zeros_like(roots), where=roots > 0)
        Q, R = np.linalg.qr(scale[:, None] * matrix.T)
        return np.asarray(scale[:, None] * np.linalg.solve(R, Q.T).T)

    def of_least_variance(self, proportions: npt.ArrayLike) -> Channel:
        if self.square or self.singular or self.size * self.reports > MAX_TUNED:
            return self
        return DenseChannel(self.matrix(), np.asarray(proportions, dtype=float))

    def solve_transposed(self, reported: Floats) -> Floats:
        return np.asarray(reported @ self._inverse)

    def solve(self, weights: Floats) -> Floats:
        return np.asarray(weights @ self._inverse.T)

    def moments(self, reported: Floats, power: int) -> Floats:
        return np.asarray(reported @ self._inverse**power)


@dataclass(frozen=True, eq=False)
class DenseChannel(InvertedMatrix):
    """A channel with the matrix `entries`, shape (size, reports): P[u, v] = Pr(value v | true u).

    One randomized value has epsilon = max over columns of ln(largest / smallest entry), from
    [multirr], (4). It is infinite if only some entries of a column are zero. Rows that sum to 1
    only within rounding are drawn in their exact proportions, and epsilon is exact for these.

    With more values than categories, the channel's own left inverse has the least variance if the
    true proportions are `reference`, shape (size,), by default all equal; see `Inverse`. Under the
    reference, every column with a positive entry must have a positive probability. Raises
    `ChannelError` if the matrix is empty or has over 4,096 ** 2 entries, an entry is negative or
    not finite, a row does not sum to 1 within 1e-9, or the reference does not fit.

    Examples
    --------
    >>> channel = DenseChannel(np.array([[0.75, 0.25], [0.25, 0.75]]))
    >>> channel.parity
    3.0
    >>> channel.estimate([60, 40])
    array([0.7, 0.3])
    """

    entries: Floats
    reference: Floats | None = None
    _rows: dict[int, Categories] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        P = numbers_in("a channel's matrix", self.entries)
        if P.ndim != 2 or not P.size:
            raise ChannelError(
                f"a channel's matrix must have one row per category and one column per "
                f"response, not the shape {P.shape}"
            )
        if P.size > MAX_DENSE**2:
            raise ChannelError(
                f"a dense matrix of {P.shape[0]:,} by {P.shape[1]:,} is over the limit of "
                f"{MAX_DENSE:,} by {MAX_DENSE:,}; use another kind of channel, or a product"
            )
        if not np.all(np.isfinite(P)):
            raise ChannelError("a channel's probabilities must be finite numbers")
        if np.any(P < 0):
            u, v = np.argwhere(P < 0)[0]
            raise ChannelError(f"entry {P[u, v]:g} of row {u}, column {v} is negative")
        sums = P.sum(axis=1)
        if (wrong := np.flatnonzero(np.abs(sums - 1) > ROW_SUM_TOLERANCE)).size:
            raise ChannelError(f"row {wrong[0]} sums to {sums[wrong[0]]:.9g}, not to 1")
        P.setflags(write=False)
        object.__setattr__(self, "entries", P)
        if self.reference is not None:
            given = self._fitting(self.reference, "the reference")
            reference = distribution(given, "the reference")
            if np.any((reference @ P == 0) & P.any(axis=0)):
                raise ChannelError(
                    "no category with a positive probability in the reference gives some "
                    "randomized value; give a positive probability to a category that gives it"
                )
            object.__setattr__(self, "reference", reference)

    @cached_property
    def size(self) -> int:
        return int(self.entries.shape[0])

    @cached_property
    def reports(self) -> int:
        return int(self.entries.shape[1])

    def _drawn(self, true: Codes, source: RandomSource) -> Codes:
        reports = np.empty(true.size, dtype=self._report_type(true))
        # NumPy sorts 16-bit numbers by radix, ten times as fast.
        narrow = true.astype(np.uint16) if self.size <= 2**16 else true
        by_category = np.argsort(narrow, axis=None, kind="stable")
        ends = np.cumsum(np.bincount(true.reshape(-1), minlength=self.size))
        for category, records in enumerate(np.split(by_category, ends[:-1])):
            if records.size:
                reports[records] = self._row(category).draw(source, records.size)
        return reports.reshape(true.shape)

    def _drawn_keyed(self, true: Codes, column: KeyedColumn) -> Codes:
        return Outcomes(self.entries, self._row).draw(column, true).astype(self._report_type(true))

    def _row(self, category: int) -> Categories:
        if category not in self._rows:
            self._rows[category] = Categories.of(self.entries[category].tolist())
        return self._rows[category]

    def reported(self, proportions: npt.ArrayLike) -> Floats:
        return np.asarray(self._fitting(proportions, "proportions") @ self.entries)

    def expected(self, values: npt.ArrayLike) -> Floats:
        return np.asarray(self._fitting(values, "values", self.reports) @ self.entries.T)

    def exact_column(self, report: int) -> list[Fraction]:
        entries = self.entries[:, report].tolist()
        return [Fraction(p) / total for p, total in zip(entries, self._row_sums, strict=True)]

    @cached_property
    def _row_sums(self) -> list[Fraction]:
        return [exact_sum(row) for row in self.entries]

    @property
    def exact_parity(self) -> Fraction | None:
        return largest_column_ratio(self.entries)

    def parity_of_attribute(self, shape: tuple[int, ...], position: int) -> Fraction | None:
        cells = np.moveaxis(np.arange(self.size).reshape(shape), position, -1)
        alike = cells.reshape(-1, shape[position])
        ratios = [largest_column_ratio(self.entries[rows]) for rows in alike]
        return None if None in ratios else max(filter(None, ratios))

    def _fill_matrix(self) -> Floats:
        return self.entries.copy()
