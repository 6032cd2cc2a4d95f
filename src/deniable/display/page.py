"""Parts of the report's pages: rows of tables, numbers as text, Markdown and pictures as HTML."""

import html
import math
import re
from collections.abc import Callable, Iterable, Mapping
from operator import itemgetter
from typing import Any

import pandas as pd

from deniable.errors import from_extras

with from_extras():
    from markdown_it import MarkdownIt
    from markupsafe import Markup, escape

Tables = Mapping[str, pd.DataFrame]
Row = dict[str, Any]

SIGN = {
    "agrees": "✓",
    "differs": "✗",
    "fitted": "≈",
    "not printed": "–",
    "surrogate": "s",
    "holds": "✓",
    "fails": "✗",
    "undecided": "?",
    "depends on the reading": "≠",
    "depends on the margin": "≠",
}
"""A sign for each verdict: on a printed number (agrees, differs, not printed; fitted: what the text
leaves open was chosen so that it agrees), on a claim in words (holds, fails, undecided, depends on
the reading or the margin), and on surrogate data, where there is none."""

MISSING = "–"
MINUS = "−"
POINTS_AN_INCH = 72
PIXELS_AN_INCH = (80, 112)  # how small and how large a figure may be shown
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def rows_of(table: pd.DataFrame) -> list[Row]:
    """Return the rows of a `table`, by column."""
    # All columns at once: a table has a few rows, and a column of it takes longer than they do.
    names = [str(name) for name in table.columns]
    return [dict(zip(names, row, strict=True)) for row in table.to_numpy(object).tolist()]


def by(table: pd.DataFrame, *columns: str) -> dict[Any, Row]:
    """Return the rows of a `table` by the values of its `columns`, as a tuple if several."""
    key = itemgetter(*columns)
    return {key(row): row for row in rows_of(table)}


def first_of(table: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """Return the rows of a `table` with the first value of each of the `columns`: the paper's."""
    for column in columns:
        table = table.loc[table[column] == table[column].iloc[0]]
    return table


def groups_of(table: pd.DataFrame, *columns: str) -> list[tuple[Row, pd.DataFrame]]:
    """Return the values of `columns`, in order of appearance, with their rows of a `table`."""
    groups: Any = table.groupby(list(columns), sort=False)
    return [(dict(zip(columns, values, strict=True)), part) for values, part in groups]


def nearest(values: Iterable[float], target: float) -> float | None:
    """Return the positive one of `values` with the ratio nearest to a `target`, or None.

    >>> nearest([3, 9, 100], 10), nearest([0], 10)
    (9, None)
    """
    found = [value for value in values if value > 0]
    return min(found, key=lambda value: abs(math.log(value / target)), default=None)


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
        large = abs(value) >= 999.5  # which is written as 1,000
        text = f"{value:,.0f}" if large else f"{value:#.3g}".removesuffix(".")
    return text.replace("-", MINUS)


def percent(share: float) -> str:
    """Return a `share` in percent, with three significant digits.

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
    """Return a `value` with no more digits than it has.

    >>> plain(12.0), plain(11.5)
    ('12', '11.5')
    """
    return f"{value:g}"


def between(low: float, high: float, text: Callable[[float], str] = short) -> str:
    """Return a range from `low` to `high`, each as `text`; one number if both are equal.

    Infinite ends, as after very few replicates, give a dash.

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


def typeset(text: str) -> Markup:
    """Return `text` with subscripts in the thresholds T_v and T_d.

    >>> str(typeset("T_v < 50"))
    'T<sub>v</sub> &lt; 50'
    """
    return Markup(re.sub(r"\bT_([vd])\b", r"T<sub>\1</sub>", str(escape(text))))


def markdown(text: str, folder: str) -> str:
    r"""Return `text` in Markdown as HTML; HTML within it stays text.

    The title is left out, headings are one level below sections, and relative links are
    found from a page that has the text in `folder`.

    >>> markdown("# Title\n\n## Heading\n\n[file](a.csv)", "../docs")
    '<h3>Heading</h3>\n<p><a href="../docs/a.csv">file</a></p>\n'
    """
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = parser.parse(re.sub(r"\A# .*\n", "", text))
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1]) + 1, 6)}"
        for inner in token.children or []:
            link = str(inner.attrs.get("href", ""))
            if link and not re.match(r"[a-z]+:|[#/]", link):
                inner.attrs["href"] = f"{folder}/{link}"
    found: str = parser.renderer.render(tokens, parser.options, {})
    return found


def living_links(page: str, places: Mapping[str, str]) -> str:
    """Return the HTML of a `page` with links to sections at their `places`; others become text.

    >>> living_links('<a href="#a">this</a> and <a href="#b">that</a>', {"a": "other.html#a"})
    '<a href="other.html#a">this</a> and that'
    """

    def kept(link: re.Match[str]) -> str:
        return f'<a href="{places[link[1]]}">{link[2]}</a>' if link[1] in places else link[2]

    return re.sub(r'<a href="#([^"]+)">(.*?)</a>', kept, page, flags=re.DOTALL)


def inline_svg(svg: str, name: str, label: str) -> str:
    """Return the text of an `svg` as a picture within a page.

    The file's header is removed, ids get the picture's `name` as a prefix, and the `label` is the
    description for screen readers.
    """
    inside = re.sub(r"<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    inside = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", inside)
    said = f'<svg role="img" aria-label="{html.escape(label)}"{_sizes(svg)}'
    return inside.replace("<svg", said, 1)


def linked_svg(svg: str, address: str, label: str) -> str:
    """Return a picture that a page loads from an `address`, as large as by `inline_svg`.

    The text `svg` gives its size and the `label` its description. It is loaded when it comes near
    the screen, and its place is reserved.
    """
    size = re.search(r'<svg[^>]*\bviewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
    room = f' width="{float(size[1]):.0f}" height="{float(size[2]):.0f}"' if size else ""
    said = f'src="{address}" alt="{html.escape(label)}"'
    return f'<img {said}{room}{_sizes(svg)} loading="lazy" decoding="async">'


def _sizes(svg: str) -> str:
    # With the same limits an inch, letters are as large in a small picture as in a large one.
    width = re.search(r'<svg[^>]*\bwidth="([\d.]+)pt"', svg)
    if not width:
        return ""
    low, high = (round(float(width[1]) / POINTS_AN_INCH * pixels) for pixels in PIXELS_AN_INCH)
    return f' style="min-width: {low}px; max-width: {high}px"'
