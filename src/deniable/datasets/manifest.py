"""The manifest of data sets: what each published file must be, and what is read of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from deniable.datasets.manifest_rules import (
    ATTRIBUTE_RULES,
    CLASS_RULES,
    DATASET_RULES,
    INTERVAL_RULES,
    MEASUREMENT_RULES,
    NUMERIC_DATASET_RULES,
    OF_A_CSV,
    OF_THE_FILE,
    OPTIONAL,
    Rules,
    check,
    is_inner_path,
    is_text,
)
from deniable.errors import DataError, DeniableError
from deniable.records import Attribute, Discretization, Domain
from deniable.validation import repeated_keys


@dataclass(frozen=True, kw_only=True)
class PublishedFile:
    """A published file, whatever is read of it.

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
        Empty for a file that is no CSV.
    header : bool
        Whether the first line names the columns; attributes are then found by name.
    positions : tuple of int
        0-based column of each attribute, empty if there is a header.
    surrogate : str
        Path of the surrogate's parameters, relative to the manifest's folder.
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
    surrogate: str

    def refuse_other_number(self, records: int, path: Path | str) -> None:
        """Raise `DataError` unless a file has as many records as the published one."""
        if records != self.records:
            raise DataError(
                f"{path}: {records:,} records, but the manifest says {self.records:,} for "
                f"{self.name!r}; get the published file again from {self.address}"
            )


@dataclass(frozen=True, kw_only=True)
class Dataset(PublishedFile):
    """A published file of which categorical attributes are read.

    Parameters
    ----------
    domain : Domain
    discretizations : tuple of Discretization
        Of the numeric attributes, by the edges that the manifest states.
    """

    domain: Domain
    discretizations: tuple[Discretization, ...] = ()


@dataclass(frozen=True)
class ClassAttribute:
    """The attribute that records are classified by.

    Parameters
    ----------
    name : str
    classes : tuple of str
    at_most : tuple of float
        If the file has numbers: what each class but the last goes up to. Without, the file has the
        classes by name.
    position : int, optional
        0-based column, if there is no header.
    """

    name: str
    classes: tuple[str, ...]
    at_most: tuple[float, ...] = ()
    position: int | None = None


@dataclass(frozen=True, kw_only=True)
class NumericDataset(PublishedFile):
    """A published file of which numbers are read, and a class if there is one.

    Parameters
    ----------
    format : "csv" or "rda"
        An rda file (R data) holds one data frame, whose columns have names.
    names : tuple of str
        Of the numeric attributes.
    bounds : mapping of attribute name to (lower, upper)
        What is publicly known of an attribute's values, for noise that is calibrated without a look
        at the records; for those attributes alone whose bounds the manifest states.
    class_attribute : ClassAttribute, optional
    """

    format: str
    names: tuple[str, ...]
    bounds: Mapping[str, tuple[float, float]]
    class_attribute: ClassAttribute | None = None


AnyDataset = Dataset | NumericDataset


def load_manifest(path: Path | str) -> dict[str, AnyDataset]:
    """Read the manifest of data sets.

    A data set with the key `attributes` is categorical, one with `numeric_attributes` is numeric.

    Raises
    ------
    DataError
        If it cannot be read, or an entry is malformed: the message names file, data set, key,
        what stands there and what should.
    """
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8")
        entries, repeated = yaml.safe_load(text), list(repeated_keys(text))
    except OSError as error:
        raise DataError(f"{file}: {error.strerror or error}; check the path") from None
    except UnicodeDecodeError:
        raise DataError(f"{file}: no UTF-8 text; convert the file to UTF-8") from None
    except (yaml.YAMLError, ValueError) as error:  # ValueError: a date that is none
        mark = getattr(error, "problem_mark", None)
        line = f"line {mark.line + 1}: " if mark else ""
        problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
        raise DataError(f"{file}: {line}{problem}; mend the YAML there") from None
    if repeated:
        raise DataError("\n".join(f"{file}: {line}" for line in repeated))
    if not isinstance(entries, dict) or not entries:
        raise DataError(f"{file}: no data sets; give each a name with its keys below it")
    datasets: dict[str, AnyDataset] = {}
    for name, entry in entries.items():
        if not is_inner_path(name) or "/" in name:
            raise DataError(f"{file}: dataset {name!r}: use a text that can name a file")
        numeric = isinstance(entry, dict) and "numeric_attributes" in entry
        read = _numeric_dataset if numeric else _dataset
        dataset = read(f"{file}: dataset {name!r}", name, entry)
        for other in datasets.values():
            _refuse_contradiction(f"{file}: dataset {name!r}", dataset, other)
        datasets[name] = dataset
    return datasets


def categorical(datasets: Mapping[str, AnyDataset]) -> dict[str, Dataset]:
    """Return the data sets of categorical attributes."""
    return {name: each for name, each in datasets.items() if isinstance(each, Dataset)}


