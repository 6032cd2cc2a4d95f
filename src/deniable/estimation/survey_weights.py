"""Survey-weighted estimates from randomized values, with variances ([pram], (2.7)).

[pram] has the weighted estimate; for variances see [indirect_questioning], [rrtcs]. Record i has a
weight w_i and a randomized value z_i. Its *score* g_i is row z_i of P^-1 (or of a left inverse). It
is unbiased for the indicator of the original category under any design. With a known total N the
estimate is sum w_i g_i / N (Horvitz and Thompson); otherwise the sum of the weights replaces N
(Hajek's ratio).

**Population.** Units are drawn with replacement. Each primary sampling unit c of a stratum h has a
total y_c = sum of w_i (g_i - estimate) / N over its records, and

    V = sum over h of m_h / (m_h - 1) * sum over c in h of (y_c - mean_h) (y_c - mean_h)'

(Hansen and Hurwitz, 1943). For a known N, "- estimate" is omitted and V is exactly unbiased. For
the ratio it is the linearization. Randomization is independent between records, so the variance of
the totals includes it. If units are drawn without replacement, V is too large by about the
proportion of units drawn.

**File.** Weights and original categories are fixed; only randomized values are random. Given the
category t, g_i has the mean e_t, and E(g_i g_i') - e_t e_t' is estimated without bias by g_i g_i' -
diag(g_i), since e_t e_t' = diag(e_t) = E diag(g_i). Hence V = sum w_i^2 (g_i g_i' - diag(g_i)) /
N^2.

Except for clusters, only sums of w and of w^2 by stratum and randomized value are needed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import get_args

import numpy as np
import numpy.typing as npt
import scipy
from scipy import sparse

from deniable.arrays import Codes, Floats
from deniable.channels import Channel, Inverse, Target, roots_of_variances
from deniable.errors import ChannelError, DataError, DeniableError, named_types, refuse_unknown
from deniable.estimation.intervals import Intervals, refuse_bad_confidence
from deniable.records import refuse_foreign_codes

Sums = Callable[[Floats], Floats]


@dataclass(frozen=True, eq=False)
class WeightedCounts:
    """Sums over the records of a sample, by design stratum and randomized value.

    `weights` and `squares` are sums of the weights and of their squares, shape (..., strata,
    reports); `records` are numbers of records, shape (..., strata). Leading axes are separate
    samples. `largest` is an upper bound on all weights.

    Examples
    --------
    >>> counts = WeightedCounts.of_records(np.array([0, 1, 1]), [2.0, 1.0, 3.0], size=2)
    >>> counts.weights, counts.squares, counts.records
    (array([[2., 4.]]), array([[ 4., 10.]]), array([3]))
    """

    weights: Floats
    squares: Floats
    records: npt.NDArray[np.int64]
    largest: float = np.inf

    def __post_init__(self) -> None:
        if self.weights.shape != self.squares.shape or self.weights.ndim < 2:
            raise DataError(
                f"sums of weights of shape {self.weights.shape} and of squares of shape "
                f"{self.squares.shape}; give both as (..., strata, reports)"
            )
        if self.records.shape != self.weights.shape[:-1]:
            raise DataError(
                f"numbers of records of shape {self.records.shape} for sums of shape "
                f"{self.weights.shape}; give one per stratum"
            )

    @classmethod
    def of_records(
        cls, codes: Codes, weights: npt.ArrayLike, size: int, strata: npt.ArrayLike | None = None
    ) -> "WeightedCounts":
        """Return the sums over records, computed in one pass.

        The `codes`, shape (records,), are randomized values in 0 .. `size` - 1; `size` is a
        channel's `reports`. The `weights` are finite and not negative. `strata` are any labels, by
        default one stratum. Raises `DataError` for other codes, weights and shapes.
        """
        reported, chosen = np.asarray(codes), np.asarray(weights, dtype=float)
        if reported.ndim != 1 or chosen.shape != reported.shape:
            raise DataError(
                f"codes of shape {reported.shape} and weights of shape {chosen.shape}; give one "
                "weight per record"
            )
        refuse_foreign_codes(reported, size, "the randomized values")
        if (bad := np.flatnonzero(~(np.isfinite(chosen) & (chosen >= 0)))).size:
            raise DataError(
                f"record {bad[0] + 1} has the weight {chosen[bad[0]]}; weights must be finite and "
                "not negative"
            )
        reported = reported.astype(np.int64)
        number, stratum = _numbered(strata, reported.size, "strata")
        cells = stratum * size + reported
        shape = (number, size)
        sums, squares = (
            np.bincount(cells, each, number * size).reshape(shape).astype(float)
            for each in (chosen, chosen**2)
        )
        return cls(sums, squares, np.bincount(stratum, minlength=number).astype(np.int64))

    @property
    def effective(self) -> Floats:
        """Unweighted counts of randomized values with the same precision (Kish, 1965).

        They are sums over strata, have the shape (..., reports), and are proportional to weights.
        """
        sums, squares = self.weights.sum(axis=-2), self.squares.sum(axis=(-2, -1), keepdims=True)
        return np.asarray(sums * (sums.sum(axis=-1, keepdims=True) / squares[..., 0]))


def _refuse_misfit(channel: Channel, counts: WeightedCounts, inverse: str) -> None:
    channel.refuse_singular()
    refuse_unknown("inverse", inverse, get_args(Inverse))
    if counts.weights.shape[-1] != channel.reports:
        raise ChannelError(
            f"weights over {counts.weights.shape[-1]} randomized values do not fit a channel with "
            f"{channel.reports}; give sums for all randomized values of the channel"
        )


@named_types
def weighted_intervals(
    counts: WeightedCounts,
    channel: Channel,
    *,
    confidence: float = 0.95,
    target: Target = "population",
    total: float | None = None,
    functionals: npt.ArrayLike | None = None,
    inverse: Inverse = "least",
) -> Intervals:
    """Return weighted estimates with intervals, for samples of records drawn one by one.

    It forms no covariance matrix. For clusters and covariances see `survey_estimate`.

    Parameters
    ----------
    counts : WeightedCounts
        For "population" with at least 2 records per stratum.
    channel : Channel
    confidence : float, in (0, 1)
        By Student's t with records less strata degrees of freedom; normal for "file".
    target : "population" or "file"
        ``file`` is the weighted proportion of the categories among these records.
    total : float, optional
        Known size of the population (Horvitz and Thompson: unbiased, but the sum may differ from
        1). By default the sum of the weights (Hajek: sums to 1).
    functionals : shape (functionals, size), optional
        Weights of linear functionals of the proportions, estimated instead of them.
    inverse : "least" or "own"
        For a channel with more randomized values than categories: its own inverse, or for each
        sample the inverse of least variance at the weighted estimate, as if weights and categories
        were unrelated.
    """
    refuse_bad_confidence(confidence)
    _refuse_misfit(channel, counts, inverse)
    asked = None if functionals is None else channel.functional_weights(functionals)
    how = (asked, confidence, target, total)
    if channel.square or inverse == "own":
        return Intervals(*_by_own_inverse(channel, counts, *how))
    _denominator(counts.weights.sum(axis=-2), total)  # raises an error for samples without weight
    samples = (
        WeightedCounts(counts.weights[at], counts.squares[at], counts.records[at])
        for at in np.ndindex(counts.records.shape[:-1])
    )
    each = [_by_own_inverse(channel.fitted_to(one.effective), one, *how) for one in samples]
    width = channel.size if asked is None else len(asked)
    return Intervals(*np.moveaxis(np.reshape(each, (*counts.records.shape[:-1], 4, width)), -2, 0))


def _by_own_inverse(
    channel: Channel,
    counts: WeightedCounts,
    asked: Floats | None,
    confidence: float,
    target: Target,
    total: float | None,
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return estimates, limits and standard errors with the channel's own inverse."""
    denominator = _denominator(counts.weights.sum(axis=-2), total)
    shares = counts.weights.sum(axis=-2) / denominator
    first, second, own = _sums_of_scores(channel, asked)
    estimate = first(shares)
    if target == "file":
        squares = counts.squares.sum(axis=-2)
        spread = second(squares)
        variance = spread - own(squares)
        freedom = np.full((*counts.records.shape[:-1], 1), np.inf)
    else:
        factor = _design_factor(counts.records)[..., None]
        centre = estimate[..., None, :] if total is None else np.zeros_like(estimate)[..., None, :]
        sums = first(counts.weights) - centre * counts.weights.sum(axis=-1, keepdims=True)
        spread = second(counts.squares)
        squares = spread - 2 * centre * first(counts.squares)
        squares = squares + centre**2 * counts.squares.sum(axis=-1, keepdims=True)
        variance = (factor * (squares - sums**2 / counts.records[..., None])).sum(axis=-2)
        spread = (factor * spread).sum(axis=-2)
        freedom = (counts.records - 1).sum(axis=-1, keepdims=True)
    errors = roots_of_variances(variance, 1e-12 * np.abs(spread)) / denominator
    reach = student(freedom, confidence) * errors
    return estimate, estimate - reach, estimate + reach, errors


