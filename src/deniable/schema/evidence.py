"""Evidence about the values of a column, for a draft of its schema."""

from collections import Counter
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deniable.schema.types import (
    COMMA,
    STAND_INS,
    encoded,
    is_number,
    is_supported,
    is_text,
    numbers_of,
    plain_type,
    unfit,
)

MAX_COUNTED = 20_000  # distinct values of a column; others are not counted
_GROUPED = r"^\s*[+-]?[0-9]{1,3}(,[0-9]{3})+\s*$"  # commas that may separate thousands
_CODE = r"^\s*[+-]?(0[0-9]|[0-9]{16})"  # a number with leading zeros is a code
_LAST = [10**digits - last for digits in range(2, 9) for last in (1, 2, 3)]
_EQUAL = [digit * (10**digits // 9) for digits in range(2, 9) for digit in (7, 8)]
CODES = np.array([-1, -2, -7, -8, -9, *_LAST, *_EQUAL, *(-each for each in _LAST + _EQUAL)])
"""Numbers that often mean a missing value: -1, 97, 98, 99, 777, 888, 999 and the like."""


class ColumnEvidence:
    """Evidence about the values of a column of a `kind`, gathered in bounded memory.

    `counts` has the values that are not missing, as text, up to `MAX_COUNTED`; if there are more,
    `many` is true. Empty texts are `missing`. The numbers are between `low` and `high`; `usual`
    counts the numbers in `CODES`, and all others are between the two `ends`. `unfit` is the reason
    why a value cannot be a category. If `ordered`, the file declares the `order` of values.
    """

    def __init__(self, kind: pa.DataType) -> None:
        self.kind = plain_type(kind)
        self.supported = is_supported(kind)
        self.many, self.records, self.missing = False, 0, 0
        self.low, self.high, self.whole = np.inf, -np.inf, True
        self.counts, self.usual, self.stand_ins = Counter[str](), Counter[str](), Counter[str]()
        self.ends, self.unfit, self.decimal = (np.inf, -np.inf), "", "."
        self.ordered = pa.types.is_dictionary(kind) and bool(kind.ordered)
        self.order: list[str] = []
        self._numbers = self.supported and not pa.types.is_boolean(self.kind)
        self._with_point, self._grouped = False, True

    @property
    def present(self) -> int:
        """Number of values that are not missing."""
        return self.records - self.missing

    @property
    def different(self) -> bool:
        """Whether no counted value occurs twice."""
        return bool(self.counts) and max(self.counts.values()) == 1

    @property
    def numbers(self) -> bool:
        """Whether all values are numbers, except stand-ins for missing values."""
        of_numbers = self.present - sum(self.stand_ins.values())
        return self._numbers and of_numbers > 0 and not self.grouped

    @property
    def grouped(self) -> bool:
        """Whether all commas in numbers may separate thousands, so that the mark is unclear."""
        return self._numbers and self.decimal == "," and self._grouped

    @property
    def words(self) -> bool:
        """Whether a value contains a space, like free text."""
        return is_text(self.kind) and any(" " in each.strip() for each in self.counts)

    @cached_property
    def codes(self) -> list[str]:
        """Numbers in `CODES` beyond a gap, in increasing order: likely codes of missing values.

        Their distance from all other numbers is more than 3 times the largest distance between
        neighbours among these. It is also more than the range of the others, except for the only
        negative numbers of a column.
        """
        low, high = self.ends
        found = [(each, self.number(each)) for each in self._beyond_gap]
        return [e for e, n in found if max(low - n, n - high) > high - low or n < 0 <= low]

    @cached_property
    def _beyond_gap(self) -> list[str]:
        low, high = self.ends
        if not self.numbers or not self.usual or not low < high:
            return []
        texts = self.counts.keys() - self.usual.keys() - self.stand_ins.keys()
        gap = 3 * float(np.diff(sorted({low, high, *map(self.number, texts)})).max())
        distances = {e: max(low - self.number(e), self.number(e) - high) for e in self.usual}
        return sorted((e for e in self.usual if distances[e] > gap), key=self.number)

    @cached_property
    def absent(self) -> dict[str, int]:
        """Texts that are taken as missing values, with their frequencies.

        Among numbers they are words of `STAND_INS` and `codes`. Otherwise they are words of
        `STAND_INS` that also occur between blanks, because these are not meant as categories.
        """
        if self.numbers:
            return dict(self.stand_ins) | {each: self.usual[each] for each in self.codes}
        bare = {each: each.strip().casefold() for each in self.counts if is_text(self.kind)}
        blank = {word for text, word in bare.items() if text != text.strip()} & STAND_INS
        found = {text: self.counts[text] for text, word in bare.items() if word in blank}
        return found if len(found) < len(self.counts) else {}

    @property
    def suspects(self) -> list[str]:
        """Other numbers in `CODES` that may be codes: beyond a gap, or if no other is negative."""
        if not self.numbers:
            return []
        negative = [each for each in self.usual if self.number(each) < 0 <= self.ends[0]]
        return sorted({*self._beyond_gap, *negative} - {*self.codes})

    @property
    def range(self) -> tuple[float, float]:
        """The smallest and the largest number that is not in `codes`."""
        kept = [self.number(each) for each in self.usual if each not in self.codes]
        return min([self.ends[0], *kept]), max([self.ends[1], *kept])

    def number(self, text: str) -> float:
        """Return the number in a `text` of the column."""
        return float(text.replace(self.decimal, "."))

    def add(self, values: pa.Array) -> None:
        """Add the next `values`."""
        self.records += len(values)
        if not self.supported:
            return
        values = encoded(values)
        if self.ordered:
            texts = values.dictionary.cast(pa.string()).drop_null().to_pylist()
            self.order += [each for each in texts if each not in self.order]
        counted = self._counted(values)
        if is_number(self.kind):
            numbers = values.dictionary.cast(pa.float64(), safe=False).fill_null(np.nan)
            self._see_numbers(np.asarray(numbers), counted, values.dictionary)
        elif is_text(self.kind):
            self._see_texts(values.dictionary.cast(pa.string()), counted)
        else:
            self._numbers = False
        if not self.many:
            places = np.flatnonzero(counted)
            known = values.dictionary.take(pa.array(places)).cast(pa.string()).to_pylist()
            self.counts.update(dict(zip(known, counted[places].tolist(), strict=True)))
            self.many = len(self.counts) > MAX_COUNTED

    def _counted(self, values: pa.Array) -> np.ndarray:
        """Return the frequency of each value of the dictionary, 0 for missing values."""
        dictionary, indices = values.dictionary, values.indices
        counted = np.bincount(np.asarray(indices.drop_null()), minlength=len(dictionary))
        gone = np.asarray(dictionary.is_null(nan_is_null=True))
        if is_text(dictionary.type):
            gone = gone | np.asarray(pc.equal(dictionary.cast(pa.string()), "").fill_null(True))
        counted[gone] = 0
        self.missing += len(values) - int(counted.sum())
        return counted

    def _see_numbers(self, numbers: np.ndarray, counted: np.ndarray, values: pa.Array) -> None:
        seen = (counted > 0) & np.isfinite(numbers)
        usual = seen & np.isin(numbers, CODES)
        places = np.flatnonzero(usual)
        texts = values.take(pa.array(places)).cast(pa.string()).to_pylist()
        self.usual.update(dict(zip(texts, counted[places].tolist(), strict=True)))
        finite, others = numbers[seen], numbers[seen & ~usual]
        if len(finite):
            self.low = min(self.low, float(finite.min()))
            self.high = max(self.high, float(finite.max()))
            self.whole = self.whole and bool((finite == np.rint(finite)).all())
        if len(others):
            low, high = self.ends
            self.ends = min(low, float(others.min())), max(high, float(others.max()))

    def _see_texts(self, texts: pa.Array, counted: np.ndarray) -> None:
        if self._numbers:
            self._see_decimals(texts, counted)
        if self._numbers:
            numbers = numbers_of(texts, self.decimal)
            code = pc.match_substring_regex(texts, _CODE).fill_null(False)
            wrong = (counted > 0) & (~np.isfinite(numbers) | np.asarray(code))
            for place in np.flatnonzero(wrong)[:100].tolist():
                if (text := texts[place].as_py()).strip().casefold() not in STAND_INS:
                    self._numbers = False
                    break
                self.stand_ins[text] += int(counted[place])
            self._see_numbers(np.where(wrong, np.nan, numbers), counted, texts)
        if not self.unfit and not self.many:
            found = (unfit(texts[i].as_py()) for i in np.flatnonzero(counted).tolist())
            self.unfit = next((fault for fault in found if fault), "")

    def _see_decimals(self, texts: pa.Array, counted: np.ndarray) -> None:
        seen = texts.filter(pa.array(counted > 0))
        if len(with_comma := seen.filter(pc.match_substring_regex(seen, COMMA))):
            self._grouped &= pc.all(pc.match_substring_regex(with_comma, _GROUPED)).as_py()
            self.decimal = ","
        with_point = seen.filter(pc.match_substring(seen, "."))
        self._with_point |= bool(np.isfinite(numbers_of(with_point)).any())
        self._numbers &= not (self._with_point and self.decimal == ",")
