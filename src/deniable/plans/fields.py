"""Numbers in a plan's JSON document."""

import math
import re
from fractions import Fraction
from typing import Any

from deniable.errors import DataError, shown

INFINITY = "infinity"
"""The text of an infinite epsilon, which JSON numbers cannot express."""
FRACTION = re.compile(r"-?[0-9]{1,400}(/[1-9][0-9]{0,399})?")


def epsilon_to_json(epsilon: float) -> float | str:
    """Return an `epsilon` as a JSON value; `float` reads both forms."""
    return epsilon if math.isfinite(epsilon) else INFINITY


def exact_text(number: float) -> str:
    """Return a finite `number` as an exact fraction, such as "3/2"; `number_from_text` reads it."""
    return str(Fraction(number))


def number_from_text(text: Any) -> float:
    """Return the number of a `text` that contains an exact fraction.

    Raises
    ------
    DataError
        If the text is not a fraction of whole numbers with at most 400 digits each.

    Examples
    --------
    >>> number_from_text(exact_text(0.1)) == 0.1
    True
    """
    if not isinstance(text, str) or not FRACTION.fullmatch(text):
        raise DataError(f"{shown(text)} is not a fraction, such as '3/2'; make the plan again")
    return float(Fraction(text))