def numeric(datasets: Mapping[str, AnyDataset]) -> dict[str, NumericDataset]:
    """Return the data sets of numbers."""
    return {name: each for name, each in datasets.items() if isinstance(each, NumericDataset)}


def _refuse_contradiction(where: str, dataset: AnyDataset, other: AnyDataset) -> None:
    """Refuse two data sets that say different things of one file, or share a surrogate."""
    if dataset.surrogate == other.surrogate:
        raise DataError(
            f"{where}, key 'surrogate': {dataset.surrogate!r} is the surrogate of {other.name!r} "
            "too; give each data set a surrogate of its own"
        )
    if dataset.file != other.file:
        return
    for key in OF_THE_FILE:
        here, there = getattr(dataset, key), getattr(other, key)
        if here != there:
            raise DataError(
                f"{where}, key '{key}': is {here!r}, but {other.name!r}, of the same file "
                f"{dataset.file!r}, has {there!r}; make them equal, or name another file"
            )


def _dataset(where: str, name: str, entry: Any) -> Dataset:
    check(where, "", entry, DATASET_RULES)
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
    plain = {key: entry[key] for key in DATASET_RULES if key != "attributes"}
    return Dataset(
        name=name,
        positions=tuple(positions),
        domain=domain,
        discretizations=tuple(discretizations),
        **plain,
    )


def _numeric_dataset(where: str, name: str, entry: Any) -> NumericDataset:
    is_csv = entry.get("format", "csv") != "rda"
    rules = {
        key: rule for key, rule in NUMERIC_DATASET_RULES.items() if is_csv or key not in OF_A_CSV
    }
    check(where, "", entry, rules, optional=("format", "class"))
    header = entry.get("header", True)
    # A header, or a data frame, finds columns by name; a position could only contradict.
    measured, classified = (
        {key: rule for key, rule in of.items() if key != "position" or not header}
        for of in (MEASUREMENT_RULES, CLASS_RULES)
    )
    places = {
        f"numeric_attributes[{i}]": each for i, each in enumerate(entry["numeric_attributes"])
    }
    for place, given in places.items():
        check(where, place, given, measured, optional=OPTIONAL)
    names = tuple(given["name"] for given in entry["numeric_attributes"])
    class_attribute = None
    if "class" in entry:
        places["class"] = entry["class"]
        class_attribute = _class_attribute(where, entry["class"], classified)
    _refuse_same(where, places, "name")
    if not header:
        _refuse_same(where, places, "position")
    taken = ("format", "numeric_attributes", "class", *OF_A_CSV)
    return NumericDataset(
        name=name,
        format="csv" if is_csv else "rda",
        delimiter=entry.get("delimiter", ""),
        header=header,
        positions=() if header else tuple(each["position"] for each in entry["numeric_attributes"]),
        names=names,
        bounds={
            each["name"]: (float(each["bounds"][0]), float(each["bounds"][1]))
            for each in entry["numeric_attributes"]
            if "bounds" in each
        },
        class_attribute=class_attribute,
        **{key: entry[key] for key in NUMERIC_DATASET_RULES if key not in taken},
    )


def _class_attribute(where: str, given: Any, rules: Rules) -> ClassAttribute:
    check(where, "class", given, rules, optional=OPTIONAL)
    classes, at_most = given["classes"], given.get("at_most")
    if at_most is not None and len(at_most) != len(classes) - 1:
        raise DataError(
            f"{where}, key 'class.at_most': is {at_most!r:.80}; give one number fewer than the "
            f"{len(classes)} classes, for the last class has no upper end"
        )
    ends = tuple(float(end) for end in at_most or ())
    return ClassAttribute(given["name"], tuple(classes), ends, given.get("position"))


def _refuse_same(where: str, places: Mapping[str, Mapping[str, Any]], key: str) -> None:
    """Refuse two attributes of one name, or of one column."""
    seen: dict[Any, str] = {}
    for place, given in places.items():
        if given[key] in seen:
            raise DataError(
                f"{where}, key '{place}.{key}': {given[key]!r} is taken by {seen[given[key]]}; "
                "give another"
            )
        seen[given[key]] = place


def _attribute(where: str, key: str, given: Any, *, header: bool) -> Attribute | Discretization:
    """Return an attribute as it is listed, or the intervals that make one of numbers."""
    rules = INTERVAL_RULES if isinstance(given, dict) and "edges" in given else ATTRIBUTE_RULES
    # A header finds columns by name; a position beside it could only contradict.
    rules = {name: rule for name, rule in rules.items() if name != "position" or not header}
    check(where, key, given, rules, optional=OPTIONAL)
    for category in given.get("categories", []):
        if not is_text(category) or category != category.strip():
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
