"""Outcomes of keyed draws with exact rational probabilities, most of them from a table.

The outcome of a record belongs to the interval between thresholds (cumulative probabilities) that
contains its uniform number. Up to 256 outcomes, words have 16 bits, and their first bits are looked
up in a table: an entry is the outcome, or a mark that a threshold may be near. With more outcomes,
words have 64 bits, and a binary search finds the intervals that the table leaves open. A number
closer to a threshold than the error of floats is compared with the exact thresholds, in whole
numbers, with as many bits as necessary. No probability is rounded.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from itertools import accumulate, count

import numpy as np

from deniable.arrays import Codes, Counts, Flags, Floats, Positions
from deniable.sampling.keyed import NARROW, WIDE, KeyedColumn, further_bits
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
            further = (int(source.integers(0, WORD, 1)[0]) for _ in count())
            categories[record] = self.decided(int(drawn[record]), 53, further, 53)
        return categories

    def decided(self, word: int, bits: int, further: Iterator[int], more: int) -> int:
        """Return the category of a uniform number, with as many bits as necessary.

        The first `bits` are those of `word`. Each whole number in `further` has `more` bits.
        """
        total = self.cumulative[-1]
        while any(word * total < each << bits < (word + 1) * total for each in self.cumulative):
            word, bits = (word << more) | next(further), bits + more
        return sum(each << bits <= word * total for each in self.cumulative)


def whole_weights(values: Sequence[float | Fraction]) -> list[int]:
    """Return whole numbers in exactly the proportions of `values`."""
    ratios = [value.as_integer_ratio() for value in values]
    common = math.lcm(*(denominator for _, denominator in ratios))
    return [numerator * (common // denominator) for numerator, denominator in ratios]


MAX_TABLE = 1 << 20  # entries of the tables of all rows, so that they stay in a processor's cache
MIN_BITS = 12  # of a table. With fewer, too many entries would have a threshold among them.
MAX_TABLED = MAX_TABLE >> MIN_BITS
"""Largest number of outcomes, and of rows, with tables; above, words of 64 bits are compared."""
ENTRIES_PER_RECORD = 64
"""Entries of a table for words of 64 bits that take as long to compute as one binary search."""
FEW_RECORDS = 200
"""Up to this number, records are compared with the thresholds if this is faster than a table."""
CHUNK_RECORDS = 1 << 16  # words and outcomes of a chunk stay in the processor's cache


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Distributions for keyed draws, one for each row.

    `shares`, shape (rows, outcomes), are the probabilities as floats, apart from rounding. `exact`
    takes the number of a row and returns its exact distribution.
    """

    shares: Floats
    exact: Callable[[int], Categories]

    @property
    def size(self) -> int:
        """Number of outcomes."""
        return int(self.shares.shape[1])

    def draw(self, column: KeyedColumn, rows: Codes | None = None) -> Codes:
        """Return the outcome of each record of `column`, from its row, shape (records,).

        The `rows` have the same shape. Leave them out if there is only one.
        """
        if max(self.shares.shape) > MAX_TABLED:
            return self._draw_wide(column, rows)
        drawn = np.empty(len(column), dtype=np.min_scalar_type(self.size))
        entries = len(self.shares) << self._bits  # each a 32nd of the work of a comparison
        if len(column) <= FEW_RECORDS and 32 * len(column) * self.size <= entries:
            self._resolve(drawn, column, rows, np.arange(len(column)))
            return drawn
        left = []
        for start in range(0, len(column), CHUNK_RECORDS):
            part = slice(start, start + CHUNK_RECORDS)
            index = column.chosen(part).words() >> (NARROW - self._bits)
            if rows is not None:
                index = index | (rows[part].astype(np.uint32) << self._bits)
            drawn[part] = self._table.take(index)
            left.append(np.flatnonzero(drawn[part] == self.size) + start)
        self._resolve(drawn, column, rows, np.concatenate(left) if left else np.empty(0, int))
        return drawn

    @cached_property
    def _thresholds(self) -> Floats:
        sums = np.cumsum(self.shares, axis=1)
        return np.asarray(sums[:, :-1] / sums[:, -1:])

    @property
    def _slack(self) -> float:
        """A bound of the error of thresholds, which are sums of floats, and of 53-bit numbers."""
        return 1e-12 + self.size * 2.0**-52

    @cached_property
    def _bits(self) -> int:
        return min(NARROW, (MAX_TABLE // len(self.shares)).bit_length() - 1)

    @cached_property
    def _table(self) -> Codes:
        """The outcome by the first bits of a word, row after row; `size` where it is undecided."""
        length, rows = 1 << self._bits, len(self.shares)
        places = self._thresholds * length
        dtype = np.min_scalar_type(self.size)
        floors = np.floor(places).astype(np.int64)
        ends = np.hstack([np.zeros((rows, 1), int), floors, np.full((rows, 1), length)])
        outcomes = np.tile(np.arange(self.size, dtype=dtype), rows)
        table = np.repeat(outcomes, np.diff(ends, axis=1).reshape(-1))
        starts = np.arange(rows)[:, None] * length
        for place in (places - self._slack * length, places + self._slack * length):
            at = np.clip(np.floor(place).astype(np.int64), 0, length - 1)
            table[(starts + at).reshape(-1)] = self.size
        return table

    def _resolve(
        self, drawn: Codes, column: KeyedColumn, rows: Codes | None, left: Positions
    ) -> None:
        """Set the outcomes of the records, at positions `left`, that the table leaves undecided."""
        for start in range(0, len(left), CHUNK_RECORDS):
            which = left[start : start + CHUNK_RECORDS]
            words = column.chosen(which).words()
            further = column.continued(which, 0)[:, 0]
            numbers = words * 2.0**-NARROW + further * 2.0 ** -(NARROW + 64)
            own = np.zeros(len(which), dtype=np.int64) if rows is None else rows[which]
            gaps = numbers[:, None] - self._thresholds[own]
            drawn[which] = np.count_nonzero(gaps >= 0, axis=1)
            for near in np.flatnonzero((np.abs(gaps) < self._slack).any(axis=1)).tolist():
                row, at = int(own[near]), int(which[near])
                drawn[at] = self._exactly(row, column, at, int(words[near]), NARROW)

    def _draw_wide(self, column: KeyedColumn, rows: Codes | None) -> Codes:
        """Return outcomes by words of 64 bits, from the table or by comparisons row by row."""
        drawn = np.full(len(column), self.size, dtype=np.min_scalar_type(self.size))
        own = np.zeros(len(column), dtype=np.uint8) if rows is None else rows
        words = column.words(WIDE)
        entries = ENTRIES_PER_RECORD * len(column)
        if self.shares.size <= MAX_TABLE and len(self.shares) << self._bits <= entries:
            index = (words >> np.uint64(WIDE - self._bits)).astype(np.uint32)
            drawn = self._table.take(index | (own.astype(np.uint32) << self._bits))
        left = np.flatnonzero(drawn == self.size)
        left = left[np.argsort(own[left], kind="stable")]
        ends = np.cumsum(np.bincount(own[left], minlength=len(self.shares)))
        for row, which in enumerate(np.split(left, ends[:-1])):
            numbers = np.asarray(words[which] * 2.0**-WIDE, dtype=float)
            # The time of a binary search depends on the outcome, and reveals it for one record.
            few = len(column) <= FEW_RECORDS and len(which) * self.size <= MAX_TABLE
            passed = _count_passed if few else partial(np.searchsorted, side="right")
            drawn[which] = below = passed(self._thresholds[row], numbers - self._slack)
            next_threshold = np.append(self._thresholds[row], np.inf)[below]
            for near in np.flatnonzero(next_threshold <= numbers + self._slack).tolist():
                at = int(which[near])
                drawn[at] = self._exactly(row, column, at, int(words[at]), WIDE)
        return drawn

    def _exactly(self, row: int, column: KeyedColumn, near: int, word: int, bits: int) -> int:
        return self.exact(row).decided(word, bits, further_bits(column, near, count()), 128)


def _count_passed(thresholds: Floats, numbers: Floats) -> Positions:
    return np.asarray(np.count_nonzero(thresholds <= numbers[:, None], axis=1))
