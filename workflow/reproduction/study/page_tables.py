"""Arrange results as tables of a page: all rows, or one number by two keys."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from operator import itemgetter
from typing import Any

import pandas as pd

from deniable.display import Row, between, percent, plain, rows_of, short, thousands

SIGN = {
    "agrees": "✓",
    "differs": "✗",
    "fitted": "≈",
    "not published": "–",
    "surrogate": "–",
    "holds": "✓",
    "fails": "✗",
    "better than published": "▲",
    "undecided": "?",
    "no amount stated": "○",
    "depends on the interpretation": "≠",
    "depends on the margin": "≠",
    "our finding": "•",
}
"""A sign for each verdict. On a published number: "agrees", "differs", "not published" if the paper
has no number, or "fitted" if it was used to choose n and the effect, which the text leaves open. On
a claim in words: see `reproduction.study.claims`. "our finding" is a result that no paper claims.
"surrogate" means that there is no verdict on surrogate data."""
TEXTS: Mapping[str, Callable[[float], str]] = {"short": short, "percent": percent}
VALUES = ("found", "median", "mean")
"""Columns of texts and summaries; a page shows the first that a table has."""
INTERVAL = ("ci_low", "ci_high")
LOWEST, APART = "▾", "*"
MARKS = {LOWEST: "lowest", **{SIGN[name]: name for name in ("holds", "fails", "fitted")}}
"""The CSS class of a cell by the sign in it."""
MISSING = "–"
HEADS = {  # headings of columns, where they differ from the name of the column
    "t_v": "T_v",
    "t_d": "T_d",
    "sigma": "σ",
    "epsilon": "ε",
    "record_epsilon": "ε of a record",
    "attribute_epsilon": "ε of one attribute, at most",
    "p_value": "p-value",
    "degrees_of_freedom": "df",
    "records_a_cell": "records per cell",
}


def by(table: pd.DataFrame, *columns: str) -> dict[Any, Row]:
    """Return the rows of a `table` by the values of its `columns` (a tuple if several)."""
    key = itemgetter(*columns)
    return {key(row): row for row in rows_of(table)}


def first_of(table: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """Return the rows of a `table` with the first value of each of `columns`, the paper's value."""
    for column in columns:
        table = table.loc[table[column] == table[column].iloc[0]]
    return table


def groups_of(table: pd.DataFrame, *columns: str) -> list[tuple[Row, pd.DataFrame]]:
    """Return the values of `columns`, in order of appearance, each with its rows of a `table`."""
    groups: Any = table.groupby(list(columns), sort=False)
    return [(dict(zip(columns, values, strict=True)), part) for values, part in groups]


def nearest(values: Iterable[float], target: float) -> float | None:
    """Return the positive one of `values` with the ratio nearest to a `target`, or None.

    >>> nearest([3, 9, 100], 10), nearest([0], 10)
    (9, None)
    """
    found = [value for value in values if value > 0]
    return min(found, key=lambda value: abs(math.log(value / target)), default=None)


@dataclass(frozen=True)
class PageTable:
    """A table of a page, with its cells as text."""

    label: str  # its name for screen readers
    heads: tuple[str, ...]  # of the columns
    rows: tuple[tuple[str, ...], ...]  # with one text for each column
    caption: str = ""  # the text below it

    @property
    def left(self) -> tuple[bool, ...]:
        """Whether each column has words. Words are aligned on the left."""
        columns = range(len(self.heads))
        return tuple(any(row[column][:1].isalpha() for row in self.rows) for column in columns)

    @property
    def grouped(self) -> bool:
        """Whether some rows have the same first cell."""
        return len({row[0] for row in self.rows}) < len(self.rows)

    def looks(self, row: Sequence[str]) -> list[str]:
        """Return the CSS classes of each cell of a `row`, by its alignment and its sign."""
        signs = ((look for sign, look in MARKS.items() if sign in cell) for cell in row)
        both = zip(self.left, signs, strict=True)
        return [f"{'l ' if left else ''}{next(found, '')}".strip() for left, found in both]


def texts(table: pd.DataFrame, text: Callable[[Row], str]) -> pd.Series:
    """Return the `text` of each row of a `table`."""
    return pd.Series([*map(text, rows_of(table))], table.index, dtype=object)


def span(values: Iterable[float]) -> str:
    """Return the smallest and the largest of `values` as text. NaN is ignored.

    >>> span([2.0, math.nan, 1.0]), span([]), span([math.inf])
    ('1.00 – 2.00', '–', '∞')
    """
    found = [float(value) for value in values if not pd.isna(value)]
    ends = [short(end(found)) for end in (min, max)] if found else [MISSING]
    return " – ".join(dict.fromkeys(ends))


