"""Names for the kinds of arrays that functions take and return."""

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]  # proportions, probabilities, estimates, measurements
Counts = npt.NDArray[np.int64]  # how many records are in each category or cell
Codes = npt.NDArray[np.integer]  # of categories, classes or clusters, one a record; any width
Flags = npt.NDArray[np.bool_]  # which of several hold
Positions = npt.NDArray[np.intp]  # indices into another array
Sparse = Any  # a sparse matrix of SciPy, which brings no types: mostly `scipy.sparse.csr_array`

ROUNDING = 1e-9  # by which share of a threshold floats that come from arithmetic may miss it


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
    """Return where `values` are at least a `threshold`, or miss it by rounding alone.

    Sums and ratios of floats are off by far less than `ROUNDING`, and exact values never differ by
    so little otherwise. NaN is never at least the threshold.

    Examples
    --------
    >>> bool(at_least(3 * (0.1 + 0.2) / 0.3, 3.0)), bool(at_least(2.99999, 3.0))
    (True, False)
    """
    least = np.asarray(threshold, dtype=float)
    return np.asarray(np.asarray(values) >= least * (1 - ROUNDING * np.sign(least)))
