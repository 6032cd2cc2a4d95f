"""Check folder, name and options of a release, and draw it into public and private files."""

import math
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deniable.errors import DeniableError, shown
from deniable.files import write_json, write_table
from deniable.plans import Plan, plan_to_json
from deniable.release.contents import PLAN, PRODUCTION_NOTICE, write_documents
from deniable.release.counting import Entry, RecordDigests, RowOrder, counted_epsilon
from deniable.release.keys import ReleaseKey
from deniable.release.receipts import refuse_other_files
from deniable.release.records import OriginalRecords, Progress, records_writer
from deniable.release.risk import Risk
from deniable.release.shuffled import shuffled_file
from deniable.sampling import KeyedDraws, Words, by_words
from deniable.schema import RecordBatch, rows_of, warn_outside

if TYPE_CHECKING:
    import pandas as pd

BATCH = 1 << 18  # records
WORD_BITS = 64
MAX_OUTSIDE = 0.01  # largest proportion of a column's values outside its bounds, by default
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")


def in_order_of_key(
    tables: Iterable[pa.Table], draws: KeyedDraws, records: int, scratch: Path
) -> Iterator[pa.Table]:
    """Yield the protected records of `tables` in the random order of the key of `draws`.

    `records` is their number. The empty folder `scratch` temporarily contains all of them, so that
    memory is bounded: leading bits of random words divide them into parts of about one batch, each
    sorted alone.
    """
    first = 0
    names: list[str] = []
    dictionaries: dict[str, pa.Array] = {}  # not in the files: a file has many streams
    for table in tables:
        names = table.column_names
        words = draws.order_words(range(first, first + len(table)))
        columns = [pa.array(np.ascontiguousarray(each)) for each in words.T]
        for name in names:
            column = table[name].combine_chunks()
            if pa.types.is_dictionary(column.type):
                if not dictionaries.setdefault(name, column.dictionary).equals(column.dictionary):
                    raise ValueError(f"column {name!r} has another dictionary in a later table")
                column = column.indices
            columns.append(column)
        placed = pa.table(columns, names=[str(place) for place in range(len(columns))])
        parts = (records - 1) // rows_of(len(names), BATCH)
        _put_by_part(placed, words, max(0, parts).bit_length(), scratch)
        first += len(table)
    for path in sorted(scratch.iterdir()):
        table = _read_part(path).rename_columns(names)
        path.unlink()
        for name, dictionary in dictionaries.items():
            coded = pa.DictionaryArray.from_arrays(table[name].combine_chunks(), dictionary)
            table = table.set_column(names.index(name), name, coded)
        yield table


def _put_by_part(table: pa.Table, words: Words, bits: int, scratch: Path) -> None:
    # In two steps, because a shift by all bits of a number is undefined.
    part = (words[:, 0] >> np.uint64(WORD_BITS - 1 - bits)) >> np.uint64(1)
    part = part.astype(np.min_scalar_type(1 << bits))
    sizes = np.bincount(part, minlength=1 << bits)
    table = table.take(pa.array(np.argsort(part, kind="stable")))
    ends = np.cumsum(sizes)
    for number in np.flatnonzero(sizes).tolist():
        # Not kept open, because there may be more parts than a process can open files.
        with (scratch / f"{number:016x}").open("ab") as file:
            own = table.slice(ends[number] - sizes[number], sizes[number])
            with pa.ipc.new_stream(file, table.schema) as stream:
                stream.write_table(own)


def _read_part(path: Path) -> pa.Table:
    """Return a part in the order of the key, without its words."""
    batches = []
    with pa.OSFile(str(path)) as file:
        while file.tell() < file.size():
            batches += pa.ipc.open_stream(file)
    table = pa.Table.from_batches(batches).combine_chunks()
    words = np.stack([table.column(place).to_numpy() for place in (0, 1)], axis=1)
    return table.select(range(2, table.num_columns)).take(pa.array(by_words(words)))


