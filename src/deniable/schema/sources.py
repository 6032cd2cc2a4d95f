"""Where records come from: CSV, Parquet, Arrow or a table in memory, each read in bounded parts."""

import mmap
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from deniable.errors import DataError, shown
from deniable.schema.csv_text import CsvForm, CsvText
from deniable.schema.faults import ValidationErrors
from deniable.schema.model import FileFormat
from deniable.schema.texts import listed, unfit
from deniable.schema.types import is_text

PORTION = 262_144  # records
PARQUET_ENDINGS = (".parquet", ".pq", ".parq")


class Piece(NamedTuple):
    """Records of one file, `where`: a `batch`, whose first has the number `first` in it, from 0."""

    where: str
    first: int
    batch: pa.RecordBatch


class Source(ABC):
    """A file or table of records.

    Attributes
    ----------
    where : str
        What messages call it.
    format : FileFormat
    types : mapping of str to DataType
        Of the columns, in their order.
    form : CsvForm
        Of what is no CSV file, that of one which Python writes.
    expected : int
        Number of records, 0 if it is not known before they are read.
    """

    where: str
    format: FileFormat
    types: Mapping[str, pa.DataType]
    form = CsvForm()
    expected = 0

    @abstractmethod
    def pieces(
        self,
        coded: Sequence[str],
        plain: Sequence[str],
        faults: ValidationErrors,
        rows: int = PORTION,
    ) -> Iterator[Piece]:
        """Yield the columns named, in a new pass over all records; about `rows` at a time.

        Columns to be `coded` come dictionary-encoded where that costs nothing, others are `plain`.
        What is wrong with records goes to `faults`.
        """


class _CsvSource(Source):
    """A CSV file: all of it is text."""

    def __init__(self, text: CsvText) -> None:
        self._text, self.where, self.form = text, str(text.path), text.form
        self.format = FileFormat(kind="csv", delimiter=text.delimiter, encoding=text.encoding)
        _refuse_bad_names(self.where, text.names)
        self.types = dict.fromkeys(text.names, pa.string())

    def pieces(
        self,
        coded: Sequence[str],
        plain: Sequence[str],
        faults: ValidationErrors,
        rows: int = PORTION,
    ) -> Iterator[Piece]:
        """Yield the columns named; a piece is what a block of the file holds."""
        first = 0
        for batch in self._text.batches(coded, plain, faults):
            yield Piece(self.where, first, batch)
            first += batch.num_rows


class _ParquetSource(Source):
    """A Parquet file, or all of those of a folder in the order of their names."""

    format = FileFormat(kind="parquet")

    def __init__(self, path: Path) -> None:
        self.where = str(path)
        self._paths = _files_of(path) if path.is_dir() else [path]
        self.types = _types(self._paths[0])
        for file in self._paths[1:]:
            if (own := _types(file)) != self.types:
                known = {*self.types.items()}
                other = [name for name, kind in own.items() if (name, kind) not in known]
                other += [name for name in self.types if name not in own]
                raise DataError(
                    f"{file}: other columns or types than in {self._paths[0].name} "
                    f"({listed(other) or 'another order'}); give all files of a folder the same"
                )
        self.expected = sum(pq.read_metadata(file).num_rows for file in self._paths)

    def pieces(
        self,
        coded: Sequence[str],
        plain: Sequence[str],
        faults: ValidationErrors,
        rows: int = PORTION,
    ) -> Iterator[Piece]:
        """Yield the columns named, from row groups that are opened anew a few at a time.

        A file that stays open keeps what it has read of the groups before.
        """
        wanted = [name for name in self.types if name in {*coded, *plain}]
        encoded = [name for name in coded if is_text(self.types[name])]
        for path in self._paths:
            first = 0
            try:
                metadata = pq.read_metadata(path)
                for groups in _runs_of_groups(metadata, rows):
                    with pq.ParquetFile(path, metadata=metadata, read_dictionary=encoded) as file:
                        for batch in file.iter_batches(rows, row_groups=groups, columns=wanted):
                            yield Piece(str(path), first, batch)
                            first += batch.num_rows
            except (OSError, pa.ArrowException) as error:
                raise _unreadable(path, "Parquet", error) from None


