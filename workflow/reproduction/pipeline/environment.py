"""What jobs need around them: kernels that add in one order, and a folder that can be written.

**Arithmetic.** Floating-point sums are to be the same bits on every processor.
numpy and OpenBLAS choose among kernels by the processor that they find, and kernels add in
different orders. The last bits then differ; a search among local optima, such as that for a
designed channel, can end at another one. So jobs use the kernels that all x86-64 processors with
AVX2 have, those of Intel since 2013 and of AMD since 2015, and one thread.

**The folder of results.** Whether it can be written is known before anything starts, not from the
failure of a job.
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
"""Of OpenMP, the BLAS libraries, and Rust's solvers such as Clarabel."""
AVX2 = {"X86_V3", "AVX2"}
"""The names of the common level in numpy, from 2.4 on and before."""
BEYOND_AVX2 = ("X86_V4", "AVX512")
"""How the names of what not all of them have begin."""

NEEDED = 20_000_000
"""Bytes without which not even a quick run ends."""
SHORT_OF_MEMORY = (
    "failed to map segment",  # the loader's
    "annot allocate memory",
    "can't start new thread",
)
# Snakemake's: of a run at work, or of one that was killed.
LOCKS = Path(".snakemake/locks")
PRIVATE = (Path("results/data"), Path("results/logs"), Path(".snakemake"))
"""Of true records; of messages that quote a value of theirs; of hashes that Snakemake notes."""


def settings(simd: dict[str, list[str]] | None = None) -> dict[str, str]:
    """Return the variables to set before a job starts.

    They must be set before numpy is imported, so they are for processes that are started.

    Parameters
    ----------
    simd : dict, optional
        What numpy says of the processor (*baseline*, *found*, *not found*); by default of this one.

    Returns
    -------
    dict
        One thread; on x86-64 with AVX2, also kernels of that level. Elsewhere each kind of
        processor has its own last bits.
    """
    chosen = dict.fromkeys(THREADS, "1")
    if simd is None:
        import numpy as np  # noqa: PLC0415 - for this alone, which a job need not wait for

        told: Any = np.show_config(mode="dicts")
        simd = told["SIMD Extensions"]
    if not AVX2 & {*simd.get("baseline", ()), *simd.get("found", ())}:
        return chosen
    optional = (*simd.get("found", ()), *simd.get("not found", ()))
    left_out = sorted(name for name in optional if name.startswith(BEYOND_AVX2))
    return chosen | {"OPENBLAS_CORETYPE": "Haswell", "NPY_DISABLE_CPU_FEATURES": " ".join(left_out)}


def settle() -> None:
    """Set the variables for all processes that this one starts."""
    os.environ.update(settings())


def check_writable(folder: Path) -> None:
    """Check that results can be written into a `folder`, and that its disk is not full.

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


def keep_from_others() -> None:
    """Close the folders of true records, and of what tells of them, to all but their owner.

    Raises
    ------
    DataError
        Naming a folder that belongs to somebody else.
    """
    for folder in PRIVATE:
        try:
            kept_private(folder)
        except OSError as error:
            raise DataError(
                f"{folder}: others may look into it, and this user cannot close it "
                f"({error.strerror}); make it this user's (chown), or copy the project elsewhere, "
                "and start again"
            ) from None


def remedy(error: Exception) -> str:
    """Return how to go on after an `error` of disk or memory, to end its message; else nothing.

    A library that finds no room in memory is not imported, or its thread not started.
    """
    number = error.errno if isinstance(error, OSError) else None
    if number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return "; make room and start again: what is finished is kept"
    if number in (errno.EROFS, errno.EACCES, errno.EPERM):
        return "; give this user the right to write there and start again: what is finished is kept"
    told = any(words in str(error) for words in SHORT_OF_MEMORY)
    if isinstance(error, MemoryError) or number == errno.ENOMEM or told:
        named = "" if isinstance(error, MemoryError) else " (MemoryError)"
        return (
            f"{named}; give the job more memory (ulimit -v, a cluster's limit), or let fewer "
            "run at once (--cores), and start again: what is finished is kept"
        )
    return ""


def end_on_hangup() -> None:
    """Let the end of its terminal end this process as Ctrl-C does; under nohup it goes on.

    A run that SIGHUP kills outright leaves its lock behind.
    """
    hangup = getattr(signal, "SIGHUP", None)  # not on every system
    of_main_thread = threading.current_thread() is threading.main_thread()
    if hangup and of_main_thread and signal.getsignal(hangup) == signal.SIG_DFL:
        signal.signal(hangup, signal.default_int_handler)


def locked() -> bool:
    """Return whether a run is at work in this project, or was killed and has not been unlocked."""
    return LOCKS.is_dir() and any(LOCKS.iterdir())
