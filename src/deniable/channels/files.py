"""Channels, priors and counts as small CSV files that people write by hand.

A matrix file has a header of categories and one row for each true category, with its name in the
first cell. Rows are matched by name. Categories have the order of the header. If the first cell of
the header has the word "report", the columns are randomized values: their names and number may
differ from the rows, and categories have the order of the rows. Priors have the columns
``category,probability``, counts ``category,count`` or ``report,count``. Numbers are decimals with a
point, or fractions such as 1/3. Every error message names file, row, column, value and remedy.
"""

import csv
import io
import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import NoReturn, TypeVar

import numpy as np

from deniable.arrays import Counts, Floats
from deniable.channels.base import Channel
from deniable.channels.dense import DenseChannel
from deniable.channels.exact import ROW_SUM_TOLERANCE
from deniable.channels.maps import MAX_DENSE
from deniable.errors import ChannelError, DataError, listed, named_types, shown
from deniable.files import written_whole
from deniable.texts import text_of

DECIMAL = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
FRACTION = re.compile(r"[+-]?\d{1,300}/\d{1,300}", re.ASCII)
MAX_COUNT = 2**53
CORNER, CORNER_OF_REPORTS = "true category", "true category / report"
OTHER_NAMES = '; if the columns are not the categories, write "report" in the first cell'
OF_REPORTS = re.compile(r"\breports?\b", re.IGNORECASE)  # in the first cell: columns have own names
TRANSPOSED = (
    "the columns do: this matrix is column-stochastic, with a column for each true category; "
    "transpose it"
)
Value = TypeVar("Value", int, float)
Row = tuple[int, list[str]]  # the number of a line, and its cells without outer white space
Placed = list[tuple[str, list[str]]]  # cells of each category's row, after its place in messages


def _rows_of(file: Path) -> list[Row]:
    """Return the lines of a file that are not empty."""
    reader = csv.reader(io.StringIO(text_of(file), newline=""), strict=True)
    try:
        stripped = ((reader.line_num, [cell.strip() for cell in cells]) for cells in reader)
        rows = [(line, cells) for line, cells in stripped if any(cells)]
    except csv.Error as error:
        raise DataError(f"{file}: line {reader.line_num} is not CSV: {error}; correct it") from None
    if not rows:
        raise DataError(f"{file}: the file is empty; give a header, then a row for each category")
    line, first = rows[0]
    if len(first) == 1 and (other := re.search(r"[;\t|]", first[0])):
        raise DataError(
            f"{file}: line {line} is separated by {other.group()!r}; separate cells by commas, and "
            "write decimals with a point"
        )
    return rows


def _refuse_bad_columns(file: Path, header: Row, rows: list[Row]) -> None:
    """Raise `DataError` unless the header names categories, each once."""
    line, (_, *columns) = f"the header (line {header[0]})", header[1]
    problem = ""
    if rows and all(len(cells) == len(header[1]) + 1 for _, cells in rows):
        problem = (
            f"{line} has {len(header[1])} cells, the rows have one more; give the header a first "
            "cell, which may be empty"
        )
    elif not columns:
        problem = f"{line} names no categories; list them after its first cell"
    elif len(columns) > MAX_DENSE:
        problem = f"{len(columns):,} categories; a matrix file may have {MAX_DENSE:,}"
    elif "" in columns:
        place = f"column {columns.index('') + 2} of {line}"
        problem = f"{place} has no category; name it, or remove the column"
    elif twice := [name for name, times in Counter(columns).items() if times > 1]:
        problem = f"the header has {shown(twice[0])} twice; keep one column"
    if problem:
        raise DataError(f"{file}: {problem}")


