"""Compare every result with the provenance metadata stored next to it. Part of ``make check``."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from deniable.errors import DataError
from deniable.release import PRIVATE, PUBLIC, RECEIPT

from reproduction.pipeline import (
    SOURCE_SUFFIX,
    SUFFIX,
    WITHHELD,
    Verified,
    provenance_path,
    verified,
)

# Not outputs of jobs, or outputs that no job reads: published files, logs, times, Snakemake's page
# and the text of `make compare`.
APART = ("data/raw/", "logs/", "benchmarks/", "snakemake-report.html", "comparison.md")


def results(folder: Path) -> Iterator[Path]:
    """Yield the results of jobs in a folder: files, and folders that are one result."""
    for path in sorted(folder.iterdir()):
        if path.is_dir() and not provenance_path(path).exists():
            yield from results(path)
        elif not path.name.endswith(SUFFIX) and not path.name.startswith("."):
            yield path


def is_apart(path: Path, folder: Path) -> bool:
    """Return whether a path in the folder of results is not a result.

    The result of a production release is its receipt, which has the hashes of its other files.
    """
    name = path.relative_to(folder).as_posix()
    match name.split("/"):
        case ["releases", release, own, _, *_] if own in (PUBLIC, PRIVATE):
            return not path.match(RECEIPT) and not is_test(folder / "releases" / release)
    return name.startswith(APART) and not name.endswith(SOURCE_SUFFIX)


def is_test(release: Path) -> bool:
    """Return whether the release in a folder is known to be a test release."""
    plan = release / PUBLIC / "plan.json"
    # Read as bytes, because it may be damaged.
    return plan.is_file() and b'"mode": "test"' in plan.read_bytes()


def faults_of_published(folder: Path) -> Iterator[str]:
    """Yield a line for each folder that is published without a receipt."""
    for public in sorted(folder.glob(f"releases/*/{PUBLIC}")):
        receipt = public.parent / RECEIPT
        known = provenance_path(public).exists() or is_test(public.parent)
        if not known and not receipt.exists():
            yield f"{public}: published, but {receipt} is missing; run make again"


def faults_of_files(folder: Path) -> tuple[list[str], dict[str, Verified]]:
    """Compare every result with its provenance metadata.

    Returns
    -------
    list of str
        One line per result that differs from its metadata, or has none.
    dict of path to Verified
        The other results.
    """
    faults, sound = [], {}
    for path in results(folder) if folder.is_dir() else ():
        if is_apart(path, folder):
            continue
        try:
            (file,) = verified([str(path)])
        except DataError as error:
            faults.append(str(error))
            continue
        if file.record is None:
            faults.append(f"{path}: has no {provenance_path(path).name}; delete it, run make again")
        sound[file.label] = file
    faults += faults_of_published(folder)
    return faults, sound


def behind(wanted: Iterable[str], files: dict[str, Verified]) -> dict[str, Verified]:
    """Return the `wanted` results, and all results from which they were made."""
    found: dict[str, Verified] = {}
    pending = list(wanted)
    while pending:
        path = pending.pop()
        if path in files and path not in found:
            found[path] = files[path]
            pending += (files[path].record or {"inputs": {}})["inputs"]
    return found


def faults_of_ancestry(wanted: Iterable[str], files: dict[str, Verified]) -> list[str]:
    """Return one line per result, or input behind it, that was made from another input state."""
    return sorted(
        f"{path}: made from another state of {name}; run make again"
        for path, file in behind(wanted, files).items()
        for name, digest in (file.record or {"inputs": {}})["inputs"].items()
        if name in files and digest not in (WITHHELD, files[name].sha256)
    )
