"""What a kind of channel supplies: draws, a few linear maps, exact columns; and its shapes."""

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
    """A row-stochastic matrix, P[u, v] = Pr(report v | true u), of shape (size, reports).

    There may be as many reports as categories, and then they mean the same, or more, or fewer.
    Vectors may have leading batch axes: the last axis is that of the categories, or of the reports.
    """

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of categories, r."""

    @property
    def reports(self) -> int:
        """Number of reports, m: that of the categories, if a kind does not say otherwise."""
        return self.size

    @property
    @abstractmethod
    def singular(self) -> bool:
        """Whether nothing, or too little to be told from rounding, can be estimated through it."""

    def randomize(self, codes: Codes, source: RandomSource) -> Codes:
        """Report each record's category through the channel.

        The `codes` are integers in 0 .. size - 1, and the reports, in 0 .. reports - 1, of the same
        shape and of the same type, or of a larger one if that cannot hold them. The `source` is a
        `numpy.random.Generator` or a `SystemRandomSource`.
        """
        refuse_no_source(source)
        return self._drawn(self._fitting_codes(codes), source)

    @abstractmethod
    def _drawn(self, true: Codes, source: RandomSource) -> Codes:
        """Return the reports of codes that fit, as `randomize`."""

    def randomize_keyed(self, codes: Codes, column: KeyedColumn) -> Codes:
        """Report each record's category as its key and its number have it, whatever runs this.

        Exactly with the probabilities of the matrix, as `randomize`. Releases are drawn so.

        Parameters
        ----------
        codes : one true category a record of the column, shape (records,)
        column : what the reports of these records are drawn from
        """
        return self._drawn_keyed(self._fitting_codes(codes), column)

    @abstractmethod
    def _drawn_keyed(self, true: Codes, column: KeyedColumn) -> Codes:
        """Return the reports of codes that fit, as `randomize_keyed`."""

    def report(
        self,
        codes: Codes,
        chance: RandomnessSource,
        names: Sequence[str],
        records: Numbers | None = None,
    ) -> Codes:
        """Report each record's category, one of `codes`, by a key or from a source (`chance`).

        The `names` are the attributes'; `records`, by default the first, are numbers in the whole
        file, from 0.
        """
        if not isinstance(chance, KeyedDraws):
            return self.randomize(codes, chance)
        numbers = len(codes) if records is None else records
        return self.randomize_keyed(codes, chance.column(names, numbers))

    def randomize_counts(self, counts: npt.ArrayLike, generator: np.random.Generator) -> Counts:
        """Draw the counts of reports from true counts, as if every record had been randomized.

        The `counts` are non-negative integers of shape (..., size), each table of a batch is drawn
        on its own by `generator`, and the reports are int64 of shape (..., reports) and of the same
        totals.
        """
        refuse_no_source(generator, of_counts=True)
        return self._drawn_counts(self._whole_counts(counts), generator)

    def _drawn_counts(self, true: Counts, generator: np.random.Generator) -> Counts:
        """Return the counts of reports of whole counts that fit: one multinomial for each row."""
        reports = np.zeros((*true.shape[:-1], self.reports), dtype=np.int64)
        for category, row in enumerate(self.matrix()):
            if np.any(true[..., category]):
                reports += multinomial(generator, true[..., category], row)
        return reports

    @abstractmethod
    def reported(self, proportions: npt.ArrayLike) -> Floats:
        """Return P' x, the distribution of reports when x is that of the true categories.

        From `proportions` x of shape (..., size) to (..., reports).
        """

    @abstractmethod
    def expected(self, values: npt.ArrayLike) -> Floats:
        """Return P x, the expectation of x(report) for each true category.

        From `values` x of shape (..., reports) to (..., size).
        """

    # The maps that follow need an inverse, and arrays of floats that fit; they check neither. D is
    # the kind's own left inverse, of shape (reports, size), with P D = I.

    @abstractmethod
    def solve_transposed(self, reported: Floats) -> Floats:
        """Return D' `reported`: the x with P' x = reported, if there is one.

        From shares of reports, shape (..., reports), to (..., size).
        """

    @abstractmethod
    def solve(self, weights: Floats) -> Floats:
        """Return D `weights`, a g with P g = weights: g(report) is unbiased for weights(true).

        From weights of categories, shape (..., size), to (..., reports).
        """

    @abstractmethod
    def second_moments(self, reported: Floats) -> Floats:
        """Return for each category u the sum over v of `reported`[v] * D[v, u] ** 2.

        From shares of reports, shape (..., reports), to (..., size).
        """

    def third_moments(self, reported: Floats) -> Floats:
        """Return for each category u the sum over v of `reported`[v] * D[v, u] ** 3."""
        return np.asarray(reported @ (self.solve(np.eye(self.size)) ** 3).T)

    def own_moments(self, power: int) -> Floats:
        """Return for each category u the sum over v of P[u, v] * D[v, u] ** `power`, (size,)."""
        scores = self.solve(np.eye(self.size))
        return np.asarray((self.matrix() * scores**power).sum(axis=1))

    @property
    @abstractmethod
    def exact_parity(self) -> Fraction | None:
        """The parity as a fraction, None if infinite."""

    @abstractmethod
    def exact_column(self, report: int) -> list[Fraction]:
        """Return Pr(`report` | true category) for each true category, as it is drawn.

        The report is one of 0 .. reports - 1; there are as many fractions as categories.
        """

    @abstractmethod
    def _fill_matrix(self) -> Floats:
        """Return the matrix, whatever its size."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of categories of each attribute, (size,) unless they are randomized apart."""
        return (self.size,)

    @property
    def report_shape(self) -> tuple[int, ...]:
        """Number of reports of each attribute, (reports,) unless they are randomized apart."""
        return (self.reports,)

    @cached_property
    def square(self) -> bool:
        """Whether each attribute has as many reports as categories."""
        return self.shape == self.report_shape

    @property
    def returns_categories(self) -> bool:
        """Whether randomized values are the categories themselves."""
        return self.square

    def matrix(self) -> Floats:
        """Return P as a dense array of shape (size, reports); refuse more than 4,096 ** 2 entries.

        Raises `ChannelError` then.
        """
        if self.size * self.reports > MAX_DENSE**2:
            raise ChannelError(
                f"a dense matrix of {self.size:,} categories by {self.reports:,} reports is not "
                f"formed (limit {MAX_DENSE:,} by {MAX_DENSE:,}); use the channel's own "
                "methods, or its factors"
            )
        return self._fill_matrix()

    def refuse_singular(self) -> None:
        """Raise `SingularChannelError` if nothing can be estimated through the channel."""
        if self.singular:
            if self.reports < self.size:
                raise SingularChannelError(
                    f"the channel over {self.size} categories is singular: {self.reports} reports "
                    "cannot tell that many apart, so nothing can be estimated; give at least as "
                    "many reports as categories"
                )
            raise SingularChannelError(
                f"the channel over {self.size} categories is singular: its reports tell some of "
                "them (nearly) not apart, so nothing can be estimated; change its probabilities"
            )

    def frequencies(self, counts: npt.ArrayLike) -> tuple[Floats, Floats]:
        """Return `counts` as shares of their sums, and the sums; refuse what are no counts.

        Counts and shares have the shape (..., reports), sums (..., 1), or () for a single table.
        """
        values = self._fitting_reports(counts, "counts")
        if not np.isfinite(values).all() or (values < 0).any():
            raise ChannelError("counts must be finite and not negative")
        totals = values.sum(axis=-1, keepdims=True)
        if not totals.all():
            raise ChannelError("counts are all zero: there is nothing to estimate from")
        return values / totals, totals if values.ndim > 1 else totals[0]

    def _fitting_codes(self, codes: Codes) -> Codes:
        true = np.asarray(codes)
        refuse_foreign_codes(true, self.size, "the codes to randomize")
        return true

    def _whole_counts(self, counts: npt.ArrayLike) -> Counts:
        values = np.asarray(counts)
        self._refuse_misfit(values, "counts")
        kind = values.dtype.kind
        if kind not in "iuf" or (kind == "f" and np.any(values != np.floor(values))):
            raise ChannelError("counts to randomize must be whole numbers")
        if values.size and values.min() < 0:
            raise ChannelError(f"counts must not be negative; there is {values.min()}")
        if kind != "i" and values.size and values.max() >= 2.0**63:
            raise ChannelError(f"counts must be below 2**63; there is {values.max()}")
        return values.astype(np.int64, copy=False)

    def _fitting(self, values: npt.ArrayLike, what: str) -> Floats:
        """Return values as floats; refuse those that are not one a category on the last axis."""
        found = np.asarray(values, dtype=float)
        self._refuse_misfit(found, what)
        return found

    def _fitting_reports(self, values: npt.ArrayLike, what: str) -> Floats:
        """Return values as floats; refuse those that are not one a report on the last axis."""
        found = np.asarray(values, dtype=float)
        if found.ndim == 0 or found.shape[-1] != self.reports:
            if self.reports == self.size:
                self._refuse_misfit(found, what)
            raise ChannelError(
                f"{what} of shape {found.shape} do not fit a channel with {self.reports} reports; "
                "the last axis must have one entry a report"
            )
        return found

    def _refuse_misfit(self, values: np.ndarray, what: str) -> None:
        if values.ndim == 0 or values.shape[-1] != self.size:
            raise ChannelError(
                f"{what} of shape {values.shape} do not fit a channel over {self.size} categories; "
                "the last axis must have one entry a category"
            )

    def _report_type(self, codes: Codes) -> np.dtype:
        """Return the type of reports of such codes: theirs, if it holds every report."""
        last = self.reports - 1
        if self.square or last <= np.iinfo(codes.dtype).max:
            return codes.dtype
        # Of the same sign, as no integer holds all of both int64 and uint64.
        return np.min_scalar_type(last if codes.dtype.kind == "u" else -last - 1)


def distribution(values: npt.ArrayLike, what: str = "the proportions") -> Floats:
    """Return `values` as floats; refuse them, as `what` they are, if not one distribution.

    A distribution has the shape (size,), no entry below 0, and the sum 1 within 1e-9.
    """
    pi = np.asarray(values, dtype=float)
    adds_up = abs(pi.sum() - 1) <= ROW_SUM_TOLERANCE  # not so if one is NaN
    if pi.ndim != 1 or np.any(pi < 0) or not adds_up:
        raise ChannelError(f"{what} must be one distribution: not negative, sum 1")
    return pi


def refuse_no_records(records: int) -> None:
    """Raise `ChannelError` unless there is at least one of so many `records`."""
    if records < 1:
        raise ChannelError(f"records must be at least 1, not {records}")


def refuse_other_than_whole(name: str, value: Any, least: int, most: int = 2**53) -> None:
    """Raise `ChannelError` unless the `value` of `name` is a whole one in `least` .. `most` - 1."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or not least <= value < most:
        raise ChannelError(
            f"{name} is {shown(value)}; give a whole number, at least {least} and below {most:,}"
        )
