"""The two worked cases of [rrba], in exact fractions: Example 3.1 and the coins of Figure 1."""

from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from deniable.records import Attribute, Domain, Microdata

EXAMPLE_DOMAIN = Domain(
    (
        Attribute("A", ("adult", "old")),
        Attribute("R", ("big", "small")),
        Attribute("E", ("high", "uni")),
        Attribute("O", ("emp", "self")),
        Attribute("S", ("M", "F")),
        Attribute("T", ("car", "train", "other")),
    )
)
_RECORDS = (
    "adult big high emp M car",
    "adult big high emp F train",
    "adult small high emp F other",
    "adult small high self F car",
    "old big uni emp F train",
    "old small uni self M other",
    "old small uni self M train",
    "old small high self M train",
)

PRINTED_TABLE_B: Mapping[tuple[str, str], int] = {
    ("big", "high"): 2,
    ("big", "uni"): 2,
    ("small", "high"): 4,
    ("small", "uni"): 2,
}
"""Table 1b, region by education. It adds to 10; the file of Table 1a has 8 records, and its counts
are 2, 1, 3, 2. Its caption calls it T_AT."""

PRINTED_TABLE_C: Mapping[str, int] = {"big": 4, "small": 6}
"""Table 1c. It is the margin of Table 1b as printed; that of the file is 3, 5."""


def example_records() -> Microdata:
    """Return the 8 records of Table 1a (Example 3.1)."""
    rows = [record.split() for record in _RECORDS]
    columns = tuple(
        np.array([attribute.code_of(row[position]) for row in rows])
        for position, attribute in enumerate(EXAMPLE_DOMAIN)
    )
    return Microdata(EXAMPLE_DOMAIN, columns)


def two_coins(truth: Fraction) -> Fraction:
    """Return the chance of a "Yes" under two fair coins: p / 2 + 1 / 4 (Figure 1).

    Parameters
    ----------
    truth : Fraction
        Proportion of true "Yes".
    """
    return truth / 2 + Fraction(1, 4)


def two_coins_estimate(reported: Fraction) -> Fraction:
    """Return 2 (q - 1/4), the estimate from the proportion q of reported "Yes" (section 1)."""
    return 2 * (reported - Fraction(1, 4))
