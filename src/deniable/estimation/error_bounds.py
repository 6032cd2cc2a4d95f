"""How well proportions can be known from n reports ([multirr], sections 2.3, 3.2 and 3.3).

All bounds are of the reports' proportions lambda, before these are turned back into proportions of
true categories. They rest on the normal approximation: with few records a category they promise
more than they hold (`docs/findings.md`). Categories and records are at least 1, alpha is in (0, 1),
else a `DeniableError` is raised.

The estimate is P'^-1 times the proportions of reports, so that errors in these are carried over by
P'^-1. The text measures this by the ratio of the largest to the smallest eigenvalue of P'. That is
a lower bound of the condition number, the factor by which a relative error can grow at worst. Among
matrices of a given parity whose eigenvalues are real and not negative, the form with p_u on the
diagonal and p_d elsewhere has the smallest of both. Among all matrices, as the text has it, it has
not: tests/estimation/test_propagation.py has the proof of the one and counterexamples to the other.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

import numpy as np
import numpy.typing as npt
import scipy

from deniable.channels import Channel, distribution, refuse_no_records
from deniable.errors import ChannelError, DeniableError

MAX_CELLS = 10**200  # beyond, percentiles and squares leave the floats
MAX_EXPONENT = 700.0  # exp of more is no float
SMALLEST_ERROR = 1e-9


def bonferroni_critical_value(categories: int, alpha: float = 0.05) -> float:
    """Return sqrt(B), B the upper alpha / r percentile of the chi-square with 1 degree of freedom.

    The factor of the simultaneous confidence intervals of r proportions, of so many `categories`
    and of the confidence 1 - `alpha`; Figure 1 of [multirr].
    """
    if categories < 1 or not 0 < alpha < 1:
        raise DeniableError(
            f"categories must be at least 1 and alpha in (0, 1), not {categories} and {alpha}"
        )
    if categories > MAX_CELLS:
        raise DeniableError(
            "over 1e200 cells have no bound in floating point; take fewer attributes together"
        )
    return float(sqrt(scipy.special.chdtri(1, alpha / categories)))


def absolute_error(proportions: npt.ArrayLike, records: int, alpha: float = 0.05) -> float:
    """Return the absolute error (5) of [multirr], max over u of sqrt(B l_u (1 - l_u) / n).

    With confidence 1 - alpha all proportions at once are within it of their estimates, up to the
    normal approximation (Definition 1). The `proportions` l are those of r categories of reports
    (lambda in the text), or their estimates: shape (r,), non-negative, sum 1; n is the number of
    `records`, `alpha` in (0, 1).

    Examples
    --------
    >>> round(absolute_error([0.5, 0.5], 100), 6)
    0.11207
    """
    shares = distribution(proportions)
    refuse_no_records(records)
    return bonferroni_critical_value(shares.size, alpha) * sqrt(
        (shares * (1 - shares)).max() / records
    )


def relative_error(proportions: npt.ArrayLike, records: int, alpha: float = 0.05) -> float:
    """Return the relative error (6) of [multirr], max over u of sqrt(B (1 - l_u) / (l_u n)).

    It is infinite if a proportion is 0: no share of nothing is a bound. It is relative to the
    proportion itself. The intervals of Definition 2 are relative to its estimate; to hold with the
    confidence stated they need e / (1 - e) in the place of this e, and do not exist for e >= 1.
    The `proportions`, `records` and `alpha` are those of `absolute_error`.

    Examples
    --------
    >>> round(relative_error([0.5, 0.5], 100), 6), relative_error([1.0, 0.0], 100)
    (0.22414, inf)
    """
    shares = distribution(proportions)
    refuse_no_records(records)
    smallest = float(shares.min())  # the bound falls as a proportion grows
    factor = bonferroni_critical_value(shares.size, alpha)
    if smallest == 0:
        return math.inf
    return factor * sqrt(max(1 - smallest, 0.0) / smallest / records)


def best_case_relative_error(categories: int, records: int, alpha: float = 0.05) -> float:
    """Return the relative error (6) of [multirr] at equal frequencies, sqrt(B (r - 1) / n).

    Equal frequencies are the best case: no other distribution over r `categories` has a smaller
    one. B is that of `bonferroni_critical_value` at `alpha`, and n the number of `records`.
    """
    refuse_no_records(records)
    return bonferroni_critical_value(categories, alpha) * sqrt((categories - 1) / records)


def records_needed(categories: int, error: float, alpha: float = 0.05) -> int:
    """Return how many records bring the relative error (6) at equal frequencies down to `error`.

    The inverse of `best_case_relative_error`, B (r - 1) / error^2 rounded up, with B at `alpha`: no
    distribution over r `categories` needs fewer. The error is at least 1e-9.

    Examples
    --------
    >>> records_needed(2, 0.1)
    503
    """
    if not SMALLEST_ERROR <= error < math.inf:
        raise DeniableError(f"the relative error must be in [1e-9, inf), not {error}")
    records = max(
        math.ceil((bonferroni_critical_value(categories, alpha) / error) ** 2 * (categories - 1)), 1
    )
    # Rounding may have lifted a whole number over itself.
    one_less = records > 1 and best_case_relative_error(categories, records - 1, alpha) <= error
    return records - 1 if one_less else records


def enough_records(cells: int, records: int, factor: float = 10.0) -> bool:
    """Return whether n >> number of cells, bound (7) of [multirr], as n >= `factor` * `cells`.

    n are the `records`. The text leaves open how much larger is much larger. Ten records a cell are
    a floor, not a promise: the relative error (6) at equal frequencies is then still about sqrt(B /
    10), 84 % for 10 cells and over 100 % for 100. `records_needed` gives the number for an error
    that is wanted.
    """
    if cells < 1 or not 0 < factor < math.inf:
        raise DeniableError(
            f"cells must be at least 1 and the factor positive and finite, not {cells} and {factor}"
        )
    refuse_no_records(records)
    return records >= Fraction(str(factor)) * cells  # 33 / 1.1 is below 30 in floats


@dataclass(frozen=True)
class AccuracyAnalysis:
    """RR-Independent held against RR-Joint at equal frequencies ([multirr], 3.3).

    Attributes
    ----------
    relative_error_independent : float
        Max over the attributes of sqrt(B_j (|A_j| - 1) / n). As in the text, each B_j is
        simultaneous over the categories of its own attribute, not over the attributes together.
    widest : int
        Position of the attribute that attains it, the first if there are several.
    relative_error_joint : float
        sqrt(B (cells - 1) / n), simultaneous over all cells.
    """

    relative_error_independent: float
    widest: int
    relative_error_joint: float

    @property
    def ratio(self) -> float:
        """How many times the relative error of RR-Joint is that of RR-Independent, >= 1."""
        if not self.relative_error_independent:
            return 1.0  # one category each: both are exact
        return self.relative_error_joint / self.relative_error_independent


def accuracy_analysis(sizes: Sequence[int], records: int, alpha: float = 0.05) -> AccuracyAnalysis:
    """Compare RR-Independent and RR-Joint for attributes of so many categories, their `sizes`.

    The errors are those of so many `records` at equal frequencies, with confidence 1 - `alpha`.

    Examples
    --------
    >>> found = accuracy_analysis([9, 16, 7, 15, 6, 5, 2, 2], records=32_561)
    >>> round(found.relative_error_independent, 3), round(found.relative_error_joint, 1)
    (0.063, 41.5)
    """
    if not len(sizes):
        raise DeniableError("there are no attributes to analyse; give the size of at least one")
    errors = [best_case_relative_error(size, records, alpha) for size in sizes]
    joint = best_case_relative_error(math.prod(sizes), records, alpha)
    return AccuracyAnalysis(max(errors), errors.index(max(errors)), joint)


def propagation_factor(channel: Channel) -> float:
    """Return P_max / P_min, the ratio of the largest to the smallest |eigenvalue| of P'.

    P' = a I + b 1' has the eigenvalue 1 once and a otherwise: 1 / |a|. That is then no bound but
    the truth: errors of reports sum to 0 and are multiplied by exactly 1 / a. Eigenvalues of a
    product are products of eigenvalues, and so are the factors. All other channels are solved. The
    factor is in [1, inf], infinite for a singular `channel`. A matrix that is not square has no
    eigenvalues: `ChannelError`.

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
            f"a channel over {channel.size} categories with {channel.reports} reports has no "
            "eigenvalues, and so no propagation factor; compare covariances (Channel.covariance)"
        )
    return math.inf if channel.singular else math.prod(map(of_one, channel.simple_factors))


def smallest_propagation(size: int, epsilon: float) -> float:
    """Return the factor of the p_u / p_d form of [multirr], 2.3, (parity + r - 1) / (parity - 1).

    It has `size` categories, r, and its parity, p_u / p_d, is exp(`epsilon`). No matrix of at most
    this epsilon whose eigenvalues are real and not negative has a smaller factor.

    Examples
    --------
    >>> round(smallest_propagation(4, math.log(5)), 12)
    2.0
    """
    if size == 1 or epsilon > MAX_EXPONENT:
        return 1.0
    return 1 + size / math.expm1(epsilon) if epsilon > 0 else math.inf