def _sums_of_scores(channel: Channel, asked: Floats | None) -> tuple[Sums, Sums, Sums]:
    """Return functions from sums by randomized value to sums of scores, and of their squares.

    The third function estimates the sum of squared weights of the functionals.
    """
    if asked is None:
        return channel.solve_transposed, lambda x: channel.moments(x, 2), channel.solve_transposed
    scores, of_squares = (channel.solve(each).T for each in (asked, asked**2))
    return (lambda x: x @ scores), (lambda x: x @ scores**2), (lambda x: x @ of_squares)


@dataclass(frozen=True, eq=False)
class SurveyEstimate:
    """A weighted estimate with its covariance, for categories or functionals.

    `degrees_of_freedom` are primary sampling units less strata; infinite for the file. The
    `estimate` and the `covariance` of f categories or functionals have the shapes (f,) and (f, f).
    """

    estimate: Floats
    covariance: Floats
    degrees_of_freedom: float

    @property
    def standard_error(self) -> Floats:
        """Roots of the variances; NaN if one is below zero by more than rounding."""
        variance = np.diagonal(self.covariance)
        return roots_of_variances(variance, 1e-12 * np.abs(self.covariance).max(initial=0.0))

    def intervals(self, confidence: float = 0.95) -> Intervals:
        """Return the intervals of a `confidence`, in (0, 1), by Student's t."""
        refuse_bad_confidence(confidence)
        errors = self.standard_error
        reach = student(np.array(self.degrees_of_freedom), confidence) * errors
        return Intervals(self.estimate, self.estimate - reach, self.estimate + reach, errors)


