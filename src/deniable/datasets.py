"""The published data sets: what they must be, where they come from, and their surrogates."""

import shutil
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path, PurePosixPath
from typing import Any, Literal, get_args

import yaml

from deniable.domain import Attribute, Domain
from deniable.download import (
    BY_HAND,
    DEFAULT_LIMITS,
    DownloadError,
    Limits,
    disk_errors,
    download,
    set_aside,
)
from deniable.errors import DataError, DeniableError
from deniable.files import read_json, sha256, write_json, written_whole
from deniable.microdata import Microdata, read_csv

Kind = Literal["original", "surrogate"]
Found = Literal["mirror", "public", "surrogate"]
Wanted = Literal["auto", "mirror", "public", "surrogate"]

# The reasons of sources that no failure led to; the first one also tells a surrogate that was
# asked for from one that `auto` fell back to.
ASKED_FOR = "data.source is surrogate"
FROM_MIRROR = "the mirror directory holds the published file"
FROM_EARLIER = "a verified copy of the published file was there already"


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


@dataclass(frozen=True)
class Source:
    """Where the records of a data set come from in this run.

    Parameters
    ----------
    dataset : str
    kind : "original" or "surrogate"
    sha256 : str
        Of the published file, or of the surrogate's JSON.
    found : "mirror", "public" or "surrogate"
    reason : str
        Why this one; for a surrogate, why the earlier ones failed. Names no path.
    """

    dataset: str
    kind: Kind
    sha256: str
    found: Found
    reason: str


class NotInMirror(DataError):  # noqa: N818 - a case to pass over more often than an error
    """A mirror directory that lacks the file."""


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_count(value: Any, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


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
    "categories": ("a list of texts", lambda v: isinstance(v, list) and bool(v)),
}


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
            if other.file == dataset.file:
                raise DataError(
                    f"{file}: dataset {name!r}, key 'file': {dataset.file!r} is the file of "
                    f"{other.name!r} too; give each data set a file of its own"
                )
        datasets[name] = dataset
    return datasets


def _dataset(where: str, name: str, entry: Any) -> Dataset:
    _check(where, "", entry, _DATASET_RULES)
    attributes: list[Attribute] = []
    positions: list[int] = []
    for number, given in enumerate(entry["attributes"]):
        prefix = f"attributes[{number}]"
        # A header finds columns by name; a position beside it could only contradict.
        unused = "position" if entry["header"] else ""
        rules = {key: rule for key, rule in _ATTRIBUTE_RULES.items() if key != unused}
        _check(where, prefix, given, rules, optional=("scale",))
        for category in given["categories"]:
            if not _is_text(category) or category != category.strip():
                raise DataError(
                    f"{where}, key '{prefix}.categories': {category!r} is no category; "
                    "give a text in quotes, without white space around it"
                )
        try:
            scale = given.get("scale", "nominal")
            attributes.append(Attribute(given["name"], tuple(given["categories"]), scale))
        except DeniableError as error:
            raise DataError(f"{where}, key '{prefix}': {error}") from None
        if not unused:
            if given["position"] in positions:
                raise DataError(
                    f"{where}, key '{prefix}.position': column {given['position']} is taken by "
                    f"{attributes[positions.index(given['position'])].name!r}; give another"
                )
            positions.append(given["position"])
    try:
        domain = Domain(tuple(attributes))
    except DeniableError as error:
        raise DataError(f"{where}, key 'attributes': {error}") from None
    plain = {key: entry[key] for key in _DATASET_RULES if key != "attributes"}
    return Dataset(name=name, positions=tuple(positions), domain=domain, **plain)


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


def read_original(dataset: Dataset, path: Path | str) -> Microdata:
    """Read the published file of a data set.

    Raises
    ------
    DataError
        As `deniable.microdata.read_csv`, and if the number of records is not the manifest's.
    """
    data = read_csv(
        path,
        dataset.domain,
        column_positions=None if dataset.header else dataset.positions,
        delimiter=dataset.delimiter,
    )
    if len(data) != dataset.records:
        raise DataError(
            f"{path}: {len(data):,} records, but the manifest says {dataset.records:,} for "
            f"{dataset.name!r}; get the published file again from {dataset.address}"
        )
    return data


