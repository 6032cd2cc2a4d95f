"""What a published release is held to: the list of its files, and its receipt."""

from pathlib import Path
from typing import Any

from deniable.errors import DataError, DeniableError
from deniable.files import read_json, sha256
from deniable.release.lanes import PRIVATE, PUBLIC

SUMS = "SHA256SUMS"
"""The list of the files of a public folder, in the form of the command sha256sum."""
RECORDS_FILE = "records.json"
"""A digest, under the key, of the records that a release was begun with."""
RECEIPT = f"{PRIVATE}/receipt.json"
"""What a release that is no rehearsal leaves last."""


def sums_of(public: Path) -> dict[str, str]:
    """Return the SHA-256 of each file of a folder `public`, by name, as its list has them.

    Raises
    ------
    DataError
        If that is no such list.
    """
    try:
        lines = (public / SUMS).read_text("utf-8").splitlines()
        return {name: digest for digest, name in (line.split("  ", 1) for line in lines)}
    except ValueError:
        raise DataError(
            f"{public / SUMS}: damaged or edited since it was made; restore what was published "
            "from a copy"
        ) from None


def names_in(public: Path) -> set[str]:
    """Return the names of all in a folder `public` but folders; links are not followed."""
    files = (file for file in public.rglob("*") if file.is_symlink() or not file.is_dir())
    return {file.relative_to(public).as_posix() for file in files}


def receipt_of(release: str, public: Path) -> dict[str, Any]:
    """Return what is known of a `release` in its folder `public`: files, each with its SHA-256."""
    files = {f"{PUBLIC}/{name}": digest for name, digest in sums_of(public).items()}
    listed = {f"{PUBLIC}/{SUMS}": sha256(public / SUMS)}
    return {"release": release, "files": files | listed}


def faults_of_receipt(receipt: Path | str) -> list[str]:
    """Return a line for each published file that is not what its `receipt` says.

    One line, of the receipt, if that is damaged.
    """
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


def refuse_real(release: str, folder: Path) -> None:
    """Raise `DeniableError` if `release`, one that is no rehearsal, was begun in a `folder`."""
    if (folder / PRIVATE / RECORDS_FILE).exists():
        raise DeniableError(
            f"release {release!r} was begun in {folder} as no rehearsal, and cannot be drawn "
            "again; give its rehearsal another name"
        )