@dataclass(frozen=True)
class Release:
    """A release of a `name` before its draw by a `plan`, in the `folder` that it is made in.

    The `risk` is measured by the draw. `outside` is the largest proportion of values outside the
    bounds of a column, and `data_source` the origin of the `records`. The `mode` is "test" or
    "production". The `notice` is for the documents. The rows can be `matched` with those of these
    earlier releases.
    """

    name: str
    plan: Plan
    records: OriginalRecords
    folder: Path
    risk: Risk
    outside: float
    data_source: str = "own"
    mode: Literal["test", "production"] = "production"
    notice: str = PRODUCTION_NOTICE
    matched: tuple[str, ...] = ()

    @property
    def population(self) -> str:
        """The people of the records."""
        return str(self.plan.schema.population)

    @property
    def document(self) -> dict[str, Any]:
        """The JSON document of the plan, including matrices that are kept back."""
        return plan_to_json(self.plan)

    @property
    def published(self) -> dict[str, Any]:
        """The JSON document of the published plan."""
        return plan_to_json(self.plan.published)

    @property
    def file_name(self) -> str:
        """Name of the protected file."""
        return f"{self.plan.protected_name}.{self.plan.schema.file.protected.kind}"

    def entry(self, records: RecordDigests) -> Entry:
        """Return the entry for a ledger, with digests of the `records`, before a key is made."""
        return Entry(
            population=self.population,
            release=self.name,
            epsilon=counted_epsilon(self.plan.epsilon_in_ledger),
            part=self.plan.part,
            records=records,
        )

    def row_order(self, key: ReleaseKey) -> RowOrder | None:
        """Return the facts on the order of rows by a `key`; None if they change no total."""
        plan, schema = self.plan, self.plan.schema
        limited = schema.unit is not None and schema.unit.excess == "limit"
        known = not plan.against_shuffling and not plan.unchanged_groups and not limited
        if not known and not self.matched:
            return None
        exact = Fraction(counted_epsilon(plan.epsilon)) if known else None
        order = draws_for(key, self.document, self.records.fingerprint).subkey("order", ())
        return RowOrder(exact, key.digest("order", [order]), self.matched, schema.records_per_unit)

    def refuse_failing_claims(self) -> None:
        """Raise `DeniableError` if a claim of the plan fails its audit and no risk is accepted."""
        audit = self.plan.audit()
        failing = audit[audit["holds"].astype(str) == "False"]
        if len(failing) and not self.plan.accept:
            raise DeniableError(
                f"release {self.name!r}: {len(failing)} claims of the plan fail the audit, the "
                f"first one for {failing['of'].iloc[0]!r}; the release is not made"
            )

    def refuse_records(self) -> None:
        """Warn of values outside the bounds, and of weights that only one record has.

        The first pass over the records counted both. Raises `DeniableError` if too many values of a
        column lie outside, or for too few records.
        """
        self.plan.refuse_too_few(len(self.records))
        counts = self.records.file.outside.values()
        if not (refused := [each for each in counts if each.proportion > self.outside]):
            warn_outside(counts)
            for each in self.records.file.unique.values():
                each.warn()
            return
        enough = math.ceil(1000 * max(each.proportion for each in refused)) / 1000
        lines = [
            f"release {self.name!r} is not drawn: more than {100 * self.outside:.3g} % of the "
            "values of a column would be moved to the ends of its bounds",
            *map(str, refused),
            "Look at the smallest and largest values of the column. Correct the bounds in the "
            "schema, or declare a code such as 999 as missing (missing: {values: ...}), and make a "
            f"new plan; or accept the proportion {enough:g} (outside_bounds, --outside-bounds). A "
            "plan with bounds that follow from this message needs --accept bounds_from_refusals",
        ]
        raise DeniableError("\n  ".join(lines))

    def draw(
        self, key: ReleaseKey, public: Path, private: Path, ledger: Mapping[str, Any] | None
    ) -> None:
        """Draw the release by a `key` into the folders `public` and `private`.

        The facts of its `ledger` entry are published; a test release has no entry.
        """
        risk = self.risk
        draws = draws_for(key, self.document, self.records.fingerprint)
        rows, tables = self._write(draws, public / self.file_name)
        for name, table in tables.items():
            write_table(public / f"{name}.csv", table)
        risk.left_out = self.records.file.left_out
        risk.outside = tuple(self.records.file.outside.values())
        owner = {"exact_cells": risk.exact_cells(), "outside_bounds": risk.outside_bounds()}
        if self.plan.published is not self.plan:
            write_json(private / PLAN, self.document, private=True)
            owner |= self.plan.owner_tables(self.records.batches())
        for name, table in ({"risk": risk.table()} | owner).items():
            if len(table):
                write_table(private / f"{name}.csv", table, private=True)
        respondents = rows
        if not self.plan.of_records:
            part, respondents = self.plan.part, len(self.records)
            if part is not None:
                respondents = len(part.positions(respondents))
        smallest = min(risk.groups.values(), default=None)
        block = {
            "name": self.name,
            "mode": self.mode,
            "notice": self.notice,
            "records": respondents,
            "data_source": self.data_source,
            "shuffled": shuffled_file(self.plan, respondents, smallest, test=self.mode == "test"),
        } | ({"ledger": dict(ledger)} if ledger is not None else {})
        write_documents(self.plan.published, self.published | {"release": block}, public)
        refuse_other_files(public)

    def _write(self, draws: KeyedDraws, path: Path) -> "tuple[int, dict[str, pd.DataFrame]]":
        """Write the protected file to a `path`; return its number of rows, and further tables."""
        rows, more, numbers = 0, dict[str, Any](), list[RecordBatch]()
        batches = _watched(self.records.batches(), numbers)
        tables = self._compared(self.plan.randomize(batches, draws, self.risk.add), numbers, more)
        with (
            records_writer(path, self.plan.schema.file, self.records.file.form) as writer,
            # Randomized values in the order of the file are as confidential as the records.
            tempfile.TemporaryDirectory(prefix=".order.", dir=path.parent) as scratch,
        ):
            permuted = self.plan.order == "permuted" and self.plan.of_records
            if permuted:
                pa.default_memory_pool().release_unused()  # left by the first pass
                tables = in_order_of_key(tables, draws, len(self.records), Path(scratch))
            for table in tables:
                writer.write(table)
                self.risk.add_groups(table.select(self.plan.unchanged_groups))
                rows += len(table)
                if permuted:
                    self.records.progress("writing in random order", rows, len(self.records))
        return rows, more

    def _compared(
        self, tables: Iterator[pa.Table], numbers: list[RecordBatch], more: dict[str, Any]
    ) -> Iterator[pa.Table]:
        """Yield `tables`; add public tables to `more`, and count unchanged `numbers`."""
        for table in tables:
            for name in numbers[0].numbers if numbers else ():
                original = np.concatenate([each.numbers[name] for each in numbers])
                if name in table.column_names and len(table) == len(original):
                    column = table[name]
                    if pa.types.is_string(column.type):
                        column = pc.replace_substring(column, ",", ".")
                    same = np.asarray(column.cast(pa.float64())) == original
                    self.risk.add_unchanged(name, int(same.sum()), len(original))
            more |= self.plan.public_tables(table)
            yield table


