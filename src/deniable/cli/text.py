"""Answers as people read them, and as JSON that every parser reads."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

SIGNIFICANT_DIGITS = 6
INDENT = "  "


def number(value: float | int | None) -> str:
    """Return a number with 6 significant digits; what is not defined is a dash."""
    if value is None or math.isnan(value):
        return "-"
    if math.isinf(value):
        return "infinite"
    return str(value) if isinstance(value, int) else f"{value:.{SIGNIFICANT_DIGITS}g}"


def aligned(header: Sequence[str], rows: Sequence[Sequence[str | float | None]]) -> list[str]:
    """Return the lines of a table: its first column to the left, numbers to the right."""
    cells = [list(header)] + [
        [value if isinstance(value, str) else number(value) for value in row] for row in rows
    ]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    lines = []
    for first, *rest in cells:
        others = [cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True)]
        lines.append((INDENT + INDENT.join([first.ljust(widths[0]), *others])).rstrip())
    return lines


def listed(facts: Sequence[tuple[str, str | float | None, str]]) -> list[str]:
    """Return lines of a name, a value and, where there is one, a remark."""
    values = [value if isinstance(value, str) else number(value) for _, value, _ in facts]
    names, width = max(len(name) for name, _, _ in facts), max(map(len, values))
    return [
        f"{INDENT}{name.ljust(names)}{INDENT}{value.ljust(width)}{INDENT}{remark}".rstrip()
        for (name, _, remark), value in zip(facts, values, strict=True)
    ]


def to_json(answers: Mapping[str, Any]) -> str:
    """Return one strict JSON object, a line for each of its keys.

    An infinite number is the string "Infinity", one that is not defined is null.
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
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value
