"""What the tests of the claims of [rrba] share: rows to compare."""

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from deniable.study import Decide, Pair, Row

Tests = Iterator[tuple[str, str, Decide]]
"""Id of a claim, reading, and what decides it."""


def rows_of(table: pd.DataFrame, **where: Any) -> list[dict[Any, Any]]:
    """Return the rows with the given values as what `deniable.study.comparisons` compares.

    The mean stands under ``median``, whatever the table calls it.
    """
    for column, value in where.items():
        table = table[table[column] == value]
    value = "mean" if "mean" in table else "regenerated"
    return [row | {"median": row[value]} for row in table.to_dict("records")]


def row_of(table: pd.DataFrame, **where: Any) -> Row:
    """Return the one row with the given values.

    Raises
    ------
    LookupError
        If there is none, or several.
    """
    found = rows_of(table, **where)
    if len(found) != 1:
        raise LookupError(f"{len(found)} rows with {where}")
    return found[0]


def paired(
    table: pd.DataFrame, keys: Sequence[str], column: str, first: str, second: str
) -> list[Pair]:
    """Return pairs of rows that differ in a column and agree in the keys.

    Raises
    ------
    LookupError
        If there are none.
    """
    seconds = {tuple(row[key] for key in keys): row for row in rows_of(table, **{column: second})}
    pairs: list[Pair] = [
        (row, seconds[tuple(row[key] for key in keys)])
        for row in rows_of(table, **{column: first})
        if tuple(row[key] for key in keys) in seconds
    ]
    if not pairs:
        raise LookupError(f"nothing to compare {first} with {second}")
    return pairs
