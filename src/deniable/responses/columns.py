"""The columns of a protected file: randomized values as texts and as typed values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from deniable import channels
from deniable.randomized_response import Protocol
from deniable.records import Attribute, Microdata
from deniable.schema import Column, Schema, number_text, type_named


@dataclass(frozen=True, eq=False)
class ResponseColumn:
    """A randomized column of a protected file; the `name` of a cluster is joined by " x "."""

    name: str
    texts: tuple[str, ...]  # randomized values by code, in the form of a CSV file
    values: pa.Array  # the same values in the type of the column; null is a missing value

    @property
    def code_type(self) -> np.dtype[Any]:
        """The smallest unsigned integer type that holds all codes."""
        return np.dtype(np.min_scalar_type(len(self.texts) - 1))


def response_columns(schema: Schema, protocol: Protocol) -> tuple[ResponseColumn, ...]:
    """Return the columns of the protected file of a `protocol`, in the order of the `schema`."""
    cluster_of = {name: cluster for cluster in protocol.clusters for name in cluster}
    found = {}
    for name in schema.domain().names:
        cluster = cluster_of[name]
        channel, reported = protocol.channel_of(cluster), protocol.reported_as(cluster)
        # A cluster of values that are not categories has one column.
        attribute = reported.attributes[0] if len(reported) == 1 else reported[name]
        found[attribute.name] = _reported(schema[name], attribute, channel)
    return tuple(found.values())


def category_columns(schema: Schema) -> tuple[ResponseColumn, ...]:
    """Return the randomized columns of a `schema` with the categories of the original file."""
    return tuple(_typed(each, each.attribute().categories) for each in schema.randomized)


class ProtectedFormat:
    """The columns of a protected file, in the order and with the types of the original file.

    The `columns` are the randomized columns of the `schema`; `passed` are the names of columns that
    are released without randomization.
    """

    def __init__(
        self, schema: Schema, columns: Sequence[ResponseColumn], passed: Sequence[str]
    ) -> None:
        self.schema, self.columns, self.passed = schema, tuple(columns), tuple(passed)
        self.as_text = schema.file.protected.kind == "csv"
        self._values: dict[str, pa.Array] = {
            each.name: pa.array(each.texts, pa.string()) if self.as_text else each.values
            for each in self.columns
        }
        self.names: list[str] = []
        for column in schema.columns:
            if column.name in self._values or column.name in self.passed:
                self.names.append(column.name)
            else:  # a cluster has the place of its first column
                self.names += (name for name in self._values if name.split(" x ")[0] == column.name)

    def table(self, reports: Microdata, passed: Mapping[str, pa.Array]) -> pa.Table:
        """Return a batch as a table: randomized values, `reports`, and the `passed` columns."""
        arrays = [
            self._passed_on(passed[name])
            if name in passed
            else _coded(self._values[name], reports.column(name))
            for name in self.names
        ]
        return pa.table(arrays, names=self.names)

    def _passed_on(self, values: pa.Array) -> pa.Array:
        if self.as_text:
            return values.cast(pa.string())
        # The buffer of a null can contain an original value; `take` removes it.
        return values.take(pa.array(np.arange(len(values))))


def _coded(values: pa.Array, codes: Any) -> pa.Array:
    if not pa.types.is_string(values.type) or values.null_count:
        return values.take(pa.array(codes))
    return pa.DictionaryArray.from_arrays(pa.array(codes), values)


def _reported(column: Column, attribute: Attribute, channel: channels.Channel) -> ResponseColumn:
    """Return the column of a channel; a square wave has points beyond the grid of the column."""
    if column.on_grid:
        if isinstance(channel, channels.SquareWave):
            return _typed(column, _wider_points(column, channel.half_width))
        if isinstance(channel, channels.SquareWaveOrMissing):
            return _typed(column, (*_wider_points(column, channel.half_width), str(column.absent)))
    if not channel.returns_categories:
        texts = attribute.categories
        return ResponseColumn(attribute.name, texts, pa.array(texts, pa.string()))
    return _typed(column, attribute.categories)


def _typed(column: Column, texts: Sequence[str]) -> ResponseColumn:
    named = [None if each == column.absent else each for each in texts]
    values = pa.array(named, pa.string())
    if column.on_grid:
        values = values.cast(pa.float64())
    if column.response_type is not None:
        values = values.cast(type_named(column.response_type))
    if column.on_grid:
        named = [each and each.replace(".", column.decimal) for each in named]
    # A code such as -9 or 99 may also be a point; then two values would have the same text.
    missing = next(each for each in (*column.missing.values, "") if each not in named)
    in_csv = tuple(missing if each is None else each for each in named)
    return ResponseColumn(column.name, in_csv, values)


def _wider_points(column: Column, more: int) -> tuple[str, ...]:
    assert column.bounds is not None
    low, step = Fraction(repr(column.bounds[0])), Fraction(repr(column.step))
    number = len(column.points)
    return tuple(number_text(float(low + each * step)) for each in range(-more, number + more))


def holds_wider_points(column: Column) -> bool:
    """Return whether the type of a numeric `column` can hold all values of a square wave."""
    if column.type is None:
        return True
    texts = _wider_points(column, -(-len(column.points) // 2))  # the widest window
    kind = type_named(column.type)
    try:
        values = pa.array(texts, pa.string()).cast(pa.float64()).cast(kind)
    except pa.ArrowException:
        return False
    return len(values.unique()) == len(texts)
