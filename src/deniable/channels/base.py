"""What every channel can do, from a handful of linear maps that each kind supplies."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from deniable.arrays import Codes, Counts, Flags, Floats
from deniable.channels.exact import ROW_SUM_TOLERANCE, log_rounded_up, rounded_up
from deniable.errors import ChannelError, SingularChannelError
from deniable.sampling import Chance, KeyedColumn, KeyedDraws, Numbers, RandomSource

Target = Literal["file", "population"]
"""What an estimate is an estimate of.

``file``: the true proportions among these very records; only the randomization is random.
``population``: the proportions that the records were drawn from; sampling is random too.
"""

LARGEST_DENSE = 4096


class Channel(ABC):
    """A row-stochastic matrix, P[u, v] = Pr(report v | true u).

    Vectors may have leading batch axes: the last axis is that of the categories.

    A kind of channel supplies draws, five linear maps (`reported`, `expected`, `solve`,
    `solve_transposed`, `second_moments`), its matrix, exact columns and exact parity; all else
    follows, unless a kind has a closed form and says so by a method of the same name.
    """

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of categories."""

    @property
    @abstractmethod
    def singular(self) -> bool:
        """Whether nothing, or too little to be told from rounding, can be estimated through it."""

    @abstractmethod
    def randomize(self, codes: Codes, source: RandomSource) -> Codes:
        """Report each record's category through the channel.

        Codes are integers in 0 .. size - 1, and the reports of the same type and shape. The source
        is a `numpy.random.Generator` or a `SystemSource`.
        """

    @abstractmethod
    def randomize_keyed(self, codes: Codes, column: KeyedColumn) -> Codes:
        """Report each record's category as its key and its number have it, whatever runs this.

        Exactly with the probabilities of the matrix, as `randomize`. Releases are drawn so.

        Parameters
        ----------
        codes : one true category a record of the column, shape (records,)
        column : what the reports of these records are drawn from
        """

    def report(
        self,
        codes: Codes,
        chance: Chance,
        names: Sequence[str],
        records: Numbers | None = None,
    ) -> Codes:
        """Report each record's category, by a key or from a source.

        Names are the attributes'; records, by default the first, are numbers in the whole file.
        """
        if not isinstance(chance, KeyedDraws):
            return self.randomize(codes, chance)
        numbers = len(codes) if records is None else records
        return self.randomize_keyed(codes, chance.column(names, numbers))

    @abstractmethod
    def randomize_counts(self, counts: npt.ArrayLike, generator: np.random.Generator) -> Counts:
        """Draw the counts of reports from true counts, as if every record had been randomized.

        Counts are non-negative integers of shape (..., size), each table of a batch is drawn on
        its own, and the reports are int64 of the same shape and totals.
        """

    @abstractmethod
    def reported(self, proportions: npt.ArrayLike) -> Floats:
        """Return P' x, the distribution of reports when x is that of the true categories."""

    @abstractmethod
    def expected(self, values: npt.ArrayLike) -> Floats:
        """Return P x, the expectation of x(report) for each true category."""

    # The maps that follow need an inverse, and arrays of floats that fit; they check neither.

    @abstractmethod
    def solve_transposed(self, reported: Floats) -> Floats:
        """Return the x with P' x = reported."""

    @abstractmethod
    def solve(self, weights: Floats) -> Floats:
        """Return the g with P g = weights: g(report) is unbiased for weights(true category)."""

    @abstractmethod
    def second_moments(self, reported: Floats) -> Floats:
        """Return for each category u the sum over v of reported[v] * inverse(P)[v, u] ** 2."""

    def third_moments(self, reported: Floats) -> Floats:
        """Return for each category u the sum over v of reported[v] * inverse(P)[v, u] ** 3."""
        return np.asarray(reported @ (self.solve(np.eye(self.size)) ** 3).T)

    def own_moments(self, power: int) -> Floats:
        """Return for each category u the sum over v of P[u, v] * inverse(P)[v, u] ** power."""
        scores = self.solve(np.eye(self.size))
        return np.asarray((self.matrix() * scores**power).sum(axis=1))

    @property
    @abstractmethod
    def exact_parity(self) -> Fraction | None:
        """The parity as a fraction, None if infinite."""

    @abstractmethod
    def exact_column(self, report: int) -> list[Fraction]:
        """Return Pr(report | true category) for each true category, as it is drawn."""

    @abstractmethod
    def _fill_matrix(self) -> Floats:
        """Return the matrix, whatever its size."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of categories of each attribute, (size,) unless they are randomized apart."""
        return (self.size,)

    @property
    def simple_factors(self) -> tuple["Channel", ...]:
        """The channels whose product this is, none of them a product; itself, if it is none."""
        return (self,)

    @property
    def weight_and_replacement(self) -> tuple[float, Floats] | None:
        """The a and b of P = a I + 1 b' (see `KeepOrReplace`); None if kept in another form."""
        return None

    def without_unreported(self) -> tuple["Channel", Flags]:
        """Return the channel of the categories that can be reported, and which these are.

        For matrices that report a category iff some record has it, as invariant ones do.
        """
        return self, np.ones(self.size, dtype=bool)

    @property
    def parity(self) -> float:
        """Largest ratio within a column, rounded up: the parity of [pram], (3.6), in [1, inf].

        0/0 counts as 1 (a report that nobody can give), a/0 as infinite.
        """
        return rounded_up(self.exact_parity)

    @property
    def epsilon(self) -> float:
        """Exact epsilon of one report, ln(parity), rounded up ([multirr], (4)).

        For any two true categories and any report the probabilities differ by at most a factor
        exp(epsilon), and for some by that factor. Computed in rational numbers from the
        probabilities that are drawn, never to nearest: the claim is not below the truth.
        """
        return log_rounded_up(self.exact_parity)

    def parity_of_attribute(self, shape: tuple[int, ...], position: int) -> Fraction | None:
        """Return the exact parity among cells that differ in one attribute; None if infinite.

        The channel's categories are the cells of attributes with `shape` categories; the one at
        `position` changes.
        """
        return self.exact_parity

    def posterior(self, prior: npt.ArrayLike) -> Floats:
        """Return Q[v, u] = Pr(true u | report v) under a prior ([pram], (3.1)).

        Rows of reports that cannot occur under the prior are NaN.
        """
        weights = distribution(self._fitting(prior, "the prior"), "the prior")
        joint = (self.matrix() * weights[:, None]).T
        total = joint.sum(axis=1, keepdims=True)
        unknown = np.full_like(joint, np.nan)
        return np.asarray(np.divide(joint, total, out=unknown, where=total > 0))

    def matrix(self) -> Floats:
        """Return P as a dense array; refuse more than 4,096 rows by a `ChannelError`."""
        if self.size > LARGEST_DENSE:
            raise ChannelError(
                f"a dense matrix of {self.size:,} categories is not formed (limit "
                f"{LARGEST_DENSE:,}); use the channel's own methods, or its factors"
            )
        return self._fill_matrix()

    def estimate(self, reported_counts: npt.ArrayLike) -> Floats:
        """Return the unbiased estimate of the true proportions ([multirr], (2)).

        It sums to 1 but may leave [0, 1]: projections onto the simplex have their own names, in
        `deniable.estimation.simplex`. The counts are non-negative numbers of shape (..., size).

        Raises
        ------
        SingularChannelError
            If the channel cannot be inverted.
        ChannelError
            If the counts do not fit the channel, are negative, not finite, or all zero.
        """
        self.refuse_singular()
        return self.solve_transposed(self.frequencies(reported_counts)[0])

    def covariance(
        self, proportions: npt.ArrayLike, records: int, target: Target = "population"
    ) -> Floats:
        """Return the true covariance matrix of the estimate, for known true proportions.

        Parameters
        ----------
        proportions : shape (size,), non-negative, sum 1
        records : >= 1
        target : "population" or "file"
            ``population``: P'^-1 (diag(lambda) - lambda lambda') P^-1 / n ([pram], (1.3)).
            ``file``: P'^-1 diag(lambda) P^-1 / n - diag(pi) / n, the part that randomization adds.
        """
        self.refuse_singular()
        _refuse_unknown(target)
        refuse_no_records(records)
        truth = distribution(self._fitting(proportions, "the proportions"))
        spread = self._spread(self.reported(truth), self.functional_weights())
        own = np.outer(truth, truth) if target == "population" else np.diag(truth)
        return (spread - own) / records

    def estimated_covariance(
        self,
        reported_counts: npt.ArrayLike,
        target: Target = "population",
        functionals: npt.ArrayLike | None = None,
    ) -> Floats:
        """Return the unbiased estimate of the covariance of the estimate.

        Parameters
        ----------
        reported_counts : shape (size,), of at least 2 records for the target "population"
        functionals : shape (functionals, size), optional
            Weights w of linear functionals w . pi: their covariance is returned instead, without
            any matrix of the channel's size.
        """
        self.refuse_singular()
        frequencies, records = self._sample(reported_counts, target)
        if frequencies.ndim != 1:
            raise ChannelError("estimated_covariance takes one table of counts, not a batch")
        weights = self.functional_weights(functionals)
        spread = self._spread(frequencies, weights)
        estimate = self.solve_transposed(frequencies)
        if target == "file":
            return (spread - (weights * estimate) @ weights.T) / float(records)
        values = weights @ estimate
        return (spread - np.outer(values, values)) / (float(records) - 1)

    def standard_errors(
        self,
        reported_counts: npt.ArrayLike,
        target: Target = "population",
        functionals: npt.ArrayLike | None = None,
    ) -> Floats:
        """Return the standard error of each estimated proportion.

        The square roots of the diagonal of `estimated_covariance`, without forming it. A variance
        estimated below zero, by more than rounding, gives NaN: there is then no interval.

        Parameters
        ----------
        reported_counts : shape (..., size), of at least 2 records for the target "population"
        functionals : shape (functionals, size), optional
            Weights w of linear functionals w . pi, whose standard errors are returned instead.
        """
        self.refuse_singular()
        frequencies, records = self._sample(reported_counts, target)
        estimate = self.solve_transposed(frequencies)
        if functionals is None:
            values, squares = estimate, estimate
            moments = self.second_moments(frequencies)
        else:
            weights = self.functional_weights(functionals)
            values, squares = estimate @ weights.T, estimate @ (weights**2).T
            moments = frequencies @ (self.solve(weights) ** 2).T
        if target == "file":
            variance = (moments - squares) / records
        else:
            variance = (moments - values**2) / (records - 1)
        return roots_of_variances(variance, 1e-12 * np.abs(moments) / records)

    def _spread(self, frequencies: Floats, weights: Floats) -> Floats:
        solved = self.solve(weights)
        return np.asarray((solved * frequencies) @ solved.T)

    def functional_weights(self, functionals: npt.ArrayLike | None = None) -> Floats:
        """Return the weights of linear functionals, a row each, once they fit the channel.

        By default those of the proportions themselves, the rows of the identity matrix.
        """
        if functionals is None:
            if self.size > LARGEST_DENSE:
                raise ChannelError(
                    f"a covariance matrix of {self.size:,} categories is not formed (limit "
                    f"{LARGEST_DENSE:,}); ask for standard errors, or for functionals"
                )
            return np.eye(self.size)
        weights = np.atleast_2d(np.asarray(functionals, dtype=float))
        fits = weights.ndim == 2 and weights.shape[-1] == self.size
        if not fits or not np.all(np.isfinite(weights)):
            raise ChannelError(
                f"functionals of shape {np.shape(functionals)} do not fit a channel over "
                f"{self.size} categories; give finite weights, one a category, in each row"
            )
        return weights

    def _sample(self, counts: npt.ArrayLike, target: Target) -> tuple[Floats, Floats]:
        _refuse_unknown(target)
        frequencies, records = self.frequencies(counts)
        if target == "population" and np.any(records < 2):
            raise ChannelError(
                "one record says nothing of how records of the population differ; "
                "give at least 2, or the target 'file'"
            )
        return frequencies, records

    def refuse_singular(self) -> None:
        """Raise `SingularChannelError` if nothing can be estimated through the channel."""
        if self.singular:
            raise SingularChannelError(
                f"the channel over {self.size} categories is singular: it reports (nearly) the "
                "same whatever is true, so nothing can be estimated; change its probabilities"
            )

    def frequencies(self, counts: npt.ArrayLike) -> tuple[Floats, Floats]:
        """Return counts as shares of their sums, and the sums; refuse what are no counts."""
        values = self._fitting(counts, "counts")
        if not np.all(np.isfinite(values)) or np.any(values < 0):
            raise ChannelError("counts must be finite and not negative")
        totals = values.sum(axis=-1, keepdims=True)
        if np.any(totals == 0):
            raise ChannelError("counts are all zero: there is nothing to estimate from")
        return values / totals, totals if values.ndim > 1 else totals[0]

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

    def _refuse_misfit(self, values: np.ndarray, what: str) -> None:
        if values.ndim == 0 or values.shape[-1] != self.size:
            raise ChannelError(
                f"{what} of shape {values.shape} do not fit a channel over {self.size} categories; "
                "the last axis must have one entry a category"
            )


def _refuse_unknown(target: str) -> None:
    if target not in get_args(Target):
        raise ChannelError(f"unknown target {target!r}; use {' or '.join(get_args(Target))}")


def distribution(values: npt.ArrayLike, what: str = "the proportions") -> Floats:
    """Return proportions as floats; refuse what is not one distribution."""
    pi = np.asarray(values, dtype=float)
    adds_up = abs(pi.sum() - 1) <= ROW_SUM_TOLERANCE  # not so if one is NaN
    if pi.ndim != 1 or np.any(pi < 0) or not adds_up:
        raise ChannelError(f"{what} must be one distribution: not negative, sum 1")
    return pi


def refuse_no_records(records: int) -> None:
    """Raise `ChannelError` unless there is at least one record."""
    if records < 1:
        raise ChannelError(f"records must be at least 1, not {records}")


def roots_of_variances(variance: Floats, rounding: Floats | float) -> Floats:
    """Return standard errors: NaN for a variance that is below zero by more than rounding."""
    return np.sqrt(np.where(variance < -rounding, np.nan, np.maximum(variance, 0.0)))