def from_rows(label: str, heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> PageTable:
    """Return a `PageTable` with a `label`, `heads`, and `rows` with numbers as text."""
    return PageTable(label, tuple(heads), tuple(tuple(map(_text, row)) for row in rows))


def all_rows(
    table: pd.DataFrame,
    label: str,
    columns: Sequence[str] | Mapping[str, str] = (),
    caption: str = "",
) -> PageTable:
    """Return all rows of a `table` as a `PageTable` with a `label` and a `caption`.

    The `columns` are by default all that vary. A mapping gives their headings. Columns that the
    table lacks are left out. The 95 % interval is one column.
    """
    names = [name for name in columns if name in table] or [
        str(name)
        for name in table
        if name not in INTERVAL and (len(table) < 2 or table[name].nunique(dropna=False) > 1)
    ]
    titles = columns if isinstance(columns, Mapping) else {}
    heads = [titles.get(name, _head(name)) for name in names]
    cells = [list(map(_text, table[name])) for name in names]
    if {*INTERVAL} <= {*table}:
        heads.append("95 % interval")
        cells.append(list(map(between, table["ci_low"], table["ci_high"])))
    return PageTable(label, tuple(heads), tuple(zip(*cells, strict=True)), caption)


def where(table: pd.DataFrame | None, /, **values: Any) -> pd.DataFrame:
    """Return the rows of a `table` that have one of the `values` in each column; none for None."""
    if table is None or table.empty:
        return pd.DataFrame() if table is None else table
    for column, value in values.items():
        found = table[column].isin(value) if isinstance(value, tuple) else table[column] == value
        table = table[found]
    return table


def whole_table(tables: Mapping[str, pd.DataFrame], name: str) -> dict[str, Any]:
    """Return the contents of a section with all rows of the table `name` of `tables`."""
    return {"name": name, "table": all_rows(tables[name], _words(name))}


def pivot(
    table: pd.DataFrame,
    keys: Sequence[str] | Mapping[str, str],
    column: str,
    label: str,
    *,
    value: str = "",
    text: str = "short",
    names: Mapping[Any, str] | None = None,
    base: str = "",
    intervals: bool = True,
    caption: str = "",
) -> PageTable:
    """Return one row for each combination of `keys`, with one number for each value of a `column`.

    The `table` has at most one row for each combination and value. A dash marks a missing one.
    A mapping of `keys` gives headings; columns that the table lacks are left out. The column
    `value`, by default the first of `VALUES`, has texts, or numbers in the format `text` ("short"
    or "percent"). If `intervals`, 95 % intervals follow in parentheses. `names` are the headings of
    values, in order; by default all values are shown. With a `base`, which is a value of `column`,
    ▾ marks the lowest number of a row, and a star an interval below the interval of the base.
    `label` and `caption` are as in `PageTable`.
    """
    titles = keys if isinstance(keys, Mapping) else {key: _head(key) for key in keys}
    heads = {key: title for key, title in titles.items() if key in table}
    found = dict.fromkeys(table[column].sort_values())
    own = f"{_head(column)} = "
    named = names or {k: k if isinstance(k, str) else f"{own}{_text(k)}" for k in found}
    columns = [each for each in named if each in found]
    value = value or next(name for name in VALUES if name in table)
    numeric = pd.api.types.is_numeric_dtype(table[value])
    written, intervals = (TEXTS[text], intervals) if numeric else (str, False)
    cells = by(table, *heads, column)
    rows = []
    for key in dict.fromkeys(table[list(heads)].itertuples(index=False, name=None)):
        row = [cells.get((*key, each)) for each in columns]
        numbers = [cell[value] for cell in row if cell]
        lowest = min(numbers) if base else None
        compared = cells.get((*key, base))
        shown = (_number(cell, value, written, intervals, lowest, compared) for cell in row)
        rows.append((*map(_text, key), *shown))
    return PageTable(label, (*heads.values(), *(named[at] for at in columns)), tuple(rows), caption)


def _number(
    cell: Row | None,
    value: str,
    text: Callable[[Any], str],
    intervals: bool,
    lowest: Any,
    base: Row | None,
) -> str:
    if cell is None or pd.isna(cell[value]):
        return MISSING
    shown = text(cell[value])
    if intervals and {*INTERVAL} <= {*cell} and not pd.isna(cell["ci_low"]):
        shown += f" ({between(cell['ci_low'], cell['ci_high'], text)})"
    if cell[value] == lowest:
        apart = base is not None and cell["ci_high"] < base["ci_low"]
        shown += f" {LOWEST}{APART}" if apart else f" {LOWEST}"
    return shown


def _head(column: str) -> str:
    return HEADS.get(column, _words(column))


def _words(name: Any) -> str:
    return str(name).replace("_", " ")


def _text(value: Any) -> str:
    if str(value) in ("True", "False"):
        return "yes" if value else "no"
    if not isinstance(value, Real):
        return MISSING if pd.isna(value) else _words(value)
    number = float(value)
    if not math.isfinite(number) or number != round(number, 3):
        return short(number)
    return thousands(number) if abs(number) >= 1000 and number.is_integer() else plain(number)
