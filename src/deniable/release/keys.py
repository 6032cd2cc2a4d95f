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
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from deniable.errors import DeniableError
from deniable.files import read_json, write_once
from deniable.records import Microdata, NumericMicrodata
from deniable.release.lanes import LANES
from deniable.release.settings import AnyRelease
from deniable.sampling import KeyedDraws, new_key

PRIVATE = "private"
"""The folder, in that of a release, of what its owner alone may have, unless another is named."""
KEY_FILE, STATE_FILE, PLAN_FILE = "key", "state.json", "plan.json"
BEGUN = tuple(dict.fromkeys(file for lane in LANES.values() for file in lane.left))
"""What a release has that was begun: any of these."""

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
    design: Any = None,
    private: Path | str | None = None,
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
    design : plain JSON values, optional
        What the records are to be drawn by now.
    private : path, optional
        Where the key lies, and what goes with it; by default in the folder of the release.

    Raises
    ------
    DeniableError
        If the release was begun with other records, or drawn by another design, or if its key, or
        what says which records it was begun with, is lost.
    """
    if release.rehearsal:
        return key_of_seed(root_seed, "rehearsal", release.name)
    own = Path(folder) / PRIVATE if private is None else Path(private)
    _refuse_lost(release, Path(folder), own)
    if not (own / KEY_FILE).exists():
        write_once(own / KEY_FILE, new_key())
    key = ReleaseKey((own / KEY_FILE).read_bytes())
    if not _held(own / STATE_FILE, {"records": key.digest("records", _parts(records))}):
        raise DeniableError(
            f"release {release.name!r} was begun with other records: whoever has both files would "
            "see which records differ, and what they were; give the corrected file's release a new "
            "name (its epsilon adds to the first one's)"
        )
    if design is not None:
        plan = canonical([release.model_dump(), design])
        if not _held(own / PLAN_FILE, {"plan": key.digest("plan", iter([plan]))}):
            raise DeniableError(
                f"release {release.name!r} was drawn by another design or other settings: this "
                "would be a second draw from the same records. Restore what the first design left, "
                "or give the release a new name; if the first was never published, delete "
                f"{folder} and {own}"
            )
    return key


def _held(file: Path, own: dict[str, str]) -> bool:
    """Return whether a file says this; it is written if it is not there."""
    if not file.exists():
        write_once(file, canonical(own))
    return bool(read_json(file) == own)


def _refuse_lost(release: AnyRelease, folder: Path, private: Path) -> None:
    # Looked at first: whoever begins it meanwhile leaves key, digests and draws in this order.
    later = [private / name for name in (STATE_FILE, PLAN_FILE)]
    there = [file for file in (*(folder / name for name in BEGUN), *later) if file.exists()]
    for what, name in (("key", KEY_FILE), ("digest of the records", STATE_FILE)):
        lost = private / name
        begun = [file for file in there if file != later[0] or name == KEY_FILE]
        if begun and not lost.exists():
            raise DeniableError(
                f"release {release.name!r}: {begun[0]} is there, but the {what} that it was begun "
                f"with, {lost}, is not: what is missing could be a second draw from the same "
                "records. Restore that file, or give the release a new name; if the first was "
                f"never published, delete {folder} and {private}"
            )


def canonical(plan: Any) -> bytes:
    """Return plain JSON values in the one form that digests are of."""
    return json.dumps(plan, sort_keys=True, ensure_ascii=True, allow_nan=False).encode()


def _parts(records: Records) -> Iterator[bytes]:
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
