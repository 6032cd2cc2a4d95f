"""Base class of channels: privacy, posterior probabilities, estimates and standard errors."""

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Literal, TypeVar, get_args

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats, Positions
from deniable.channels.exact import log_rounded_up, rounded_up
from deniable.channels.maps import MAX_DENSE, LinearMaps, distribution, refuse_no_records
from deniable.errors import ChannelError, refuse_unknown

MAX_NOISE_POINTS = 256
"""Grid points of noise that is stored entry by entry, and cells of an invariant matrix."""
MAX_POINTS_OR_MISSING = 512
"""Grid points of a square wave with missing values, which is a dense matrix."""
MAX_RESPONSES = 1 << 15
"""Randomized values of one channel; more are slow, and reduce the variance very little."""
MAX_MATRIX_ENTRIES = 4096**2  # entries of a matrix whose randomized values have names of their own
MAX_LINEAR_DESIGN = 40  # cells of an optimized matrix of least changes or costs
MAX_SEARCHED_DESIGN = 24  # cells of an optimized matrix of least variance
MAX_DESIGNED_CELLS = 6
"""Cells of a matrix that is optimized by default; each matrix takes a third of a second."""


Target = Literal["file", "population"]
"""The quantity that is estimated.

``file``: the original proportions among these records; only the randomization is random.
``population``: the proportions in the population of the records; sampling is random too.
"""

Inverse = Literal["least", "own"]
"""The left inverse D, with P D = I, of an estimate; a square channel has only one.

``own``: the inverse that the kind of channel states. It is fixed in advance and always unbiased.
``least``: the inverse of least variance at the estimated distribution, D = L^-1 P' (P L^-1 P')^-1
with L the diagonal matrix of P' pi. For known proportions it attains the bound of Cramer and Rao.
For estimated proportions it nearly does, with a bias of a smaller order than the standard error.

In 20,000 tables through four matrices from 3 by 5 to 5 by 10, the estimate +- 1.96 standard errors
covers .936 to .953 with 200 records or more, by both inverses. With 50 records it covers .905 to
.943 by "least" and .914 to .953 by "own", and .875 and .886 for a proportion of .02. The bias is at
most .04 standard errors. With fewer than about 200 records use
`deniable.estimation.confidence_intervals`, or "own".
"""

TARGETS, INVERSES = get_args(Target), get_args(Inverse)
NEARLY_NONE = 1e-9  # replaces a proportion of 0, so that every randomized value has a weight
Answer = Callable[["Channel", Floats, Floats], Floats]  # of a table's frequencies and records
OfEpsilon = TypeVar("OfEpsilon", bound="Channel")
CLOSER = 2.0**-50  # first relative step by which a target is lowered if rounding exceeds it
MAX_TUNED = 2**18  # entries of a matrix, for the left inverse of least variance


