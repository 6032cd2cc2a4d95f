"""Read published values of the papers with their precision."""

import csv
import re
from contextlib import suppress
from decimal import Decimal
from pathlib import Path

import pandas as pd

from deniable.errors import DataError

NUMBER = re.compile(r"[+-]?\d+(\.\d+)?", re.ASCII)


def read_published(path: Path | str, value_column: str) -> pd.DataFrame:
    """Read published values from a CSV file at `path` with key columns and a `value_column`.

    The table has the key columns, ``published`` (float) and ``half_unit`` (half a unit of the last
    published digit: .0005 for "0.310"). A missing column or value, a value that is not a number,
    and a repeated key raise a `DataError`.
    """
    text = _read_strictly(path)
    if value_column not in text:
        raise DataError(f"{path}: no column {value_column!r}; there are {', '.join(text.columns)}")
    if text.empty:
        raise DataError(f"{path}: no published numbers below the header; write a line for each")
    for row, values in enumerate(text.itertuples(index=False), start=2):
        if "" in values:
            raise DataError(f"{path}: line {row} has an empty value; write the published one")
    keys = [column for column in text.columns if column != value_column]
    table = text[keys].copy()
    for column in (value_column, *keys):
        numbers = text[column].map(lambda each: bool(NUMBER.fullmatch(each)))
        if not numbers.all() and (numbers.any() or column == value_column):
            row = int((~numbers).to_numpy().argmax())
            raise DataError(
                f"{path}: line {row + 2}, column {column!r}: {text[column][row]!r} is not a "
                "number, but the column has numbers; write it as it is published"
            )
        if column in table:
            with suppress(ValueError):
                table[column] = pd.to_numeric(text[column])
    # Keys are compared as numbers: "0.1" and "0.10" are one key.
    repeated = table.duplicated(keys)
    if repeated.any():
        line = int(repeated.to_numpy().argmax()) + 2
        raise DataError(f"{path}: line {line} repeats the key of an earlier line; keep one")
    table["published"] = text[value_column].astype(float)
    table["half_unit"] = [half_unit_of_last_digit(printed) for printed in text[value_column]]
    return table


def _read_strictly(path: Path | str) -> pd.DataFrame:
    """Read a CSV file as text; unlike pandas, reject rows of other lengths."""
    try:
        with Path(path).open(newline="", encoding="utf-8") as stream:
            header, *rows = csv.reader(stream, strict=True)
    except (OSError, ValueError, csv.Error) as error:
        raise DataError(
            f"{path}: not readable as a table of published numbers ({error}); check the path and "
            "the file"
        ) from None
    for line, row in enumerate(rows, start=2):
        if len(row) != len(header):
            raise DataError(
                f"{path}: line {line} has {len(row)} values, but the header names {len(header)}; "
                "give each column one value"
            )
    if len(set(header)) < len(header):
        raise DataError(f"{path}: the header names a column twice; rename one")
    return pd.DataFrame(rows, columns=pd.Index(header), dtype=str)


def half_unit_of_last_digit(printed: str) -> float:
    """Return half a unit of the last digit of a published number, given as text (`printed`).

    >>> half_unit_of_last_digit("0.310"), half_unit_of_last_digit("94.5")
    (0.0005, 0.05)
    """
    exponent = Decimal(printed).as_tuple().exponent
    return float(Decimal(5).scaleb(int(exponent) - 1))
