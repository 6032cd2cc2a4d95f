"""Estimates of consistent distributions: never negative, with sum 1."""

import math
import warnings
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deniable.arrays import Counts, Floats
from deniable.channels import Channel, SquareWave, SquareWaveOrMissing
from deniable.errors import ChannelError
from deniable.estimation.likelihood import maximum_likelihood
from deniable.estimation.simplex import euclidean_projection

MAX_LIKELIHOOD = 256**3
"""Largest cells^2 times randomized values for Newton's method, which then takes about a second."""
MAX_UNSMOOTHED = 32  # points of a grid with a distribution that is estimated without smoothing
RISE = 1e-3  # nats
MAX_STEPS = 10_000
OWN_PROPORTIONS = "proportions of the randomized values"


@dataclass(frozen=True, eq=False)
class Distribution:
    """Proportions that are never negative and sum to 1.

    The `proportions` have the shape (cells,), and `method` names their estimator. `gap` is an upper
    bound of the difference from the maximum log-likelihood, in nats; NaN for other methods.
    """

    proportions: Floats
    method: str
    gap: float = math.nan


def consistent(counts: Counts | Floats, channel: Channel) -> Distribution:
    """Return a consistent distribution over a `channel`'s cells from `counts` of randomized values.

    Counts of weighted records give a pseudo-likelihood. The estimate depends on the channel:

    - Usually it is the maximum-likelihood distribution.
    - For a square wave over more than 32 points it is EM with smoothing. Over 51 and 101 points, at
      ε 1 to 4, its Wasserstein distance is mostly smaller; over 13 points it is always larger.
    - For tables too large for Newton's method it is the distribution nearest to the unbiased
      estimate.
    - For a singular matrix, which must be invariant, it has the proportions of randomized values.
      These are unbiased, except for pairs of values through two matrices, which give NaN.
    """
    waves = isinstance(channel, (SquareWave, SquareWaveOrMissing))
    if waves and channel.size > MAX_UNSMOOTHED:
        apart = int(isinstance(channel, SquareWaveOrMissing))
        return Distribution(grid_estimate(counts, channel, apart=apart), "EM with smoothing")
    if channel.singular:
        if len(channel.simple_factors) > 1:
            return Distribution(np.full(channel.size, np.nan), "nothing: a matrix is singular")
        return Distribution(np.asarray(counts / counts.sum()), OWN_PROPORTIONS)
    if likelihood_is_fast(channel):
        found = maximum_likelihood(counts, channel)
        return Distribution(found.proportions, "maximum likelihood", found.gap)
    return Distribution(euclidean_projection(channel.estimate(counts)), "projection")


def likelihood_is_fast(channel: Channel) -> bool:
    """Return whether maximum likelihood through a `channel` takes at most seconds."""
    closed = channel.weight_and_replacement is not None
    return closed or channel.size**2 * channel.reports <= MAX_LIKELIHOOD


def grid_estimate(
    reported_counts: npt.ArrayLike,
    channel: Channel,
    *,
    smoothed: bool = True,
    apart: int = 0,
    rise: float = RISE,
    iterations: int = MAX_STEPS,
) -> Floats:
    """Return distributions over the cells of a grid by EM, or by EM with smoothing (EMS).

    From the uniform distribution, steps are x_u <- x_u * sum over v of P[u, v] n_v / (n lambda_v),
    lambda = P' x. If `smoothed`, each cell then gives a quarter to either neighbour, (1, 2, 1) / 4.
    A quarter that would leave the grid stays in its cell, so sums and the uniform distribution
    stay.

    A smooth distribution is more likely than a ragged one, but maximum likelihood ignores the order
    of the cells. Smoothing reduces the noise of the estimate and adds some bias.

    Steps end when the log-likelihood of all records changes by less than `rise`. This is
    deliberately earlier than its maximum (`expectation_maximization`), because further steps fit
    noise. Raises `ChannelError` if the counts do not fit the channel, or are invalid or impossible.

    SOURCE: [square_wave], with the thresholds 1e-3 (EMS) and 1e-3 exp(epsilon) (EM). The source
    smooths the cells at the ends by (2, 1) / 3 and rescales the result.

    Parameters
    ----------
    reported_counts : shape (..., reports)
        Counts of randomized values. Each table is estimated separately.
    channel : Channel
        Its categories, at most 4,096, are the cells in order.
    apart : int, >= 0
        Number of last cells that are not smoothed, because they are not points, such as missing
        values.
    rise : float, > 0, in nats
    iterations : int, >= 1
        The largest number of steps; there is a warning if it is reached.
    """
    matrix = channel.matrix()
    frequencies, totals = channel.frequencies(reported_counts)
    tables, records = frequencies.reshape(-1, channel.reports), np.reshape(totals, -1)
    found = np.full((len(tables), channel.size), 1 / channel.size)
    if np.any((tables > 0) & (found @ matrix == 0)):
        raise ChannelError(
            "there are randomized values that the channel cannot produce; correct the counts"
        )
    before = np.full(len(tables), -np.inf)
    going = np.arange(len(tables))
    for _ in range(iterations):
        if not going.size:
            break
        observed, x = tables[going], found[going]
        expected = x @ matrix
        ratios = np.divide(observed, expected, out=np.zeros_like(observed), where=observed > 0)
        x = x * (ratios @ matrix.T)
        if smoothed:
            points = x[:, : channel.size - apart]
            wider = np.concatenate([points[:, :1], points, points[:, -1:]], axis=1)
            points[:] = (wider[:, :-2] + 2 * points + wider[:, 2:]) / 4
        found[going] = x
        with np.errstate(divide="ignore"):
            logs = np.where(observed > 0, np.log(x @ matrix), 0.0)
        reached = records[going] * (observed * logs).sum(axis=-1)
        moving = np.abs(reached - before[going]) >= rise
        before[going] = reached
        going = going[moving]
    if going.size:
        warnings.warn(
            f"EM of {going.size} tables stopped after {iterations} steps; allow more steps",
            RuntimeWarning,
            stacklevel=2,
        )
    return found.reshape(*frequencies.shape[:-1], channel.size)
