"""OpenDP's Laplace noise, a reference for `deniable.sampling.KeyedNoise`.

Its bits are the operating system's: no draw can be made again.
"""

from typing import Any

import numpy as np
import opendp.prelude as opendp

from deniable.arrays import Counts, Floats

opendp.enable_features("contrib")


def noisy(values: Floats, scale: float) -> Floats:
    """Return real values, shape (n,), plus noise of one scale."""
    return np.asarray(real_laplace(scale)(values.tolist()), dtype=float)


def noisy_counts(counts: Counts, scale: float) -> Counts:
    """Return counts, shape (n,), plus discrete noise."""
    integers = opendp.vector_domain(opendp.atom_domain(T=int))
    laplace = opendp.m.make_laplace(integers, opendp.l1_distance(T=int), scale=scale)
    return np.asarray(laplace(counts.tolist()), dtype=np.int64)


def real_laplace(scale: float) -> Any:
    """Return OpenDP's noise on real values, on its own grid; ``map`` of it is the epsilon."""
    reals = opendp.vector_domain(opendp.atom_domain(T=float, nan=False))
    return opendp.m.make_laplace(reals, opendp.l1_distance(T=float), scale=scale)
