"""Where the key of a release lies while the release is made."""

import secrets
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from deniable.errors import DeniableError
from deniable.files import sync_folder, write_once
from deniable.sampling import KEY_BYTES, new_key

KEY_FILE, LABEL_FILE = "key", "label"


@dataclass(frozen=True)
class KeyPlace:
    """Where keys lie: with each release, in a folder of the owner's, or behind a command.

    Attributes
    ----------
    folder : Path, optional
        Of the owner's, such as one in memory: keys lie there, in a folder of each release's.
    command : tuple of str
        With the label of the release as its last argument it prints that one's key, 32 bytes or 64
        hexadecimal digits: a new one when it is asked first, the same for good.

    A label is the release's name with a random number, so that a release of the same name in
    another project never has the same key.
    """

    folder: Path | str | None = None
    command: Sequence[str] = ()

    def file(self, release: str, private: Path) -> Path | None:
        """Return the file of a release's key; None behind a command."""
        if self.command:
            return None
        if self.folder is None:
            return private / KEY_FILE
        return Path(self.folder) / self.label(release, private) / KEY_FILE

    def label(self, release: str, private: Path) -> str:
        """Return the label of a release, which is made with it."""
        file = private / LABEL_FILE
        if not file.exists():
            write_once(file, f"{release}-{secrets.token_hex(8)}".encode())
        return file.read_text("ascii")

    def key(self, release: str, private: Path) -> bytes:
        """Return the key of a release; make it if there is none.

        Raises
        ------
        DeniableError
            If it has not the length of a key, or the command fails.
        """
        file = self.file(release, private)
        if file is None:
            return self._said(release, self.label(release, private))
        if not file.exists():
            write_once(file, new_key())
        return file.read_bytes()

    def remove(self, release: str, private: Path) -> None:
        """Remove the key of a release for good; what a command has stays with its owner."""
        file = self.file(release, private)
        if file is None or not file.exists():
            return
        file.unlink(missing_ok=True)
        sync_folder(file.parent)
        if self.folder is not None:
            with suppress(OSError):
                file.parent.rmdir()

    def _said(self, release: str, label: str) -> bytes:
        # What it printed is in no message, whatever went wrong.
        try:
            said = subprocess.run([*self.command, label], check=True, stdout=subprocess.PIPE)
        except (OSError, subprocess.CalledProcessError) as error:
            why = getattr(error, "strerror", None) or f"exit {getattr(error, 'returncode', '')}"
            raise DeniableError(
                f"release {release!r}: the command for its key, {self.command[0]}, failed ({why})"
            ) from None
        key = said.stdout
        with suppress(ValueError):
            key = bytes.fromhex(said.stdout.decode("ascii"))
        if len(key) != KEY_BYTES:
            raise DeniableError(
                f"release {release!r}: the command for its key, {self.command[0]}, printed "
                f"{len(said.stdout)} bytes; allowed: {KEY_BYTES}, or {2 * KEY_BYTES} hexadecimal "
                "digits"
            )
        return key
