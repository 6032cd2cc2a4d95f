"""Confidence intervals of estimates through any channel, single and simultaneous (text 001, 1).

Two constructions. ``wald`` is the estimate give or take a multiple of its standard error, from the
unbiased plug-in of text 001, (1.3). It fails where that plug-in can be far off: for rare categories
that few reports stand for. ``score`` turns a test around, as Wilson's interval does: it holds the
values f of the functional that lie within z standard errors of the estimate, with the standard
error that the estimate would have if f were true,

    (estimate - f)^2 <= z^2 V(f) / n.

Reports tell of V only if the other proportions are known too. V(f) takes them from the estimate,
projected onto the simplex to p, and changes p along the least favourable line, the proportions of
the true categories t tilted by their weights w_t. With M_t the second moment of a report's score
given t, the mean of M changes along that line by Cov_p(M, w) / Var_p(w) for each unit of f, so

    V(f) = E_p(M) + (f - E_p(w)) Cov_p(M, w) / Var_p(w) - f^2            (population),

and the same with M_t - w_t^2 in the place of M_t and without f^2 for the file (the variance of a
report given its own truth). For one category u this is f M_u + (1 - f) R - f^2: as f varies, the
other categories keep their proportions to each other, and R is their mean. Without randomization it
is Wilson's interval; through a keep-or-replace channel R does not depend on p, and it is Wilson's
interval of the reports' proportion, carried over. Both in closed form, for whole batches.
"""

from dataclasses import dataclass, replace
from functools import reduce
from math import sqrt
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy import special

from deniable.channel import Channel, KeepOrReplace, ProductChannel, Target
from deniable.channel.base import Floats
from deniable.error_bounds import root_b
from deniable.errors import ChannelError, DeniableError
from deniable.simplex import euclidean_projection

Method = Literal["score", "wald"]
Simultaneous = Literal["none", "bonferroni", "scheffe"]

