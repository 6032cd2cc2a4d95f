"""Compare methods of [rrba], and write comparisons as text."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from deniable.display import Row, between, short

from reproduction.papers.rrba import names

MEASURED = ("l2", "jensen_shannon")
"""The measures of the paper and of the comparison at equal epsilon."""
EQUAL_KEYS = ("metric", "file", "k", "epsilon")

OURS = "regenerated"
FORM: dict[str, Any] = {"value": "found", "text": "text", "intervals": False}
"""How a pivot shows the texts ``found``."""


def named(table: pd.DataFrame, **titles: Any) -> pd.DataFrame:
    """Return a `table` with the page's names of data sets and measures.

    Further `titles` are columns with their mappings.
    """
    always: dict[str, Any] = {"dataset": names.FILES, "file": names.FILES, "metric": names.METRICS}
    return table.replace(always | titles)


def with_interval(row: Row, value: str = OURS, mark: str = "") -> str:
    """Return the number of a `row` in the column `value`, a `mark` and its 95 % interval."""
    interval = between(float(row["ci_low"]), float(row["ci_high"]))
    return f"{short(float(row[value]))}{mark} ({interval})"


def ratios(
    table: pd.DataFrame, one: str, other: str, keys: Sequence[str], value: str = "mean"
) -> Row | None:
    """Compare two methods' means: their ``ratios``, and in how many settings `one` is ``lower``.

    Settings are named by the `keys`, their means in the column `value`. Without a common setting
    the result is None.
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
