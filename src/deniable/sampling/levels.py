"""Exact draws of an index that is uniform within each of two ranges, by a source or by keys.

**Layout of keyed draws, version 1.** Record r of a column is in the first range if a uniform number
is below the probability. The number is the record's word of 16 bits. If these equal the first 16
bits of the probability, the continuations 0, 2, 4, ... are further digits. The place in a range of
n indexes is the whole part of n times another uniform number: the record's word of 64 bits. If this
does not determine the whole part, the continuations 1, 3, 5, ... are further digits. Words and
continuations are defined in `deniable.sampling.keyed`. Nothing is rounded, and no float is used.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import count

import numpy as np
import numpy.typing as npt

from deniable.arrays import Counts, Flags
from deniable.sampling.keyed import NARROW, WIDE, KeyedColumn, further_bits
from deniable.sampling.outcomes import FEW_RECORDS, Categories, events
from deniable.sampling.sources import RandomSource

Wide = npt.NDArray[np.uint64]
HALF = np.uint64(32)
LOW_HALF = np.uint64(2**32 - 1)


@dataclass(frozen=True)
class Levels:
    """A range of `first` indexes, drawn with a `probability` in [0, 1], and one of `second`.

    Indexes are 0 .. first - 1 in the first and first .. first + second - 1 in the second range,
    with equal probabilities within a range. A range of positive probability has at least one index.
    Together the ranges have less than 2 ** 63 indexes.
    """

    probability: float | Fraction
    first: int
    second: int

    def draw(self, source: RandomSource, size: int) -> Counts:
        """Draw `size` independent indexes from `source`, shape (size,)."""
        hit = events(source, self.probability, size)
        if self.first == self.second:
            return source.integers(0, self.first, size) + self.first * ~hit
        indexes = np.empty(size, dtype=np.int64)
        number = int(np.count_nonzero(hit))
        total = self.first + self.second
        if number:
            indexes[hit] = source.integers(0, self.first, number)
        if number < size:
            indexes[~hit] = source.integers(self.first, total, size - number)
        return indexes

    def draw_keyed(self, column: KeyedColumn) -> Counts:
        """Return the index of each record of `column`, shape (records,)."""
        hit = keyed_events(column, self.probability)
        lengths = np.where(hit, np.uint64(self.first), np.uint64(self.second))
        return keyed_integers(column, lengths) + self.first * ~hit


def keyed_events(column: KeyedColumn, probability: float | Fraction) -> Flags:
    """Return an event of exactly this `probability`, in [0, 1], for each record of `column`.

    It happens if the record's uniform number is below the probability. The shape is (records,).
    """
    scaled = Fraction(probability) * 2**NARROW
    whole = math.floor(scaled)
    words = column.words()
    happened = np.asarray(words < whole)
    if rest := scaled - whole:
        undecided = np.asarray(words == whole)
        if len(column) <= FEW_RECORDS:
            # All take further bits, so the time of a draw does not reveal whether it needs them.
            further = column.continued(np.arange(len(column)), 0)[:, 0]
            limit = math.floor(rest * 2**64)
            happened |= undecided & (further < limit)
            undecided &= further == limit
        for record in np.flatnonzero(undecided).tolist():
            # Take further bits of the number, the even continuations, until they decide.
            digits = further_bits(column, record, count(0, 2))
            happened[record] = Categories.of([rest, 1 - rest]).decided(0, 0, digits, 128) == 0
    return happened


def keyed_integers(column: KeyedColumn, lengths: Wide) -> Counts:
    """Return a number exactly uniform in 0 .. length - 1 for each record of `column`.

    The `lengths`, shape (records,), are in [1, 2**63).
    """
    words = column.words(WIDE).astype(np.uint64, copy=False)
    drawn = _high_word(words, lengths).view(np.int64)
    # Further digits may carry over only if words * length mod 2**64 is too close to 2**64.
    for record in np.flatnonzero(words * lengths > -lengths).tolist():
        length = int(lengths[record])
        # Take further bits of the number, the odd continuations, until they decide.
        further = further_bits(column, record, count(1, 2))
        word, bits = int(words[record]), WIDE
        while (word * length) >> bits != ((word + 1) * length - 1) >> bits:
            word, bits = (word << 128) | next(further), bits + 128
        drawn[record] = (word * length) >> bits
    return drawn


def _high_word(words: Wide, lengths: Wide) -> Wide:
    high, low = words >> HALF, words & LOW_HALF
    long_low = lengths & LOW_HALF
    first, second = high * long_low, (low * long_low) >> HALF
    long_high = lengths >> HALF
    if not long_high.any():
        return np.asarray((first + second) >> HALF)
    cross = low * long_high
    middle = second + (first & LOW_HALF) + (cross & LOW_HALF)
    return np.asarray(
        high * long_high + (first >> HALF) + (cross >> HALF) + (middle >> HALF), dtype=np.uint64
    )
