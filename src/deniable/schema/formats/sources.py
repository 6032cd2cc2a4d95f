"""Records of a CSV, Parquet or Arrow file, or of a table in memory, in bounded batches."""

import mmap
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from deniable.errors import DataError, disk_errors, listed, shown
from deniable.records import arrow_errors
from deniable.schema.column import FileFormat
from deniable.schema.faults import ValidationErrors
from deniable.schema.formats.csv_text import CsvForm, CsvText
from deniable.schema.types import is_text, unfit

PORTION = 262_144  # records
MAX_VALUES = 1 << 22  # of a batch of a wide file
CHECK = "check the path and the file"
PARQUET_ENDINGS = (".parquet", ".pq", ".parq")


Names = Sequence[str]
Batches = Iterator[tuple[str, pa.RecordBatch]]


class Piece(NamedTuple):
    """A `batch` of records of the file `where`; the first record has the number `first`, from 0."""

    where: str
    first: int
    batch: pa.RecordBatch


class Source(ABC):
    """A file or table of records, which messages call `where`.

    Its columns have the `types`, in their order. `form` is the form of a CSV file. `expected` is
    the number of records, 0 if it is unknown before they are read.
    """

    where: str
    format: FileFormat
    types: Mapping[str, pa.DataType]
    form = CsvForm()
    expected = 0
    unit = "record"
    """The word for a record in messages."""
    labels: Mapping[str, Mapping[str, str]] = MappingProxyType({})
    """The labels of values, by column and text of the value, if the file has labels."""
    ordinal: Set[str] = frozenset()
    """Columns with labels whose values the file orders."""
    codes: Mapping[str, Sequence[str]] = MappingProxyType({})
    """Texts of the values that the file declares as missing, by column."""

    def pieces(
        self, coded: Names, plain: Names, faults: ValidationErrors, rows: int = PORTION
    ) -> Iterator[Piece]:
        """Yield all records, about `rows` at a time, in a new pass; add errors to `faults`.

        The columns `coded` are dictionary-encoded if this takes no time; `plain` columns are not.
        """
        wanted = [name for name in self.types if name in {*coded, *plain}]
        read: Counter[str] = Counter()
        for where, batch in self._read(wanted, coded, rows, faults):
            yield Piece(where, read[where], batch)
            read[where] += batch.num_rows

    @abstractmethod
    def _read(self, wanted: Names, coded: Names, rows: int, faults: ValidationErrors) -> Batches:
        """Yield batches of the `wanted` columns, each with the name of its file."""


class _CsvSource(Source):
    """A CSV file: all values are text, and a batch is a block of the file."""

    def __init__(self, text: CsvText) -> None:
        self._text, self.where, self.form = text, str(text.path), text.form
        self.format = FileFormat(kind="csv", delimiter=text.delimiter, encoding=text.encoding)
        refuse_bad_names(self.where, text.names)
        self.types = dict.fromkeys(text.names, pa.string())

    def _read(self, wanted: Names, coded: Names, rows: int, faults: ValidationErrors) -> Batches:
        plain = [name for name in wanted if name not in coded]
        for batch in self._text.batches(coded, plain, faults):
            yield self.where, batch


