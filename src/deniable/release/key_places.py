"""The place of the key of a release, until publication removes the key."""

import os
import platform
import stat
import subprocess
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from deniable.errors import DeniableError
from deniable.files import private_folder, sync_folder, write_once
from deniable.sampling import KEY_BYTES, new_key

KEY_FILE: str = "key"
PRINTABLE = range(32, 127)


@dataclass(frozen=True)
class KeyPlace:
    """The place of keys: by default the private folder of each release.

    Otherwise it is a `folder` of the owner, for example in memory, with a folder for each release;
    or a `command`, a program and its arguments, that prints the key of a release: 32 bytes or 64
    hexadecimal digits. Its last argument is the label of the release. It prints the same key for
    the same label.
    """

    folder: str | None = None
    command: Sequence[str] = ()

    def of_release(self, release: str, label: str) -> "PlaceOfKey":
        """Return the place of the key of a `release` with a `label`, on this machine."""
        return PlaceOfKey(release, self.folder, list(self.command), label, platform.node())


@dataclass(frozen=True)
class PlaceOfKey:
    """The place of the key of one `release`. Methods take the `private` folder of the release.

    For `folder` and `command` see `KeyPlace`. The `label` is the name with a number that follows
    from the ledger, because other projects may have a release of this name. The `machine` drew the
    release.
    """

    release: str
    folder: str | None
    command: Sequence[str]
    label: str
    machine: str

    def file(self, private: Path) -> Path | None:
        """Return the file of the key, by default in `private`; None if a command prints the key."""
        if self.command:
            return None
        own = private if self.folder is None else Path(self.folder) / self.label
        return own / KEY_FILE

    def key(self, private: Path) -> bytes:
        """Return the key, by default from the folder `private`; make it if there is none.

        Raises `DeniableError` if its length is wrong, another user can write its file, or the
        command fails.
        """
        file = self.file(private)
        if file is None:
            return self._printed()
        if not file.exists():
            private_folder(file.parent)
            write_once(file, new_key())
        return _own_content(file)

    def remove(self, private: Path) -> None:
        """Remove the file of the key, and copies that killed processes left in `private`."""
        places = {private / KEY_FILE, self.file(private) or private / KEY_FILE}
        for file in places:
            if file.parent.is_dir():
                for copy in (file, *file.parent.glob(f".{KEY_FILE}.*")):
                    copy.unlink(missing_ok=True)
                sync_folder(file.parent)
        if self.folder is None:
            return
        own = Path(self.folder) / self.label
        if own.is_dir():
            with suppress(OSError):
                own.rmdir()
        elif self.machine != platform.node():
            warnings.warn(
                f"release {self.release!r} was begun on {self.machine}: if {own} is a folder of "
                "that machine alone, remove the key there",
                stacklevel=2,
            )

    def _printed(self) -> bytes:
        # No message contains the output, which may be a key.
        named = f"release {self.release!r}: the command for its key, {self.command[0]},"
        try:
            done = subprocess.run([*self.command, self.label], check=True, stdout=subprocess.PIPE)
        except (OSError, subprocess.CalledProcessError) as error:
            why = getattr(error, "strerror", None) or f"exit {getattr(error, 'returncode', '')}"
            raise DeniableError(f"{named} failed ({why})") from None
        key = done.stdout
        with suppress(ValueError):
            key = bytes.fromhex(done.stdout.decode("ascii"))
        # 32 letters are a message and not a key.
        if len(key) != KEY_BYTES or all(each in PRINTABLE for each in key):
            raise DeniableError(
                f"{named} printed {len(done.stdout)} bytes that are not a key; allowed: "
                f"{KEY_BYTES} random ones, or {2 * KEY_BYTES} hexadecimal digits"
            )
        return key


def _own_content(file: Path) -> bytes:
    """Return the content of a file that no other user can write."""
    try:
        handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError as error:
        raise DeniableError(f"{file}: {error.strerror}; a key is a file of its owner's") from None
    with os.fdopen(handle, "rb") as stream:
        state = os.fstat(stream.fileno())
        if not stat.S_ISREG(state.st_mode) or state.st_uid != os.geteuid() or state.st_mode & 0o077:
            raise DeniableError(
                f"{file}: the key is not this user's alone; another user may have "
                "written it and could then undo the protection; give the release a new name"
            )
        return stream.read()
