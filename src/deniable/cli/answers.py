"""Answers of commands as aligned text and as JSON."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from deniable.errors import plain

SIGNIFICANT_DIGITS = 6
INDENT = "  "


def number(value: float | int | None) -> str:
    """Return the text of a `value` with 6 significant digits, or a dash if it is not defined."""
    if value is None or math.isnan(value):
        return "-"
    if math.isinf(value):
        return "infinite"
    return str(value) if isinstance(value, int) else f"{value:.{SIGNIFICANT_DIGITS}g}"


def aligned(
    header: Sequence[str],
    rows: Sequence[Sequence[str | float | None]],
    right: Sequence[bool] | None = None,
) -> list[str]:
    """Return the lines of a table with a `header` and `rows`.

    `right` states for each column whether it is flush right; by default all but the first are.
    """
    cells = [list(map(plain, header))] + [
        [plain(value) if isinstance(value, str) else number(value) for value in row] for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    sides = ["<>"[flush] for flush in right or [column > 0 for column in range(len(header))]]
    form = INDENT + INDENT.join(f"{{:{s}{w}}}" for s, w in zip(sides, widths, strict=True))
    return [form.format(*row).rstrip() for row in cells]


def listed(facts: Sequence[tuple[str, str | float | None, str]]) -> list[str]:
    """Return a line for each of the `facts`: name, value and remark."""
    return aligned(("", "", ""), facts, (False, False, False))[1:]


def to_json(answers: Mapping[str, Any]) -> str:
    """Return the `answers` as one strict JSON object, with a line for each key.

    An infinite number is the string "Infinity", and an undefined one is null.
    """
    lines = [
        f"{INDENT}{json.dumps(key)}: {json.dumps(_plain(value), allow_nan=False)}"
        for key, value in answers.items()
    ]
    return "{\n" + ",\n".join(lines) + "\n}"


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if hasattr(value, "tolist"):  # a NumPy array or number
        plain_values = value.tolist()
        return plain_values if np.isfinite(value).all() else _plain(plain_values)
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value
