"""What estimates are good for: count queries and their errors (text 003, 6.5)."""

import math

import numpy as np
import numpy.typing as npt

from deniable.errors import DeniableError


def queried_cells(cells: int, coverage: float) -> int:
    """Return the number of cells of a query that covers a share of them, rounded up."""
    if not 0 < coverage <= 1:
        raise DeniableError(f"the coverage is {coverage}; it must be above 0 and at most 1")
    # .07 of 100 cells is 7, although .07 * 100 is a little more in floating point.
    return max(math.ceil(coverage * cells - 1e-9), 1)


def random_queries(
    cells: int, coverage: float, queries: int, generator: np.random.Generator
) -> npt.NDArray[np.bool_]:
    """Draw queries, each a random set of cells of the stated coverage.

    Returns
    -------
    array of bool, shape (queries, cells)
    """
    asked = queried_cells(cells, coverage)
    keys = generator.random((queries, cells))
    last = np.partition(keys, asked - 1, axis=1)[:, asked - 1 : asked]
    return np.asarray(keys <= last)


def absolute_errors(
    estimated: npt.NDArray[np.float64], true: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return |Y_S - X_S|, in records."""
    return np.abs(estimated - true)


def relative_errors(
    estimated: npt.NDArray[np.float64], true: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return |Y_S - X_S| / X_S (text 003, (16)).

    Infinite where nothing is there to count but something is estimated; 0 where neither is.
    """
    errors = absolute_errors(estimated, true)
    empty = np.where(errors > 0, np.inf, 0.0)
    return np.divide(errors, true, out=empty, where=true > 0)
