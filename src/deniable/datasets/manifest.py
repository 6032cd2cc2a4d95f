"""The manifest of data sets: the published files and the attributes to read."""

import math
import re
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import AfterValidator, Field, ValidationError, model_validator

from deniable.errors import DataError, shown
from deniable.records import Attribute, Discretization, Domain
from deniable.validation import LONGEST_NAME, Strict, fault_lines, read_yaml


def _holding(words: str, holds: Callable[[Any], object] = bool) -> AfterValidator:
    """Return a validator for values that `holds` accepts; `words` describe them in messages."""

    def refuse(value: Any) -> Any:
        if not holds(value):
            given = [*value] if isinstance(value, tuple) else value
            raise ValueError(f"{shown(given, 80)}; allowed: {words}")
        return value

    return AfterValidator(refuse)


def _stays_inside(path: str) -> bool:
    parts = PurePosixPath(path)
    return (
        not parts.is_absolute()
        and ".." not in parts.parts
        and bool(parts.name.strip())
        and path.isprintable()
        and all(len(part.encode()) <= LONGEST_NAME for part in parts.parts)
    )


Text = Annotated[str, _holding("text that is not empty", str.strip)]
Trimmed = Annotated[
    str, _holding("text without white space around it", lambda text: text and text == text.strip())
]
Position = Annotated[int, Field(ge=0)]
Number = Annotated[float, _holding("a finite number", math.isfinite)]
Edge = Annotated[
    float, _holding("a finite number (an open end is open_below or open_above)", math.isfinite)
]
FileName = Annotated[
    str,
    _holding("a file name without a folder", lambda name: "/" not in name and _stays_inside(name)),
]
InnerPath = Annotated[str, _holding("a path within the manifest's folder", _stays_inside)]
Address = Annotated[str, _holding("an http or https address", re.compile("https?://").match)]
Sha256 = Annotated[
    str,
    _holding(
        "64 hexadecimal digits in small letters, in quotes", re.compile("[0-9a-f]{64}").fullmatch
    ),
]
Delimiter = Annotated[
    str, _holding("one ASCII character in quotes", lambda text: len(text) == 1 and text.isascii())
]
Item = TypeVar("Item")
# Lists in YAML, tuples here; their elements stay strict.
AnyNumber = Annotated[tuple[Item, ...], Field(strict=False)]
Some = Annotated[AnyNumber[Item], _holding("a list that is not empty")]
Increasing = _holding("numbers that increase", lambda values: sorted(set(values)) == list(values))
Bounds = Annotated[
    tuple[Number, Number],
    Field(strict=False),
    _holding("[lower, upper], the first below the second", lambda ends: ends[0] < ends[1]),
]
Different = _holding("two or more different texts", lambda texts: 1 < len(texts) == len(set(texts)))


class _Column(Strict):
    name: Text
    position: Position | None = None


class _Coded(_Column):
    categories: Some[Trimmed] = ()
    scale: Literal["nominal", "ordinal"] = "nominal"
    edges: Some[Edge] = ()
    open_below: bool = False
    open_above: bool = False

    @model_validator(mode="after")
    def _of_one_kind(self) -> Self:
        if not self.edges and not self.categories:
            raise ValueError(
                "neither categories nor edges given; allowed: categories as a list of texts in "
                "quotes, or for numbers the edges of intervals"
            )
        other = ("categories", "scale") if self.edges else ("open_below", "open_above")
        for key in self.model_fields_set.intersection(other):
            kind = "edges" if self.edges else "categories"
            raise ValueError(f"{key} is not used together with {kind}; remove it")
        _ = self.attribute  # raises an error if the values form no attribute
        return self

    @cached_property
    def discretization(self) -> Discretization | None:
        ends = (self.open_below, self.open_above)
        return Discretization(self.name, self.edges, *ends) if self.edges else None

    @cached_property
    def attribute(self) -> Attribute:
        if self.discretization is not None:
            return self.discretization.attribute
        return Attribute(self.name, self.categories, self.scale)


class _Measurement(_Column):
    bounds: Bounds | None = None


class ClassAttribute(_Column):
    """The attribute that classifies records.

    If the file has numbers, `at_most` are the upper ends of all `classes` but the last. Without
    `at_most` the file has the names of classes. A file without a header needs a `position`, from 0.
    """

    classes: Annotated[AnyNumber[Trimmed], Different]
    at_most: Annotated[AnyNumber[Number], Increasing] = ()

    @model_validator(mode="after")
    def _ends_of_all_but_the_last(self) -> Self:
        if "at_most" in self.model_fields_set and len(self.at_most) != len(self.classes) - 1:
            raise ValueError(
                f"at_most is {[*self.at_most]!r:.80}; allowed: one number fewer than the "
                f"{len(self.classes)} classes, because the last class has no upper end"
            )
        return self


