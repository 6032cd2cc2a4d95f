"""Compare published releases with their lists of files, their receipts and their settings."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from deniable.errors import DataError, DeniableError
from deniable.files import MARK_OF_FOLDERS, read_json, sha256, write_json
from deniable.release.counted import ENTRY_FILE, JOURNAL_FILE, entry_of
from deniable.release.counting import Ledger
from deniable.release.keys import KEY_FILE, PRIVATE, PUBLIC

SUMS = "SHA256SUMS"
"""The list of the files of a public folder, in the format of the command sha256sum."""
WITHDRAWN = "WITHDRAWN.txt"
"""The note in a public folder that withdraws the release; not a file of the release itself."""
RECEIPT = f"{PRIVATE}/receipt.json"
"""The last file of a production release."""
STATES_FILE = "published.json"
"""Sizes and times of the public files, and of the original ones, at publication."""
OF_PRODUCTION = (KEY_FILE, ENTRY_FILE, JOURNAL_FILE, "receipt.json")
"""Private files of a production release alone."""


def sums_of(public: Path) -> dict[str, str]:
    """Return the SHA-256 of each file listed in a `public` folder, or raise `DataError`."""
    try:
        lines = (public / SUMS).read_text("utf-8").splitlines()
        return {name: digest for digest, name in (line.split("  ", 1) for line in lines)}
    except (OSError, ValueError):
        raise DataError(
            f"{public / SUMS}: missing, damaged or edited since it was made; restore the "
            "published folder from a copy"
        ) from None


def names_in(public: Path) -> set[str]:
    """Return the names of all files and links below a `public` folder; links are not followed.

    A note that withdraws the release is left out.
    """
    files = (file for file in public.rglob("*") if file.is_symlink() or not file.is_dir())
    names = {file.relative_to(public).as_posix() for file in files}
    return names if (public / WITHDRAWN).is_symlink() else names - {WITHDRAWN}


def withdrawal_of(public: Path | str) -> str | None:
    """Return the first line of the note that withdraws the release in a `public` folder, if any."""
    note = Path(public) / WITHDRAWN
    if not note.is_file():
        return None
    return note.read_text("utf-8", errors="replace").partition("\n")[0]


def refuse_other_files(public: Path) -> None:
    """Raise `DataError` with each file of `public` that is missing, unlisted, a link or edited."""
    listed = sums_of(public) if (public / SUMS).is_file() else {}
    there = names_in(public) - {MARK_OF_FOLDERS}
    faults = [f"{public / name}: missing" for name in sorted({SUMS, *listed} - there)]
    faults += [f"{public / name}: not in its list" for name in sorted(there - {SUMS, *listed})]
    faults += [f"{public / name}: a link" for name in listed if (public / name).is_symlink()]
    faults += [
        f"{public / name}: damaged or edited since it was made"
        for name, digest in listed.items()
        if name in there and (public / name).is_file() and sha256(public / name) != digest
    ]
    if faults:
        raise DataError("\n".join([*faults, "restore the published folder from a copy"]))


def receipt_of(release: str, public: Path) -> dict[str, Any]:
    """Return the receipt of a `release`: the SHA-256 of each file of its `public` folder."""
    files = {f"{PUBLIC}/{name}": digest for name, digest in sums_of(public).items()}
    return {"release": release, "files": files | {f"{PUBLIC}/{SUMS}": sha256(public / SUMS)}}


def faults_of_receipt(receipt: Path | str) -> list[str]:
    """Return one line per published file that differs from its `receipt`, or for the receipt."""
    folder = Path(receipt).parent.parent
    try:
        files = dict(read_json(receipt)["files"].items())
    except (ValueError, LookupError, TypeError, AttributeError):
        return [f"{receipt}: damaged or edited since it was made; restore it from a copy"]
    added = {f"{PUBLIC}/{name}" for name in names_in(folder / PUBLIC)} - set(files)
    return [
        f"{folder / name}: missing, or edited since it was published; restore it from a copy"
        for name, digest in files.items()
        if not (folder / name).is_file() or sha256(folder / name) != digest
    ] + [f"{folder / name}: not published; take it away" for name in sorted(added)]


def refuse_production(release: str, folder: Path) -> None:
    """Raise `DeniableError` if a production `release` was begun in a `folder`."""
    if any((folder / PRIVATE / name).exists() for name in OF_PRODUCTION):
        raise DeniableError(
            f"release {release!r} was begun in {folder} as a production release, which is drawn "
            "once; give the test release another name"
        )


def refuse_test(release: str, folder: Path) -> None:
    """Raise `DeniableError` if a `folder` holds a test release in place of a `release`."""
    if any((folder / PRIVATE / name).exists() for name in OF_PRODUCTION):
        return
    block = _content(folder / PUBLIC / "plan.json").get("release")
    if isinstance(block, dict) and block.get("mode") == "test":
        raise DeniableError(
            f"release {release!r}: {folder} holds a test release of this name; delete that folder, "
            "or give the production release another name"
        )


def state_of(path: Path) -> Any:
    """Return size and time of a file, or of all files below a folder; None if no `path` exists."""
    if path.is_dir():
        return _states(path)
    return [path.stat().st_size, path.stat().st_mtime_ns] if path.is_file() else None


def store_states(folder: Path, records: Any = None) -> None:
    """Store sizes and times of the public files of the release in a `folder`.

    `records` is the state of the file with the original records; by default it stays as stored.
    """
    states = {"public": _states(folder / PUBLIC), "records": records or stored_records(folder)}
    write_json(folder / PRIVATE / STATES_FILE, states, private=True)


def stored_records(folder: Path) -> Any:
    """Return the state of the original records that a release's `folder` stores, or None."""
    return _content(folder / PRIVATE / STATES_FILE).get("records")


