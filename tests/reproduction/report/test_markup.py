"""Markdown, formulas and pictures become HTML that fits into a page."""

from reproduction.report.markup import markdown, picture, typeset

SVG = """<?xml version="1.0"?>
<!DOCTYPE svg>
<svg xmlns:xlink="http://www.w3.org/1999/xlink" width="144pt" height="72pt">
 <metadata><dc:title>a tool, https://example.org/</dc:title></metadata>
 <defs><path id="a"/><clipPath id="b"/></defs>
 <g clip-path="url(#b)"><use xlink:href="#a"/></g>
</svg>"""


def test_thresholds_are_set_as_a_paper_sets_them_and_nothing_else_is_html() -> None:
    assert str(typeset("T_v <b> T_d, T_vary")) == ("T<sub>v</sub> &lt;b&gt; T<sub>d</sub>, T_vary")


def test_a_picture_is_part_of_a_page_or_loaded() -> None:
    text = picture(SVG, 'a "label"')
    assert text.startswith('<img src="data:image/svg+xml;base64,PD94bWwg')
    assert 'alt="a &quot;label&quot;"' in text
    assert "min-width: 160px; max-width: 224px" in text
    assert picture(SVG, "label", "one.svg").startswith('<img src="one.svg" alt="label"')


def test_a_picture_without_a_width_is_left_as_wide_as_it_is() -> None:
    assert "style" not in picture('<svg viewBox="0 0 1 1"></svg>', "l")


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
