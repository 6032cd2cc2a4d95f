"""Make the key of a release once, and refuse other records or another plan under it.

All random numbers of a release follow from its key, its plan and the digest of its records
(`deniable.sampling.keyed`). Digests under the key lie next to it and reveal nothing without it. So
a repeated draw is the same draw. Other records, another plan and a lost key are refused.
"""

import hashlib
import hmac
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deniable.errors import DataError, DeniableError
from deniable.files import kept_private, private_folder, read_json, write_once
from deniable.release.entries import canonical
from deniable.release.key_places import KEY_FILE, PLACE_FILE, KeyPlace
from deniable.sampling import KeyedDraws, framed

PUBLIC: str = "public"
PRIVATE: str = "private"
"""Folders of a release: one to be given away, one that reveals the original data."""
TEST: str = "test"
"""Folder of a test release of an own file, in place of the public one."""
RECORDS_FILE, PLAN_FILE, DRAWN_FILE = "records.json", "plan.json", "drawn.json"
"""Digest of the original records, the plan, and the digest of the protected records."""
BEFORE_A_DRAW = (KEY_FILE, PLACE_FILE, RECORDS_FILE)
WITH_THE_RELEASE = KeyPlace()


@dataclass(frozen=True)
class ReleaseKey:
    """The key of a release, with the secret `value`."""

    value: bytes = field(repr=False)

    def draws(self, context: Any) -> KeyedDraws:
        """Return the draws of a `context` in plain JSON values: the plan and the records."""
        return KeyedDraws(self.value, hashlib.sha256(canonical(context)).digest())

    def digest(self, purpose: str, parts: Iterable[bytes]) -> str:
        """Return a digest of `parts` for a `purpose`; without the key it reveals nothing."""
        own = KeyedDraws(self.value, b"").subkey(f"digest of {purpose}", ())
        found = hmac.new(own, digestmod=hashlib.sha256)
        for part in framed(parts):
            found.update(part)
        return found.hexdigest()


def key_from_seed(*facts: Any) -> ReleaseKey:
    """Return the key of a test release from `facts`, plain JSON values; it protects nobody."""
    return ReleaseKey(hashlib.sha256(canonical(["deniable key of a seed", *facts])).digest())


def key_for(
    release: str, folder: Path, fingerprint: Iterable[bytes], place: KeyPlace = WITH_THE_RELEASE
) -> ReleaseKey:
    """Return the key of a production `release` in a `folder`; make it if the release is new.

    The operating system's generator makes the key once, before anything is drawn. It is stored in a
    file that only its owner can read (mode 0600), at the `place`. Raises `DeniableError` if the
    release was begun with records of another `fingerprint`, or if its key or the digest of its
    records is lost.
    """
    private, begun = folder / PRIVATE, _begun(folder)
    if begun and not (private / PLACE_FILE).exists():
        raise _lost(release, begun[0], "place of the key", private / PLACE_FILE)
    private_folder(private)
    of_release = place.of_release(release, kept_private(private))
    file, records_file = of_release.file(private), private / RECORDS_FILE
    if begun and not records_file.exists():
        raise _lost(release, begun[0], "digest of the records", records_file)
    if (begun or records_file.exists()) and file and not file.exists():
        raise _lost(release, begun[0] if begun else records_file, "key", file)
    key = ReleaseKey(of_release.key(private))
    if not is_stored(records_file, {"records": key.digest("records", fingerprint)}):
        raise DeniableError(
            f"release {release!r} was begun with other records, or with another key: two releases "
            "under one key would reveal which records differ, and their values; give the release "
            "of the corrected file a new name (its epsilon adds to the first one's)"
        )
    return key


def refuse_another_plan(release: str, folder: Path, document: Mapping[str, Any]) -> None:
    """Store the `document` of a plan in the `folder` of a `release`, or refuse another plan.

    Raises `DeniableError` if the folder stores another plan.
    """
    if not is_stored(folder / PRIVATE / PLAN_FILE, document):
        raise DeniableError(
            f"release {release!r} was begun with another plan ({folder / PRIVATE / PLAN_FILE}): "
            "this would be a second draw from the same records. Restore the plan, or give the "
            "release a new name"
        )


def is_stored(file: Path, values: Mapping[str, Any]) -> bool:
    """Return whether a `file` stores `values`; write it first if it does not exist."""
    if not file.exists():
        write_once(file, canonical(dict(values)))
    return stores(file, values)


def stores(file: Path, values: Mapping[str, Any]) -> bool:
    """Return whether a `file` exists and stores `values`; raise `DataError` if it is damaged."""
    try:
        return file.exists() and canonical(read_json(file)) == canonical(dict(values))
    except ValueError:
        raise DataError(
            f"{file}: damaged since it was written; restore it from a copy, or give the release a "
            "new name"
        ) from None


def _begun(folder: Path) -> list[Path]:
    """Return the traces of a draw. A release leaves key, digests and draws in this order."""
    private = folder / PRIVATE
    found = [folder / PUBLIC] if (folder / PUBLIC).exists() else []
    if private.is_dir():
        left = (each for each in sorted(private.iterdir()) if not each.name.startswith("."))
        found += [each for each in left if each.name not in BEFORE_A_DRAW]
    # Releases of old versions had no folders for public and private files.
    return found + [
        file
        for file in folder.glob("*.*")  # a test release leaves provenance metadata there
        if file.is_file() and not file.name.endswith(".provenance.json")
    ]


def _lost(release: str, there: Path, what: str, lost: Path) -> DeniableError:
    return DeniableError(
        f"release {release!r}: {there} exists, but the {what} that the release was begun with, "
        f"{lost}, does not: a new one could lead to a second draw from the same records. Restore "
        "that file, or give the release a new name"
    )
