"""Where the key of a release lies while the release is made."""

import os
import platform
import secrets
import stat
import subprocess
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from deniable.errors import DeniableError
from deniable.files import private_folder, read_json, sync_folder, write_once
from deniable.release.entries import canonical
from deniable.sampling import KEY_BYTES, new_key

KEY_FILE: str = "key"
PLACE_FILE: str = "place.json"
PRINTABLE = range(32, 127)


@dataclass(frozen=True)
class KeyPlace:
    """Where keys are to lie: with each release, in a folder of the owner's, or behind a command.

    Attributes
    ----------
    folder : str, optional
        Of the owner's, such as one in memory: keys lie there, in a folder of each release's.
    command : sequence of str
        With the label of the release as its last argument it prints that one's key, 32 bytes or 64
        hexadecimal digits: a new one when it is asked first, the same for good.

    A label is the release's name with a random number, so that a release of the same name in
    another project never has the same key.
    """

    folder: str | None = None
    command: Sequence[str] = ()

    def of_release(self, release: str, private: Path) -> "PlaceOfKey":
        """Return where the key of a `release` lies, begun in the folder `private`; for good."""
        file = private / PLACE_FILE
        if not file.exists():
            label = f"{release}-{secrets.token_hex(8)}"
            command = list(self.command)
            begun = PlaceOfKey(release, self.folder, command, label, platform.node())
            write_once(file, canonical(asdict(begun)))
        return PlaceOfKey(**read_json(file))


@dataclass(frozen=True)
class PlaceOfKey:
    """Where the key of one release lies.

    Attributes
    ----------
    release : str
        Its name.
    folder, command
        As `KeyPlace` has them.
    label : str
        The name with a random number.
    machine : str
        On which it was begun.

    Methods are told the `private` folder of the release, where the key lies if nothing is said.
    """

    release: str
    folder: str | None
    command: Sequence[str]
    label: str
    machine: str

    def file(self, private: Path) -> Path | None:
        """Return the file of the key, in the folder `private` or elsewhere; None by a command."""
        if self.command:
            return None
        own = private if self.folder is None else Path(self.folder) / self.label
        return own / KEY_FILE

    def key(self, private: Path) -> bytes:
        """Return the key, in the folder `private` or elsewhere; make it if there is none.

        Raises
        ------
        DeniableError
            If it has not the length of a key, is somebody else's, or the command fails.
        """
        file = self.file(private)
        if file is None:
            return self._said()
        if not file.exists():
            private_folder(file.parent)
            write_once(file, new_key())
        return _own_content(file)

    def remove(self, private: Path) -> None:
        """Remove the key for good, and copies in `private` or elsewhere that killed processes left.

        What a command has stays with its owner.
        """
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

    def _said(self) -> bytes:
        # What it printed is in no message, whatever went wrong.
        named = f"release {self.release!r}: the command for its key, {self.command[0]},"
        try:
            said = subprocess.run([*self.command, self.label], check=True, stdout=subprocess.PIPE)
        except (OSError, subprocess.CalledProcessError) as error:
            why = getattr(error, "strerror", None) or f"exit {getattr(error, 'returncode', '')}"
            raise DeniableError(f"{named} failed ({why})") from None
        key = said.stdout
        with suppress(ValueError):
            key = bytes.fromhex(said.stdout.decode("ascii"))
        # 32 letters are a message, no key.
        if len(key) != KEY_BYTES or all(each in PRINTABLE for each in key):
            raise DeniableError(
                f"{named} printed {len(said.stdout)} bytes that are no key; allowed: {KEY_BYTES} "
                f"random ones, or {2 * KEY_BYTES} hexadecimal digits"
            )
        return key


def _own_content(file: Path) -> bytes:
    """Return what a file holds that nobody else can have written."""
    try:
        handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError as error:
        raise DeniableError(f"{file}: {error.strerror}; a key is a file of its owner's") from None
    with os.fdopen(handle, "rb") as stream:
        state = os.fstat(stream.fileno())
        if not stat.S_ISREG(state.st_mode) or state.st_uid != os.geteuid() or state.st_mode & 0o077:
            raise DeniableError(
                f"{file}: the key is not this user's alone; whoever else could write it knows what "
                "is drawn by it: give the release a new name"
            )
        return stream.read()
