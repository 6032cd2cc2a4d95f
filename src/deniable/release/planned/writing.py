"""The protected file: portions of reports, in the format, order and types of the true file."""

import codecs
import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from deniable.plan import Plan, reported_columns
from deniable.records import Microdata

GROUP = 1 << 18  # records of a row group of Parquet, of a batch of Arrow


class Reports:
    """Reports by their codes as columns of a file.

    Parameters
    ----------
    plan : Plan
    as_text : bool
        As a CSV file has them; else as values of the columns' own types.
    """

    def __init__(self, plan: Plan, as_text: bool) -> None:
        self._columns = {}
        for each in reported_columns(plan):
            texts = pa.array(each.texts, pa.string())
            self._columns[each.name] = texts if as_text else each.values
        self._as_text = as_text
        self._passed = plan.passed
        self.names = [
            name
            for column in plan.schema.columns
            for name in ([column.name] if column.name in self._passed else self._of(column.name))
        ]

    def _of(self, column: str) -> list[str]:
        """Return what stands where a column of the true file stood."""
        if column in self._columns:
            return [column]
        return [name for name in self._columns if name.split(" x ")[0] == column]

    def arrays(self, reports: Microdata, passed: Mapping[str, pa.Array]) -> list[pa.Array]:
        """Return the columns of a portion: `reports`, and what is `passed` on, as it is."""
        return [
            self._array(passed[name])
            if name in passed
            else self._coded(self._columns[name], reports.column(name))
            for name in self.names
        ]

    def _array(self, passed: pa.Array) -> pa.Array:
        if self._as_text:
            return passed.cast(pa.string())
        # Below a null may lie the value that it hides: what is taken has none there.
        return passed.take(pa.array(np.arange(len(passed))))

    def _coded(self, values: pa.Array, codes: Any) -> pa.Array:
        if not pa.types.is_string(values.type) or values.null_count:
            return values.take(pa.array(codes))
        return pa.DictionaryArray.from_arrays(pa.array(codes), values)


@contextmanager
def written_in_portions(path: Path, plan: Plan, names: Sequence[str]) -> Iterator["_Writer"]:
    """Give what writes portions to a file, in the format that the plan's schema states."""
    writer = _Writer(path, plan, names)
    try:
        yield writer
    finally:
        writer.close()


class _Writer:
    def __init__(self, path: Path, plan: Plan, names: Sequence[str]) -> None:
        self._path, self._format, self._names = path, plan.schema.file, list(names)
        self._schema, self._passed = plan.schema, plan.passed
        self._reported = reported_columns(plan)
        self._opened: Any = None
        self._held: list[pa.RecordBatch] = []
        self._stream: io.BufferedWriter | None = None

    def write(self, arrays: Sequence[pa.Array]) -> None:
        """Write the next records."""
        batch = pa.RecordBatch.from_arrays(list(arrays), names=self._names)
        if self._opened is None:
            self._opened = self._open(batch.schema)
        self._held.append(batch)
        # Groups of one size: those of the true file would tell where records were left out.
        while sum(map(len, self._held)) >= GROUP:
            held = pa.Table.from_batches(self._held)
            self._put(held.slice(0, GROUP))
            self._held = held.slice(GROUP).to_batches()

    def _put(self, group: pa.Table) -> None:
        batch = group.combine_chunks().to_batches()[0]
        if self._format.kind == "parquet":
            self._opened.write_batch(batch, row_group_size=GROUP)
        elif self._format.kind == "arrow":
            self._opened.write_batch(batch)
        else:
            self._opened.write_batch(_as_strings(batch))

    def _open(self, schema: pa.Schema) -> Any:
        if self._format.kind == "parquet":
            # Types as Parquet has them: dictionaries are a way to store text, no type of their own.
            # Every group of random reports has all values, so that statistics would help nobody.
            return pq.ParquetWriter(
                self._path,
                schema,
                compression="zstd",
                store_schema=False,
                write_statistics=False,
            )
        if self._format.kind == "arrow":
            return pa.ipc.new_file(self._path, schema)
        from pyarrow import csv  # noqa: PLC0415 - slow to import, and not needed for Parquet

        encoding = codecs.lookup(self._format.encoding or "utf-8").name
        sink: Any = self._path
        if encoding not in ("utf-8", "ascii"):
            self._stream = self._path.open("wb")
            sink = pa.PythonFile(_Recoded(self._stream, encoding), mode="w")
        delimiter = self._format.delimiter or ","
        style = "none" if self._plain(delimiter) else "needed"
        options = csv.WriteOptions(delimiter=delimiter, quoting_style=style)
        return csv.CSVWriter(sink, _string_schema(schema), write_options=options)

    def _plain(self, delimiter: str) -> bool:
        """Return whether no text can need quotes; of identifiers nobody knows."""
        if any(self._schema[name].kind == "identifier" for name in self._passed):
            return False
        texts = [*self._names, *(text for each in self._reported for text in each.texts)]
        return not any(mark in text for text in texts for mark in (delimiter, '"', "\r", "\n"))

    def close(self) -> None:
        """End the file."""
        if self._held:
            self._put(pa.Table.from_batches(self._held))
        if self._opened is not None:
            self._opened.close()
        if self._stream is not None:
            self._stream.close()


class _Recoded(io.RawIOBase):
    """Takes UTF-8 and writes another encoding."""

    def __init__(self, stream: io.BufferedWriter, encoding: str) -> None:
        super().__init__()
        self._stream, self._encoder = stream, codecs.getincrementalencoder(encoding)()
        self._decoder = codecs.getincrementaldecoder("utf-8")()

    def writable(self) -> bool:
        return True

    def write(self, told: Any) -> int:
        content = bytes(told)
        self._stream.write(self._encoder.encode(self._decoder.decode(content)))
        return len(content)


def _string_schema(schema: pa.Schema) -> pa.Schema:
    return pa.schema([(name, pa.string()) for name in schema.names])


def _as_strings(batch: pa.RecordBatch) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [column.cast(pa.string()) for column in batch.columns], names=batch.schema.names
    )
