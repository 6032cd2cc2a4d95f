"""Channels as JSON values of a release, and as the small CSV files that people write by hand.

A matrix file has the categories as its header and as its first column, a row for each true
category; the cell where the two meet is free. Priors have the columns ``category,probability``,
counts ``category,count``. Rows are matched by name, so their order is free; that of the matrix
file's header is the order of the categories. Numbers are decimals with a point, or fractions such
as 1/3. Every fault is one message that names file, row, column, value and remedy.
"""

import csv
import io
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import numpy as np

from deniable.arrays import Counts, Floats
from deniable.channels.base import LARGEST_DENSE, Channel
from deniable.channels.dense import DenseChannel
from deniable.channels.exact import ROW_SUM_TOLERANCE
from deniable.channels.keep_or_replace import KeepOrReplace
from deniable.channels.product import ProductChannel
from deniable.errors import ChannelError, DataError, DeniableError
from deniable.files import written_whole

DECIMAL = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
FRACTION = re.compile(r"[+-]?\d{1,300}/\d{1,300}", re.ASCII)
LONGEST_SHOWN = 40
MOST_SHOWN = 5
LARGEST_COUNT = 2**53
CORNER = "true category"
Value = TypeVar("Value", int, float)


def channel_to_json(channel: Channel) -> dict[str, Any]:
    """Describe a channel by its kind and its parameters, to the last bit of each float."""
    if isinstance(channel, KeepOrReplace):
        return {
            "kind": "keep-or-replace",
            "diagonal_weight": channel.diagonal_weight,
            "replacement": channel.replacement.tolist(),
        }
    if isinstance(channel, DenseChannel):
        return {"kind": "dense", "matrix": channel.entries.tolist()}
    if isinstance(channel, ProductChannel):
        return {"kind": "product", "factors": [channel_to_json(f) for f in channel.factors]}
    raise ChannelError(f"a {type(channel).__name__} has no JSON form")


def channel_from_json(value: Mapping[str, Any]) -> Channel:
    """Rebuild a channel from `channel_to_json`.

    Raises `ChannelError` if the kind is unknown, a parameter is missing, or the numbers are no
    channel.
    """
    try:
        match value["kind"]:
            case "keep-or-replace":
                return KeepOrReplace(value["diagonal_weight"], np.array(value["replacement"]))
            case "dense":
                return DenseChannel(np.array(value["matrix"]))
            case "product":
                return ProductChannel(tuple(map(channel_from_json, value["factors"])))
            case kind:
                allowed = "keep-or-replace, dense, product"
                raise ChannelError(f"unknown kind of channel {kind!r}; there are {allowed}")
    except KeyError as error:
        raise ChannelError(f"a channel's description lacks {error}; write it again") from None
    except DeniableError:
        raise
    except (TypeError, ValueError) as error:
        raise ChannelError(f"no channel's description ({error}); write it again") from None


@dataclass(frozen=True, eq=False)
class NamedChannel:
    """A channel with the names of its categories, in the order of its codes."""

    categories: tuple[str, ...]
    channel: DenseChannel


@dataclass(frozen=True)
class _Row:
    """A line of a file; `name` is the category that it is about."""

    file: Path
    line: int
    cells: list[str]
    name: str = ""

    def __str__(self) -> str:
        return f"{self.file}: row {_shown(self.name)} (line {self.line})"


def read_channel(path: Path | str) -> NamedChannel:
    """Read a matrix file: a row for each true category, a column for each report.

    Rows that sum to 1 within 1e-9 are taken in their exact proportions. Raises `DataError` if the
    file cannot be read; is not square; has rows and columns with different categories, or one of
    them twice; has a value that is missing, no number or negative; or a row that does not sum to 1.
    """
    file = Path(path)
    header, *rows = _rows(file)
    categories = header.cells[1:]
    _refuse_bad_columns(file, header, rows)
    in_order = _in_order(header, rows, 0, categories, "the columns")
    values = [
        [_number(row, *named) for named in zip(categories, row.cells[1:], strict=True)]
        for row in in_order
    ]
    matrix = np.array(values)
    _refuse_other_sums(in_order, matrix)
    return NamedChannel(tuple(categories), DenseChannel(matrix))


