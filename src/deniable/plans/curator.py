"""What a curator may choose by the true records: clusters; no epsilon covers such a choice."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from deniable.arrays import Counts
from deniable.errors import DeniableError
from deniable.plans.blocks import MAX_CLUSTER
from deniable.randomized_response import (
    cluster_attributes,
    dependences_from_tables,
    pair_measures,
)
from deniable.records import Domain
from deniable.schema import RecordsFile


def clusters_from(
    data: RecordsFile,
    largest_cells: int,
    least_dependence: float,
    ordinal: Sequence[str] = (),
    domain: Domain | None = None,
) -> tuple[tuple[str, ...], ...]:
    """Return the columns that depend on each other, as [multirr] clusters them (Algorithm 1).

    Parameters
    ----------
    data : RecordsFile
        The true records, of whose randomized columns all pairs are counted in one pass.
    largest_cells : int
        T_v: joint cells of a cluster at most, 2 to 4,096.
    least_dependence : float, in [0, 1]
        T_d: what depends less is not put together.
    ordinal : sequence of str, optional
        Columns whose dependence is measured by Pearson's correlation, besides the ordered ones.
    domain : Domain, optional
        The columns; by default all randomized ones.

    Raises
    ------
    DeniableError
        If a threshold is none of these.
    """
    if not 2 <= largest_cells <= MAX_CLUSTER:
        raise DeniableError(
            f"T_v is {largest_cells}; a cluster has 2 to {MAX_CLUSTER:,} joint cells at most"
        )
    if not 0 <= least_dependence <= 1:
        raise DeniableError(f"T_d is {least_dependence}; dependences are in [0, 1]")
    domain = data.schema.domain() if domain is None else domain
    fitting = [
        pair for pair in combinations(domain, 2) if pair[0].size * pair[1].size <= largest_cells
    ]
    tables: dict[tuple[str, str], Counts] = {
        (first.name, second.name): np.zeros((first.size, second.size), dtype=np.int64)
        for first, second in fitting
    }
    for portion in data.portions():
        for (first, second), table in tables.items():
            rows, width = table.shape
            cells = portion.codes[first].astype(np.int64) * width + portion.codes[second]
            counted = np.bincount(cells, minlength=rows * width)
            np.add(table, counted.reshape(rows, width), out=table)
    measures = pair_measures(domain, ordinal)
    fit = {pair: measure for pair, measure in measures.items() if pair in tables}
    found = dependences_from_tables(tables, fit).set_index(["attribute_1", "attribute_2"])
    # Pairs that are too large together are in no cluster, whatever they depend on.
    found = found.reindex(pd.MultiIndex.from_tuples(measures, names=found.index.names))
    every = found.fillna({"dependence": 0.0}).reset_index()
    clusters = cluster_attributes(domain, every, largest_cells, least_dependence)
    return tuple(each for each in clusters if len(each) > 1)
