"""The key of a release: made once, kept from everybody, and what a begun release is held to.

All that is drawn for a release follows from its key, its plan and its records
(`deniable.sampling.keyed`). Beside the key lie digests under it, which tell nothing to whoever has
no key: of the records, and of what was drawn. So a draw that is repeated is the same draw; another
plan, other records under a begun release, and a draw whose key is lost are refused.
"""

import hashlib
import hmac
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from deniable.errors import DeniableError
from deniable.files import read_json, write_once
from deniable.records import Microdata, NumericMicrodata
from deniable.release.settings import AnyRelease
from deniable.sampling import KeyedDraws, new_key

PRIVATE = "private"
"""The folder, in that of a release, of what its owner alone may have."""
KEY_FILE, STATE_FILE = "key", "state.json"
BEGUN = ("channels.json", "release.json", "views.json", "protected.parquet", "protected.csv")
"""What a release has that was begun."""

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
    release: AnyRelease, root_seed: int, folder: Path | str, records: Records
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

    Raises
    ------
    DeniableError
        If the release was begun with other records, or its key is lost.
    """
    if release.rehearsal:
        return key_of_seed(root_seed, "rehearsal", release.name)
    file = Path(folder) / PRIVATE / KEY_FILE
    if not file.exists():
        _refuse_without_key(release, Path(folder))
        write_once(file, new_key())
    key = ReleaseKey(file.read_bytes())
    state = Path(folder) / PRIVATE / STATE_FILE
    own = {"records": key.digest("records", _canonical_records(records))}
    if not state.exists():
        write_once(state, canonical(own))
    if read_json(state) != own:
        raise DeniableError(
            f"release {release.name!r} was begun with other records: whoever has both files would "
            "see which records differ, and what they were; give the corrected file's release a new "
            "name (its epsilon adds to the first one's)"
        )
    return key


def _refuse_without_key(release: AnyRelease, folder: Path) -> None:
    begun = [name for name in BEGUN if (folder / name).exists()]
    if begun:
        raise DeniableError(
            f"release {release.name!r}: {folder / begun[0]} is there, but the key that it was "
            f"drawn by, {folder / PRIVATE / KEY_FILE}, is not; drawn by another key, what is "
            "missing would be a second draw from the same records. Restore the key or the missing "
            "files, or give the release a new name; if the first was never published, delete its "
            "folder"
        )


def canonical(plan: Any) -> bytes:
    """Return plain JSON values in the one form that digests are of."""
    return json.dumps(plan, sort_keys=True, ensure_ascii=True, allow_nan=False).encode()


def _canonical_records(records: Records) -> Iterator[bytes]:
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
