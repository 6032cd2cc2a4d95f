"""Where chance comes from, exact draws from it, and Laplace noise.

Experiments draw from a seeded stream for each job, releases of somebody's own data from the
operating system.

**Exact draws** have the very probabilities that are stated, as rational numbers. A uniform number
is drawn bit by bit as far as it takes to tell it from every threshold: the first bits for all
records at once, the rest for the few, if any, that they leave open. No probability is rounded, so
what a matrix claims is what is drawn, however small the entry.

**Laplace noise** is added by whoever is given a `Noise`. `SeededNoise` computes in ordinary
floating point and can be repeated: fit for experiments, unfit for releases (the gaps between floats
give values away). `SystemNoise` is OpenDP's sampler.
"""

import hashlib
import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from itertools import accumulate
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from deniable.arrays import Counts, Flags, Floats, Positions
from deniable.errors import DeniableError

WORD = 2**53
GRANULARITY = -1074  # of OpenDP's noise, as a power of 2: the smallest step between any two floats


class RandomSource(Protocol):
    """What randomizing records needs; `numpy.random.Generator` and `SystemSource` both offer it."""

    def random(self, size: int) -> Floats:
        """Return `size` uniform multiples of 2**-53 in [0, 1)."""

    def integers(self, low: int, high: int, size: int) -> Counts:
        """Return `size` uniform integers in low .. high - 1."""


