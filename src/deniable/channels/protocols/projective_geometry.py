"""Projective geometry response: nearly optimal for many categories, at any epsilon."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy

from deniable.arrays import Codes, Counts, Flags, Floats, Positions
from deniable.channels.exact import refuse_epsilon
from deniable.channels.maps import refuse_other_than_whole
from deniable.channels.protocols import pure
from deniable.errors import ChannelError

MAX_TRANSFORM = 2**25  # cells of the largest Fourier transform: half a gigabyte


@dataclass(frozen=True, eq=False)
class ProjectiveGeometry(pure.TwoLevelChannel):
    """Projective geometry response: categories and values are points of a projective space.

    The points of PG(t - 1, q) are the nonzero vectors of t numbers modulo a prime q. A vector and
    its multiples are one point, so there are m = (q ** t - 1) / (q - 1) points, with the least t
    for at least as many points as categories. Category u is point number u, and S_u has the
    orthogonal points v, u . v = 0: c = (q ** (t - 1) - 1) / (q - 1), l = (q ** (t - 2) - 1) / (q -
    1). With q about exp(epsilon) + 1, n times the variance of a rare category tends to 4
    exp(epsilon) / (exp(epsilon) - 1) ** 2 as categories grow: the least of any channel.

    The representative of a point is the multiple with first nonzero number 1. Points are numbered
    in the order of their representatives, as numbers in base q. So 0 .. 01 is point 0, and the
    points of a smaller space come first. The `prime` is q, with at most 2 ** 27 points;
    `categories` and `probability` are as in `TwoLevelChannel`.

    SOURCE: Feldman, Nelson, Nguyen and Talwar 2022, [projective_geometry]. The recursion for sums
    over all sets (`membership_sums`) is our own.

    Examples
    --------
    >>> channel = ProjectiveGeometry.of_epsilon(12, 1.0)
    >>> channel.prime, channel.reports, channel.members, channel.shared
    (3, 13, 4, 1)
    """

    categories: int
    prime: int
    probability: float

    def __post_init__(self) -> None:
        pure.refuse_few_categories(self.size, "projective geometry response")
        q = self.prime
        refuse_other_than_whole("the prime", q, 0, 2**32)
        if q < 2 or any(q % factor == 0 for factor in range(2, int(q**0.5) + 1)):
            raise ChannelError(f"{q} is not a prime; the vectors need a field of prime size")
        self.refuse_large_tally()
        self._check_probability()

    @classmethod
    def of_epsilon(
        cls, size: int, epsilon: float, largest_work: float = math.inf
    ) -> "ProjectiveGeometry":
        """Return the channel of `size` categories with at most the exact `epsilon`, in (0, 30].

        The prime has the least variance of the own estimate for equally frequent categories. It has
        at most 2 ** 25 cells to transform and, if such a prime exists, a `work` of at most
        `largest_work`. Raises `ChannelError` if an argument is out of range.
        """
        pure.refuse_few_categories(size, "projective geometry response")
        refuse_epsilon(epsilon)
        if size >= MAX_TRANSFORM:
            raise ChannelError(
                f"{size:,} categories are too many for a transform (limit {MAX_TRANSFORM:,}); use "
                "another protocol, for example the result of `best_protocol`"
            )
        primes = _primes_to_try(size, epsilon)
        quick = [q for q in primes if projective_work(size, q) <= largest_work]
        designs = {q: _block_design(size, q) for q in quick or primes}
        prime = min(designs, key=lambda q: pure.variance_of_design(size, epsilon, designs[q]))
        reports, members, _ = designs[prime]
        return cls(size, prime, pure.probability_of_epsilon(epsilon, reports, members))

    @property
    def dimension(self) -> int:
        """Return t, the length of the vectors."""
        return _dimension(self.size, self.prime)

    @cached_property
    def block_design(self) -> tuple[int, int, int]:
        return _block_design(self.size, self.prime)

    def place(self, categories: Counts, indexes: Counts) -> Counts:
        # All numbers of value number j but the pivot follow from j, and the pivot from them. It is
        # at the last nonzero number of the category's vector. For a member, the other places have
        # the numbers of point j of the smaller space. For j >= c they have the t - 1 digits of
        # j - c in base q, with 1 in place of the first nonzero digit, and this digit is u . v. But
        # if all nonzero digits are after the pivot, it is the first nonzero number and is 1.
        q, powers, starts = self.prime, self._powers, self._starts
        vectors, pivots, digits, inverses = self._solved
        pivot, own = pivots[categories], indexes < self.members
        rest = indexes - self.members
        first = np.where(
            own,
            np.searchsorted(starts, indexes, side="right"),
            np.searchsorted(powers, rest, side="right"),
        )
        first -= 1  # the place of the first digit; -1 if there is none
        leading = np.where(own, 1, rest // powers[np.maximum(first, 0)])
        shift = np.where(own, powers[first] - starts[first], (1 - leading) * powers[first])
        after = ~own & (first < pivot)
        free = np.where(own, indexes, rest) + np.where(after, 0, shift)
        product = np.where(after, digits[categories], np.where(own, 0, leading))
        high, low = np.divmod(free, powers[pivot])
        reports = high * powers[pivot + 1] + low
        product -= self._inner_products(reports, vectors[categories])
        reports += product * inverses[categories] % q * powers[pivot]
        top = np.where(first >= pivot, first + 1, np.where(own, first, pivot))
        return np.asarray(reports - powers[top] + starts[top])

    def _inner_products(self, left: Counts, right: Counts) -> Counts:
        """Return inner products, not yet modulo q, of vectors that are numbers in base q."""
        q, total = self.prime, np.zeros_like(left)
        for _ in range(self.dimension):
            left_above, right_above = left // q, right // q
            total += (left - left_above * q) * (right - right_above * q)
            left, right = left_above, right_above
        return total

    @cached_property
    def _powers(self) -> Counts:
        return self.prime ** np.arange(self.dimension + 1, dtype=np.int64)

    @cached_property
    def _starts(self) -> Counts:
        """The first point for each place of the first number, counted from the last."""
        return np.array([_points(t, self.prime) for t in range(self.dimension + 1)])

    @cached_property
    def _solved(self) -> tuple[Counts, Counts, Counts, Counts]:
        """For each category: its vector, the place of its pivot, the digit there, and 1 / digit."""
        vectors = self._vectors(np.arange(self.size))
        pivots, digits = np.zeros_like(vectors), vectors % self.prime
        for place in range(1, self.dimension):
            none = digits == 0
            pivots[none] = place
            digits[none] = vectors[none] // self._powers[place] % self.prime
        distinct, which = np.unique(digits, return_inverse=True)
        inverses = [pow(digit, -1, self.prime) for digit in distinct.tolist()]
        return vectors, pivots, digits, np.array(inverses)[which]

    def _vectors(self, codes: Codes) -> Counts:
        """Return the vectors of points, as numbers in base q."""
        first = np.searchsorted(self._starts, codes, side="right") - 1
        return np.asarray(codes - self._starts[first] + self._powers[first])

    def supported_by(self, reports: Codes, category: int) -> Flags:
        vectors = self._vectors(np.asarray(reports).astype(np.int64))
        own = np.full_like(vectors, self._vectors(np.array(category)))
        return np.asarray(self._inner_products(vectors, own) % self.prime == 0)

    def membership_sums(self, values: Floats) -> Floats:
        """Return the sums of values over each S_u, by a Fourier transform of a q-th of the space.

        The `values` are f. Points are (0, x'), which form the smaller space, and (1, x) for any
        vector x of t - 1 numbers. Let G be the transform of f(1, x) over x, G(y) = sum over x of
        f(1, x) w^(x . y) with w = exp(-2 pi i / q). The sums over the hyperplanes of points (0, y')
        and (1, y) are

            N(0, y') = N'(y') + (1 / q) sum over a of G(a y'),
            N(1, y) = N'(y) + (1 / q) sum over a of w^a G(a y),

        where N' are the same sums in the smaller space, and N'(0) is the sum of all f(0, x').
        """
        rows = np.reshape(values, (-1, self.reports))
        sums = [self._sums(row, self.dimension, self.size) for row in rows]
        return np.reshape(sums, (*np.shape(values)[:-1], self.size))

    def point_sums(self, weights: Floats) -> Floats:
        # Orthogonality is symmetric, so these are sums over the points that are categories.
        values = np.zeros((math.prod(np.shape(weights)[:-1]), self.reports))
        values[:, : self.size] = np.reshape(weights, (-1, self.size))
        sums = [self._sums(row, self.dimension, self.reports) for row in values]
        return np.reshape(sums, (*np.shape(weights)[:-1], self.reports))

    def _sums(self, values: Floats, t: int, wanted: int) -> Floats:
        """Return the sums over the hyperplanes of the first points of PG(t - 1, q)."""
        if t == 1:
            return np.zeros(1)
        q, smaller, below = self.prime, _points(t - 1, self.prime), self.prime ** (t - 2)
        inner = self._sums(values[:smaller], t - 1, smaller)
        spectrum = np.asarray(scipy.fft.fftn(values[smaller:].reshape((q,) * (t - 1)))).reshape(-1)
        origin = spectrum[0].real
        through = np.bincount(self._points[1 : q * below], spectrum.real[1:], minlength=smaller)
        lines = -(-(wanted - smaller) // below)  # of the first number of y
        found = np.full(lines * below, origin / q)
        for a in range(1, q // 2 + 1):
            turn = np.exp(-2j * np.pi * a / q) * (2 if 2 * a < q else 1) / q
            part = spectrum[self._multiples(a, t - 1, lines)]
            found += turn.real * part.real - turn.imag * part.imag  # with the conjugate, for -a
        found[1:] += inner[self._points[1 : found.size]]
        found[0] += values[:smaller].sum()
        return np.concatenate([inner + (through + origin) / q, found[: wanted - smaller]])

    def _multiples(self, factor: int, length: int, lines: int) -> Positions:
        """Return factor times each vector with a first number < lines, as numbers in base q."""
        digits = np.arange(self.prime) * factor % self.prime
        found = digits[:lines]
        for _ in range(length - 1):
            found = (found[:, None] * self.prime + digits).reshape(-1)
        return found

    @cached_property
    def _points(self) -> Positions:
        """The point of each vector of t - 1 numbers; the first vector has none."""
        q, t = self.prime, self.dimension
        found = np.zeros(q ** (t - 1), dtype=np.int32)
        for length in range(t - 1):
            block, start = q**length, _points(length, q)
            for digit in range(1, q):
                multiples = self._multiples(pow(digit, -1, q), length, q) if length else 0
                found[digit * block : (digit + 1) * block] = start + multiples
        return found


def _points(dimension: int, prime: int) -> int:
    """Return the number of points of PG(dimension - 1, prime), (q ** t - 1) / (q - 1)."""
    return int((prime**dimension - 1) // (prime - 1))


def _dimension(size: int, prime: int) -> int:
    """Return the least length of vectors, at least 2, with at least `size` points."""
    return next(t for t in range(2, 64) if _points(t, prime) >= size)


def _block_design(size: int, prime: int) -> tuple[int, int, int]:
    dimension = _dimension(size, prime)
    return _points(dimension, prime), _points(dimension - 1, prime), _points(dimension - 2, prime)


def projective_work(size: int, prime: int) -> float:
    """Return the approximate number of steps of the own estimate, from `size` and `prime`."""
    t = _dimension(size, prime)
    return float(8 * prime ** (t - 1) * math.log2(_points(t, prime)) + size * prime)


def _primes_to_try(size: int, epsilon: float) -> list[int]:
    """Return the primes near the best one that have small enough transforms."""
    # A prime from size - 1 on has vectors of 2 numbers. The next prime is below twice that.
    largest = min(4 * math.exp(epsilon) + 8, 2 * size)
    return [
        q
        for q in primes_up_to(int(largest)).tolist()
        if q ** (_dimension(size, q) - 1) <= MAX_TRANSFORM
        and _points(_dimension(size, q), q) <= pure.MAX_TALLY
    ]


def primes_up_to(largest: int) -> Counts:
    """Return the primes up to the `largest`, by the sieve of Eratosthenes."""
    prime = np.ones(max(largest, 1) + 1, dtype=bool)
    prime[:2] = False
    for factor in range(2, int(largest**0.5) + 1):
        if prime[factor]:
            prime[factor * factor :: factor] = False
    return np.flatnonzero(prime)
