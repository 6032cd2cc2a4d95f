"""The manifest of data sets: what each published file must be, and what is read of it."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from deniable.discretization import Discretization
from deniable.domain import Attribute, Domain
from deniable.errors import DataError, DeniableError


@dataclass(frozen=True)
class Dataset:
    """A published file and what is read of it.

    Parameters
    ----------
    name, title, citation : str
    file : str
        Name of the file, in a mirror directory as well.
    address : str
        Where it is published.
    sha256 : str
    records : int
    delimiter : str
    header : bool
        Whether the first line names the columns; attributes are then found by name.
    positions : tuple of int
        0-based column of each attribute, empty if there is a header.
    domain : Domain
    surrogate : str
        Path of the surrogate's parameters, relative to the manifest's folder.
    discretizations : tuple of Discretization
        Of the numeric attributes, by the edges that the manifest states.
    """

    name: str
    title: str
    citation: str
    file: str
    address: str
    sha256: str
    records: int
    delimiter: str
    header: bool
    positions: tuple[int, ...]
    domain: Domain
    surrogate: str
    discretizations: tuple[Discretization, ...] = ()


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_count(value: Any, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _is_number(value: Any) -> bool:
    # Also no NaN, no infinity, and no whole number beyond all floats.
    largest = sys.float_info.max
    return type(value) in (int, float) and -largest <= value <= largest


def _is_inner_path(value: Any) -> bool:
    path = PurePosixPath(value) if _is_text(value) else PurePosixPath("/")
    return not path.is_absolute() and ".." not in path.parts and path.name != ""


Rules = Mapping[str, tuple[str, Callable[[Any], bool]]]

_DATASET_RULES: Rules = {
    "title": ("a text", _is_text),
    "citation": ("a text", _is_text),
    "file": ("a file name without a folder", lambda v: _is_inner_path(v) and "/" not in v),
    "address": (
        "an http or https address",
        lambda v: _is_text(v) and v.startswith(("http://", "https://")),
    ),
    "sha256": (
        "64 hexadecimal digits in small letters, in quotes",
        lambda v: _is_text(v) and len(v) == 64 and not set(v) - set("0123456789abcdef"),
    ),
    "records": ("a whole number of at least 1", lambda v: _is_count(v, 1)),
    "delimiter": (
        "one ASCII character in quotes",
        lambda v: isinstance(v, str) and len(v.encode()) == 1,
    ),
    "header": ("true or false", lambda v: isinstance(v, bool)),
    "surrogate": ("a path within the manifest's folder", _is_inner_path),
    "attributes": ("a list of attributes", lambda v: isinstance(v, list) and bool(v)),
}
_ATTRIBUTE_RULES: Rules = {
    "name": ("a text (in quotes if it looks like a number)", _is_text),
    "position": ("a whole number, the column from 0", lambda v: _is_count(v, 0)),
    "scale": ("nominal or ordinal", lambda v: v in ("nominal", "ordinal")),
    "categories": (
        "a list of texts, or for numbers `edges` in its place",
        lambda v: isinstance(v, list) and bool(v),
    ),
}
_NUMERIC_RULES: Rules = {
    "name": _ATTRIBUTE_RULES["name"],
    "position": _ATTRIBUTE_RULES["position"],
    "edges": (
        "a list of finite numbers that increase (an open end is open_below or open_above)",
        lambda v: isinstance(v, list) and bool(v) and all(map(_is_number, v)),
    ),
    "open_below": ("true or false", lambda v: isinstance(v, bool)),
    "open_above": ("true or false", lambda v: isinstance(v, bool)),
}
_OPTIONAL = ("scale", "open_below", "open_above")
_OF_THE_FILE = ("address", "sha256", "records", "delimiter", "header")


def load_manifest(path: Path | str) -> dict[str, Dataset]:
    """Read the manifest of data sets.

    Raises
    ------
    DataError
        If it cannot be read, or an entry is malformed: the message names file, data set, key,
        what stands there and what should.
    """
    file = Path(path)
    try:
        entries = yaml.safe_load(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"{file}: {error.strerror or error}; check the path") from None
    except UnicodeDecodeError:
        raise DataError(f"{file}: no UTF-8 text; convert the file to UTF-8") from None
    except (yaml.YAMLError, ValueError) as error:  # ValueError: a date that is none
        mark = getattr(error, "problem_mark", None)
        line = f"line {mark.line + 1}: " if mark else ""
        problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
        raise DataError(f"{file}: {line}{problem}; mend the YAML there") from None
    if not isinstance(entries, dict) or not entries:
        raise DataError(f"{file}: no data sets; give each a name with its keys below it")
    datasets: dict[str, Dataset] = {}
    for name, entry in entries.items():
        if not _is_inner_path(name) or "/" in name:
            raise DataError(f"{file}: dataset {name!r}: use a text that can name a file")
        dataset = _dataset(f"{file}: dataset {name!r}", name, entry)
        for other in datasets.values():
            _refuse_contradiction(f"{file}: dataset {name!r}", dataset, other)
        datasets[name] = dataset
    return datasets


def _refuse_contradiction(where: str, dataset: Dataset, other: Dataset) -> None:
    """Refuse two data sets that say different things of one file, or share a surrogate."""
    if dataset.surrogate == other.surrogate:
        raise DataError(
            f"{where}, key 'surrogate': {dataset.surrogate!r} is the surrogate of {other.name!r} "
            "too; give each data set a surrogate of its own"
        )
    if dataset.file != other.file:
        return
    for key in _OF_THE_FILE:
        here, there = getattr(dataset, key), getattr(other, key)
        if here != there:
            raise DataError(
                f"{where}, key '{key}': is {here!r}, but {other.name!r}, of the same file "
                f"{dataset.file!r}, has {there!r}; make them equal, or name another file"
            )


def _dataset(where: str, name: str, entry: Any) -> Dataset:
    _check(where, "", entry, _DATASET_RULES)
    attributes: list[Attribute] = []
    discretizations: list[Discretization] = []
    positions: list[int] = []
    for number, given in enumerate(entry["attributes"]):
        key = f"attributes[{number}]"
        attribute = _attribute(where, key, given, header=entry["header"])
        if isinstance(attribute, Discretization):
            discretizations.append(attribute)
            attribute = attribute.attribute
        attributes.append(attribute)
        if entry["header"]:
            continue
        if given["position"] in positions:
            raise DataError(
                f"{where}, key '{key}.position': column {given['position']} is taken by "
                f"{attributes[positions.index(given['position'])].name!r}; give another"
            )
        positions.append(given["position"])
    try:
        domain = Domain(tuple(attributes))
    except DeniableError as error:
        raise DataError(f"{where}, key 'attributes': {error}") from None
    plain = {key: entry[key] for key in _DATASET_RULES if key != "attributes"}
    return Dataset(
        name=name,
        positions=tuple(positions),
        domain=domain,
        discretizations=tuple(discretizations),
        **plain,
    )


def _attribute(where: str, key: str, given: Any, *, header: bool) -> Attribute | Discretization:
    """Return an attribute as it is listed, or the intervals that make one of numbers."""
    rules = _NUMERIC_RULES if isinstance(given, dict) and "edges" in given else _ATTRIBUTE_RULES
    # A header finds columns by name; a position beside it could only contradict.
    rules = {name: rule for name, rule in rules.items() if name != "position" or not header}
    _check(where, key, given, rules, optional=_OPTIONAL)
    for category in given.get("categories", []):
        if not _is_text(category) or category != category.strip():
            raise DataError(
                f"{where}, key '{key}.categories': {category!r} is no category; "
                "give a text in quotes, without white space around it"
            )
    try:
        if "edges" in given:
            ends = {end: given.get(end, False) for end in ("open_below", "open_above")}
            return Discretization.from_edges(given["name"], given["edges"], **ends)
        return Attribute(given["name"], tuple(given["categories"]), given.get("scale", "nominal"))
    except DeniableError as error:
        raise DataError(f"{where}, key '{key}': {error}") from None


def _check(
    where: str, prefix: str, given: Any, rules: Rules, optional: tuple[str, ...] = ()
) -> None:
    if not isinstance(given, dict):
        place = f", key '{prefix}'" if prefix else ""
        raise DataError(f"{where}{place}: {given!r:.80} is no mapping; give {', '.join(rules)}")
    dot = f"{prefix}." if prefix else ""
    for key, (expected, _) in rules.items():
        if key not in given and key not in optional:
            raise DataError(f"{where}, key '{dot}{key}': missing; give {expected}")
    for key, value in given.items():
        if key not in rules:
            raise DataError(
                f"{where}, key '{dot}{key}': not used here; remove it, or rename it to one of "
                f"{', '.join(rules)}"
            )
        expected, holds = rules[key]
        if not holds(value):
            raise DataError(f"{where}, key '{dot}{key}': is {value!r:.80}; give {expected}")