@named_types
def survey_estimate(
    codes: Codes,
    weights: npt.ArrayLike,
    channel: Channel,
    *,
    target: Target = "population",
    total: float | None = None,
    strata: npt.ArrayLike | None = None,
    clusters: npt.ArrayLike | None = None,
    functionals: npt.ArrayLike | None = None,
    inverse: Inverse = "least",
) -> SurveyEstimate:
    """Return a weighted estimate from the randomized records of a complex survey.

    Raises `DeniableError` if the arguments do not match, weights are negative or sum to 0, a
    stratum has one sampling unit, or the channel is singular or too large without functionals.

    Parameters
    ----------
    codes : integers in 0 .. reports - 1, shape (records,)
        Randomized values.
    weights : shape (records,), finite and not negative
        Inverse expected numbers of draws; without `total` a common factor has no effect.
    channel : Channel
        It randomized each record independently. A unit that was drawn twice counts as two records.
    target, total, functionals, inverse
        See `weighted_intervals`.
    strata : shape (records,), any labels, optional
        Design strata with independent draws.
    clusters : shape (records,), any labels, optional
        Primary sampling units, labelled within their stratum; by default each record. The target
        "file" ignores them, because randomization is by record.
    """
    counts = WeightedCounts.of_records(codes, weights, channel.reports, strata)
    _refuse_misfit(channel, counts, inverse)
    sums = counts.weights.sum(axis=0)
    denominator = float(_denominator(sums, total)[0])
    channel = channel.fitted_to(counts.effective, inverse)
    proportions = channel.solve_transposed(sums / denominator)
    asked = channel.functional_weights(functionals)
    scores = channel.solve(asked)
    estimate = asked @ proportions
    if target == "file":
        squares = counts.squares.sum(axis=0)
        own = (asked * channel.solve_transposed(squares)) @ asked.T
        covariance = ((scores * squares) @ scores.T - own) / denominator**2
        return SurveyEstimate(estimate, covariance, np.inf)
    residuals = scores if total is not None else scores - estimate[:, None]
    number, stratum = _numbered(strata, len(codes), "strata")
    if clusters is None:
        units, factor = counts.records, _design_factor(counts.records)
        inner = (residuals * (factor @ counts.squares)) @ residuals.T
    else:
        known, label = _numbered(clusters, len(codes), "clusters")  # separate in each stratum
        pairs, unit = np.unique(stratum * known + label, return_inverse=True)
        units = np.bincount(pairs // known, minlength=number).astype(np.int64)
        factor = _design_factor(units)
        scaled = np.asarray(weights, dtype=float) * np.sqrt(factor[stratum])
        shape = (int(unit.max()) + 1, channel.reports)
        totals = sparse.csr_matrix((scaled, (unit, np.asarray(codes, dtype=np.int64))), shape=shape)
        inner = residuals @ ((totals.T @ totals) @ residuals.T)
    outer = residuals @ (counts.weights * np.sqrt(factor / units)[:, None]).T
    covariance = (inner - outer @ outer.T) / denominator**2
    return SurveyEstimate(estimate, covariance, float(units.sum() - number))


def student(freedom: Floats, confidence: float) -> Floats:
    """Return the number of standard errors to either limit for a `confidence`, by Student's t.

    Infinite degrees of `freedom` give the normal distribution.
    """
    return np.asarray(scipy.special.stdtrit(freedom, (1 + confidence) / 2))


def _denominator(sums: Floats, total: float | None) -> Floats:
    """Return the divisor of weighted sums, with a last axis of 1."""
    weight = sums.sum(axis=-1, keepdims=True)
    if np.any(weight <= 0):
        raise DataError("the weights sum to 0, so there is no estimate; give positive weights")
    if total is None:
        return np.asarray(weight)
    if not 0 < total < np.inf:
        raise DeniableError(f"the population's size is {total}; it must be positive and finite")
    return np.full_like(weight, total)


def _design_factor(units: npt.NDArray[np.int64]) -> Floats:
    if np.any(units < 2):
        raise DeniableError(
            f"a design stratum has {int(units.min())} sampling unit(s), too few for a variance; "
            "join it with a similar stratum, or use the target 'file'"
        )
    return np.asarray(units / (units - 1))


def _numbered(
    labels: npt.ArrayLike | None, records: int, what: str
) -> tuple[int, npt.NDArray[np.int64]]:
    """Return the number of different `labels`, and a number from 0 for each of the `records`.

    Without labels all records have the same number. Errors name the labels by `what`.
    """
    if labels is None:
        return 1, np.zeros(records, dtype=np.int64)
    if (values := np.asarray(labels)).shape != (records,):
        raise DataError(f"{what} of shape {values.shape} for {records} records; give one for each")
    known, numbers = np.unique(values, return_inverse=True)
    return known.size, numbers
