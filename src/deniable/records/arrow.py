"""Records as Arrow tables, written to Parquet with metadata and read from it."""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from deniable.errors import DataError, plain
from deniable.files import written_whole

if TYPE_CHECKING:
    import pandas as pd

CATEGORICAL_KEY = b"deniable"
NUMERIC_KEY = b"deniable_numeric"
"""Keys of the metadata that describe the columns of a file; each is for one kind of records."""
LONGEST_QUOTATION = 500  # characters of a file in a message

About = TypeVar("About")


class ArrowRecords(ABC):
    """Records that can be written as an Arrow table."""

    @abstractmethod
    def to_arrow(self) -> pa.Table:
        """Return the records as an Arrow table."""

    def to_frame(self) -> "pd.DataFrame":
        """Return the records as a DataFrame with names of categories, and numbers as floats."""
        frame: pd.DataFrame = self.to_arrow().to_pandas()
        frame.attrs.clear()
        return frame

    def write_parquet(self, path: Path | str, *, private: bool = False) -> None:
        """Write the records to `path` as Parquet; the metadata describe columns and marks.

        Use `private` for original records: only the owner can read the file.
        """
        with written_whole(path, private=private) as temporary:
            pq.write_table(self.to_arrow(), temporary, compression="zstd")


def column_of(frame: "pd.DataFrame", name: str, kind: pa.DataType) -> pa.Array:
    """Return the column `name` of a `frame` as an Arrow array of a `kind`; missing values are null.

    Raises `DataError` if the column is absent, or has values of another kind.
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
        problem = f"the table: column {name!r} does not have the type {kind} ({reason}); correct it"
        raise DataError(problem) from None


@contextmanager
def arrow_errors(path: Path | str, kind: str, remedy: str) -> Iterator[None]:
    """Raise a `DataError` with a `remedy` if the block cannot read the file at `path` as `kind`."""
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        reason = getattr(error, "strerror", None) or str(error).partition("\n")[0] or "damaged"
        raise DataError(f"{path}: not readable as {kind} ({reason}); {remedy}") from None


def read_table(path: Path | str) -> tuple[pa.Table, Mapping[bytes, bytes]]:
    """Read the Parquet table at `path`, and its metadata, or raise `DataError`."""
    # `pq.read_table` would first load the modules for folders of files.
    with arrow_errors(path, "Parquet", "create it again"), pq.ParquetFile(path) as file:
        table = file.read()
    return table, table.schema.metadata or {}


def parse_metadata(
    path: Path | str, metadata: bytes, parse: Callable[[Any], About], what: str
) -> About:
    """Return `what` the `metadata` of the file at `path` describe in JSON, or raise `DataError`.

    `parse` reads the JSON values and raises KeyError, TypeError or ValueError for invalid values.
    """
    try:
        return parse(json.loads(metadata))
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        problem = f"{path}: its metadata describe no {what} ({error}); create the file again"
        raise DataError(problem) from None


def column_at(path: Path | str, table: pa.Table, name: str) -> pa.ChunkedArray:
    """Return the column `name` of the `table` at `path`; raise `DataError` unless it has one."""
    if table.column_names.count(name) != 1:
        raise DataError(
            f"{path}: the metadata have the attribute {name!r}, but the columns are "
            f"{', '.join(table.column_names)}; create the file again"
        )
    return table.column(name)


def text_column(path: Path | str, table: pa.Table, name: str) -> pa.Array:
    """Return the column `name` of the `table` at `path` as text, or raise `DataError`."""
    column = column_at(path, table, name)
    try:
        return column.cast(pa.string()).combine_chunks()
    except pa.ArrowException:
        problem = f"{path}: column {name!r} has {column.type}, not text; create the file again"
        raise DataError(problem) from None


def shortened(text: str) -> str:
    """Return a file's `text` for a message: plain, at most 500 characters."""
    text = plain(text)
    return text if len(text) <= LONGEST_QUOTATION else f"{text[:LONGEST_QUOTATION]} ..."
