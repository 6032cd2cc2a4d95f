"""Protocols that are only for comparison: plans do not have them, and they have no sampler."""

import itertools
import math
from abc import ABC, abstractmethod
from fractions import Fraction

import numpy as np

from deniable.arrays import Counts, Flags, Floats
from deniable.channels import closest_within, log_rounded_up
from deniable.channels.protocols import primes_up_to, probability_of_epsilon


class SupportedProtocol(ABC):
    """A protocol for comparison. A randomized value supports categories.

    It supports the original category with the probability `own`, and each other category with the
    probability `others`.
    """

    size: int
    reports: int
    own: float
    others: float

    @abstractmethod
    def supported_by(self, reports: Counts, category: int) -> Flags:
        """Return whether each of the randomized values (`reports`) supports a `category`."""

    @abstractmethod
    def exact_column(self, report: int) -> list[Fraction]:
        """Return Pr(`report` | original category) for each category."""

    def matrix(self) -> Floats:
        """Return the probability of each randomized value, shape (size, reports)."""
        columns = [self.exact_column(report) for report in range(self.reports)]
        return np.array(columns, dtype=float).T

    def own_variance(self, proportions: Floats | float) -> Floats | float:
        """Return n times the variance of the estimate for categories with these `proportions`."""
        supported = self.others + (self.own - self.others) * proportions
        return supported * (1 - supported) / (self.own - self.others) ** 2


class UnaryEncoding(SupportedProtocol):
    """Optimized unary encoding: a bit for each category.

    A bit is 1 with probability 1/2 for the original category, and q (`others`) for other
    categories. A randomized value is the whole number with these bits, lowest for category 0. Two
    original categories differ in two bits, so the parity is (1 - q) / q. There are `size`
    categories, and the exact ε is at most `epsilon`.

    SOURCE: Wang, Blocki, Li and Jha 2017, [local_hashing] (optimized unary encoding).
    """

    def __init__(self, size: int, epsilon: float) -> None:
        self.size, self.reports, self.own = size, 2**size, 0.5
        first = float(1 / (np.exp(epsilon) + 1))
        self.others = closest_within(epsilon, first, self._parity, growing=False)
        self.epsilon = log_rounded_up(self._parity(self.others))

    @staticmethod
    def _parity(others: float) -> Fraction:
        return (1 - Fraction(others)) / Fraction(others)

    def supported_by(self, reports: Counts, category: int) -> Flags:
        return np.asarray(reports >> category & 1 == 1)

    def exact_column(self, report: int) -> list[Fraction]:
        q = Fraction(self.others)
        chances = [q if report >> bit & 1 else 1 - q for bit in range(self.size)]
        return [math.prod(chances) / own / 2 for own in chances]


class LocalHashing(SupportedProtocol):
    """Optimized local hashing: a random hash function and one of its g values; g is the `prime`.

    The functions are linear: category u is the vector x_u = (1, digits of u to base g) of t numbers
    modulo g. A function is a vector a, and hashes u to a . x_u. The hashes of any two categories
    are exactly independent. The value (a, y) has the code g a + y, where a is a number to base g.
    It supports the categories with the hash y. There are `size` categories, and the exact ε is at
    most `epsilon`. The default g <= 2 ** 15 has the least variance for a rare category.

    SOURCE: Wang, Blocki, Li and Jha 2017, [local_hashing] (optimized local hashing), with functions
    that are independent in pairs instead of random ones.
    """

    def __init__(self, size: int, epsilon: float, prime: int | None = None) -> None:
        def variance(g: int) -> float:
            p, q = 1 / (1 + (g - 1) * math.exp(-epsilon)), 1 / g
            return q * (1 - q) / (p - q) ** 2

        largest = min(4 * math.exp(epsilon) + 8, 2**15)
        self.prime = prime or min(primes_up_to(int(largest)).tolist(), key=variance)
        self.digits = next(d for d in itertools.count(1) if self.prime**d >= size)
        self.size, self.reports = size, self.prime ** (self.digits + 2)
        self.own, self.others = probability_of_epsilon(epsilon, self.prime, 1), 1 / self.prime
        p = Fraction(self.own)
        self.epsilon = log_rounded_up(p * (self.prime - 1) / (1 - p))

    def supported_by(self, reports: Counts, category: int) -> Flags:
        functions, values = np.divmod(reports, self.prime)
        for _ in range(self.digits):
            functions, digits = np.divmod(functions, self.prime)
            category, own = divmod(category, self.prime)
            values = values - digits * own
        return np.asarray((functions - values) % self.prime == 0)

    def exact_column(self, report: int) -> list[Fraction]:
        p, members = Fraction(self.own), self.prime ** (self.digits + 1)
        high, low = p / members, (1 - p) / (self.reports - members)
        code = np.array([report])
        return [high if self.supported_by(code, u)[0] else low for u in range(self.size)]
