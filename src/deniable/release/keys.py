"""The key of a release: made once, kept from everybody, and what a begun release is held to.

All that is drawn for a release follows from its key, its plan and its records
(`deniable.sampling.keyed`). Beside the key lie digests under it, which tell nothing to whoever has
no key: of the records, and of the design that they are drawn by. So a draw that is repeated is the
same draw; other records under a begun release, another design of one that was drawn, and a draw
whose key is lost are refused.
"""

import hashlib
import hmac
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from deniable.errors import DeniableError
from deniable.files import kept_private, read_json, write_once
from deniable.records import Microdata, NumericMicrodata
from deniable.release.key_places import KeyPlace
from deniable.release.lanes import PRIVATE, PUBLIC
from deniable.release.settings import AnyRelease
from deniable.sampling import KeyedDraws

RECORDS_FILE, PLAN_FILE, DRAWN_FILE = "records.json", "plan.json", "drawn.json"
"""Digests of what a release was begun with, of what it is drawn by, and of what was drawn."""
WITH_THE_RELEASE = KeyPlace()

Records = Microdata | NumericMicrodata


@dataclass(frozen=True)
class ReleaseKey:
    """The key of a release."""

    value: bytes = field(repr=False)

    def draws(self, plan: Any) -> KeyedDraws:
        """Return what is drawn from, for a plan in plain JSON values."""
        return KeyedDraws(self.value, hashlib.sha256(canonical(plan)).digest())

    def digest(self, purpose: str, parts: Iterator[bytes]) -> str:
        """Return a digest of parts under the key: without it nothing can be told from it."""
        own = KeyedDraws(self.value, b"").subkey(f"digest of {purpose}", ())
        found = hmac.new(own, digestmod=hashlib.sha256)
        for part in parts:
            found.update(len(part).to_bytes(8, "big") + part)
        return found.hexdigest()


def key_of_seed(*facts: Any) -> ReleaseKey:
    """Return the key that follows from plain JSON values: it protects nobody."""
    return ReleaseKey(hashlib.sha256(canonical(["deniable key of a seed", *facts])).digest())


def key_for(
    release: AnyRelease,
    root_seed: int,
    folder: Path | str,
    records: Records,
    place: KeyPlace = WITH_THE_RELEASE,
) -> ReleaseKey:
    """Return the key of a release; make it, if the release is only now begun.

    That of a rehearsal follows from the root seed, so that it protects nobody. Any other comes from
    the operating system, once, into a file that its owner alone may read (mode 0600), before
    anything is drawn.

    Parameters
    ----------
    folder : path
        That of the release.
    records : Microdata or NumericMicrodata
        The true records.
    place : KeyPlace, optional
        Where the key lies; by default with what else the release's owner alone may have.

    Raises
    ------
    DeniableError
        If the release was begun with other records, or if its key, or what says which records it
        was begun with, is lost.
    """
    if release.rehearsal:
        return key_of_seed(root_seed, "rehearsal", release.name)
    own = Path(folder) / PRIVATE
    _refuse_lost(release, Path(folder), place)
    key = ReleaseKey(place.key(release.name, kept_private(own)))
    if not _held(own / RECORDS_FILE, {"records": key.digest("records", parts_of(records))}):
        raise DeniableError(
            f"release {release.name!r} was begun with other records, or with another key: whoever "
            "has both files would see which records differ, and what they were; give the corrected "
            "file's release a new name (its epsilon adds to the first one's)"
        )
    return key


def hold_to_design(
    release: AnyRelease, folder: Path | str, key: ReleaseKey, design: Mapping[str, Any]
) -> None:
    """Hold a release, which is no rehearsal, to the design that its records are drawn by.

    Raises
    ------
    DeniableError
        If it was drawn by another one.
    """
    plan = canonical([release.stated(), dict(design)])
    if not _held(Path(folder) / PRIVATE / PLAN_FILE, {"plan": key.digest("plan", iter([plan]))}):
        raise DeniableError(
            f"release {release.name!r} was drawn by another design or other settings: this would "
            "be a second draw from the same records. Restore what it was begun with, or give the "
            "release a new name"
        )


def _held(file: Path, own: dict[str, str]) -> bool:
    """Return whether a file says this; it is written if it is not there."""
    if not file.exists():
        write_once(file, canonical(own))
    return bool(read_json(file) == own)


def _refuse_lost(release: AnyRelease, folder: Path, place: KeyPlace) -> None:
    # Looked at first: whoever begins it meanwhile leaves key, digests and draws in this order.
    private = folder / PRIVATE
    drawn = [folder / PUBLIC, *(private / name for name in (PLAN_FILE, DRAWN_FILE))]
    begun = [file for file in drawn if file.exists()]
    # Before there were folders of what is public and what is private.
    begun += [file for file in folder.glob("*.*") if _of_earlier_layout(file)]
    records = private / RECORDS_FILE
    key = place.file(release.name, private)
    named = [*begun, records] if records.exists() else begun
    lost = [("digest of the records", records)] if begun and not records.exists() else []
    lost += [("key", key)] if named and key and not key.exists() else []
    for what, file in lost:
        raise DeniableError(
            f"release {release.name!r}: {named[0]} is there, but the {what} that it was begun "
            f"with, {file}, is not: what is missing could be a second draw from the same records. "
            "Restore that file, or give the release a new name"
        )


def _of_earlier_layout(file: Path) -> bool:
    # A rehearsal that was there leaves records of provenance.
    return file.is_file() and not file.name.endswith(".provenance.json")


def refuse_real(release: str, folder: Path) -> None:
    """Raise `DeniableError` if a release that is no rehearsal was begun in a folder."""
    if (folder / PRIVATE / RECORDS_FILE).exists():
        raise DeniableError(
            f"release {release!r} was begun in {folder} as no rehearsal, and cannot be drawn "
            "again; give its rehearsal another name"
        )


def canonical(plan: Any) -> bytes:
    """Return plain JSON values in the one form that digests are of."""
    return json.dumps(plan, sort_keys=True, ensure_ascii=True, allow_nan=False).encode()


def parts_of(records: Records) -> Iterator[bytes]:
    """Yield what records say, whatever file or order of columns they were read from."""
    if isinstance(records, Microdata):
        for name in sorted(records.domain.names):
            yield name.encode()
            yield canonical(list(records.domain[name].categories))
            yield np.ascontiguousarray(records.column(name), dtype="<u4").tobytes()
        return
    for name in sorted(records.names):
        yield name.encode()
        yield np.ascontiguousarray(records.column(name), dtype="<f8").tobytes()
    if records.classes:
        yield canonical(list(records.classes))
        yield np.ascontiguousarray(records.labels, dtype="<u4").tobytes()
