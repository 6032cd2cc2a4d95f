"""Rows of tables, and numbers as text."""

import math
from collections.abc import Callable, Iterable, Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from typing import Any

import pandas as pd

from deniable.errors import from_extras

Tables = Mapping[str, pd.DataFrame]
Row = dict[str, Any]

MISSING = "–"
MINUS = "−"
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def rendered(
    package: str, template: str, filters: Mapping[str, Callable[..., str]], **values: Any
) -> str:
    """Return the page of HTML from a `template` of a `package`, with `filters` and `**values`.

    Values are escaped, and undefined names are errors. Raises `MissingExtraError` without jinja2.
    """
    with from_extras():
        import jinja2  # noqa: PLC0415 - only pages need it

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(package),
        autoescape=True,
        trim_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters.update(filters)
    return environment.get_template(template).render(**values)


def rows_of(table: pd.DataFrame) -> list[Row]:
    """Return each row of a `table` as a mapping from columns to values."""
    # All columns at once, which is faster for tables with few rows.
    names = [str(name) for name in table.columns]
    return [dict(zip(names, row, strict=True)) for row in table.to_numpy(object).tolist()]


def short(value: Any) -> str:
    """Return a number with three significant digits, or another `value` as text.

    >>> short(0.29538), short(12.3456), short(1234.5), short(float("nan")), short("x")
    ('0.295', '12.3', '1,234', '–', 'x')
    >>> short(1.36e-12), short(float("inf")), short(13923379008.0), short(-0.5)
    ('1.36 × 10⁻¹²', '∞', '1.39 × 10¹⁰', '−0.500')
    """
    if not isinstance(value, float):
        return str(value)
    if math.isnan(value):
        return MISSING
    if math.isinf(value):
        return "∞" if value > 0 else f"{MINUS}∞"
    if value == 0:
        return "0"
    if not 1e-4 <= abs(value) < 1e7:
        digits, _, power = f"{value:.2e}".partition("e")
        text = f"{digits} × 10{str(int(power)).translate(SUPERSCRIPTS)}"
    else:
        large = abs(value) >= 999.5  # three digits would give 1,000
        text = f"{value:,.0f}" if large else f"{value:#.3g}".removesuffix(".")
    return text.replace("-", MINUS)


def at_least(value: float, rounding: str = ROUND_FLOOR) -> str:
    """Return `short` of a `value`, of its first seven digits, after `rounding` (down) to three.

    >>> at_least(708.67), at_least(7.00000001), at_least(6.99999999), at_least(0.0)
    ('708', '7.00', '7.00', '0')
    """
    known = Context(prec=7).create_decimal(repr(float(value)))
    return short(float(Context(prec=3, rounding=rounding).plus(known)))


def at_most(value: float) -> str:
    """Return `short` of a `value` rounded up to three digits.

    >>> at_most(59.516), at_most(1067.1), at_most(7.00000001), at_most(float("inf"))
    ('59.6', '1,070', '7.00', '∞')
    """
    return at_least(value, ROUND_CEILING)


def percent(share: float) -> str:
    """Return a proportion, `share`, in percent with three significant digits.

    >>> percent(0.11684), percent(41.4765), percent(1.0), percent(0.00625), percent(0.0)
    ('11.7 %', '4,148 %', '100 %', '0.625 %', '0 %')
    """
    return f"{short(100 * float(share))} %"


def thousands(value: float) -> str:
    """Return a `value` as a whole number with commas between thousands.

    >>> thousands(1814400.0)
    '1,814,400'
    """
    return f"{value:,.0f}"


def plain(value: float) -> str:
    """Return a `value` with up to six significant digits, without trailing zeros.

    >>> plain(12.0), plain(11.5)
    ('12', '11.5')
    """
    return f"{value:g}"


def between(low: float, high: float, text: Callable[[float], str] = short) -> str:
    """Return a range from `low` to `high`, each as `text`; one number if both are equal.

    If an end is infinite, for example after very few replicates, the result is a dash.

    >>> between(0.1, 0.25), between(float("-inf"), float("inf")), between(1.0, 1.0)
    ('0.100 – 0.250', '–', '1.00')
    """
    if not (math.isfinite(low) and math.isfinite(high)):
        return MISSING
    first, last = text(low), text(high)
    return first if first == last else f"{first} – {last}"


def joined(words: Iterable[Any]) -> str:
    """Return `words` as a list within a sentence.

    >>> joined(["a"]), joined(["a", "b"]), joined([0.1, 0.3, 0.5])
    ('a', 'a and b', '0.1, 0.3 and 0.5')
    """
    every = [str(word) for word in words]
    return " and ".join([", ".join(every[:-1]), every[-1]] if len(every) > 1 else every)