def _watched(batches: Iterator[RecordBatch], numbers: list[RecordBatch]) -> Iterator[RecordBatch]:
    for batch in batches:
        if batch.numbers:
            numbers.append(batch)
        yield batch


def draws_for(
    key: ReleaseKey, document: Mapping[str, Any], fingerprint: Sequence[bytes]
) -> KeyedDraws:
    """Return the draws of a release: a function of `key`, plan `document` and `fingerprint`."""
    return key.draws({"plan": dict(document), "records": key.digest("records", fingerprint)})


def opened_release(
    source: Any,
    plan: Plan,
    folder: Path | str,
    name: str | None,
    quasi_identifiers: Sequence[str],
    outside_bounds: float,
    progress: Progress,
) -> Release:
    """Return a release, after all checks that need no record; for the arguments see `protect`.

    Raises `DeniableError` if the `folder`, the `name` or `outside_bounds` is invalid, or a column
    cannot be one of the `quasi_identifiers`. Also for a `source` that the `plan` does not describe;
    reading it calls `progress`.
    """
    if not (isinstance(outside_bounds, (int, float)) and 0 <= outside_bounds <= 1):
        problem = f"outside_bounds is {shown(outside_bounds)}; give a proportion from 0 to 1"
        raise DeniableError(problem)
    at = Path(folder)
    if at.exists() and not at.is_dir():
        raise DeniableError(f"{at}: a file exists there; name another folder for the release")
    name = name or at.resolve().name
    if not NAME.fullmatch(name):
        raise DeniableError(
            f"a release cannot be named {shown(name)}; give a name of at most 100 letters, digits, "
            "'_' and '-'"
        )
    risk = Risk(plan, quasi_identifiers)
    return Release(name, plan, OriginalRecords(source, plan, progress), at, risk, outside_bounds)
