"""What a result was made of, in a file beside it; and whether it is still what was made.

Beside a result ``X`` stands ``X.provenance.json``: the SHA-256 of ``X``, the code, settings, seed
and versions that made it, its inputs with theirs, and the data that it rests on. Nothing in it
depends on machine, folder, time or number of cores: equal runs leave equal files.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from deniable.datasets import read_source
from deniable.errors import DataError
from deniable.files import MARK_OF_FOLDERS, read_json, remove_leftovers, sha256, write_json
from deniable.release import RECEIPT, faults_of_receipt

from reproduction.pipeline.code_digest import code_digest, parts_of
from reproduction.pipeline.package_versions import versions

SOURCE_VARIABLE = "DENIABLE_SOURCE"
"""Names the folder of the workflow's own files to its jobs."""
SUFFIX = ".provenance.json"
RESULTS = "results"
DATA = "results/data"
"""True records, and hashes of them: files of their owner's alone."""
WITHHELD = "withheld"
PLACES = ("data", "keys", "ledger")
"""Sections of the config that say where things lie."""
SOURCE_SUFFIX = ".source.json"
"""Of the file that says where the records of a published file come from; see `datasets.Source`."""
SURROGATES = "resources/surrogates"
MODELS = {SURROGATES: "surrogate", "resources/networks": "network"}
"""Folders of the models that records are drawn from, with what their records are."""
MAKE_AGAIN = "delete it and start again: Snakemake makes it again"
RESTORE = (
    "it belongs to a production release, which is drawn once: restore it from a copy, or "
    "give the release a new name"
)

Record = dict[str, Any]


@dataclass(frozen=True)
class JobProvenance:
    """A job as far as its results depend on it.

    Of the rule's parameters the digest under ``code`` is recorded by itself, the others
    together as the settings of the job. Where there is no digest, ``steps``
    are the code that the script is told to call, each as "module:function".

    Attributes
    ----------
    rule : str
    inputs : tuple of str
        Paths as the rule gives them: relative to the project's folder.
    outputs : tuple of str
    params : mapping of str to Any
    config : mapping of str to Any
        That the run was given.
    script : Path
        What the rule runs; read only where the rule has no digest of code.
    """

    rule: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    params: Mapping[str, Any]
    config: Mapping[str, Any]
    script: Path


@dataclass(frozen=True)
class Verified:
    """A file with its SHA-256 and what is recorded of it, if anything is.

    Attributes
    ----------
    label : str
    sha256 : str
    record : Record, optional
    """

    label: str
    sha256: str
    record: Record | None

    def fault(self) -> str | None:
        """Return what is wrong with the file and how to go on, or None if it is what was made."""
        if self.record is None or self.record["sha256"] == self.sha256:
            return None
        return (
            f"{self.label}: damaged or edited since it was made (SHA-256 {self.sha256:.12}..., "
            f"recorded {self.record['sha256']:.12}...); "
            f"{RESTORE if self.record['made_once'] else MAKE_AGAIN}"
        )


@contextmanager
def recorded(making: JobProvenance) -> Iterator[None]:
    """Verify the inputs of `making`, run the block that makes the outputs, and record it.

    What an earlier job recorded of the outputs, and what it left half-written if it was killed, is
    removed before the block begins: at no time does a record stand beside a file that it is not of.
    But what is made once keeps its record as long as it comes out the same: of the job that first
    made it.

    Raises
    ------
    DataError
        Before the block begins: with a line for each input that is not what was made, or if two
        inputs rest on different states of the same data.
    """
    about = _about(making, verified(making.inputs))
    for output in making.outputs:
        if not about["made_once"]:
            provenance_path(output).unlink(missing_ok=True)
        remove_leftovers(output)
        remove_leftovers(provenance_path(output))
    yield
    for output in making.outputs:
        if Path(output).exists():  # Snakemake says what is missing
            record: Record = {"file": label(output), "sha256": content_digest(output)} | about
            if output.endswith(SOURCE_SUFFIX):
                record["data"] = _published(output)
            first = read_provenance(output)
            if first is None or first["sha256"] != record["sha256"]:
                _write(output, record, closed=_releases(making.config))


def provenance_path(result: Path | str) -> Path:
    """Return the file that says what a `result` was made of."""
    return Path(f"{result}{SUFFIX}")


def content_digest(path: Path | str) -> str:
    """Return the SHA-256 of the file at `path`, or that of a folder's list of files.

    The list has a line a file, in order of their names: its SHA-256, two spaces, its path below the
    folder, as the command ``sha256sum`` writes it.
    """
    start = Path(path)
    if not start.is_dir():
        return sha256(start)
    files = {file.relative_to(start).as_posix(): file for file in start.rglob("*")}
    lines = [
        f"{sha256(file)}  {name}\n"
        for name, file in sorted(files.items())
        if file.is_file() and file.name != MARK_OF_FOLDERS
    ]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def read_provenance(result: Path | str) -> Record | None:
    """Return what is recorded of a `result`, the path of a file, or None where nothing is.

    Raises
    ------
    DataError
        If there is a record that cannot be read.
    """
    path = provenance_path(result)
    try:
        record = read_json(path)
    except FileNotFoundError:
        return None
    except ValueError:
        record = None
    keys = {"sha256", "data", "made_once"}
    if not isinstance(record, dict) or not keys <= set(record):
        raise DataError(
            f"{path}: no record of provenance any more; delete it and start again: what a job can "
            "make again it makes with its record"
        )
    return record


