"""The place of the key of a release, until publication removes the key."""

import os
import platform
import stat
import warnings
from contextlib import suppress
from pathlib import Path

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

from deniable.errors import DeniableError
from deniable.files import private_folder, sync_folder, write_once
from deniable.sampling import new_key

KEY_FILE: str = "key"


@dataclass(frozen=True)
class KeyPlace:
    """The place of keys: by default the private folder of each release.

    Otherwise it is a `folder` of the owner, for example in memory, with one folder per release.
    """

    folder: str | None = None

    def of_release(self, release: str, label: str) -> "PlaceOfKey":
        """Return the place of the key of a `release` with a `label`, on this machine."""
        return PlaceOfKey(release, self.folder, label, platform.node())


@dataclass(frozen=True, config=ConfigDict(strict=True, extra="forbid"))
class PlaceOfKey:
    """The place of the key of one `release`. Methods take the `private` folder of the release.

    For the `folder` see `KeyPlace`. The `label` is the name with a number from the ledger, because
    other projects may have a release of this name. The release was drawn on the `machine`.
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
                sync_folder(file.parent)
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
