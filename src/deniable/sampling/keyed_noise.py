"""Laplace noise from a release's key: exact, and the same at every repetition.

Discrete Laplace variables on a grid, by the algorithm of Canonne, Kamath and Steinke (The discrete
Gaussian for differential privacy, 2020, Algorithm 2): uniform whole numbers and events of rational
probability, no floating point. The bits of the n-th value of a call are the encrypted blocks of two
big-endian numbers of 64 bits, n and a = 0, 1, ... (purpose "noise", the call's number), the highest
bits first. So rejections never use the bits of another value.

Real values get noise on the multiples of 2**-1074, the smallest step between floats, as in OpenDP's
``make_laplace``. Every float is such a multiple, so the grid changes neither value nor epsilon, and
the rounding of the sum to the nearest float is post-processing. Tests compare both with OpenDP's
sampler.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import count
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from deniable.arrays import Counts, Floats
from deniable.sampling.keyed import KeyedDraws
from deniable.sampling.noise import refuse_misfit, refuse_scale

STEPS = 2**1074  # of the grid of real values between 0 and 1
WORD_BITS = 64


@dataclass(frozen=True, eq=False)
class KeyedNoise:
    """A `deniable.sampling.Noise` for releases; each call has a number and its own bits.

    The key is in `draws`; `_calls` counts the calls, from 0, and is not an argument.
    """

    draws: KeyedDraws
    _calls: "count[int]" = field(default_factory=count, repr=False)

    def add(self, values: Floats, scales: Floats, runs: int) -> Floats:
        """Return `values` plus noise of these `scales`, `runs` times; see `Noise.add`."""
        refuse_misfit(values, scales)
        bits = self._bits_of_a_call()
        shape = (runs, *values.shape)
        noisy = np.broadcast_to(values, shape).reshape(-1).copy()
        wide = np.broadcast_to(scales, shape).reshape(-1)
        for number in np.flatnonzero(wide > 0).tolist():
            drawn = discrete_laplace(int(Fraction(wide[number]) * STEPS), 1, bits(number))
            noisy[number] = float(Fraction(noisy[number]) + Fraction(drawn, STEPS))
        return noisy.reshape(shape)

    def add_whole(self, counts: Counts, scale: float) -> Counts:
        """Return `counts` plus discrete noise of a `scale` above 0; see `Noise.add_whole`."""
        refuse_scale(scale)
        bits, ratio = self._bits_of_a_call(), Fraction(scale)
        drawn = [
            discrete_laplace(ratio.numerator, ratio.denominator, bits(number))
            for number in range(counts.size)
        ]
        return np.asarray(counts + np.array(drawn, dtype=np.int64).reshape(counts.shape))

    def _bits_of_a_call(self) -> Any:
        key = self.draws.subkey("noise", [str(next(self._calls))])
        blocks = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
        return lambda number: Bits(blocks, number)


class Bits:
    """The random bits of value `number`, one after the other, from `blocks`, an encryptor."""

    def __init__(self, blocks: Any, number: int) -> None:
        self._blocks, self._number, self._attempt = blocks, number, 0
        self._bits, self._left = 0, 0

    def take(self, number: int) -> int:
        """Return a uniform number of so many bits, `number`."""
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
        """Return a uniform whole number from 0 up and below a `bound`, by rejection."""
        size = (bound - 1).bit_length()
        while (drawn := self.take(size)) >= bound:
            pass
        return drawn

    def happens(self, numerator: int, denominator: int) -> bool:
        """Return an event of probability `numerator` / `denominator`, exactly."""
        word, scale = 0, 1
        while True:
            word, scale = (word << WORD_BITS) | self.take(WORD_BITS), scale << WORD_BITS
            low, threshold = word * denominator, numerator * scale
            if low + denominator <= threshold:
                return True
            if low >= threshold:
                return False

    def decays(self, numerator: int, denominator: int) -> bool:
        """Return an event of probability exp(-`numerator` / `denominator`), a ratio of 0 to 1."""
        tries = 1
        while self.happens(numerator, denominator * tries):
            tries += 1
        return tries % 2 == 1


def discrete_laplace(numerator: int, denominator: int, bits: Bits) -> int:
    """Return a whole z, with probability in proportion to exp(-|z| / scale), drawn from `bits`.

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
