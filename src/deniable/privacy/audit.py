"""Independent audits of matrices and samplers, from the definition of epsilon.

No function here uses a channel's own epsilon. Auditors rebuild matrices in whole numbers from the
papers' definitions, and compute the ratios column by column. The library's matrices are audited by
their dense columns, and its samplers are compared with these.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import scipy

from deniable.arrays import Codes, at_least
from deniable.channels import Channel
from deniable.errors import DeniableError, named_types

Matrix = npt.NDArray[np.object_]
"""Whole-number weights as Python integers, each row proportional to its probabilities. They are
exact, and faster than fractions."""

LEAST_EXPECTED = 5.0  # smallest expected count of a cell that is not pooled in a chi-square test
CLAIM_TOLERANCE = 1e-12  # claims are formulas evaluated in floats
FLOAT_TOLERANCE = 1e-9  # entries of the library's matrices are floats, some of them far below 1


@dataclass(frozen=True)
class Finding:
    """A `claimed` epsilon from a paper's formula, and the audited epsilons, rounded up.

    `exact` is for the paper's matrix in whole numbers, and `shipped` for the dense columns of the
    matrix that this library draws from.
    """

    claimed: float
    exact: float
    shipped: float

    @property
    def holds(self) -> bool:
        """Whether neither epsilon is above the claim (up to rounding)."""
        found = ((self.exact, CLAIM_TOLERANCE), (self.shipped, FLOAT_TOLERANCE))
        return all(each <= self.claimed * (1 + slack) + slack for each, slack in found)


def constant_matrix(size: int, odds: Fraction) -> Matrix:
    """Return weights, shape (`size`, `size`): the ratio of diagonal to other entries is `odds`."""
    weights = np.full((size, size), odds.denominator, dtype=object)
    np.fill_diagonal(weights, odds.numerator)
    return weights


def whole_weights(channel: Channel) -> Matrix:
    """Return the matrix of a `channel` in whole-number weights."""
    columns = [channel.exact_column(report) for report in range(channel.reports)]
    distinct = {p for column in columns for p in column}
    common = math.lcm(*(p.denominator for p in distinct))
    weights = {p: p.numerator * (common // p.denominator) for p in distinct}
    return np.array([[weights[p] for p in column] for column in columns], dtype=object).T


@named_types
def exact_epsilon(matrix: Matrix, classes: Sequence[Sequence[int]] | None = None) -> float:
    """Return the exact epsilon of a `matrix` of whole-number weights: the worst ratio in a column.

    `classes` are sequences of row numbers. Only rows within a class are compared; by default all
    are. Raises `DeniableError` if a weight is negative or the rows have different sums.
    """
    return epsilon_of_ratio(largest_ratio(matrix, classes))


def epsilon_of_ratio(ratio: Fraction | None) -> float:
    """Return the smallest float that is not below ln(`ratio`); infinite for None."""
    if ratio is None:
        return math.inf
    # This does not use the code that is audited.
    with localcontext(prec=60):
        logarithm = (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln()
    nearest = float(logarithm)
    return nearest if Decimal(nearest) >= logarithm else math.nextafter(nearest, math.inf)


def largest_ratio(
    matrix: Matrix, classes: Sequence[Sequence[int]] | None = None
) -> Fraction | None:
    """Return exp(`exact_epsilon`) as a fraction, None if infinite.

    The arguments `matrix` and `classes` are the same.
    """
    _refuse_empty(matrix)
    if len(set(matrix.sum(axis=1))) != 1 or matrix.min() < 0:
        raise DeniableError("the matrix to audit has negative weights or rows of unequal sum")
    worst = Fraction(1)
    for rows in classes or [range(len(matrix))]:
        part = matrix[list(rows)]
        for largest, smallest in zip(part.max(axis=0), part.min(axis=0), strict=True):
            if smallest == 0 < largest:
                return None
            if largest * worst.denominator > smallest * worst.numerator:
                worst = Fraction(largest, smallest)
    return worst


def _refuse_empty(matrix: npt.ArrayLike) -> None:
    if np.ndim(matrix) != 2 or not np.size(matrix):
        raise DeniableError("the matrix to audit must have rows and columns")


@named_types
def column_epsilon(matrix: npt.ArrayLike, classes: Sequence[Sequence[int]] | None = None) -> float:
    """Return the epsilon of a stochastic `matrix` of floats: the worst column ratio, rounded up.

    For `classes` see `exact_epsilon`.
    """
    _refuse_empty(matrix)
    P = np.asarray(matrix, dtype=float)
    worst = 0.0
    for rows in classes or [range(len(P))]:
        largest, smallest = P[list(rows)].max(axis=0), P[list(rows)].min(axis=0)
        if np.any((smallest == 0) & (largest > 0)):
            return math.inf
        if (some := smallest > 0).any():
            worst = max(worst, float(np.log(largest[some] / smallest[some]).max()))
    return worst * (1 + 2.0**-50) + 2.0**-50 if worst > 0 else 0.0


def cells_differing_in_one_attribute(sizes: Sequence[int], changed: int) -> list[list[int]]:
    """Return classes of cells that differ only in the attribute at the position `changed`.

    The last attribute changes fastest in the numbers of cells; `sizes` are numbers of categories.
    """
    cells = np.moveaxis(np.arange(math.prod(sizes)).reshape(sizes), changed, -1)
    classes: list[list[int]] = cells.reshape(-1, sizes[changed]).tolist()
    return classes


@dataclass(frozen=True)
class SamplerTest:
    """A goodness-of-fit test of a sampler for the matrix that it claims, from `draws` draws.

    Attributes
    ----------
    statistic, degrees_of_freedom
        Pearson's chi-square over all rows, with cells expected below 5 pooled row by row.
    rare_p_value
        For the pooled cells alone, summed over rows and tested column by column, because a single
        row has too few rare values. NaN if there are none.
    p_value
        For both tests together: twice the smaller p-value, if there are two.
    impossible
        Number of draws with probability 0. Any such draw is an error of the sampler.
    """

    draws: int
    statistic: float
    degrees_of_freedom: int
    rare_p_value: float
    p_value: float
    impossible: int


@named_types
def audit_sampler(
    randomize: Callable[[Codes], Codes], matrix: npt.ArrayLike, draws_a_row: int
) -> SamplerTest:
    """Draw randomized values for each category, and test their fit to the claimed matrix.

    `randomize` is the sampler: it turns codes into randomized codes. There are `draws_a_row` draws
    for each row of the row-stochastic `matrix`, shape (categories, reports). Raises `DeniableError`
    for a randomized value without a column.
    """
    _refuse_empty(matrix)
    P = np.asarray(matrix, dtype=float)
    size, width = P.shape
    reports = randomize(np.repeat(np.arange(size), draws_a_row)).reshape(size, draws_a_row)
    if reports.size and not 0 <= reports.min() <= reports.max() < width:
        raise DeniableError(
            f"the sampler draws the value {reports.min() if reports.min() < 0 else reports.max()}"
            f", but its matrix has 0 .. {width - 1}"
        )
    statistic, freedom, impossible = 0.0, 0, 0
    rare_observed, rare_expected = np.zeros(width), np.zeros(width)
    for row, drawn in zip(P, reports, strict=True):
        observed = np.bincount(drawn, minlength=width).astype(float)
        impossible += int(observed[row == 0].sum())
        expected = draws_a_row * row
        rare = ~at_least(expected, LEAST_EXPECTED) & (row > 0)
        rare_observed[rare] += observed[rare]
        rare_expected[rare] += expected[rare]
        own, more = _pearson(observed, expected)
        statistic, freedom = statistic + own, freedom + more
    whole = float(scipy.special.chdtrc(freedom, statistic)) if freedom else 1.0
    rare_p = math.nan  # of the distribution of rare randomized values, given their number
    if number := rare_observed.sum():
        own, more = _pearson(rare_observed, rare_expected * number / rare_expected.sum())
        rare_p = float(scipy.special.chdtrc(more, own)) if more > 0 else math.nan
    p_value = whole if math.isnan(rare_p) else min(1.0, 2 * min(whole, rare_p))
    return SamplerTest(size * draws_a_row, statistic, freedom, rare_p, p_value, impossible)


def _pearson(observed: np.ndarray, expected: np.ndarray) -> tuple[float, int]:
    """Return Pearson's chi-square and degrees of freedom; cells expected below 5 are pooled."""
    if (rare := ~at_least(expected, LEAST_EXPECTED)).any():
        observed = np.append(observed[~rare], observed[rare].sum())
        expected = np.append(expected[~rare], expected[rare].sum())
        observed, expected = observed[expected > 0], expected[expected > 0]
    return float(((observed - expected) ** 2 / expected).sum()), expected.size - 1
