"""Local hashing, for comparison: a public hash of the category, by randomized response."""

import itertools
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy

from deniable.arrays import Codes, Counts, Flags, Floats
from deniable.channels.asked import refuse_epsilon
from deniable.channels.protocols.primes import primes_up_to, refuse_other_than_prime
from deniable.channels.protocols.pure import (
    TwoLevelChannel,
    probability_of_epsilon,
    refuse_few_categories,
)
from deniable.errors import ChannelError

MAX_TRANSFORM = 2**24
"""Reports up to which sums over a tally are computed, by a Fourier transform of them all."""


@dataclass(frozen=True, eq=False)
class LocalHashing(TwoLevelChannel):
    """Report a hash function, drawn at random, and one of its g values.

    The functions are linear: category u is the vector x_u = (1, digits of u to base g) of t numbers
    modulo the prime g. A function is a vector a, and hashes u to a . x_u. Any two categories are
    hashed independently, exactly. S_u has the values (a, a . x_u): m = g ** (t + 1), c = g ** t, l
    = g ** (t - 1). The value (a, y) has the code g a + y, with a read as a number to base g.

    With g about exp(epsilon) + 1, n times the variance of a rare category is about 4 exp(epsilon) /
    (exp(epsilon) - 1) ** 2. It is a reference: projective geometry response has this variance with
    fewer values. The `prime` is g, with g ** (t + 1) below 2 ** 63; `categories` and `probability`
    are as in `TwoLevelChannel`.

    SOURCE: Wang, Blocki, Li and Jha 2017, [local_hashing] (optimized local hashing), with functions
    that are independent in pairs instead of random ones.

    Examples
    --------
    >>> channel = LocalHashing.of_epsilon(5, 1.0)
    >>> channel.prime, channel.reports, channel.members, channel.shared
    (3, 81, 27, 9)
    """

    categories: int
    prime: int
    probability: float

    def __post_init__(self) -> None:
        refuse_few_categories(self.size, "local hashing")
        refuse_other_than_prime(self.prime)
        if self.reports >= 2**63:
            raise ChannelError(
                f"{self.reports:.3g} functions and values are more than 63 bits can number; "
                "choose a smaller prime"
            )
        self._check_probability()

    @classmethod
    def of_epsilon(cls, size: int, epsilon: float, prime: int | None = None) -> "LocalHashing":
        """Return the channel of `size` categories with at most the exact `epsilon`, in (0, 30].

        By default the `prime`, up to 2 ** 15, has the least variance of a rare category.
        """
        refuse_few_categories(size, "local hashing")
        refuse_epsilon(epsilon)
        if prime is None:
            largest = min(4 * math.exp(epsilon) + 8, 2**15)
            primes = primes_up_to(int(largest)).tolist()
            prime = min(primes, key=lambda g: _variance(g, epsilon))
        return cls(size, prime, probability_of_epsilon(epsilon, prime, 1))

    @property
    def length(self) -> int:
        """Return t, the length of the vectors."""
        return 1 + next(d for d in itertools.count(1) if self.prime**d >= self.size)

    @property
    def reports(self) -> int:
        return int(self.prime ** (self.length + 1))

    @property
    def members(self) -> int:
        return int(self.prime**self.length)

    @property
    def shared(self) -> int:
        return int(self.prime ** (self.length - 1))

    def place(self, categories: Counts, indexes: Counts) -> Counts:
        """Return value number j: function j with its hash of u, then others by excess over it.

        The j are `indexes`, one for each of `categories`; see `TwoLevelChannel.place`. For j - c =
        (g - 1) a + b it is function a with the hash plus 1 + b, modulo g.
        """
        rest = indexes - self.members
        own = rest < 0
        function, excess = np.divmod(rest, max(self.prime - 1, 1))
        function = np.where(own, indexes, function)
        excess = np.where(own, 0, excess + 1)
        return np.asarray(
            function * self.prime + (self._hashes(function, categories) + excess) % self.prime
        )

    def _hashes(self, functions: Counts, categories: Counts | int) -> Counts:
        """Return the hashes of categories by functions, not yet modulo g."""
        g, total, left = self.prime, np.zeros_like(functions), np.asarray(categories)
        for _ in range(self.length - 1):
            functions, digit = np.divmod(functions, g)
            left, own = np.divmod(left, g)
            total += digit * own
        return total + functions

    def supported_by(self, reports: Codes, category: int) -> Flags:
        functions, values = np.divmod(np.asarray(reports).astype(np.int64), self.prime)
        return np.asarray((self._hashes(functions, category) - values) % self.prime == 0)

    def membership_sums(self, values: Floats) -> Floats:
        # (a, y) is in S_u iff a . x_u - y = 0: the mean of exp(2 pi i s (a . x_u - y) / g) over s.
        spectra = self._transformed(values)
        sums = sum(spectra[..., at].real for at in self._multiples)
        return np.asarray(sums / self.prime)

    def point_sums(self, weights: Floats) -> Floats:
        placed = np.zeros((*np.shape(weights)[:-1], self.reports))
        placed[..., 0] = weights.sum(axis=-1) / self.prime  # s = 0 is the same for all
        placed[..., self._multiples[1:]] = (weights / self.prime)[..., None, :]
        return np.asarray(self._transformed(placed).real)

    def _transformed(self, values: Floats) -> np.ndarray:
        self.refuse_large_tally(MAX_TRANSFORM)
        axes = tuple(range(-1, -self.length - 2, -1))
        grid = np.reshape(values, (*np.shape(values)[:-1], *(self.prime,) * (self.length + 1)))
        return np.asarray(scipy.fft.fftn(grid, axes=axes)).reshape(np.shape(values))

    @cached_property
    def _multiples(self) -> Counts:
        """The codes of s (x_u, -1), shape (prime, size), for s from 0 to g - 1."""
        g, factors = self.prime, np.arange(self.prime)[:, None]
        digits, left = [], np.arange(self.size)
        for _ in range(self.length - 1):
            left, digit = np.divmod(left, g)
            digits.append(digit)
        codes = factors
        for digit in [*reversed(digits), np.full(self.size, g - 1)]:
            codes = codes * g + factors * digit % g
        return codes

    def _supports(self, reported: Codes) -> Counts:
        if self.reports <= MAX_TRANSFORM:
            return super()._supports(reported)
        counts = [np.count_nonzero(self.supported_by(reported, u)) for u in range(self.size)]
        return np.array(counts, dtype=np.int64)


def _variance(prime: int, epsilon: float) -> float:
    """Return n times the variance of a rare category, (q (1 - q)) / (p - q) ** 2 with q = 1 / g."""
    p, q = 1 / (1 + (prime - 1) * math.exp(-epsilon)), 1 / prime
    return q * (1 - q) / (p - q) ** 2
