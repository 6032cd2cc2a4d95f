"""Draws whose probabilities are exactly the rational numbers that are stated.

A uniform number is drawn bit by bit as far as it takes to tell it from every threshold: the first
bits for all records at once, the rest for the few, if any, that they leave open. No probability is
rounded, so what a matrix claims is what is drawn, however small the entry.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from deniable.arrays import Flags, Positions
from deniable.sampling.sources import RandomSource

WORD = 2**53


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
        happened[undecided] = ~Categories.of([rest, 1 - rest]).draw(source, undecided.size).astype(
            bool
        )
    return happened


@dataclass(frozen=True, eq=False)
class Categories:
    """A distribution over categories, to be drawn from exactly.

    Parameters
    ----------
    cumulative : tuple of int
        Cumulative weights, one a category; the last is the total. Probabilities are weights
        divided by the total, as rational numbers.
    """

    cumulative: tuple[int, ...]

    @classmethod
    def of(cls, probabilities: Sequence[float | Fraction]) -> "Categories":
        """Return the distribution proportional to numbers that are taken exactly."""
        return cls(tuple(accumulate(whole_weights(probabilities))))

    def __post_init__(self) -> None:
        total = self.cumulative[-1]
        scaled = [divmod(weight * WORD, total) for weight in self.cumulative]
        object.__setattr__(self, "_words", np.array([word for word, _ in scaled], dtype=np.int64))

    def draw(self, source: RandomSource, size: int) -> Positions:
        """Return `size` independent categories."""
        words: npt.NDArray[np.int64] = self._words  # type: ignore[attr-defined]
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
