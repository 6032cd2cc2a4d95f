"""Convert Markdown, subscripts, links and figures to HTML."""

import html
import re
from base64 import b64encode
from collections.abc import Mapping

from deniable.errors import from_extras

from reproduction.study import SIGN

with from_extras():
    from markdown_it import MarkdownIt
    from markupsafe import Markup, escape

POINTS_AN_INCH = 72
PIXELS_AN_INCH = (80, 112)  # smallest and largest resolution of a figure on the page


def typeset(text: str) -> Markup:
    """Return `text` as HTML with subscripts in the thresholds T_v and T_d.

    >>> str(typeset("T_v < 50"))
    'T<sub>v</sub> &lt; 50'
    """
    return Markup(re.sub(r"\bT_([vd])\b", r"T<sub>\1</sub>", str(escape(text))))


def markdown(text: str, folder: str) -> str:
    r"""Return the Markdown `text` as HTML; HTML within it is escaped.

    The title is left out, and headings are one level below sections. Relative links start at
    `folder`, the path from the page to the folder of the text.

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
    return str(parser.renderer.render(tokens, parser.options, {}))


def living_links(page: str, places: Mapping[str, str]) -> str:
    """Return the HTML of a `page` with links to the `places` of sections; others become text.

    The name after "/" is a part of the section.

    >>> living_links('<a href="#a/1">this</a> and <a href="#b">that</a>', {"a": "other.html#a"})
    '<a href="other.html#a/1">this</a> and that'
    """

    def kept(link: re.Match[str]) -> str:
        of, slash, part = link[1].partition("/")
        return f'<a href="{places[of]}{slash}{part}">{link[2]}</a>' if of in places else link[2]

    return re.sub(r'<a href="#([^"]+)">(.*?)</a>', kept, page, flags=re.DOTALL)


_SIGNS = "".join({*SIGN.values()} - {"–", "?"})
_NAMES = "|".join(sorted(SIGN, key=len, reverse=True))
_SIGNED = re.compile(rf"\s?(?:[{_SIGNS}]|(?<=[\s>])\?(?=[\s<]))(?:\s(?:{_NAMES})\b)?")
_LOOKS = {*" ".join(SIGN).split()}


def without_verdicts(page: str) -> str:
    """Return the HTML of a `page` without signs, names and colours of verdicts.

    Names in badges are not removed, because they are words of a sentence.

    >>> without_verdicts('<td class="l holds">2.3 ✓ holds</td> <b class="tag fails">✗ fails</b>')
    '<td class="l">2.3</td> <b class="tag">fails</b>'
    """

    def plain(found: re.Match[str]) -> str:
        kept = [name for name in found[1].split() if name not in _LOOKS]
        return f'class="{" ".join(kept)}"'

    page = re.sub(rf'(class="tag [^"]*">)\s?[{_SIGNS}?]\s', r"\1", page)
    return re.sub(r'class="([^"]*)"', plain, _SIGNED.sub("", page))


_ORIGIN = re.compile(
    r'<ul class="note sources">\s*(.*?)\s*</ul>|<span class="note">(Drawn by.*?)</span>', re.DOTALL
)


def origins_last(page: str) -> str:
    """Return the HTML of a `page` with all sources of numbers and figures in one closed list.

    >>> origins_last('<ul class="note sources"><li>a.csv</li></ul><p>b</p>').partition("<ul")[0]
    '<p>b</p><details class="origins"><summary>Origins</summary>'
    """
    found = dict.fromkeys(each[1] or f"<li>{each[2]}</li>" for each in _ORIGIN.finditer(page))
    listed = '<summary>Origins</summary><ul class="note sources">' + "".join(found) + "</ul>"
    folded = f'<details class="origins">{listed}</details>' if found else ""
    return _ORIGIN.sub("", page) + folded


def picture(svg: str, label: str, address: str = "") -> str:
    """Return the HTML of a picture, from an `address` or, by default, with the `svg` in the page.

    The `svg` determines its size, and `label` is its description. Its place is reserved, and the
    browser loads it when it comes near the screen.
    """
    address = address or f"data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}"
    size = re.search(r'<svg[^>]*\bviewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
    room = f' width="{float(size[1]):.0f}" height="{float(size[2]):.0f}"' if size else ""
    if width := re.search(r'<svg[^>]*\bwidth="([\d.]+)pt"', svg):
        # With the same limits per inch, letters have the same size in small and large pictures.
        low, high = (round(float(width[1]) / POINTS_AN_INCH * pixels) for pixels in PIXELS_AN_INCH)
        room += f' style="min-width: {low}px; max-width: {high}px"'
    said = f'src="{address}" alt="{html.escape(label)}"'
    return f'<img {said}{room} loading="lazy" decoding="async">'
