"""A file of records, read by its schema: codes of what is randomized, a portion at a time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from deniable.arrays import Codes, Floats
from deniable.errors import DataError, shown
from deniable.schema.coding import Coder, NumberReader, weights_of
from deniable.schema.csv_text import CsvForm
from deniable.schema.faults import ValidationErrors
from deniable.schema.model import Column, Schema
from deniable.schema.sources import PORTION, Piece, Source, open_source
from deniable.schema.texts import listed
from deniable.schema.types import is_number, is_text, plain_type


@dataclass(frozen=True, eq=False)
class RecordBatch:
    """Some records that follow each other.

    Parameters
    ----------
    first : int
        Number of the first of them among the records kept, from 0.
    codes : dict of str to array of unsigned integers, shape (records,)
        Of the randomized columns, in the order of the schema.
    passed : dict of str to pa.Array
        Identifiers and weights, as they lie in the file, text as text.
    numbers : dict of str to array of float, shape (records,), optional
        Of columns that are read as numbers, not as points of a grid.
    """

    first: int
    codes: dict[str, Codes]
    passed: dict[str, pa.Array]
    numbers: dict[str, Floats] = field(default_factory=dict)

    def __len__(self) -> int:
        columns = (*self.codes.values(), *self.numbers.values(), *self.passed.values())
        return len(next(iter(columns), ()))


class RecordsFile:
    """Records of a `source`, read by their `schema`, with columns `passed` on; `open` makes one.

    Attributes
    ----------
    left_out : int
        Number of records that the last pass left out, for missing values.
    outside : dict of str to int
        Number of values outside the bounds in the last pass, by numeric column without a step.

    Examples
    --------
    >>> table = pa.table({"sex": ["F", "M", "M"]})
    >>> column = Column(name="sex", kind="categorical", categories=["F", "M"])
    >>> schema = Schema(population="survey", file={"kind": "arrow"}, columns=[column])
    >>> [portion.codes["sex"].tolist() for portion in RecordsFile.open(table, schema).portions()]
    [[0, 1, 1]]
    """

    def __init__(self, source: Source, schema: Schema, passed: Sequence[str]) -> None:
        self.schema = schema
        self._source = source
        self._passed = [schema[name] for name in passed]
        self._records: int | None = None
        self.left_out = 0
        self.outside: dict[str, int] = {}
        readers = _readers(source, schema)
        self._coders = {each.column.name: each for each in readers if isinstance(each, Coder)}
        self._numbers = {
            each.column.name: each for each in readers if isinstance(each, NumberReader)
        }

    @classmethod
    def open(
        cls, source: Any, schema: Schema, *, passed: Sequence[str] | None = None
    ) -> "RecordsFile":
        """Open records.

        Parameters
        ----------
        source : path or table
            Of a CSV, Parquet or Arrow file, or a folder of Parquet files, which are read in the
            order of their names; or a table of pandas, Polars or pyarrow.
        schema : Schema
        passed : sequence of str, optional
            The identifiers and weights to read; by default all. What is not read costs no time.

        Raises
        ------
        DataError
            If it cannot be read, or has other columns or types than the schema says.
        """
        opened = open_source(source, schema.file.delimiter, schema.file.encoding)
        table = not isinstance(source, (str, bytes)) and not hasattr(source, "__fspath__")
        if not table and opened.format.kind != schema.file.kind:
            raise DataError(
                f"{opened.where}: this is {opened.format.kind}, and the schema is of a file of "
                f"kind {schema.file.kind}; draft a schema of this file"
            )
        if passed is None:
            passed = [each.name for each in schema.columns if each.kind in ("identifier", "weight")]
        return cls(opened, schema, passed)

    def with_schema(self, schema: Schema) -> "RecordsFile":
        """Return the same records, read by another `schema` of the same columns."""
        passed = [each.name for each in self._passed if schema[each.name].kind != "left_out"]
        return RecordsFile(self._source, schema, passed)

    @property
    def form(self) -> CsvForm:
        """How a CSV file begins, and ends its lines."""
        return self._source.form

    @property
    def expected(self) -> int:
        """Number of records in the file, 0 if it is not known before they are read."""
        return self._source.expected

    @property
    def records(self) -> int:
        """Number of records kept; a pass is made if there was none."""
        if self._records is None:
            self.check()
        return self._records or 0

    def check(self) -> None:
        """Read all records once.

        Raises
        ------
        DataError
            With a line for each of the first faults: file, record, column, value and remedy.
        """
        for _ in self.portions():
            pass

    def portions(self, rows: int = PORTION) -> Iterator[RecordBatch]:
        """Yield the records, at most `rows` at a time, in a new pass.

        Raises
        ------
        DataError
            As `check`, when all records are read: after the first fault nothing more is yielded.
        """
        faults, kept, read = ValidationErrors(), 0, 0
        outside = dict.fromkeys(self._numbers, 0)
        coded = [column.name for column in self.schema.randomized]
        plain = [column.name for column in self._passed]
        for piece in self._source.pieces(coded, plain, faults, rows):
            portion = self._portion(piece, kept, faults)
            read += piece.batch.num_rows
            if faults:
                continue
            for name, values in portion.numbers.items():
                low, high = self.schema[name].bounds or (-np.inf, np.inf)
                outside[name] += int(np.count_nonzero((values < low) | (values > high)))
            for start in range(0, len(portion), rows):
                yield _cut(portion, start, rows)
            kept += len(portion)
        faults.raise_if_any()
        if not kept:
            raise DataError(f"{self._source.where}: no records; give a file with at least one")
        self._records, self.left_out, self.outside = kept, read - kept, outside

    def _portion(self, piece: Piece, first: int, faults: ValidationErrors) -> RecordBatch:
        codes: dict[str, Codes] = {}
        numbers: dict[str, Floats] = {}
        at, found = (faults, piece.where, piece.first), []
        for name, coder in self._coders.items():
            codes[name], missing = coder.codes(piece.batch.column(name), *at)
            found.append(missing)
        for name, reader in self._numbers.items():
            numbers[name], missing = reader.numbers(piece.batch.column(name), *at)
            found.append(missing)
        passed = {}
        for column in self._passed:
            values = piece.batch.column(column.name)
            if column.kind == "weight":
                _refuse_bad_weights(column, values, piece, faults)
            # A dictionary has values of other records too, in the order of the file.
            passed[column.name] = values.cast(plain_type(values.type))
        left_out = [missing for missing in found if missing is not None]
        if left_out:
            kept = ~np.logical_or.reduce(left_out)
            codes = {name: each[kept] for name, each in codes.items()}
            numbers = {name: each[kept] for name, each in numbers.items()}
            passed = {name: each.filter(pa.array(kept)) for name, each in passed.items()}
        return RecordBatch(first, codes, passed, numbers)


def _cut(portion: RecordBatch, start: int, rows: int) -> RecordBatch:
    if not start and len(portion) <= rows:
        return portion
    return RecordBatch(
        portion.first + start,
        {name: codes[start : start + rows] for name, codes in portion.codes.items()},
        {name: values.slice(start, rows) for name, values in portion.passed.items()},
        {name: each[start : start + rows] for name, each in portion.numbers.items()},
    )


def _readers(source: Source, schema: Schema) -> list[Coder | NumberReader]:
    """Return a reader for each randomized column, or raise all errors of the columns."""
    lines = []
    names = [column.name for column in schema.columns]
    if absent := [name for name in names if name not in source.types]:
        lines.append(f"no column {listed(absent)}, which the schema has; add it, or take it out")
    if more := [name for name in source.types if name not in names]:
        lines.append(f"columns {listed(more)} are not in the schema; add them, if as left_out")
    schema.refuse_nothing_to_randomize()
    readers: list[Coder | NumberReader] = []
    for column in schema.randomized:
        if column.name in source.types:
            try:
                reader = NumberReader if column.continuous else Coder
                readers.append(reader(column, source.types[column.name]))
            except DataError as error:
                lines.append(str(error))
    if lines:
        raise DataError("\n  ".join(f"{source.where}: {line}" for line in lines))
    return readers


def _refuse_bad_weights(
    column: Column, values: pa.Array, piece: Piece, faults: ValidationErrors
) -> None:
    """Tell of weights that are no number, or below zero."""
    kind = values.type
    if not (is_text(kind) or is_number(kind)):
        what = f"column {shown(column.name)} holds {kind}, no weights; say kind: left_out"
        faults.add(piece.where, piece.first, what, len(values))
        return
    numbers = weights_of(values, column.decimal)
    bad = np.flatnonzero(~((numbers >= 0) & np.isfinite(numbers)))
    for record in bad[:100].tolist():
        value = values[record].as_py()
        has = "a missing value" if value in ("", None) else shown(str(value))
        what = f"column {shown(column.name)} has {has}, which is no weight; give a number from 0 on"
        faults.add(piece.where, piece.first + record, what)
    if len(bad) > 100:
        what = f"column {shown(column.name)} has more values that are no weights; mend them"
        faults.add(piece.where, piece.first + int(bad[100]), what, len(bad) - 100)
