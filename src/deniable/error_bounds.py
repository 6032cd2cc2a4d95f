"""How well proportions can be known from n reports (text 003, sections 2.3 and 3.3)."""

from math import sqrt

from scipy import special

from deniable.errors import DeniableError


def root_b(categories: int, alpha: float = 0.05) -> float:
    """Return sqrt(B), B the upper alpha / r percentile of the chi-square with 1 degree of freedom.

    The factor of the simultaneous confidence intervals of r proportions; Figure 1 of text 003.
    """
    if categories < 1 or not 0 < alpha < 1:
        raise DeniableError(
            f"categories must be at least 1 and alpha in (0, 1), not {categories} and {alpha}"
        )
    return float(sqrt(special.chdtri(1, alpha / categories)))


def best_case_relative_error(categories: int, records: int, alpha: float = 0.05) -> float:
    """Return the relative error (6) of text 003 at equal frequencies, sqrt(B (r - 1) / n).

    Equal frequencies are the best case: no other distribution over r categories has a smaller one.
    """
    if records < 1:
        raise DeniableError(f"records must be at least 1, not {records}")
    return root_b(categories, alpha) * sqrt((categories - 1) / records)
