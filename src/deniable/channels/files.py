"""Channels, priors and counts as the small CSV files that people write by hand.

A matrix file has the categories as its header and as its first column, a row for each true
category; the cell where the two meet is free. Rows are matched by name, so their order is free;
that of the matrix file's header is the order of the categories. If that first cell has the word
"report", the columns may have names of their own, and be more or fewer than the rows: categories
then have the order of the rows. Priors have the columns ``category,probability``, counts
``category,count`` or ``report,count``, rows matched by name. Numbers are decimals with a point, or
fractions such as 1/3. Every fault is one message that names file, row, column, value and remedy.
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
    """A channel with the names of its categories and reports, in the order of their codes.

    The `categories` name the rows of the `channel`'s matrix, `reports` its columns: these are named
    as the categories, if no names are given.
    """

    categories: tuple[str, ...]
    channel: DenseChannel
    reports: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "reports", self.reports or self.categories)


def read_channel(path: Path | str) -> NamedChannel:
    """Read the matrix file at `path`: a row for each true category, a column for each report.

    Rows that sum to 1 within 1e-9 are taken in their exact proportions. Where the header begins
    with a cell that has the word "report", columns have names of their own, if these are not the
    rows' too, and there may be more or fewer of them than rows. Raises `DataError` if the
    file cannot be read; has rows and columns with different categories without that word; has a
    category or a report twice, a value that is missing, no number or negative, or a row that does
    not sum to 1.
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
    channel : Channel, of at most 4,096 categories and as many reports
    categories : sequence of str
        In the order of their codes.
    reports : sequence of str, optional
        In the order of their codes; by default those of a square channel are the categories, those
        of another are numbered from 1.

    Raises
    ------
    DataError
        If there is not one category for each row and one report for each column, or a name could
        not be read again: it is empty, there twice, or has white space around it.
    ChannelError
        If the channel has more categories or reports.
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

    These are the columns of the CSV file at `path`; the array has the shape (categories,).
    Raises `DataError` if the file cannot be read, lacks a column or a category, has an unknown one
    or one twice, or a value that is no probability; or if the probabilities do not sum to 1 within
    1e-9.
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
    """Read numbers of reports, in the order of their names, from ``category,count``.

    These are the columns of the CSV file at `path`, and `categories` the names. The first of these
    columns may be called ``report`` instead: of a channel that has reports of its own, their names
    are those to give. Raises `DataError` as `read_prior`, if a count is no whole number, and if all
    are 0.
    """
    file = Path(path)
    values = column_of(file, "count", categories, whole_number, "report")
    if not any(values):
        raise DataError(f"{file}: the column 'count' is all 0; give the counts of the reports")
    return np.array(values, dtype=np.int64)
