"""Check the links and requests of a site against its files."""

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ASKING = re.compile(r"""@import\s+(?:url\()?["']?([^"')\s;]+)|url\(\s*["']?([^"')]+)""")


class Page(HTMLParser):
    """One page: its anchors, its links, and the addresses that a browser requests to show it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: set[str] = set()
        self.asked = asked_by_styles("".join(re.findall(r"(?s)<style.*?</style>", text)))
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect the anchors and addresses of a tag."""
        given = {name: text for name, text in attrs if text}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if "href" in given:
            (self.links if tag in ("a", "area") else self.asked).add(given["href"])
        self.asked |= {given[name] for name in ("src", "data", "poster") if name in given}
        for each in given.get("srcset", "").split(","):
            self.asked |= set(each.split()[:1])
        self.asked |= asked_by_styles(given.get("style", ""))


def asked_by_styles(text: str) -> set[str]:
    """Return the addresses that style sheets make a browser request."""
    return {one or other for one, other in ASKING.findall(text)}


def faults(site: Path) -> list[str]:
    """Return one line per broken link, and per request to another host.

    Links to other hosts are allowed, because a browser does not request them.
    """
    site = site.resolve()
    pages = {page: Page(page.read_text(encoding="utf-8")) for page in site.rglob("*.html")}
    asked = {(page, address) for page, of in pages.items() for address in of.asked}
    for sheet in site.rglob("*.css"):
        asked |= {(sheet, each) for each in asked_by_styles(sheet.read_text(encoding="utf-8"))}
    found = []
    for page, address in sorted(asked):
        if (urlsplit(address).scheme or urlsplit(address).netloc) and address[:5] != "data:":
            found.append(f"{page.relative_to(site)}: requests {address} from another host")
    followed = {(page, address) for page, of in pages.items() for address in of.links}
    for page, address in sorted(followed | asked):
        parts = urlsplit(address)
        if parts.scheme or parts.netloc:
            continue
        target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
        if not target.is_relative_to(site) or not target.is_file():
            found.append(f"{page.relative_to(site)}: {address} does not exist")
        elif target in pages and unquote(parts.fragment) not in {"", *pages[target].anchors}:
            found.append(f"{page.relative_to(site)}: {address} is not an anchor of that page")
    return found
