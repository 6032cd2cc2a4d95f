"""The interface of Laplace noise, and seeded noise.

`SeededNoise` computes in ordinary floating point and can be repeated. It is for experiments, not
for releases, because the gaps between floats reveal values. Releases use `KeyedNoise`.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from deniable.arrays import Counts, Floats
from deniable.errors import DeniableError


class Noise(Protocol):
    """Adds Laplace noise."""

    def add(self, values: Floats, scales: Floats, runs: int) -> Floats:
        """Return `values` plus independent Laplace draws, shape (runs, *values.shape).

        They are added `runs` times. The `scales`, of the shape of values, are >= 0; 0 adds nothing.
        """

    def add_whole(self, counts: Counts, scale: float) -> Counts:
        """Return `counts` plus independent draws of the discrete Laplace distribution.

        It has the probabilities (1 - q) / (1 + q) q^|z| on the whole numbers, q = exp(-1 / scale)
        for a `scale` above 0.
        """


@dataclass(frozen=True, eq=False)
class SeededNoise:
    """Draws from a `generator`: for experiments.

    The difference of two standard exponentials is a standard Laplace variable, and the difference
    of two geometric variables a discrete one.
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
    """Raise `DeniableError` unless discrete noise can have the `scale`."""
    if not (np.isfinite(scale) and scale > 0):
        raise DeniableError(f"the scale of discrete noise is {scale}; it must be above 0")


def refuse_misfit(values: Floats, scales: Floats) -> None:
    """Raise `DeniableError` unless `values` and `scales` have one shape and scales are valid."""
    if values.shape != scales.shape:
        raise DeniableError(
            f"values of shape {values.shape} and scales of shape {scales.shape} must be alike"
        )
    if not (np.all(np.isfinite(scales)) and np.all(scales >= 0)):
        raise DeniableError("scales of noise must be finite and not negative")
