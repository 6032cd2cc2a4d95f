"""Counts of the values of numeric columns outside their public bounds."""

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from deniable.arrays import Codes
from deniable.errors import BoundsWarning, shown

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
            warnings.warn(text, BoundsWarning, stacklevel=3)