def _in_order(
    file: Path,
    table: list[Row],
    at: int,
    categories: Sequence[str],
    where: str,
    if_none_is_known: str = "",
) -> Placed:
    """Return the rows below the header in the order of the categories, by the name in cell `at`.

    Messages name the source of the categories, `where`, and add `if_none_is_known` if no row has a
    known category.
    """
    (_, header), *rows = table
    found: dict[str, Row] = {}
    for line, cells in rows:
        if len(cells) != len(header):
            raise DataError(
                f"{file}: line {line} has {len(cells)} cells, the header has {len(header)}; give "
                "as many, and write decimals with a point"
            )
        if not (name := cells[at]):
            raise DataError(f"{file}: line {line} names no category; give it one")
        if name in found:
            raise DataError(
                f"{file}: the category {shown(name)} has two rows, in lines {found[name][0]} and "
                f"{line}; keep one"
            )
        found[name] = line, cells
    known = set(categories)
    if unknown := [name for name in found if name not in known]:
        raise DataError(
            f"{file}: {listed(unknown)} among the rows, but not in {where}; "
            f"there are {listed(categories)}{if_none_is_known * (len(unknown) == len(found))}"
        )
    if missing := [category for category in categories if category not in found]:
        raise DataError(f"{file}: no row for {listed(missing)}; add it")
    ordered = ((name, *found[name]) for name in categories)
    return [(f"{file}: row {shown(name)} (line {line})", cells) for name, line, cells in ordered]


def _refuse_other_sum(where: str, values: Floats, remedy: str = "") -> None:
    """Raise `DataError` unless the values, called `where`, sum to 1."""
    if abs((total := math.fsum(values)) - 1) <= ROW_SUM_TOLERANCE:
        return
    if abs(total - 100) < 0.5:
        usual = "these look like percentages: divide them by 100"
    elif abs(total - 1) < 0.01:
        usual = "give more digits, or fractions such as 1/3"
    else:
        usual = "give probabilities that sum to 1"
    raise DataError(f"{where} sums to {total:.10g}, not to 1; {remedy or usual}")


def _column_of(
    file: Path,
    name: str,
    categories: Sequence[str],
    parse: Callable[[str, str, str], Value],
    other: str = "category",
) -> list[Value]:
    """Return the values of the column `name`, each read by `parse`, in the categories' order.

    The column ``category`` has their names, or the column `other` if ``category`` is absent.
    """
    table = _rows_of(file)
    line, header = table[0]
    key = other if other in header and "category" not in header else "category"
    for wanted in (key, name):
        if header.count(wanted) != 1:
            problem = "twice" if wanted in header else "not there"
            raise DataError(
                f"{file}: the column {wanted!r} is {problem} in line {line}; begin the file "
                f"with the header {key},{name}"
            )
    rows = _in_order(file, table, header.index(key), categories, "the channel's matrix")
    return [parse(where, name, cells[header.index(name)]) for where, cells in rows]


def _one_number(row: str, column: str, text: str) -> float:
    if DECIMAL.fullmatch(text):
        value = float(text)
    elif FRACTION.fullmatch(text) and int(text.partition("/")[2]):
        value = float(Fraction(text))
    else:
        problem = "which is not a number"
        remedy = "write a decimal such as 0.25, or a fraction such as 1/3"
        percentage = text.removesuffix("%").strip()
        if not text:
            remedy = "write 0 for an impossible value"
        elif text.endswith("%") and DECIMAL.fullmatch(percentage):
            problem, remedy = "a percentage", f"write {float(Fraction(percentage) / 100)!r}"
        _refuse(row, column, text, problem, remedy)
    if value < 0:
        _refuse(row, column, text, "which is negative", "probabilities are at least 0")
    return value


def _whole_number(row: str, column: str, text: str) -> int:
    short = len(text) < 400 and DECIMAL.fullmatch(text)
    value = Fraction(text) if short else Fraction(-1)
    if not 0 <= value <= MAX_COUNT or value.denominator != 1:
        remedy = "give a whole number without separators, 0 for a value without responses"
        _refuse(row, column, text, "which is not a number of records", remedy)
    return int(value)


def _refuse(row: str, column: str, text: str, problem: str, remedy: str) -> NoReturn:
    raise DataError(f"{row}, column {shown(column)} has {shown(text)}, {problem}; {remedy}")


@dataclass(frozen=True, eq=False)
class NamedChannel:
    """A channel with the names of its categories and randomized values, in the order of codes.

    The `categories` name the rows of the `channel`'s matrix; `reports` name its columns.
    """

    categories: tuple[str, ...]
    channel: DenseChannel
    reports: tuple[str, ...]