class Channel(LinearMaps):
    """A channel (randomizer) with its privacy, posteriors, estimates and their errors.

    A kind of channel supplies draws, five linear maps (`reported`, `expected`, `solve`,
    `solve_transposed`, `moments`), its matrix, exact columns and exact parity. This class
    computes everything else from them. Kinds with a closed form override the method.
    """

    def of_least_variance(self, proportions: npt.ArrayLike) -> "Channel":
        """Return this channel with the left inverse of least variance at true `proportions`.

        They are positive, of shape (size,). Square and singular channels, and channels of more than
        2 ** 18 entries, are returned unchanged. A product has one per attribute, at its marginal.
        """
        return self

    def _fitted(self, frequencies: Floats, records: Floats, inverse: Inverse) -> "Channel":
        """Return the channel for one table, for "least" at its estimate from one record more."""
        refuse_unknown("inverse", inverse, INVERSES)
        if inverse == "own" or self.square:
            return self
        first = np.maximum(self.solve_transposed(frequencies), 0.0)
        evened = first * float(records) + first.sum() / self.size
        return self.of_least_variance(evened / evened.sum())

    def fitted_to(self, reported_counts: npt.ArrayLike, inverse: Inverse = "least") -> "Channel":
        """Return this channel with the `inverse` for one table as its own inverse.

        The `reported_counts`, shape (reports,), and the `inverse` are as in `estimate`.
        """
        self.refuse_singular()
        frequencies, records = self.frequencies(reported_counts)
        _refuse_batch(frequencies, "fitted_to")
        return self._fitted(frequencies, records, inverse)

    @property
    def simple_factors(self) -> tuple["Channel", ...]:
        """The factors of a product, without nested products; otherwise the channel itself."""
        return (self,)

    @property
    def possible_cells(self) -> Positions | None:
        """The cells that a record can have, increasing; None if it can have all."""
        return None

    @property
    def weight_and_replacement(self) -> tuple[float, Floats] | None:
        """The a and b of P = a I + 1 b' (see `KeepOrReplace`); None for other kinds."""
        return None

    @property
    def parity(self) -> float:
        """Largest ratio within a column, rounded up: the parity of [pram], (3.6), in [1, inf].

        0/0 counts as 1 (an impossible value), a/0 as infinite.
        """
        return rounded_up(self.exact_parity)

    @property
    def epsilon(self) -> float:
        """Exact epsilon of one randomized value, ln(parity), rounded up ([multirr], (4)).

        The probabilities of any randomized value under any two true categories differ by at most a
        factor exp(epsilon), and some differ by exactly this factor. It is computed in rational
        numbers from the probabilities of the draws.
        """
        return log_rounded_up(self.exact_parity)

    def parity_of_attribute(self, shape: tuple[int, ...], position: int) -> Fraction | None:
        """Return the exact parity among cells that differ in one attribute; None if infinite.

        Categories are cells of attributes with `shape` categories, which differ at `position`.
        """
        return self.exact_parity

    def posterior(self, prior: npt.ArrayLike) -> Floats:
        """Return Q[v, u] = Pr(true u | randomized value v) under a `prior` ([pram], (3.1)).

        The prior is a distribution over the categories, shape (size,). Q has the shape (reports,
        size). Rows of values that cannot occur under the prior are NaN.
        """
        weights = distribution(self._fitting(prior, "the prior"), "the prior")
        joint = (self.matrix() * weights[:, None]).T
        total = joint.sum(axis=1, keepdims=True)
        return np.asarray(np.divide(joint, total, out=np.full_like(joint, np.nan), where=total > 0))

    def estimate(self, reported_counts: npt.ArrayLike, inverse: Inverse = "least") -> Floats:
        """Return the unbiased estimate of the true proportions ([multirr], (2)).

        With the inverse of least variance it is nearly unbiased; see `Inverse`. It sums to 1,
        except with the own inverses of some protocols, which state this. It may leave [0, 1]:
        `deniable.estimation.simplex` has projections. The `reported_counts` are non-negative, of
        shape (..., reports). The `inverse` is "least" or "own". The shape is (..., size).

        Raises
        ------
        SingularChannelError
            If the channel cannot be inverted.
        ChannelError
            If the counts do not match the channel, are negative, not finite, or all zero.
        """
        self.refuse_singular()
        tables = self.frequencies(reported_counts)
        return self._table_by_table(
            tables, inverse, self.size, lambda channel, shares, _: channel.solve_transposed(shares)
        )

    def _table_by_table(
        self, tables: tuple[Floats, Floats], inverse: Inverse, width: int, answer: Answer
    ) -> Floats:
        """Return the `width` numbers of `answer` for each table, with its `_fitted` channel."""
        frequencies, records = tables
        if self.square or frequencies.ndim == 1:
            return answer(self._fitted(frequencies, records, inverse), frequencies, records)
        totals = records[..., 0]
        each = ((frequencies[at], totals[at]) for at in np.ndindex(totals.shape))
        answers = [answer(self._fitted(f, n, inverse), f, n) for f, n in each]
        return np.array(answers).reshape(*frequencies.shape[:-1], width)

    def covariance(
        self,
        proportions: npt.ArrayLike,
        records: int,
        target: Target = "population",
        inverse: Inverse = "least",
    ) -> Floats:
        """Return the true covariance matrix of the estimate, for known true `proportions`.

        D is the left inverse (`inverse`: "least" or "own"), lambda = P' pi and n the number of
        `records`, >= 1. For "least" it is the inverse at these proportions, with about 1e-9 for a
        proportion of 0, so that every value has a weight. For the `target` "population" the result
        is D' (diag(lambda) - lambda lambda') D / n ([pram], (1.3)). For "file" it is D'
        diag(lambda) D / n - diag(pi) / n, the part that randomization adds.
        """
        self.refuse_singular()
        refuse_unknown("target", target, TARGETS)
        refuse_unknown("inverse", inverse, INVERSES)
        refuse_no_records(records)
        truth = distribution(self._fitting(proportions, "the proportions"))
        # All become positive: a 0 becomes about 1e-9.
        evened = truth if truth.all() else (truth + NEARLY_NONE) / (truth + NEARLY_NONE).sum()
        channel = self if inverse == "own" else self.of_least_variance(evened)
        spread = _spread(channel, self.reported(truth), self.functional_weights())
        own = np.outer(truth, truth) if target == "population" else np.diag(truth)
        return (spread - own) / records

    def estimated_covariance(
        self,
        reported_counts: npt.ArrayLike,
        target: Target = "population",
        functionals: npt.ArrayLike | None = None,
        inverse: Inverse = "least",
    ) -> Floats:
        """Return the estimated covariance of the estimate, unbiased for a fixed inverse.

        The `reported_counts` have the shape (reports,), with at least 2 records for the `target`
        "population". The `inverse` is "least" or "own". With weights w, shape (functionals, size),
        of linear `functionals` w . pi, the result is the covariance of their estimates, and no
        matrix of the channel's size is formed.
        """
        self.refuse_singular()
        frequencies, records = self._sample(reported_counts, target)
        _refuse_batch(frequencies, "estimated_covariance")
        weights = self.functional_weights(functionals)
        channel = self._fitted(frequencies, records, inverse)
        spread = _spread(channel, frequencies, weights)
        estimate = channel.solve_transposed(frequencies)
        if target == "file":
            return (spread - (weights * estimate) @ weights.T) / float(records)
        values = weights @ estimate
        return (spread - np.outer(values, values)) / (float(records) - 1)

    def standard_errors(
        self,
        reported_counts: npt.ArrayLike,
        target: Target = "population",
        functionals: npt.ArrayLike | None = None,
        inverse: Inverse = "least",
    ) -> Floats:
        """Return the standard error of each estimated proportion.

        These are the square roots of the diagonal of `estimated_covariance`, which is not formed. A
        variance that is estimated below zero, by more than rounding, gives NaN. The
        `reported_counts` have the shape (..., reports), and the result has the shape (..., size).
        The `target`, `functionals` and `inverse` are as in `estimated_covariance`.
        """
        self.refuse_singular()
        tables = self._sample(reported_counts, target)
        weights = None if functionals is None else self.functional_weights(functionals)
        width = self.size if weights is None else len(weights)
        errors = partial(_errors_of, target=target, weights=weights)
        return self._table_by_table(tables, inverse, width, errors)

    def functional_weights(self, functionals: npt.ArrayLike | None = None) -> Floats:
        """Return the weights of linear `functionals`, one row each, after a check of their shape.

        They have the shape (functionals, size), or (size,) for one. The default is the identity
        matrix. Raises `ChannelError` for other weights.
        """
        if functionals is None:
            if self.size > MAX_DENSE:
                raise ChannelError(
                    f"a covariance matrix of {self.size:,} categories is not formed (limit "
                    f"{MAX_DENSE:,}); use standard errors, or give functionals"
                )
            return np.eye(self.size)
        weights = np.atleast_2d(np.asarray(functionals, dtype=float))
        fits = weights.ndim == 2 and weights.shape[-1] == self.size
        if not fits or not np.all(np.isfinite(weights)):
            raise ChannelError(
                f"functionals of shape {np.shape(functionals)} do not fit a channel over "
                f"{self.size} categories; give one finite weight per category in each row"
            )
        return weights

    def _sample(self, counts: npt.ArrayLike, target: Target) -> tuple[Floats, Floats]:
        refuse_unknown("target", target, TARGETS)
        frequencies, records = self.frequencies(counts)
        if target == "population" and np.any(records < 2):
            raise ChannelError(
                "the variance in the population cannot be estimated from one record; "
                "give at least 2, or the target 'file'"
            )
        return frequencies, records


