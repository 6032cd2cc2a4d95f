"""Compare methods of [rrba], and show comparisons as text."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from deniable.display import Row, between, short

from reproduction.papers.rrba import names
from reproduction.study import span

MEASURED = ("l2", "jensen_shannon")
"""The measures that the paper prints, and the page shows at equal epsilon."""
EQUAL_KEYS = ("metric", "file", "k", "epsilon")

OURS = "regenerated"
FORM: dict[str, Any] = {"value": "found", "text": "text", "intervals": False}
"""How a pivot shows the texts ``found``."""


def named(table: pd.DataFrame, **titles: Any) -> pd.DataFrame:
    """Return a `table` with data sets, measures and methods as a page calls them.

    Further `titles` are columns with their functions or mappings.
    """
    always: dict[str, Any] = {"dataset": names.FILES, "file": names.FILES, "metric": names.METRICS}
    return table.replace(always | titles)


def with_interval(row: Row, value: str = OURS, mark: str = "") -> str:
    """Return the number of a `row` in the column `value`, a `mark` and its 95 % interval."""
    interval = between(float(row["ci_low"]), float(row["ci_high"]))
    return f"{short(float(row[value]))}{mark} ({interval})"


def compared(found: Row) -> tuple[int, int, str]:
    """Return in how many settings a method is lower, of how many, and the range of ratios.

    They come from `found`, a row of a comparison.
    """
    return found["lower"], found["of"], span(found["ratios"])


def ratios(
    table: pd.DataFrame, one: str, other: str, keys: Sequence[str], value: str = "mean"
) -> Row | None:
    """Compare two methods' means: their `ratios`, and in how many settings `one` is below `other`.

    A setting of the `table` is one of values of the `keys`; its mean is in the column `value`.
    None if they share no setting.
    """
    first, second = (
        table[table["method"] == name].set_index(list(keys))[value] for name in (one, other)
    )
    found = (first / second).dropna()
    if not len(found):
        return None
    return {"of": len(found), "lower": int((found < 1).sum()), "ratios": found}


def adapting(equal: pd.DataFrame | None) -> Row | None:
    """Compare RRBA with a table that stays uniform, in the table at `equal` exact epsilon."""
    if equal is None:
        return None
    shown = equal[(equal["reading"] == "projected") & equal["metric"].isin(MEASURED)]
    return ratios(shown, "rrba", "rrba_uniform", EQUAL_KEYS)


def single_answers(epsilons: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of `epsilons` of one answer about more than one cell, with their ratio."""
    single = epsilons[(epsilons["unit"] == "answer") & (epsilons["cells"] > 1)]
    return single.assign(ratio=single["exact"] / single["claimed"])