def write_channel(path: Path | str, channel: Channel, categories: Sequence[str]) -> None:
    """Write a matrix file, each number in the shortest form that gives the same float again.

    Parameters
    ----------
    path : Path or str
    channel : Channel, of at most 4,096 categories
    categories : sequence of str
        In the order of their codes.

    Raises
    ------
    DataError
        If there is not one category for each row, or one could not be read again: it is empty,
        there twice, or has white space around it.
    ChannelError
        If the channel has more categories.
    """
    names = list(categories)
    if len(names) != channel.size:
        raise DataError(f"{path}: {len(names)} categories for a channel over {channel.size}")
    for position, name in enumerate(names):
        if not name or name != name.strip() or name in names[:position]:
            raise DataError(
                f"{path}: the category {name!r} is empty, has white space around it, or is there "
                "twice; rename it"
            )
    matrix = channel.matrix().tolist()
    with written_whole(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as to:
        writer = csv.writer(to, lineterminator="\n")
        writer.writerow([CORNER, *names])
        writer.writerows([name, *map(repr, row)] for name, row in zip(names, matrix, strict=True))


def read_prior(path: Path | str, categories: Sequence[str]) -> Floats:
    """Read a distribution over the categories, in their order, from ``category,probability``.

    Raises `DataError` if the file cannot be read, lacks a column or a category, has an unknown one
    or one twice, or a value that is no probability; or if the probabilities do not sum to 1 within
    1e-9.
    """
    file = Path(path)
    values = np.array(_column(file, "probability", categories, _number))
    total = math.fsum(values)
    if abs(total - 1) > ROW_SUM_TOLERANCE:
        raise DataError(
            f"{file}: the column 'probability' sums to {total:.10g}, not to 1; "
            f"{_remedy_for_sum(total)}"
        )
    return values


def read_counts(path: Path | str, categories: Sequence[str]) -> Counts:
    """Read numbers of reports of the categories, in their order, from ``category,count``.

    Raises `DataError` as `read_prior`, if a count is no whole number, and if all are 0.
    """
    file = Path(path)
    values = _column(file, "count", categories, _whole_number)
    if not any(values):
        raise DataError(f"{file}: the column 'count' is all 0; give the counts of the reports")
    return np.array(values, dtype=np.int64)


def _rows(file: Path) -> list[_Row]:
    """Return the lines that are not empty, cells without the white space around them."""
    try:
        text = file.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise DataError(f"{file}: {error.strerror or error}; check the path") from None
    except UnicodeDecodeError:
        raise DataError(f"{file}: no UTF-8 text; save the file as CSV in UTF-8") from None
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    rows = []
    try:
        for cells in reader:
            if any(stripped := [cell.strip() for cell in cells]):
                rows.append(_Row(file, reader.line_num, stripped))
    except csv.Error as error:
        raise DataError(f"{file}: line {reader.line_num} is no CSV: {error}; correct it") from None
    if not rows:
        raise DataError(f"{file}: the file is empty; give a header, then a row for each category")
    first = rows[0].cells
    if len(first) == 1 and (other := re.search(r"[;\t|]", first[0])):
        raise DataError(
            f"{file}: line {rows[0].line} is separated by {other.group()!r}; separate cells by "
            "commas, and write decimals with a point"
        )
    return rows


def _refuse_bad_columns(file: Path, header: _Row, rows: list[_Row]) -> None:
    categories = header.cells[1:]
    if rows and all(len(row.cells) == len(header.cells) + 1 for row in rows):
        raise DataError(
            f"{file}: the header (line {header.line}) has {len(header.cells)} cells, the rows have "
            "one more; give the header a first cell, which may be empty"
        )
    if not categories:
        raise DataError(
            f"{file}: the header (line {header.line}) names no categories; list them after its "
            "first cell"
        )
    if len(categories) > LARGEST_DENSE:
        raise DataError(
            f"{file}: {len(categories):,} categories; a matrix file may have {LARGEST_DENSE:,}"
        )
    for position, category in enumerate(categories):
        if not category:
            raise DataError(
                f"{file}: column {position + 2} of the header (line {header.line}) has no "
                "category; name it, or remove the column"
            )
        if category in categories[:position]:
            raise DataError(f"{file}: the header has {_shown(category)} twice; keep one column")


def _in_order(
    header: _Row, rows: Sequence[_Row], at: int, categories: Sequence[str], where: str
) -> list[_Row]:
    """Return the rows in the order of the categories, which cell number `at` names."""
    found: dict[str, _Row] = {}
    for row in rows:
        if len(row.cells) != len(header.cells):
            raise DataError(
                f"{row.file}: line {row.line} has {len(row.cells)} cells, the header has "
                f"{len(header.cells)}; give as many, and write decimals with a point"
            )
        name = row.cells[at]
        if not name:
            raise DataError(f"{row.file}: line {row.line} names no category; give it one")
        if name in found:
            raise DataError(
                f"{row.file}: the category {_shown(name)} has two rows, in lines "
                f"{found[name].line} and {row.line}; keep one"
            )
        found[name] = replace(row, name=name)
    known = set(categories)
    if unknown := [name for name in found if name not in known]:
        raise DataError(
            f"{header.file}: {_listed(unknown)} among the rows, but not in {where}; "
            f"there are {_listed(categories)}"
        )
    if missing := [category for category in categories if category not in found]:
        raise DataError(f"{header.file}: no row for {_listed(missing)}; add it")
    return [found[category] for category in categories]


def _refuse_other_sums(rows: Sequence[_Row], matrix: Floats) -> None:
    sums = [math.fsum(row) for row in matrix]
    wrong = [number for number, total in enumerate(sums) if abs(total - 1) > ROW_SUM_TOLERANCE]
    if not wrong:
        return
    remedy = _remedy_for_sum(sums[wrong[0]])
    if np.all(np.abs(matrix.sum(axis=0) - 1) <= ROW_SUM_TOLERANCE):
        remedy = (
            "the columns do: this looks column-stochastic, with a column for each true category; "
            "transpose it"
        )
    raise DataError(f"{rows[wrong[0]]} sums to {sums[wrong[0]]:.10g}, not to 1; {remedy}")


def _remedy_for_sum(total: float) -> str:
    if abs(total - 100) < 0.5:
        return "these look like percentages: divide them by 100"
    if abs(total - 1) < 0.01:
        return "give more digits, or fractions such as 1/3"
    return "give probabilities that sum to 1"


def _column(
    file: Path, name: str, categories: Sequence[str], parse: Callable[[_Row, str, str], Value]
) -> list[Value]:
    """Return the values of one column, in the order of the categories."""
    header, *rows = _rows(file)
    for wanted in ("category", name):
        if header.cells.count(wanted) != 1:
            problem = "twice" if wanted in header.cells else "not there"
            raise DataError(
                f"{file}: the column {wanted!r} is {problem} in line {header.line}; begin the file "
                f"with the header category,{name}"
            )
    at, value_at = header.cells.index("category"), header.cells.index(name)
    in_order = _in_order(header, rows, at, categories, "the channel's matrix")
    return [parse(row, name, row.cells[value_at]) for row in in_order]


def _number(row: _Row, column: str, text: str) -> float:
    """Return a number that is not negative."""
    if DECIMAL.fullmatch(text):
        value = float(text)
    elif FRACTION.fullmatch(text) and int(text.partition("/")[2]):
        value = float(Fraction(text))
    else:
        _refuse(row, column, text, *_fault(text))
    if value < 0:
        _refuse(row, column, text, "which is negative", "probabilities are at least 0")
    return value


def _whole_number(row: _Row, column: str, text: str) -> int:
    value = Fraction(text) if DECIMAL.fullmatch(text) else Fraction(-1)
    if not 0 <= value <= LARGEST_COUNT or value.denominator != 1:
        remedy = "give a whole number without separators, 0 for what nobody reported"
        _refuse(row, column, text, "which is no number of records", remedy)
    return int(value)


def _fault(text: str) -> tuple[str, str]:
    """Return what is wrong with a text that is no number, and the remedy."""
    if not text:
        return "which is no number", "write 0 for what cannot happen"
    percentage = text.removesuffix("%").strip()
    if text.endswith("%") and DECIMAL.fullmatch(percentage):
        return "a percentage", f"write {float(Fraction(percentage) / 100)!r}"
    return "which is no number", "write a decimal such as 0.25, or a fraction such as 1/3"


def _refuse(row: _Row, column: str, text: str, problem: str, remedy: str) -> NoReturn:
    raise DataError(f"{row}, column {_shown(column)} has {_shown(text)}, {problem}; {remedy}")


def _shown(text: str) -> str:
    return repr(text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + "...")


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(_shown(name) for name in names[:MOST_SHOWN])
    return shown + (f" and {len(names) - MOST_SHOWN} more" if len(names) > MOST_SHOWN else "")
