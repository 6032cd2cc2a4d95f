"""Faults of a file of records, gathered, so that one message has them all."""

from bisect import insort
from collections.abc import Callable

import numpy as np
import pyarrow as pa

from deniable.arrays import Codes
from deniable.errors import DataError

MAX_SHOWN = 10
MAX_KEPT = 1_000  # different ones; a column that is all faults must not fill the memory


class ValidationErrors:
    """Faults by file, column and value, each with its first record and how many records have it."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], tuple[int, int]] = {}
        self._unkept = 0
        self._skipped: dict[str, list[int]] = {}

    def __bool__(self) -> bool:
        return bool(self._found)

    def add(self, where: str, record: int, what: str, times: int = 1) -> None:
        """Add a fault that some records have.

        Parameters
        ----------
        where : str
            The file.
        record : int
            Number of the first one, from 0, among those that are no rows of another length.
        what : str
            Column, value and remedy.
        times : int
            Number of records that have it.
        """
        first, before = self._found.get((where, what), (record, 0))
        if before or len(self._found) < MAX_KEPT:
            self._found[where, what] = first, before + times
        else:
            self._unkept += 1

    def add_row(self, where: str, number: int, what: str) -> None:
        """Add row `number`, from 1, of the file `where`, which is no record, and `what` it is."""
        insort(self._skipped.setdefault(where, []), number)
        if len(self._found) < MAX_KEPT:
            self._found[where, f"record {number:,} {what}"] = -1, 1
        else:
            self._unkept += 1

    def add_values(
        self,
        where: str,
        first: int,
        indices: Codes,
        dictionary: pa.Array,
        tell: Callable[[str], str],
    ) -> None:
        """Add the faults of a column's values.

        Parameters
        ----------
        where : str
            The file.
        first : int
            Number of the first of these records, from 0.
        indices : array of int
            Of each record, the index of its value if that is a fault, else -1.
        dictionary : array of str
            The values.
        tell : callable
            What to say of a value.
        """
        bad = np.flatnonzero(indices >= 0)
        values, places, times = np.unique(indices[bad], return_index=True, return_counts=True)
        for place in np.argsort(places):
            text = str(dictionary[int(values[place])])
            self.add(where, first + int(bad[places[place]]), tell(text), int(times[place]))

    def raise_if_any(self) -> None:
        """Raise a `DataError` with a line for each of the first faults, if there is one."""
        if not self._found:
            return
        lines = []
        for (where, what), (record, times) in list(self._found.items())[:MAX_SHOWN]:
            more = f" ({times:,} records have it)" if times > 1 else ""
            place = f"record {self._number(where, record):,}, " if record >= 0 else ""
            lines.append(f"{where}: {place}{what}{more}")
        more_faults = len(self._found) - len(lines) + self._unkept
        if more_faults:
            lines.append(f"and {more_faults:,} more faults")
        raise DataError("\n  ".join(lines))

    def _number(self, where: str, record: int) -> int:
        number = record + 1
        for row in self._skipped.get(where, []):
            number += row <= number
        return number
