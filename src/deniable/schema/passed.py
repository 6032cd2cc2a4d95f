"""Columns that are read but not randomized: survey weights as released, and units."""

import warnings
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deniable.errors import DataError, WeightsWarning, shown
from deniable.schema.column import Column
from deniable.schema.faults import ValidationErrors
from deniable.schema.formats import Piece
from deniable.schema.types import is_number, is_text, number_text, weights_of

MAX_KEPT = 1 << 17  # distinct weights of a column in memory
MIXING = np.uint64(0x9E3779B97F4A7C15)  # odd, so that products with it are distinct


def checked(column: Column, values: pa.Array, piece: Piece, faults: ValidationErrors) -> pa.Array:
    """Return the `values` of a `column` of weights or units, as they are released.

    In classes of weights, numbers become doubles, and text stays text. Values of a `piece` that
    are not weights, in no class, or name no unit are added to `faults`.
    """
    kind, about, weights = values.type, f"column {shown(column.name)}", column.kind == "weight"
    if not (is_text(kind) or (is_number(kind) if weights else pa.types.is_integer(kind))):
        units = "which does not name units; give text or integers"
        remedy = "not weights; write kind: left_out" if weights else units
        faults.add(piece.where, piece.first, f"{about} has {kind}, {remedy}", len(values))
        return values
    if not weights:
        empty = np.asarray(pc.equal(values.cast(pa.string()).fill_null(""), ""))
        if empty.any():
            what = f"{about} has no value; every record needs a unit"
            faults.add(piece.where, piece.first + int(empty.argmax()), what, int(empty.sum()))
        return values
    low, high = (0, np.inf) if column.classes is None else (column.classes[0], column.classes[-1])

    def problem(text: str) -> str:
        has = shown(text) if text else "a missing value"
        what = "which is not a weight; give a number of at least 0"
        if column.classes is not None:
            what = f"which is in no class from {low:,g} to {high:,g}; correct it, or the classes"
        return f"{about} has {has}, {what}"

    numbers = weights_of(values, column.decimal)
    if (bad := ~((numbers >= low) & (numbers <= high) & np.isfinite(numbers))).any():
        texts = values.cast(pa.string()).fill_null("").dictionary_encode()
        marked = np.where(bad, np.asarray(texts.indices), -1)
        faults.add_values(piece.where, piece.first, marked, texts.dictionary, problem)
    return in_classes(column, values)


def in_classes(column: Column, values: pa.Array) -> pa.Array:
    """Return the value of the class of each of the `values` of a `column`, if it has classes."""
    if column.classes is None:
        return values
    places = np.searchsorted(column.classes[1:-1], weights_of(values, column.decimal), side="right")
    found = pa.array(column.values_of_classes)
    if is_text(values.type):
        texts = [number_text(each) for each in column.values_of_classes]
        found = pc.replace_substring(pa.array(texts, pa.string()), ".", column.decimal)
    return found.take(pa.array(places))


class UniqueWeights:
    """The number of records with a weight that no other record has, in the released `column`.

    It is exact for up to `MAX_KEPT` distinct weights. Of more, a sample by hashes is kept.
    SOURCE: Gibbons (2001), "Distinct sampling for highly-accurate answers to distinct values
    queries and event reports", VLDB.
    """

    def __init__(self, column: Column) -> None:
        self._column, self._level = column, 0
        self._values, self._counts = np.empty(0), np.empty(0, dtype=np.int64)
        self.records = 0

    @property
    def unique(self) -> int:
        """The number of such records."""
        return int((self._counts == 1).sum()) << self._level

    def add(self, values: pa.Array) -> None:
        """Add the released `values` of further records."""
        self.records += len(values)
        own, counts = np.unique(weights_of(values, self._column.decimal), return_counts=True)
        self._values, places = np.unique(np.concatenate([self._values, own]), return_inverse=True)
        self._counts = np.bincount(places, np.concatenate([self._counts, counts])).astype(np.int64)
        while True:  # keep weights with `_level` zero bits first in their hashes
            last = np.uint64(2 ** (64 - self._level) - 1)
            kept = self._values.view(np.uint64) * MIXING <= last
            self._values, self._counts = self._values[kept], self._counts[kept]
            if len(self._values) <= MAX_KEPT:
                return
            self._level += 1

    def __str__(self) -> str:
        about = "about " if self._level else ""
        where = "released weight" if self._column.classes is None else "class of weights"
        return (
            f"column {shown(self._column.name)}: {about}{self.unique:,} of {self.records:,} "
            f"records ({100 * self.unique / max(self.records, 1):.3g} %) have a {where} of their "
            "own"
        )

    def warn(self) -> None:
        """Issue a `WeightsWarning` if a record has a weight of its own."""
        if self.unique:
            remedy = "A weight that somebody knows re-identifies a record; declare (fewer) classes"
            warnings.warn(f"{self}. {remedy} in the schema", WeightsWarning, stacklevel=4)


def refuse_excess(column: Column, values: Sequence[pa.Array], where: str) -> None:
    """Raise `DataError` if a unit has more records than its `column` allows.

    The `values` are batches of the column, in the file `where`.
    """
    texts = pa.concat_arrays([each.cast(pa.large_string()) for each in values])
    found, most = pc.value_counts(texts), column.records_per_unit or 1
    sizes = np.asarray(found.field("counts"))
    if sizes.max() > most:
        name = shown(found.field("values")[int(sizes.argmax())].as_py())
        raise DataError(
            f"{where}: column {shown(column.name)}: the unit {name} has {sizes.max():,} records, "
            f"over records_per_unit {most:,} ({(sizes > most).sum():,} units have more); state a "
            "larger number that is known without the records, or excess: limit"
        )
