"""Errors of count queries, and distances between estimated and true tables.

Count queries follow [multirr], 6.5; distances follow [rrba], 3.2.1. The last axis has the
cells, and leading axes the replicates. `estimated` and `true` broadcast.
"""

import math
from typing import Literal

import numpy as np
import numpy.typing as npt
import scipy

from deniable.arrays import Flags, Floats, quotients
from deniable.errors import DeniableError
from deniable.sampling import refuse_no_source


def random_queries(
    cells: int,
    coverage: float,
    queries: int,
    generator: np.random.Generator,
    rounding: Literal["up", "random"] = "up",
) -> Flags:
    """Draw random sets of cells: flags, shape (`queries`, `cells`).

    Each set has the proportion `coverage`, in (0, 1], of the cells, rounded up. With the `rounding`
    "random", its size is the next whole number above or below, so that the mean is `coverage`, but
    at least one cell. The `generator` draws all sets of a size with equal probability.
    """
    refuse_no_source(generator)
    if not 0 < coverage <= 1:
        raise DeniableError(f"the coverage is {coverage}; it must be above 0 and at most 1")
    # .07 of 100 cells is 7, although .07 * 100 is a little more in floating point.
    asked = max(math.ceil(coverage * cells - 1e-9), 1)
    keys = generator.random((queries, cells))
    sizes = np.full((queries, 1), asked)
    if rounding == "random":
        sizes -= generator.random((queries, 1)) < asked - coverage * cells
        sizes = np.maximum(sizes, 1)
    ordered = np.partition(keys, sorted({max(asked - 2, 0), asked - 1}), axis=1)
    return np.asarray(keys <= np.take_along_axis(ordered, sizes - 1, axis=1))


def relative_errors(estimated: Floats, true: Floats) -> Floats:
    """Return |Y_S - X_S| / X_S ([multirr], (16)), with Y_S `estimated` and X_S `true` counts.

    If the true count is 0, the error of a positive estimate is infinite, and the error of 0 is 0.
    """
    errors = np.abs(estimated - true)
    return np.divide(errors, true, out=np.where(errors > 0, np.inf, 0.0), where=true > 0)


def squared_errors(estimated: npt.ArrayLike, true: npt.ArrayLike) -> Floats:
    """Return sums over cells of squared errors of `estimated` from `true` tables.

    Their mean over replicates is the ESE ([rrba], 3.2.1). Tables have the shape (..., cells), sums
    (...).

    Examples
    --------
    >>> float(squared_errors([3.0, 4.0], [0.0, 0.0]))
    25.0
    """
    errors = np.asarray(estimated, dtype=float) - np.asarray(true, dtype=float)
    return np.asarray(np.sum(errors**2, axis=-1))


def l2_distances(estimated: npt.ArrayLike, true: npt.ArrayLike) -> Floats:
    """Return Euclidean distances of `estimated` from `true` tables, shape (...) ([rrba], 3.2.1)."""
    return np.sqrt(squared_errors(estimated, true))


def jensen_shannon_distances(estimated: npt.ArrayLike, true: npt.ArrayLike) -> Floats:
    """Return square roots of Jensen-Shannon divergences, with the natural logarithm.

    Formula (2) of [rrba] omits a D_KL and has logarithms of counts. Tables 4 and 5 call their
    numbers distances, and these have the size of the root. The maximum is sqrt(ln 2), for tables
    without a common cell. Each table of `estimated` and `true`, shape (..., cells), is divided by
    its sum. Raises `DeniableError` for negative cells and empty tables: project the estimate first.

    Examples
    --------
    >>> round(float(jensen_shannon_distances([1, 0], [0, 1])), 4)
    0.8326
    """
    tables = _refuse_negative(estimated), _refuse_negative(true)
    first, second = (table / table.sum(axis=-1, keepdims=True) for table in tables)
    middle = (first + second) / 2
    divergences = scipy.special.rel_entr(first, middle) + scipy.special.rel_entr(second, middle)
    # For equal tables, rounding can give a number below 0.
    return np.asarray(np.sqrt(np.maximum(divergences.sum(axis=-1) / 2, 0.0)))


def chi_squared_between(estimated: npt.ArrayLike, true: npt.ArrayLike) -> Floats:
    """Return Pearson's statistic of homogeneity of two tables of counts ([rrba], 3.2.1).

    It is the sum over cells of (sqrt(M / N) a - sqrt(N / M) b)^2 / (a + b), with a `estimated` and
    b `true` counts, shape (..., cells), and totals N and M. Cells that are empty in both tables add
    0. For independent samples of one population it is chi-squared with (cells - 1) degrees of
    freedom. For a noisy and a true table it is a distance, not a test. Errors: see
    `jensen_shannon_distances`.

    Examples
    --------
    >>> round(float(chi_squared_between([30, 70], [50, 50])), 12)
    8.333333333333
    """
    first, second = np.broadcast_arrays(_refuse_negative(estimated), _refuse_negative(true))
    totals = first.sum(axis=-1, keepdims=True), second.sum(axis=-1, keepdims=True)
    balance = np.sqrt(totals[1] / totals[0])
    terms = quotients((balance * first - second / balance) ** 2, first + second)
    return np.asarray(terms.sum(axis=-1))


def _refuse_negative(tables: npt.ArrayLike) -> Floats:
    values = np.asarray(tables, dtype=float)
    if values.size and not (values.min() >= 0 and np.all(values.sum(axis=-1) > 0)):
        raise DeniableError(
            "a table to compare is empty or has a negative cell; project the estimate first"
        )
    return values
