"""Estimates as one page that asks nothing of other places."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from deniable.analysis.answers import notes_on
from deniable.errors import from_extras

DIGITS = 4


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
    kinds = [pd.api.types.is_numeric_dtype(dtype) for dtype in answer.dtypes]
    columns = [
        {"name": str(name), "number": number} for name, number in zip(answer, kinds, strict=True)
    ]
    rows = [[as_text(value) for value in row] for row in answer.itertuples(index=False)]
    return {"title": title, "columns": columns, "rows": rows, "notes": notes_on(answer)}


def as_text(value: Any) -> str:
    """Return a `value` as a reader wants it: four digits, a dash for what is not defined."""
    if isinstance(value, bool | np.bool_):
        return "yes" if value else ""
    if isinstance(value, float | np.floating):
        return "–" if np.isnan(value) else f"{value:.{DIGITS}g}"
    return str(value)
