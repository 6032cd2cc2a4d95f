"""Compare protocols without a curator at a requested epsilon: variance and exact epsilon.

The numbers depend on no data, so that they need no table.
"""

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from deniable.arrays import Counts, Flags, Floats
from deniable.channels import (
    MAKERS,
    TwoLevelChannel,
    best_protocol,
    closest_within,
    log_rounded_up,
)
from deniable.channels.protocols import primes_up_to, probability_of_epsilon
from deniable.display import Tables
from deniable.privacy import FLOAT_TOLERANCE, column_epsilon, exact_epsilon, whole_weights

SIZES = (4, 16, 100, 10_000)
EPSILONS = (0.5, 1.0, 2.0, 4.0)
MAX_BITS = 16  # of unary encoding: neither its epsilon nor its variance depends on their number
MAX_ENTRIES = 2**14
"""Entries up to which the audit takes the ratios of a matrix column by column."""


class SupportedProtocol(ABC):
    """A protocol for comparison: a report supports its own category and the others by chance.

    A report supports the true category with the probability `own`, and each other one with the
    probability `others`.
    """

    size: int
    reports: int
    own: float
    others: float

    @abstractmethod
    def supported_by(self, reports: Counts, category: int) -> Flags:
        """Return which of the `reports` support a `category`."""

    @abstractmethod
    def exact_column(self, report: int) -> list[Fraction]:
        """Return Pr(`report` | true category) for each category."""

    def matrix(self) -> Floats:
        """Return the probability of each report, shape (size, reports)."""
        columns = [self.exact_column(report) for report in range(self.reports)]
        return np.array(columns, dtype=float).T

    def own_variance(self, proportions: Floats | float) -> Floats | float:
        """Return n times the variance of the estimate of a category of these `proportions`."""
        supported = self.others + (self.own - self.others) * proportions
        return supported * (1 - supported) / (self.own - self.others) ** 2


class UnaryEncoding(SupportedProtocol):
    """Report a bit for each category: 1 with probability 1/2 if it is the true one, else `others`.

    A report is the whole number with these bits, lowest for category 0. Two categories change two
    bits, so the parity is (1 - q) / q, with q the probability `others`. There are `size`
    categories, and the exact epsilon is at most `epsilon`.

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
    """Report a hash function, drawn at random, and one of its g values; g is the `prime`.

    The functions are linear: category u is the vector x_u = (1, digits of u to base g) of t numbers
    modulo g. A function is a vector a, and hashes u to a . x_u. Any two categories are hashed
    independently, exactly. The value (a, y) has the code g a + y, with a read as a number to base
    g. It supports the categories with the hash y. There are `size` categories, and the exact
    epsilon is at most `epsilon`. By default the prime, up to 2 ** 15, has the least variance of a
    rare category.

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


PROTOCOLS: Mapping[str, Callable[[int, float], Any]] = {
    "generalized randomized response": MAKERS["generalized-rr"],
    "subset selection": MAKERS["subset-selection"],
    "Hadamard response": MAKERS["hadamard"],
    "projective geometry response": MAKERS["projective-geometry"],
    "optimized unary encoding": lambda size, epsilon: UnaryEncoding(min(size, MAX_BITS), epsilon),
    "local hashing": LocalHashing,
}
"""Protocols for a number of categories and an epsilon, by name. The last two serve comparison: they
are not channels, and nothing is drawn from them."""


def protocols(tables: Tables) -> dict[str, Any]:
    """Prepare the variances of all protocols and the chosen one, by size and epsilon.

    Variances are of a category's own estimate, times n, if all categories are equally frequent.
    ``drawn`` is the lowest exact epsilon of the row's channels. The `tables` are not read.
    """
    rows = []
    for size, epsilon in product(SIZES, EPSILONS):
        channels = {name: made(size, epsilon) for name, made in PROTOCOLS.items()}
        variances = {}
        for name, channel in channels.items():
            if isinstance(channel, TwoLevelChannel | SupportedProtocol):
                variances[name] = float(channel.own_variance(1 / size))
            else:
                second = channel.second_moments(channel.reported(np.full(size, 1 / size)))
                variances[name] = float(second[0]) - 1 / size**2
        rows.append(
            {
                "size": size,
                "epsilon": epsilon,
                "drawn": min(channel.epsilon for channel in channels.values()),
                "variances": variances,
                "chosen": best_protocol(size, epsilon).name,
            }
        )
    return {"names": tuple(PROTOCOLS), "rows": rows}


def audited_protocols() -> pd.DataFrame:
    """Compare the requested with the exact epsilons of all channels, one row per channel.

    ``exact_epsilon`` comes from the exact probabilities of all reports, rounded up, and
    ``shipped_epsilon`` from the dense matrix, if there is one. ``of`` is the origin of the exact
    one: all responses, or the closed form if the matrix is too large. It has no tolerance.
    """
    rows = []
    for (name, made), size, epsilon in product(PROTOCOLS.items(), SIZES, EPSILONS):
        channel = made(size, epsilon)
        if channel.size < size:
            continue
        if size * channel.reports <= MAX_ENTRIES:
            exact = exact_epsilon(whole_weights(channel))
            shipped, of = column_epsilon(channel.matrix()), f"all {channel.reports:,} reports"
        else:
            exact, shipped, of = channel.epsilon, math.nan, "closed form"
        rows.append(
            {"mechanism": name, "epsilon": epsilon, "categories": size, "kind": "exact", "of": of}
            | {"claimed_epsilon": epsilon, "exact_epsilon": exact, "shipped_epsilon": shipped}
            | {"holds": exact <= epsilon and not shipped > epsilon * (1 + FLOAT_TOLERANCE)}
        )
    return pd.DataFrame(rows)
