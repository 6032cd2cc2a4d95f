"""A column of a file of records: its categories or numbers, and its missing values."""

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Literal, Self

import numpy as np
import pyarrow as pa
from pydantic import Field, model_validator

from deniable.arrays import Floats
from deniable.errors import DataError, shown
from deniable.records import Attribute, Discretization
from deniable.schema.recodes import Recode
from deniable.schema.types import number_text, refuse_foreign_texts, type_named, unfit
from deniable.validation import Strict

MISSING = "(missing)"
"""The category of missing values, if they have one."""
NOT_APPLICABLE = "(not applicable)"
"""The category of a question that is asked only after some answers to others."""
MAX_POINTS = 100_000
MAX_PER_UNIT = 10_000

Text = Annotated[str, Field(min_length=1)]


class FileFormat(Strict):
    """The format of a file of a `kind`; text has a `delimiter` and an `encoding`.

    A file of ``transactions`` has one basket per line. `unknown_items` determines whether an item
    that is not in the schema is an error, or ignored.
    """

    kind: Literal["csv", "parquet", "arrow", "transactions", "spss", "stata"]
    delimiter: Annotated[str, Field(min_length=1, max_length=1)] | None = None
    encoding: Text | None = None
    unknown_items: Literal["refuse", "ignore"] = "refuse"

    @property
    def protected(self) -> "FileFormat":
        """The format of the protected file: Parquet for baskets, CSV for SPSS and Stata."""
        if self.kind in ("spss", "stata"):
            return FileFormat(kind="csv", delimiter=",", encoding="utf-8")
        return FileFormat(kind="parquet") if self.kind == "transactions" else self


class Missing(Strict):
    """The missing values of a column, besides empty ones, and their treatment.

    `values` are texts that mean a missing value; in a typed column, the text of such values. With
    the `policy` ``category`` they are a category. With ``drop`` their records are left out, which a
    plan must accept. With ``refuse`` they are errors.
    """

    values: list[str] = Field(default_factory=lambda: [""])
    policy: Literal["category", "drop", "refuse"] = "refuse"


