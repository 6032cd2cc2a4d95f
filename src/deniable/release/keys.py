"""The key of a release and its place: made once, removed at publication, refused if lost."""

import hashlib
import hmac
import os
import platform
import stat
import warnings
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass as validated

from deniable.errors import DeniableError
from deniable.files import private_folder, sync_to_disk, write_once
from deniable.release.counting import canonical
from deniable.sampling import KEY_BYTES, KeyedDraws, framed, new_key

KEY_FILE: str = "key"


@validated(frozen=True, config=ConfigDict(strict=True, extra="forbid"))
class PlaceOfKey:
    """The place of the key of one `release`. Methods take the `private` folder of the release.

    The `folder` belongs to the owner, and has a folder per release; None is the private folder. The
    `label` is the name with a number from the ledger, because other projects may have a release of
    this name. The release was drawn on the `machine`.
    """

    release: str
    folder: str | None
    label: str
    machine: str

    def file(self, private: Path) -> Path:
        """Return the file of the key, by default in `private`."""
        return (private if self.folder is None else Path(self.folder) / self.label) / KEY_FILE

    def key(self, private: Path) -> bytes:
        """Return the key, by default from the folder `private`; make it if there is none.

        Raises `DeniableError` if another user can write its file.
        """
        if not (file := self.file(private)).exists():
            private_folder(file.parent)
            write_once(file, new_key())
        return _own_content(file)

    def remove(self, private: Path) -> None:
        """Remove the file of the key, and copies that killed processes left in `private`."""
        for file in {private / KEY_FILE, self.file(private)}:
            if file.parent.is_dir():
                for copy in (file, *file.parent.glob(f".{KEY_FILE}.*")):
                    copy.unlink(missing_ok=True)
                sync_to_disk(file.parent)
        if self.folder is None:
            return
        if (own := Path(self.folder) / self.label).is_dir():
            with suppress(OSError):
                own.rmdir()
        elif self.machine != platform.node():
            warnings.warn(
                f"release {self.release!r} was begun on {self.machine}: if {own} is a folder of "
                "that machine alone, remove the key there",
                stacklevel=2,
            )


def _own_content(file: Path) -> bytes:
    try:
        handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError as error:
        raise DeniableError(
            f"{file}: {error.strerror}; a key must be a file of its owner"
        ) from None
    with os.fdopen(handle, "rb") as stream:
        state = os.fstat(stream.fileno())
        if not stat.S_ISREG(state.st_mode) or state.st_uid != os.geteuid() or state.st_mode & 0o077:
            raise DeniableError(
                f"{file}: the key is not this user's alone; another user may have "
                "written it and could then undo the protection; give the release a new name"
            )
        return stream.read()


PUBLIC: str = "public"
PRIVATE: str = "private"
"""Folders of a release: one for publication, one that reveals the original data."""
TEST: str = "test"
"""Folder of a test release of an own file, in place of the public one."""
PROBE = ".probe"


@dataclass(frozen=True)
class ReleaseKey:
    """The key of a release, with the secret `value`."""

    value: bytes = field(repr=False)

    def draws(self, context: Any) -> KeyedDraws:
        """Return the draws for a `context`: plan and records, as plain JSON values."""
        return KeyedDraws(self.value, hashlib.sha256(canonical(context)).digest())

    def digest(self, purpose: str, parts: Iterable[bytes]) -> str:
        """Return a digest of `parts` for a `purpose`; without the key it reveals nothing."""
        own = KeyedDraws(self.value, b"").subkey(f"digest of {purpose}", ())
        return hmac.digest(own, b"".join(framed(parts)), hashlib.sha256).hex()


def key_from_seed(*facts: Any) -> ReleaseKey:
    """Return the key of a test release from `facts`, plain JSON values; it protects nobody."""
    return ReleaseKey(hashlib.sha256(canonical(["deniable key of a seed", *facts])).digest())


def key_for(folder: Path, place: PlaceOfKey, counted: bool) -> ReleaseKey:
    """Return the key of a production release in a `folder`; make it if there is none.

    The operating system's generator makes the key once, before anything is drawn. It is stored in a
    file that only its owner can read (mode 0600), at the `place`. Raises `DeniableError` if the key
    is lost, and the release was `counted` or has traces of a draw. Also if the file system has no
    hard links.
    """
    private = folder / PRIVATE
    file = place.file(private)
    traces = [folder / PUBLIC] if (folder / PUBLIC).exists() else []
    traces += sorted(private.iterdir()) if private.is_dir() else []
    begun = [str(e) for e in traces if not e.name.startswith(".") and e.name != KEY_FILE]
    begun += ["its entry in the ledger"] if counted else []
    if begun and not file.exists():
        raise DeniableError(
            f"release {place.release!r}: {begun[0]} exists, but the key that the release was begun "
            f"with, {file}, does not: a new one could lead to a second draw from the same records. "
            "Restore that file, name the place of the key, or give the release a new name"
        )
    _refuse_no_hard_links(folder)
    if len(value := place.key(private)) != KEY_BYTES:
        raise DeniableError(
            f"{file}: damaged, {len(value)} of {KEY_BYTES} bytes; restore it from a copy, or give "
            "the release a new name"
        )
    return ReleaseKey(value)


def _refuse_no_hard_links(folder: Path) -> None:
    """Make the private folder of the release in a `folder`; leave nothing if hard links fail."""
    private = folder / PRIVATE
    made = [each for each in (private, *private.parents) if not each.exists()]
    try:
        private_folder(private)
        write_once(private / PROBE, b"")
        (private / PROBE).unlink(missing_ok=True)
    except (DeniableError, OSError):
        for each in made:
            with suppress(OSError):
                each.rmdir()
        raise
