"""Numbers as texts, and texts as numbers."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deniable.arrays import Floats
from deniable.schema.types import is_text

NUMBER = r"^\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*$"
COMMA = r"^\s*[+-]?[0-9]+,[0-9]+\s*$"


def number_text(number: float) -> str:
    """Return the shortest decimal text from which the same `number` is read.

    Examples
    --------
    >>> [number_text(each) for each in (30.0, 0.1, -2.50, 1e6)]
    ['30', '0.1', '-2.5', '1000000']
    """
    return np.format_float_positional(number + 0.0, trim="-")  # no minus before zero


def weights_of(values: pa.Array, decimal: str) -> Floats:
    """Return `values`, numbers or text, as doubles or NaN; for `decimal` see `numbers_of`."""
    if is_text(values.type):
        return numbers_of(values.cast(pa.string()), decimal)
    floats = values.cast(pa.float64(), safe=False)
    return np.asarray(floats.fill_null(np.nan).to_numpy(zero_copy_only=False))


def numbers_of(texts: pa.Array, decimal: str = ".") -> Floats:
    """Return the numbers in `texts`; NaN for other texts, infinity beyond the range of doubles.

    `decimal`, a point or a comma, is the decimal mark; other separators are not allowed.

    Examples
    --------
    >>> numbers_of(pa.array(["1", "2,5", "2.5", "0x10", None]), ",").tolist()
    [1.0, 2.5, nan, nan, nan]
    """
    pattern = NUMBER if decimal == "." else NUMBER.replace(r"\.", decimal)
    legible = pc.match_substring_regex(texts, pattern)
    kept = pc.utf8_ltrim(pc.utf8_trim_whitespace(pc.if_else(legible, texts, None)), "+")
    if decimal != ".":
        kept = pc.replace_substring(kept, decimal, ".")
    return np.asarray(kept.cast(pa.float64()).fill_null(np.nan).to_numpy(zero_copy_only=False))
