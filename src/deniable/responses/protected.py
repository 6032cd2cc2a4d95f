"""Protected records in a file or a table, as batches of codes of randomized values."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deniable import estimation
from deniable.arrays import Codes, Floats
from deniable.errors import DataError, shown
from deniable.records import Attribute, Domain, shortened
from deniable.responses.base import Counted, ResponseBatch, Responses, open_protected
from deniable.responses.columns import ProtectedFormat
from deniable.responses.tables import AllAnswers, Table
from deniable.schema import ValidationErrors, encoded, weights_of

KINDS = ("csv", "parquet", "arrow")
WEIGHTS = (1e-100, 1e100)
"""The smallest and the largest positive weight; sums of their squares are finite."""


def protected_file(folder: Path, stem: str = "protected") -> Path:
    """Return the path of the protected file in a `folder`: `stem`.csv, .parquet or .arrow.

    Raises `DataError` unless exactly one of these files exists.
    """
    if len(there := [kind for kind in KINDS if (folder / f"{stem}.{kind}").is_file()]) != 1:
        found = ", ".join(f"{stem}.{kind}" for kind in there) or "none"
        raise DataError(
            f"{folder}: needs exactly one of {stem}.csv, .parquet and .arrow; there: {found}"
        )
    return folder / f"{stem}.{there[0]}"


class ProtectedRecords(Responses):
    """Records of a protected file.

    The `source` is a path or a table, with the columns of the `layout`. `table_of` takes names of
    columns and returns their table, with its channel. The `clusters` are names of columns that were
    randomized together. Raises `DataError` if the file cannot be read, or lacks a column.
    """

    has_randomized_records = True

    def __init__(
        self,
        source: Any,
        layout: ProtectedFormat,
        table_of: Callable[[Sequence[str]], Table],
        clusters: Sequence[tuple[str, ...]],
    ) -> None:
        form, self._table_of, self._clusters = layout.schema.file.protected, table_of, clusters
        names = [*(each.name for each in layout.columns), *layout.passed]
        self._source = open_protected(source, form, names)
        self.where, self.as_text = self._source.where, layout.as_text
        passed = [layout.schema[name] for name in layout.passed]
        self._decimals = {each.name: each.decimal for each in passed if each.kind == "weight"}
        self._columns = {each.name: each for each in layout.columns}
        self._known: dict[tuple[str | None, tuple[str, ...]], Counted] = {}

    def table(self, names: Sequence[str]) -> Table:
        return self._table_of(names)

    def clusters(self) -> list[Table]:
        return [self.table(names) for names in self._clusters]

    def answers(self, weight: str | None = None, names: Sequence[str] = ()) -> AllAnswers:
        chosen = [own for own in self._clusters if not names or {*own} & {*names}]
        tables = [*map(self.table, chosen or self._clusters[:1])]
        codes, weights = self.codes([table.reports for table in tables], weight)
        parts = [*tables[0].answers_of_strata(codes[0])]
        for table, own in zip(tables, codes, strict=True):
            parts += table.answers(own)
        return parts, weights

    @cached_property
    def records(self) -> int:
        """Number of protected records."""
        first = next(iter(self._columns.values()))
        return self.count([Domain((Attribute(first.name, first.texts),))])[0].records

    def count(self, tables: Sequence[Domain], weight: str | None = None) -> list[Counted]:
        """Return counts of the values of `tables`, weighted by the column `weight` if given."""
        requested = {(weight, table.names): table for table in tables}
        if new := {key: table for key, table in requested.items() if key not in self._known}:
            self._known |= zip(new, self._count(list(new.values()), weight), strict=True)
        return [self._known[weight, table.names] for table in tables]

    def _count(self, tables: Sequence[Domain], weight: str | None) -> list[Counted]:
        found = [np.zeros((1 if weight is None else 3, table.size)) for table in tables]
        largest = 0.0
        for batch in self.batches({name for table in tables for name in table.names}, weight):
            own = batch.weights
            powers = [None] if own is None else [None, own, own**2]
            largest = max(largest, 0.0 if own is None else float(own.max(initial=0.0)))
            for sums, table in zip(found, tables, strict=True):
                cells = batch.joint(table)
                for row, power in enumerate(powers):
                    sums[row] += np.bincount(cells, power, table.size)
        tallies = [sums[0].astype(np.int64) for sums in found]
        if weight is None:
            return [Counted(tally) for tally in tallies]
        within = (
            estimation.WeightedCounts(sums[1:2], sums[2:], tally.sum(keepdims=True), largest)
            for tally, sums in zip(tallies, found, strict=True)
        )
        return [Counted(*each, weight=weight) for each in zip(tallies, within, strict=True)]

    def batches(self, names: Iterable[str], weight: str | None = None) -> Iterator[ResponseBatch]:
        """Yield batches of the file with the columns `names`.

        With a column of weights, `weight`, records of weight 0 are left out. Raises `DataError` if
        a value is not a randomized value of the channel, or the column of weights does not exist.
        Weights must be numbers from 0, at least one positive.
        """
        if weight is not None and weight not in self._decimals:
            there = ", ".join(self._decimals) or "none, so estimate without weights"
            raise DataError(
                f"{self.where}: the release has no column of weights {weight!r}; it has {there}"
            )
        wanted = [name for name in self._columns if name in set(names)]
        faults, records = ValidationErrors(), 0
        for piece in self._source.pieces(wanted, [] if weight is None else [weight], faults):
            faults.raise_if_any()
            batch, first = piece.batch, piece.first
            codes = {name: self._coded(name, batch[name], first) for name in wanted}
            weights = None
            if weight is not None:
                weights = self._weights(weight, batch[weight], first)
                counts = weights > 0
                codes = {name: column[counts] for name, column in codes.items()}
                weights = weights[counts]
            yield ResponseBatch(codes, weights)
            records += batch.num_rows if weights is None else weights.size
        faults.raise_if_any()
        if not records:
            all_zero = "" if weight is None else f" of positive weight by the column {weight!r}"
            raise DataError(f"{self.where}: no records{all_zero}, so nothing can be estimated")

    def _coded(self, name: str, values: pa.Array, at: int) -> Codes:
        own, values = self._columns[name], encoded(values)
        found, kind = values.dictionary, own.values.type
        known = pa.array(own.texts, pa.string()) if self.as_text else own.values.cast(pa.string())
        if not self.as_text and found.type != kind:  # integers next to missing values are floats
            with suppress(pa.ArrowInvalid, pa.ArrowNotImplementedError):  # an error follows below
                found = found.cast(kind)
        texts = pa.concat_arrays([found.cast(pa.string()), pa.nulls(1, pa.string())])
        table = np.asarray(pc.index_in(texts, value_set=known).fill_null(-1))
        codes = table[np.asarray(values.indices.fill_null(len(texts) - 1))]
        if codes.size and codes.min() < 0:
            bad = int(codes.argmin())
            labels = ", ".join(map(str, known.to_pylist()))
            raise DataError(
                f"{self.where}: record {at + bad + 1:,}, column {name!r} has "
                f"{shortened(str(values[bad].as_py()))!r}, which the plan's channel never returns "
                f"(it returns {shortened(labels)}); plan and file are of different releases"
            )
        return np.asarray(codes, dtype=own.code_type)

    def _weights(self, name: str, values: pa.Array, at: int) -> Floats:
        weights = weights_of(values, self._decimals[name])
        low, high = WEIGHTS
        bad = np.flatnonzero(~((weights == 0) | ((weights >= low) & (weights <= high))))
        if bad.size:
            raise DataError(
                f"{self.where}: record {at + int(bad[0]) + 1:,}, column {name!r} has the weight "
                f"{shown(values[int(bad[0])].as_py())}; weights must be 0 or numbers from {low:g} "
                f"to {high:g}, so estimate without them"
            )
        return weights
