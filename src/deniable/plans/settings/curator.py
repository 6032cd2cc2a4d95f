"""Clusters of columns that depend on each other; no epsilon covers a choice by original records."""

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy.typing as npt
import pandas as pd

from deniable.errors import DeniableError
from deniable.plans.blocks import MAX_CLUSTER, count_cells
from deniable.randomized_response import cluster_attributes, dependences_from_tables, pair_measures
from deniable.records import Domain
from deniable.schema import RecordsFile


def clusters_from(
    data: RecordsFile,
    largest_cells: int,
    least_dependence: float,
    ordinal: Sequence[str] = (),
    domain: Domain | None = None,
) -> tuple[tuple[str, ...], ...]:
    """Return the clusters of several columns of the original records ([multirr], Algorithm 1).

    One pass over the `data` counts all pairs of columns. The `largest_cells`, 2 to 4,096, are T_v,
    the largest number of joint cells of a cluster. The `least_dependence`, in [0, 1], is T_d, the
    smallest dependence of columns that are merged. Besides the ordered columns, those in `ordinal`
    have Pearson's correlation as the measure. The columns are a `domain`, by default all randomized
    ones. Raises `DeniableError` if a threshold is out of range.
    """
    if not 2 <= largest_cells <= MAX_CLUSTER:
        raise DeniableError(
            f"T_v is {largest_cells}; a cluster has 2 to {MAX_CLUSTER:,} joint cells at most"
        )
    if not 0 <= least_dependence <= 1:
        raise DeniableError(f"T_d is {least_dependence}; dependences are in [0, 1]")
    domain = data.schema.domain() if domain is None else domain
    pairs = [domain.project(pair) for pair in combinations(domain.names, 2)]
    small = [pair for pair in pairs if pair.size <= largest_cells]
    tables = {
        (pair.names[0], pair.names[1]): counts.reshape(pair.shape)
        for pair, counts in zip(small, count_cells(small, data.portions()), strict=True)
    }
    return clusters_from_tables(domain, tables, largest_cells, least_dependence, ordinal)


def clusters_from_tables(
    domain: Domain,
    tables: Mapping[tuple[str, str], npt.ArrayLike],
    largest_cells: int,
    least_dependence: float,
    ordinal: Sequence[str],
) -> tuple[tuple[str, ...], ...]:
    """Return the clusters of several columns of a `domain`, by two-way `tables`.

    Pairs without a table are not merged. `largest_cells`, `least_dependence` and `ordinal` are as
    in `clusters_from`.
    """
    measures = pair_measures(domain, ordinal)
    with_table = {pair: measure for pair, measure in measures.items() if pair in tables}
    found = dependences_from_tables(tables, with_table).set_index(["attribute_1", "attribute_2"])
    found = found.reindex(pd.MultiIndex.from_tuples(measures, names=found.index.names))
    every = found.fillna({"dependence": 0.0}).reset_index()
    clusters = cluster_attributes(domain, every, largest_cells, least_dependence)
    return tuple(each for each in clusters if len(each) > 1)
