"""Maximum likelihood: in closed form if there is one, by Newton's method, or by EM.

With many records the likelihood is nearly quadratic. From the clipped unbiased estimate, Newton's
method reaches the maximum in a few steps; each solves a quadratic program without negative
proportions. For more cells than a dense matrix allows, there is expectation-maximization (EM).
Under strong randomization EM alone needs 10^4 steps and more, since each removes only a small part
of the error. SQUAREM (Varadhan and Roland, 2008) extrapolates pairs of steps. Results have an upper
bound of the difference from the maximum. They do not depend on other tables of a batch.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
import scipy

from deniable.arrays import Counts, Floats
from deniable.channels import Channel
from deniable.errors import ChannelError, named_types
from deniable.estimation.simplex import clip_and_rescale, estimate_or_uniform

TOLERANCE = 1e-6  # nats
MAX_STEPS = 100_000
MAX_NEWTON_CELLS = 512  # with as many values; the time of a step grows with cells^2 times values
MAX_NEWTON_STEPS = 50
ROUNDING = 1e-14  # of a log-likelihood, relative
LEAST_LENGTH = 2.0**-20
LEAST_SHARE = 0.01  # smallest part of a proportion that remains after a jump
LEAST_MASS = 2.0**-52  # of all categories together, as much as rounding errors can hide
FIRST_REACH = 4.0
Step = tuple[Floats, float, float]
"""The next point, and the mean log-likelihood and the gap of the point before."""
RIDGE = 1e-12


@dataclass(frozen=True, eq=False)
class Likelihood:
    """A maximum-likelihood estimate with a bound on its error.

    The `proportions` have the shape (..., categories). `iterations` is the largest number of steps
    for a table, 0 for a closed form. `gap` is an upper bound, over all tables, of the difference
    from the maximum log-likelihood, in nats.
    """

    proportions: Floats
    iterations: int
    gap: float


@named_types
def maximum_likelihood(
    reported_counts: npt.ArrayLike, channel: Channel, *, tolerance: float = TOLERANCE
) -> Likelihood:
    """Return the distribution under which counts of randomized values are most likely.

    Keep-or-replace channels have a closed form. For other channels, Newton's method is used if
    categories^2 times randomized values is at most 512^3. EM is used for larger channels, and if
    Newton's method does not converge. Raises `ChannelError` if the channel is singular, or the
    counts do not fit it or are invalid.

    Parameters
    ----------
    reported_counts : shape (..., reports)
    channel : Channel, not singular
    tolerance : float, > 0
        Steps end when the gap to the maximum log-likelihood is at most this, in nats. After
        100,000 steps, EM ends with a larger gap and a warning.
    """
    channel.refuse_singular()  # with a singular channel many distributions are equally likely
    tables = np.asarray(reported_counts, dtype=float)
    frequencies = channel.frequencies(tables)[0]  # with the same checks as for an estimate
    if (form := channel.weight_and_replacement) is not None:
        return Likelihood(_fill_to_level(tables, *form), 0, 0.0)
    by_em = partial(expectation_maximization, channel=channel, tolerance=tolerance)
    if channel.size**2 * channel.reports > MAX_NEWTON_CELLS**3:
        return by_em(tables)
    matrix = channel.matrix()
    proportions = np.empty((*tables.shape[:-1], channel.size))
    gap, most = 0.0, 0
    for at in np.ndindex(tables.shape[:-1]):
        observed, total = frequencies[at], tables[at].sum()
        start = clip_and_rescale(channel.solve_transposed(observed))
        if not np.all((start @ matrix)[observed > 0]):
            start = np.full(channel.size, 1 / channel.size)
        found, steps, lacking = _newton(start, observed, total, matrix, tolerance)
        if lacking > tolerance:
            other = by_em(tables[at])
            found, steps, lacking = other.proportions, other.iterations, other.gap
        proportions[at] = found
        gap, most = max(gap, lacking), max(most, steps)
    return Likelihood(proportions, most, gap)


def likelihood_or_uniform(
    reports: Counts, channel: Channel, tolerance: float = TOLERANCE
) -> Floats:
    """Return the most likely distribution; uniform, with a warning, if the channel is singular.

    For `reports` and `channel` see `estimate_or_uniform`, for `tolerance` `maximum_likelihood`.
    """

    def estimate(channel: Channel, counts: Counts) -> Floats:
        return maximum_likelihood(counts, channel, tolerance=tolerance).proportions

    return estimate_or_uniform(reports, channel, estimate)


def _fill_to_level(counts: Floats, a: float, b: Floats) -> Floats:
    """Return pi_v = max(0, n_v / mu - b_v / a), with mu such that the sum is 1.

    The categories with the largest n_v / b_v stay positive (the smallest if a < 0), so one sort
    finds them. With uniform b this is the closed form of Pinzón et al., [exact_likelihood].
    """
    unreported = counts == 0
    if a < 0 and np.any(unreported):
        # Categories without randomized values can have all of the mass without loss of likelihood.
        # Several such categories share it in proportion to b.
        shares, some = np.where(unreported, b, 0.0), unreported.any(axis=-1)
        result = np.empty_like(counts)
        result[some] = shares[some] / shares[some].sum(axis=-1, keepdims=True)
        if not np.all(some):
            result[~some] = _fill_to_level(counts[~some], a, b)
        return result
    level = np.divide(counts, b, out=np.where(counts > 0, np.inf, 0.0), where=b > 0)
    order = np.argsort(-np.sign(a) * level, axis=-1, kind="stable")
    n = np.take_along_axis(counts, order, axis=-1)
    odds = np.take_along_axis(np.broadcast_to(b / a, counts.shape), order, axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        mu = np.cumsum(n, axis=-1) / (1 + np.cumsum(odds, axis=-1))
        positive = n / mu - odds > 0
    positive[..., 0] = True
    kept = np.sum(np.logical_and.accumulate(positive, axis=-1), axis=-1, keepdims=True)
    inside = np.maximum(counts / np.take_along_axis(mu, kept - 1, axis=-1) - b / a, 0.0)
    return np.asarray(inside / inside.sum(axis=-1, keepdims=True))


def _newton(
    point: Floats, observed: Floats, records: float, matrix: Floats, tolerance: float
) -> tuple[Floats, int, float]:
    """Return the maximum of the likelihood of one table, the number of Newton steps, and the gap.

    The objective is the mean log-likelihood minus the sum of the point; its maximum has sum 1.
    Its second derivative is -A with A point = gradient. So its quadratic approximation at a point
    is the objective of `_best_of_quadratic` with the slope 2 gradient - 1.
    """
    seen = observed > 0
    matrix, observed = matrix[:, seen], observed[seen]

    def height(point: Floats) -> tuple[Floats, float]:
        reported = point @ matrix
        with np.errstate(divide="ignore", invalid="ignore"):
            return reported, float(observed @ np.log(reported) - point.sum())

    reported, reached = height(point)
    gap = np.inf
    for steps in range(MAX_NEWTON_STEPS):
        gradient = matrix @ (observed / reported)
        gap = records * max(float(gradient.max()) - 1.0, 0.0)
        if gap <= tolerance:
            return point, steps, gap
        spread = matrix * (np.sqrt(observed) / reported)
        try:
            best = _best_of_quadratic(spread, 2.0 * gradient - 1.0)
        except RuntimeError:  # the solver does not converge
            return point, steps, gap
        length, moved = 1.0, best
        reported, higher = height(moved)
        while not higher >= reached - ROUNDING * abs(reached):
            length /= 2.0
            if length < LEAST_LENGTH:
                return point, steps, gap
            moved = point + length * (best - point)
            reported, higher = height(moved)
        total = float(moved.sum())
        point, reported = moved / total, reported / total
        reached = higher - np.log(total) + total - 1.0
    return point, MAX_NEWTON_STEPS, gap


def _best_of_quadratic(root: Floats, slope: Floats) -> Floats:
    """Return the x >= 0 that maximizes slope . x - |x' root|^2 / 2, by non-negative squares."""
    # The ridge is for categories without randomized values.
    ridge = np.diag(np.sqrt(RIDGE * (1.0 + (root**2).sum(axis=1))))
    triangle = np.linalg.qr(np.vstack([root.T, ridge]), mode="r")
    aim = scipy.linalg.solve_triangular(triangle, slope, trans="T")
    return np.asarray(scipy.optimize.nnls(triangle, aim, maxiter=100 * slope.size)[0])


