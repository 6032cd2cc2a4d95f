"""Read the values of a column as codes or numbers, by its dictionary, not record by record."""

import re
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deniable.arrays import Codes, Flags, Floats
from deniable.errors import DataError, shown
from deniable.schema.faults import ValidationErrors
from deniable.schema.model import Column
from deniable.schema.texts import alike, listed
from deniable.schema.types import (
    encoded,
    is_number,
    is_text,
    missing_values,
    plain_type,
    type_named,
)

NUMBER = r"^\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*$"
COMMA = r"^\s*[+-]?[0-9]+,[0-9]+\s*$"


class _Reader:
    """Read the values of a randomized column; see `Coder`."""

    def __init__(self, column: Column, kind: pa.DataType) -> None:
        self.column = column
        expected = type_named(column.type) if column.type else pa.string()
        self._kind = plain_type(kind)
        if self._kind != expected:
            raise DataError(f"column {shown(column.name)} {self._wrong_type(kind)}")

    def _wrong_type(self, kind: pa.DataType) -> str:
        if pa.types.is_nested(kind):
            return f"holds {kind}, several values a record; make it columns, or kind: left_out"
        named = self.column.type or "text"
        if is_text(kind):
            return f"holds text, and the schema says {named}; take its type out of the schema"
        try:
            type_named(str(self._kind))
        except DataError:
            return f"holds {kind}, which cannot be randomized; cast it to text, or kind: left_out"
        return f"holds {self._kind}, and the schema says {named}; write type: {self._kind}"

    @cached_property
    def _means_missing(self) -> pa.Array:
        return missing_values(self.column.missing.values, self._kind)

    def _is_missing(self, dictionary: pa.Array) -> Flags:
        named = pc.is_in(dictionary, value_set=self._means_missing)
        return np.asarray(pc.or_(dictionary.is_null(nan_is_null=True), named))

    def _left_out(
        self,
        unknown: Flags,
        missing: Flags,
        indices: Codes,
        dictionary: pa.Array,
        at: tuple[ValidationErrors, str, int],
    ) -> Flags | None:
        """Report invalid and missing values, and return the records to leave out."""
        faults, where, first = at
        if unknown.any():
            marked = np.where(unknown, indices.astype(np.int64), -1)
            faults.add_values(where, first, marked, dictionary, self._problem)
        policy = self.column.missing.policy
        if policy == "category" or not missing.any():
            return None
        if policy == "refuse":
            allowed = "drop" if self.column.continuous else "category or drop"
            what = (
                f"column {shown(self.column.name)} has a missing value; give a value, or in the "
                f"schema the policy {allowed} to its missing values"
            )
            faults.add(where, first + int(missing.argmax()), what, int(np.count_nonzero(missing)))
        return np.asarray(missing)

    def _problem(self, value: str) -> str:
        has = f"column {shown(self.column.name)} has {shown(value)}"
        if self.column.kind == "numeric":
            comma = self.column.decimal == "." and re.fullmatch(COMMA, value)
            more = ', or write decimal: "," in the schema' if comma else ""
            return f"{has}, which is no number; mend it, or add it to the missing values{more}"
        same = [each for each in self.column.categories if alike(each) == alike(value)]
        if same:
            return (
                f"{has}, which is the category {shown(same[0])} but for spaces, capitals or the "
                "form of accents; write it alike"
            )
        return (
            f"{has}, which is no category; mend it, or add it to the categories (now: "
            f"{listed(self.column.categories)})"
        )


