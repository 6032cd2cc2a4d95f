"""Error bounds for proportions of n randomized values ([multirr], sections 2.3, 3.2 and 3.3).

All bounds are for proportions lambda of randomized values, before the inversion. They use the
normal approximation and are too small with few records per category (`docs/findings.md`). Arguments
out of range raise `DeniableError`.

The estimate is P'^-1 lambda, so P'^-1 propagates the errors. The paper measures this by the ratio
of the largest to the smallest eigenvalue of P'. The ratio is a lower bound of the condition number,
the largest factor by which a relative error can grow. Consider matrices of a given parity with real
eigenvalues that are not negative. Among them, the matrix with p_u on the diagonal and p_d elsewhere
has the smallest ratio and condition number. The paper claims this for all matrices, which is wrong.
tests/estimation/test_propagation.py has a proof of the first statement, and counterexamples.
"""

import math
from math import sqrt
from typing import Literal

import numpy as np
import scipy

from deniable.channels import Channel, refuse_no_records
from deniable.errors import ChannelError, DeniableError, refuse_unknown

MAX_CELLS = 10**200  # beyond, percentiles and squares are not in the range of floats
MAX_EXPONENT = 700.0  # beyond, exp overflows
SMALLEST_ERROR = 1e-9


def bonferroni_critical_value(categories: int, alpha: float = 0.05) -> float:
    """Return sqrt(B), with B the upper alpha / r percentile of chi-square with 1 degree of freedom.

    This is the factor of simultaneous confidence intervals for r proportions ([multirr], Figure 1).
    `categories` is r >= 1; the confidence is 1 - `alpha`, with alpha in (0, 1).
    """
    if categories < 1 or not 0 < alpha < 1:
        raise DeniableError(
            f"categories must be at least 1 and alpha in (0, 1), not {categories} and {alpha}"
        )
    if categories > MAX_CELLS:
        raise DeniableError(
            "over 1e200 cells have no bound in floating point; combine fewer attributes"
        )
    return float(sqrt(scipy.special.chdtri(1, alpha / categories)))


def best_case_relative_error(categories: int, records: int, alpha: float = 0.05) -> float:
    """Return the relative error (6) of [multirr] at equal frequencies, sqrt(B (r - 1) / n).

    No distribution over r `categories` has a smaller error. n is the number of `records`, and
    `alpha` determines B (`bonferroni_critical_value`).
    """
    refuse_no_records(records)
    return bonferroni_critical_value(categories, alpha) * sqrt((categories - 1) / records)


def records_needed(
    categories: int,
    error: float,
    alpha: float = 0.05,
    kind: Literal["relative", "absolute"] = "relative",
) -> int:
    """Return the number of records for an `error` of randomized proportions ([multirr], 2.3).

    The `kind` "relative" is (6) at equal frequencies: B (r - 1) / error^2 rounded up, with B at
    `alpha`. No distribution over r `categories` needs fewer. "absolute" is (5) if a category has
    half of the records: B / (4 error^2). No distribution needs more. The error is at least 1e-9.

    Examples
    --------
    >>> records_needed(2, 0.1), records_needed(2, 0.05, kind="absolute")
    (503, 503)
    """
    refuse_unknown("kind of error", kind, ("relative", "absolute"))
    if not SMALLEST_ERROR <= error < math.inf:
        raise DeniableError(f"the {kind} error must be in [1e-9, inf), not {error}")
    root = bonferroni_critical_value(categories, alpha)
    spread = categories - 1 if kind == "relative" else min(categories - 1, 1) / 4
    records = max(math.ceil((root / error) ** 2 * spread), 1)
    # Rounding may have moved a whole number above itself.
    one_less = records > 1 and root * sqrt(spread / (records - 1)) <= error
    return records - 1 if one_less else records


def propagation_factor(channel: Channel) -> float:
    """Return P_max / P_min, the ratio of the largest to the smallest |eigenvalue| of P', >= 1.

    P' = a I + b 1' has the eigenvalue 1 once and a otherwise. Its factor 1 / |a| is exact: errors
    of the proportions sum to 0 and are multiplied by 1 / a. The factor of a product is the product
    of factors. A singular `channel` has the factor inf. A matrix that is not square raises
    `ChannelError`.

    Examples
    --------
    >>> from deniable.channels import KeepOrReplace
    >>> propagation_factor(KeepOrReplace.uniform(4, keep=0.5))
    2.0
    """

    def of_one(part: Channel) -> float:
        if (form := part.weight_and_replacement) is not None:
            return 1 / abs(form[0])
        eigenvalues = np.abs(np.linalg.eigvals(part.matrix()))
        smallest = float(eigenvalues.min())
        return float(eigenvalues.max()) / smallest if smallest else math.inf

    if not channel.square:
        raise ChannelError(
            f"a channel over {channel.size} categories with {channel.reports} randomized values "
            "has no eigenvalues, and so no propagation factor; compare covariances "
            "(Channel.covariance)"
        )
    return math.inf if channel.singular else math.prod(map(of_one, channel.simple_factors))


def guess_half_width(cells: int) -> float:
    """Return the half-width of 95 % intervals of the proportions in a table, without any data.

    All distributions over so many `cells` are equally likely. So a proportion has the distribution
    Beta(1, cells - 1), which is uniform between 0 and 1 for two cells.

    Examples
    --------
    >>> [round(guess_half_width(cells), 4) for cells in (1, 2, 36)]
    [0.0, 0.475, 0.0497]
    """
    if cells < 2:
        return 0.0
    power = 1 / (cells - 1)
    return float(0.975**power - 0.025**power) / 2


def smallest_propagation(size: int, epsilon: float) -> float:
    """Return the propagation factor of [multirr], 2.3, (parity + r - 1) / (parity - 1).

    The matrix has p_u on the diagonal and p_d elsewhere. `size` is r, the number of categories, and
    the parity p_u / p_d is exp(`epsilon`). No matrix with at most this epsilon and real eigenvalues
    that are not negative has a smaller factor.

    Examples
    --------
    >>> round(smallest_propagation(4, math.log(5)), 12)
    2.0
    """
    if size == 1 or epsilon > MAX_EXPONENT:
        return 1.0
    return 1 + size / math.expm1(epsilon) if epsilon > 0 else math.inf
