"""Records of a file, read with its schema, in batches of codes and numbers; who answers."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from deniable.arrays import Codes, Flags, Floats, Positions
from deniable.errors import DataError, DeniableError, listed, shown
from deniable.records import Rule
from deniable.sampling import KeyedDraws, Numbers, RandomnessSource
from deniable.schema import formats
from deniable.schema.coding import Coder
from deniable.schema.faults import OutsideBounds, ValidationErrors
from deniable.schema.formats import PORTION, Piece, Source, open_source
from deniable.schema.model import Schema
from deniable.schema.passed import UniqueWeights, checked, refuse_excess
from deniable.schema.types import plain_type


@dataclass(frozen=True, eq=False)
class RecordBatch:
    """Consecutive records; `first` is the first one's number among all kept records, from 0.

    `codes` are unsigned integers of the randomized columns, in the order of the schema, and
    `numbers` are floats of the numeric columns without a grid. `passed` has identifiers and weights
    with the types of the file. All have the shape (records,).
    """

    first: int
    codes: dict[str, Codes]
    passed: dict[str, pa.Array]
    numbers: dict[str, Floats] = field(default_factory=dict)

    def __len__(self) -> int:
        columns = (*self.codes.values(), *self.numbers.values(), *self.passed.values())
        return len(next(iter(columns), ()))

    def cut(self, start: int, records: int) -> "RecordBatch":
        """Return up to `records` records from the position `start` on."""
        if not start and len(self) <= records:
            return self
        return self._each(self.first + start, lambda each: each[start : start + records])

    def kept(self, flags: Flags) -> "RecordBatch":
        """Return the records with true `flags`."""
        places = np.flatnonzero(flags)
        return self._each(self.first, lambda each: each.take(places))

    def _each(self, first: int, change: Callable[[Any], Any]) -> "RecordBatch":
        parts = (self.codes, self.passed, self.numbers)
        return RecordBatch(first, *({n: change(e) for n, e in own.items()} for own in parts))


class RecordsFile:
    """Records of a `source` with a `schema`; the columns `passed` are not randomized; see `open`.

    `form` is the form of a CSV file, and `expected` the number of records, 0 if it is unknown
    before they are read. `left_out` is the number of records that the last pass left out, because
    of missing values. `outside` counts the kept values outside the bounds, by numeric column, and
    `unique` the weights of one record alone, by column of weights.

    Examples
    --------
    >>> from deniable.schema import Column
    >>> table = pa.table({"sex": ["F", "M", "M"]})
    >>> column = Column(name="sex", kind="categorical", categories=["F", "M"])
    >>> schema = Schema(population="survey", file={"kind": "arrow"}, columns=[column])
    >>> [portion.codes["sex"].tolist() for portion in RecordsFile.open(table, schema).portions()]
    [[0, 1, 1]]
    """

    def __init__(self, source: Source, schema: Schema, passed: Sequence[str]) -> None:
        self.schema, self._source = schema, source
        self.form, self.expected = source.form, source.expected
        self._passed = [schema[name] for name in passed]
        self._records: int | None = None
        self.left_out = 0
        self.outside: dict[str, OutsideBounds] = {}
        self.unique: dict[str, UniqueWeights] = {}
        self._readers = _readers(source, schema)

    @classmethod
    def open(
        cls, source: Any, schema: Schema, *, passed: Sequence[str] | None = None
    ) -> "RecordsFile":
        """Open records.

        The `source` is the path of a CSV, Parquet or Arrow file, or of a folder of Parquet files,
        read in the order of their names; or a table of pandas, Polars or pyarrow. `passed` are the
        identifiers and weights of the `schema` to read; by default all. Raises `DataError` if the
        records cannot be read, or have other columns or types than the schema.
        """
        if schema.file.kind == "transactions" and isinstance(source, (str, Path)):
            opened: Source = formats.TransactionsSource(Path(source), schema)
        elif schema.file.kind in ("spss", "stata"):
            opened = formats.open_survey(source, None, schema.file.encoding)
        else:
            opened = open_source(source, schema.file.delimiter, schema.file.encoding)
        if isinstance(source, (str, Path)) and opened.format.kind != schema.file.kind:
            raise DataError(
                f"{opened.where}: this is {opened.format.kind}, but the schema is for a file of "
                f"kind {schema.file.kind}; draft a schema of this file"
            )
        if passed is None:
            passed = [each.name for each in schema.columns if each.kind in ("identifier", "weight")]
        return cls(opened, schema, [*passed, *([schema.unit.name] if schema.unit else [])])

    def with_schema(self, schema: Schema) -> "RecordsFile":
        """Return the same records, read with another `schema` of the same columns."""
        passed = [each.name for each in self._passed if schema[each.name].kind != "left_out"]
        return RecordsFile(self._source, schema, passed)

    @property
    def records(self) -> int:
        """Number of kept records; the first use may read the whole file."""
        if self._records is None:
            self.check()
        return self._records or 0

    def check(self) -> None:
        """Read all records; raise `DataError` with place, value and remedy of the first errors."""
        for _ in self.portions():
            pass

    def portions(
        self, rows: int = PORTION, seen: Callable[[pa.RecordBatch], None] | None = None
    ) -> Iterator[RecordBatch]:
        """Yield the records, at most `rows` at a time, in a new pass.

        `seen` is called with all columns of the file, unchanged, for all records, also for records
        that are left out. After the first error no batch follows. Errors are raised like in
        `check`, after all records are read.
        """
        faults, kept, read = ValidationErrors(self._source.unit), 0, 0
        units, rules = list[pa.Array](), self.schema.rules
        coded = [column.name for column in self.schema.randomized]
        numeric = ((each.name, each.bounds) for each in self.schema.randomized if each.bounds)
        outside = {name: OutsideBounds(name, ends[0], ends[1]) for name, ends in numeric}
        unique = {each.name: UniqueWeights(each) for each in self._passed if each.kind == "weight"}
        plain = [column.name for column in self._passed]
        if seen is not None:
            more = [each for each in self.schema.columns if each.name not in {*coded, *plain}]
            plain += [each.name for each in more if each.kind == "identifier"]
            coded += [each.name for each in more if each.kind != "identifier"]
        for piece in self._source.pieces(coded, plain, faults, rows):
            portion, marks = self._portion(piece, kept, faults, rules)
            read += piece.batch.num_rows
            if faults:
                continue
            if self.schema.unit is not None and self.schema.unit.excess == "refuse":
                units.append(portion.passed[self.schema.unit.name])
            if seen is not None:
                seen(piece.batch)
            for name, each in outside.items():
                outside[name] = each.plus(len(portion), marks.get(name))
            for name, weights in unique.items():
                weights.add(portion.passed[name])
            for start in range(0, len(portion), rows):
                yield portion.cut(start, rows)
            kept += len(portion)
        faults.raise_if_any()
        if not kept:
            raise DataError(f"{self._source.where}: no records; give a file with at least one")
        if self.schema.unit is not None and units:
            refuse_excess(self.schema.unit, units, self._source.where)
        self._records, self.left_out = kept, read - kept
        self.outside, self.unique = outside, unique

    def _portion(
        self, piece: Piece, first: int, faults: ValidationErrors, rules: Sequence[Rule]
    ) -> tuple[RecordBatch, dict[str, Codes]]:
        """Return kept records, with marks of columns with missing values or values outside."""
        batch = RecordBatch(first, {}, {})
        left_out, marks = [], dict[str, Codes]()
        for reader in self._readers:
            column = reader.column
            values = piece.batch.column(column.name)
            found, missing, marked = reader.read(values, faults, piece.where, piece.first)
            own: dict[str, Any] = batch.numbers if column.continuous else batch.codes
            own[column.name] = found
            if missing is not None:
                left_out.append(missing)
            if marked is not None:
                marks[column.name] = marked
        for column in self._passed:
            values = piece.batch.column(column.name)
            if column.kind in ("weight", "unit"):
                values = checked(column, values, piece, faults)
            # A dictionary has values of other records too, in the order of the file.
            batch.passed[column.name] = values.cast(plain_type(values.type))
        kept = ~np.logical_or.reduce(left_out) if left_out else np.ones(len(batch), dtype=bool)
        if not faults:
            for rule in rules:
                self._refuse_impossible(rule, batch, kept, piece, faults)
        if not left_out:
            return batch, marks
        return batch.kept(kept), {name: each[kept] for name, each in marks.items()}

    def _refuse_impossible(
        self, rule: Rule, batch: RecordBatch, kept: Flags, piece: Piece, faults: ValidationErrors
    ) -> None:
        """Add the `kept` records with an impossible combination to `faults`."""
        bad, attributes = kept, [self.schema[name].attribute() for name in rule]
        for each in attributes:
            bad = bad & np.isin(each.categories, rule[each.name])[batch.codes[each.name]]
        for record in np.flatnonzero(bad).tolist():
            has = (
                f"{a.name} {shown(a.categories[batch.codes[a.name][record]])}" for a in attributes
            )
            what = f"{' and '.join(has)} is an impossible combination by the schema; correct it"
            faults.add(piece.where, piece.first + record, f"{what}, or impossible or asked_if")


def _readers(source: Source, schema: Schema) -> list[Coder]:
    lines = []
    names = [column.name for column in schema.columns]
    if absent := [name for name in names if name not in source.types]:
        lines.append(
            f"no column {listed(absent)}, which the schema has; add it, or remove it there"
        )
    if more := [name for name in source.types if name not in names]:
        lines.append(f"columns {listed(more)} are not in the schema; add them, maybe as left_out")
    schema.refuse_nothing_to_randomize()
    readers: list[Coder] = []
    for column in schema.randomized:
        if column.name in source.types:
            try:
                readers.append(Coder(column, source.types[column.name]))
            except DataError as error:
                lines.append(str(error))
    if lines:
        raise DataError("\n  ".join(f"{source.where}: {line}" for line in lines))
    return readers


@dataclass(frozen=True)
class Part:
    """A public part of the respondents.

    A public seed puts the respondents into an order. The order is cut into `of` parts, at least 2,
    of sizes that differ by at most one. Part number `take`, 1 to `of`, answers. Raises
    `DeniableError` if a number is out of range or the `seed`, a text, is empty.
    """

    of: int
    take: int
    seed: str

    def __post_init__(self) -> None:
        if self.of < 2 or not 1 <= self.take <= self.of:
            given = f"part {self.take} of {self.of}"
            raise DeniableError(f"{given}; give at least 2 parts, and one of them")
        if not self.seed:
            raise DeniableError("the part of the respondents has no seed; give a public text")

    def positions(self, records: int) -> Positions:
        """Return the positions, ascending from 0, of the respondents that answer.

        Respondents are ordered by the SHA-256 of the seed, a colon and their record number,
        counted from 1. The file has so many `records`.
        """
        keys = [sha256(f"{self.seed}:{n}".encode()).digest() for n in range(1, records + 1)]
        order = sorted(range(records), key=keys.__getitem__)
        begin, end = (records * each // self.of for each in (self.take - 1, self.take))
        return np.sort(np.array(order[begin:end], dtype=np.intp))


def answering_batches(
    batches: Iterable[RecordBatch],
    part: Part | None,
    schema: Schema | None = None,
    source: RandomnessSource | None = None,
) -> Iterator[tuple[RecordBatch, Numbers]]:
    """Yield the `batches` of the respondents that answer, with their record numbers.

    With a `part`, all batches are in memory, because the number of all records decides who answers.
    So they are if the `schema` limits the records of a unit: the `source` then draws which ones
    answer, by numbers that do not depend on values.
    """
    unit = schema.unit if schema is not None and source is not None else None
    limited = unit is not None and unit.excess == "limit"
    if part is None and not limited:
        yield from ((each, range(each.first, each.first + len(each))) for each in batches)
        return
    held = list(batches)
    answering = np.zeros(sum(map(len, held)), dtype=bool)
    if part is not None:
        answering[part.positions(answering.size)] = True
    elif unit is not None and source is not None:
        names = [each.passed[unit.name].cast(pa.large_string()) for each in held]
        units = np.asarray(pa.concat_arrays(names).dictionary_encode().indices)
        words = KeyedDraws.of(source).column(("unit", unit.name), units.size).words(64)
        order = np.lexsort((words, units))
        first = np.concatenate([[0], np.cumsum(np.bincount(units))])
        place = np.arange(units.size) - first[units[order]]
        answering[order[place < (unit.records_per_unit or 1)]] = True
    for batch in held:
        own = answering[batch.first : batch.first + len(batch)]
        if own.any():
            yield batch.kept(own), batch.first + np.flatnonzero(own)
