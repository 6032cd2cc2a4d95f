"""How strongly two attributes depend on each other (text 003, section 4)."""

from collections.abc import Collection
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pandas as pd

from deniable.domain import Domain
from deniable.errors import DeniableError
from deniable.microdata import Microdata


def chi_square(table: npt.ArrayLike) -> float:
    """Return Pearson's chi-square statistic of independence of a two-way table.

    The printed denominator of text 003 is a misprint; it is the expected count. Rows and columns
    without records add nothing.
    """
    observed = np.asarray(table, dtype=float)
    expected = np.outer(observed.sum(axis=1), observed.sum(axis=0)) / observed.sum()
    difference = (observed - expected) ** 2
    return float(
        np.divide(difference, expected, out=np.zeros_like(expected), where=expected > 0).sum()
    )


def cramers_v(table: npt.ArrayLike) -> float:
    """Return Cramer's V of a two-way table, in [0, 1] (text 003, (9)).

    The numbers of categories are those of the attributes, whether or not they occur. An attribute
    with one category depends on nothing: 0.

    Examples
    --------
    >>> cramers_v([[10, 0], [0, 10]]), cramers_v([[5, 5], [5, 5]])
    (1.0, 0.0)
    """
    counts = np.asarray(table, dtype=float)
    if counts.sum() <= 0:
        raise DeniableError("an empty table says nothing of dependence")
    freedom = min(counts.shape) - 1
    if not freedom:
        return 0.0
    # Rounding can lift a perfect dependence over 1 by a unit of the last place.
    return float(min(np.sqrt(chi_square(counts) / counts.sum() / freedom), 1.0))


def absolute_correlation(table: npt.ArrayLike) -> float:
    """Return |Pearson's r| of the codes of two ordinal attributes, in [0, 1] (text 003, (8)).

    An attribute that does not vary depends on nothing: 0.
    """
    joint = np.asarray(table, dtype=float)
    if joint.sum() <= 0:
        raise DeniableError("an empty table says nothing of dependence")
    joint = joint / joint.sum()
    x, y = (np.arange(size, dtype=float) for size in joint.shape)
    rows, columns = joint.sum(axis=1), joint.sum(axis=0)
    x, y = x - rows @ x, y - columns @ y
    variances = (rows @ x**2) * (columns @ y**2)
    return float(min(abs(x @ joint @ y) / np.sqrt(variances), 1.0)) if variances > 0 else 0.0


def dependences(data: Microdata, ordinal: Collection[str] = ()) -> pd.DataFrame:
    """Measure the dependence of every pair of attributes.

    Parameters
    ----------
    data : Microdata
    ordinal : collection of str
        Attributes to take as ordinal besides those that the domain says are; a pair of ordinal
        attributes is measured by |r|, every other pair by Cramer's V.

    Returns
    -------
    DataFrame
        Columns attribute_1, attribute_2, measure, dependence; a row a pair, in the domain's order.
    """
    ordered = _ordinal_names(data.domain, ordinal)
    rows = []
    for first, second in combinations(data.domain.names, 2):
        table = data.counts([first, second])
        if first in ordered and second in ordered:
            rows.append((first, second, "pearson", absolute_correlation(table)))
        else:
            rows.append((first, second, "cramers_v", cramers_v(table)))
    return pd.DataFrame(rows, columns=["attribute_1", "attribute_2", "measure", "dependence"])


def _ordinal_names(domain: Domain, ordinal: Collection[str]) -> set[str]:
    named = {domain[name].name for name in ordinal}
    return named | {attribute.name for attribute in domain if attribute.scale == "ordinal"}
