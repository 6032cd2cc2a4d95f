"""Files of records through Arrow: Parquet with metadata, CSV as batches of text.

Each error is one clear message.
"""

import csv
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from deniable.arrays import Floats
from deniable.errors import DataError, plain
from deniable.files import written_whole

if TYPE_CHECKING:
    import pandas as pd

CATEGORICAL_KEY = b"deniable"
NUMERIC_KEY = b"deniable_numeric"
"""Under which the metadata of a file say what its columns are; which of them tells the kind."""
BLOCK_BYTES = 1 << 24  # of a file, read at a time
LONGEST_FIRST_LINE = 1 << 20
LONGEST_QUOTATION = 500  # characters of a file in a message
NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"

About = TypeVar("About")


class ArrowRecords(ABC):
    """Records that are written as an Arrow table."""

    @abstractmethod
    def to_arrow(self) -> pa.Table:
        """Return the records as an Arrow table."""

    def to_frame(self) -> "pd.DataFrame":
        """Return the records as a DataFrame: names of categories, and numbers as floats."""
        frame: pd.DataFrame = self.to_arrow().to_pandas()
        frame.attrs.clear()
        return frame

    def write_parquet(self, path: Path | str, *, private: bool = False) -> None:
        """Write the records to `path` as Parquet; the metadata describe columns and marks.

        Original records are `private`: only their owner can read the file.
        """
        with written_whole(path, private=private) as temporary:
            pq.write_table(self.to_arrow(), temporary, compression="zstd")

    def write_csv(self, path: Path | str) -> None:
        """Write the records to `path` as CSV: a header, categories as text, exact numbers."""
        from pyarrow import csv as arrow_csv  # noqa: PLC0415 - seldom needed, slow to import

        table = self.to_arrow()
        for position, column in enumerate(table.schema):
            if pa.types.is_dictionary(column.type):
                text = table.column(position).cast(pa.string())
                table = table.set_column(position, column.name, text)
        with written_whole(path) as temporary:
            arrow_csv.write_csv(table, temporary)


def column_of(frame: "pd.DataFrame", name: str, kind: pa.DataType) -> pa.Array:
    """Return the column `name` of a `frame` as an Arrow array of a `kind`, with None for missing.

    Raises `DataError` if the column is absent, or it has values of another kind.
    """
    if name not in frame.columns:
        there = shortened(", ".join(map(str, frame.columns)))
        raise DataError(f"the table has no column {name!r}; it has {there}")
    try:
        values = pa.array(frame[name], from_pandas=True)
        if isinstance(values, pa.ChunkedArray):
            values = values.combine_chunks()
        return values.cast(kind)
    except pa.ArrowException as error:
        reason = str(error).partition("\n")[0]
        raise DataError(
            f"the table: column {name!r} is not as {kind} ({reason}); mend it"
        ) from None


def read_described(
    path: Path | str, key: bytes, parse: Callable[[Any], About], what: str, unsaid: str
) -> tuple[pa.Table, About]:
    """Read a Parquet table at `path` from `write_parquet`, and its metadata under a `key`.

    `parse` reads the metadata's JSON values and raises KeyError, TypeError or ValueError for
    invalid ones. `what` and `unsaid` are for messages: the object that the metadata describe, and
    the error and remedy if there are none. Raises `DataError` if the file is absent, not Parquet,
    or without such metadata.
    """
    try:
        # Not `pq.read_table`, which loads what reads folders of files first.
        with pq.ParquetFile(path) as file:
            table = file.read()
    except (OSError, pa.ArrowException) as error:
        reason = (str(error).splitlines() or ["damaged"])[0]
        raise DataError(f"{path}: not readable as Parquet ({reason}); make it again") from None
    metadata = table.schema.metadata or {}
    if key not in metadata:
        raise DataError(f"{path}: {unsaid}")
    try:
        return table, parse(json.loads(metadata[key]))
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise DataError(
            f"{path}: its metadata describe no {what} ({error}); make the file again"
        ) from None


def refuse_missing_columns(path: Path | str, table: pa.Table, names: Sequence[str]) -> None:
    """Raise `DataError` unless the `table` at `path` has one column for each of the `names`."""
    for name in names:
        if table.column_names.count(name) != 1:
            raise DataError(
                f"{path}: the metadata have the attribute {name!r}, but the columns are "
                f"{', '.join(table.column_names)}; make the file again"
            )


