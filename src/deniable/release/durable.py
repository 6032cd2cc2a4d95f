"""Private folders that are on the disk before anybody builds on them, and abandoned files there."""

import re
import time
from contextlib import suppress
from pathlib import Path

from deniable.files import PRIVATE_FOLDER, sync_folder

ABANDONED_AFTER = 86_400.0  # seconds without a change, of a temporary file
_TEMPORARY = re.compile(r"\..+\.[a-z0-9_]{8}")


def private_folder(folder: Path) -> None:
    """Make a `folder` for its owner alone, on the disk, if there is none; leave one that is."""
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


def remove_abandoned(folder: Path) -> None:
    """Remove temporary files that killed processes left in a `folder`, once named or old."""
    for file in folder.iterdir():
        if _TEMPORARY.fullmatch(file.name):
            with suppress(FileNotFoundError):
                status = file.stat()
                if status.st_nlink > 1 or time.time() - status.st_mtime > ABANDONED_AFTER:
                    file.unlink()
