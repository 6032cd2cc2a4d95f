"""Keep-or-replace channels, P = a I + 1 b', with a closed form for every quantity."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from deniable.arrays import Codes, Counts, Floats
from deniable.channels.base import Channel
from deniable.channels.exact import (
    ROW_SUM_TOLERANCE,
    closest_within,
    exact_ratio,
    numbers_in,
    refuse_epsilon,
    refuse_no_number,
)
from deniable.channels.maps import SINGULAR_WEIGHT, refuse_other_than_whole
from deniable.errors import ChannelError
from deniable.sampling import (
    Categories,
    KeyedColumn,
    Outcomes,
    RandomSource,
    events,
    multinomial,
    whole_weights,
)

CHUNK_RECORDS = 1 << 16  # draws and codes of a chunk stay in the processor's cache


@dataclass(frozen=True, eq=False)
class KeepOrReplace(Channel):
    """P = a I + 1 b': keep the true category with probability a, else draw from b / (1 - a).

    Randomized response, generalized randomized response and the channel of RRBA have this form. The
    `diagonal_weight` a is in [-1, 1], and the `replacement` b >= 0 has the shape (size,), with a +
    sum(b) = 1 and a + b >= 0. Otherwise `ChannelError` is raised. If a is negative, nothing is
    "kept": a category is less likely if it is the true one.

    One randomized value has epsilon = max over v of |ln((a + b_v) / b_v)|, from [multirr], (4).

    Rows of floats seldom sum to 1 exactly. The channel keeps with exactly the probability a (the
    float), else replaces with probabilities exactly proportional to the floats b. Epsilon and
    parity are computed for this matrix, in rational numbers.

    Examples
    --------
    >>> channel = KeepOrReplace.uniform(4, keep=0.5)
    >>> channel.matrix()[0]
    array([0.625, 0.125, 0.125, 0.125])
    >>> round(channel.parity, 12)
    5.0
    """

    diagonal_weight: float
    replacement: Floats

    def __post_init__(self) -> None:
        refuse_no_number("diagonal_weight", self.diagonal_weight)
        b, a = numbers_in("replacement", self.replacement), float(self.diagonal_weight)
        if b.ndim != 1 or not b.size:
            raise ChannelError(f"replacement must be a list of numbers, not of shape {b.shape}")
        if not (np.isfinite(a) and np.all(np.isfinite(b))):
            raise ChannelError("a channel's probabilities must be finite numbers")
        worst = int(b.argmin())
        if b[worst] < 0:
            raise ChannelError(f"entry {b[worst]:g} of category {worst} is negative")
        if a + b[worst] < 0:
            raise ChannelError(f"diagonal entry {a + b[worst]:g} of category {worst} is negative")
        if abs(a + b.sum() - 1) > ROW_SUM_TOLERANCE:
            raise ChannelError(f"rows sum to {a + b.sum():.9g}, not to 1")
        if b.size == 1 or not b.any():
            # With one category, all a and b are the same channel; this choice has an inverse. With
            # b = 0 there is no replacement, so a is 1 even if it is less by rounding.
            a, b = 1.0, np.zeros(b.size)
        b.setflags(write=False)
        object.__setattr__(self, "diagonal_weight", a)
        object.__setattr__(self, "replacement", b)

    @classmethod
    def uniform(cls, size: int, keep: float) -> "KeepOrReplace":
        """Keep with probability `keep` in [0, 1], else draw one of `size` categories uniformly."""
        refuse_other_than_whole("the number of categories", size, 1)
        refuse_no_number("the probability to keep", keep)
        if not 0 <= keep <= 1:
            raise ChannelError(f"the probability to keep is {keep}; it must be in [0, 1]")
        return cls(keep, np.full(size, (1 - keep) / size))

    @classmethod
    def of_epsilon(cls, size: int, epsilon: float) -> "KeepOrReplace":
        """Return generalized randomized response: equal probabilities of all other categories.

        P[u, u] = exp(epsilon) / (exp(epsilon) + size - 1) is the largest common diagonal of a
        matrix with this epsilon ([pram], (3.6)). The exact epsilon is at most `epsilon`, in
        (0, 30], and below it only by rounding. One category (`size` 1) is always kept. Raises
        `ChannelError` if `size` is below 1, or epsilon is not in (0, 30].
        """
        refuse_other_than_whole("the number of categories", size, 1)
        refuse_epsilon(epsilon)
        if size == 1:
            return cls(1.0, np.zeros(1))
        odds = math.expm1(epsilon)

        def parity(keep: float) -> Fraction:
            return 1 + size * Fraction(keep) / (1 - Fraction(keep))

        return cls.uniform(size, closest_within(epsilon, odds / (odds + size), parity))

    @classmethod
    def from_entries(cls, size: int, diagonal: float, elsewhere: float) -> "KeepOrReplace":
        """Return the channel of `size` categories with two given entries in its matrix.

        The true category has the probability `diagonal`, and each other one `elsewhere`: diagonal +
        (size - 1) * elsewhere is 1. Otherwise `ChannelError` is raised.
        """
        refuse_other_than_whole("the number of categories", size, 1)
        refuse_no_number("the diagonal entry", diagonal)
        refuse_no_number("the entry elsewhere", elsewhere)
        return cls(diagonal - elsewhere, np.full(size, elsewhere))

    @property
    def size(self) -> int:
        return self.replacement.size

    @property
    def singular(self) -> bool:
        """Whether a is zero up to rounding: randomized values then reveal nothing."""
        return abs(self.diagonal_weight) < SINGULAR_WEIGHT

    def _drawn(self, true: Codes, source: RandomSource) -> Codes:
        reports = true.copy(order="C")
        flat = reports.reshape(-1)
        for start in range(0, flat.size, CHUNK_RECORDS):
            chunk = flat[start : start + CHUNK_RECORDS]
            if self.diagonal_weight < 0:
                self._avoid_chunk(chunk, source)
                continue
            replaced = np.flatnonzero(~events(source, self.diagonal_weight, chunk.size))
            if replaced.size:
                chunk[replaced] = self._replacements(replaced.size, source)
        return reports

    def _avoid_chunk(self, chunk: Codes, source: RandomSource) -> None:
        # Rejection: propose from b, accept the true category v with probability (a + b_v) / b_v.
        # Accepted values have exactly the distribution of the row.
        true = chunk.copy()
        open_records = np.arange(chunk.size)
        while open_records.size:
            proposals = self._replacements(open_records.size, source)
            accepted = proposals != true[open_records]
            for own in np.unique(proposals[~accepted]):
                at = np.flatnonzero(~accepted & (proposals == own))
                diagonal, elsewhere = self.exact_entries(int(own))
                accepted[at] = events(source, diagonal / elsewhere, at.size)
            chunk[open_records[accepted]] = proposals[accepted]
            open_records = open_records[~accepted]

    def _drawn_keyed(self, true: Codes, column: KeyedColumn) -> Codes:
        if self.diagonal_weight < 0:
            return self._by_row.draw(column, true).astype(true.dtype)
        drawn = self._kept_or_replaced.draw(column)
        kept = (drawn == self.size).view(np.uint8).astype(true.dtype)
        drawn = drawn.astype(true.dtype)
        # Faster than a choice by a mask: d + k (t - d) is t if k is 1, and d if k is 0.
        return np.asarray(drawn + kept * (true - drawn))

    @cached_property
    def _kept_or_replaced(self) -> Outcomes:
        """Distribution of the replacements and of one more outcome, "kept", for a >= 0."""
        a, total = Fraction(self.diagonal_weight), sum(self._weights)
        exact = [(1 - a) * Fraction(weight, total or 1) for weight in self._weights]
        exact.append(a if total else Fraction(1))
        return Outcomes(np.array([exact], dtype=float), lambda _: Categories.of(exact))

    @cached_property
    def _by_row(self) -> Outcomes:
        """The rows of P, for a < 0, where nothing is kept."""

        def row(category: int) -> Categories:
            entries = [self.exact_entries(reported)[1] for reported in range(self.size)]
            entries[category] = self.exact_entries(category)[0]
            return Categories.of(entries)

        return Outcomes(self.matrix(), row)

    def _replacements(self, number: int, source: RandomSource) -> Codes:
        if (categories := self._replacement_categories) is None:
            return source.integers(0, self.size, number)
        return categories.draw(source, number)

    @cached_property
    def _replacement_categories(self) -> Categories | None:
        """The distribution of replacements; None if it is uniform."""
        alike = np.all(self.replacement == self.replacement[0])
        return None if alike else Categories.of(self.replacement.tolist())

    def exact_entries(self, category: int) -> tuple[Fraction, Fraction]:
        """Return the exact entries a + b_v and b_v of the matrix of draws, for v = `category`."""
        a, weights = Fraction(self.diagonal_weight), self._weights
        elsewhere = (1 - a) * Fraction(weights[category], sum(weights)) if any(weights) else 1 - a
        if self.diagonal_weight + self.replacement[category] == 0:
            return Fraction(0), elsewhere  # exactly 0, for any rounding of a
        return max(a + elsewhere, Fraction(0)), elsewhere

    @cached_property
    def _weights(self) -> list[int]:
        return whole_weights(self.replacement.tolist())

    @cached_property
    def _b(self) -> Floats:
        """Return b, scaled so that its sum is 1 - a to the last digit."""
        total = self.replacement.sum()
        return self.replacement * ((1 - self.diagonal_weight) / total if total else 0.0)

    def _drawn_counts(self, true: Counts, generator: np.random.Generator) -> Counts:
        if self.diagonal_weight < 0:
            return super()._drawn_counts(true, generator)
        kept = generator.binomial(true, self.diagonal_weight)
        replaced = true.sum(axis=-1) - kept.sum(axis=-1)
        if not np.any(replaced):
            return np.asarray(kept)
        return np.asarray(kept + multinomial(generator, replaced, self._b))

    def reported(self, proportions: npt.ArrayLike) -> Floats:
        x = self._fitting(proportions, "proportions")
        return np.asarray(self.diagonal_weight * x + self._b * x.sum(axis=-1, keepdims=True))

    def expected(self, values: npt.ArrayLike) -> Floats:
        x = self._fitting(values, "values")
        return np.asarray(self.diagonal_weight * x + (x @ self._b)[..., None])

    def solve_transposed(self, reported: Floats) -> Floats:
        b, total = self._b, reported.sum(axis=-1, keepdims=True)
        return np.asarray((reported - b * total) / self.diagonal_weight)

    def solve(self, weights: Floats) -> Floats:
        return np.asarray((weights - (weights @ self._b)[..., None]) / self.diagonal_weight)

    def moments(self, reported: Floats, power: int) -> Floats:
        # In a product this runs along one axis, where `reported` does not sum to 1.
        b, total = self._b, reported.sum(axis=-1, keepdims=True)
        if power == 2:  # the same sum with fewer roundings
            powers = reported * (1 - 2 * b) + total * b**2
        else:
            powers = reported * (1 - b) ** power + (total - reported) * (-b) ** power
        return np.asarray(powers / self.diagonal_weight**power)

    def own_moments(self, power: int) -> Floats:
        a, b = self.diagonal_weight, self._b
        moments = (a + b) * (1 - b) ** power + (1 - a - b) * (-b) ** power
        return np.asarray(moments / a**power)

    @property
    def weight_and_replacement(self) -> tuple[float, Floats]:
        return self.diagonal_weight, self.replacement

    def exact_column(self, report: int) -> list[Fraction]:
        diagonal, elsewhere = self.exact_entries(report)
        return [diagonal if u == report else elsewhere for u in range(self.size)]

    @property
    def exact_parity(self) -> Fraction | None:
        # For a of either sign, the parity decreases as b increases: the smallest b decides.
        diagonal, elsewhere = self.exact_entries(int(self.replacement.argmin()))
        if self.size == 1:
            return Fraction(1)
        return exact_ratio(max(diagonal, elsewhere), min(diagonal, elsewhere))

    def _fill_matrix(self) -> Floats:
        return np.asarray(np.maximum(self.diagonal_weight * np.eye(self.size) + self._b, 0.0))
