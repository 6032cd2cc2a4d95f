"""The proportion of records that satisfy conditions on any number of columns."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from deniable.analysis.answers import EstimateOptions, columns_of
from deniable.analysis.estimator import ColumnValues, Estimator
from deniable.arrays import Flags, Floats
from deniable.errors import DeniableError, shown
from deniable.records import Attribute, Domain
from deniable.responses import Table, cells_of
from deniable.schema import MISSING, Column, Schema, number_text

Query = Mapping[str, Any] | str
"""Conditions that must all hold: a text, "sex=F,age>=30", or a mapping of columns to values."""

FORM = 'write conditions as sex=F,income=mid|high,age>=30,"odd, name"="odd = value"'
ORDERS = ("<=", ">=", "<", ">")
TOLERANCE = 1e-6
"""Distance, in steps of a grid, within which a number is a point or a boundary."""
_VALUE = r'(?:"(?:[^"]|"")*"|[^",|]*)'
_CONDITION = re.compile(
    r'\s*(?P<name>"(?:[^"]|"")*"|[^"=!<>,|]+?)\s*(?P<sign>!=|<=|>=|=|<|>)\s*'
    rf"(?P<values>{_VALUE}(?:\|{_VALUE})*)\s*(?:,|$)"
)


def parsed_query(query: Query, schema: Schema) -> dict[str, Flags]:
    """Return the categories of each column that satisfy a query, as flags.

    ``=`` holds for each of the values between ``|``, and ``!=`` for all others, also a missing
    value. ``<``, ``<=``, ``>`` and ``>=`` are for numeric and ordered columns, and never hold for a
    missing value, which is written ``(missing)``. Several conditions on a column must all hold. As
    a mapping, the `query` has a value, or a list of values, by column of the `schema`.

    On a grid, ``=`` takes a point and holds for all values that count at it. An order takes a
    boundary: the middle of two points, or an edge between two intervals. A value that equals a
    boundary counts above it, so only ``<`` and ``>=`` can be answered there. Whole numbers
    (`Column.whole`) are compared as such: from 29.5 on, ``>=30`` and ``>29`` are the same. At or
    below the lowest point, and above the highest, an order holds for all values or for none.

    Raises `DeniableError` if a text is not a query, a column or a value is not in the release, or
    the number in an order is not a boundary. The message has the nearest ones.

    Examples
    --------
    >>> from deniable.schema import schema_from_dict
    >>> column = {"name": "sex", "kind": "categorical", "categories": ["F", "M"]}
    >>> about = {"format": "deniable-schema", "population": "all", "file": {"kind": "csv"}}
    >>> parsed_query("sex=F", schema_from_dict(about | {"columns": [column]}))
    {'sex': array([ True, False])}
    """
    found: dict[str, Flags] = {}
    for name, sign, values in _conditions(query):
        flags = _satisfied(_randomized(schema, name), sign, values)
        found[name] = found[name] & flags if name in found else flags
    if not found:
        raise DeniableError(f"a query without conditions; {FORM}")
    return found


def _conditions(query: Query) -> list[tuple[str, str, list[str]]]:
    if not isinstance(query, str | Mapping):
        raise DeniableError(f"{shown(query)} is not a query; {FORM}")
    if not isinstance(query, str):
        return [
            (name, "=", [_text(each) for each in given])
            for name, value in query.items()
            for given in [value if isinstance(value, list | tuple | set) else [value]]
        ]
    found, at = [], 0
    while at < len(query):
        if (match := _CONDITION.match(query, at)) is None:
            raise DeniableError(f"the query {query!r} is not clear from {query[at:]!r}; {FORM}")
        values = re.findall(rf"(?:^|\|)({_VALUE})", match["values"])
        found.append((_bare(match["name"]), match["sign"], [_bare(value) for value in values]))
        at = match.end()
    return found


def _text(value: Any) -> str:
    if value is None:
        return MISSING
    return str(value).lower() if isinstance(value, bool | np.bool_) else str(value)


def _bare(text: str) -> str:
    text = text.strip()
    return text[1:-1].replace('""', '"') if text.startswith('"') else text


def _randomized(schema: Schema, name: str) -> Column:
    columns = {column.name: column for column in schema.randomized}
    if name not in columns:
        text = f"the release has no estimates of a column {name!r}; it has {', '.join(columns)}"
        raise DeniableError(text)
    return columns[name]


def _satisfied(column: Column, sign: str, values: Sequence[str]) -> Flags:
    attribute = column.attribute()
    everywhere = np.arange(attribute.size)
    if sign not in ORDERS:
        codes = [_code(column, attribute, value) for value in values]
        return np.asarray(np.isin(everywhere, codes) == (sign == "="))
    if attribute.scale != "ordinal" or len(values) != 1 or column.absent in values:
        raise DeniableError(
            f"column {column.name!r}: {sign} takes one value of a numeric or ordered column, not "
            f"{'|'.join(values)!r}; use = with all values that are meant"
        )
    there = np.array([category != column.absent for category in attribute.categories])
    if column.kind == "numeric":
        first = _first_above(column, sign, values[0])
    else:
        first = attribute.code_of(values[0]) + (sign in ("<=", ">"))
    above = everywhere >= first
    return np.asarray((above if sign in (">", ">=") else ~above) & there)


def _code(column: Column, attribute: Attribute, value: str) -> int:
    if not column.on_grid or value in (MISSING, column.absent):
        return attribute.code_of(value)
    number = _number(column, value)
    near = int(np.searchsorted(column.boundaries, number, side="right"))
    if abs(column.points[near] - number) <= TOLERANCE * (column.step or 0.0):
        return near
    raise DeniableError(
        f"column {column.name!r}: {value} is not a point of its grid; the nearest is "
        f"{number_text(column.points[near])}, and every value near it counts there"
    )


def _number(column: Column, value: str) -> float:
    try:
        number = float(value) if value.isascii() and "_" not in value else math.nan
    except ValueError:
        number = math.nan
    if math.isnan(number):
        raise DeniableError(
            f"column {column.name!r}: {value!r} is not a number; write one, such as 4.5"
        )
    return number


def _first_above(column: Column, sign: str, value: str) -> int:
    """Return the lowest code of the numbers above a threshold, which is a `value` with a `sign`."""
    number, upwards = _number(column, value), sign in ("<", ">=")
    boundaries, (low, high) = column.boundaries, column.limits
    within = TOLERANCE * (column.step or 0.0)
    if column.whole:  # then > 29 is >= 30
        number = float(np.ceil(number) if upwards else np.floor(number) + 1)
        boundaries, low, upwards = np.ceil(boundaries), float(np.ceil(low)), True
    if number == -math.inf or (number <= low + within if upwards else number < low - within):
        return 0
    if number == math.inf or (number > high + within if upwards else number >= high - within):
        return len(boundaries) + 1
    found = np.flatnonzero(np.abs(boundaries - number) <= within)
    if upwards and found.size:
        return int(found[0]) + 1
    at = int(np.searchsorted(boundaries, number))
    near = boundaries[found] if found.size else boundaries[max(at - 1, 0) : at + 1]
    raise DeniableError(_not_answerable(column, sign, value, near, exact=bool(found.size)))


def _not_answerable(column: Column, sign: str, value: str, near: Floats, *, exact: bool) -> str:
    down = {"<=": "<", ">": ">="}
    # In whole numbers, <= 29 is < 30.
    asked, less = (sign, sign in down) if column.whole else (down.get(sign, sign), False)
    if exact:
        own = number_text(near[0])
        why = f"cannot be answered, because a value of {own} counts above this boundary"
    elif column.step is None:
        why = "is not an edge between two of its intervals; a value counts in its interval"
    else:
        step = number_text(column.step)
        why = f"is not a boundary of its grid of step {step}; values count at the nearest point"
    remedy = " or ".join(f"{asked} {number_text(each - less)}" for each in near)
    return f"column {column.name!r}: {sign} {value} {why}; ask {remedy}"


def satisfying(
    conditions: Mapping[str, Flags], table: Table, known: Estimator, options: EstimateOptions
) -> ColumnValues:
    """Return the columns of the estimated proportion of records that satisfy `conditions`.

    The `conditions` are as returned by `parsed_query`, and the `table` has their columns. The
    estimator `known` has the responses, and `options` are the options of the estimates.
    """
    if table.countable:
        return known.columns(table, options, _holding(conditions, table.cells))
    sets = [_holding(conditions, side.cells) for side in table.sides]
    limits, records = known.by_scores(table, sets, options)
    columns = columns_of([*limits, np.clip(limits[0], 0.0, 1.0)], records, options)
    return columns | {"consistent_by": "projection"}


def _holding(conditions: Mapping[str, Flags], cells: Domain) -> Floats:
    """Return 1 in the `cells` that satisfy all conditions on their attributes, shape (1, cells)."""
    holds = np.ones(cells.size, dtype=bool)
    for attribute in cells:
        if attribute.name in conditions:
            holds &= conditions[attribute.name][cells_of(cells, cells.project([attribute.name]))]
    return holds[None].astype(float)
