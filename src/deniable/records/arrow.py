"""Records as Arrow tables: files that are whole, and columns of text as codes."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from deniable.errors import DataError
from deniable.files import written_whole

CATEGORICAL_KEY = b"deniable"
NUMERIC_KEY = b"deniable_numeric"
"""Under which the metadata of a file say what its columns are; which of them tells the kind."""


class ArrowRecords(ABC):
    """Records that are written as an Arrow table."""

    @abstractmethod
    def to_arrow(self) -> pa.Table:
        """Return the records as an Arrow table."""

    def write_parquet(self, path: Path | str) -> None:
        """Write the records as Parquet; what they are and their marks go into the metadata."""
        with written_whole(path) as temporary:
            pq.write_table(self.to_arrow(), temporary, compression="zstd")

    def write_csv(self, path: Path | str, notes: Mapping[str, str] | None = None) -> None:
        """Write the records as CSV with a header: categories as text, numbers that read back.

        Parameters
        ----------
        path : path
        notes : mapping of column name to text, optional
            Further columns, the same in every record: a CSV file has no other place for marks.
        """
        from pyarrow import csv as arrow_csv  # noqa: PLC0415 - seldom needed, slow to import

        table = self.to_arrow()
        for position, column in enumerate(table.schema):
            if pa.types.is_dictionary(column.type):
                text = table.column(position).cast(pa.string())
                table = table.set_column(position, column.name, text)
        for name, note in (notes or {}).items():
            table = table.append_column(name, pa.array([note] * table.num_rows))
        with written_whole(path) as temporary:
            arrow_csv.write_csv(table, temporary)


def read_parquet_table(path: Path | str) -> pa.Table:
    """Read a table that `write_parquet` wrote.

    Raises
    ------
    DataError
        If the file is absent or no Parquet.
    """
    try:
        return pq.read_table(path)
    except (OSError, pa.ArrowInvalid) as error:
        reason = str(error).splitlines()[0]
        raise DataError(f"{path}: not readable as Parquet ({reason}); make it again") from None


def refuse_missing_columns(file: Path, table: pa.Table, names: Sequence[str], who: str) -> None:
    """Refuse a table that has not one column for each name.

    Parameters
    ----------
    who : str
        Who says that there are such columns, as "the domain has".
    """
    for name in names:
        if table.column_names.count(name) != 1:
            raise DataError(
                f"{file}: {who} the attribute {name!r}, but the columns are "
                f"{', '.join(table.column_names)}; make the file again"
            )


def text_codes(
    texts: pa.Array, categories: Sequence[str]
) -> tuple[npt.NDArray[np.int32], int | None]:
    """Return the position of each text among the categories.

    Returns
    -------
    array of int32, int or None
        The codes, and the first record whose text is no category; then there are no codes.
    """
    import pyarrow.compute as pc  # noqa: PLC0415 - seldom needed, slow to import

    codes = pc.index_in(texts, value_set=pa.array(categories, type=pa.string()))
    if codes.null_count:
        unknown = codes.is_null().to_numpy(zero_copy_only=False)
        return np.empty(0, dtype=np.int32), int(np.flatnonzero(unknown)[0])
    return np.asarray(codes.to_numpy(zero_copy_only=False), dtype=np.int32), None
