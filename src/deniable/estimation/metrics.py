"""How far an estimate is from a known truth: errors of count queries, distances of whole tables.

Count queries are those of [multirr], 6.5, distances those of [rrba], 3.2.1. These work on the last
axis, the cells, and over any leading axes of runs. What is estimated and what is true have one
shape, or shapes that NumPy broadcasts.
"""

import math

import numpy as np
import numpy.typing as npt
import scipy

from deniable.arrays import Flags, Floats
from deniable.errors import DeniableError
from deniable.sampling import refuse_no_source


def queried_cells(cells: int, coverage: float) -> int:
    """Return how many of the `cells` a query of a `coverage`, a share of them, has, rounded up."""
    if not 0 < coverage <= 1:
        raise DeniableError(f"the coverage is {coverage}; it must be above 0 and at most 1")
    # .07 of 100 cells is 7, although .07 * 100 is a little more in floating point.
    return max(math.ceil(coverage * cells - 1e-9), 1)


def random_queries(
    cells: int, coverage: float, queries: int, generator: np.random.Generator
) -> Flags:
    """Draw so many `queries`, each a random set of cells: flags, shape (queries, cells).

    Of so many `cells` each query covers the share `coverage`, in (0, 1], rounded up; sets of that
    size are equally likely. They are drawn by `generator`.
    """
    refuse_no_source(generator)
    asked = queried_cells(cells, coverage)
    keys = generator.random((queries, cells))
    last = np.partition(keys, asked - 1, axis=1)[:, asked - 1 : asked]
    return np.asarray(keys <= last)


def absolute_errors(estimated: Floats, true: Floats) -> Floats:
    """Return |Y_S - X_S|, in records: the answers `estimated`, Y, and the `true` ones, X."""
    return np.abs(estimated - true)


def relative_errors(estimated: Floats, true: Floats) -> Floats:
    """Return |Y_S - X_S| / X_S ([multirr], (16)), Y `estimated` and X `true` numbers of records.

    Infinite where nothing is there to count but something is estimated; 0 where neither is.
    """
    errors = absolute_errors(estimated, true)
    empty = np.where(errors > 0, np.inf, 0.0)
    return np.divide(errors, true, out=empty, where=true > 0)


def squared_errors(estimated: npt.ArrayLike, true: npt.ArrayLike) -> Floats:
    """Return the sum over cells of squared errors; its mean over runs is the ESE ([rrba], 3.2.1).

    The tables `estimated` and `true` have the shape (..., cells), what is returned (...).

    Examples
    --------
    >>> float(squared_errors([3.0, 4.0], [0.0, 0.0]))
    25.0
    """
    errors = np.asarray(estimated, dtype=float) - np.asarray(true, dtype=float)
    return np.asarray(np.sum(errors**2, axis=-1))


def l2_distances(estimated: npt.ArrayLike, true: npt.ArrayLike) -> Floats:
    """Return the Euclidean distances of tables, in the tables' unit ([rrba], 3.2.1).

    The tables `estimated` and `true` have the shape (..., cells), the distances (...).
    """
    return np.sqrt(squared_errors(estimated, true))


def jensen_shannon_distances(estimated: npt.ArrayLike, true: npt.ArrayLike) -> Floats:
    """Return the square roots of the Jensen-Shannon divergences of tables, natural logarithm.

    [rrba] prints the divergence in (2), lacking a D_KL and with logarithms of counts; the numbers
    of its Tables 4 and 5 are called distances and have the size of the root. At most sqrt(ln 2),
    which tables without a common cell attain. The tables `estimated` and `true`, shape (...,
    cells), are of counts or of proportions: each is divided by its own sum. Negative cells and
    empty tables are a `DeniableError`: project the estimate first.

    Examples
    --------
    >>> round(float(jensen_shannon_distances([1, 0], [0, 1])), 4)
    0.8326
    """
    tables = _refuse_negative(estimated), _refuse_negative(true)
    first, second = (table / table.sum(axis=-1, keepdims=True) for table in tables)
    middle = (first + second) / 2
    divergences = scipy.special.rel_entr(first, middle) + scipy.special.rel_entr(second, middle)
    # Equal tables can come out a rounding error below 0.
    return np.asarray(np.sqrt(np.maximum(divergences.sum(axis=-1) / 2, 0.0)))


def chi_squared_between(estimated: npt.ArrayLike, true: npt.ArrayLike) -> Floats:
    """Return Pearson's statistic of homogeneity of two tables of counts ([rrba], 3.2.1).

    With the totals N and M, the sum over cells of (sqrt(M / N) a - sqrt(N / M) b)^2 / (a + b) for
    the tables a, `estimated`, and b, `true`, of shape (..., cells); cells that are empty in both
    add nothing. If both were independent samples of one population it
    would be chi-squared with (cells - 1) degrees of freedom. A noisy table and the true one are
    not: the statistic is a distance here, and no test. Negative cells and empty tables are a
    `DeniableError`: project the estimate first.

    Examples
    --------
    >>> round(float(chi_squared_between([30, 70], [50, 50])), 12)
    8.333333333333
    """
    first, second = np.broadcast_arrays(_refuse_negative(estimated), _refuse_negative(true))
    totals = first.sum(axis=-1, keepdims=True), second.sum(axis=-1, keepdims=True)
    balance = np.sqrt(totals[1] / totals[0])
    both = first + second
    terms = np.zeros(both.shape)
    np.divide((balance * first - second / balance) ** 2, both, out=terms, where=both > 0)
    return np.asarray(terms.sum(axis=-1))


def _refuse_negative(tables: npt.ArrayLike) -> Floats:
    values = np.asarray(tables, dtype=float)
    if values.size and not (values.min() >= 0 and np.all(values.sum(axis=-1) > 0)):
        raise DeniableError(
            "a table to compare has a negative cell, one that is no number, or nothing in it; "
            "project the estimate onto the tables of counts first"
        )
    return values
