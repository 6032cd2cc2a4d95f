"""Types of the arrays that functions take and return, and comparisons apart from rounding."""

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]  # proportions, probabilities, estimates, measurements
Counts = npt.NDArray[np.int64]  # numbers of records in each category or cell
Codes = npt.NDArray[np.integer]  # of categories, classes or clusters, one per record; any width
Flags = npt.NDArray[np.bool_]  # whether a condition holds, for each element
Positions = npt.NDArray[np.intp]  # indices into another array
Sparse = Any  # a sparse matrix of SciPy, which has no types: mostly `scipy.sparse.csr_array`

ROUNDING = 1e-9  # relative error of rounding, by which computed floats may be below a threshold


def quotients(above: Any, below: Any, otherwise: Any = 0.0) -> Floats:
    """Return `above` / `below`, and `otherwise` where `below` is not above 0; shapes broadcast.

    Examples
    --------
    >>> quotients([1.0, 2.0], [4.0, 0.0]).tolist()
    [0.25, 0.0]
    """
    shape, divisors = np.broadcast_shapes(np.shape(above), np.shape(below)), np.asarray(below)
    found = np.full_like(divisors, otherwise, dtype=float, shape=shape)
    return np.asarray(np.divide(above, divisors, out=found, where=divisors > 0))


def at_least(values: npt.ArrayLike, threshold: npt.ArrayLike) -> Flags:
    """Return whether `values` are at least `threshold`, apart from rounding; shapes broadcast.

    Sums and ratios of floats have errors far below `ROUNDING`. Exact values never differ by so
    little unless they are equal. The result is false for NaN.

    Examples
    --------
    >>> bool(at_least(3 * (0.1 + 0.2) / 0.3, 3.0)), bool(at_least(2.99999, 3.0))
    (True, False)
    """
    least = np.asarray(threshold, dtype=float)
    return np.asarray(np.asarray(values) >= least * (1 - ROUNDING * np.sign(least)))
