"""Estimates by the proportions of randomized values, through an invariant matrix ([pram], (2.1)).

Let T be the counts of the original values and P the matrix, which may be computed from T. Given
both, the proportions p of the randomized values have the expectation T/n and a variance V, which an
analyst can estimate without bias. As estimates for the population from which the records were drawn
(multinomial sampling), they have

    Var(p) = E V + (D_pi - pi pi') / n,    estimated by    (n V + p - p^2) / (n - 1).

The estimator is unbiased, because E[p^2 | T, P] = (T/n)^2 + V. It is the plug-in of (2.5). The
formula (1.3) holds only for a fixed matrix, because it is a function of pi and P.
"""

import numpy as np

from deniable.arrays import Counts, Floats
from deniable.channels import Channel, Target, roots_of_variances
from deniable.errors import ChannelError
from deniable.estimation.survey_weights import WeightedCounts, student


def bounded_proportions(
    counts: Counts | WeightedCounts, functionals: Floats, target: Target, confidence: float
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return proportions through an unknown invariant matrix: values, errors, and both limits.

    Any invariant matrix has a variance of at most c pi (1 - pi) / n, with c = 2 - 1 / n for the
    population ([pram], (2.6)) and c = 1 for the file. The limits are the pi from which the values
    differ by at most z such standard errors (Wilson), so they cover nearly at their level, or more.
    Errors are bounds too: the mean of n p (1 - p) / (n - 1), given the file, is at least pi (1 -
    pi). With weights, the variance for the file is at most q (1 - q) S / W^2, with S = sum w_i^2,
    W = sum w_i, and q the proportion by squared weights. The estimate is unbiased for the file's
    proportion p, so for the population Var(p) is added. p is a ratio of sums of independent
    records, so Var(p) is sum w_i^2 (x_i - p)^2 / W^2, with x_i = 1 in the category, otherwise 0.
    This sum is s (1 - 2 p) + p^2 S, with s = sum w_i^2 x_i. The unknown s is at most S, and at most
    p W M, with M the largest weight. So for m = min(p, 1 - p), by symmetry, the sum is at most
    m^2 S + (1 - 2 m) min(S, m W M). Either variance is at most c p (1 - p) M / W, with c 1 or 2.
    So limits reach at least as far as Wilson's limits for no record, and for all records.

    Parameters
    ----------
    counts : array of int, shape (categories,), or WeightedCounts of one sample
        Randomized values.
    functionals : zeros and ones, shape (proportions, categories)
        A row marks the categories to be added.
    target : "file" or "population"
    confidence : float, in (0, 1)
    """
    z = float(student(np.array(np.inf), confidence))
    if isinstance(counts, WeightedCounts):
        sums, squares = counts.weights.sum(axis=0), counts.squares.sum(axis=0)
        values, q = functionals @ sums / sums.sum(), functionals @ squares / squares.sum()
        S, W, m = squares.sum(), sums.sum(), np.minimum(values, 1 - values)
        bound, c = np.maximum(q * (1 - q), 0.0) * S, 1.0
        if target == "population":
            bound, c = bound + m**2 * S + (1 - 2 * m) * np.minimum(S, m * W * counts.largest), 2.0
        errors, least = np.sqrt(bound) / W, 1 / (1 + W / (z**2 * c * counts.largest))
        low, high = values - z * errors, values + z * errors
        return values, errors, np.minimum(low, 1 - least), np.maximum(high, least)
    n = int(counts.sum())
    if n < 2 and target == "population":
        raise ChannelError(
            "the variance in the population cannot be estimated from one record; give at least 2, "
            "or the target 'file'"
        )
    values, c = functionals @ counts / n, 1.0 if target == "file" else 2 - 1 / n
    unbiased = (n / (n - 1)) ** (1 if target == "file" else 2) if n > 1 else np.nan
    errors = np.sqrt(np.maximum(values * (1 - values), 0.0) * unbiased * c / n)
    a = z**2 * c / n
    center = (values + a / 2) / (1 + a)
    reach = np.sqrt(np.maximum(a * values * (1 - values) + a**2 / 4, 0.0)) / (1 + a)
    return values, errors, np.maximum(center - reach, 0.0), np.minimum(center + reach, 1.0)


def own_proportions(
    counts: Counts | WeightedCounts, channel: Channel, indicators: Floats, target: Target
) -> tuple[Floats, Floats]:
    """Return proportions of randomized values through an invariant matrix, and standard errors.

    The variance for the file is (2.4) of [pram] with the proportions of randomized values instead
    of T/n. For the population, errors are NaN if there is one record.

    With weights it is sum w_i^2 (diag(P_x) - P_x P_x') / (sum w_i)^2, with P_x the row of the
    original category of record i. The sums of squares by original category are estimated with the
    inverse. Through a singular matrix the variance is its bound q (1 - q) sum w_i^2 / (sum w_i)^2,
    with q the proportion by squared weights, and errors for the population are NaN.

    Raises `ChannelError` if sums of counts differ or are 0, or randomized values are not
    categories.

    Parameters
    ----------
    counts : array of int, shape (..., categories), or WeightedCounts of one sample
        Randomized values. All tables of a batch have the same sum.
    channel : Channel
        Invariant for the original frequencies of the records, with weights for the weighted ones
        ([pram], (2.7)).
    indicators : zeros and ones, shape (proportions, categories)
        A row marks the categories to be added.
    target : "file" or "population"
    """
    if not channel.square:
        raise ChannelError(
            f"a channel over {channel.size} categories with {channel.reports} randomized values, "
            "which are not categories: their proportions are not estimates; invert the matrix"
        )
    chances = channel.expected(indicators)
    if not isinstance(counts, WeightedCounts):
        totals = np.unique(np.sum(counts, axis=-1))
        if totals.size != 1 or totals[0] < 1:
            raise ChannelError("tables of counts must have the same sum, of at least one record")
        n = int(totals[0])
        frequencies = counts / n
        values = frequencies @ indicators.T
        variance, spread = frequencies @ (chances * (1 - chances)).T / n, values * (1 - values)
    else:
        sums, squares = counts.weights.sum(axis=0), counts.squares.sum(axis=0)
        n, total = int(counts.records.sum()), float(sums.sum())
        values = indicators @ sums / total
        if channel.singular:
            q = indicators @ squares / squares.sum()
            variance = q * (1 - q) * float(squares.sum()) / total**2
            spread = np.full(len(values), np.nan)
        else:
            original = channel.solve_transposed(squares) / total**2
            variance = (chances * (1 - chances)) @ original
            spread = np.maximum(n * (indicators - values[:, None]) ** 2 @ original, 0.0)
    variance = np.maximum(variance, 0.0)
    if target == "file":
        return values, np.sqrt(variance)
    if n < 2:
        return values, np.full(values.shape, np.nan)
    return values, roots_of_variances(n / (n - 1) * variance + spread / (n - 1), 0.0)
