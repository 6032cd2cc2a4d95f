"""Budget allocation: epsilons for parts of a record, with an exact sum that is at most the budget.

Independent randomized values of one record compose exactly: their parities multiply. Each allocated
epsilon is rounded down to a float. So the exact sum is at most epsilon, and the product of all
parities is at most exp(epsilon).
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Literal, get_args

import numpy as np

from deniable.channels import refuse_bad_budget, rounded_down
from deniable.errors import DeniableError, refuse_unknown

Allocation = Literal["even", "size"]


def allocate(epsilon: float, weights: Sequence[float]) -> tuple[float, ...]:
    """Return parts of `epsilon` in proportion to `weights`, each rounded down to a float.

    The weights are positive. Raises `DeniableError` unless epsilon is finite and positive.
    """
    refuse_bad_budget(epsilon)
    total = sum(map(Fraction, weights), Fraction())
    parts = {
        each: rounded_down(Fraction(epsilon) * Fraction(each) / total) for each in set(weights)
    }
    return tuple(parts[each] for each in weights)


def allocate_by_size(
    epsilon: float, sizes: Sequence[int], how: Allocation = "even"
) -> tuple[float, ...]:
    """Return the epsilon of each attribute or cluster of attributes; 0 if it has one cell.

    Raises `DeniableError` if epsilon is not finite and positive, or no size is above 1.

    Parameters
    ----------
    epsilon : float, above 0
        The budget of the whole record.
    sizes : sequence of int, >= 1
        Numbers of categories of the attributes, or of cells of the clusters.
    how : "even" or "size"
        The same epsilon for each, or in proportion to the logarithm of its size.

    Examples
    --------
    >>> allocate_by_size(1.0, [2, 1, 4])
    (0.5, 0.0, 0.5)
    """
    refuse_unknown("budget allocation", how, get_args(Allocation))
    refuse_bad_budget(epsilon)
    if any(size < 1 for size in sizes) or not any(size > 1 for size in sizes):
        raise DeniableError(
            f"an epsilon cannot be allocated to attributes of {', '.join(map(str, sizes)) or 'no'} "
            "categories; give at least 1 each, and one attribute at least 2"
        )
    several = np.array([size for size in sizes if size > 1])
    weights = np.ones(several.size) if how == "even" else np.log(several)
    parts = iter(allocate(epsilon, weights.tolist()))
    return tuple(next(parts) if size > 1 else 0.0 for size in sizes)
