"""What tests read of pages: sections, words, elements."""

import html.parser
import re
from collections.abc import Iterator
from functools import lru_cache


def section(page: str, name: str) -> str:
    after = re.split(rf'<h2 id="{name}"[^>]*>.*?</h2>', page)[1]
    return after.split("</section>", maxsplit=1)[0]


def words(part: str) -> str:
    """Return what is read of a part of the page."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", part))


class Read(html.parser.HTMLParser):
    """Collects elements with their attributes and ancestors, and checks that they are closed."""

    VOID = ("meta", "link", "br", "hr", "img", "input", "col")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.above: list[list[str]] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attrs)
        if tag not in self.VOID:
            self.open.append(" ".join([tag, *(dict(attrs).get("class") or "").split()]))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.above.append(list(self.open))

    def handle_endtag(self, tag: str) -> None:
        while self.open.pop().split()[0] != tag:
            assert tag not in ("table", "tr", "td", "div", "figure", "details", "section"), tag

    def all(self, tag: str) -> Iterator[tuple[dict[str, str | None], list[str]]]:
        for (name, attributes), above in zip(self.elements, self.above, strict=True):
            if name == tag:
                yield attributes, above


@lru_cache(maxsize=1)
def parsed(page: str) -> Read:
    return Read(page)