class _ParquetSource(Source):
    """A Parquet file, or all files of a folder in the order of their names."""

    format = FileFormat(kind="parquet")

    def __init__(self, path: Path) -> None:
        self.where = str(path)
        self._paths = _files_of(path) if path.is_dir() else [path]
        self.types = _types_of_parquet(self._paths[0])
        for file in self._paths[1:]:
            if (own := _types_of_parquet(file)) != self.types:
                known = {*self.types.items()}
                other = [name for name, kind in own.items() if (name, kind) not in known]
                other += [name for name in self.types if name not in own]
                raise DataError(
                    f"{file}: other columns or types than in {self._paths[0].name} "
                    f"({listed(other) or 'another order'}); give all files of a folder the same"
                )
        self.expected = sum(pq.read_metadata(file).num_rows for file in self._paths)

    def _read(self, wanted: Names, coded: Names, rows: int, faults: ValidationErrors) -> Batches:
        """Yield batches; files are opened for a few row groups, because open files keep them."""
        encoded = [name for name in coded if is_text(self.types[name])]
        rows = rows_of(len(wanted), rows)
        for path in self._paths:
            with arrow_errors(path, "Parquet", CHECK):
                metadata = pq.read_metadata(path)
                every = range(metadata.num_row_groups)
                step = max(rows * len(every) // max(metadata.num_rows, 1), 1)
                for groups in (every[first : first + step] for first in every[::step]):
                    with pq.ParquetFile(path, metadata=metadata, read_dictionary=encoded) as file:
                        for batch in file.iter_batches(rows, row_groups=groups, columns=wanted):
                            yield str(path), batch


class _ArrowSource(Source):
    format = FileFormat(kind="arrow")

    def __init__(self, path: Path) -> None:
        self._path, self.where = path, str(path)
        with _opened_arrow(path) as (schema, _, _):
            self.types = _types_of(self.where, schema)

    def _read(self, wanted: Names, coded: Names, rows: int, faults: ValidationErrors) -> Batches:
        with _opened_arrow(self._path) as (_, batches, pages):
            for whole in batches:
                batch = whole.select(wanted)
                for start in range(0, batch.num_rows, rows):
                    yield self.where, batch.slice(start, rows)
                    if hasattr(mmap, "MADV_DONTNEED"):
                        pages.madvise(mmap.MADV_DONTNEED)  # releases the memory of read data


@contextmanager
def _opened_arrow(path: Path) -> Iterator[tuple[pa.Schema, Iterable[pa.RecordBatch], mmap.mmap]]:
    """Yield schema, batches and map of an Arrow file; uncompressed data are not copied."""
    with arrow_errors(path, "Arrow", CHECK):
        with path.open("rb") as file:
            pages = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        with pa.BufferReader(pages) as stream:
            try:
                reader = pa.ipc.open_file(stream)
                batches = map(reader.get_batch, range(reader.num_record_batches))
            except pa.ArrowInvalid:
                stream.seek(0)
                reader = batches = pa.ipc.open_stream(stream)
            yield reader.schema, batches, pages


class _TableSource(Source):
    """A table in memory: of pandas, Polars, or any library with Arrow's interface."""

    where, format = "the table", FileFormat(kind="arrow")

    def __init__(self, table: pa.Table) -> None:
        self._table, self.expected = table, table.num_rows
        self.types = _types_of(self.where, table.schema)

    def _read(self, wanted: Names, coded: Names, rows: int, faults: ValidationErrors) -> Batches:
        for batch in self._table.select(wanted).to_batches(max_chunksize=rows):
            yield self.where, batch


def open_source(source: Any, delimiter: str | None = None, encoding: str | None = None) -> Source:
    """Open records; for `source` and errors see `RecordsFile.open`.

    The `delimiter` and the `encoding` of a CSV file are detected by default.
    """
    if not isinstance(source, (str, Path)):
        return _TableSource(_table(source))
    path = Path(source)
    with disk_errors(path):
        if path.is_dir():
            return _ParquetSource(path)
        if path.exists() and not path.is_file():
            raise DataError(f"{path}: cannot be read twice; save its content as a file")
        with path.open("rb") as stream:
            start = stream.read(8)
        if start.startswith((b"ARROW1", b"\xff\xff\xff\xff")):
            return _ArrowSource(path)
        if start.startswith(b"PAR1") or path.suffix in PARQUET_ENDINGS:
            return _ParquetSource(path)
        return _CsvSource(CsvText.open(path, delimiter, encoding))


def rows_of(columns: int, rows: int = PORTION) -> int:
    """Return the number of records in a batch, at most `rows`, and fewer for many `columns`."""
    return max(min(rows, MAX_VALUES // max(columns, 1)), 1)


def refuse_bad_names(where: str, names: Sequence[str]) -> None:
    """Raise `DataError` for `names` of columns in `where` that occur twice or cannot be used."""
    lines = []
    for position, (name, times) in enumerate(Counter(names).items(), 1):
        if times > 1:
            places = " and ".join(str(i) for i, each in enumerate(names, 1) if each == name)
            lines.append(f"columns {places} are both called {shown(name)}; rename one")
        elif not name:
            lines.append(f"column {position} has no name; give it one")
        elif fault := unfit(name):
            lines.append(f"column {position}, {shown(name)}: its name {fault}; rename it")
    if lines:
        raise DataError(f"{where}: " + "\n  ".join(lines))


def _table(given: Any) -> pa.Table:
    if isinstance(given, pa.Table):
        return given
    if type(given).__module__.partition(".")[0] == "pandas":
        return _of_pandas(given)
    if hasattr(given, "__arrow_c_stream__"):
        return pa.table(given)
    if hasattr(given, "to_arrow"):
        return _table(given.to_arrow())
    raise DataError(
        f"{type(given).__name__}: not records; give a path or a table of pandas, Polars or pyarrow"
    )


def _of_pandas(frame: Any) -> pa.Table:
    if getattr(frame, "ndim", 0) != 2:
        raise DataError(f"{type(frame).__name__}: not a table; give a DataFrame")
    names = [str(name) for name in frame.columns]
    refuse_bad_names("the table", names)
    arrays = []
    for position, name in enumerate(names):
        try:
            arrays.append(pa.array(frame.iloc[:, position], from_pandas=True))
        except (pa.ArrowException, OverflowError) as error:
            reason = str(error).partition("\n")[0]
            raise DataError(
                f"the table: column {shown(name)} has values of several kinds ({reason}); convert "
                "all to text, or all to numbers"
            ) from None
    return pa.table(arrays, names=names)


def _files_of(folder: Path) -> list[Path]:
    files = sorted(path for path in folder.iterdir() if not path.name.startswith((".", "_")))
    for path in files:
        if path.is_dir() or path.suffix not in PARQUET_ENDINGS:
            what = "a folder inside it" if path.is_dir() else "not a Parquet file"
            raise DataError(
                f"{folder}: {path.name} is {what}; give a folder of Parquet files and nothing else"
            )
    if not files:
        raise DataError(f"{folder}: no Parquet file in the folder; check the path")
    return files


def _types_of_parquet(path: Path) -> dict[str, pa.DataType]:
    with arrow_errors(path, "Parquet", CHECK):
        schema = pq.read_schema(path)
    return _types_of(str(path), schema)


def _types_of(where: str, schema: pa.Schema) -> dict[str, pa.DataType]:
    refuse_bad_names(where, schema.names)
    return dict(zip(schema.names, schema.types, strict=True))
