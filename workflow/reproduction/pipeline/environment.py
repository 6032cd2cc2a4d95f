"""Set up the environment of jobs: reproducible arithmetic, and folders that can be written.

NumPy and OpenBLAS choose their kernels by the processor, and kernels add in different orders. So
the last bits of sums differ, and a search may end at another local optimum. Jobs therefore use one
thread and kernels that all x86-64 processors with AVX2 have (Intel since 2013, AMD since 2015).
"""

import errno
import os
import shutil
import signal
import threading
from pathlib import Path
from typing import Any

from deniable.errors import DataError
from deniable.files import kept_private

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")
"""Variables of OpenMP, the BLAS libraries and solvers in Rust such as Clarabel."""
AVX2, BEYOND_AVX2 = {"X86_V3", "AVX2"}, ("X86_V4", "AVX512")
"""NumPy's names of the common level (since 2.4, and before), and prefixes of higher levels."""
NEEDED = 20_000_000  # free bytes that a quick run needs
SHORT_OF_MEMORY = (
    "failed to map segment",  # from the loader
    "annot allocate memory",
    "can't start new thread",
)
REMEDIES = {
    (errno.ENOSPC, errno.EDQUOT, errno.EFBIG): "make room",
    (errno.EROFS, errno.EACCES, errno.EPERM): "give this user the right to write there",
}
PRIVATE = (Path("results/data"), Path("results/logs"), Path(".snakemake"))
"""Folders with original records, with messages that quote them, and with Snakemake's hashes."""


def settings(simd: dict[str, list[str]] | None = None) -> dict[str, str]:
    """Return the environment variables that a process needs before it imports NumPy.

    They set one thread and, on x86-64 with AVX2, the kernels of that level. Results of other kinds
    of processors can differ in their last bits. `simd` has the levels of a processor (*baseline*,
    *found*, *not found*) as NumPy reports them, by default for this processor.
    """
    chosen = dict.fromkeys(THREADS, "1")
    if simd is None:
        import numpy as np  # noqa: PLC0415 - only needed here, and slow to import

        reported: Any = np.show_config(mode="dicts")
        simd = reported["SIMD Extensions"]
    if not AVX2 & {*simd.get("baseline", ()), *simd.get("found", ())}:
        return chosen
    optional = (*simd.get("found", ()), *simd.get("not found", ()))
    left_out = sorted(name for name in optional if name.startswith(BEYOND_AVX2))
    return chosen | {"OPENBLAS_CORETYPE": "Haswell", "NPY_DISABLE_CPU_FEATURES": " ".join(left_out)}


def check_writable(folder: Path) -> None:
    """Check that results can be written into a `folder`, and that its disk is not full.

    Folders of single releases are not checked, because a user may have write-protected them. A
    `DataError` states the folder, the problem and the remedy.
    """
    existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    inside = sorted(folder.glob("*/")) if folder.is_dir() else []
    for path in (existing, *inside):
        if not os.access(path, os.W_OK | os.X_OK):
            raise DataError(
                f"{path}: nothing can be written there, the folder or its file system is read-only "
                "for this user; change that (chmod u+w, or mount for writing) or copy the project "
                "to another folder, and start again"
            )
    free = shutil.disk_usage(existing).free
    if free < NEEDED:
        raise DataError(
            f"{folder}: {free / 1e6:.1f} MB are free on this disk, a run needs at least "
            f"{NEEDED / 1e6:.0f} MB; make room and start again: finished results are kept"
        )


def keep_from_others() -> None:
    """Close folders with original records to other users, or raise a `DataError`."""
    for folder in PRIVATE:
        try:
            kept_private(folder)
        except OSError as error:
            raise DataError(
                f"{folder}: other users may read it, and this user cannot prevent that "
                f"({error.strerror}); make this user its owner (chown) or copy the project to "
                "another folder, and start again"
            ) from None


def remedy(error: Exception) -> str:
    """Return the remedy for an `error` of disk or memory, as the end of its message, or "".

    Without memory, the import of a library or the start of a thread can fail.
    """
    number = error.errno if isinstance(error, OSError) else None
    for numbers, advice in REMEDIES.items():
        if number in numbers:
            return f"; {advice} and start again: finished results are kept"
    short = any(words in str(error) for words in SHORT_OF_MEMORY)
    if isinstance(error, MemoryError) or number == errno.ENOMEM or short:
        named = "" if isinstance(error, MemoryError) else " (MemoryError)"
        return (
            f"{named}; give the job more memory (ulimit -v, a cluster's limit), or let fewer "
            "run at once (--cores), and start again: finished results are kept"
        )
    return ""


def end_on_hangup() -> None:
    """Handle a closed terminal like Ctrl-C, so that Snakemake unlocks, unless nohup is in use."""
    hangup = getattr(signal, "SIGHUP", None)  # not on every system
    main_thread = threading.current_thread() is threading.main_thread()
    if hangup and main_thread and signal.getsignal(hangup) == signal.SIG_DFL:
        signal.signal(hangup, signal.default_int_handler)