def from_mirror(dataset: Dataset, mirror: Path, target: Path) -> None:
    """Copy a data set's file from a mirror directory to `target`, verified.

    Raises
    ------
    NotInMirror
        If the directory lacks the file.
    DataError
        If there is no such directory, or its file is not the published one; a copy of that file
        is then kept in `refused/` beside `target`, and the mirror is left as it is.
    """
    origin = mirror.expanduser() / dataset.file
    with disk_errors(origin):
        if not origin.parent.is_dir():
            raise DataError(
                f"{mirror}: the mirror is no directory; create it with {dataset.file} in it, or "
                "correct DENIABLE_DATA_MIRROR (or data.mirror in the config)"
            )
        if not origin.exists():
            raise NotInMirror(
                f"{origin}: the mirror lacks this file of {dataset.name!r}; put it there (it is "
                f"published at {dataset.address}), or set data.source: auto"
            )
        if not origin.is_file():
            raise DataError(f"{origin}: not a regular file; put the published file there")
        stream = origin.open("rb")
    with stream, disk_errors(target), written_whole(target) as temporary:
        with temporary.open("wb") as copy:
            shutil.copyfileobj(stream, copy)
        digest = sha256(temporary)
        if digest != dataset.sha256:
            refused = set_aside(temporary, target.parent, target.name, digest)
            raise DataError(
                f"{origin}: the file in the mirror has the sha256 {digest}, not {dataset.sha256}; "
                f"it was refused, a copy is kept as {refused} for inspection; replace it by the "
                f"file published at {dataset.address}, or remove it"
            )


def read_source(path: Path | str) -> Source:
    """Read the record that `resolve` left.

    Raises
    ------
    DataError
        If it cannot be read or is malformed.
    """
    file = Path(path)
    remedy = "delete it, the pipeline makes it again"
    try:
        record = read_json(file)
    except OSError as error:
        raise DataError(f"{file}: {error.strerror or error}; run the pipeline first") from None
    except ValueError:
        raise DataError(f"{file}: no JSON; {remedy}") from None
    keys = [field.name for field in fields(Source)]
    if not isinstance(record, dict) or set(record) != set(keys):
        raise DataError(f"{file}: the keys must be {', '.join(keys)}; {remedy}")
    allowed = {"kind": get_args(Kind), "found": get_args(Found)}
    for key, value in record.items():
        if not isinstance(value, str) or value not in allowed.get(key, (value,)):
            raise DataError(f"{file}: key {key!r} has the value {value!r:.80}; {remedy}")
    return Source(**record)


def resolve(
    dataset: Dataset,
    *,
    source: Wanted,
    mirror: Path | None,
    folder: Path,
    manifest_folder: Path,
    limits: Limits = DEFAULT_LIMITS,
    say: Callable[[str], None],
) -> Source:
    """Decide where the records of a data set come from, once before a run, and record it.

    A verified original in `folder` is used whatever way it came. Otherwise `auto` tries the
    mirror, the public address, and takes the surrogate last; a surrogate that it took once is
    kept, without trying the network again, until a mirror offers the file.

    Parameters
    ----------
    dataset : Dataset
    source : "auto", "mirror", "public" or "surrogate"
    mirror : path or None
        A directory; if it is named, a wrong file in it is an error, never passed over.
    folder : path
        Gets the verified original under its file name, and the record `<name>.source.json`,
        which is left untouched if nothing changed.
    manifest_folder : path
    limits : Limits, optional
    say : callable
        Takes notices of one line each.

    Returns
    -------
    Source

    Raises
    ------
    DataError
        If the source asked for does not give the published file, the mirror's file is a wrong
        one, the surrogate is needed and absent, or the disk cannot be written.
    """
    if source not in get_args(Wanted):
        raise DataError(f"data.source is {source!r}; give one of {', '.join(get_args(Wanted))}")
    record = folder / f"{dataset.name}.source.json"
    before = _recorded(dataset, record, say)
    if source == "surrogate":
        found = _surrogate(dataset, manifest_folder, ASKED_FOR)
    elif _has_original(dataset, folder, say):
        known = before is not None and before.kind == "original" and before.sha256 == dataset.sha256
        found = before if before and known else _original(dataset, "public", FROM_EARLIER)
    else:
        wanted = (dataset, source, mirror, before)
        found = _obtain(
            *wanted, folder=folder, manifest_folder=manifest_folder, limits=limits, say=say
        )
    if found != before:
        with disk_errors(record):
            write_json(record, asdict(found))
    return found


