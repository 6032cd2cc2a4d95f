"""Private files that are put once, whole, and are on the disk before anybody builds on them."""

import os
import re
import tempfile
import time
from contextlib import suppress
from pathlib import Path

PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600
ABANDONED_AFTER = 86_400.0  # seconds without a change, of a temporary file
_TEMPORARY = re.compile(r"\..+\.[a-z0-9_]{8}")


def put_once(file: Path, content: bytes) -> bool:
    """Put a private file there unless there is one; return whether it was put.

    Of several processes that try, one puts it. When this returns True, content and name are on the
    disk. A process that is killed leaves the whole file or none, and perhaps a temporary one.

    Raises
    ------
    OSError
        If it cannot be done, as where there are no hard links.
    """
    handle, name = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            os.fchmod(stream.fileno(), PRIVATE_FILE)
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        try:
            file.hardlink_to(temporary)  # a rename would replace what is there
        except FileExistsError:
            return False
    finally:
        temporary.unlink(missing_ok=True)
    sync_folder(file.parent)
    return True


def private_folder(folder: Path) -> None:
    """Make a folder for its owner alone, on the disk, if there is none; leave one that is there."""
    _make(folder, PRIVATE_FOLDER)
    # Whoever made it may have been killed before. Who may not look into its parent did not make it.
    with suppress(PermissionError):
        sync_folder(folder.parent)


def _make(folder: Path, mode: int) -> None:
    if not folder.parent.is_dir():
        _make(folder.parent, 0o777)
    try:
        folder.mkdir(mode)
    except FileExistsError:
        if not folder.is_dir():
            raise
        return
    if mode == PRIVATE_FOLDER:
        folder.chmod(mode)  # whatever the umask
    sync_folder(folder.parent)


def sync_folder(folder: Path) -> None:
    """Return when the names in a folder are on the disk."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def remove_abandoned(folder: Path) -> None:
    """Remove temporary files that killed processes left, once they have their name or are old."""
    for file in folder.iterdir():
        if _TEMPORARY.fullmatch(file.name):
            with suppress(FileNotFoundError):
                status = file.stat()
                if status.st_nlink > 1 or time.time() - status.st_mtime > ABANDONED_AFTER:
                    file.unlink()
