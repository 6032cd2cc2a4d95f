"""Channels, priors and counts as small CSV files that people write by hand.

A matrix file has a header of categories and one row for each true category, with its name in the
first cell. Rows are matched by name. Categories have the order of the header. If the first cell of
the header has the word "report", columns may have other names than rows, and be more or fewer.
Categories then have the order of the rows. Priors have the columns ``category,probability``, counts
``category,count`` or ``report,count``. Numbers are decimals with a point, or fractions such as 1/3.
Every error message names file, row, column, value and remedy.
"""

import csv
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from deniable.arrays import Counts, Floats
from deniable.channels.base import Channel
from deniable.channels.cells import (
    column_of,
    numbers_of,
    one_number,
    refuse_bad_columns,
    refuse_other_sums,
    remedy_for_sum,
    rows_in_order,
    rows_of,
    whole_number,
)
from deniable.channels.dense import DenseChannel
from deniable.channels.exact import ROW_SUM_TOLERANCE
from deniable.channels.maps import MAX_DENSE
from deniable.errors import ChannelError, DataError, shown
from deniable.files import written_whole

CORNER, CORNER_OF_REPORTS = "true category", "true category / report"
OTHER_NAMES = '; if the columns are reports of their own, write "report" in the first cell'
OF_REPORTS = re.compile(r"\breports?\b", re.IGNORECASE)
"""What the first cell has where columns are reports of their own."""


@dataclass(frozen=True, eq=False)
class NamedChannel:
    """A channel with names of its categories and randomized values, in the order of codes.

    The `categories` name the rows of the `channel`'s matrix, `reports` its columns, by default as
    the categories.
    """

    categories: tuple[str, ...]
    channel: DenseChannel
    reports: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "reports", self.reports or self.categories)


def read_channel(path: Path | str) -> NamedChannel:
    """Read the matrix file at `path`: a row for each true category, a column for each value.

    Rows that sum to 1 within 1e-9 are taken in their exact proportions. Raises `DataError` if the
    file cannot be read, if rows and columns differ without the word "report" in the header, if a
    name is there twice, if a value is missing, negative or not a number, or if a row does not sum
    to 1.
    """
    file = Path(path)
    header, *rows = rows_of(file)
    columns = header.cells[1:]
    refuse_bad_columns(file, header, rows)
    categories = columns
    if OF_REPORTS.search(header.cells[0]):
        own = [row.cells[0] for row in rows]
        categories = columns if set(own) == set(columns) else own
        if not 0 < len(own) <= MAX_DENSE:
            raise DataError(
                f"{file}: {len(own):,} rows; give one for each category, up to {MAX_DENSE:,}"
            )
    in_order = rows_in_order(header, rows, 0, categories, "the columns", OTHER_NAMES)
    matrix = np.array([numbers_of(row, columns) for row in in_order])
    refuse_other_sums(in_order, matrix)
    return NamedChannel(tuple(categories), DenseChannel(matrix), tuple(columns))


def write_channel(
    path: Path | str,
    channel: Channel,
    categories: Sequence[str],
    reports: Sequence[str] | None = None,
) -> None:
    """Write a matrix file, each number in the shortest form that gives the same float again.

    Parameters
    ----------
    path : Path or str
    channel : Channel, of at most 4,096 categories and as many values
    categories : sequence of str
        In the order of their codes.
    reports : sequence of str, optional
        In the order of their codes. By default the categories of a square channel, else numbers
        from 1.

    Raises
    ------
    DataError
        If the numbers of names do not fit, or a name is empty, there twice, or has white space
        around it.
    ChannelError
        If the channel has more categories or values.
    """
    names = list(categories)
    if reports is not None:
        columns = list(reports)
    else:
        columns = names if channel.square else [str(v + 1) for v in range(channel.reports)]
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
            "channel's own methods, or its factors"
        )
    if len(names) != wanted:
        what = "over" if one == "category" else "with"
        raise DataError(f"{path}: {len(names)} {many} for a channel {what} {wanted}")
    seen = set()
    for name in names:
        if not name or name != name.strip() or name in seen:
            raise DataError(
                f"{path}: the {one} {shown(name)} is empty, has white space around it, or is there "
                "twice; rename it"
            )
        seen.add(name)


def read_prior(path: Path | str, categories: Sequence[str]) -> Floats:
    """Read a distribution over `categories`, in their order, from ``category,probability``.

    The CSV file is at `path`; the array has the shape (categories,). Raises `DataError` if the file
    cannot be read, lacks a column or a category, has an unknown one or one twice, or if the values
    are not probabilities of sum 1 within 1e-9.
    """
    file = Path(path)
    values = np.array(column_of(file, "probability", categories, one_number))
    total = math.fsum(values)
    if abs(total - 1) > ROW_SUM_TOLERANCE:
        raise DataError(
            f"{file}: the column 'probability' sums to {total:.10g}, not to 1; "
            f"{remedy_for_sum(total)}"
        )
    return values


def read_counts(path: Path | str, categories: Sequence[str]) -> Counts:
    """Read counts, in the order of the `categories`, from ``category,count`` or ``report,count``.

    The CSV file is at `path`. With ``report`` the names are the channel's randomized values. Raises
    `DataError` as `read_prior`, if a count is not a whole number, and if all are 0.
    """
    file = Path(path)
    values = column_of(file, "count", categories, whole_number, "report")
    if not any(values):
        raise DataError(f"{file}: the column 'count' is all 0; give the counts of the reports")
    return np.array(values, dtype=np.int64)
