"""Draws with exactly the stated rational probabilities, however small they are.

A uniform number is drawn bit by bit until it differs from every threshold. The first bits are drawn
for all records at once, and more bits only for the few records that need them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate

import numpy as np

from deniable.arrays import Counts, Flags, Floats, Positions
from deniable.sampling.sources import RandomSource

WORD = 2**53


def multinomial(generator: np.random.Generator, totals: Counts, probabilities: Floats) -> Counts:
    """Draw multinomial counts with `generator`; a probability of zero gives a count of zero.

    The result has counts for each of `totals`, shape (...): its shape is (..., outcomes), int64.
    The `probabilities`, shape (outcomes,), are not negative; they are divided by their sum. NumPy
    adds the rounding error to the last category, even if its probability is 0 (the error of
    sdcMicro's issue 303). This function draws only from categories of positive probability.
    """
    support = np.flatnonzero(probabilities)
    drawn = generator.multinomial(totals, probabilities[support] / probabilities[support].sum())
    if support.size == probabilities.size:
        return drawn
    counts = np.zeros((*np.shape(totals), probabilities.size), dtype=np.int64)
    counts[..., support] = drawn
    return counts


def events(source: RandomSource, probability: float | Fraction, size: int) -> Flags:
    """Draw `size` independent events of exactly one `probability` in [0, 1] from `source`.

    The first 16 bits of a uniform number decide all but one in 65,536 events. This needs a quarter
    of the random words of floats. The result has the shape (size,).
    """
    exact = Fraction(probability)
    first_bits = source.integers(-(2**63), 2**63, -(-size // 4)).view(np.uint16)[:size]
    whole = math.floor(exact * 2**16)
    happened = first_bits < whole
    if rest := exact * 2**16 - whole:
        undecided = np.flatnonzero(first_bits == whole)
        happened[undecided] = Categories.of([rest, 1 - rest]).draw(source, undecided.size) == 0
    return happened


@dataclass(frozen=True, eq=False)
class Categories:
    """A distribution over categories, for exact draws.

    `cumulative` are the cumulative weights of the categories, as whole numbers; the last is the
    total. The probabilities are the weights divided by the total, as rational numbers.
    """

    cumulative: tuple[int, ...]

    @classmethod
    def of(cls, probabilities: Sequence[float | Fraction]) -> "Categories":
        """Return the distribution that is exactly proportional to `probabilities`, all >= 0."""
        return cls(tuple(accumulate(whole_weights(probabilities))))

    @cached_property
    def _words(self) -> Counts:
        total = self.cumulative[-1]
        return np.array([weight * WORD // total for weight in self.cumulative], dtype=np.int64)

    def draw(self, source: RandomSource, size: int) -> Positions:
        """Draw `size` independent categories from `source`, shape (size,)."""
        words = self._words
        drawn = source.integers(0, WORD, size)
        # The number of thresholds at or below the drawn number is its category. A category of
        # weight 0 has the threshold of the category before it and is never drawn.
        categories = np.searchsorted(words, drawn, side="right")
        at_threshold = np.flatnonzero(words[np.maximum(categories - 1, 0)] == drawn)
        for record in at_threshold:  # almost none: about 2**-53 of the records per threshold
            categories[record] = self._resolve(int(drawn[record]), source)
        return categories

    def _resolve(self, word: int, source: RandomSource) -> int:
        """Draw further bits of a number, begun by `word`, until it differs from all thresholds."""
        total, scale = self.cumulative[-1], WORD
        while True:
            low = word * total
            if not any(low < c * scale < low + total for c in self.cumulative):
                return sum(c * scale <= low for c in self.cumulative)
            word = word * WORD + int(source.integers(0, WORD, 1)[0])
            scale *= WORD


def whole_weights(values: Sequence[float | Fraction]) -> list[int]:
    """Return whole numbers in exactly the proportions of `values`."""
    ratios = [value.as_integer_ratio() for value in values]
    common = math.lcm(*(denominator for _, denominator in ratios))
    return [numerator * (common // denominator) for numerator, denominator in ratios]
