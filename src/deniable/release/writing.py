"""Write protected records in batches, in the format, order and types of the original file.

CSV values are quoted where this is necessary, as by Python's `csv`.
"""

import base64
import codecs
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from deniable.errors import DataError, shown
from deniable.schema import CsvForm, FileFormat, plain_type, rows_of

ROWS = 1 << 15  # lines of CSV that are joined at a time
GROUP = 1 << 18  # records of a row group of Parquet and of a batch of Arrow
TEXT = pa.large_string()


def records_writer(
    path: Path, file: FileFormat, form: CsvForm
) -> "closing[_Csv] | closing[_Groups]":
    """Open a writer at a `path` in the format `file`; a CSV file has the line ends of `form`."""
    if (protected := file.protected).kind == "csv":
        return closing(_Csv(path, protected, form))
    return closing(_Groups(path, file))


def encoded_text(text: str, encoder: codecs.IncrementalEncoder, encoding: str) -> bytes:
    """Return a `text` in bytes by the `encoder` of an `encoding`, or raise `DataError`."""
    try:
        return encoder.encode(text)
    except UnicodeEncodeError as error:
        raise DataError(
            f"an identifier contains {shown(text[error.start])}, which the schema's encoding "
            f"{encoding} cannot express; declare another encoding, or leave the identifiers out"
        ) from None


class _Csv:
    """A CSV file with a header, by default with commas and in UTF-8."""

    def __init__(self, path: Path, file: FileFormat, form: CsvForm) -> None:
        self._delimiter, self._form = file.delimiter or ",", form
        self._encoding = codecs.lookup(file.encoding or "utf-8").name
        self._encoder = codecs.getincrementalencoder(self._encoding)()
        self._ends: list[str] = []
        self._unsafe = ""
        self._stream = path.open("wb")
        if form.marked:
            self._stream.write(codecs.BOM_UTF8)

    def write(self, table: pa.Table) -> None:
        if not self._ends:
            names = table.column_names
            self._ends = [self._delimiter] * (len(names) - 1) + [self._form.line_end]
            unsafe = rf'["\r\n\x{ord(self._delimiter):02x}]'
            self._unsafe = unsafe if len(names) > 1 else f"^$|{unsafe}"
            self._put([pa.array([name]) for name in names])
        for batch in table.to_batches():
            self._put(batch.columns)

    def _put(self, arrays: Sequence[pa.Array]) -> None:
        columns = [self._cells(each, end) for each, end in zip(arrays, self._ends, strict=True)]
        for start in range(0, len(arrays[0]), ROWS):
            parts = [
                each.slice(start, ROWS) if codes is None else each.take(codes.slice(start, ROWS))
                for each, codes in columns
            ]
            rows = _joined(*parts)
            _, ends, text = rows.buffers()
            lines = text.slice(0, int(np.frombuffer(ends, dtype=np.int64)[len(rows)]))
            if self._encoding != "utf-8":
                lines = encoded_text(str(lines, "utf-8"), self._encoder, self._encoding)
            self._stream.write(lines)

    def _cells(self, array: pa.Array, end: str) -> tuple[pa.Array, pa.Array | None]:
        """Return the texts of a column with their `end`: of all records, or by codes."""
        codes = None
        if pa.types.is_dictionary(array.type) and not array.null_count:
            array, codes = array.dictionary, array.indices
        text = array.cast(TEXT).fill_null("")
        unsafe = pc.match_substring_regex(text, self._unsafe)
        if pc.any(unsafe).as_py():
            quoted = _joined(_scalar('"'), pc.replace_substring(text, '"', '""'), _scalar('"'))
            text = pc.if_else(unsafe, quoted, text)
        return _joined(text, _scalar(end)), codes

    def close(self) -> None:
        self._stream.close()


def _scalar(text: str) -> pa.Scalar:
    return pa.scalar(text, TEXT)


def _joined(*parts: pa.Array | pa.Scalar) -> pa.Array:
    return pc.binary_join_element_wise(*parts, _scalar(""))


class _Groups:
    def __init__(self, path: Path, file: FileFormat) -> None:
        self._path, self._kind = path, file.protected.kind
        self._wide = file.kind == "transactions"
        self._opened: Any = None
        self._held: list[pa.RecordBatch] = []

    def write(self, table: pa.Table) -> None:
        stored = pa.Table.from_arrays([_stored(each) for each in table.columns], table.column_names)
        if self._opened is None:
            self._opened = self._open(stored.schema)
        self._held += stored.to_batches()
        # Groups of equal size, because original sizes would reveal where records are left out.
        group = rows_of(len(stored.columns), GROUP) if self._wide else GROUP
        while sum(map(len, self._held)) >= group:
            held = pa.Table.from_batches(self._held)
            self._put(held.slice(0, group))
            self._held = held.slice(group).to_batches()

    def _put(self, group: pa.Table) -> None:
        batch = group.combine_chunks().to_batches()[0]
        if self._kind == "parquet":
            self._opened.write_batch(batch, row_group_size=GROUP)
        else:
            self._opened.write_batch(batch)

    def _open(self, schema: pa.Schema) -> Any:
        if self._kind == "arrow":
            return pa.ipc.new_file(self._path, schema)
        # Types as Parquet has them: a dictionary is an encoding, not a type. Statistics of groups
        # would be useless: each group of randomized values contains all values.
        writer = pq.ParquetWriter(
            self._path, schema, compression="zstd", store_schema=False, write_statistics=False
        )
        if any(pa.types.is_timestamp(kind) for kind in schema.types):
            # Parquet has no time zone but UTC.
            plain = pa.schema([(each.name, plain_type(each.type)) for each in schema])
            arrow = base64.b64encode(plain.serialize().to_pybytes())
            writer.add_key_value_metadata({"ARROW:schema": arrow})
        return writer

    def close(self) -> None:
        if self._held:
            self._put(pa.Table.from_batches(self._held))
        if self._opened is not None:
            self._opened.close()


def _stored(column: pa.ChunkedArray) -> pa.Array:
    """Return a column as it is stored: with a dictionary only if it is text without nulls."""
    array = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    if not pa.types.is_dictionary(array.type):
        # An original value may lie below a null; a copy has none there.
        return array.take(pa.array(np.arange(len(array)))) if array.null_count else array
    if pa.types.is_string(array.type.value_type) and not array.dictionary.null_count:
        return array
    return array.dictionary.take(array.indices)
