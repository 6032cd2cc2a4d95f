"""Whether results can be written: known before anything starts, not from the failure of a job."""

import errno
import os
import shutil
from pathlib import Path

from deniable.errors import DataError

NEEDED = 20_000_000
"""Bytes without which not even a quick run ends."""
# Snakemake's: of a run at work, or of one that was killed.
LOCKS = Path(".snakemake/locks")


def check_writable(folder: Path) -> None:
    """Check that results can be written into a folder, and that its disk is not full.

    The folders of releases are passed over: whoever protects what was drawn once does well.

    Raises
    ------
    DataError
        Naming the folder, what is wrong with it and what to do.
    """
    existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    inside = sorted(folder.glob("*/")) if folder.is_dir() else []
    for path in (existing, *inside):
        if not os.access(path, os.W_OK | os.X_OK):
            raise DataError(
                f"{path}: nothing can be written there, the folder or its file system is read-only "
                "for this user; change that (chmod u+w, or mount for writing), or copy the project "
                "elsewhere, and start again"
            )
    free = shutil.disk_usage(existing).free
    if free < NEEDED:
        raise DataError(
            f"{folder}: {free / 1e6:.1f} MB are free on this disk, a run needs {NEEDED / 1e6:.0f} "
            "MB at the least; make room and start again: what is finished is kept"
        )


def remedy(error: OSError) -> str:
    """Return how to go on after an error of the disk, for the end of a message; else nothing."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return "; make room and start again: what is finished is kept"
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return "; give this user the right to write there and start again: what is finished is kept"
    return ""


def locked() -> bool:
    """Return whether a run is at work in this project, or was killed and has not been unlocked."""
    return LOCKS.is_dir() and any(LOCKS.iterdir())
