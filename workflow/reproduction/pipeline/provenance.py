"""Record next to each result how it was made, and check inputs against these records.

``X.provenance.json`` is stored next to each result ``X``: the SHA-256 of ``X``, its code, settings,
seed and versions, its inputs with theirs, and the data behind them. Nothing in it depends on
machine, folder, time or number of cores, so equal runs leave equal files.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from deniable.errors import DataError
from deniable.files import MARK_OF_FOLDERS, read_json, remove_leftovers, sha256, write_json

from reproduction.pipeline.code_digest import code_digest, parts_of, versions

SOURCE_VARIABLE = "DENIABLE_SOURCE"
"""Environment variable with the folder of the workflow's own files."""
SUFFIX, SOURCE_SUFFIX = ".provenance.json", ".source.json"
RESULTS, DATA = "results", "results/data"
WITHHELD = "withheld"
PLACES = ("data", "keys", "ledger")  # sections of the config with places of files
MODELS = {"resources/surrogates": "surrogate", "resources/networks": "network"}
"""Folders of the models that records are drawn from, with the kind of these records."""
MAKE_AGAIN = "delete it and start again: Snakemake makes it again"
RESTORE = (
    "it belongs to a production release, which is drawn once: restore it from a copy, or "
    "give the release a new name"
)

Record = dict[str, Any]


@dataclass(frozen=True)
class JobProvenance:
    """Everything of a job that its results depend on."""

    rule: str  # its name
    inputs: tuple[str, ...]  # as the rule gives them, relative to the project's folder
    outputs: tuple[str, ...]  # in the same form
    params: Mapping[str, Any]  # the digest ``code``, and the settings of the job
    config: Mapping[str, Any]  # of the run
    script: Path  # of a rule without a digest ``code``


@dataclass(frozen=True)
class Verified:
    """A file by its `label`, with its `sha256` and its `record`, if it has one."""

    label: str
    sha256: str
    record: Record | None


@contextmanager
def recorded(making: JobProvenance) -> Iterator[None]:
    """Verify the inputs of the job `making`, run the block that makes its outputs, record them.

    Before the block begins, earlier records of the outputs and half-written files are removed, so a
    record never lies next to a file that it does not describe. A result that is made once keeps the
    record of the job that first made it, as long as it stays the same. A `DataError` reports inputs
    that differ from their records, a line for each, and two inputs from two states of one file.
    """
    about = _about(making, verified(making.inputs))
    for output in making.outputs:
        if not about["made_once"]:
            provenance_path(output).unlink(missing_ok=True)
        remove_leftovers(output)
        remove_leftovers(provenance_path(output))
    yield
    for output in making.outputs:
        if not Path(output).exists():
            continue  # Snakemake reports a missing output
        record: Record = {"file": label(output), "sha256": content_digest(output)} | about
        if output.endswith(SOURCE_SUFFIX):
            from deniable.datasets import read_source  # noqa: PLC0415 - few jobs need this

            source = read_source(output)  # nothing if no published file was obtained
            entry = {"kind": "original", "sha256": source.sha256}
            name = label(output).removesuffix(SOURCE_SUFFIX)
            record["data"] = {name: entry} if source.sha256 else {}
        first = read_provenance(output)
        if first is None or first["sha256"] != record["sha256"]:
            name = record["file"]
            # For the owner alone if it has hashes of original records.
            private = name.startswith(f"{DATA}/") or _is_receipt(name)
            # With a production release, hashes of records are closed.
            releases = making.config.get("releases", ())
            closed = any(each.get("mode") == "production" for each in releases)
            write_json(provenance_path(output), record, private=private, closed=closed)


def provenance_path(result: Path | str) -> Path:
    """Return the path of the record of a `result`."""
    return Path(f"{result}{SUFFIX}")