def text_columns(
    path: Path | str, names: Sequence[str], column_positions: Sequence[int] | None, delimiter: str
) -> Iterator[tuple[int, list[pa.Array]]]:
    """Yield columns of a CSV file as text, with the number of records before each batch.

    The `names`, `path`, `column_positions` and `delimiter` are as in `deniable.records.read_csv`.
    Raises `DataError`, with file, line or record and remedy, if the file cannot be read, is not
    UTF-8 text, lacks a column, has a row of another length or has no records.
    """
    import pyarrow.compute as pc  # noqa: PLC0415 - seldom needed, slow to import
    from pyarrow import csv as arrow_csv  # noqa: PLC0415

    file = Path(path)
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n':
        raise DataError(f"{file}: the delimiter is {delimiter!r}; it must be one ASCII character")
    first_row = _first_row(file, delimiter)
    # Named by position, for a header may name two columns alike that are not wanted.
    columns = [f"column {position}" for position in range(len(first_row))]
    if column_positions is None:
        header = [name.strip() for name in first_row]
        _refuse_bad_header(file, header, names)
        wanted = [columns[header.index(name)] for name in names]
    else:
        _refuse_bad_positions(file, column_positions, names, len(first_row), delimiter)
        wanted = [columns[position] for position in column_positions]
    skipped = 1 if column_positions is None else 0
    records = 0
    try:
        reader = arrow_csv.open_csv(
            file,
            # Without threads, which are no faster here, errors know their row.
            read_options=arrow_csv.ReadOptions(
                block_size=BLOCK_BYTES, column_names=columns, skip_rows=skipped, use_threads=False
            ),
            parse_options=arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert_options=arrow_csv.ConvertOptions(
                include_columns=wanted,
                column_types={name: pa.string() for name in wanted},
                strings_can_be_null=False,
            ),
        )
        for batch in reader:
            yield records, [pc.utf8_trim_whitespace(column) for column in batch.columns]
            records += batch.num_rows
    except (pa.ArrowInvalid, OSError) as error:
        if not _only_a_header(file, skipped):
            raise DataError(
                f"{file}: {_reason(error, first_row if skipped else columns, skipped)}; mend that "
                f"row, or check that the file is UTF-8 text with the delimiter {delimiter!r}"
            ) from None
    if not records:
        raise DataError(f"{file}: no records; give a file with at least one")


def text_column(path: Path | str, table: pa.Table, name: str) -> pa.Array:
    """Return the column `name` of the `table` at `path` as text, or raise `DataError`."""
    column = table.column(name)
    try:
        return column.cast(pa.string()).combine_chunks()
    except pa.ArrowException:
        raise DataError(
            f"{path}: column {name!r} holds {column.type}, no text; make the file again"
        ) from None


def leading_numbers(texts: pa.Array) -> Floats:
    """Return the numbers in `texts` up to the first text that is not a number, shape (numbers,).

    A number may have a decimal point and an exponent, but no white space, and is not "nan" or
    "inf".
    """
    import pyarrow.compute as pc  # noqa: PLC0415 - seldom needed, slow to import

    legible = pc.match_substring_regex(texts, NUMBER).to_numpy(zero_copy_only=False)
    before = len(texts) if legible.all() else int(legible.argmin())
    plain = pc.utf8_ltrim(texts[:before], "+")  # Arrow takes no plus sign
    return np.asarray(pc.cast(plain, pa.float64()).to_numpy(), dtype=np.float64)


def no_number(text: str) -> str:
    """Return the error of a `text`, perhaps empty, in the place of a number."""
    return f"has '{shortened(text)}', which is no number" if text else "has a missing value"


def shortened(text: str) -> str:
    """Return a file's `text` for a message: plain, at most 500 characters."""
    text = plain(text)
    return text if len(text) <= LONGEST_QUOTATION else f"{text[:LONGEST_QUOTATION]} ..."


def _first_row(file: Path, delimiter: str) -> list[str]:
    try:
        with file.open("rb") as stream:
            raw = re.split(rb"[\r\n]", stream.read(LONGEST_FIRST_LINE), maxsplit=1)[0]
    except OSError as error:
        raise DataError(f"{file}: {error.strerror or error}; check the path") from None
    if not raw.strip():
        raise DataError(f"{file}: the first line is empty; give a file with records")
    try:
        return next(csv.reader([raw.decode("utf-8-sig")], delimiter=delimiter))
    except UnicodeDecodeError:
        raise DataError(
            f"{file}: the first line is no UTF-8 text; convert the file to UTF-8"
        ) from None
    except csv.Error as error:
        raise DataError(f"{file}: the first line is no CSV ({error}); check the file") from None


def _refuse_bad_header(file: Path, header: Sequence[str], names: Sequence[str]) -> None:
    for name in names:
        if header.count(name) != 1:
            problem = "no column" if name not in header else "more than one column"
            raise DataError(
                f"{file}: {problem} {name!r} in the header ({shortened(', '.join(header))}); "
                "each attribute needs one column of its name"
            )


def _refuse_bad_positions(
    file: Path, positions: Sequence[int], names: Sequence[str], width: int, delimiter: str
) -> None:
    if len(positions) != len(names):
        raise DataError(
            f"{file}: {len(names)} attributes, but {len(positions)} column positions; one each"
        )
    for position in sorted(positions, reverse=True):
        if not 0 <= position < width:
            raise DataError(
                f"{file}: the first line has {width} columns, but column {position} (from 0) is "
                f"wanted; check the delimiter {delimiter!r} and the file"
            )


def _only_a_header(file: Path, header_rows: int) -> bool:
    # Arrow takes a header without a line end, and nothing after it, for a fault.
    with file.open("rb") as stream:
        start = stream.read(LONGEST_FIRST_LINE).strip()
    return header_rows == 1 and not re.search(rb"[\r\n]", start)


def _reason(error: Exception, columns: Sequence[str], header_rows: int) -> str:
    # Arrow counts the header as a row; it names columns by their position.
    text = str(error).splitlines()[0].removeprefix("CSV parse error: ")
    text = text.replace("CSV conversion error to string: ", "")
    if text.startswith("straddling"):
        return f"a record has over {BLOCK_BYTES:,} bytes: likely a quotation mark is left open"
    if found := re.match(r"(?:In CSV column #(\d+): )?Row #(\d+): ", text):
        column = f", column {columns[int(found[1])].strip()!r}" if found[1] else ""
        text = f"record {int(found[2]) - header_rows}{column}: {text[found.end() :]}"
    return text
