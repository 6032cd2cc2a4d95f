"""The worked cases of [rrba] in exact fractions: what is printed, and what comes out.

The two coins of Figure 1 and section 1, Example 3.1 with Table 1, the lists of views of section 4,
equation (4) on the example's own table, and the two-step estimate (7) of one small table.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from deniable.contingency import nearest_table_by_program, nearest_tables
from deniable.papers.rrba.consistency import consistency_table
from deniable.records import Attribute, Domain, Microdata
from deniable.rrba import claimed_epsilon, fewest_views, make_views
from deniable.study import Given

COLUMNS = ("case", "place", "quantity", "exact", "value", "printed", "verdict")
HALF = Fraction(1, 2)
PROBABILITIES = (0.3, 0.5, 0.7)
NOISY, TOTAL = (6, -2, 2, 2), 8
GAMMAS = (0.0, 0.01, 0.5, 0.99)
SAME = 1e-6  # as the table says in words
"""How far a solver's table may be from the closed form."""

Row = dict[str, Any]


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


# -- as a table -----------------------------------------------------------------------------------


def worked_cases() -> pd.DataFrame:
    """Return each worked case: a row a number.

    Returns
    -------
    DataFrame
        ``case``, ``place`` in the text, ``quantity``, ``exact`` (a fraction, or a formula),
        ``value`` (the same as a float), ``printed`` (missing where the text prints none) and
        ``verdict``: "agrees", "differs" or "not printed".
    """
    rows = [*_coins(), *_example(), *_views(), *_equation_4(), *_two_step()]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _row(
    case: str,
    place: str,
    quantity: str,
    exact: Fraction | int | str,
    printed: float = math.nan,
    value: float | None = None,
) -> Row:
    """Return a row; the value of what is exact only in words is given beside it."""
    number = float(exact) if value is None else value
    verdict = "not printed" if math.isnan(printed) else "agrees" if number == printed else "differs"
    found = (case, place, quantity, str(exact), number, float(printed), verdict)
    return dict(zip(COLUMNS, found, strict=True))


def _coins() -> Iterator[Row]:
    case, place = "two coins", "section 1, Figure 1"
    for truth in (Fraction(0), Fraction(1, 5), HALF, Fraction(1)):
        reported = two_coins(truth)
        text = f"estimate where {truth} say Yes truly and {reported} are reported"
        yield _row(case, place, text, two_coins_estimate(reported), float(truth))
    right = HALF + HALF * HALF
    yield _row(case, place, "chance of a correct response", right, 0.75)
    yield _row(case, place, "exp of the exact epsilon", right / (1 - right), 3.0)
    claim = float(np.exp(claimed_epsilon(0.5)))
    yield _row(case, "Theorem 4.1", "exp of the epsilon claimed at p = 1/2", "2", 3.0, claim)


def _example() -> Iterator[Row]:
    case = "Example 3.1"
    records = example_records()
    counts = records.counts(("R", "E"))
    region, education = (EXAMPLE_DOMAIN[name].categories for name in ("R", "E"))
    for i, first in enumerate(region):
        for j, second in enumerate(education):
            printed = PRINTED_TABLE_B[first, second]
            yield _row(case, "Table 1b", f"records {first}, {second}", int(counts[i, j]), printed)
    for i, first in enumerate(region):
        found = int(counts[i].sum())
        yield _row(case, "Table 1c", f"records {first}", found, PRINTED_TABLE_C[first])
    yield _row(case, "Table 1a", "records in all", len(records), sum(PRINTED_TABLE_B.values()))


def _views() -> Iterator[Row]:
    case, place = "views of pairs", "section 4, Algorithm 1"
    for attributes in (5, 6):
        found = len(make_views([f"a{i}" for i in range(attributes)], 2))
        least = fewest_views(attributes, 2)
        of = f"views of {attributes} attributes, as listed"
        yield _row(case, "section 4", of, f"{found}, at least {least}", 5.0, float(found))
        made = f"views of {attributes} attributes, as Algorithm 1 makes them"
        yield _row(case, place, made, found, attributes)


def _equation_4() -> Iterator[Row]:
    """Expected reports of the example's eight clients, p = 1/2, and (4) applied to them."""
    case, place = "equation (4)", "section 4.1"
    counts = example_records().counts(("R", "E")).reshape(-1).tolist()
    uniform = Fraction(1, len(counts))
    for cell, count in enumerate(counts):
        truth = Fraction(count, sum(counts))
        reported = HALF * truth + (1 - HALF) * uniform
        back = (reported - uniform * (1 - HALF)) / HALF
        text = f"cell {cell + 1} of R x E, true {truth}, reported {reported}: estimate"
        yield _row(case, place, text, back, float(truth))
    lowest = (0 - uniform * (1 - HALF)) / HALF
    yield _row(case, place, "a cell that nobody in the block reports: estimate", lowest)


def _two_step() -> Iterator[Row]:
    """Step one of (7) for one table, in fractions and by the program; step two by independence."""
    case, place = "two steps", "section 6, (7)"
    named = "(" + ", ".join(map(str, NOISY)) + f"), total {TOTAL}"
    nearest = projected(NOISY, TOTAL)
    for step, table in (("one", nearest), ("two, independence", independent(nearest))):
        for cell, value in enumerate(table):
            yield _row(case, place, f"{named}: cell {cell + 1} after step {step}", value)
    closed = nearest_tables(list(NOISY), TOTAL)
    for gamma in GAMMAS:
        program = nearest_table_by_program(list(NOISY), TOTAL, gamma)
        apart = float(np.abs(program - closed).max())
        text = f"{named}: program with gamma = {gamma:g} apart from the closed form"
        # The digits of a solver's rounding are not the same on all machines.
        exact, number = ("below 10⁻⁶", 0.0) if apart < SAME else (f"{apart:.2g}", apart)
        yield _row(case, place, text, exact, value=number)


def projected(noisy: Sequence[int], total: int) -> list[Fraction]:
    """Return the closest non-negative table of a total, exactly.

    Examples
    --------
    >>> [str(cell) for cell in projected([6, -2, 2, 2], 8)]
    ['16/3', '0', '4/3', '4/3']
    """
    ordered = sorted(noisy, reverse=True)
    shift = Fraction(0)
    for kept in range(1, len(ordered) + 1):
        trial = Fraction(total - sum(ordered[:kept]), kept)
        if ordered[kept - 1] + trial > 0:
            shift = trial
    return [max(cell + shift, Fraction(0)) for cell in noisy]


def independent(table: Sequence[Fraction]) -> list[Fraction]:
    """Return the expected counts of a table of two binary attributes under independence.

    Examples
    --------
    >>> [str(cell) for cell in independent([Fraction(1), Fraction(0), Fraction(1), Fraction(2)])]
    ['1/2', '1/2', '3/2', '3/2']
    """
    a, b, c, d = table
    total = a + b + c + d
    return [
        (a + b) * (a + c) / total,
        (a + b) * (b + d) / total,
        (c + d) * (a + c) / total,
        (c + d) * (b + d) / total,
    ]


def worked(given: Given) -> dict[str, pd.DataFrame]:
    """Work the examples in fractions, and make tables agree that randomized views gave."""
    consistent = consistency_table(given.data, PROBABILITIES, seed=given.seed)
    return {
        "rrba_examples": worked_cases().assign(data_source="formula"),
        "rrba_consistency": consistent.assign(data_source="network"),
    }