@named_types
def read_channel(path: Path | str) -> NamedChannel:
    """Read the matrix file at `path`: a row for each true category, a column for each value.

    Rows that sum to 1 within 1e-9 are taken in their exact proportions. Raises `DataError` if the
    file cannot be read or names are wrong, a value is missing, negative or not a number, or a row
    does not sum to 1. Rows and columns with different names are wrong, unless the header has the
    word "report".
    """
    file = Path(path)
    header, *rows = table = _rows_of(file)
    _refuse_bad_columns(file, header, rows)
    corner, *columns = header[1]
    categories = columns
    if OF_REPORTS.search(corner):
        own = [cells[0] for _, cells in rows]
        categories = columns if set(own) == set(columns) else own
        if not 0 < len(own) <= MAX_DENSE:
            raise DataError(
                f"{file}: {len(own):,} rows; give one for each category, up to {MAX_DENSE:,}"
            )
    placed = _in_order(file, table, 0, categories, "the columns", OTHER_NAMES)
    matrix = np.array(
        [
            [_one_number(row, *cell) for cell in zip(columns, cells[1:], strict=True)]
            for row, cells in placed
        ]
    )
    transposed = np.all(np.abs(matrix.sum(axis=0) - 1) <= ROW_SUM_TOLERANCE)
    for (row, _), values in zip(placed, matrix, strict=True):
        _refuse_other_sum(row, values, TRANSPOSED if transposed else "")
    return NamedChannel(tuple(categories), DenseChannel(matrix), tuple(columns))


@named_types
def write_channel(
    path: Path | str,
    channel: Channel,
    categories: Sequence[str],
    reports: Sequence[str] | None = None,
) -> None:
    """Write a matrix file to `path`, each number in the shortest form that gives the same float.

    The `channel` has at most 4,096 categories and 4,096 randomized values. The names of
    `categories` and `reports`, the randomized values, are in the order of their codes. By default
    the `reports` of a square channel are its categories, and other channels have numbers from 1.
    Raises `DataError` if the number of names is wrong, or a name is empty, there twice, or has
    white space around it. Raises `ChannelError` if the channel is larger.
    """
    names = list(categories)
    own = names if channel.square else [str(v + 1) for v in range(channel.reports)]
    columns = own if reports is None else list(reports)
    _refuse_bad_names(path, names, channel.size, "category", "categories")
    if columns != names:
        _refuse_bad_names(path, columns, channel.reports, "report", "reports")
    matrix = channel.matrix().tolist()
    with written_whole(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as to:
        writer = csv.writer(to, lineterminator="\n")
        writer.writerow([CORNER if columns == names else CORNER_OF_REPORTS, *columns])
        writer.writerows([name, *map(repr, row)] for name, row in zip(names, matrix, strict=True))


def _refuse_bad_names(path: Path | str, names: list[str], wanted: int, one: str, many: str) -> None:
    if wanted > MAX_DENSE:
        raise ChannelError(
            f"a matrix file may have {MAX_DENSE:,} {many}, the channel has {wanted:,}; use the "
            "methods of the channel, or its factors"
        )
    if len(names) != wanted:
        what = "over" if one == "category" else "with"
        raise DataError(f"{path}: {len(names)} {many} for a channel {what} {wanted}")
    for name, times in Counter(names).items():
        if not name or name != name.strip() or times > 1:
            raise DataError(
                f"{path}: the {one} {shown(name)} is empty, has white space around it, or is there "
                "twice; rename it"
            )


def read_prior(path: Path | str, categories: Sequence[str]) -> Floats:
    """Read a distribution over `categories`, in their order, from ``category,probability``.

    The CSV file is at `path`; the array has the shape (categories,). Raises `DataError` if the file
    cannot be read, lacks a column or a category, or has a category twice or an unknown one. The
    values must be probabilities that sum to 1 within 1e-9.
    """
    file = Path(path)
    values = np.array(_column_of(file, "probability", categories, _one_number))
    _refuse_other_sum(f"{file}: the column 'probability'", values)
    return values


def read_counts(path: Path | str, categories: Sequence[str]) -> Counts:
    """Read counts, in the order of the `categories`, from ``category,count`` or ``report,count``.

    The CSV file is at `path`. With ``report`` the `categories` are the channel's randomized values.
    The array has the shape (categories,). Raises `DataError` like `read_prior`, if a count is not a
    whole number, and if all are 0.
    """
    file = Path(path)
    values = _column_of(file, "count", categories, _whole_number, "report")
    if not any(values):
        raise DataError(f"{file}: the column 'count' is all 0; count the randomized values")
    return np.array(values, dtype=np.int64)