def faults_of_files(folder: Path) -> list[str]:
    """Return one line per public file in a release's `folder` that changed since publication.

    Files are read, and their states stored again, only if a size or a time changed.
    """
    public, stored = folder / PUBLIC, _content(folder / PRIVATE / STATES_FILE)
    if not public.is_dir():
        return [f"{public}: published, and missing now; restore it from a copy"]
    if stored.get("public") == _states(public):
        return []
    try:
        refuse_other_files(public)
    except DataError as error:
        return str(error).splitlines()
    if not (faults := faults_of_receipt(folder / RECEIPT)):
        store_states(folder)
    return faults


def fault_of_records(path: Path, folder: Path, ledger: Ledger) -> str | None:
    """Return a message if the file at a `path` has other records than the published ones.

    It is read only if its size or time changed since publication. A missing file is not compared.
    The release is in a `folder`, and its entry in the `ledger`.
    """
    from deniable.plans import read_plan  # noqa: PLC0415 - slow to import, rarely needed
    from deniable.release.records import OriginalRecords  # noqa: PLC0415

    state, why = state_of(path), ""
    if state in (None, stored_records(folder)):
        return None
    try:
        stored = entry_of(folder)
        entry = ledger.entries(stored["population"])[stored["entry"] - 1]
        found = OriginalRecords(path, read_plan(folder / PUBLIC / "plan.json")).read(ledger.key)
        if found is not None and found.whole == entry.records.whole:
            store_states(folder, state)
            return None
    except DeniableError as error:
        why = f" ({error})"
    return (
        f"{path}: other records than the ones published in {folder / PUBLIC}{why}. Restore the "
        "file, or give the release of the corrected records a new name"
    )


def refuse_other_settings(release: str, folder: Path, settings: Mapping[str, Any]) -> None:
    """Raise `DeniableError` if a `release` in a `folder` was published by other `settings`.

    Also if the entry of the release is missing or damaged.
    """
    published = entry_of(folder).get("settings") if (folder / PUBLIC).exists() else None
    if not isinstance(published, dict):
        return
    # A missing file has no digest, and settings without a digest are not compared.
    names = [n for n in {**published, **settings} if settings.get(n, ...) is not None]
    if changed := [name for name in names if published.get(name) != settings.get(name)]:
        raise DeniableError(
            f"release {release!r} is published in {folder / PUBLIC} with another "
            f"{' and '.join(changed)}; a second draw from the same records would add to the "
            "information in the first one. Restore the settings, or give the release a new name"
        )


def _content(file: Path) -> dict[str, Any]:
    try:
        found = read_json(file)
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _states(public: Path) -> dict[str, list[int]]:
    names = sorted(names_in(public) - {MARK_OF_FOLDERS})
    states = ((name, (public / name).lstat()) for name in names)
    return {name: [state.st_size, state.st_mtime_ns] for name, state in states}
