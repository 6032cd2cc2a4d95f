"""Errors of a file of records, and values outside public bounds, each collected for one message."""

import warnings
from bisect import insort
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from deniable.arrays import Codes
from deniable.errors import BoundsWarning, DataError, shown

BELOW, ABOVE, ABSENT = -1, 1, 2
"""Marks of values below the bounds, above them, and of missing values. All others have 0."""


@dataclass(frozen=True)
class OutsideBounds:
    """Counts of the values of a numeric `column` outside its bounds, from `low` to `high`.

    Among `values` values that are not missing, `below` are less than `low`, and `above` are larger
    than `high`. A plan moves them to the nearest end.

    Examples
    --------
    >>> print(OutsideBounds("income", 0, 15000, below=0, above=7812, values=10000))
    column 'income': 7,812 of 10,000 values (78.1 %) lie outside the bounds 0 to 15,000
    """

    column: str
    low: float
    high: float
    below: int = 0
    above: int = 0
    values: int = 0

    @property
    def proportion(self) -> float:
        """Proportion of values outside the bounds; 0 without values."""
        return (self.below + self.above) / max(self.values, 1)

    def plus(self, records: int, marks: Codes | None) -> "OutsideBounds":
        """Return the counts after adding `records` with their `marks`, None if all marks are 0."""
        marked = np.zeros(4, dtype=int) if marks is None else np.bincount(marks + 1, minlength=4)
        below, _, above, absent = marked.tolist()
        more = {"below": self.below + below, "above": self.above + above}
        return replace(self, values=self.values + records - absent, **more)

    def __str__(self) -> str:
        return (
            f"column {shown(self.column)}: {self.below + self.above:,} of {self.values:,} values "
            f"({100 * self.proportion:.3g} %) lie outside the bounds {self.low:,.15g} to "
            f"{self.high:,.15g}"
        )


def warn_outside(counts: Iterable[OutsideBounds]) -> None:
    """Issue a `BoundsWarning` for each column in `counts` with values outside its bounds."""
    for each in counts:
        if each.proportion:
            text = f"{each} and are moved to the nearest end; these numbers are confidential"
            warnings.warn(text, BoundsWarning, stacklevel=4)


MAX_SHOWN = 10
MAX_KEPT = 1_000  # distinct errors, so that a column of invalid values does not fill the memory


class ValidationErrors:
    """Errors by file, column and value, with their records; messages call a record a `unit`."""

    def __init__(self, unit: str = "record") -> None:
        self._unit = unit
        self._found: dict[tuple[str, str], tuple[int, int]] = {}
        self._unkept = 0
        self._skipped: dict[str, list[int]] = {}

    def __bool__(self) -> bool:
        return bool(self._found)

    def add(self, where: str, record: int, what: str, times: int = 1) -> None:
        """Add an error of `times` records of the file `where`; `what` is column, value and remedy.

        `record` is the number of the first of them, from 0, without rows of another length.
        """
        first, before = self._found.get((where, what), (record, 0))
        if before or len(self._found) < MAX_KEPT:
            self._found[where, what] = first, before + times
        else:
            self._unkept += 1

    def add_row(self, where: str, number: int, what: str) -> None:
        """Add the row `number`, from 1, of the file `where`; `what` is why it is not a record."""
        insort(self._skipped.setdefault(where, []), number)
        self.add(where, -1, f"record {number:,} {what}")

    def add_values(
        self,
        where: str,
        first: int,
        indices: Codes,
        dictionary: pa.Array,
        tell: Callable[[str], str],
    ) -> None:
        """Add the errors of a column's values in the file `where`.

        `indices` has for each record, from number `first` on, the position of its value in the
        `dictionary`, or -1 for a valid value. `tell` returns the message for a value.
        """
        bad = np.flatnonzero(indices >= 0)
        values, places, times = np.unique(indices[bad], return_index=True, return_counts=True)
        for place in np.argsort(places):
            text = str(dictionary[int(values[place])])
            self.add(where, first + int(bad[places[place]]), tell(text), int(times[place]))

    def raise_if_any(self) -> None:
        """Raise a `DataError` with one line for each of the first errors, if there is an error."""
        if not self._found:
            return
        lines = []
        for (where, what), (record, times) in list(self._found.items())[:MAX_SHOWN]:
            more = f" ({times:,} {self._unit}s have it)" if times > 1 else ""
            place = f"{self._unit} {self._number(where, record):,}, " if record >= 0 else ""
            lines.append(f"{where}: {place}{what}{more}")
        if more_faults := len(self._found) - len(lines) + self._unkept:
            lines.append(f"and {more_faults:,} more errors")
        raise DataError("\n  ".join(lines))

    def _number(self, where: str, record: int) -> int:
        number = record + 1
        for row in self._skipped.get(where, []):
            number += row <= number
        return number
