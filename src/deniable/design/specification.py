"""Read design requirements from a YAML file and report every error."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field, ValidationError

from deniable.arrays import Floats
from deniable.channels import Target, read_counts
from deniable.design.programs import Cost, EstimatorName, LossName, Requirements
from deniable.design.rectangular import Reports
from deniable.errors import ConfigError, DataError, DeniableError, plain, shown
from deniable.privacy import PrivacyOptions, Requirement
from deniable.texts import text_of
from deniable.validation import Strict, fault_lines, message, read_yaml

MANUAL = "docs/optimized-matrices.md describes every option"
_PAIR = "a forbidden transition is [true category, reported category]"
WORDS = {
    "dict_type": "a section, such as {a: 0.5, b: 0.2}",
    "string_type": "a category's name",
    "too_short": f"more entries; {_PAIR}",
    "too_long": f"fewer entries; {_PAIR}",
}
MAX_RECORDS = 2**53
SHARE_TOLERANCE = 1e-6  # for the sum of proportions that are written by hand


@dataclass(frozen=True, eq=False)
class Specification:
    """The arguments of `deniable.design.design`, and the names of the categories.

    `proportions`, `requirements`, `loss`, `estimator`, `target` and `reports` are arguments of
    `design`. `categories` are in the order of the proportions. `records`, for standard errors, is
    the size of the file or sample, by default the sum of given counts, or None. `requirement` is
    beta or breach, if it replaces epsilon.
    """

    categories: tuple[str, ...]
    proportions: Floats
    requirements: Requirements
    loss: LossName
    records: int | None = None
    estimator: EstimatorName | None = None
    target: Target | None = None
    reports: Reports = "square"
    requirement: Requirement | None = None


_Share = Annotated[float, Field(ge=0, le=1)]
_Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
_Name = Annotated[str, Field(min_length=1)]
_Floors = _Share | dict[_Name, _Share]


class _CostSection(Strict):
    power: Annotated[float, Field(gt=0, le=10)] | None = None
    matrix: list[list[_Amount]] | None = None
    at_most: _Amount | None = None


class _RequirementsSection(PrivacyOptions):
    epsilon: Annotated[float, Field(ge=0, le=30)] | None = None
    invariant: bool = False
    retention: _Floors | None = None
    change: _Floors | None = None
    forbidden: list[Annotated[list[_Name], Field(min_length=2, max_length=2)]] = Field(
        default_factory=list
    )
    allowed: dict[_Name, list[_Name]] | None = None
    cost: _CostSection | None = None


class _SpecificationFile(Strict):
    categories: Annotated[list[_Name], Field(min_length=1)] | None = None
    proportions: list[_Share] | dict[_Name, _Share] | None = None
    counts: _Name | dict[_Name, Annotated[int, Field(ge=0, le=MAX_RECORDS)]] | None = None
    records: Annotated[int, Field(ge=1, le=MAX_RECORDS)] | None = None
    loss: LossName = "trace"
    estimator: EstimatorName | None = None
    target: Target | None = None
    reports: Reports = "square"
    requirements: _RequirementsSection = _RequirementsSection()


def read_specification(path: Path | str) -> Specification:
    """Read the YAML specification at `path`; the path of a file of counts is relative to it.

    Raises `ConfigError`, with a line for each error: the option, its value, the allowed values.
    Raises `DataError` if the file of counts cannot be read.
    """
    file = Path(path)
    try:
        given = _SpecificationFile.model_validate(_values(file))
    except ValidationError as error:
        lines = fault_lines(error, _SpecificationFile, "specification", WORDS)
        raise _error(file, *lines) from None
    names, proportions, records = _frequencies(file, given)
    if faults := list(_faults(given, names)):
        raise _error(file, *faults)
    try:
        requirements = _requirements(given.requirements, names)
    except DeniableError as error:
        raise _error(file, f"requirements: {error}") from None
    required = given.requirements.requirement("column")
    choices = (given.estimator, given.target, given.reports, required)
    return Specification(names, proportions, requirements, given.loss, records, *choices)


def _values(file: Path) -> Mapping[str, Any]:
    try:
        values = read_yaml(file)
    except DataError as error:
        raise ConfigError(f"{error} ({MANUAL})") from None
    if not isinstance(values, Mapping):
        raise ConfigError(f"{file}: no options; give proportions and requirements ({MANUAL})")
    return values


def _frequencies(
    file: Path, given: _SpecificationFile
) -> tuple[tuple[str, ...], Floats, int | None]:
    if (given.proportions is None) == (given.counts is None):
        which = "neither" if given.counts is None else "both"
        raise _error(file, f"{which} of proportions and counts; allowed: one")
    if given.counts is not None:
        names, counts = _counts(file, given)
        records = int(counts.sum())
        return names, counts / records, given.records or records
    if isinstance(given.proportions, list):
        if given.categories is None:
            raise _error(file, "categories: missing; a list of proportions needs their names")
        names, shares = tuple(given.categories), list(given.proportions)
        if len(names) != len(shares):
            raise _error(file, f"proportions: {len(shares)} numbers for {len(names)} categories")
    else:
        names, shares = _in_order(file, "proportions", given.proportions or {}, given.categories)
    total = float(np.sum(shares))
    if abs(total - 1) > SHARE_TOLERANCE:
        raise _error(file, f"proportions: they sum to {total:.9g}; allowed: sum 1, or give counts")
    return names, np.array(shares) / total, given.records


def _counts(file: Path, given: _SpecificationFile) -> tuple[tuple[str, ...], Floats]:
    if isinstance(given.counts, str):
        table = file.parent / given.counts
        names = tuple(given.categories or _names_in(table))
        return names, read_counts(table, names).astype(float)
    names, counts = _in_order(file, "counts", given.counts or {}, given.categories)
    if not any(counts):
        raise _error(file, "counts: all are 0; allowed: at least one record")
    return names, np.array(counts, dtype=float)


def _names_in(table: Path) -> list[str]:
    """Return the categories of a file of counts, in the order of its rows."""
    try:
        rows = list(csv.DictReader(io.StringIO(text_of(table), newline=""), skipinitialspace=True))
    except (DataError, csv.Error):
        return ["?"]  # reading the counts raises the error of the file
    return [(row.get("category") or "").strip() for row in rows] or ["?"]


def _in_order(
    file: Path, option: str, named: Mapping[str, float], categories: Sequence[str] | None
) -> tuple[tuple[str, ...], list[float]]:
    """Return the names of the categories, in their order if it is given, and their numbers."""
    names = tuple(categories or named)
    known = set(names)
    faults = [f"{option}.{plain(name)}: {_unknown(names)}" for name in named if name not in known]
    faults += [
        f"{option}: nothing for the category {shown(name)}; it must be given"
        for name in names
        if name not in named
    ]
    if faults:
        raise _error(file, *faults)
    return names, [named[name] for name in names]


def _faults(given: _SpecificationFile, names: Sequence[str]) -> Iterator[str]:
    earlier: set[str] = set()
    for position, name in enumerate(names):
        if name in earlier:
            yield f"categories[{position}]: {shown(name)} is repeated; name it once"
        if name != name.strip():
            yield f"categories[{position}]: {shown(name)} has white space around it; remove it"
        earlier.add(name)
    if sum(each is not None for each in given.requirements.privacy.values()) > 1:
        yield "requirements: more than one of epsilon, beta and breach given; allowed: one of them"
    if given.loss == "distance" and given.requirements.cost is None:
        yield "requirements.cost: missing; the loss 'distance' needs a power or a matrix of costs"
    for option, name, told in _named(given.requirements):
        if name not in names:
            yield f"requirements.{option}: {told}{_unknown(names)}"


def _named(asked: _RequirementsSection) -> Iterator[tuple[str, str, str]]:
    """Yield places of category names in requirements, the name, and its text in a message."""
    for option in ("retention", "change"):
        floors = getattr(asked, option)
        if isinstance(floors, dict):
            for name in floors:
                yield f"{option}.{plain(name)}", name, ""
    for position, pair in enumerate(asked.forbidden):
        for name in pair:
            yield f"forbidden[{position}]", name, f"{shown(name)}, "
    for name, listed in (asked.allowed or {}).items():
        yield f"allowed.{plain(name)}", name, ""
        for other in listed:
            yield f"allowed.{plain(name)}", other, f"{shown(other)}, "


def _unknown(names: Sequence[str]) -> str:
    first = ", ".join(map(plain, names[:12])) + (", ..." if len(names) > 12 else "")
    return f"no such category; there are {first}"


def _requirements(asked: _RequirementsSection, names: Sequence[str]) -> Requirements:
    place = {name: position for position, name in enumerate(names)}

    def floors(given: float | dict[str, float] | None) -> float | dict[int, float] | None:
        if isinstance(given, dict):
            return {place[name]: floor for name, floor in given.items()}
        return given

    allowed = (asked.allowed or {}).items()
    cost = None
    if asked.cost is not None:
        cost = Cost(asked.cost.matrix, asked.cost.power, asked.cost.at_most)
        cost.costs(len(names))
    return Requirements(
        epsilon=asked.budget,
        invariant=asked.invariant,
        retention=floors(asked.retention),
        forbidden=tuple((place[true], place[reported]) for true, reported in asked.forbidden),
        allowed={place[name]: [place[other] for other in listed] for name, listed in allowed},
        cost=cost,
        change=floors(asked.change),
        categories=tuple(names),
    )


def _error(file: Path, *lines: str) -> ConfigError:
    return ConfigError(message(f"{file}: the specification", lines, MANUAL))