class PublishedFile(Strict):
    """A published file with a `title`, a `citation` of its source, and its `file` name.

    The `address` is public, http or https. A file with another digest than `sha256` is refused. The
    file has so many `records`, at least 1. The `delimiter` is empty unless the file is CSV. If
    `header`, the first line names the columns, and attributes are found by name. The `surrogate` is
    the path of its parameters, relative to the manifest's folder. A download has at most so many
    `bytes`, by default 200 million.
    """

    title: Text
    citation: Text
    file: FileName
    address: Address
    sha256: Sha256
    records: Annotated[int, Field(ge=1)]
    surrogate: InnerPath
    bytes: Annotated[int, Field(ge=1)] | None = None
    delimiter: Delimiter = ""
    header: bool = True
    _name: str = ""

    def model_post_init(self, context: Any, /) -> None:
        """Set the name to the `context`, which `load_manifest` gives."""
        self._name = context or ""

    @property
    def name(self) -> str:
        """The entry's key in the manifest."""
        return self._name

    @property
    def columns(self) -> Mapping[str, _Column]:
        """The columns to read, by the key in the manifest."""
        raise NotImplementedError

    @property
    def positions(self) -> tuple[int, ...]:
        """0-based column of each attribute, the class last; empty if there is a header."""
        found = (column.position for column in self.columns.values())
        return tuple(position for position in found if position is not None)

    @model_validator(mode="after")
    def _columns_differ(self) -> Self:
        seen: dict[Any, str] = {}
        for place, column in self.columns.items():
            if self.header != (column.position is None):
                unused = "not used here; remove it: the header finds columns by name"
                missing = "missing; it must be given, the column from 0"
                raise ValueError(f"{place}.position: {unused if self.header else missing}")
            for key in ("name", *([] if self.header else ["position"])):
                taken = seen.setdefault((key, value := getattr(column, key)), place)
                if taken != place:
                    raise ValueError(f"{place}.{key}: {value!r} is taken by {taken}; give another")
        return self


class Dataset(PublishedFile):
    """A published file with categorical attributes, given by categories or intervals.

    For `title`, `citation`, `file`, `address`, `sha256`, `records`, `surrogate`, `bytes`,
    `delimiter` and `header` see `PublishedFile`; the last two must be given.
    """

    delimiter: Delimiter
    header: bool
    attributes: Some[_Coded]

    @property
    def columns(self) -> Mapping[str, _Column]:
        return {f"attributes[{i}]": each for i, each in enumerate(self.attributes)}

    @property
    def domain(self) -> Domain:
        """The attributes to read."""
        return Domain(tuple(each.attribute for each in self.attributes))


class NumericDataset(PublishedFile):
    """A published file with numeric attributes, and a class if there is one.

    The `format` is "csv" or "rda". An rda file (R data) has one data frame with named columns. For
    `title`, `citation`, `file`, `address`, `sha256`, `records`, `surrogate`, `bytes`, `delimiter`
    and `header` see `PublishedFile`. A csv file must have the last two; an rda file has neither.

    Each of `numeric_attributes` has a name, a position (from 0) if the file has no header, and
    public bounds, if known. `class_attribute` is the key `class` in the manifest.
    """

    format: Literal["csv", "rda"] = "csv"
    numeric_attributes: Some[_Measurement]
    class_attribute: ClassAttribute | None = Field(None, alias="class")

    @model_validator(mode="after")
    def _fits_its_format(self) -> Self:
        for key in ("delimiter", "header"):
            if (given := key in self.model_fields_set) == (self.format == "rda"):
                unused = "not used here; remove it: an R data frame has none"
                raise ValueError(f"{key}: {unused if given else 'missing; it must be given'}")
        return self

    @property
    def columns(self) -> Mapping[str, _Column]:
        numbers = {f"numeric_attributes[{i}]": x for i, x in enumerate(self.numeric_attributes)}
        return numbers | ({"class": self.class_attribute} if self.class_attribute else {})

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the numeric attributes."""
        return tuple(each.name for each in self.numeric_attributes)

    @property
    def bounds(self) -> dict[str, tuple[float, float]]:
        """Public bounds (lower, upper) by attribute; with them, noise does not use the records."""
        return {each.name: each.bounds for each in self.numeric_attributes if each.bounds}


AnyDataset = Dataset | NumericDataset


def load_manifest(path: Path | str) -> dict[str, AnyDataset]:
    """Read the manifest of data sets, a YAML file at `path`; return the data sets by name.

    A data set with the key `attributes` is categorical, one with `numeric_attributes` is numeric.
    Raises `DataError` if the file cannot be read, or has errors. The message has one line for each
    error, with file, data set, key, value and allowed values.
    """
    file = Path(path)
    entries = read_yaml(file)
    if not isinstance(entries, dict) or not entries:
        raise DataError(f"{file}: no data sets; give each a name with its keys below it")
    datasets: dict[str, AnyDataset] = {}
    for name, entry in entries.items():
        where = f"{file}: dataset {shown(name)}"
        if not isinstance(name, str) or "/" in name or not _stays_inside(name):
            raise DataError(
                f"{where}: use a text that can name a file, of at most {LONGEST_NAME} bytes"
            )
        numbers = isinstance(entry, dict) and "numeric_attributes" in entry
        model: type[AnyDataset] = NumericDataset if numbers else Dataset
        try:
            dataset = model.model_validate(entry, context=name)
        except ValidationError as error:
            faults = fault_lines(error, model, "", {"tuple_type": "a list, such as [a, b]"})
            lines = (f"{where}: {line.removeprefix(': ')}" for line in faults)
            raise DataError("\n".join(lines)) from None
        for other in datasets.values():
            _refuse_contradiction(where, dataset, other)
        datasets[name] = dataset
    return datasets


def _refuse_contradiction(where: str, dataset: AnyDataset, other: AnyDataset) -> None:
    """Raise `DataError` if data sets contradict each other about a file, or share a surrogate."""
    if dataset.surrogate == other.surrogate:
        raise DataError(
            f"{where}: surrogate: {dataset.surrogate!r} is the surrogate of {other.name!r} too; "
            "give each data set a surrogate of its own"
        )
    if dataset.file != other.file:
        return
    for key in ("address", "sha256", "bytes", "records", "delimiter", "header"):
        here, there = getattr(dataset, key), getattr(other, key)
        if here != there:
            raise DataError(
                f"{where}: {key}: {here!r}, but {other.name!r}, of the same file "
                f"{dataset.file!r}, has {there!r}; make them equal, or name another file"
            )