class Column(Strict):
    """A column with a `name`.

    Channels randomize ``categorical`` and ``numeric`` columns. A column of `kind` ``identifier`` or
    ``weight`` is released unchanged, if a plan accepts it. A ``left_out`` column is never released,
    nor is a ``unit``. It names the household or person with up to `records_per_unit` records, and
    the `excess` over them is refused, or limited by random numbers that do not depend on values.
    The `status` of categories, or of bounds and step, is ``drafted`` from the records, or
    ``declared`` without them. `type` is Arrow's name of the type of values other than text.

    The `categories` are texts of the values, in order if they are `ordered`. A numeric column has
    `bounds` or `edges`, which must be public. The bounds are the smallest and the largest value.
    The `step`, above 0, defines the public grid low, low + step, ..., high. A value counts at the
    nearest point, and a value halfway between two points at the higher one. Without a step, numbers
    can be masked but not randomized.

    The `edges`, with `open_below` and `open_above`, form ordered intervals, at least two, which are
    randomized; see `deniable.Discretization`. The last edge belongs to the last interval. Values
    beyond the `limits` count at the nearest point or in the nearest interval. The decimal mark of
    numbers in text is `decimal`. For `missing` see `Missing`. With a `recode`, `type` and missing
    values are as in the file, and categories and bounds as after recoding.

    Weights may have `classes`, from each edge to below the next, the last with its end. A weight is
    released as the middle of its class.

    A question is `asked_if` each column named there has one of the categories listed. In all other
    records it has no value, and counts as ``(not applicable)``.
    """

    name: Text
    kind: Literal["categorical", "numeric", "weight", "identifier", "unit", "left_out"]
    status: Literal["drafted", "declared"] = "declared"
    type: Text | None = None
    categories: list[str] = Field(default_factory=list)
    ordered: bool = False
    bounds: Annotated[list[float], Field(min_length=2, max_length=2)] | None = None
    step: Annotated[float, Field(gt=0)] | None = None
    edges: list[float] | None = None
    open_below: bool = False
    open_above: bool = False
    decimal: Literal[".", ","] = "."
    missing: Missing = Field(default_factory=Missing)
    recode: Recode | None = None
    classes: Annotated[list[float], Field(min_length=2)] | None = None
    asked_if: dict[str, list[str]] = Field(default_factory=dict)
    records_per_unit: Annotated[int, Field(ge=1, le=MAX_PER_UNIT)] | None = None
    excess: Literal["refuse", "limit"] = "refuse"

    @model_validator(mode="after")
    def _whole(self) -> Self:
        for wrong, options, allowed in self._rules():
            if wrong:
                raise ValueError(f"{options} of {self.name!r}; allowed{allowed}")
        for what, text in (("name", self.name), *(("category", each) for each in self.categories)):
            if fault := unfit(text):
                raise ValueError(
                    f"{what} {shown(text)} {fault}; allowed: at most 255 bytes, and no control "
                    "characters"
                )
        for each, times in Counter(self.categories).items():
            if times > 1 or each in (MISSING, self.absent):
                other = "another name; this one is for missing values"
                allowed = "each once" if times > 1 else other
                raise ValueError(f"category {each!r} of {self.name!r}; allowed: {allowed}")
            if each in self.missing.values:
                raise ValueError(
                    f"{each!r} of {self.name!r} is a category and a missing value; allowed: one"
                )
        if self.recode is not None:
            self._refuse_bad_recode(self.recode)
        if self.type is not None and self.randomized and not self.recoded_to_text:
            texts = list(map(number_text, self.points)) if self.on_grid else self.categories
            numeric, absent = self.kind == "numeric", self.missing.values
            refuse_foreign_texts(self.name, self.type, texts, absent, numeric=numeric)
        return self

    def _rules(self) -> Iterator[tuple[bool, str, str]]:
        """Yield for each rule whether it is broken, the options concerned, and what is allowed."""
        kind, numeric, unit = self.kind, self.kind == "numeric", self.kind == "unit"
        categorical, bounds = self.kind == "categorical", self.bounds
        own = "at least one" if categorical else "none"
        yield bool(self.categories) != categorical, "categories", f" for {kind}: {own}"
        alone = self.step is not None and bounds is None
        wrong = alone or (bounds is not None) + (self.edges is not None) != numeric
        own = "bounds, bounds and step, or edges" if numeric else "none"
        yield wrong, "bounds, step or edges", f" for {kind}: {own}"
        opened = self.open_below or self.open_above
        yield opened and self.edges is None, "open_below or open_above", ": with edges"
        one = self.intervals is not None and self.intervals.attribute.size == 1
        yield one, "edges", ": of at least two intervals"
        wrong = (self.records_per_unit is not None) != unit or (self.excess == "limit" and not unit)
        own = "records_per_unit, a whole number, and excess" if unit else "neither"
        yield wrong, "records_per_unit or excess", f" for {kind}: {own}"
        wrong = not self.randomized or self.continuous or self.missing.policy == "drop"
        own = "for categories, a grid or edges"
        policies = "the policy refuse or category for missing values"
        yield bool(self.asked_if) and wrong, "asked_if", f": {own}, with {policies}"
        yield self.ordered and not categorical, "ordered", ": of categories"
        wrong = self.decimal == "," and (kind not in ("numeric", "weight") or self.type is not None)
        yield wrong, "decimal", ": of numbers and weights in text"
        edges = np.array(self.classes or [0, 1])
        rising = np.isfinite(edges).all() and edges[0] >= 0 and (np.diff(edges) > 0).all()
        wrong = not rising or (self.classes is not None and kind != "weight")
        yield wrong, "classes", ": of a weight, increasing edges from 0"
        if bounds is None:
            return
        wrong = not all(np.isfinite([*bounds, self.step or 1.0])) or bounds[0] >= bounds[1]
        yield wrong, f"bounds {bounds}", ": finite, the lower one first"
        if self.step is None:
            wrong = self.missing.policy == "category"
            yield wrong, "missing values", " without a step: drop or refuse"
            return
        yield (
            self._steps.denominator != 1 or self._steps >= MAX_POINTS,
            f"step {self.step:g}",
            f": such that a whole number of steps, below {MAX_POINTS:,}, leads from {bounds[0]:g} "
            f"to {bounds[1]:g}",
        )

    @property
    def values_of_classes(self) -> list[float]:
        """The value of each class of weights, its middle."""
        return [(low + high) / 2 for low, high in pairwise(self.classes or [])]

    def _refuse_bad_recode(self, recode: Recode) -> None:
        """Raise `ValueError` if the `recode` is not one of this column."""
        if not (self.kind == "categorical" or (self.kind == "numeric" and not recode.as_text)):
            raise ValueError(
                f"recode of {self.name!r}, which is {self.kind}; allowed: of categories, and top "
                "and bottom without a category of numbers"
            )
        for each in recode.targets if self.categories else ():
            if each not in self.categories:
                raise ValueError(
                    f"recode of {self.name!r} leads to {shown(each)}; allowed: to categories of "
                    "the column"
                )
        for each in recode.new_values:
            if each in self.missing.values:
                raise ValueError(
                    f"{each!r} of {self.name!r} is recoded and a missing value; allowed: one"
                )
        if self.type is not None:
            recode.refuse_type(self.name, self.type, self.categories, self.missing.values)

    @property
    def _steps(self) -> Fraction:
        low, high, step = (Fraction(repr(each)) for each in (*(self.bounds or ()), self.step))
        return (high - low) / step

    @property
    def randomized(self) -> bool:
        """Whether a channel randomizes the values."""
        return self.kind in ("categorical", "numeric")

    @property
    def continuous(self) -> bool:
        """Whether values are numbers without a grid and without intervals."""
        return self.kind == "numeric" and self.step is None and self.edges is None

    @property
    def on_grid(self) -> bool:
        """Whether values are points of a grid."""
        return self.step is not None

    @property
    def whole(self) -> bool:
        """Whether all numbers are whole, by their type, or by a grid of step 1 and whole bounds."""
        if self.type is not None and pa.types.is_integer(type_named(self.type)):
            return True
        return self.step == 1 and all(each.is_integer() for each in self.limits)

    @property
    def response_type(self) -> str | None:
        """Arrow's name of the type of randomized values; None for text, such as intervals."""
        return None if self.edges is not None or self.recoded_to_text else self.type

    @property
    def recoded_to_text(self) -> bool:
        """Whether a recode turns values of any type into text."""
        return self.recode is not None and self.recode.as_text

    @property
    def released(self) -> "Column":
        """The column of a file that is already recoded, such as a protected one."""
        if self.recode is None:
            return self
        return self.model_copy(update={"recode": None, "type": self.response_type})

    @cached_property
    def intervals(self) -> Discretization | None:
        """The intervals between the edges; None without edges."""
        if self.edges is None:
            return None
        return Discretization(self.name, tuple(self.edges), self.open_below, self.open_above)

    @property
    def limits(self) -> tuple[float, float]:
        """The smallest and the largest number that is not moved; infinite for an open end."""
        ends = self.edges or self.bounds or (-np.inf, np.inf)
        return -np.inf if self.open_below else ends[0], np.inf if self.open_above else ends[-1]

    @cached_property
    def boundaries(self) -> Floats:
        """Increasing numbers from which on a value counts one point or one interval higher."""
        if self.edges is not None:
            last = len(self.edges) if self.open_above else -1
            return np.array(self.edges[0 if self.open_below else 1 : last])
        return self._grid(Fraction(1, 2))[:-1]

    @cached_property
    def points(self) -> Floats:
        """Points of the grid of numbers, in increasing order."""
        if self.continuous:
            raise DataError(
                f"column {self.name!r} has bounds without a step, so no channel can randomize it; "
                "give a step in the schema, or mask its numbers by a plan of kind masked"
            )
        return self._grid(Fraction(0))

    def _grid(self, first: Fraction) -> Floats:
        if self.bounds is None or self.step is None:
            raise DataError(f"column {self.name!r} is {self.kind} and has no grid")
        low, step = Fraction(repr(self.bounds[0])), Fraction(repr(self.step))
        return np.array([float(low + (first + n) * step) for n in range(int(self._steps) + 1)])

    @property
    def absent(self) -> str | None:
        """The category of records without a value; None if there is none."""
        if self.missing.policy == "category":
            return MISSING
        return NOT_APPLICABLE if self.asked_if else None

    def attribute(self) -> Attribute:
        """Return the attribute to randomize.

        It has the categories, intervals or points, and then `absent`, if there is one.
        """
        names: Sequence[str] = self.categories
        if self.intervals is not None:
            names = self.intervals.attribute.categories
        elif self.kind == "numeric":
            names = [number_text(each) for each in self.points]
        more = () if self.absent is None else (self.absent,)
        ordinal = self.kind == "numeric" or self.ordered
        return Attribute(self.name, (*names, *more), "ordinal" if ordinal else "nominal")
