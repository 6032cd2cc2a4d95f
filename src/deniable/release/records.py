"""The original records of a release, read twice in batches, and the file of protected ones."""

import base64
import codecs
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from deniable.errors import DataError, DeniableError, shown
from deniable.files import free_memory
from deniable.plans import Plan
from deniable.release.counting import Fingerprint, RecordDigests, Sketch
from deniable.schema import CsvForm, FileFormat, RecordBatch, RecordsFile, plain_type, rows_of

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
            self._opened.write_table(held.slice(0, group).combine_chunks(), GROUP)
            self._held = held.slice(group).to_batches()

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
            self._opened.write_table(pa.Table.from_batches(self._held).combine_chunks(), GROUP)
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


MEMORY = 230_000_000
"""Measured bytes that a release needs in addition to the ones of its plan (`Plan.memory`)."""
Progress = Callable[[str, int, int], None]
"""Receives a step, the number of records done, and the number of all (0: not yet known)."""


def silent(what: str, done: int, of: int) -> None:
    """Ignore the step `what` and the number of records `done` `of` all."""


class OriginalRecords:
    """The records of a `source`, a path or a table, that a `plan` randomizes.

    For the function `progress` see `Progress`. The `fingerprint` and the number of records are
    known after `read`. Raises `DataError` if the file has other columns or types than the schema of
    the plan.
    """

    def __init__(self, source: Any, plan: Plan, progress: Progress = silent) -> None:
        self.file = RecordsFile.open(source, plan.schema_of_originals, passed=plan.passed)
        self.progress, self._schema = progress, plan.schema
        self.fingerprint: list[bytes] = []
        self._records, self._plan = 0, plan
        self._refuse_too_many(self.file.expected)
        # A file is read in the encoding of its release; records in memory may have other texts.
        file, in_memory = plan.schema.file.protected, not isinstance(source, str | Path)
        encoding = codecs.lookup(file.encoding or "utf-8").name if file.kind == "csv" else "utf-8"
        self._encoding = encoding if in_memory and encoding != "utf-8" else None

    def __len__(self) -> int:
        return self._records

    def read(self, ledger_key: bytes | None = None) -> RecordDigests | None:
        """Validate all values in a first pass; return digests under the `ledger_key`, if given.

        Raises `DataError` with a line for each of the first invalid values.
        """
        fingerprint = Fingerprint(self._schema)
        sketch = None
        if ledger_key is not None:
            identifiers = [c.name for c in self._schema.columns if c.kind in ("identifier", "unit")]
            sketch = Sketch(ledger_key, identifiers)
        self._records = 0
        seen = None if sketch is None else sketch.add
        for batch in self._batches("reading", self.file.expected, seen):
            fingerprint.add(batch)
            self._refuse_inexpressible(batch)
            self._records += len(batch)
            self._refuse_too_many(self._records)
        self.fingerprint = list(fingerprint.parts())
        return sketch.with_fingerprint(fingerprint) if sketch is not None else None

    def _refuse_too_many(self, records: int) -> None:
        needed = self._plan.memory(records)
        if needed and needed + MEMORY > (free := free_memory()):
            raise DeniableError(
                f"{records:,} records need {(needed + MEMORY) // 10**6:,} MB of memory, because a "
                f"plan of kind {self._plan.kind} holds all numbers at once, and {free // 10**6:,} "
                "MB are free; mask fewer columns, or use a machine with more memory"
            )

    def _refuse_inexpressible(self, batch: RecordBatch) -> None:
        """Raise `DataError`, before epsilon is counted, if a text cannot be encoded."""
        if self._encoding is None:
            return
        encoder = codecs.getincrementalencoder(self._encoding)()
        for values in batch.passed.values():
            texts = values.cast(pa.string()).fill_null("").to_pylist()
            encoded_text("\n".join(texts), encoder, self._encoding)

    def batches(self) -> Iterator[RecordBatch]:
        """Yield the records in a second pass.

        Raises `DeniableError` at the end, if the records differ from the first pass.
        """
        again = Fingerprint(self._schema)
        for batch in self._batches("randomizing", self._records):
            again.add(batch)
            yield batch
        if list(again.parts()) != self.fingerprint:
            raise DeniableError(
                "the file changed while it was read: the randomized values are discarded; leave "
                "the file as it is, and start again"
            )

    def _batches(
        self, what: str, of: int, seen: Callable[[pa.RecordBatch], None] | None = None
    ) -> Iterator[RecordBatch]:
        done = 0
        for batch in self.file.portions(seen=seen):
            yield batch
            done += len(batch)
            self.progress(what, done, of)
