"""Estimates as one page that asks nothing of other places."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from deniable.analysis.answers import for_reading, notes_on
from deniable.errors import from_extras

DIGITS, WHOLE_FROM = 4, 1000
SHORT = 8
"""Characters up to which a number stands as it is, as points of a grid do."""


def page(title: str, facts: Sequence[str], answers: Mapping[str, pd.DataFrame]) -> str:
    """Return a page with a `title`, `facts` in sentences, and `answers` as tables by heading."""
    with from_extras():
        import jinja2  # noqa: PLC0415 - only pages ask for it

    made = jinja2.Environment(
        loader=jinja2.PackageLoader("deniable.analysis"),
        autoescape=True,
        trim_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    shown = [_shown(name, answer) for name, answer in answers.items()]
    return made.get_template("estimates.html.j2").render(title=title, facts=facts, answers=shown)


def _shown(title: str, answer: pd.DataFrame) -> dict[str, Any]:
    table = for_reading(answer)
    kinds = [pd.api.types.is_numeric_dtype(dtype) for dtype in table.dtypes]
    columns = [
        {"name": str(name), "number": number} for name, number in zip(table, kinds, strict=True)
    ]
    rows = [[as_text(value) for value in row] for row in table.itertuples(index=False)]
    return {"title": title, "columns": columns, "rows": rows, "notes": notes_on(answer)}


def as_text(value: Any) -> str:
    """Return a `value` as a reader wants it.

    A number that is short stands as it is, another one with four digits, from 1,000 on without a
    fraction; a dash is what is not defined.

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