class SystemSource:
    """The operating system's cryptographic generator, for releases of somebody's own data.

    No seed, no state that could be kept: two runs differ.
    """

    def random(self, size: int) -> Floats:
        """Return `size` uniform multiples of 2**-53 in [0, 1)."""
        return (self._words(size) >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def integers(self, low: int, high: int, size: int) -> Counts:
        """Return `size` uniform integers in low .. high - 1, exactly uniform by rejection."""
        span = high - low
        if span == 2**64:  # every word is one of them
            return self._words(size).view(np.int64)
        limit = np.uint64(2**64 - 1 - (2**64 % span))  # largest word of the last full span
        words = self._words(size)
        while (rejected := np.flatnonzero(words > limit)).size:
            words[rejected] = self._words(rejected.size)
        return (words % np.uint64(span)).astype(np.int64) + low

    def _words(self, size: int) -> npt.NDArray[np.uint64]:
        return np.frombuffer(bytearray(os.urandom(8 * size)), dtype=np.uint64)


def generator_for(root_seed: int, key: Mapping[str, Any]) -> np.random.Generator:
    """Derive the random stream of one job from the root seed and the job's own key.

    The stream depends on nothing else: not on the order of jobs, on the number of cores or on how
    cells were put into chunks.

    Parameters
    ----------
    root_seed : int, >= 0
    key : mapping of plain JSON values
        Equal keys give equal streams, in whatever order their items are written.

    Examples
    --------
    >>> a = generator_for(1, {"study": "s", "p": 0.1})
    >>> b = generator_for(1, {"p": 0.1, "study": "s"})
    >>> a.integers(1000) == b.integers(1000)
    np.True_
    """
    text = json.dumps(key, sort_keys=True, ensure_ascii=True, allow_nan=False)
    words = np.frombuffer(hashlib.sha256(text.encode()).digest(), dtype="<u4")
    return np.random.Generator(np.random.PCG64([root_seed, *map(int, words)]))


def multinomial(generator: np.random.Generator, totals: Counts, probabilities: Floats) -> Counts:
    """Draw multinomial counts in which a zero probability stays a zero count.

    NumPy gives what rounding leaves over to the last category, even one of probability 0
    (the fault of sdcMicro's issue 303); here only categories that can occur take part.
    """
    support = np.flatnonzero(probabilities)
    drawn = generator.multinomial(totals, probabilities[support] / probabilities[support].sum())
    if support.size == probabilities.size:
        return drawn
    counts = np.zeros((*np.shape(totals), probabilities.size), dtype=np.int64)
    counts[..., support] = drawn
    return counts


def events(source: RandomSource, probability: float | Fraction, size: int) -> Flags:
    """Return `size` independent events of one probability in [0, 1], exactly.

    The first 16 bits of a uniform number decide all but once in 65,536 times: a quarter of the
    random words that a float a record would take.
    """
    exact = Fraction(probability)
    first_bits = source.integers(-(2**63), 2**63, -(-size // 4)).view(np.uint16)[:size]
    whole = math.floor(exact * 2**16)
    happened = first_bits < whole
    rest = exact * 2**16 - whole
    if rest:
        undecided = np.flatnonzero(first_bits == whole)
        happened[undecided] = Categories.of([rest, 1 - rest]).draw(source, undecided.size) == 0
    return happened


@dataclass(frozen=True, eq=False)
class Categories:
    """A distribution over categories, to be drawn from exactly.

    `cumulative` are the cumulative weights, one a category, and the last is the total: the
    probabilities are the weights divided by the total, as rational numbers.
    """

    cumulative: tuple[int, ...]

    @classmethod
    def of(cls, probabilities: Sequence[float | Fraction]) -> "Categories":
        """Return the distribution proportional to numbers that are taken exactly."""
        return cls(tuple(accumulate(whole_weights(probabilities))))

    @cached_property
    def _words(self) -> Counts:
        """The words that hold the thresholds."""
        total = self.cumulative[-1]
        return np.array([weight * WORD // total for weight in self.cumulative], dtype=np.int64)

    def draw(self, source: RandomSource, size: int) -> Positions:
        """Return `size` independent categories."""
        words = self._words
        drawn = source.integers(0, WORD, size)
        # How many thresholds are at most the number: its category. A category of weight 0 has the
        # threshold of the one before it and is never hit.
        categories = np.searchsorted(words, drawn, side="right")
        at_threshold = np.flatnonzero(words[np.maximum(categories - 1, 0)] == drawn)
        for record in at_threshold:  # as good as none: some 2**-53 of the records a threshold
            categories[record] = self._resolve(int(drawn[record]), source)
        return categories

    def _resolve(self, word: int, source: RandomSource) -> int:
        """Draw further bits of a number that begins like a threshold until they differ."""
        total, scale = self.cumulative[-1], WORD
        while True:
            low = word * total
            inside = [c for c in self.cumulative if low < c * scale < low + total]
            if not inside:
                return sum(c * scale <= low for c in self.cumulative)
            word = word * WORD + int(source.integers(0, WORD, 1)[0])
            scale *= WORD


def whole_weights(values: Sequence[float | Fraction]) -> list[int]:
    """Return whole numbers in exactly the proportions of `values`."""
    ratios = [value.as_integer_ratio() for value in values]
    common = math.lcm(*(denominator for _, denominator in ratios))
    return [numerator * (common // denominator) for numerator, denominator in ratios]


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
        _refuse_misfit(values, scales)
        noisy = self.generator.standard_exponential((runs, *values.shape))
        noisy -= self.generator.standard_exponential((runs, *values.shape))
        noisy *= scales
        noisy += values
        return noisy

    def add_whole(self, counts: Counts, scale: float) -> Counts:
        """Return counts plus discrete noise; see `Noise.add_whole`."""
        _refuse_scale(scale)
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
        _refuse_misfit(values, scales)
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
        _refuse_scale(scale)
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


def _refuse_scale(scale: float) -> None:
    if not (np.isfinite(scale) and scale > 0):
        raise DeniableError(f"the scale of discrete noise is {scale}; it must be above 0")


def _refuse_misfit(values: Floats, scales: Floats) -> None:
    if values.shape != scales.shape:
        raise DeniableError(
            f"values of shape {values.shape} and scales of shape {scales.shape} must be alike"
        )
    if not (np.all(np.isfinite(scales)) and np.all(scales >= 0)):
        raise DeniableError("scales of noise must be finite and not negative")
