"""Errors of a file of records, collected for one message."""

from bisect import insort
from collections.abc import Callable

import numpy as np
import pyarrow as pa

from deniable.arrays import Codes
from deniable.errors import DataError

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
