"""The privacy that is claimed against the privacy that is there.

Nothing here asks a channel for its own epsilon. Matrices that auditors rebuild in whole numbers
from the papers' definitions have their ratios taken column by column; the matrices that ship are
taken by their dense columns; and the samplers that ship are held against those.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product

import numpy as np
import numpy.typing as npt
from scipy import special

from deniable.arrays import Codes
from deniable.errors import DeniableError

Matrix = npt.NDArray[np.object_]
"""Whole-number weights as Python integers, each row proportional to its probabilities: exact, and
faster than fractions."""

LEAST_EXPECTED = 5.0  # counts that a chi-square test takes cell by cell
CLAIM_TOLERANCE = 1e-12  # claims are formulas evaluated to nearest
FLOAT_TOLERANCE = 1e-9  # entries of a shipped matrix are floats, some of them far below 1


@dataclass(frozen=True)
class Finding:
    """A claim of privacy and what is true of it.

    Attributes
    ----------
    claimed : float
        Epsilon by the paper's formula.
    exact : float
        Epsilon of the matrix that the paper defines, in whole numbers, rounded up.
    shipped : float
        Epsilon of the matrix that this library draws from, from its dense columns, rounded up.
    """

    claimed: float
    exact: float
    shipped: float

    @property
    def holds(self) -> bool:
        """Whether neither epsilon is above the claim (up to rounding)."""
        return _within(self.exact, self.claimed, CLAIM_TOLERANCE) and _within(
            self.shipped, self.claimed, FLOAT_TOLERANCE
        )


def _within(epsilon: float, claim: float, tolerance: float) -> bool:
    return epsilon <= claim * (1 + tolerance) + tolerance


def constant_matrix(size: int, odds: Fraction) -> Matrix:
    """Return the weights of the matrix whose diagonal is `odds` times its other entries."""
    weights = np.full((size, size), odds.denominator, dtype=object)
    np.fill_diagonal(weights, odds.numerator)
    return weights


def exact_epsilon(matrix: Matrix, classes: Sequence[Sequence[int]] | None = None) -> float:
    """Return the exact epsilon of a matrix of whole-number weights: the worst ratio in a column.

    Parameters
    ----------
    matrix : object array of Python integers, rows of equal sum
        Each row proportional to its probabilities.
    classes : sequences of row numbers, optional
        True values that privacy must not tell apart from others of their class; by default all
        are one class.

    Raises
    ------
    DeniableError
        If a weight is negative or the rows differ in their sum: they are then no distributions.
    """
    sums = set(matrix.sum(axis=1))
    if len(sums) != 1 or matrix.min() < 0:
        raise DeniableError("the matrix to audit has negative weights or rows of unequal sum")
    worst = Fraction(1)
    for rows in classes or [range(len(matrix))]:
        part = matrix[list(rows)]
        for largest, smallest in zip(part.max(axis=0), part.min(axis=0), strict=True):
            if smallest == 0 < largest:
                return math.inf
            if largest * worst.denominator > smallest * worst.numerator:
                worst = Fraction(largest, smallest)
    return _log_rounded_up(worst)


def _log_rounded_up(ratio: Fraction) -> float:
    """Return the smallest float not below ln(ratio); not by the code that is audited."""
    with localcontext(prec=60):
        logarithm = (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln()
    nearest = float(logarithm)
    return nearest if Decimal(nearest) >= logarithm else math.nextafter(nearest, math.inf)


def column_epsilon(matrix: npt.ArrayLike, classes: Sequence[Sequence[int]] | None = None) -> float:
    """Return the epsilon of a matrix of floats: the worst ratio in a column, rounded up.

    Parameters
    ----------
    matrix : shape (size, size), rows with sum 1
    classes : as in `exact_epsilon`
    """
    P = np.asarray(matrix, dtype=float)
    worst = 0.0
    for rows in classes or [range(len(P))]:
        largest, smallest = P[list(rows)].max(axis=0), P[list(rows)].min(axis=0)
        if np.any((smallest == 0) & (largest > 0)):
            return math.inf
        some = smallest > 0
        if some.any():
            worst = max(worst, float(np.log(largest[some] / smallest[some]).max()))
    return worst * (1 + 2.0**-50) + 2.0**-50 if worst > 0 else 0.0


def cells_by_others(sizes: Sequence[int], changed: int) -> list[list[int]]:
    """Return classes of cells that differ in one attribute only, by position of that attribute."""
    classes: dict[tuple[int, ...], list[int]] = {}
    for number, cell in enumerate(product(*(range(size) for size in sizes))):
        classes.setdefault(cell[:changed] + cell[changed + 1 :], []).append(number)
    return list(classes.values())


@dataclass(frozen=True)
class SamplerTest:
    """A goodness-of-fit test of a sampler against the matrix that it claims.

    Attributes
    ----------
    draws : int
    statistic, degrees_of_freedom : float
        Pearson's chi-square over all rows, cells expected below 5 pooled row by row.
    rare_p_value : float
        Of the pooled cells alone, summed over rows and tested column by column: where a rare report
        goes to shows in no single row. NaN where there is nothing to test.
    p_value : float
        Of both tests together: twice the smaller, where there are two.
    impossible : int
        Draws of reports that have probability 0. Any is a fault.
    """

    draws: int
    statistic: float
    degrees_of_freedom: int
    rare_p_value: float
    p_value: float
    impossible: int


def audit_sampler(
    randomize: Callable[[Codes], Codes], matrix: npt.ArrayLike, draws_a_row: int
) -> SamplerTest:
    """Draw from a sampler at every true category and hold the reports against its matrix.

    Parameters
    ----------
    randomize : callable
        Codes in, reported codes out, as the release uses it.
    matrix : row-stochastic
    draws_a_row : int, >= 1
    """
    P = np.asarray(matrix, dtype=float)
    size = len(P)
    reports = randomize(np.repeat(np.arange(size), draws_a_row)).reshape(size, draws_a_row)
    statistic, freedom, impossible = 0.0, 0, 0
    rare_observed, rare_expected = np.zeros(size), np.zeros(size)
    for row, drawn in zip(P, reports, strict=True):
        observed = np.bincount(drawn, minlength=size).astype(float)
        impossible += int(observed[row == 0].sum())
        expected = draws_a_row * row
        rare = (expected < LEAST_EXPECTED) & (row > 0)
        rare_observed[rare] += observed[rare]
        rare_expected[rare] += expected[rare]
        observed, expected = _pooled(observed, expected)
        statistic += float(((observed - expected) ** 2 / expected).sum())
        freedom += expected.size - 1
    whole = float(special.chdtrc(freedom, statistic)) if freedom else 1.0
    rare_p = _rare_p_value(rare_observed, rare_expected)
    p_value = whole if math.isnan(rare_p) else min(1.0, 2 * min(whole, rare_p))
    return SamplerTest(size * draws_a_row, statistic, freedom, rare_p, p_value, impossible)


def _rare_p_value(observed: np.ndarray, expected: np.ndarray) -> float:
    """Test where rare reports went, given how many there were."""
    if observed.sum() == 0:
        return math.nan
    expected = expected * observed.sum() / expected.sum()
    observed, expected = _pooled(observed, expected)
    if expected.size < 2:
        return math.nan
    statistic = float(((observed - expected) ** 2 / expected).sum())
    return float(special.chdtrc(expected.size - 1, statistic))


def _pooled(observed: np.ndarray, expected: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    rare = expected < LEAST_EXPECTED
    if not rare.any():
        return observed, expected
    observed = np.append(observed[~rare], observed[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    keep = expected > 0
    return observed[keep], expected[keep]