class Coder(_Reader):
    """Turn the values of a `column` into codes of its attribute.

    A `DataError` is raised if the schema declares another type than `kind`, the type in the file.
    """

    def __init__(self, column: Column, kind: pa.DataType) -> None:
        super().__init__(column, kind)
        attribute = column.attribute()
        self._type, self._size = attribute.code_type, attribute.size
        # Two codes more: one for missing values without a category, one for invalid values.
        self._work = np.min_scalar_type(self._size + 1)
        own = column.missing.policy == "category"
        self._missing, self._unknown = self._size - 1 if own else self._size, self._size + 1

    def read(
        self, values: pa.Array, faults: ValidationErrors, where: str, first: int
    ) -> tuple[Codes, Flags | None]:
        """Return the codes of `values`, and the records to leave out, None for none.

        Errors go to `faults`, for records of the file `where`; the codes are then meaningless. The
        first value belongs to the record number `first`, counted from 0.
        """
        at = faults, where, first
        if self.column.kind == "numeric" and is_number(self._kind):
            return self._of_numbers(values, at)
        values = encoded(values)
        table = self._table(values.dictionary)
        indices = values.indices
        if indices.null_count:
            indices = indices.fill_null(len(table) - 1)
        codes = pc.take(pa.array(table), indices, boundscheck=False).to_numpy(zero_copy_only=False)
        left_out = None
        if int(table.max()) >= self._size:
            flags = codes == self._unknown, codes == self._missing
            left_out = self._left_out(*flags, np.asarray(indices), values.dictionary, at)
        return codes.astype(self._type, copy=False), left_out

    def _table(self, dictionary: pa.Array) -> Codes:
        """Return the code of each value of a dictionary, and last the code of null."""
        if is_text(dictionary.type):
            dictionary = dictionary.cast(pa.string())
        if self.column.kind == "numeric":
            numbers = numbers_of(dictionary, self.column.decimal)
            codes = np.where(np.isfinite(numbers), self._nearest(numbers), self._unknown)
        else:
            found = pc.index_in(dictionary, value_set=self._values)
            codes = np.asarray(found.fill_null(self._unknown))
        codes = np.where(self._is_missing(dictionary), self._missing, codes)
        return np.append(codes, self._missing).astype(self._work)

    @cached_property
    def _values(self) -> pa.Array:
        texts = pa.array(self.column.categories, pa.string())
        return texts if self.column.type is None else texts.cast(type_named(self.column.type))

    def _nearest(self, numbers: Floats) -> Floats:
        """Return the number of the nearest point of the grid; numbers beyond an end get the end."""
        points = self.column.points
        with np.errstate(over="ignore", invalid="ignore"):
            places = np.rint((numbers - points[0]) / (self.column.step or 1.0))
        return np.asarray(np.clip(places, 0, len(points) - 1))

    def _of_numbers(
        self, values: pa.Array, at: tuple[ValidationErrors, str, int]
    ) -> tuple[Codes, Flags | None]:
        if pa.types.is_dictionary(values.type):
            values = values.dictionary_decode()
        if len(self._means_missing):
            values = pc.if_else(pc.is_in(values, value_set=self._means_missing), None, values)
        floats = values.cast(pa.float64(), safe=False)
        missing = np.asarray(floats.is_null(nan_is_null=True))
        numbers = floats.fill_null(np.nan).to_numpy(zero_copy_only=False)
        places = self._nearest(numbers)
        flagged = ~np.isfinite(numbers)
        left_out = None
        if flagged.any():
            unknown = flagged & ~missing
            infinities, indices = pa.array(["inf", "-inf"]), (numbers < 0).astype(np.int32)
            places = np.where(missing, self._missing, np.where(unknown, self._unknown, places))
            left_out = self._left_out(unknown, missing, indices, infinities, at)
        return places.astype(self._work).astype(self._type, copy=False), left_out


class NumberReader(_Reader):
    """Read the numbers of a numeric `column` without a grid, also outside its bounds.

    For `kind` see `Coder`.
    """

    def read(
        self, values: pa.Array, faults: ValidationErrors, where: str, first: int
    ) -> tuple[Floats, Flags | None]:
        """Return the numbers of `values`, and the records to leave out, None for none.

        For `faults`, `where` and `first` see `Coder.read`.
        """
        values = encoded(values)
        dictionary = values.dictionary.cast(self._kind)
        known = weights_of(dictionary, self.column.decimal)
        indices = np.asarray(values.indices.fill_null(len(known)))
        numbers = np.append(known, np.nan)[indices]
        missing = np.append(self._is_missing(dictionary), True)[indices]
        unknown, texts = ~(np.isfinite(numbers) | missing), dictionary.cast(pa.string())
        return numbers, self._left_out(unknown, missing, indices, texts, (faults, where, first))


def weights_of(values: pa.Array, decimal: str) -> Floats:
    """Return `values` of any type of numbers or of text as doubles, NaN if they are not numbers.

    For `decimal` see `numbers_of`.
    """
    if is_text(values.type):
        return numbers_of(values.cast(pa.string()), decimal)
    floats = values.cast(pa.float64(), safe=False)
    return np.asarray(floats.fill_null(np.nan).to_numpy(zero_copy_only=False))


def numbers_of(texts: pa.Array, decimal: str = ".") -> Floats:
    """Return the numbers in `texts`, NaN if they are not numbers, infinity beyond doubles.

    `decimal`, a point or a comma, stands before decimals; there are no other separators.

    Examples
    --------
    >>> numbers_of(pa.array(["1", "2,5", "2.5", "0x10", None]), ",").tolist()
    [1.0, 2.5, nan, nan, nan]
    """
    pattern = NUMBER if decimal == "." else NUMBER.replace(r"\.", decimal)
    legible = pc.match_substring_regex(texts, pattern)
    kept = pc.utf8_ltrim(pc.utf8_trim_whitespace(pc.if_else(legible, texts, None)), "+")
    if decimal != ".":
        kept = pc.replace_substring(kept, decimal, ".")
    return np.asarray(kept.cast(pa.float64()).fill_null(np.nan).to_numpy(zero_copy_only=False))
