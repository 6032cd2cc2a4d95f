"""What a page is built of: numbers as text, where they come from, pictures that fit in."""

import math

import numpy as np
import pandas as pd
import pytest

from deniable.display.page import (
    between,
    by,
    first_of,
    groups_of,
    inline_svg,
    markdown,
    nearest,
    percent,
    rows_of,
    short,
    typeset,
)

SVG = """<?xml version="1.0"?>
<!DOCTYPE svg>
<svg xmlns:xlink="http://www.w3.org/1999/xlink" width="144pt" height="72pt">
 <metadata><dc:title>a tool, https://example.org/</dc:title></metadata>
 <defs><path id="a"/><clipPath id="b"/></defs>
 <g clip-path="url(#b)"><use xlink:href="#a"/></g>
</svg>"""


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.float64(0.1), "0.100"),
        (0.0, "0"),
        (-0.118, "−0.118"),
        (999.6, "1,000"),
        (1234.5, "1,234"),
        (9.87654e6, "9,876,540"),
        (1.4e10, "1.40 × 10¹⁰"),
        (2.5e-7, "2.50 × 10⁻⁷"),
        (-2.5e-7, "−2.50 × 10⁻⁷"),
        (math.inf, "∞"),
        (-math.inf, "−∞"),
        (np.nan, "–"),
        (3, "3"),
        ("x", "x"),
    ],
)
def test_short_numbers(value: object, text: str) -> None:
    assert short(value) == text


def test_no_number_is_written_as_a_computer_does() -> None:
    for power in range(-120, 120, 3):
        assert "e" not in short(3.456 * 10.0**power)


def test_shares_and_ranges() -> None:
    assert percent(np.float64(0.11684)) == "11.7 %"
    assert between(0.01, 0.02, percent) == "1.00 % – 2.00 %"
    assert between(-math.inf, math.inf) == between(math.nan, 1.0) == "–"
    assert between(0.1, 0.1001) == "0.100"


def test_thresholds_are_set_as_a_paper_sets_them_and_nothing_else_is_html() -> None:
    assert str(typeset("T_v <b> T_d, T_vary")) == ("T<sub>v</sub> &lt;b&gt; T<sub>d</sub>, T_vary")


def test_rows_by_the_values_of_columns() -> None:
    table = pd.DataFrame({"a": [2, 1, 2], "b": ["x", "x", "y"], "c": [1, 2, 3]})
    assert [(key, list(part["c"])) for key, part in groups_of(table, "a")] == [
        ({"a": 2}, [1, 3]),
        ({"a": 1}, [2]),
    ]
    assert groups_of(table, "a", "b")[0][0] == {"a": 2, "b": "x"}
    assert list(first_of(table, "b", "a")["c"]) == [1]


def test_rows_by_one_column_and_by_several() -> None:
    table = pd.DataFrame({"a": [1, 2], "b": ["x", "y"], "mean": [0.1, 0.2]})
    assert by(table, "a")[2] == rows_of(table)[1]
    assert by(table, "a", "b")[1, "x"]["mean"] == 0.1


def test_a_picture_fits_into_a_page_with_others() -> None:
    text = inline_svg(SVG, "one", 'a "label"')
    assert text.startswith('<svg role="img" aria-label="a &quot;label&quot;"')
    assert 'id="one-a"' in text
    assert 'id="one-b"' in text
    assert 'xlink:href="#one-a"' in text
    assert "url(#one-b)" in text
    assert "example.org" not in text
    assert "min-width: 160px; max-width: 224px" in text


def test_a_picture_without_a_width_is_left_as_wide_as_it_is() -> None:
    assert "style" not in inline_svg('<svg viewBox="0 0 1 1"></svg>', "one", "l")


def test_findings_become_a_part_of_the_page() -> None:
    text = "# T\n\n## H\n\n### I\n\n[a](b.md), [c](#d), [e](https://f.example), <b>\n\n# U\n"
    page = markdown(text, "../docs")
    assert "T" not in page
    assert "<h3>H</h3>" in page
    assert "<h4>I</h4>" in page
    assert "<h2>U</h2>" in page
    assert 'href="../docs/b.md"' in page
    assert 'href="#d"' in page
    assert 'href="https://f.example"' in page
    assert "&lt;b&gt;" in page


def test_the_nearest_is_so_by_ratio() -> None:
    assert nearest([1, 30, 200], 10) == 30
    assert nearest([], 10) is None
