"""Invariant PRAM: transition matrices that keep the proportions of a file's true categories.

[pram], section 2, with rows instead of columns: R is invariant for the proportions pi0 of a file if
R' pi0 = pi0, (2.1). The proportions S / n of the protected file are then unbiased, (2.3). But a
matrix that depends on the file is random, so (1.3) is not the variance of S / n. Instead (2.4),
(2.5) and the bound (2.6) apply.

The epsilon of an invariant matrix is conditional on the matrix. It covers neither the matrix itself
(`disclosed_proportions`) nor all values of the file together
(`deniable.pram.matrices.whole_file_epsilon`).
"""

import math

import numpy as np
import numpy.typing as npt
import scipy

from deniable.arrays import Counts, Floats, quotients
from deniable.channels import Channel, DenseChannel, KeepOrReplace
from deniable.channels.exact import refuse_epsilon
from deniable.channels.maps import distribution, refuse_no_records
from deniable.errors import ChannelError

INVARIANCE_TOLERANCE = 1e-9
MAX_FIRST_EPSILON = 700.0  # of the first of two steps; beyond, exp(-epsilon) underflows


def two_step(channel: Channel, proportions: npt.ArrayLike) -> DenseChannel:
    """Return the invariant matrix of two steps that begin with any `channel` P (Gouweleeuw et al.).

    A value v of the first step, by P, is randomized again by Bayes' matrix, Q[v, w] = P[w, v] pi_w
    / lambda_v with lambda = P' pi. R = P Q is exactly invariant for pi. It is reversible, pi_u R[u,
    w] = pi_w R[w, u], and has no negative eigenvalue.

    - Epsilon: at most the epsilon of P, since the second step does not use the true category. R[u,
      w] is the mean of Q[v, w] with weights P[u, v], and the weights of two rows differ by a factor
      of at most exp(epsilon).
    - Zeros: R[u, w] > 0 iff some v has positive probability in P for both u and w, and either w has
      records (pi_w > 0) or no category with records gives v. So R may be positive at a zero of P. A
      category without records is never drawn for a category with records.
    - If only categories without records give v (lambda_v = 0), v has no Bayes' row under pi. It
      gets the row for equal proportions of these categories: the limit as each gets a small one.

    P has up to 4,096 categories and may be singular. The `proportions` pi are not negative and sum
    to 1. Otherwise a `ChannelError` is raised.

    Examples
    --------
    >>> two_step(KeepOrReplace.uniform(2, keep=0.5), [0.25, 0.75]).matrix()
    array([[0.4, 0.6],
           [0.2, 0.8]])
    """
    P = channel.matrix()
    P /= P.sum(axis=1, keepdims=True)  # Bayes' formula uses the exact rows of the draws
    bayes = DenseChannel(P).posterior(proportions)
    unknown = np.isnan(bayes).any(axis=1)
    if unknown.any():
        alike = P[:, unknown].T
        bayes[unknown] = quotients(alike, alike.sum(axis=1, keepdims=True))
    R = P @ bayes
    return DenseChannel(R / R.sum(axis=1, keepdims=True))


def two_step_with_epsilon(proportions: npt.ArrayLike, epsilon: float) -> DenseChannel:
    """Return the two-step matrix, from generalized randomized response, for a target epsilon.

    Let P be proportional to t off the diagonal and to 1 on it, a = 1 - t and lambda_v = a pi_v + t.
    The largest ratio in column w of R is between row w and row m, where m has the largest other
    proportion. It exceeds 1 by

        a^2 (pi_m + t (1 - pi_w)) / (lambda_w lambda_m (S + a t (1 / lambda_w + 1 / lambda_m)))

    with S the sum of t^2 / lambda_v. The root in t is found from this, then checked with the exact
    epsilon of the matrix. It is at most `epsilon`, in (0, 30], and below it only by rounding (but 0
    if a single category has records). Raises `ChannelError` if epsilon is out of range, or
    the `proportions` are negative or do not sum to 1.
    """
    pi = distribution(proportions)
    refuse_epsilon(epsilon)
    if pi.size == 1:
        return DenseChannel(np.ones((1, 1)))

    largest, second = np.argsort(pi)[[-1, -2]]
    # For each category, the other category with the largest proportion.
    other = np.where(np.arange(pi.size) == largest, second, largest)

    def beyond(first: float) -> float:
        a, t = -math.expm1(-first), math.exp(-first)
        lambdas = a * pi + t
        rise = a**2 * (pi[other] + t * (1 - pi)) / (lambdas * lambdas[other])
        base = np.sum(t**2 / lambdas) + a * t * (1 / lambdas + 1 / lambdas[other])
        return float(np.max((rise / base)[pi > 0])) - math.expm1(epsilon)

    first = MAX_FIRST_EPSILON
    if beyond(first) > 0:
        first = float(scipy.optimize.brentq(beyond, 0.0, first, xtol=1e-300, rtol=1e-15))
    step = 1e-15
    while True:
        odds = np.full((pi.size, pi.size), math.exp(-first))
        np.fill_diagonal(odds, 1.0)
        channel = two_step(DenseChannel(odds / odds.sum(axis=1, keepdims=True)), pi)
        if channel.epsilon <= epsilon:
            return channel
        first *= 1 - step
        step *= 2


