"""The proportion of records that satisfy conditions on any number of columns."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from deniable.analysis.answers import EstimateOptions, columns_of
from deniable.analysis.estimator import Estimator
from deniable.analysis.scores import Scores
from deniable.arrays import Flags
from deniable.errors import DeniableError
from deniable.records import Attribute
from deniable.responses import Table, cells_of
from deniable.schema import MISSING, Column, Schema

Query = Mapping[str, Any] | str
"""Conditions that must all hold: a text, "sex=F,age>=30", or a mapping of columns to values."""

FORM = 'write conditions as sex=F,income=mid|high,age>=30,"odd, name"="odd = value"'
ORDERS = ("<=", ">=", "<", ">")
_VALUE = r'(?:"(?:[^"]|"")*"|[^",|]*)'
_CONDITION = re.compile(
    r'\s*(?P<name>"(?:[^"]|"")*"|[^"=!<>,|]+?)\s*(?P<sign>!=|<=|>=|=|<|>)\s*'
    rf"(?P<values>{_VALUE}(?:\|{_VALUE})*)\s*(?:,|$)"
)


def parsed_query(query: Query, schema: Schema) -> dict[str, Flags]:
    """Return the categories of each column that satisfy a query, as flags.

    ``=`` holds for each of the values between ``|``, ``!=`` for all others, a missing value
    included. ``<``, ``<=``, ``>`` and ``>=`` are for numeric and ordered columns, and never hold
    for a missing value, which is written ``(missing)``. Several conditions on a column must all
    hold. A mapping as the `query` has one value, or a list of values, for each column of the
    `schema`. Raises `DeniableError` if a text is not a query, or a column or a value is not in the
    release.

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
        column = _randomized(schema, name)
        flags = _satisfied(column, sign, values)
        found[name] = found[name] & flags if name in found else flags
    if not found:
        raise DeniableError(f"a query without conditions; {FORM}")
    return found


def _conditions(query: Query) -> list[tuple[str, str, list[str]]]:
    if not isinstance(query, str):
        return [
            (name, "=", [_text(each) for each in given])
            for name, value in query.items()
            for given in [value if isinstance(value, list | tuple | set) else [value]]
        ]
    found, at = [], 0
    while at < len(query):
        match = _CONDITION.match(query, at)
        if match is None:
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
        raise DeniableError(
            f"the release has no estimates of a column {name!r}; of {', '.join(columns)} it has"
        )
    return columns[name]


def _satisfied(column: Column, sign: str, values: Sequence[str]) -> Flags:
    attribute = column.attribute()
    codes = [_code(column, attribute, value, exact=sign not in ORDERS) for value in values]
    everywhere = np.arange(attribute.size, dtype=float)
    if sign not in ORDERS:
        return np.asarray(np.isin(everywhere, codes) == (sign == "="))
    if attribute.scale != "ordinal" or len(codes) != 1 or MISSING in values:
        raise DeniableError(
            f"column {column.name!r}: {sign} takes one value of a numeric or ordered column, not "
            f"{'|'.join(values)!r}; use = with all values that are meant"
        )
    there = np.array([category != MISSING for category in attribute.categories])
    compare = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}[sign]
    return np.asarray(compare(everywhere, codes[0]) & there)


def _code(column: Column, attribute: Attribute, value: str, *, exact: bool) -> float:
    """Return the code of a value; unless it must be `exact`, half a code between two points."""
    if column.kind != "numeric" or value == MISSING:
        return attribute.code_of(value)
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if math.isnan(number):
        raise DeniableError(f"column {column.name!r}: {value!r} is not a number")
    near = int(np.abs(column.points - number).argmin())
    assert column.step is not None
    if abs(column.points[near] - number) <= 1e-6 * column.step:
        return near
    if exact:
        raise DeniableError(
            f"column {column.name!r}: {value} is not a point of its grid; the nearest is "
            f"{column.points[near]:g}, and every value near it counts there"
        )
    return near + (0.5 if number > column.points[near] else -0.5)


def answered(
    where: Query, schema: Schema, known: Estimator, options: Sequence[EstimateOptions]
) -> pd.DataFrame:
    """Return the proportion of records, or of weights, that satisfy a query, in a row per option.

    The query `where` and the `schema` are as in `parsed_query`. The estimator `known` has the
    responses, and there is a row for each of `options`. If the randomized values of the query's
    columns are too many to count, scores of single records are used, for any number of columns
    (`deniable.analysis.scores`).
    """
    conditions = parsed_query(where, schema)
    table = known.source.table(list(conditions))
    rows = [_answered(conditions, table, known, each) for each in options]
    answer = pd.concat(rows, ignore_index=True)
    said = where if isinstance(where, str) else ", ".join(f"{k}={v}" for k, v in where.items())
    answer.insert(0, "query", said)
    return answer


def _answered(
    conditions: Mapping[str, Flags], table: Table, known: Estimator, options: EstimateOptions
) -> pd.DataFrame:
    if table.countable:
        cells = np.ones(table.cells.shape, dtype=bool)
        for name, flags in conditions.items():
            shape = [1] * len(table.cells)
            shape[table.cells.position(name)] = -1
            cells = cells & flags.reshape(shape)
        functional = cells.reshape(1, -1).astype(float)
        return pd.DataFrame(known.columns(table, options, functional))
    sets = []
    for side in table.sides:
        holds = np.ones(side.cells.size, dtype=bool)
        for attribute in side.cells:
            if attribute.name in conditions:
                own = cells_of(side.cells, side.cells.project([attribute.name]))
                holds &= conditions[attribute.name][own]
        sets.append(holds[None].astype(float))
    scores = Scores(known.source, table.sides, sets, known.weight, options.inverse)
    limits, records = scores.estimates(options)
    columns = columns_of([*limits, np.clip(limits[0], 0.0, 1.0)], records, options)
    return pd.DataFrame(columns | {"consistent_by": "projection"})
