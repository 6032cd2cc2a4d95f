"""The environment of jobs under which floating-point sums are the same bits on every processor.

numpy and OpenBLAS choose among kernels by the processor that they find, and kernels add in
different orders. The last bits then differ; a search among local optima, such as that for a
designed channel, can end at another one. So jobs use the kernels that all x86-64 processors with
AVX2 have, those of Intel since 2013 and of AMD since 2015, and one thread.
"""

import os
from typing import Any

import numpy as np

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")
"""Of OpenMP, the BLAS libraries, and Rust's solvers such as Clarabel."""
AVX2 = {"X86_V3", "AVX2"}
"""The names of the common level in numpy, from 2.4 on and before."""
BEYOND_AVX2 = ("X86_V4", "AVX512")
"""How the names of what not all of them have begin."""


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
        told: Any = np.show_config(mode="dicts")
        simd = told["SIMD Extensions"]
    if not AVX2 & {*simd.get("baseline", ()), *simd.get("found", ())}:
        return chosen
    optional = (*simd.get("found", ()), *simd.get("not found", ()))
    left_out = sorted(name for name in optional if name.startswith(BEYOND_AVX2))
    return chosen | {
        "OPENBLAS_CORETYPE": "Haswell",
        "NPY_DISABLE_CPU_FEATURES": " ".join(left_out),
    }


def settle() -> None:
    """Set the variables for all processes that this one starts."""
    os.environ.update(settings())
