"""The protected file: portions of reports, in the format, order and types of the true file."""

import base64
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from deniable.release.planned.csv_file import CsvFile
from deniable.schema import CsvForm, FileFormat, plain_type

GROUP = 1 << 18  # records of a row group of Parquet, of a batch of Arrow


@contextmanager
def written_in_portions(
    path: Path, form: FileFormat, names: Sequence[str], csv_form: CsvForm
) -> Iterator["CsvFile | _Groups"]:
    """Give what writes portions of the columns `names` to a file at `path`, of a `form`.

    A CSV file has the line ends and the mark of `csv_form`.
    """
    of_csv = form.kind == "csv"
    writer = CsvFile(path, form, names, csv_form) if of_csv else _Groups(path, form, names)
    try:
        yield writer
    finally:
        writer.close()


class _Groups:
    """A file of Parquet or Arrow, in groups of one size."""

    def __init__(self, path: Path, form: FileFormat, names: Sequence[str]) -> None:
        self._path, self._format, self._names = path, form, list(names)
        self._opened: Any = None
        self._held: list[pa.RecordBatch] = []

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
        else:
            self._opened.write_batch(batch)

    def _open(self, schema: pa.Schema) -> Any:
        if self._format.kind == "arrow":
            return pa.ipc.new_file(self._path, schema)
        # Types as Parquet has them: dictionaries are a way to store text, no type of their own.
        # Every group of random reports has all values, so that statistics would help nobody.
        writer = pq.ParquetWriter(
            self._path, schema, compression="zstd", store_schema=False, write_statistics=False
        )
        if any(pa.types.is_timestamp(kind) for kind in schema.types):
            # Parquet itself knows no zone but UTC.
            plain = pa.schema([(each.name, plain_type(each.type)) for each in schema])
            said = base64.b64encode(plain.serialize().to_pybytes())
            writer.add_key_value_metadata({"ARROW:schema": said})
        return writer

    def close(self) -> None:
        """End the file."""
        if self._held:
            self._put(pa.Table.from_batches(self._held))
        if self._opened is not None:
            self._opened.close()
