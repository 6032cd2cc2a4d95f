"""Codes or numbers of a column's values, from its dictionary instead of single records."""

import re
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deniable.arrays import Codes, Flags, Floats
from deniable.errors import DataError, listed, shown
from deniable.schema.column import Column
from deniable.schema.faults import ABOVE, ABSENT, BELOW, ValidationErrors
from deniable.schema.types import (
    COMMA,
    alike,
    encoded,
    is_text,
    missing_values,
    plain_type,
    type_named,
    weights_of,
)


class Coder:
    """Reader of values of a `column`, as codes of its attribute, or as numbers without a grid.

    Raises `DataError` if the schema declares another type than `kind`, the type in the file.
    """

    def __init__(self, column: Column, kind: pa.DataType) -> None:
        self.column = column
        expected = type_named(column.type) if column.type else pa.string()
        self._kind = plain_type(kind)
        if self._kind != expected:
            raise DataError(f"column {shown(column.name)} {self._wrong_type(kind)}")
        self._means_missing = missing_values(column.missing.values, self._kind)
        coded = pa.string() if column.recoded_to_text else self._kind
        self._values = pa.array(column.categories, pa.string()).cast(coded)
        self._attribute = None if column.continuous else column.attribute()
        kind = self._kind.to_pandas_dtype() if pa.types.is_floating(self._kind) else float
        inner = column.boundaries if column.on_grid or column.edges else ()
        with np.errstate(over="ignore"):  # a value of the file can equal a bound or a boundary
            numbers = np.array([*column.limits, *inner]).astype(kind).astype(float)
        (self._low, self._high), self._boundaries = numbers[:2].tolist(), numbers[2:]

    def _wrong_type(self, kind: pa.DataType) -> str:
        if pa.types.is_nested(kind):
            return f"has {kind}, several values per record; split it, or write kind: left_out"
        named = self.column.type or "text"
        if is_text(kind):
            return f"has text, but the schema declares {named}; remove its type from the schema"
        try:
            type_named(str(self._kind))
        except DataError:
            return f"has {kind}, which cannot be randomized; cast to text, or write kind: left_out"
        return f"has {self._kind}, but the schema declares {named}; write type: {self._kind}"

    def read(
        self, values: pa.Array, faults: ValidationErrors, where: str, first: int
    ) -> tuple[Any, Flags | None, Codes | None]:
        """Return codes or numbers of `values`, records to leave out, and marks of `OutsideBounds`.

        The second is None if no record is left out, and the third if all values are inside. Errors
        are added to `faults`, for records of the file `where`; codes are then meaningless. The
        first value belongs to the record number `first`, counted from 0.
        """
        if self.column.kind == "numeric" and pa.types.is_primitive(values.type):
            dictionary, places = values, None  # most numbers differ
        else:
            values = encoded(values)
            dictionary, places = values.dictionary.cast(self._kind), values.indices
            if places.null_count:
                places = places.cast(pa.int32()).fill_null(len(dictionary))
                dictionary = pa.concat_arrays([dictionary, pa.nulls(1, self._kind)])
        missing = np.asarray(dictionary.is_null(nan_is_null=True))
        if len(self._means_missing):
            missing = missing | np.asarray(pc.is_in(dictionary, value_set=self._means_missing))
        recode = self.column.recode
        recoded = recode.apply(dictionary, self.column.decimal) if recode else dictionary
        found, unknown, marks = self._table(recoded)
        policy = self.column.missing.policy
        if self._attribute is not None:
            # Missing values without a category are left out; their code is meaningless.
            found = found.astype(self._attribute.code_type)
            found[missing] = self._attribute.size - 1
        try:
            codes = _taken(found, places)
        except IndexError:
            raise DataError(
                f"{where}: column {shown(self.column.name)} has an index outside its dictionary, "
                "so the file is damaged; write it again"
            ) from None
        if (invalid := unknown & ~missing).any():
            marked = np.where(invalid, np.arange(len(invalid)), -1)
            faults.add_values(where, first, _taken(marked, places), dictionary, self._problem)
        left_out = None
        if self.column.absent is None and missing.any():
            left_out = _taken(missing.view(np.uint8), places).view(np.bool_)
        if policy == "refuse" and left_out is not None and left_out.any():
            allowed = "drop" if self.column.continuous else "category or drop"
            what = (
                f"column {shown(self.column.name)} has a missing value; give a value, or declare "
                f"the policy {allowed} for its missing values in the schema"
            )
            faults.add(where, first + int(left_out.argmax()), what, int(left_out.sum()))
        if marks is not None:
            marks[missing] = ABSENT
            marks = _taken(marks, places) if marks.any() else None
        return codes, left_out, marks

    def _table(self, dictionary: pa.Array) -> tuple[Codes | Floats, Flags, Codes | None]:
        """Return codes or numbers of a dictionary's values, flags of invalid ones, and marks."""
        if self.column.kind != "numeric":
            codes = pc.index_in(dictionary, value_set=self._values)
            return np.asarray(codes.fill_null(0)), np.asarray(codes.is_null()), None
        numbers = weights_of(dictionary, self.column.decimal)
        unknown = ~np.isfinite(numbers)
        marks = ABOVE * (numbers > self._high).view(np.int8)
        marks += BELOW * (numbers < self._low).view(np.int8)
        if self._attribute is None:
            return numbers, unknown, marks
        return np.searchsorted(self._boundaries, numbers, side="right"), unknown, marks

    def _problem(self, value: str) -> str:
        has = f"column {shown(self.column.name)} has {shown(value)}"
        if self.column.kind == "numeric":
            comma = self.column.decimal == "." and re.fullmatch(COMMA, value)
            more = ', or write decimal: "," in the schema' if comma else ""
            remedy = f"correct it, or add it to the missing values{more}"
            return f"{has}, which is not a number; {remedy}"
        if self.column.recode is not None:
            return f"{has}, which {self.column.recode.problem(listed(self.column.categories))}"
        if same := [each for each in self.column.categories if alike(each) == alike(value)]:
            return (
                f"{has}, which is the category {shown(same[0])} except for spaces, capitals or "
                "forms of accents; write it in the same way"
            )
        return (
            f"{has}, which is not a category; correct it, or add it to the categories (now: "
            f"{listed(self.column.categories)})"
        )


def _taken(table: Any, places: pa.Array | None) -> Any:
    if places is None:
        return table
    return pc.take(pa.array(table), places).to_numpy(zero_copy_only=False)
