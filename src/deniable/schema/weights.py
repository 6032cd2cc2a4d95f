"""Survey weights as they are released: checked, in public classes if declared, and counted."""

import warnings

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deniable.errors import WeightsWarning, shown
from deniable.schema.column import Column
from deniable.schema.faults import ValidationErrors
from deniable.schema.formats import Piece
from deniable.schema.types import is_number, is_text, number_text, weights_of

MAX_KEPT = 1 << 17  # distinct weights of a column in memory
MIXING = np.uint64(0x9E3779B97F4A7C15)  # odd, so that products with it are distinct


def released_weights(
    column: Column, values: pa.Array, piece: Piece, faults: ValidationErrors
) -> pa.Array:
    """Return the weights of the records in a `piece`, its `values`, as they are released.

    In the classes of the `column`, numbers become doubles, and text stays text. Values that are
    not weights, or in no class, are added to `faults`, and other values are returned.
    """
    kind, about = values.type, f"column {shown(column.name)}"
    if not (is_text(kind) or is_number(kind)):
        what = f"{about} has {kind}, not weights; write kind: left_out"
        faults.add(piece.where, piece.first, what, len(values))
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
        self._keep()
        while len(self._values) > MAX_KEPT:
            self._level += 1
            self._keep()

    def _keep(self) -> None:
        """Keep weights with `_level` zero bits in their hashes."""
        if self._level:
            hashes = self._values.view(np.uint64) * MIXING
            kept = hashes >> np.uint64(64 - self._level) == 0
            self._values, self._counts = self._values[kept], self._counts[kept]

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
