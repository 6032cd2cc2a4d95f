"""Laplace noise, added by whoever is given a `Noise`.

`SeededNoise` computes in ordinary floating point and can be repeated: fit for experiments, unfit
for releases (the gaps between floats give values away), whose noise is `KeyedNoise`.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from deniable.arrays import Counts, Floats
from deniable.errors import DeniableError


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
        """Return `counts` plus independent draws of the discrete Laplace distribution.

        It has the probabilities (1 - q) / (1 + q) q^|z| on the whole numbers, q = exp(-1 / scale)
        for a `scale` above 0.
        """


@dataclass(frozen=True, eq=False)
class SeededNoise:
    """Draws from a generator: for experiments.

    The difference of two standard exponentials is a standard Laplace variable, that of two
    geometric variables a discrete one. All are drawn from `generator`.
    """

    generator: np.random.Generator

    def add(self, values: Floats, scales: Floats, runs: int) -> Floats:
        """Return `values` plus noise of these `scales`, `runs` times; see `Noise.add`."""
        refuse_misfit(values, scales)
        noisy = self.generator.standard_exponential((runs, *values.shape))
        noisy -= self.generator.standard_exponential((runs, *values.shape))
        noisy *= scales
        noisy += values
        return noisy

    def add_whole(self, counts: Counts, scale: float) -> Counts:
        """Return `counts` plus discrete noise of a `scale` above 0; see `Noise.add_whole`."""
        refuse_scale(scale)
        stop = -np.expm1(-1 / scale)  # 1 - q
        first = self.generator.geometric(stop, counts.shape)
        return np.asarray(counts + first - self.generator.geometric(stop, counts.shape))


def refuse_scale(scale: float) -> None:
    """Raise `DeniableError` if discrete noise cannot have that `scale`."""
    if not (np.isfinite(scale) and scale > 0):
        raise DeniableError(f"the scale of discrete noise is {scale}; it must be above 0")


def refuse_misfit(values: Floats, scales: Floats) -> None:
    """Raise `DeniableError` if `values` and `scales` are not alike, or a scale is none."""
    if values.shape != scales.shape:
        raise DeniableError(
            f"values of shape {values.shape} and scales of shape {scales.shape} must be alike"
        )
    if not (np.all(np.isfinite(scales)) and np.all(scales >= 0)):
        raise DeniableError("scales of noise must be finite and not negative")
