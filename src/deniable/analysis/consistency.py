"""Consistent tables from all tables of a release, and the disagreement between these."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from deniable.analysis.answers import values_of
from deniable.analysis.many_tables import ChosenTables, TableEstimate, unbiased_estimates
from deniable.arrays import Floats
from deniable.contingency import ConsistentTables, NoisyTable, consistent_tables, margin_of
from deniable.responses import Responses
from deniable.schema import Column


class ConsistentEstimates(NamedTuple):
    """Consistent tables.

    Attributes
    ----------
    tables : DataFrame
        One row per cell of a table: ``columns`` and ``values``, joined by " x "; ``estimate``,
        ``standard_error`` (for the population), and ``consistent``, which is not negative and sums
        to 1. All shared marginal distributions agree. ``attrs["left_out"]`` has the tables that are
        left out by default, with the reasons.
    disagreement : DataFrame
        One row per category: ``column``, ``value``, number of ``tables``, the ``lowest``,
        ``median`` and ``highest`` of their estimates, and the ``consistent`` proportion.
    """

    tables: pd.DataFrame
    disagreement: pd.DataFrame


def consistent_estimates(
    chosen: ChosenTables,
    responses: Responses,
    columns: Mapping[str, Column],
    weight: str | None,
) -> ConsistentEstimates:
    """Return the closest tables that agree on all shared marginal distributions ([rrba], 4.3).

    Weighted least squares; the weight of a table is one over the average variance of its cells. See
    `deniable.contingency.agreement`.

    Parameters
    ----------
    chosen : ChosenTables
    responses : Responses
    columns : mapping of str to Column
        Of the schema.
    weight : str or None
        The released column of weights that records count by.
    """
    estimates, left_out = unbiased_estimates(chosen, responses, weight)
    noisy = [NoisyTable(each.names, each.proportions, each.precision) for each in estimates]
    found = consistent_tables(noisy)
    parts = [
        pd.DataFrame(
            {
                "columns": each.label,
                "values": each.domain.cell_labels(),
                "estimate": each.proportions.reshape(-1),
                "standard_error": each.standard_errors,
                "consistent": found[each.names].reshape(-1),
            }
        )
        for each in estimates
    ]
    tables = pd.concat(parts, ignore_index=True)
    tables.attrs["left_out"] = left_out
    return ConsistentEstimates(tables, pd.DataFrame(_disagreement(estimates, found, columns)))


def _disagreement(
    estimates: Sequence[TableEstimate], found: ConsistentTables, columns: Mapping[str, Column]
) -> Iterator[dict[str, Any]]:
    by_name: dict[str, list[tuple[Floats, Floats]]] = {}
    for each in estimates:
        for name in each.names:
            pair = (each.proportions, found[each.names])
            before, after = (margin_of(NoisyTable(each.names, cells), (name,)) for cells in pair)
            by_name.setdefault(name, []).append((before, after))
    attributes = {each.name: each for estimate in estimates for each in estimate.domain}
    for name in columns:
        if name in by_name:
            before = np.array([own for own, _ in by_name[name]])
            values = values_of(attributes[name], columns[name])
            for code, value in enumerate(values):
                yield {
                    "column": name,
                    "value": value,
                    "tables": len(before),
                    "lowest": before[:, code].min(),
                    "median": np.median(before[:, code]),
                    "highest": before[:, code].max(),
                    "consistent": by_name[name][0][1][code],
                }
