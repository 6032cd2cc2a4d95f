"""How strongly attributes depend on each other, and the clusters they form ([multirr], 4)."""

from collections.abc import Callable, Collection, Mapping
from itertools import combinations
from math import prod
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from deniable.arrays import Floats
from deniable.errors import DeniableError
from deniable.records import Domain, Microdata

Pair = tuple[str, str]
Clusters = tuple[tuple[str, ...], ...]
Measure = Literal["cramers_v", "pearson"]


def cramers_v(table: npt.ArrayLike) -> float:
    """Return Cramer's V of a two-way table, in [0, 1] ([multirr], (9)).

    The numbers of categories are those of the attributes, whether or not they occur. An attribute
    with one category depends on nothing: 0.

    Examples
    --------
    >>> cramers_v([[10, 0], [0, 10]]), cramers_v([[5, 5], [5, 5]])
    (1.0, 0.0)
    """
    return float(dependence_of_tables(table, "cramers_v"))


def absolute_correlation(table: npt.ArrayLike) -> float:
    """Return |Pearson's r| of the codes of two ordinal attributes, in [0, 1] ([multirr], (8)).

    An attribute that does not vary depends on nothing: 0.
    """
    return float(dependence_of_tables(table, "pearson"))


def dependence_of_tables(tables: npt.ArrayLike, measure: Measure) -> Floats:
    """Measure the dependence in each of many two-way tables at once.

    Parameters
    ----------
    tables : shape (..., rows, columns)
        Counts or proportions: any numbers, as estimates are. Cramer's V takes none below 0.
    measure : "cramers_v" or "pearson"

    Returns
    -------
    array, shape (...)

    Examples
    --------
    >>> dependence_of_tables([[[10, 0], [0, 10]], [[5, 5], [5, 5]]], "cramers_v")
    array([1., 0.])
    """
    joint = np.asarray(tables, dtype=float)
    if not np.all(joint.sum(axis=(-2, -1)) > 0):
        raise DeniableError("an empty table says nothing of dependence")
    return _MEASURES[measure](joint)


def _chi_squares(observed: Floats) -> Floats:
    rows, columns = observed.sum(axis=-1), observed.sum(axis=-2)
    total = rows.sum(axis=-1)[..., None, None]
    expected = rows[..., :, None] * columns[..., None, :] / total
    terms = np.zeros_like(expected)
    np.divide((observed - expected) ** 2, expected, out=terms, where=expected > 0)
    return np.asarray(terms.sum(axis=(-2, -1)))


def _cramers_v(counts: Floats) -> Floats:
    if np.any(counts < 0):
        raise DeniableError("Cramer's V needs a table without negative entries; project it first")
    total, freedom = counts.sum(axis=(-2, -1)), min(counts.shape[-2:]) - 1
    if not freedom:
        return np.zeros(counts.shape[:-2])
    # Rounding can lift a perfect dependence over 1 by a unit of the last place.
    return np.asarray(np.minimum(np.sqrt(_chi_squares(counts) / total / freedom), 1.0))


def _absolute_correlation(counts: Floats) -> Floats:
    joint = counts / counts.sum(axis=(-2, -1), keepdims=True)
    rows, columns = joint.sum(axis=-1), joint.sum(axis=-2)
    x, y = (np.arange(size, dtype=float) for size in joint.shape[-2:])
    # Codes from their means, table by table.
    x, y = x - (rows @ x)[..., None], y - (columns @ y)[..., None]
    covariances = np.einsum("...a,...ab,...b->...", x, joint, y)
    variances = (rows * x**2).sum(axis=-1), (columns * y**2).sum(axis=-1)
    # An estimate that was not projected can have a variance below 0: it does not vary.
    scale = np.sqrt(np.maximum(variances[0], 0.0) * np.maximum(variances[1], 0.0))
    correlations = np.zeros_like(scale)
    np.divide(np.abs(covariances), scale, out=correlations, where=scale > 0)
    return np.asarray(np.minimum(correlations, 1.0))


_MEASURES: dict[Measure, Callable[[Floats], Floats]] = {
    "cramers_v": _cramers_v,
    "pearson": _absolute_correlation,
}


