"""Write provenance metadata next to each result, and compare inputs with their metadata.

``X.provenance.json`` is stored next to each result ``X``. It has the SHA-256 of ``X``, its code,
settings, seed and versions, its inputs with their SHA-256, and the data sets behind them. It does
not depend on machine, folder, time or number of cores, so equal runs write equal files.
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

from reproduction.pipeline.code_digest import code_digests, digest_of, versions

SOURCE_VARIABLE = "DENIABLE_SOURCE"
"""Environment variable with the folder of the workflow's own files."""
SUFFIX, SOURCE_SUFFIX = ".provenance.json", ".source.json"
RESULTS, DATA = "results", "results/data"
WITHHELD = "withheld"
PLACES = ("data", "keys", "ledger")  # sections of the config with places of files
MODELS = {"resources/surrogates": "surrogate", "resources/networks": "network"}
"""Folders of models that generate records, and the kind of these records."""
MAKE_AGAIN = "delete it and start again: Snakemake recreates it"
RESTORE = (
    "it belongs to a production release, which is drawn once: restore it from a copy, or "
    "give the release a new name"
)

Record = dict[str, Any]


@dataclass(frozen=True)
class Verified:
    """A file: its `label`, its `sha256`, and its provenance metadata (`record`), if any."""

    label: str
    sha256: str
    record: Record | None


@contextmanager
def recorded(snakemake: Any, script: Path) -> Iterator[None]:
    """Verify the inputs of a job, run the block that makes its outputs, and record the outputs.

    `snakemake` is the object that Snakemake passes to the `script` of the job. Before the block
    begins, this function removes old metadata of the outputs and half-written files, so metadata
    always describe the file next to them. A result that is made only once keeps the metadata of the
    job that first made it, as long as the file stays the same. A `DataError` reports each input
    that differs from its metadata, and inputs that depend on different states of one file.
    """
    about = _about(snakemake, script, verified(map(str, snakemake.input)))
    outputs = [str(output) for output in snakemake.output]
    for output in outputs:
        if not about["made_once"]:
            provenance_path(output).unlink(missing_ok=True)
        remove_leftovers(output)
        remove_leftovers(provenance_path(output))
    yield
    for output in outputs:
        if not Path(output).exists():
            continue  # Snakemake reports a missing output
        record: Record = {"file": label(output), "sha256": content_digest(output)} | about
        if output.endswith(SOURCE_SUFFIX):
            from deniable.datasets import read_source  # noqa: PLC0415 - few jobs need this

            source = read_source(output)  # without a digest if there is no published file
            entry = {"kind": "original", "sha256": source.sha256}
            name = label(output).removesuffix(SOURCE_SUFFIX)
            record["data"] = {name: entry} if source.sha256 else {}
        first = read_provenance(output)
        if first is None or first["sha256"] != record["sha256"]:
            name = record["file"]
            # Readable by the owner only if it has hashes of original records.
            private = name.startswith(f"{DATA}/") or _is_receipt(name)
            # If there is a production release, hashes of records are not published.
            releases = snakemake.config.get("releases", ())
            closed = any(each.get("mode") == "production" for each in releases)
            write_json(provenance_path(output), record, private=private, closed=closed)


def provenance_path(result: Path | str) -> Path:
    """Return the path of the provenance metadata of a `result`."""
    return Path(f"{result}{SUFFIX}")


def content_digest(path: Path | str) -> str:
    """Return the SHA-256 of the file at `path`; for a folder, of its sorted ``sha256sum`` list."""
    start = Path(path)
    if not start.is_dir():
        return sha256(start)
    files = {file.relative_to(start).as_posix(): file for file in start.rglob("*")}
    files = {k: v for k, v in files.items() if v.is_file() and v.name != MARK_OF_FOLDERS}
    lines = [f"{sha256(file)}  {name}\n" for name, file in sorted(files.items())]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def read_provenance(result: Path | str) -> Record | None:
    """Return the provenance metadata of a `result`, or None; raise a `DataError` if invalid."""
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
            "to a production release, delete both and start again: Snakemake recreates them"
        )
    return record


def verified(paths: Iterable[str]) -> list[Verified]:
    """Compare the files at `paths` with their metadata; a `DataError` reports each change."""
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


def _about(snakemake: Any, script: Path, inputs: Sequence[Verified]) -> Record:
    params, config = dict(snakemake.params.items()), snakemake.config
    code = params.pop("code", None)
    parts = code_digests(script) if code is None else dict(code)
    unrecorded = [each.label for each in inputs if each.record is None]
    return {
        "rule": snakemake.rule,
        # A rule without a digest of code is never re-run because of newer code.
        "made_once": code is None,
        "code": digest_of(json.dumps(parts)),
        "parts": parts,
        "settings": _digest_of_values(params),
        "asked": params,
        # The seed of the run, also for jobs without randomness. Production releases have none.
        "seed": params.get("seed", config.get("seed")),
        "config": _digest_of_values({k: v for k, v in config.items() if k not in PLACES}),
        "inputs": {each.label: each.sha256 for each in inputs},
        "unrecorded": [name for name in unrecorded if name.startswith(f"{RESULTS}/")],
        "data": _data(inputs),
        "versions": versions(),
    }


def _data(inputs: Sequence[Verified]) -> Record:
    """Return the data files that the inputs depend on, with kind and SHA-256.

    The hash of the records of a production release is withheld. With it, somebody who knows all
    records except one could try the possible values of that record, which no ε covers.
    """
    found: dict[str, tuple[Record, str]] = {}  # each with the first input that depends on it
    sources = (each.record for each in inputs if each.label.endswith(SOURCE_SUFFIX))
    published = any(record and record["data"] for record in sources)
    for each in inputs:
        kind = MODELS.get(PurePosixPath(each.label).parent.as_posix())
        if published and kind == "surrogate":
            continue  # the model generates no records
        model: Record = {each.label: {"kind": kind, "sha256": each.sha256}} if kind else {}
        data: Record = model if each.record is None else each.record["data"]
        for origin, known in data.items():
            entry = known | ({"sha256": WITHHELD} if _is_receipt(each.label) else {})
            first, other = found.setdefault(origin, (entry, each.label))
            if entry == first or entry["sha256"] == WITHHELD:
                continue
            if first["sha256"] != WITHHELD:
                raise DataError(
                    f"{other} and {each.label} depend on two states of {origin}; delete both and "
                    "start again: Snakemake recreates them"
                )
            found[origin] = entry, each.label
    return {origin: entry for origin, (entry, _) in sorted(found.items())}


def _is_receipt(name: str) -> bool:
    if not name.startswith(f"{RESULTS}/releases/"):
        return False
    from deniable.release import RECEIPT  # noqa: PLC0415 - most jobs read no release

    return PurePosixPath(name).match(RECEIPT)


def label(path: str) -> str:
    """Return a `path` relative to the project or the workflow; for other files, only the name."""
    file = Path(path)
    if not file.is_absolute():
        return file.as_posix()
    source = Path(os.environ.get(SOURCE_VARIABLE, Path.cwd()))
    folders = (folder for folder in (Path.cwd(), source) if folder in file.parents)
    return next((file.relative_to(folder).as_posix() for folder in folders), file.name)


def _digest_of_values(values: Mapping[str, Any]) -> str:
    return digest_of(json.dumps(values, sort_keys=True, allow_nan=False, separators=(",", ":")))
