"""What the tests of the claims of text 004 share: rows to compare, counted decisions."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from deniable.claims import Outcome, Pair

Row = Mapping[Any, Any]
Tests = Iterator[tuple[str, str, Callable[[], Outcome]]]


def rows_of(table: pd.DataFrame, **where: Any) -> list[dict[Any, Any]]:
    """Return the rows with the given values as what `deniable.claims` compares.

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


def known(value: float) -> Row:
    """Return a number without error."""
    return {"median": value, "ci_low": value, "ci_high": value}


def counted(decisions: Iterable[bool], figure: str) -> Outcome:
    """Return the outcome of decisions without error: each supports or contradicts."""
    found = list(decisions)
    if not found:
        raise LookupError("nothing to decide")
    return Outcome(len(found), sum(found), len(found) - sum(found), figure)


def ratios(pairs: Sequence[Pair], what: str) -> str:
    """Return the range of ratios of first to second, as a reader wants it."""
    found = [first["median"] / second["median"] for first, second in pairs if second["median"]]
    return f"{what}: {range_of(found)}"


def range_of(values: Iterable[float]) -> str:
    """Return the range of numbers."""
    found = list(values)
    return f"{min(found):.3g} to {max(found):.3g}"
