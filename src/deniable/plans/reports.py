"""What a protected file has in its columns: reports as texts, and as values of their types."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import pyarrow as pa

from deniable.channels import Channel, SquareWave, SquareWaveOrMissing
from deniable.plans.model import Plan
from deniable.randomized_response import reports_categories
from deniable.records import Attribute
from deniable.schema import MISSING, Column, number_text, type_named


@dataclass(frozen=True, eq=False)
class ReportedColumn:
    """A randomized column of a protected file.

    Parameters
    ----------
    name : str
        That of the column; of a cluster with other reports than cells, those of its columns.
    texts : tuple of str
        The reports in the order of their codes, as a CSV file has them.
    values : pyarrow.Array
        The same as values of the column's own type; null is a missing value.
    """

    name: str
    texts: tuple[str, ...]
    values: pa.Array


def reported_columns(plan: Plan) -> tuple[ReportedColumn, ...]:
    """Return the columns that a `plan` makes of the randomized ones, in the order of the file."""
    protocol = plan.protocol
    of = {
        name: (cluster, channel)
        for cluster, channel in zip(protocol.clusters, protocol.channels, strict=True)
        for name in cluster
    }
    found = {}
    for name in plan.schema.domain().names:
        cluster, channel = of[name]
        if len(cluster) > 1 and not reports_categories(channel):
            (attribute,) = protocol.reported_as(cluster)
            found[attribute.name] = _as_text(attribute)
        else:
            column = plan.schema[name]
            found[name] = _reported(column, protocol.reported_as(cluster)[name], channel)
    return tuple(found.values())


def _reported(column: Column, attribute: Attribute, channel: Channel) -> ReportedColumn:
    if isinstance(channel, SquareWave) and column.kind == "numeric":
        texts: Sequence[str] = _wider_points(column, channel.half_width)
    elif isinstance(channel, SquareWaveOrMissing) and column.kind == "numeric":
        texts = (*_wider_points(column, channel.half_width), MISSING)
    elif reports_categories(channel):
        texts = attribute.categories
    else:
        return _as_text(attribute)
    told = [None if each == MISSING else each for each in texts]
    values = pa.array(told, pa.string())
    if column.kind == "numeric":
        values = values.cast(pa.float64())
    if column.type is not None:
        values = values.cast(type_named(column.type))
    if column.kind == "numeric":
        told = [each and each.replace(".", column.decimal) for each in told]
    # A code such as -9 or 99 may be a point too, and then reports could not be told apart.
    missing = next(each for each in (*column.missing.values, "") if each not in told)
    return ReportedColumn(
        column.name, tuple(missing if each is None else each for each in told), values
    )


def _wider_points(column: Column, more: int) -> tuple[str, ...]:
    """Return the points of a grid with so many more at either end, as texts."""
    assert column.bounds is not None
    low, step = Fraction(repr(column.bounds[0])), Fraction(repr(column.step))
    number = len(column.points)
    return tuple(number_text(float(low + each * step)) for each in range(-more, number + more))


def holds_wider_points(column: Column) -> bool:
    """Return whether the type of a `column` of numbers holds what a square wave may report."""
    if column.type is None:
        return True
    texts = _wider_points(column, -(-len(column.points) // 2))  # no window is wider
    kind = type_named(column.type)
    try:
        values = pa.array(texts, pa.string()).cast(pa.float64()).cast(kind)
    except pa.ArrowException:
        return False
    return len(values.unique()) == len(texts)


def _as_text(attribute: Attribute) -> ReportedColumn:
    texts = attribute.categories
    return ReportedColumn(attribute.name, texts, pa.array(texts, pa.string()))