@named_types
def expectation_maximization(
    reported_counts: npt.ArrayLike,
    channel: Channel,
    *,
    tolerance: float = TOLERANCE,
    iterations: int = MAX_STEPS,
) -> Likelihood:
    """Return the most likely distribution by EM ([reconstruction_em]; [multirr], 2.1).

    The log-likelihood is concave, so it is at most n (max_u g_u - 1) below its maximum, where g_u =
    sum over v of P[u, v] n_v / (n lambda_v). Steps end by this certificate, not by the size of the
    last step. SQUAREM extrapolates pairs of steps. A jump that lowers the likelihood by more than
    rounding is rejected.

    For `reported_counts` and `tolerance` see `maximum_likelihood`. If the largest number of steps,
    `iterations`, is reached, there is a warning with the gap. Each factor of the `channel` has at
    most 4,096 categories and randomized values, or a matrix of this size. Raises `ChannelError`
    also if a randomized value is impossible.
    """
    frequencies, totals = channel.frequencies(reported_counts)
    tables = frequencies.reshape(-1, frequencies.shape[-1])
    forth = [factor.matrix() for factor in channel.simple_factors]
    back = [np.ascontiguousarray(matrix.T) for matrix in forth]
    proportions = np.empty((len(tables), channel.size))
    gap, most = 0.0, 0
    for table, (observed, records) in enumerate(zip(tables, np.ravel(totals), strict=True)):
        step = partial(_step, observed, float(records), forth, back)
        found, steps, lacking = _climb(step, channel.size, tolerance, iterations)
        if not np.isfinite(lacking):
            raise ChannelError(
                "there are randomized values that the channel cannot produce; correct the counts"
            )
        proportions[table] = found
        gap, most = max(gap, lacking), max(most, steps)
    if gap > tolerance:
        warnings.warn(
            f"EM stopped after {iterations} iterations with the log-likelihood up to {gap:.2g} "
            "below its maximum; allow more iterations or a larger tolerance",
            RuntimeWarning,
            stacklevel=3,
        )
    return Likelihood(proportions.reshape(*frequencies.shape[:-1], channel.size), most, gap)