def verified(paths: Iterable[str]) -> list[Verified]:
    """Hold the files at `paths` against what is recorded of them, each once.

    A file of which nothing is recorded is taken as it is.

    Raises
    ------
    DataError
        With a line for each file that is not what was made.
    """
    found, faults = [], []
    for path in sorted(set(paths)):
        file = Verified(label(path), content_digest(path), read_provenance(path))
        if fault := file.fault():
            faults.append(fault)
        elif _is_receipt(PurePosixPath(file.label)):
            faults += faults_of_receipt(path)
        found.append(file)
    if faults:
        raise DataError("\n".join(faults))
    return found


def _about(making: JobProvenance, inputs: Sequence[Verified]) -> Record:
    """Return what is recorded of all outputs of a job alike."""
    settings = settings_of(making.params)
    code = making.params.get("code")
    digest = code or code_digest(making.script, *making.params.get("steps", ()))
    return {
        "rule": making.rule,
        # Rules without a digest of code are those whose results newer code leaves alone.
        "made_once": not code,
        "code": digest,
        "parts": parts_of(digest),
        "settings": digest_of_values(settings),
        "asked": settings,
        # The run's, also of what draws nothing itself; none where the operating system drew.
        "seed": making.params.get("seed", making.config.get("seed")),
        # Where things lie is no matter; what the data are stands under `data`.
        "config": digest_of_values({k: v for k, v in making.config.items() if k not in PLACES}),
        "inputs": {each.label: each.sha256 for each in inputs},
        "unrecorded": [e.label for e in inputs if e.record is None and _is_made(e.label)],
        "data": _data(inputs),
        "versions": versions(),
    }


def _data(inputs: Sequence[Verified]) -> Record:
    """Return the files that the records behind all inputs come from, with kind and SHA-256.

    Without that of records behind a release: who knows all records but one needs no more than such
    a hash to try the possible values of that one. Whatever epsilon the release has, the hash has
    none.
    """
    found: dict[str, dict[str, str]] = {}
    known_from: dict[str, str] = {}
    sources = [each for each in inputs if each.label.endswith(SOURCE_SUFFIX)]
    published = any(each.record and each.record["data"] for each in sources)
    for each in inputs:
        if published and each.label.startswith(SURROGATES):
            continue  # no record is drawn from it
        data: Record = _origin(each) if each.record is None else each.record["data"]
        told = not _is_receipt(PurePosixPath(each.label))
        for origin, known in data.items():
            entry = known if told else known | {"sha256": WITHHELD}
            if entry["sha256"] == WITHHELD:
                found.setdefault(origin, entry)
                continue
            other = known_from.setdefault(origin, each.label)
            if other == each.label:
                found[origin] = entry
            elif found[origin] != entry:
                raise DataError(
                    f"{other} and {each.label} rest on two states of {origin}; delete both and "
                    "start again: Snakemake makes them again"
                )
    return dict(sorted(found.items()))


def _published(source: str) -> Record:
    """Return the entry of the published file that a `source` says is there, if any is."""
    found = read_source(source)
    entry = {"kind": "original", "sha256": found.sha256}
    return {label(source).removesuffix(SOURCE_SUFFIX): entry} if found.sha256 else {}


def _origin(file: Verified) -> Record:
    """Return the entry of a model that records are drawn from; nothing for any other file."""
    kind = MODELS.get(PurePosixPath(file.label).parent.as_posix())
    return {file.label: {"kind": kind, "sha256": file.sha256}} if kind else {}


def _is_made(label: str) -> bool:
    """Return whether a file is one that a job makes."""
    return label.startswith(f"{RESULTS}/")


def _write(output: str, record: Record, *, closed: bool) -> None:
    """Write what is recorded of a result; of what tells of true records, for the owner alone."""
    path = PurePosixPath(record["file"])
    private = PurePosixPath(DATA) in path.parents or _is_receipt(path)
    write_json(provenance_path(output), record, private=private, closed=closed)


def _releases(config: Mapping[str, Any]) -> bool:
    """Return whether a config protects somebody: then hashes of records are the owner's alone."""
    return any(each.get("mode") == "production" for each in config.get("releases", ()))


def _is_receipt(path: PurePosixPath) -> bool:
    """Return whether a file is the receipt of a production release."""
    return path.match(RECEIPT)


def label(path: str) -> str:
    """Return a `path` within the project's folder; of a file elsewhere nothing but its name.

    The workflow's own files are named as in a run from their folder, wherever they lie.
    """
    file = Path(path)
    if not file.is_absolute():
        return file.as_posix()
    source = Path(os.environ.get(SOURCE_VARIABLE, Path.cwd()))
    folders = (folder for folder in (Path.cwd(), source) if folder in file.parents)
    return next((file.relative_to(folder).as_posix() for folder in folders), file.name)


def settings_of(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of a rule's `params` that are settings of its job."""
    return {key: value for key, value in params.items() if key != "code"}


def digest_of_values(values: Mapping[str, Any]) -> str:
    """Return a digest of plain `values`, whatever the order of their keys."""
    text = json.dumps(values, sort_keys=True, allow_nan=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]
