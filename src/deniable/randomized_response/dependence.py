"""Measure the dependence of attributes, and form clusters of dependent ones ([multirr], 4)."""

from collections.abc import Collection, Mapping
from itertools import combinations, product
from math import prod
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from deniable.arrays import Floats, at_least, quotients
from deniable.errors import DeniableError, named_types
from deniable.randomized_response.protocols import Clustering
from deniable.records import Domain, Microdata

Pair = tuple[str, str]
Measure = Literal["cramers_v", "pearson"]


def cramers_v(table: npt.ArrayLike) -> float:
    """Return Cramer's V of a two-way `table`, in [0, 1] ([multirr], (9)).

    Categories that do not occur also count. The result is 0 for an attribute with one category.

    Examples
    --------
    >>> cramers_v([[10, 0], [0, 10]]), cramers_v([[5, 5], [5, 5]])
    (1.0, 0.0)
    """
    return float(dependence_of_tables(table, "cramers_v"))


def absolute_correlation(table: npt.ArrayLike) -> float:
    """Return |Pearson's r| of the codes of two ordinal attributes, in [0, 1] ([multirr], (8)).

    Rows of the two-way `table` are codes of the first one. The result is 0 if one is constant.
    """
    return float(dependence_of_tables(table, "pearson"))


def dependence_of_tables(tables: npt.ArrayLike, measure: Measure) -> Floats:
    """Measure the dependence in each of many two-way `tables`, shape (..., rows, columns).

    Entries are counts or proportions. The `measure` "cramers_v" needs entries of at least 0;
    "pearson" is |r| of the codes.

    Examples
    --------
    >>> dependence_of_tables([[[10, 0], [0, 10]], [[5, 5], [5, 5]]], "cramers_v")
    array([1., 0.])
    """
    joint = np.asarray(tables, dtype=float)
    if not np.all(joint.sum(axis=(-2, -1)) > 0):
        raise DeniableError("a table is empty; give tables with a positive total")
    return _cramers_v(joint) if measure == "cramers_v" else _absolute_correlation(joint)


def _cramers_v(counts: Floats) -> Floats:
    if np.any(counts < 0):
        raise DeniableError("Cramer's V needs a table without negative entries; project it first")
    if not (freedom := min(counts.shape[-2:]) - 1):
        return np.zeros(counts.shape[:-2])
    rows, columns = counts.sum(axis=-1), counts.sum(axis=-2)
    expected = rows[..., :, None] * columns[..., None, :] / rows.sum(axis=-1)[..., None, None]
    terms = quotients((counts - expected) ** 2, expected)
    chi_squares, total = terms.sum(axis=(-2, -1)), counts.sum(axis=(-2, -1))
    # Rounding can give a perfect dependence a value just above 1.
    return np.asarray(np.minimum(np.sqrt(chi_squares / total / freedom), 1.0))


def _absolute_correlation(counts: Floats) -> Floats:
    joint = counts / counts.sum(axis=(-2, -1), keepdims=True)
    rows, columns = joint.sum(axis=-1), joint.sum(axis=-2)
    x, y = (np.arange(size, dtype=float) for size in joint.shape[-2:])
    # Deviations of codes from their mean in each table.
    x, y = x - (rows @ x)[..., None], y - (columns @ y)[..., None]
    covariances = np.einsum("...a,...ab,...b->...", x, joint, y)
    variances = (rows * x**2).sum(axis=-1), (columns * y**2).sum(axis=-1)
    # An estimate that was not projected can have a variance below 0; it counts as constant.
    scale = np.sqrt(np.maximum(variances[0], 0.0) * np.maximum(variances[1], 0.0))
    return np.asarray(np.minimum(quotients(np.abs(covariances), scale), 1.0))


def pair_measures(domain: Domain, ordinal: Collection[str] = ()) -> dict[Pair, Measure]:
    """Return the measure of dependence of every pair of attributes, in the order of the `domain`.

    It is |r| for two ordinal attributes, and otherwise Cramer's V. Attributes in `ordinal` are
    treated as ordinal, besides the ordinal ones of the domain.
    """
    named = {domain[name].name for name in ordinal}
    ordered = named | {attribute.name for attribute in domain if attribute.scale == "ordinal"}
    return {
        pair: "pearson" if ordered.issuperset(pair) else "cramers_v"
        for pair in combinations(domain.names, 2)
    }


def dependences(data: Microdata, ordinal: Collection[str] = ()) -> pd.DataFrame:
    """Measure the dependence of every pair in `data`; `ordinal` is as in `pair_measures`.

    The columns are attribute_1, attribute_2, measure, dependence. Rows are in the domain's order.
    """
    measures = pair_measures(data.domain, ordinal)
    return dependences_from_tables({pair: data.counts(pair) for pair in measures}, measures)


def dependences_from_tables(
    tables: Mapping[Pair, npt.ArrayLike], measures: Mapping[Pair, Measure]
) -> pd.DataFrame:
    """Measure the dependence of every pair from its two-way table; see `dependences`.

    `tables` maps pairs to tables, and `measures` is a result of `pair_measures`.
    """
    rows = [
        (*pair, measure, float(dependence_of_tables(tables[pair], measure)))
        for pair, measure in measures.items()
    ]
    return pd.DataFrame(rows, columns=["attribute_1", "attribute_2", "measure", "dependence"])


@named_types
def cluster_attributes(
    domain: Domain, dependences: pd.DataFrame, largest_cells: int, least_dependence: float
) -> Clustering:
    """Merge dependent attributes into clusters with few joint cells ([multirr], Algorithm 1).

    The algorithm starts from single attributes of the `domain`. It visits the pairs of clusters by
    descending dependence (the largest among their pairs of attributes). It merges the first pair
    with at most T_v = `largest_cells` joint cells, and then starts again. It stops at dependences
    below T_d = `least_dependence`. The function `dependences` returns the table `dependences`;
    pairs that it lacks count as independent. Clusters (by their first attribute) and their
    attributes are in the domain's order, which also resolves ties.
    """
    columns = (dependences[name].tolist() for name in ("attribute_1", "attribute_2", "dependence"))
    strength = {
        frozenset((first, second)): float(dependence)
        for first, second, dependence in zip(*columns, strict=True)
    }
    sizes = dict(zip(domain.names, domain.shape, strict=True))
    clusters: list[tuple[str, ...]] = [(name,) for name in domain.names]

    def dependence(pair: Clustering) -> float:
        return max(strength.get(frozenset(names), 0.0) for names in product(*pair))

    def may_merge(pair: Clustering) -> bool:
        cells = prod(sizes[name] for cluster in pair for name in cluster)
        return cells <= largest_cells and bool(at_least(dependence(pair), least_dependence))

    # Of equal dependences, the first pair is merged.
    while pairs := list(filter(may_merge, combinations(clusters, 2))):
        first, second = max(pairs, key=dependence)
        merged = tuple(sorted(first + second, key=domain.position))
        clusters = [each for each in clusters if each not in (first, second)] + [merged]
        clusters.sort(key=lambda cluster: domain.position(cluster[0]))
    return tuple(clusters)