def _refuse_batch(frequencies: Floats, method: str) -> None:
    if frequencies.ndim != 1:
        raise ChannelError(f"{method} takes one table of counts, not a batch; give one at a time")


def _errors_of(
    channel: Channel, frequencies: Floats, records: Floats, target: Target, weights: Floats | None
) -> Floats:
    """Return standard errors with the channel's own inverse; see `standard_errors`."""
    estimate = channel.solve_transposed(frequencies)
    if weights is None:
        values, squares = estimate, estimate
        moments = channel.moments(frequencies, 2)
    else:
        values, squares = estimate @ weights.T, estimate @ (weights**2).T
        moments = frequencies @ (channel.solve(weights) ** 2).T
    if target == "file":
        variance = (moments - squares) / records
    else:
        variance = (moments - values**2) / (records - 1)
    return roots_of_variances(variance, 1e-12 * np.abs(moments) / records)


def _spread(channel: Channel, frequencies: Floats, weights: Floats) -> Floats:
    solved = channel.solve(weights)
    return np.asarray((solved * frequencies) @ solved.T)


def roots_of_variances(variance: Floats, rounding: Floats | float) -> Floats:
    """Return standard errors; NaN for a `variance` below zero by more than `rounding`.

    Both have one shape, or `rounding` is one number >= 0 for all.
    """
    return np.sqrt(np.where(variance < -rounding, np.nan, np.maximum(variance, 0.0)))


def channel_within(epsilon: float, of_target: Callable[[float], OfEpsilon]) -> OfEpsilon:
    """Return the channel of the largest tried target with an exact epsilon of at most `epsilon`.

    `of_target` returns the channel of a target. It is called with `epsilon`, in (0, 30], and then
    with slightly smaller targets, until the exact epsilon is not above `epsilon`.
    """
    target, step = epsilon, CLOSER
    while (channel := of_target(target)).epsilon > epsilon:
        target, step = target * (1 - step), 2 * step
    return channel
