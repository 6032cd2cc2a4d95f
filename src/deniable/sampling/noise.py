"""Laplace noise, from a seed for experiments and from a key for releases."""

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import count
from typing import Any, Protocol

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from deniable.arrays import Counts, Floats
from deniable.errors import DeniableError
from deniable.sampling.keyed import KeyedDraws

STEPS = 2**1074  # steps between 0 and 1 on the grid of real values
WORD_BITS = 64
EVENTS = 48
"""Minimum number of random events for each value. Two values in a million need more. The others
draw unused events, so that the time does not reveal the size of the noise."""


class Noise(Protocol):
    """The interface of sources of Laplace noise."""

    def add(self, values: Floats, scales: Floats, runs: int) -> Floats:
        """Return `values` plus independent Laplace draws, shape (runs, *values.shape).

        `runs` is the number of replicates. The `scales`, with the shape of `values`, are >= 0; a
        scale of 0 adds no noise.
        """

    def add_whole(self, counts: Counts, scale: float) -> Counts:
        """Return `counts` plus independent draws of the discrete Laplace distribution.

        A whole number z has the probability (1 - q) / (1 + q) q^|z|, q = exp(-1 / scale), `scale` >
        0.
        """


@dataclass(frozen=True, eq=False)
class SeededNoise(Noise):
    """Laplace noise from a `generator`, for experiments and not for releases.

    The noise is in ordinary floating point, and gaps between floats reveal values. The difference
    of two standard exponential variables is a standard Laplace variable. The difference of two
    geometric variables is a discrete Laplace variable.
    """

    generator: np.random.Generator

    def add(self, values: Floats, scales: Floats, runs: int) -> Floats:
        refuse_misfit(values, scales)
        noisy = self.generator.standard_exponential((runs, *values.shape))
        noisy -= self.generator.standard_exponential((runs, *values.shape))
        noisy *= scales
        noisy += values
        return noisy

    def add_whole(self, counts: Counts, scale: float) -> Counts:
        refuse_scale(scale)
        stop = -np.expm1(-1 / scale)  # 1 - q
        first = self.generator.geometric(stop, counts.shape)
        return np.asarray(counts + first - self.generator.geometric(stop, counts.shape))


def refuse_scale(scale: float) -> None:
    """Raise `DeniableError` unless the `scale` of discrete noise is finite and above 0."""
    if not (np.isfinite(scale) and scale > 0):
        raise DeniableError(f"the scale of discrete noise is {scale}; it must be above 0")


def refuse_misfit(values: Floats, scales: Floats) -> None:
    """Raise `DeniableError` unless `values` and `scales` have one shape and scales are valid."""
    if values.shape != scales.shape:
        raise DeniableError(f"values {values.shape}, scales {scales.shape}: shapes must be equal")
    if not (np.all(np.isfinite(scales)) and np.all(scales >= 0)):
        raise DeniableError("scales of noise must be finite and not negative")


