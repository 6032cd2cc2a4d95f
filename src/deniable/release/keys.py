"""The key of a release: made once, kept from everybody, and what a begun release is held to.

All that is drawn for a release follows from its key, its plan and its records
(`deniable.sampling.keyed`). Beside the key lie digests under it, which tell nothing to whoever has
no key: of the records, and of the design that they are drawn by. So a draw that is repeated is the
same draw; other records under a begun release, another design of one that was drawn, and a draw
whose key is lost are refused.
"""

import hashlib
import hmac
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from deniable.errors import DeniableError
from deniable.files import kept_private, read_json, write_once
from deniable.records import Microdata, NumericMicrodata
from deniable.release.durable import private_folder
from deniable.release.entries import canonical
from deniable.release.key_places import KEY_FILE, PLACE_FILE, KeyPlace
from deniable.release.lanes import PRIVATE, PUBLIC
from deniable.release.overlap import InPortions
from deniable.release.receipts import RECORDS_FILE
from deniable.release.settings import AnyRelease
from deniable.sampling import KeyedDraws, framed

PLAN_FILE, DRAWN_FILE = "plan.json", "drawn.json"
"""Digests of what a release is drawn by, and of what was drawn."""
BEFORE_A_DRAW = (KEY_FILE, PLACE_FILE, RECORDS_FILE)
WITH_THE_RELEASE: KeyPlace = KeyPlace()

Records = Microdata | NumericMicrodata | InPortions


@dataclass(frozen=True)
class ReleaseKey:
    """The key of a release.

    Attributes
    ----------
    value : bytes, optional
    """

    value: bytes = field(repr=False)

    def draws(self, plan: Any) -> KeyedDraws:
        """Return what is drawn from, for a `plan` in plain JSON values."""
        return KeyedDraws(self.value, hashlib.sha256(canonical(plan)).digest())

    def digest(self, purpose: str, parts: Iterator[bytes]) -> str:
        """Return a digest of `parts` for a `purpose`: without the key it tells nothing."""
        own = KeyedDraws(self.value, b"").subkey(f"digest of {purpose}", ())
        found = hmac.new(own, digestmod=hashlib.sha256)
        for part in framed(parts):
            found.update(part)
        return found.hexdigest()


def key_of_seed(*facts: Any) -> ReleaseKey:
    """Return the key that follows from `facts`, plain JSON values: it protects nobody."""
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
    release : settings
    root_seed : int
        Of the config, for rehearsals alone.
    folder : path
        That of the release.
    records : Microdata, NumericMicrodata or InPortions
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
    begun = _begun(Path(folder))
    if begun and not (own / PLACE_FILE).exists():
        raise _lost(release, begun[0], "place of the key", own / PLACE_FILE)
    private_folder(own)
    of_release = place.of_release(release.name, kept_private(own))
    file = of_release.file(own)
    records_file = own / RECORDS_FILE
    if begun and not records_file.exists():
        raise _lost(release, begun[0], "digest of the records", records_file)
    if (begun or records_file.exists()) and file and not file.exists():
        raise _lost(release, begun[0] if begun else records_file, "key", file)
    key = ReleaseKey(of_release.key(own))
    if not held(own / RECORDS_FILE, {"records": key.digest("records", parts_of(records))}):
        raise DeniableError(
            f"release {release.name!r} was begun with other records, or with another key: whoever "
            "has both files would see which records differ, and what they were; give the corrected "
            "file's release a new name (its epsilon adds to the first one's)"
        )
    return key


def hold_to_design(
    release: AnyRelease, folder: Path | str, key: ReleaseKey, design: Mapping[str, Any]
) -> None:
    """Hold a `release` in a `folder`, no rehearsal, to the `design` by which its `key` draws.

    Raises
    ------
    DeniableError
        If it was drawn by another one.
    """
    plan = canonical([release.stated(), dict(design)])
    if not held(Path(folder) / PRIVATE / PLAN_FILE, {"plan": key.digest("plan", iter([plan]))}):
        raise DeniableError(
            f"release {release.name!r} was drawn by another design or other settings: this would "
            "be a second draw from the same records. Restore what it was begun with, or give the "
            "release a new name"
        )


def held(file: Path, own: dict[str, str]) -> bool:
    """Return whether a `file` says `own`, digests by name; it is put there once, if not there."""
    if not file.exists():
        write_once(file, canonical(own))
    return bool(read_json(file) == own)


def _begun(folder: Path) -> list[Path]:
    """Return what is there of a draw. Whoever begins it leaves key, digests and draws in order."""
    private = folder / PRIVATE
    found = [folder / PUBLIC] if (folder / PUBLIC).exists() else []
    if private.is_dir():
        left = (each for each in sorted(private.iterdir()) if not each.name.startswith("."))
        found += [each for each in left if each.name not in BEFORE_A_DRAW]
    # Before there were folders of what is public and what is private.
    return found + [file for file in folder.glob("*.*") if _of_earlier_layout(file)]


def _lost(release: AnyRelease, there: Path, what: str, lost: Path) -> DeniableError:
    return DeniableError(
        f"release {release.name!r}: {there} is there, but the {what} that it was begun with, "
        f"{lost}, is not: what is missing could be a second draw from the same records. Restore "
        "that file, or give the release a new name"
    )


def _of_earlier_layout(file: Path) -> bool:
    # A rehearsal that was there leaves records of provenance.
    return file.is_file() and not file.name.endswith(".provenance.json")


def parts_of(records: Records) -> Iterator[bytes]:
    """Yield what `records` say, whatever file or order of columns they were read from."""
    if isinstance(records, Microdata):
        for name in sorted(records.domain.names):
            yield name.encode()
            yield canonical(list(records.domain[name].categories))
            yield np.ascontiguousarray(records.column(name), dtype="<u4").tobytes()
        return
    if not isinstance(records, NumericMicrodata):
        yield from records.parts()
        return
    for name in sorted(records.names):
        yield name.encode()
        yield np.ascontiguousarray(records.column(name), dtype="<f8").tobytes()
    if records.classes:
        yield canonical(list(records.classes))
        yield np.ascontiguousarray(records.labels, dtype="<u4").tobytes()
