"""Laplace noise, added by whoever is given a `Noise`.

`SeededNoise` computes in ordinary floating point and can be repeated: fit for experiments, unfit
for releases (the gaps between floats give values away). `SystemNoise` is OpenDP's sampler.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

import numpy as np

from deniable.arrays import Counts, Floats
from deniable.errors import DeniableError

GRANULARITY = -1074  # of OpenDP's noise, as a power of 2: the smallest step between any two floats


class Noise(Protocol):
    """Adds Laplace noise."""

    def add(self, values: Floats, scales: Floats, runs: int) -> Floats:
        """Return values plus independent Laplace draws, shape (runs, *values.shape).

        Parameters
        ----------
        values, scales : arrays of one shape, scales >= 0
            A value of scale 0 stays as it is.
        runs : int
            How many times all values are given noise.
        """

    def add_whole(self, counts: Counts, scale: float) -> Counts:
        """Return counts plus independent draws of the discrete Laplace distribution.

        It has the probabilities (1 - q) / (1 + q) q^|z| on the whole numbers, q = exp(-1 / scale)
        for a scale above 0.
        """


@dataclass(frozen=True, eq=False)
class SeededNoise:
    """Draws from a generator: for experiments.

    The difference of two standard exponentials is a standard Laplace variable, that of two
    geometric variables a discrete one.
    """

    generator: np.random.Generator

    def add(self, values: Floats, scales: Floats, runs: int) -> Floats:
        """Return values plus noise; see `Noise.add`."""
        refuse_misfit(values, scales)
        noisy = self.generator.standard_exponential((runs, *values.shape))
        noisy -= self.generator.standard_exponential((runs, *values.shape))
        noisy *= scales
        noisy += values
        return noisy

    def add_whole(self, counts: Counts, scale: float) -> Counts:
        """Return counts plus discrete noise; see `Noise.add_whole`."""
        refuse_scale(scale)
        stop = -np.expm1(-1 / scale)  # 1 - q
        first = self.generator.geometric(stop, counts.shape)
        return np.asarray(counts + first - self.generator.geometric(stop, counts.shape))


class SystemNoise:
    """OpenDP's sampler, from the operating system's generator: for releases.

    The draw is a discrete Laplace variable on the multiples of 2**-1074, the smallest step between
    any two floats, sampled exactly from random bits; it is added to the value exactly, and only the
    sum is rounded to the nearest float. Every float is such a multiple, so neither the value nor
    the claimed epsilon has to give anything for the grid, and the rounding is post-processing
    (OpenDP 0.16, ``make_laplace`` with its default ``k``).
    """

    def add(self, values: Floats, scales: Floats, runs: int) -> Floats:
        """Return values plus noise; see `Noise.add`. Takes some 50 microseconds a value."""
        refuse_misfit(values, scales)
        noisy = np.broadcast_to(values, (runs, *values.shape)).reshape(runs, -1).copy()
        distinct, which = np.unique(scales.reshape(-1), return_inverse=True)
        order = np.argsort(which, kind="stable")
        groups = np.split(order, np.flatnonzero(np.diff(which[order])) + 1)
        for scale, places in zip(distinct.tolist(), groups, strict=True):
            if scale > 0:
                part = noisy[:, places]
                drawn = _laplace(scale)(part.reshape(-1).tolist())
                noisy[:, places] = np.asarray(drawn, dtype=float).reshape(part.shape)
        return noisy.reshape(runs, *values.shape)

    def add_whole(self, counts: Counts, scale: float) -> Counts:
        """Return counts plus discrete noise; see `Noise.add_whole`. No rounding is involved."""
        refuse_scale(scale)
        opendp = _opendp()
        values = opendp.vector_domain(opendp.atom_domain(T=int))
        measurement = opendp.m.make_laplace(values, opendp.l1_distance(T=int), scale=scale)
        drawn = measurement(counts.reshape(-1).tolist())
        return np.asarray(drawn, dtype=np.int64).reshape(counts.shape)


@cache
def _laplace(scale: float) -> Any:
    opendp = _opendp()
    values = opendp.vector_domain(opendp.atom_domain(T=float, nan=False))
    return opendp.m.make_laplace(values, opendp.l1_distance(T=float), scale=scale, k=GRANULARITY)


def _opendp() -> Any:
    # Imported where it is used: the library is large, and only releases need it.
    import opendp.prelude as opendp  # noqa: PLC0415

    opendp.enable_features("contrib")
    return opendp


def refuse_scale(scale: float) -> None:
    """Raise `DeniableError` if discrete noise cannot have that scale."""
    if not (np.isfinite(scale) and scale > 0):
        raise DeniableError(f"the scale of discrete noise is {scale}; it must be above 0")


def refuse_misfit(values: Floats, scales: Floats) -> None:
    """Raise `DeniableError` if values and scales are not alike, or a scale is none."""
    if values.shape != scales.shape:
        raise DeniableError(
            f"values of shape {values.shape} and scales of shape {scales.shape} must be alike"
        )
    if not (np.all(np.isfinite(scales)) and np.all(scales >= 0)):
        raise DeniableError("scales of noise must be finite and not negative")