@dataclass(frozen=True, eq=False)
class KeyedNoise(Noise):
    """Laplace noise for releases: exact, and the same at every repetition.

    It draws discrete Laplace variables on a grid by the algorithm of Canonne, Kamath and Steinke
    (The discrete Gaussian for differential privacy, 2020, Algorithm 2). This uses uniform whole
    numbers and events of rational probability, but no floating point. The bits of the n-th value of
    a call are the encrypted blocks of two big-endian numbers of 64 bits, n and a = 0, 1, ...
    (purpose "noise", the call's number), the highest bits first. So rejections never use the bits
    of another value.

    Noise for real values is a multiple of 2**-1074, the smallest step between floats, as in
    OpenDP's ``make_laplace``. Every float is such a multiple, so the grid changes neither value nor
    epsilon. The rounding of the sum to the nearest float is post-processing. Tests compare both
    kinds of noise with OpenDP's sampler. The key is in `draws`; `_calls` counts the calls, from 0,
    and is not an argument.
    """

    draws: KeyedDraws
    _calls: "count[int]" = field(default_factory=count, repr=False)

    def add(self, values: Floats, scales: Floats, runs: int) -> Floats:
        refuse_misfit(values, scales)
        bits, shape = self._bits_of_a_call(), (runs, *values.shape)
        noisy = np.broadcast_to(values, shape).reshape(-1).copy()
        wide = np.broadcast_to(scales, shape).reshape(-1)
        for number in np.flatnonzero(wide > 0).tolist():
            drawn = _in_even_time(_steps(wide[number]), 1, bits(number))
            noisy[number] = (_steps(noisy[number]) + drawn) / STEPS  # rounded once, to the nearest
        return noisy.reshape(shape)

    def add_whole(self, counts: Counts, scale: float) -> Counts:
        refuse_scale(scale)
        bits, ratio = self._bits_of_a_call(), Fraction(scale).as_integer_ratio()
        drawn = [_in_even_time(*ratio, bits(number)) for number in range(counts.size)]
        return np.asarray(counts + np.array(drawn, dtype=np.int64).reshape(counts.shape))

    def _bits_of_a_call(self) -> Any:
        key = self.draws.subkey("noise", [str(next(self._calls))])
        blocks = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
        return lambda number: Bits(blocks, number)


class Bits:
    """The random bits of value `number`, in sequence, from an encryptor, `blocks`."""

    def __init__(self, blocks: Any, number: int) -> None:
        self._blocks, self._number, self._attempt = blocks, number, 0
        self._bits, self._left, self.events = 0, 0, 0  # `events` counts the drawn events

    def take(self, number: int) -> int:
        """Return a uniform whole number of `number` bits."""
        while self._left < number:
            block = self._number.to_bytes(8, "big") + self._attempt.to_bytes(8, "big")
            made = int.from_bytes(self._blocks.update(block), "big")
            self._bits, self._left = (self._bits << 128) | made, self._left + 128
            self._attempt += 1
        self._left -= number
        taken = self._bits >> self._left
        self._bits &= (1 << self._left) - 1
        return taken

    def below(self, bound: int) -> int:
        """Return a uniform whole number in 0 .. `bound` - 1, by rejection."""
        size = (bound - 1).bit_length()
        while (drawn := self.take(size)) >= bound:
            pass
        return drawn

    def happens(self, numerator: int, denominator: int) -> bool:
        """Return an event of probability `numerator` / `denominator`, exactly."""
        self.events += 1
        first, rest = divmod(numerator << WORD_BITS, denominator)
        word = self.take(WORD_BITS)
        if word != first:  # only the word of the probability's first bits leaves the event open
            return word < first
        return rest > 0 and self.happens(rest, denominator)

    def decays(self, numerator: int, denominator: int) -> bool:
        """Return an event of probability exp(-`numerator` / `denominator`), a ratio in [0, 1]."""
        tries = 1
        while self.happens(numerator, denominator * tries):
            tries += 1
        return tries % 2 == 1


def _steps(value: float) -> int:
    numerator, denominator = value.as_integer_ratio()
    return numerator * (STEPS // denominator)


def _in_even_time(numerator: int, denominator: int, bits: Bits) -> int:
    drawn = discrete_laplace(numerator, denominator, bits)
    while bits.events < EVENTS:
        bits.decays(1, 1)
    return drawn


def discrete_laplace(numerator: int, denominator: int, bits: Bits) -> int:
    """Draw a whole number z from `bits`, with probability in proportion to exp(-|z| / scale).

    The scale is `numerator` / `denominator`, above 0.
    """
    while True:
        remainder = bits.below(numerator)
        if not bits.decays(remainder, numerator):
            continue
        whole = 0
        while bits.decays(1, 1):
            whole += 1
        size = (remainder + numerator * whole) // denominator
        if bits.take(1):
            if size:
                return -size
        else:
            return size
