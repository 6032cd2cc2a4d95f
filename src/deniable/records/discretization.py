"""Numeric attributes as ordinal ones, by edges that are stated in advance ([multirr], section 4).

Randomized response needs categories. The edges between them must be public knowledge: the ranges of
a questionnaire, or a range that anybody would expect. Edges taken from the original records
(quantiles, the smallest and the largest value) are published with the categories and reveal
information that no epsilon covers. Nothing here computes edges from data.
"""

from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from deniable.arrays import Codes
from deniable.errors import DataError, DeniableError
from deniable.records.domain import Attribute


@dataclass(frozen=True)
class Discretization:
    """Right-open intervals that a numeric attribute, `name`, falls into.

    The `edges` increase strictly; a value that equals an edge belongs to the interval above it.
    With `open_below` or `open_above` a further interval has all values below the first edge, or
    from the last one on. The intervals are the categories of the ordinal `attribute`. Raises
    `DeniableError` if edges are not finite or do not increase, or form no interval.

    Examples
    --------
    >>> age = Discretization("age", (17, 25, 65), open_above=True)
    >>> age.attribute.categories
    ('[17, 25)', '[25, 65)', '[65, inf)')
    >>> age.codes([17, 24.9, 25, 90])
    array([0, 0, 1, 2], dtype=uint8)
    """

    name: str
    edges: tuple[float, ...]
    open_below: bool = False
    open_above: bool = False
    attribute: Attribute = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        edges = tuple(float(edge) + 0.0 for edge in self.edges)  # + 0.0: no edge "-0"
        object.__setattr__(self, "edges", edges)
        if not np.all(np.isfinite(edges)):
            raise DeniableError(
                f"attribute {self.name!r} has the edges {edges}; edges are finite numbers, for an "
                "open end set open_below or open_above"
            )
        if len(edges) + self.open_below + self.open_above < 2 or not edges:
            raise DeniableError(
                f"attribute {self.name!r} has too few edges for an interval; give two, or one and "
                "an open end"
            )
        for lower, upper in pairwise(edges):
            if lower >= upper:
                raise DeniableError(
                    f"attribute {self.name!r} has the edge {_plain(upper)} after {_plain(lower)}; "
                    "edges must increase"
                )
        categories = tuple(
            f"{'(' if low == -np.inf else '['}{_plain(low)}, {_plain(high)})"
            for low, high in self._bounds
        )
        object.__setattr__(self, "attribute", Attribute(self.name, categories, "ordinal"))

    @cached_property
    def _bounds(self) -> list[tuple[float, float]]:
        low = [-np.inf] if self.open_below else []
        high = [np.inf] if self.open_above else []
        return list(pairwise([*low, *self.edges, *high]))

    def codes(self, values: npt.ArrayLike) -> Codes:
        """Return the code of the interval of each of `values`, shape (records,).

        Raises `DataError`, naming attribute, record (from 1), value and remedy, for the first value
        that is missing, infinite or in no interval.
        """
        numbers = np.asarray(values)
        if numbers.ndim != 1 or numbers.dtype.kind not in "iuf":
            raise DataError(
                f"attribute {self.name!r}: values to discretize are one row of numbers, not "
                f"{numbers.dtype} of shape {numbers.shape}; convert them first"
            )
        low, high = self._bounds[0][0], self._bounds[-1][1]
        # In this form NaN is refused too; infinity is, even where an end is open.
        inside = (numbers >= low) & (numbers < high) & np.isfinite(numbers)
        if np.all(inside):
            found = np.searchsorted(self.edges, numbers, side="right") - 1 + self.open_below
            return np.asarray(found.astype(self.attribute.code_type))
        record = int(np.flatnonzero(~inside)[0])
        value = float(numbers[record])
        if np.isnan(value):
            problem = "has no value (NaN); fill it in, or leave the record out"
        elif np.isinf(value):
            problem = f"has the value {value}; give a finite number, or leave the record out"
        else:
            side = "open_below" if value < low else "open_above"
            problem = (
                f"has the value {_plain(value)}, outside [{_plain(low)}, {_plain(high)}); correct "
                f"the value, extend the edges, or set {side}"
            )
        raise DataError(f"attribute {self.name!r}: record {record + 1} {problem}")


def _plain(number: float) -> str:
    return f"{number:.0f}" if abs(number) < 1e15 and number == int(number) else repr(number)
