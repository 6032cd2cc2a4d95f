"""Survey weights that were released, and weights that make protected records add up."""

import numpy as np
import pandas as pd

from deniable.analysis.answers import Asked, columns_of, consistent
from deniable.analysis.protected import Counted, Protected
from deniable.analysis.tables import Table
from deniable.errors import DataError, DeniableError
from deniable.estimation import (
    Intervals,
    WeightedCounts,
    euclidean_projection,
    survey_estimate,
    weighted_intervals,
)
from deniable.plan import Plan
from deniable.randomized_response import adjust, reports_categories
from deniable.release import CollectionPlan, StratifiedPlan


def refuse_unknown_weight(plan: Plan | StratifiedPlan | CollectionPlan, weight: str) -> None:
    """Raise `DataError` unless a column of weights went out under a name."""
    kinds = {column.name: column.kind for column in plan.schema.columns}
    there = [name for name in plan.passed if kinds[name] == "weight"]
    if weight not in there:
        raise DataError(
            f"the release has no column of weights {weight!r}; it has {', '.join(there) or 'none'}"
        )


def weighted(table: Table, protected: Counted, weight: str, asked: Asked) -> dict[str, object]:
    """Return the columns of a table's estimates, each record counted by its weight.

    By Student's t, around the weighted share of the categories (Hajek); records count as drawn one
    by one with replacement. The consistent distribution is the one nearest to the estimate.
    """
    channel, size = table.channel, table.reports.size
    if table.whole:
        sums, squares, records = np.zeros(size), np.zeros(size), 0
        for portion in protected.portions(table.reports.names, [weight]):
            cells, own = portion.joint(table.reports), portion.weights[weight]
            sums += np.bincount(cells, own, size)
            squares += np.bincount(cells, own**2, size)
            records += cells.size
        counts = WeightedCounts(sums[None], squares[None], np.array([records]))
        found: Intervals = weighted_intervals(
            channel, counts, confidence=asked.confidence, target=asked.target
        )
        order = table.order
        parts = [found.estimate, found.standard_error, found.low, found.high]
        parts = [part[order] for part in parts]
    else:
        read = [
            (portion.joint(table.reports), portion.weights[weight])
            for portion in protected.portions(table.reports.names, [weight])
        ]
        cells, weights = (np.concatenate(column) for column in zip(*read, strict=True))
        records = cells.size
        surveyed = survey_estimate(
            channel, cells, weights, target=asked.target, functionals=table.functionals
        )
        found = surveyed.intervals(asked.confidence)
        parts = [found.estimate, found.standard_error, found.low, found.high]
    nearest = euclidean_projection(parts[0])
    return columns_of([*parts, nearest], records, asked) | {"consistent_by": "projection"}


def adjusted(plan: Plan, protected: Protected) -> pd.DataFrame:
    """Return a weight for each protected record: weighted, they have the estimated margins.

    RR-Adjustment ([multirr], Algorithm 2) on the clusters whose reports are categories; others
    cannot be weighted. A row a record: ``record``, its number in the file from 1, ``weight``, of
    sum 1, in order of the file; ``.attrs["left_out"]`` names the columns that are not adjusted.

    Raises
    ------
    DeniableError
        If no column's reports are categories.
    """
    protocol = plan.protocol
    ways = {cluster: protocol.channel_of(cluster) for cluster in protocol.clusters}
    clusters = [cluster for cluster, channel in ways.items() if reports_categories(channel)]
    if not clusters:
        raise DeniableError(
            "no column's reports are categories of its own, so weights cannot make them add up; "
            "use the tables, or synthetic records"
        )
    tables = [Table.of(protocol, cluster) for cluster in clusters]
    read = [
        [portion.joint(table.reports) for table in tables]
        for portion in protected.portions({n for table in tables for n in table.reports.names})
    ]
    codes = [np.concatenate(column) for column in zip(*read, strict=True)]
    targets = []
    for table, column in zip(tables, codes, strict=True):
        counts = np.bincount(column, minlength=table.reports.size)
        targets.append(consistent(table.channel, counts)[0])
    found = adjust(codes, targets, domains=[table.cells for table in tables])
    records = np.arange(1, found.weights.size + 1)
    answer = pd.DataFrame({"record": records, "weight": found.weights})
    answer.attrs["left_out"] = [
        name for cluster in ways if cluster not in clusters for name in cluster
    ]
    return answer