class _ArrowSource(Source):
    """An Arrow IPC file or stream (Feather)."""

    format = FileFormat(kind="arrow")

    def __init__(self, path: Path) -> None:
        self._path, self.where = path, str(path)
        with _OpenArrow(path) as opened:
            schema = opened.schema
        _refuse_bad_names(self.where, schema.names)
        self.types = dict(zip(schema.names, schema.types, strict=True))

    def pieces(
        self,
        coded: Sequence[str],
        plain: Sequence[str],
        faults: ValidationErrors,
        rows: int = PORTION,
    ) -> Iterator[Piece]:
        """Yield the columns named, a record batch of the file at a time."""
        positions = [i for i, name in enumerate(self.types) if name in {*coded, *plain}]
        first = 0
        with _OpenArrow(self._path) as opened:
            try:
                for whole in opened.batches:
                    batch = whole.select(positions)
                    for start in range(0, batch.num_rows, rows):
                        yield Piece(self.where, first + start, batch.slice(start, rows))
                        opened.let_go()
                    first += batch.num_rows
            except (OSError, pa.ArrowException) as error:
                raise _unreadable(self._path, "Arrow", error) from None


class _OpenArrow:
    """Batches and schema of an Arrow file, as a context; what is not compressed is not copied."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._stream = pa.BufferReader(self._map)
        self.batches: Any
        try:
            try:
                reader = pa.ipc.open_file(self._stream)
                numbers = range(reader.num_record_batches)
                self.batches = (reader.get_batch(number) for number in numbers)
            except pa.ArrowInvalid:
                self._stream.seek(0)
                reader = self.batches = pa.ipc.open_stream(self._stream)
            self.schema = reader.schema
        except (OSError, pa.ArrowException) as error:
            self._stream.close()
            raise _unreadable(path, "Arrow", error) from None

    def let_go(self) -> None:
        """Give back the memory of what was read; whoever needs it again finds it in the file."""
        if hasattr(mmap, "MADV_DONTNEED"):  # not where there is no such call
            self._map.madvise(mmap.MADV_DONTNEED)

    def __enter__(self) -> "_OpenArrow":
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()


class _TableSource(Source):
    """A table in memory: of pandas, of Polars, or of whatever gives itself as Arrow."""

    def __init__(self, table: pa.Table) -> None:
        self._table, self.where, self.format = table, "the table", FileFormat(kind="arrow")
        self.expected = table.num_rows
        _refuse_bad_names(self.where, table.column_names)
        self.types = dict(zip(table.column_names, table.schema.types, strict=True))

    def pieces(
        self,
        coded: Sequence[str],
        plain: Sequence[str],
        faults: ValidationErrors,
        rows: int = PORTION,
    ) -> Iterator[Piece]:
        """Yield the columns named."""
        wanted = [name for name in self.types if name in {*coded, *plain}]
        first = 0
        for batch in self._table.select(wanted).to_batches(max_chunksize=rows):
            yield Piece(self.where, first, batch)
            first += batch.num_rows


@dataclass(frozen=True)
class _Start:
    """The first bytes of a file, which tell what it is."""

    path: Path

    @cached_property
    def kind(self) -> str:
        with self.path.open("rb") as stream:
            start = stream.read(8)
        if start.startswith(b"PAR1"):
            return "parquet"
        return "arrow" if start.startswith((b"ARROW1", b"\xff\xff\xff\xff")) else "csv"


def open_source(source: Any, delimiter: str | None = None, encoding: str | None = None) -> Source:
    """Open records.

    Parameters
    ----------
    source : path or table
        Of a CSV, Parquet or Arrow file, or a folder of Parquet files; or a table of pandas,
        Polars or pyarrow.
    delimiter, encoding : str, optional
        Of a CSV file; found out by default.

    Raises
    ------
    DataError
        If it cannot be read, or has names that no column may have.
    """
    if not isinstance(source, (str, Path)):
        return _TableSource(_table(source))
    path = Path(source)
    try:
        if path.is_dir():
            return _ParquetSource(path)
        if path.exists() and not path.is_file():
            raise DataError(f"{path}: no file that can be read twice; save what it gives as one")
        kind = _Start(path).kind
        if kind == "csv" and path.suffix not in PARQUET_ENDINGS:
            return _CsvSource(CsvText.open(path, delimiter, encoding))
        return _ArrowSource(path) if kind == "arrow" else _ParquetSource(path)
    except OSError as error:
        raise DataError(f"{path}: {error.strerror or error}; check the path") from None


def _refuse_bad_names(where: str, names: Sequence[str]) -> None:
    """Raise `DataError`, a line for each, for names of columns that occur twice or cannot be used.

    Examples
    --------
    >>> _refuse_bad_names("a.csv", ["age", "sex"])
    """
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
    if isinstance(given, pa.RecordBatch):
        return pa.Table.from_batches([given])
    if type(given).__module__.partition(".")[0] == "pandas":
        return _of_pandas(given)
    if hasattr(given, "__arrow_c_stream__"):
        return pa.table(given)
    if hasattr(given, "to_arrow"):
        return _table(given.to_arrow())
    raise DataError(
        f"{type(given).__name__}: no records; give a path, or a table of pandas, Polars or pyarrow"
    )


def _of_pandas(frame: Any) -> pa.Table:
    if getattr(frame, "ndim", 0) != 2:
        raise DataError(f"{type(frame).__name__}: no table; give a DataFrame")
    names = [str(name) for name in frame.columns]
    _refuse_bad_names("the table", names)
    arrays = []
    for position, name in enumerate(names):
        try:
            arrays.append(pa.array(frame.iloc[:, position], from_pandas=True))
        except pa.ArrowException as error:
            reason = str(error).partition("\n")[0]
            raise DataError(
                f"the table: column {shown(name)} has values of several kinds ({reason}); make "
                "them all text, or all numbers"
            ) from None
    return pa.table(arrays, names=names)


def _files_of(folder: Path) -> list[Path]:
    files = sorted(path for path in folder.iterdir() if not path.name.startswith((".", "_")))
    for path in files:
        if path.is_dir() or path.suffix not in PARQUET_ENDINGS:
            what = "a folder inside it" if path.is_dir() else "no Parquet file"
            raise DataError(
                f"{folder}: {path.name} is {what}; give a folder of Parquet files and nothing else"
            )
    if not files:
        raise DataError(f"{folder}: no Parquet file in the folder; check the path")
    return files


def _types(path: Path) -> dict[str, pa.DataType]:
    try:
        schema = pq.read_schema(path)
    except (OSError, pa.ArrowException) as error:
        raise _unreadable(path, "Parquet", error) from None
    _refuse_bad_names(str(path), schema.names)
    return dict(zip(schema.names, schema.types, strict=True))


def _unreadable(path: Path, what: str, error: Exception) -> DataError:
    reason = getattr(error, "strerror", None) or str(error).partition("\n")[0]
    return DataError(f"{path}: not readable as {what} ({reason}); check the path, or make it again")


def _runs_of_groups(metadata: pq.FileMetaData, rows: int) -> Iterator[list[int]]:
    """Yield row groups that follow each other and together have at most `rows`, or one alone."""
    run: list[int] = []
    held = 0
    for group in range(metadata.num_row_groups):
        size = metadata.row_group(group).num_rows
        if run and held + size > rows:
            yield run
            run, held = [], 0
        run.append(group)
        held += size
    if run:
        yield run
