"""Public recodes: new values of a column, which replace the values of its file as it is read."""

from collections import Counter
from typing import Annotated, Any, Literal, Self

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field, model_validator

from deniable.schema.types import (
    is_number,
    is_text,
    number_text,
    refuse_foreign_texts,
    type_named,
    weights_of,
)
from deniable.validation import Strict

Text = Annotated[str, Field(min_length=1)]
Characters = Annotated[int, Field(ge=1)]
ISO_DATE = "%Y-%m-%d"
TIME_OF_DAY = r"[ T][0-9:.]+(Z|[+-][0-9:]+)?$"


class Limit(Strict):
    """A limit of numbers, `at`. Numbers at or beyond it become `at`, or the `category` if given."""

    at: Annotated[float, Field(allow_inf_nan=False)]
    category: Text | None = None

    @property
    def text(self) -> str:
        """The text of the new value."""
        return self.category or number_text(self.at)


class Recode(Strict):
    """New values of a column, which are public knowledge, as is the recode itself.

    `truncate` keeps the first characters of codes (their number), or the ``year``, ``quarter`` or
    ``month`` of dates: 2024, 2024-Q2 or 2024-05. Dates in text have the form 2024-05-31, maybe
    with a time. `groups` has the old values of each new category, and `mapping` the new category
    of each old value. After `truncate`, old values are the truncated ones. `top` and `bottom` are
    limits of numbers. Missing values are not recoded.
    """

    truncate: Literal["year", "quarter", "month"] | Characters | None = None
    groups: dict[Text, list[str]] = Field(default_factory=dict)
    mapping: dict[str, Text] = Field(default_factory=dict)
    top: Limit | None = None
    bottom: Limit | None = None

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        ways = bool(self.groups) + bool(self.mapping) + bool(self.limits)
        if ways > 1 or (self.truncate and self.limits) or not (ways or self.truncate):
            raise ValueError(
                "allowed: truncate, groups or mapping, or truncate before one of these; or top and "
                "bottom"
            )
        for old, times in Counter(old for olds in self.groups.values() for old in olds).items():
            if times > 1:
                raise ValueError(f"{old!r} is in groups twice; allowed: once")
        if self.top and self.bottom and self.top.at <= self.bottom.at:
            raise ValueError("top is not above bottom; give a larger number")
        return self

    @property
    def limits(self) -> tuple[Limit, ...]:
        """The limits of numbers."""
        return tuple(each for each in (self.bottom, self.top) if each is not None)

    @property
    def new_values(self) -> dict[str, str]:
        """The new category of each old value, by groups or mapping."""
        return self.mapping or {old: new for new, olds in self.groups.items() for old in olds}

    @property
    def targets(self) -> list[str]:
        """The new categories that the recode names, and texts of limits."""
        return [*dict.fromkeys(self.new_values.values()), *(each.text for each in self.limits)]

    @property
    def as_text(self) -> bool:
        """Whether new values are texts; otherwise they have the type of the file."""
        return not self.limits or any(each.category for each in self.limits)

    def apply(self, values: pa.Array, decimal: str = ".") -> pa.Array:
        """Return the new values of an array, null for values without one.

        The `values` are text, numbers, dates or boolean, and numbers in text have the `decimal`
        mark, a point or a comma.

        Examples
        --------
        >>> recode = Recode(truncate=1, groups={"north": ["1", "2"], "south": ["3"]})
        >>> recode.apply(pa.array(["2071", "30x", "9", None])).to_pylist()
        ['north', 'south', None, None]
        """
        if self.truncate is not None:
            values = _truncated(values, self.truncate)
        if new := self.new_values:
            olds = pa.array(list(new), pa.string()).cast(values.type)
            return pa.array(new.values(), pa.string()).take(pc.index_in(values, value_set=olds))
        if not self.limits:
            return values
        numbers = weights_of(values, decimal)
        values = values.cast(pa.string()) if self.as_text else values
        for limit in self.limits:
            beyond = numbers <= limit.at if limit is self.bottom else numbers >= limit.at
            text = limit.category or limit.text.replace(".", decimal)
            new_value = pa.array([text], pa.string()).cast(values.type)[0]
            values = pc.if_else(pa.array(beyond), new_value, values)
        return values

    def refuse_type(self, name: str, kind: str, categories: list[str], missing: list[str]) -> None:
        """Raise `DataError` if the recode cannot be of the column `name` of the type named `kind`.

        Its `categories` are as after recoding, and texts of `missing` values as in the file.
        """
        own, types = type_named(kind), pa.types
        dates = types.is_date(own) or types.is_timestamp(own)
        codes = isinstance(self.truncate, int)
        if self.truncate and not (types.is_integer(own) if codes else dates):
            allowed = "integers or text" if codes else "dates or text"
            raise ValueError(f"truncate of {name!r}, which has {kind}; allowed: of {allowed}")
        if self.limits and not is_number(own):
            raise ValueError(f"top or bottom of {name!r}, which has {kind}; allowed: of numbers")
        kept = [each for each in categories if each not in self.targets]
        olds = [] if self.truncate else [*self.new_values] or kept
        refuse_foreign_texts(name, kind, olds, missing, numeric=False)
        limits = [number_text(each.at) for each in self.limits]
        refuse_foreign_texts(name, kind, limits, [], numeric=bool(limits))

    def problem(self, categories: str) -> str:
        """Return the end of a message on a value that becomes none of the listed `categories`."""
        if self.new_values:
            way = "mapping" if self.mapping else "groups"
            return f"has no category in {way}; correct it, or add it to {way} or the missing values"
        way = f"truncate: {self.truncate}" if self.truncate else "top or bottom"
        dates = ", such as 2024-05-31" if isinstance(self.truncate, str) else ""
        return (
            f"becomes no category by {way}; correct it{dates}, or add it to the missing values, or "
            f"its new value to the categories (now: {categories})"
        )


def _truncated(values: pa.Array, unit: int | str) -> pa.Array:
    if isinstance(unit, int):
        return pc.utf8_slice_codeunits(values.cast(pa.string()), 0, unit)
    if is_text(values.type):
        texts = pc.replace_substring_regex(values, TIME_OF_DAY, "")
        days = pc.strptime(texts, format=ISO_DATE, unit="s", error_is_null=True)
        # Arrow reads 31 February as 2 March, and months of one digit.
        values = pc.if_else(pc.equal(pc.strftime(days, format=ISO_DATE), texts), days, None)
    year, parts = pc.year(values).cast(pa.string()), list[Any]()
    if unit == "quarter":
        parts = ["-Q", pc.quarter(values).cast(pa.string())]
    elif unit == "month":
        parts = ["-", pc.utf8_lpad(pc.month(values).cast(pa.string()), 2, "0")]
    return pc.binary_join_element_wise(year, *parts, "") if parts else year
