"""Estimates for display: notes, rounded numbers, and a page without external files."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from deniable.analysis.answers import note_on_worse
from deniable.display import rendered

DIGITS, WHOLE_FROM = 4, 1000
SHORT = 8  # characters up to which a number is not rounded, as points of a grid
OF_TARGET = {
    "population": "the population that these records were drawn from, one by one",
    "file": "these very records",
}


def for_reading(answer: pd.DataFrame) -> tuple[dict[str, bool], list[list[str]]]:
    """Return the columns of an `answer`, each with whether it is numeric, and its rows as texts.

    Empty columns, and the columns that `notes_on` states, are left out.
    """
    told = ["consistent_by", "likelihood_gap"]
    if "target" in answer:  # otherwise confidence is the one of a rule
        told += ["confidence", "target"] if answer["target"].nunique() == 1 else ["confidence"]
    table = answer.drop(columns=told, errors="ignore").dropna(axis="columns", how="all")
    columns = {
        str(each): pd.api.types.is_numeric_dtype(kind) for each, kind in table.dtypes.items()
    }
    return columns, [[as_text(value) for value in row] for row in table.itertuples(index=False)]


def notes_on(answer: pd.DataFrame) -> list[str]:
    """Return notes on an `answer`, in sentences: confidence, target, and estimates to be used."""
    left_out = answer.attrs.get("left_out", {})
    notes = [f"Left out: {name} ({reason})." for name, reason in left_out.items()]
    notes += answer.attrs.get("notes", [])
    if "ci_low" in answer and "target" in answer and len(answer):
        confidence = answer["confidence"].iloc[0]
        of = " and for ".join(OF_TARGET[each] for each in answer["target"].unique())
        notes.append(
            f"Intervals are of {confidence:.9g} confidence, each on its own, for {of}."
            + " Intervals of a proportion can leave [0, 1], because estimates are unbiased."
            * ("outside" in answer)
        )
    notes += [worse] if (worse := note_on_worse(answer)) else []
    if "outside" in answer and (outside := int(answer["outside"].sum())):
        notes.append(
            f"{outside} of {len(answer)} estimates lie outside [0, 1], by chance. Use the unbiased "
            f"estimates in sums{'' if worse else ', and show the consistent ones'}."
        )
    if "consistent_by" in answer:
        if empty := int(answer["estimate"].isna().sum()):
            notes.append(
                f"{empty} of {len(answer)} estimates are empty: their matrices are singular, so "
                "there is no unbiased estimate."
            )
        ways = " or ".join(dict.fromkeys(answer["consistent_by"]))
        notes.append(
            f"Consistent values are a distribution, found by {ways}: never negative, with sum 1, "
            "and biased where estimates would leave [0, 1]."
        )
    return notes


def page(title: str, facts: Sequence[str], answers: Mapping[str, pd.DataFrame]) -> str:
    """Return a page of HTML with a `title`, `facts` in sentences, and `answers` as tables.

    The keys of `answers` are the headings of the tables. Raises `MissingExtraError` without jinja2.
    """
    shown = []
    for name, answer in answers.items():
        columns, rows = for_reading(answer)
        shown.append({"title": name, "columns": columns, "rows": rows, "notes": notes_on(answer)})
    values = {"title": title, "facts": facts, "answers": shown}
    return rendered("deniable.analysis", "estimates.html.j2", {}, **values)


def as_text(value: Any) -> str:
    """Return a `value` as text for readers.

    Numbers of at most 8 characters are not rounded. Others have four significant digits, and from
    1,000 on no fraction. An undefined number is a dash.

    Examples
    --------
    >>> [as_text(value) for value in (0.50061234, 98765.0, 12.125, 24763.28173)]
    ['0.5006', '98765', '12.125', '24763']
    """
    if isinstance(value, bool | np.bool_):
        return "yes" if value else ""
    if not isinstance(value, float | np.floating):
        return str(value)
    number = float(value)
    if np.isnan(number):
        return "–"
    exact = f"{number:.9g}"
    if len(exact) <= SHORT:
        return exact
    return f"{number:.0f}" if WHOLE_FROM <= abs(number) < 1e15 else f"{number:.{DIGITS}g}"