def content_digest(path: Path | str) -> str:
    """Return the SHA-256 of the file at `path`, or of a folder's ``sha256sum`` list by name."""
    start = Path(path)
    if not start.is_dir():
        return sha256(start)
    files = {file.relative_to(start).as_posix(): file for file in start.rglob("*")}
    files = {k: v for k, v in files.items() if v.is_file() and v.name != MARK_OF_FOLDERS}
    lines = [f"{sha256(file)}  {name}\n" for name, file in sorted(files.items())]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def read_provenance(result: Path | str) -> Record | None:
    """Return the record of a `result`, or None. A `DataError` reports one that is not readable."""
    path = provenance_path(result)
    try:
        record = read_json(path)
    except FileNotFoundError:
        return None
    except ValueError:
        record = None
    if not isinstance(record, dict) or not {"sha256", "data", "made_once"} <= set(record):
        raise DataError(
            f"{path}: not provenance metadata; restore it from a copy or, unless {result} belongs "
            "to a production release, delete both and start again: Snakemake makes them again"
        )
    return record


def verified(paths: Iterable[str]) -> list[Verified]:
    """Compare the files at `paths` with any records; a `DataError` has a line for each change."""
    found, faults = [], []
    for path in sorted(set(paths)):
        file = Verified(label(path), content_digest(path), read_provenance(path))
        if file.record and file.record["sha256"] != file.sha256:
            faults.append(
                f"{file.label}: damaged or edited since it was made (SHA-256 {file.sha256:.12}..., "
                f"recorded {file.record['sha256']:.12}...); "
                f"{RESTORE if file.record['made_once'] else MAKE_AGAIN}"
            )
        elif _is_receipt(file.label):
            from deniable.release import faults_of_receipt  # noqa: PLC0415 - few jobs need this

            faults += faults_of_receipt(path)
        found.append(file)
    if faults:
        raise DataError("\n".join(faults))
    return found


def _about(making: JobProvenance, inputs: Sequence[Verified]) -> Record:
    code = making.params.get("code")
    settings = {key: value for key, value in making.params.items() if key != "code"}
    digest = code or code_digest(making.script)
    unrecorded = [each.label for each in inputs if each.record is None]
    return {
        "rule": making.rule,
        # Newer code never repeats the results of a rule without a digest of code.
        "made_once": not code,
        "code": digest,
        "parts": parts_of(digest),
        "settings": digest_of_values(settings),
        "asked": settings,
        # The seed of the run, also of jobs without randomness. Production releases have none.
        "seed": making.params.get("seed", making.config.get("seed")),
        "config": digest_of_values({k: v for k, v in making.config.items() if k not in PLACES}),
        "inputs": {each.label: each.sha256 for each in inputs},
        "unrecorded": [name for name in unrecorded if name.startswith(f"{RESULTS}/")],
        "data": _data(inputs),
        "versions": versions(),
    }


def _data(inputs: Sequence[Verified]) -> Record:
    """Return the files behind the records of all inputs, with kind and SHA-256.

    The hash of records behind a production release is withheld. Somebody who knows all records but
    one could try the possible values of that one with the hash, which no epsilon covers.
    """
    found: dict[str, dict[str, str]] = {}
    known_from: dict[str, str] = {}
    sources = (each.record for each in inputs if each.label.endswith(SOURCE_SUFFIX))
    published = any(record and record["data"] for record in sources)
    for each in inputs:
        kind = MODELS.get(PurePosixPath(each.label).parent.as_posix())
        if published and kind == "surrogate":
            continue  # no record is drawn from it
        model: Record = {each.label: {"kind": kind, "sha256": each.sha256}} if kind else {}
        data: Record = model if each.record is None else each.record["data"]
        for origin, known in data.items():
            entry = known | ({"sha256": WITHHELD} if _is_receipt(each.label) else {})
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


def _is_receipt(name: str) -> bool:
    if not name.startswith(f"{RESULTS}/releases/"):
        return False
    from deniable.release import RECEIPT  # noqa: PLC0415 - most jobs read no release

    return PurePosixPath(name).match(RECEIPT)


def label(path: str) -> str:
    """Return a `path` relative to the project or the workflow; for other files the name alone."""
    file = Path(path)
    if not file.is_absolute():
        return file.as_posix()
    source = Path(os.environ.get(SOURCE_VARIABLE, Path.cwd()))
    folders = (folder for folder in (Path.cwd(), source) if folder in file.parents)
    return next((file.relative_to(folder).as_posix() for folder in folders), file.name)


def digest_of_values(values: Mapping[str, Any]) -> str:
    """Return a digest of plain `values`, independent of the order of their keys."""
    text = json.dumps(values, sort_keys=True, allow_nan=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]
