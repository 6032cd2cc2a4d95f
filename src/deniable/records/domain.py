"""Attributes with their categories, and ordered products of them.

The edges of numeric attributes ([multirr], section 4) must be public and stated in advance.
Edges from the original records (quantiles, extremes) reveal information that no epsilon covers.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Literal

import numpy as np
import numpy.typing as npt

from deniable.arrays import Codes, Flags
from deniable.errors import DataError, DeniableError

Scale = Literal["nominal", "ordinal"]

MAX_RAVELLED_DOMAIN = 2**63 - 1
Rule = Mapping[str, Sequence[str]]
"""Impossible combinations, by attribute: no record has one of these categories in each of them."""


@dataclass(frozen=True)
class Attribute:
    """A categorical attribute.

    The `name` is not empty. The `categories`, at least one and all different, are in the order of
    their codes 0, 1, ...; from low to high if the `scale` is "ordinal", not "nominal".
    """

    name: str
    categories: tuple[str, ...]
    scale: Scale = "nominal"

    def __post_init__(self) -> None:
        if not self.name:
            raise DeniableError("an attribute has no name; give it one")
        if not self.categories:
            raise DeniableError(f"attribute {self.name!r} has no categories; list at least one")
        if len(set(self.categories)) < self.size:
            twice = next(each for each in self.categories if self.categories.count(each) > 1)
            problem = f"attribute {self.name!r} lists the category {twice!r} twice; keep one"
            raise DeniableError(problem)
        if self.scale not in ("nominal", "ordinal"):
            raise DeniableError(
                f"attribute {self.name!r} has the scale {self.scale!r}; use 'nominal' or 'ordinal'"
            )

    @property
    def size(self) -> int:
        """Number of categories."""
        return len(self.categories)

    @property
    def code_type(self) -> np.dtype[np.unsignedinteger]:
        """Smallest unsigned integer type that holds the codes."""
        return np.dtype(np.min_scalar_type(self.size - 1))

    def code_of(self, category: str) -> int:
        """Return the code of `category`; raise `DataError` if the attribute does not have it."""
        if category not in self.categories:
            raise DataError(
                f"attribute {self.name!r} has no category {category!r}; "
                f"it has {', '.join(map(repr, self.categories))}"
            )
        return self.categories.index(category)


@dataclass(frozen=True)
class Discretization:
    """Right-open intervals for the values of a numeric attribute, `name`.

    The `edges` increase strictly; a value that equals an edge belongs to the interval above it.
    With `open_below` a further interval contains all values below the first edge; with `open_above`
    one contains all values from the last edge on. The intervals are the categories of the ordinal
    `attribute`. Raises `DeniableError` for edges that are not finite, do not increase, or form no
    interval.

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
        edges = tuple(float(edge) + 0.0 for edge in self.edges)  # + 0.0 turns -0 into 0
        object.__setattr__(self, "edges", edges)
        if not np.all(np.isfinite(edges)):
            raise DeniableError(
                f"attribute {self.name!r} has the edges {edges}; edges are finite numbers; for an "
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
        return list(pairwise([*low, *self.edges, *([np.inf] if self.open_above else [])]))

    def codes(self, values: npt.ArrayLike) -> Codes:
        """Return the code of the interval of each of `values`, shape (records,).

        Raises `DataError` for the first value that is missing, infinite or in no interval, with
        attribute, record (from 1), value and remedy.
        """
        numbers = np.asarray(values)
        if numbers.ndim != 1 or numbers.dtype.kind not in "iuf":
            raise DataError(
                f"attribute {self.name!r}: values to discretize are numbers in one dimension, not "
                f"{numbers.dtype} of shape {numbers.shape}; convert them first"
            )
        low, high = self._bounds[0][0], self._bounds[-1][1]
        # This form also refuses NaN. Infinity is refused even if an end is open.
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


@dataclass(frozen=True)
class Domain:
    """An ordered product of `attributes`: at least one, with different names.

    Examples
    --------
    >>> sex = Attribute("sex", ("Female", "Male"))
    >>> income = Attribute("income", ("<=50K", ">50K"), "ordinal")
    >>> domain = Domain((sex, income))
    >>> domain.size, domain.shape, domain.project(["income"]).names
    (4, (2, 2), ('income',))
    """

    attributes: tuple[Attribute, ...]

    def __post_init__(self) -> None:
        if not self.attributes:
            raise DeniableError("a domain needs at least one attribute")
        if len(set(self.names)) < len(self.names):
            twice = next(name for name in self.names if self.names.count(name) > 1)
            raise DeniableError(f"the domain lists the attribute {twice!r} twice; keep one")

    def __iter__(self) -> Iterator[Attribute]:
        return iter(self.attributes)

    def __len__(self) -> int:
        return len(self.attributes)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the attributes, in order."""
        return tuple(attribute.name for attribute in self.attributes)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Number of categories of each attribute."""
        return tuple(attribute.size for attribute in self.attributes)

    @cached_property
    def size(self) -> int:
        """Number of cells, the product of the numbers of categories."""
        return math.prod(self.shape)

    def position(self, name: str) -> int:
        """Return the position of the attribute `name`, from 0; raise `DataError` if unknown."""
        if name not in self.names:
            text = f"there is no attribute {name!r}; there are {', '.join(map(repr, self.names))}"
            raise DataError(text)
        return self.names.index(name)

    def __getitem__(self, name: str) -> Attribute:
        return self.attributes[self.position(name)]

    def project(self, names: Sequence[str]) -> "Domain":
        """Return the domain of the attributes `names`, in this order."""
        return Domain(tuple(self[name] for name in names))

    def cell_labels(self) -> list[str]:
        """Return the names of the joint cells in tables, in the order of their codes."""
        return [
            " x ".join(a.categories[code] for a, code in zip(self, codes, strict=True))
            for codes in np.ndindex(*self.shape)
        ]

    def ravel(self, columns: Sequence[Codes]) -> npt.NDArray[np.int64]:
        """Return the codes of joint cells (row-major) of `columns`, one for each attribute.

        All columns have one shape, mostly (records,), and the result has it too. Raises
        `DeniableError` if columns and attributes do not match, if columns differ in length, if a
        code is outside its attribute, or if there are too many cells for 64-bit codes.
        """
        if len(columns) != len(self):
            raise DeniableError(f"{len(self)} attributes, but {len(columns)} columns of codes")
        if len(shapes := {np.shape(column) for column in columns}) > 1:
            raise DeniableError(f"columns differ in shape: {sorted(shapes)}")
        self._refuse_too_large()
        joint = np.zeros(np.shape(columns[0]), dtype=np.int64)
        for attribute, column in zip(self.attributes, columns, strict=True):
            codes = np.asarray(column)
            refuse_foreign_codes(codes, attribute.size, f"attribute {attribute.name!r}")
            joint *= attribute.size
            joint += codes.astype(np.int64)
        return joint

    def unravel(self, joint: Codes) -> tuple[Codes, ...]:
        """Return one column of codes for each attribute, from codes of `joint` cells.

        Columns have the shape of `joint`. Raises `DataError` for a code outside the domain, and
        `DeniableError` if there are too many cells for 64-bit codes.
        """
        self._refuse_too_large()
        codes = np.asarray(joint)
        refuse_foreign_codes(codes, self.size, "the joint cells")
        if len(self) == 1:
            return (codes.astype(self.attributes[0].code_type, copy=False),)
        columns = np.unravel_index(codes, self.shape)
        return tuple(
            column.astype(attribute.code_type)
            for attribute, column in zip(self.attributes, columns, strict=True)
        )

    def _refuse_too_large(self) -> None:
        if self.size > MAX_RAVELLED_DOMAIN:
            raise DeniableError(
                f"the {len(self)} attributes have {self.size:.3g} joint cells, too many for 64-bit "
                "codes; project the domain to fewer attributes first"
            )


def refuse_foreign_codes(codes: Codes, size: int, what: str) -> None:
    """Raise `DataError` unless `codes` are integers in 0 .. `size` - 1; the message has `what`."""
    if codes.dtype.kind not in "iu":
        problem = f"{what}: codes must be integers, not {codes.dtype}; encode the values first"
        raise DataError(problem)
    if codes.size and not 0 <= (least := int(codes.min())) <= (most := int(codes.max())) < size:
        worst = least if least < 0 else most
        raise DataError(f"{what}: the code {worst} is outside 0 .. {size - 1}; recode the values")


def connected(groups: Iterable[Iterable[str]]) -> list[tuple[str, ...]]:
    """Return `groups` of names, joined where they have a name in common.

    Examples
    --------
    >>> connected([("a", "b"), ("c",), ("b", "d")])
    [('c',), ('a', 'b', 'd')]
    """
    found: list[tuple[str, ...]] = []
    for group in groups:
        joined = [each for each in found if {*each} & {*group}]
        names = (name for each in (*joined, tuple(group)) for name in each)
        found = [*(each for each in found if each not in joined), tuple(dict.fromkeys(names))]
    return found


def possible_cells(part: Domain, rules: Sequence[Rule]) -> Flags | None:
    """Return flags of the possible cells of attributes, `part`; None if no `rules` concern them.

    Raises `DeniableError` if a rule is about some attributes of `part` and others, so that one
    channel must randomize all of them, or a category is in no possible cell.
    """
    if not (rules := [rule for rule in rules if {*rule} & {*part.names}]):
        return None
    possible = np.ones(part.shape, dtype=bool)
    for rule in rules:
        if not {*rule} <= {*part.names}:
            raise DeniableError(
                f"the schema has impossible combinations of {', '.join(rule)}, so one channel must "
                "randomize them together; make a plan of kind columns with an epsilon"
            )
        codes = (map(each.code_of, rule.get(each.name, each.categories)) for each in part)
        possible[np.ix_(*map(list, codes))] = False
    for position, attribute in enumerate(part):
        others = tuple(axis for axis in range(len(part)) if axis != position)
        if not (there := possible.any(axis=others)).all():
            category = attribute.categories[int(there.argmin())]
            raise DeniableError(
                f"the category {category!r} of {attribute.name!r} is in no possible combination of "
                f"{', '.join(part.names)}; remove it, or correct impossible and asked_if"
            )
    return possible.reshape(-1)