def _obtain(
    dataset: Dataset,
    source: Wanted,
    mirror: Path | None,
    before: Source | None,
    *,
    folder: Path,
    manifest_folder: Path,
    limits: Limits,
    say: Callable[[str], None],
) -> Source:
    """Try the sources in turn; `before` is what the last run recorded."""
    target = folder / dataset.file
    failures = ["no mirror directory was named"]
    if source == "mirror" and mirror is None:
        raise DataError(
            "data.source is mirror, but no mirror directory is named; set DENIABLE_DATA_MIRROR "
            f"(or data.mirror in the config) to a directory that holds {dataset.file}"
        )
    if source != "public" and mirror is not None:
        try:
            from_mirror(dataset, mirror, target)
        except NotInMirror:
            if source == "mirror":
                raise
            say(f"{dataset.name}: the mirror {mirror} lacks {dataset.file}, it is passed over")
            failures = [f"the mirror directory lacks {dataset.file}"]
        else:
            return _original(dataset, "mirror", FROM_MIRROR)
    if source == "auto" and before and before.kind == "surrogate" and before.reason != ASKED_FOR:
        kept = _surrogate(dataset, manifest_folder, before.reason)
        say(
            f"{dataset.name}: SURROGATE DATA, kept from an earlier run without trying the network; "
            f"delete {folder / dataset.name}.source.json or set data.source: public to try again"
        )
        return kept
    say(f"{dataset.name}: downloading {dataset.address}")
    try:
        download(dataset.address, target, dataset.sha256, limits)
    except DownloadError as error:
        if source == "public":
            raise
        failures.append(f"{dataset.address}: {error.reason}")
    else:
        return _original(dataset, "public", f"downloaded from {dataset.address}")
    reason = "; ".join(failures)
    surrogate = _surrogate(dataset, manifest_folder, reason)
    say(
        f"{dataset.name}: SURROGATE DATA instead of the published file ({reason}); to use the "
        f"original, put {dataset.file} into a directory, set DENIABLE_DATA_MIRROR to it, run again"
    )
    return surrogate


def _recorded(dataset: Dataset, record: Path, say: Callable[[str], None]) -> Source | None:
    try:
        before = read_source(record) if record.exists() else None
    except DataError as error:
        say(f"{error}; this run decides anew")
        return None
    return before if before and before.dataset == dataset.name else None


def _has_original(dataset: Dataset, folder: Path, say: Callable[[str], None]) -> bool:
    target = folder / dataset.file
    with disk_errors(target):
        if not target.exists():
            return False
        digest = sha256(target)
        if digest == dataset.sha256:
            return True
        refused = set_aside(target, folder, target.name, digest)
    say(
        f"{target}: has the sha256 {digest}, not {dataset.sha256}; it was moved to {refused} and "
        "the file is obtained anew"
    )
    return False


def _original(dataset: Dataset, found: Found, reason: str) -> Source:
    return Source(dataset.name, "original", dataset.sha256, found, reason)


def _surrogate(dataset: Dataset, manifest_folder: Path, reason: str) -> Source:
    path = manifest_folder / dataset.surrogate
    if not path.is_file():
        raise DataError(
            f"{path}: the surrogate of {dataset.name!r} is needed ({reason}), but there is no such "
            f"file; restore it, or get the original: {BY_HAND}"
        )
    with disk_errors(path):
        return Source(dataset.name, "surrogate", sha256(path), "surrogate", reason)
