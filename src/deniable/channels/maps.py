"""The interface of a channel kind: draws, a few linear maps, exact columns, and shapes."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.arrays import Codes, Counts, Floats
from deniable.channels.exact import ROW_SUM_TOLERANCE
from deniable.errors import ChannelError, SingularChannelError, shown
from deniable.records import refuse_foreign_codes
from deniable.sampling import (
    KeyedColumn,
    KeyedDraws,
    Numbers,
    RandomnessSource,
    RandomSource,
    multinomial,
    refuse_no_source,
)

SINGULAR_WEIGHT = 1e-12
MAX_DENSE = 4096


class LinearMaps(ABC):
    """A row-stochastic matrix, P[u, v] = Pr(randomized value v | true u), of shape (size, reports).

    There may be more or fewer randomized values (reports) than categories. If the numbers are
    equal, value v means category v. Vectors may have leading batch axes: the last axis has the
    categories, or the randomized values.
    """

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of categories, r."""

    @property
    def reports(self) -> int:
        """Number of randomized values, m; by default the number of categories."""
        return self.size

    @property
    @abstractmethod
    def singular(self) -> bool:
        """Whether estimates from randomized values are impossible, or only rounding errors."""

    def randomize(self, codes: Codes, source: RandomSource) -> Codes:
        """Return a randomized value for the category of each record.

        The `codes` are integers in 0 .. size - 1. The randomized values, in 0 .. reports - 1, have
        the same shape, and the same type or a larger one that can hold them. The `source` is a
        `numpy.random.Generator` or a `SystemRandomSource`.
        """
        refuse_no_source(source)
        return self._drawn(self._fitting_codes(codes), source)

    @abstractmethod
    def _drawn(self, true: Codes, source: RandomSource) -> Codes:
        """Return the randomized values of checked codes; see `randomize`."""

    def randomize_keyed(self, codes: Codes, column: KeyedColumn) -> Codes:
        """Return a randomized value for each record, from a key and the record's number.

        The `codes` are one true category for each record of the `column`, which has the key and the
        numbers of the records. Probabilities are exact. The result is the same on every machine.
        """
        return self._drawn_keyed(self._fitting_codes(codes), column)

    @abstractmethod
    def _drawn_keyed(self, true: Codes, column: KeyedColumn) -> Codes:
        """Return the randomized values of checked codes; see `randomize_keyed`."""

    def report(
        self,
        codes: Codes,
        chance: RandomnessSource,
        names: Sequence[str],
        records: Numbers | None = None,
    ) -> Codes:
        """Return a randomized value for each of `codes`, by a key or from a source (`chance`).

        The `names` are the names of the attributes. The `records` are the records' numbers in the
        whole file, from 0; by default 0, 1, ....
        """
        if not isinstance(chance, KeyedDraws):
            return self.randomize(codes, chance)
        numbers = len(codes) if records is None else records
        return self.randomize_keyed(codes, chance.column(names, numbers))

    def randomize_counts(self, counts: npt.ArrayLike, generator: np.random.Generator) -> Counts:
        """Draw counts of randomized values from true counts, as if every record were randomized.

        The `counts` are non-negative integers of shape (..., size). The tables of a batch are drawn
        independently by `generator`. The result is int64, (..., reports), with the same totals.
        """
        refuse_no_source(generator, of_counts=True)
        return self._drawn_counts(self._whole_counts(counts), generator)

    def _drawn_counts(self, true: Counts, generator: np.random.Generator) -> Counts:
        """Draw from checked counts: by default one multinomial for each row of the matrix."""
        reports = np.zeros((*true.shape[:-1], self.reports), dtype=np.int64)
        for category, row in enumerate(self.matrix()):
            if np.any(true[..., category]):
                reports += multinomial(generator, true[..., category], row)
        return reports

    @abstractmethod
    def reported(self, proportions: npt.ArrayLike) -> Floats:
        """Return P' x, the distribution of randomized values if x is the true distribution.

        The `proportions` x have the shape (..., size), and the result (..., reports).
        """

    @abstractmethod
    def expected(self, values: npt.ArrayLike) -> Floats:
        """Return P x, the expectation of x(randomized value) for each true category.

        The `values` x have the shape (..., reports), and the result (..., size).
        """

    # The following maps need an inverse, and arrays of floats with the right shape. They check
    # neither. D is the own left inverse of this kind, of shape (reports, size), with P D = I.

    @abstractmethod
    def solve_transposed(self, reported: Floats) -> Floats:
        """Return D' `reported`: the x with P' x = reported, if there is one.

        `reported` are proportions of randomized values, (..., reports); the result is (..., size).
        """

    @abstractmethod
    def solve(self, weights: Floats) -> Floats:
        """Return D `weights`: a g with P g = weights, so that g(randomized value) is unbiased.

        The `weights` of categories have the shape (..., size), and the result (..., reports).
        """

    @abstractmethod
    def moments(self, reported: Floats, power: int) -> Floats:
        """Return for each category u the sum over v of `reported`[v] * D[v, u] ** `power`.

        `reported` are proportions of randomized values, (..., reports); the result is (..., size).
        """

    def own_moments(self, power: int) -> Floats:
        """Return for each category u the sum over v of P[u, v] * D[v, u] ** `power`, (size,)."""
        return np.asarray((self.matrix() * self.solve(np.eye(self.size)) ** power).sum(axis=1))

    @property
    @abstractmethod
    def exact_parity(self) -> Fraction | None:
        """The parity as a fraction, None if infinite."""

    @abstractmethod
    def exact_column(self, report: int) -> list[Fraction]:
        """Return Pr(`report` | true category) for each true category: exact probabilities of draws.

        The `report` is a randomized value, 0 .. reports - 1.
        """

    @abstractmethod
    def _fill_matrix(self) -> Floats:
        """Return the matrix, without a check of its size."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of categories of each attribute, (size,) unless they are randomized separately."""
        return (self.size,)

    @property
    def report_shape(self) -> tuple[int, ...]:
        """Number of randomized values of each attribute, (reports,) for a single one."""
        return (self.reports,)

    @cached_property
    def square(self) -> bool:
        """Whether each attribute has as many randomized values as categories."""
        return self.shape == self.report_shape

    @property
    def returns_categories(self) -> bool:
        """Whether randomized values are the categories themselves."""
        return self.square

    def matrix(self) -> Floats:
        """Return P, shape (size, reports); raise `ChannelError` beyond 4,096 ** 2 entries."""
        if self.size * self.reports > MAX_DENSE**2:
            raise ChannelError(
                f"a dense matrix of {self.size:,} categories by {self.reports:,} randomized values "
                f"is not formed (limit {MAX_DENSE:,} by {MAX_DENSE:,}); use the methods of the "
                "channel, or its factors"
            )
        return self._fill_matrix()

    def refuse_singular(self) -> None:
        """Raise `SingularChannelError` if the channel allows no estimates."""
        if self.singular:
            if self.reports < self.size:
                raise SingularChannelError(
                    f"the channel over {self.size} categories is singular: {self.reports} "
                    "randomized values cannot distinguish that many, so nothing can be estimated; "
                    "give at least as many randomized values as categories"
                )
            raise SingularChannelError(
                f"the channel over {self.size} categories is singular: its matrix has no usable "
                "inverse, so nothing can be estimated; change its probabilities"
            )

    def frequencies(self, counts: npt.ArrayLike) -> tuple[Floats, Floats]:
        """Return `counts` as proportions of their sums, and the sums; check that they are counts.

        Counts and proportions have the shape (..., reports), and sums (..., 1), or () for a single
        table. Raises `ChannelError` if counts are negative, not finite, all zero, or do not fit.
        """
        values = self._fitting(counts, "counts", self.reports)
        if not np.isfinite(values).all() or (values < 0).any():
            raise ChannelError("counts must be finite and not negative")
        if not (totals := values.sum(axis=-1, keepdims=True)).all():
            raise ChannelError("counts are all zero: there is nothing to estimate from")
        return values / totals, totals if values.ndim > 1 else totals[0]

    def _fitting_codes(self, codes: Codes) -> Codes:
        true = np.asarray(codes)
        refuse_foreign_codes(true, self.size, "the codes to randomize")
        return true

    def _whole_counts(self, counts: npt.ArrayLike) -> Counts:
        values = np.asarray(counts)
        self._refuse_misfit(values, "counts", self.size)
        kind = values.dtype.kind
        if kind not in "iuf" or (kind == "f" and np.any(values != np.floor(values))):
            raise ChannelError("counts to randomize must be whole numbers")
        if values.size and values.min() < 0:
            raise ChannelError(f"counts must not be negative; there is {values.min()}")
        if kind != "i" and values.size and values.max() >= 2.0**63:
            raise ChannelError(f"counts must be below 2**63; there is {values.max()}")
        return values.astype(np.int64, copy=False)

    def _fitting(self, values: npt.ArrayLike, what: str, length: int | None = None) -> Floats:
        """Return values as floats; raise `ChannelError` unless the last axis has `length` numbers.

        By default it has one for each category.
        """
        found = np.asarray(values, dtype=float)
        self._refuse_misfit(found, what, self.size if length is None else length)
        return found

    def _refuse_misfit(self, values: np.ndarray, what: str, length: int) -> None:
        if values.ndim and values.shape[-1] == length:
            return
        of, one = f"over {self.size} categories", "category"
        if length != self.size:
            of, one = f"with {length} randomized values", "randomized value"
        raise ChannelError(
            f"{what} of shape {values.shape} do not fit a channel {of}; "
            f"the last axis must have one entry per {one}"
        )

    def _report_type(self, codes: Codes) -> np.dtype:
        """Return the type of randomized values: the type of the codes if it holds them all."""
        last = self.reports - 1
        if self.square or last <= np.iinfo(codes.dtype).max:
            return codes.dtype
        # It keeps the sign, because no integer type holds all of both int64 and uint64.
        return np.min_scalar_type(last if codes.dtype.kind == "u" else -last - 1)


def distribution(values: npt.ArrayLike, what: str = "the proportions") -> Floats:
    """Return `values` as floats; raise `ChannelError` unless they are a distribution.

    A distribution has the shape (size,), no entry below 0, and the sum 1 within 1e-9. `what` is the
    name of the values in the message.
    """
    pi = np.asarray(values, dtype=float)
    adds_up = abs(pi.sum() - 1) <= ROW_SUM_TOLERANCE  # false if an entry is NaN
    if pi.ndim != 1 or np.any(pi < 0) or not adds_up:
        raise ChannelError(
            f"{what} must be one distribution: not negative, sum 1; the sum is {pi.sum():.9g}"
        )
    return pi


def refuse_no_records(records: int) -> None:
    """Raise `ChannelError` unless the number of `records` is at least 1."""
    if records < 1:
        raise ChannelError(f"records must be at least 1, not {records}")


def refuse_other_than_whole(name: str, value: Any, least: int, most: int = 2**53) -> None:
    """Raise `ChannelError` unless the `value` of `name` is whole, in `least` .. `most` - 1."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or not least <= value < most:
        raise ChannelError(
            f"{name} is {shown(value)}; give a whole number, at least {least} and below {most:,}"
        )