def resampling(proportions: npt.ArrayLike) -> KeepOrReplace:
    """Return the matrix with the `proportions` as each row, which draws every value from them.

    It is invariant, has epsilon 0, and attains the bound (2.6). Raises `ChannelError` unless the
    proportions are not negative and sum to 1.
    """
    return KeepOrReplace(0.0, distribution(proportions))


def lazy_resampling_with_epsilon(proportions: npt.ArrayLike, epsilon: float) -> KeepOrReplace:
    """Return the matrix theta I + (1 - theta) 1 pi' for a target epsilon.

    The epsilon is ln(1 + theta / ((1 - theta) min pi)). The exact epsilon is at most `epsilon`, in
    (0, 30], and below it only by the rounding of theta. The `proportions` pi are positive and sum
    to 1: a category of proportion 0 would be certain wherever it is kept. Otherwise a
    `ChannelError` is raised.
    """
    pi = distribution(proportions)
    refuse_epsilon(epsilon)
    if np.any(pi == 0):
        raise ChannelError(
            f"category {int(pi.argmin())} has proportion 0, so that no theta above 0 has a finite "
            "epsilon; leave out categories without records, or use two_step_with_epsilon"
        )
    odds = math.expm1(epsilon) * float(pi.min())
    theta = odds / (1 + odds)
    while (channel := KeepOrReplace(theta, (1 - theta) * pi)).epsilon > epsilon:
        theta = math.nextafter(theta, 0.0)
    return channel


def disclosed_proportions(channel: Channel) -> Floats:
    """Return the original proportions of the file, from a published invariant `channel` alone.

    They are the stationary distribution of the matrix, which is unique if all categories that occur
    can reach each other. So a published invariant matrix publishes the original marginal
    distribution exactly. The matrices of two files that differ in one record distinguish these
    files with certainty. In [pram] (section 2) owners keep the matrix, and users can then estimate
    no variance.

    The method is elimination without subtractions (Grassmann, Taksar and Heyman). Each proportion
    has a relative error near rounding, also for rare categories. Raises `ChannelError` if the
    matrix has several stationary distributions, because groups of categories do not reach each
    other; or if it has over 4,096 categories.
    """
    P = channel.matrix()
    groups, group_of = scipy.sparse.csgraph.connected_components(P > 0, connection="strong")
    leaving = {int(group_of[u]) for u, v in np.argwhere(P > 0) if group_of[u] != group_of[v]}
    if len(closed := [group for group in range(groups) if group not in leaving]) > 1:
        raise ChannelError(
            f"the matrix has {len(closed)} groups of categories that do not reach each other: it "
            "is invariant for any proportions of the groups; take the groups one by one"
        )
    members = np.flatnonzero(group_of == closed[0])
    A = P[np.ix_(members, members)]
    for last in range(len(A) - 1, 0, -1):
        A[:last, last] /= A[last, :last].sum()
        A[:last, :last] += np.outer(A[:last, last], A[last, :last])
    weights = np.ones(len(A))
    for state in range(1, len(A)):
        weights[state] = weights[:state] @ A[:state, state]
    proportions = np.zeros(channel.size)
    proportions[members] = weights / weights.sum()
    return proportions


def conditional_covariance(counts: npt.ArrayLike, channel: Channel) -> Floats:
    """Return the covariance of S / n given the file and the matrix ([pram], (2.4)).

    It is (diag(P' pi0) - P' diag(pi0) P) / n with pi0 = T / n, from the true `counts` T, shape
    (size,). For an invariant matrix it is an unbiased estimate of the inflation, the last term of
    (2.5). The `channel` has up to 4,096 categories and need not be invariant.
    """
    true = whole_counts(counts)
    records = true.sum()
    shares = true / records
    P = channel.matrix()
    return np.asarray((np.diag(channel.reported(shares)) - (P.T * shares) @ P) / records)


def sampling_covariance(proportions: npt.ArrayLike, records: int) -> Floats:
    """Return (diag(pi) - pi pi') / n, the covariance of the original proportions of a sample.

    The `proportions` pi, shape (size,), are those in the population; n is the number of `records`.
    """
    pi = distribution(proportions)
    refuse_no_records(records)
    return np.asarray((np.diag(pi) - np.outer(pi, pi)) / records)


def covariance_bound(proportions: npt.ArrayLike, records: int) -> Floats:
    """Return (2 - 1/n) (diag(pi) - pi pi') / n, which no invariant PRAM exceeds ([pram], (2.6)).

    Here pi, (size,), are the `proportions` in the population, and n is the number of `records`, >=
    1. Bound minus covariance is non-negative definite. `resampling` attains the bound.
    """
    return sampling_covariance(proportions, records) * (2 - 1 / records)


def whole_counts(counts: npt.ArrayLike) -> Counts:
    """Return true `counts`, shape (size,), as integers; raise `ChannelError` otherwise."""
    values = np.asarray(counts)
    if values.ndim != 1 or not np.all(values == np.floor(values)) or np.any(values < 0):
        raise ChannelError("the true counts must be one table of whole numbers, none negative")
    if not values.sum():
        raise ChannelError("the true counts are all zero; give at least one record")
    return values.astype(np.int64)
