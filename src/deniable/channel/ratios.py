"""Exact ratios of probabilities, and their logarithms rounded up."""

import math
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import numpy.typing as npt

# 60 digits leave 40 beyond a float's own, so that the rounding below is never in doubt.
_PRECISE = Context(prec=60)
_SLACK = Decimal("1e-50")


def exact_ratio(larger: float | Fraction, smaller: float | Fraction) -> Fraction | None:
    """Return larger / smaller as a fraction; 0/0 is 1 and a/0 is None (infinite).

    These conventions are those of text 001, Definition 3.3.
    """
    if larger == smaller:
        return Fraction(1)
    if smaller == 0:
        return None
    return Fraction(larger) / Fraction(smaller)


def rounded_up(ratio: Fraction | None) -> float:
    """Return the smallest float that is not below `ratio`."""
    if ratio is None:
        return math.inf
    nearest = ratio.numerator / ratio.denominator
    return nearest if Fraction(nearest) >= ratio else math.nextafter(nearest, math.inf)


def log_rounded_up(ratio: Fraction | None) -> float:
    """Return a float not below ln(ratio), at most one step above it, for ratio >= 1."""
    if ratio is None:
        return math.inf
    if ratio == 1:
        return 0.0
    quotient = _PRECISE.divide(Decimal(ratio.numerator), Decimal(ratio.denominator))
    logarithm = _PRECISE.ln(quotient)
    nearest = float(logarithm)
    certain = Decimal(nearest) >= logarithm + abs(logarithm) * _SLACK
    return nearest if certain else math.nextafter(nearest, math.inf)


def largest_column_ratio(matrix: npt.NDArray[np.float64]) -> Fraction | None:
    """Return max over columns of (largest entry / smallest entry), exactly; None if infinite."""
    larger, smaller = matrix.max(axis=0), matrix.min(axis=0)
    if np.any((smaller == 0) & (larger > 0)):
        return None
    with np.errstate(invalid="ignore"):
        approximate = np.where(larger == smaller, 1.0, larger / smaller)
    # Floats find the few columns that can be the largest; fractions decide among them.
    near = np.flatnonzero(approximate >= approximate.max() * (1 - 1e-12))
    pairs = {(float(larger[v]), float(smaller[v])) for v in near}
    ratios = [exact_ratio(large, small) for large, small in pairs]
    return max(ratio for ratio in ratios if ratio is not None)