EVENED = 1e-6
"""Share of p that is spread evenly: the line stays defined where p has no record on one side."""
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Intervals:
    """Estimates with their confidence intervals.

    Limits may leave [0, 1], as unbiased estimates do; see `within`.

    Attributes
    ----------
    estimate, low, high, standard_error : arrays of one shape, (..., proportions or functionals)
        The standard error is the root of the unbiased plug-in, whatever the method; NaN where that
        is below zero.
    confidence : float
    method : "score" or "wald"
    simultaneous : "none", "bonferroni" or "scheffe"
    target : "population" or "file"
    """

    estimate: Floats
    low: Floats
    high: Floats
    standard_error: Floats
    confidence: float
    method: Method
    simultaneous: Simultaneous
    target: Target

    def cover(self, truth: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Return which intervals hold the truth, give or take 1e-12; NaN limits hold nothing."""
        values = np.asarray(truth, dtype=float)
        return np.asarray((self.low - ROUNDING <= values) & (values <= self.high + ROUNDING))

    def within(self, lowest: float = 0.0, highest: float = 1.0) -> "Intervals":
        """Return the intervals with limits moved into a range, [0, 1] for proportions.

        What lies in the range is covered as before. An interval wholly outside becomes the nearest
        end of the range: a point that claims more than the data say.
        """
        limits = (np.clip(each, lowest, highest) for each in (self.low, self.high))
        return replace(self, low=next(limits), high=next(limits))


def confidence_intervals(
    channel: Channel,
    reported_counts: npt.ArrayLike,
    *,
    confidence: float = 0.95,
    method: Method = "score",
    simultaneous: Simultaneous = "none",
    target: Target = "population",
    functionals: npt.ArrayLike | None = None,
) -> Intervals:
    """Return confidence intervals for all proportions, or for linear functionals of them.

    Parameters
    ----------
    channel : Channel
    reported_counts : shape (..., size)
        Leading axes are tables of their own.
    confidence : float, in (0, 1)
    method : "score" or "wald"
        ``score`` covers as stated also where few reports tell of a category, and always exists.
    simultaneous : "none", "bonferroni" or "scheffe"
        ``none``: each interval on its own. ``bonferroni``: all those returned for a table hold at
        once. ``scheffe``: those of all linear functionals at once, also of ones chosen after a look
        at the data; wider, except for two categories.
    target : "population" or "file"
    functionals : shape (functionals, size), optional
        Weights w of linear functionals w . pi.

    Raises
    ------
    DeniableError
        If the confidence is not in (0, 1) or an option is unknown.
    ChannelError
        As `Channel.standard_errors`; if functionals do not fit the channel.

    Examples
    --------
    Wilson's interval of 2 in 10, and the same through a coin that lies once in four times:

    >>> straight = confidence_intervals(KeepOrReplace.uniform(2, keep=1.0), [8, 2])
    >>> straight.low[1].round(4), straight.high[1].round(4)
    (np.float64(0.0567), np.float64(0.5098))
    >>> confidence_intervals(KeepOrReplace.uniform(2, keep=0.5), [64, 36]).high[1].round(4)
    np.float64(0.4153)
    """
    _refuse_unknown(confidence, method, simultaneous)
    weights = None if functionals is None else functional_weights(functionals, channel)
    errors = channel.standard_errors(reported_counts, target, weights)
    proportions = channel.estimate(reported_counts)
    estimate = proportions if weights is None else np.asarray(proportions @ weights.T)
    squared = _critical_square(1 - confidence, simultaneous, estimate.shape[-1], channel.size)
    if method == "wald":
        low, high = estimate - sqrt(squared) * errors, estimate + sqrt(squared) * errors
    else:
        records = np.asarray(reported_counts, dtype=float).sum(axis=-1)[..., None]
        variance = _variance_function(channel, proportions, weights, target)
        low, high = _score_limits(estimate, squared / records, variance)
    return Intervals(estimate, low, high, errors, confidence, method, simultaneous, target)


@dataclass(frozen=True, eq=False)
class _VarianceFunction:
    """V(f) = level + slope (f - centre) - curvature f^2 between `lowest` and `highest`.

    No functional leaves the range of its weights. Beyond it V is taken as constant, so that an
    estimate far outside, as a nearly singular channel gives it, has a limit in proportion.
    """

    level: Floats
    slope: Floats
    centre: Floats
    curvature: float
    lowest: Floats
    highest: Floats

    def __call__(self, value: Floats) -> Floats:
        inside = np.clip(value, self.lowest, self.highest)
        found = self.level + self.slope * (inside - self.centre) - self.curvature * inside**2
        return np.maximum(found, 0.0)


def _variance_function(
    channel: Channel, estimate: Floats, weights: Floats | None, target: Target
) -> _VarianceFunction:
    evened = (1 - EVENED) * euclidean_projection(estimate) + EVENED / channel.size
    file = target == "file"
    if weights is None:
        # w is the indicator of one category: E(w) = E(w^2) = p, E(M w) = p times its own M.
        own = _own_second_moments(channel) - file
        mean = square = evened
        level = channel._second_moments(channel.reported(evened)) - file * evened
        product = evened * own
        highest = np.ones(channel.size)
        lowest = np.zeros(channel.size) if channel.size > 1 else highest
    else:
        moments = channel.expected(channel._solve(weights) ** 2) - file * weights**2
        mean, square = evened @ weights.T, evened @ (weights**2).T
        level, product = evened @ moments.T, evened @ (moments * weights).T
        lowest, highest = weights.min(axis=1), weights.max(axis=1)
    curvature = float(not file)
    spread = square - mean**2
    # Constant weights: the functional is known, and this slope makes V vanish at it.
    known = np.broadcast_to(2 * curvature * lowest, spread.shape).copy()
    told = np.broadcast_to(highest > lowest, spread.shape) & (spread > 0)
    slope = np.divide(product - level * mean, spread, out=known, where=told)
    return _VarianceFunction(level, slope, mean, curvature, lowest, highest)


def _score_limits(
    estimate: Floats, factor: Floats, variance: _VarianceFunction
) -> tuple[Floats, Floats]:
    """Solve (estimate - f)^2 <= factor V(f); the limits always hold the estimate."""
    # a f^2 - 2 b f + c <= 0
    a = 1 + factor * variance.curvature
    b = estimate + factor * variance.slope / 2
    c = estimate**2 - factor * (variance.level - variance.slope * variance.centre)
    discriminant = b**2 - a * c
    root = np.sqrt(np.maximum(discriminant, 0.0))
    low, high = (b - root) / a, (b + root) / a
    lowest, highest = variance.lowest, variance.highest
    solved = (discriminant >= 0) & (high >= lowest) & (low <= highest)
    # Values of the range that are all rejected: the error at the value nearest to the estimate.
    nearest = np.sqrt(factor * np.maximum(variance(estimate), variance(variance.centre)))
    beyond_low = np.where(solved, np.sqrt(factor * variance(lowest)), nearest)
    beyond_high = np.where(solved, np.sqrt(factor * variance(highest)), nearest)
    low = np.where(solved & (low >= lowest), low, estimate - beyond_low)
    high = np.where(solved & (high <= highest), high, estimate + beyond_high)
    return np.minimum(low, estimate), np.maximum(high, estimate)


def _own_second_moments(channel: Channel) -> Floats:
    """Return for each category u the sum over v of P[u, v] * inverse(P)[v, u] ** 2."""
    if isinstance(channel, ProductChannel):
        factors = (_own_second_moments(factor) for factor in channel.factors)
        return reduce(lambda left, right: np.outer(left, right).reshape(-1), factors)
    if isinstance(channel, KeepOrReplace):
        a, b = channel.diagonal_weight, channel._b
        return np.asarray(((a + b) * (1 - b) ** 2 + (1 - a - b) * b**2) / a**2)
    return np.array(np.diagonal(channel._second_moments(channel.matrix())))


def _critical_square(
    alpha: float, simultaneous: Simultaneous, intervals: int, categories: int
) -> float:
    """Return the squared number of standard errors."""
    if simultaneous == "scheffe":
        return float(special.chdtri(categories - 1, alpha)) if categories > 1 else 0.0
    return root_b(intervals if simultaneous == "bonferroni" else 1, alpha) ** 2


def functional_weights(functionals: npt.ArrayLike, channel: Channel) -> Floats:
    """Return the weights of linear functionals, a row each, once they fit the channel."""
    weights = np.atleast_2d(np.asarray(functionals, dtype=float))
    if weights.ndim != 2 or weights.shape[-1] != channel.size or not np.all(np.isfinite(weights)):
        raise ChannelError(
            f"functionals of shape {np.shape(functionals)} do not fit a channel over "
            f"{channel.size} categories; give finite weights, one a category, in each row"
        )
    return weights


def refuse_bad_confidence(confidence: float) -> None:
    """Raise `DeniableError` unless the confidence is in (0, 1)."""
    if not 0 < confidence < 1:
        raise DeniableError(f"the confidence is {confidence}; it must be in (0, 1), as 0.95")


def _refuse_unknown(confidence: float, method: str, simultaneous: str) -> None:
    refuse_bad_confidence(confidence)
    for value, what, known in (
        (method, "method", Method),
        (simultaneous, "simultaneous", Simultaneous),
    ):
        if value not in get_args(known):
            raise DeniableError(f"{what} is {value!r}; use {', '.join(get_args(known))}")
