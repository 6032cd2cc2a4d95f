"""What the claims of [rrba] compare: rows of tables, and comparisons that decide nothing."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Any

import pandas as pd

from deniable.study import UNKNOWN, Comparison, Decide, Outcome, Pair, Row

Readings = Iterator[tuple[str, Decide]]
"""How a claim may be read, and what decides it then."""


def rows_of(table: pd.DataFrame, **where: Any) -> list[dict[Any, Any]]:
    """Return the rows with the given values as what `deniable.study.comparisons` compares.

    The mean stands under ``median``, whatever the table calls it.
    """
    for column, value in where.items():
        table = table[table[column] == value]
    value = "mean" if "mean" in table else "regenerated"
    return [row | {"median": row[value]} for row in table.to_dict("records")]


def paired(
    table: pd.DataFrame, keys: Sequence[str], column: str, first: Any, second: Any
) -> list[Pair]:
    """Return pairs of rows that differ in a column and agree in the keys; `LookupError` if none."""
    return matched(table[table[column] == first], table[table[column] == second], keys)


def matched(firsts: pd.DataFrame, seconds: pd.DataFrame, keys: Sequence[str]) -> list[Pair]:
    """Return pairs of rows of two tables that agree in the keys; `LookupError` if none."""
    key_of = itemgetter(*keys)
    by_key = {key_of(row): row for row in rows_of(seconds)}
    found: list[Pair] = [
        (row, by_key[key]) for row in rows_of(firsts) if (key := key_of(row)) in by_key
    ]
    if not found:
        raise LookupError(f"rows to compare with the same {', '.join(keys)}")
    return found


def undecided_where(
    unknown: Callable[[Row, Row, Comparison], bool], pairs: Sequence[Pair], outcome: Outcome
) -> tuple[Outcome, int]:
    """Return the outcome of pairs without what is not known of some, and how many those are."""
    found = [unknown(*pair, each) for pair, each in zip(pairs, outcome.comparisons, strict=True)]
    kept = (
        UNKNOWN if lost else each for lost, each in zip(found, outcome.comparisons, strict=True)
    )
    return replace(outcome, comparisons=tuple(kept)), sum(found)