def _step(
    observed: Floats, records: float, forth: Sequence[Floats], back: Sequence[Floats], point: Floats
) -> Step:
    """Return an EM step for a table, through a product of matrices, `forth`; `back` transposed."""
    seen = observed > 0
    reported = _through(point, forth)
    if not np.all(reported[seen] > 0):
        return point, -np.inf, np.inf
    ratio = np.divide(observed, reported, out=np.zeros_like(observed), where=seen)
    gradient = _through(ratio, back)
    moved = point * gradient
    gap = records * max(float(gradient.max()) - 1.0, 0.0)
    return moved / moved.sum(), float(observed[seen] @ np.log(reported[seen])), gap


def _through(values: Floats, matrices: Sequence[Floats]) -> Floats:
    """Return x' (M1 x M2 x ...), axis by axis: each product moves the first axis to the end."""
    for matrix in matrices:
        values = (values.reshape(len(matrix), -1).T @ matrix).ravel()
    return values


def _climb(
    step: Callable[[Floats], Step], cells: int, tolerance: float, most: int
) -> tuple[Floats, int, float]:
    """Return the maximum of the likelihood of one table, the number of EM steps, and the gap.

    `step` takes a point and returns the next one, and the mean log-likelihood and gap of the first.
    """
    start = np.full(cells, 1.0 / cells)
    first, height, gap = step(start)
    steps, reach = 1, FIRST_REACH
    while gap > tolerance and steps < most and gap < np.inf:
        second, middle, gap = step(first)
        steps += 1
        if gap <= tolerance or steps >= most:
            return first, steps, gap
        r = first - start
        v = second - first - r
        bend = float(v @ v)
        # SQUAREM's length |r| / |v|; at least 1, which means both steps.
        length = max(1.0, min(float(np.sqrt(r @ r / bend)), reach)) if bend else reach
        # A part of each proportion is kept, because EM never leaves 0.
        least = np.maximum(LEAST_SHARE * second, LEAST_MASS / start.size)
        jump = np.maximum(start + 2.0 * length * r + length * length * v, least)
        jump /= jump.sum()
        after, height, lacking = step(jump)
        steps += 1
        if height >= middle - ROUNDING * abs(middle):
            if length == reach:
                reach *= FIRST_REACH
            start, first, gap = jump, after, lacking
            continue
        if steps >= most:
            return first, steps, gap
        reach = max(FIRST_REACH, length / 2)
        start = second
        first, height, gap = step(start)
        steps += 1
    return start, steps, gap