def pair_measures(domain: Domain, ordinal: Collection[str] = ()) -> dict[Pair, Measure]:
    """Return every pair of attributes in the domain's order, and how its dependence is measured.

    Parameters
    ----------
    domain : Domain
    ordinal : collection of str
        Attributes to take as ordinal besides those that the domain says are; a pair of ordinal
        attributes is measured by |r|, every other pair by Cramer's V.
    """
    named = {domain[name].name for name in ordinal}
    ordered = named | {attribute.name for attribute in domain if attribute.scale == "ordinal"}
    return {
        pair: "pearson" if ordered.issuperset(pair) else "cramers_v"
        for pair in combinations(domain.names, 2)
    }


def dependences(data: Microdata, ordinal: Collection[str] = ()) -> pd.DataFrame:
    """Measure the dependence of every pair of attributes.

    Parameters
    ----------
    data : Microdata
    ordinal : collection of str
        As in `pair_measures`.

    Returns
    -------
    DataFrame
        Columns attribute_1, attribute_2, measure, dependence; a row a pair, in the domain's order.
    """
    measures = pair_measures(data.domain, ordinal)
    return dependences_from_tables({pair: data.counts(pair) for pair in measures}, measures)


def dependences_from_tables(
    tables: Mapping[Pair, npt.ArrayLike], measures: Mapping[Pair, Measure]
) -> pd.DataFrame:
    """Measure the dependence of every pair of attributes from its two-way table.

    Parameters
    ----------
    tables : mapping of pairs to tables, shape (rows, columns)
    measures : mapping
        As `pair_measures` returns it.

    Returns
    -------
    DataFrame
        As `dependences` returns it.
    """
    rows = [
        (*pair, measure, float(dependence_of_tables(tables[pair], measure)))
        for pair, measure in measures.items()
    ]
    return pd.DataFrame(rows, columns=["attribute_1", "attribute_2", "measure", "dependence"])


# -- Algorithm 1 -----------------------------------------------------------------------------------


def cluster_attributes(
    domain: Domain, dependences: pd.DataFrame, largest_cells: int, least_dependence: float
) -> Clusters:
    """Merge attributes that depend on each other while their joint cells stay few (Algorithm 1).

    Starts from single attributes; goes through the pairs of clusters by descending dependence (the
    largest among their pairs of attributes) and merges the first pair whose joint cells are at most
    `largest_cells`; starts over after each merge; stops at dependences below `least_dependence`.

    Parameters
    ----------
    domain : Domain
    dependences : DataFrame
        As `dependences` returns it.
    largest_cells : int
        T_v, the most combinations of categories in a cluster.
    least_dependence : float
        T_d, in [0, 1]; no clusters form above the largest dependence.

    Returns
    -------
    tuple of tuples of attribute names
        In the domain's order, inside clusters and of clusters by their first attribute. Equal
        dependences are taken in the domain's order, so that the result is always the same.
    """
    strength = {
        frozenset((row["attribute_1"], row["attribute_2"])): float(row["dependence"])
        for row in dependences.to_dict("records")
    }
    sizes = dict(zip(domain.names, domain.shape, strict=True))
    clusters: list[tuple[str, ...]] = [(name,) for name in domain.names]
    while pair := _next_merge(clusters, strength, sizes, largest_cells, least_dependence):
        first, second = pair
        merged = tuple(sorted(clusters[first] + clusters[second], key=domain.position))
        clusters = [c for i, c in enumerate(clusters) if i not in pair] + [merged]
        clusters.sort(key=lambda cluster: domain.position(cluster[0]))
    return tuple(clusters)


def _next_merge(
    clusters: list[tuple[str, ...]],
    strength: Mapping[frozenset[str], float],
    sizes: Mapping[str, int],
    largest_cells: int,
    least_dependence: float,
) -> tuple[int, int] | None:
    def dependence(pair: tuple[int, int]) -> float:
        return max(
            strength[frozenset((a, b))] for a in clusters[pair[0]] for b in clusters[pair[1]]
        )

    pairs = sorted(combinations(range(len(clusters)), 2), key=lambda pair: -dependence(pair))
    for pair in pairs:
        if dependence(pair) < least_dependence:
            return None
        if prod(sizes[name] for name in clusters[pair[0]] + clusters[pair[1]]) <= largest_cells:
            return pair
    return None
