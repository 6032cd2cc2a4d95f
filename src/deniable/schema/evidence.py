"""Gather evidence about the values of a column, for a draft of its schema."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deniable.schema.coding import COMMA, numbers_of
from deniable.schema.texts import unfit
from deniable.schema.types import encoded, is_number, is_supported, is_text, plain_type

MAX_COUNTED = 20_000  # different values of a column; of further ones nothing is kept
_GROUPED = r"^\s*[+-]?[0-9]{1,3}(,[0-9]{3})+\s*$"  # what may be thousands
_CODE = r"^\s*[+-]?(0[0-9]|[0-9]{16})"  # a number with zeros in front is a code
STAND_INS = frozenset(
    each.casefold()
    for each in (
        *("NA", "N/A", "#N/A", "n.a.", "NaN", "null", "None", "nil", ".", "-", "--", "?"),
        *("missing", "unknown", "refused", "don't know", "no answer", "not stated", "DK"),
        *("k.A.", "k. A.", "keine Angabe", "weiß nicht", "unbekannt", "fehlt"),
    )
)
"""Texts that often mean a missing value."""
CODES = frozenset(map(str, (-1, -2, -7, -8, -9, -97, -98, -99, -777, -888, -999, -9999)))
"""Numbers that often do, where all others are not negative."""


class ColumnEvidence:
    """Evidence about the values of a column of a `kind`, gathered in bounded memory.

    `counts` has the values that are not missing, as text, up to `MAX_COUNTED`; beyond, `many` is
    true. Empty texts are among the `missing`. The numbers lie between `low` and `high`, and their
    `decimal` mark is a point or a comma; `whole` says whether all are whole. `unfit` is the reason
    why a value cannot be a category. If the file declares an order of values, `ordered` is true and
    `order` has them.
    """

    def __init__(self, kind: pa.DataType) -> None:
        self.kind = plain_type(kind)
        self.supported = is_supported(kind)
        self.counts: Counter[str] = Counter()
        self.many, self.records, self.missing = False, 0, 0
        self.low, self.high, self.whole = np.inf, -np.inf, True
        self.stand_ins: Counter[str] = Counter()
        self.unfit = ""
        self.ordered = pa.types.is_dictionary(kind) and bool(kind.ordered)
        self.order: list[str] = []
        self.decimal = "."
        self._numbers = self.supported and not pa.types.is_boolean(self.kind)
        self._with_point, self._grouped = False, True

    @property
    def present(self) -> int:
        """Number of values that are not missing."""
        return self.records - self.missing

    @property
    def different(self) -> bool:
        """Whether no counted value was seen twice."""
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

    @property
    def codes(self) -> list[str]:
        """Numbers that may be codes of missing values: the only negative ones, and usual codes."""
        if not self.numbers or self.many or self.low >= 0:
            return []
        texts = (each for each in self.counts if each not in self.stand_ins)
        negative = [each for each in texts if each.startswith("-")]
        return sorted(negative) if CODES.issuperset(negative) else []

    def add(self, values: pa.Array) -> None:
        """Take the next `values`."""
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
            self._see_numbers(np.asarray(numbers), counted)
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
        """Return the frequency of each value of the dictionary, 0 for missing ones."""
        dictionary, indices = values.dictionary, values.indices
        known = np.asarray(indices.drop_null())
        counted = np.bincount(known, minlength=len(dictionary))
        gone = np.asarray(dictionary.is_null(nan_is_null=True))
        if is_text(dictionary.type):
            empty = pc.equal(dictionary.cast(pa.string()), "").fill_null(True)
            gone = gone | np.asarray(empty)
        counted[gone] = 0
        self.missing += len(values) - int(counted.sum())
        return counted

    def _see_numbers(self, numbers: np.ndarray, counted: np.ndarray) -> None:
        seen = numbers[counted > 0]
        finite = seen[np.isfinite(seen)]
        if len(finite):
            self.low = min(self.low, float(finite.min()))
            self.high = max(self.high, float(finite.max()))
            self.whole = self.whole and bool((finite == np.rint(finite)).all())

    def _see_texts(self, texts: pa.Array, counted: np.ndarray) -> None:
        if self._numbers:
            self._see_decimals(texts, counted)
        if self._numbers:
            numbers = numbers_of(texts, self.decimal)
            code = pc.match_substring_regex(texts, _CODE).fill_null(False)
            wrong = (counted > 0) & (~np.isfinite(numbers) | np.asarray(code))
            for place in np.flatnonzero(wrong)[:100].tolist():
                text = texts[place].as_py()
                if text.strip().casefold() not in STAND_INS:
                    self._numbers = False
                    break
                self.stand_ins[text] += int(counted[place])
            self._see_numbers(np.where(wrong, np.nan, numbers), counted)
        if not self.unfit and not self.many:
            found = (unfit(texts[i].as_py()) for i in np.flatnonzero(counted).tolist())
            self.unfit = next((fault for fault in found if fault), "")

    def _see_decimals(self, texts: pa.Array, counted: np.ndarray) -> None:
        """Find the decimal mark; if there are two, some texts are not numbers."""
        seen = texts.filter(pa.array(counted > 0))
        with_comma = seen.filter(pc.match_substring_regex(seen, COMMA))
        if len(with_comma):
            self._grouped &= pc.all(pc.match_substring_regex(with_comma, _GROUPED)).as_py()
            self.decimal = ","
        with_point = seen.filter(pc.match_substring(seen, "."))
        self._with_point |= bool(np.isfinite(numbers_of(with_point)).any())
        self._numbers &= not (self._with_point and self.decimal == ",")
