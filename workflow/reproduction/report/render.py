"""The report as pages in a folder, and as one file for mailing; both open without a network.

The catalogs of the papers list the sections.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from deniable.display import between, joined, percent, plain, short, thousands
from deniable.errors import from_extras
from deniable.files import folder_written_whole, write_text

from reproduction.papers import (
    AUDITS,
    COMPARED_BY,
    DRAWN_BY,
    FIGURES,
    MADE_BY,
    PAGES,
    PAPERS,
    TABLES,
)
from reproduction.report.contents import Contents
from reproduction.report.markup import inline_svg, linked_svg, living_links, markdown, typeset
from reproduction.report.own_sections import OWN
from reproduction.study import SIGN, Page, Section

with from_extras():
    import jinja2
    from markupsafe import Markup

PRINTED = [name for name, table in TABLES.items() if table.compared]
"""The tables that compare published with recomputed numbers."""
LONG = 8_000
"""Largest number of characters of a `details` element that is part of its page."""
FILES = re.compile(r'<a href="[^"]*">results/[\w/-]+\.(?:csv|json)</a>')  # named under tables
# No `details` element contains another one.
OPENING = re.compile(r"<details><summary>(.*?)</summary>(.*?)</details>", re.DOTALL)


def write(output: Path | str, contents: Contents) -> None:
    """Write the report of `contents`: in one file if `output` ends in ".html", else in a folder."""
    if str(output).endswith(".html"):
        write_text(output, render(contents))
        return
    with folder_written_whole(output) as folder:
        for name, text in render_pages(contents):
            write_text(folder / name, text)


def render(contents: Contents) -> str:
    """Return the report of `contents` as one page of HTML, with its figures and tables."""
    templates = _environment(contents, "", inline_svg)
    shown = _possible(contents)
    ids = {section.id: f"#{section.id}" for page in shown for section in page.sections}
    ids |= {f"page-{page.id}": f"#{page.sections[0].id}" for page in shown}
    bodies = {
        section.id: Markup(living_links(_body(templates, section, contents), ids))
        for page in shown
        for section in page.sections
    }
    template = templates.get_template("one_file.html.j2")
    return template.render(title=PAGES[0].title, pages=shown, bodies=bodies)


def render_pages(contents: Contents) -> Iterator[tuple[str, str]]:
    """Yield the files of a report of `contents` by name: pages, figures, tables and styles."""
    templates = _environment(
        contents, "../", lambda svg, id, shows: linked_svg(svg, f"figures/{id}.svg", shows)
    )
    shown = _possible(contents)
    places = {section.id: page.id for page in shown for section in page.sections}
    for page in shown:
        ids = {id: f"#{id}" if at == page.id else f"{at}.html#{id}" for id, at in places.items()}
        ids |= {f"page-{each.id}": f"{each.id}.html" for each in shown}
        bodies = {}
        for section in page.sections:
            body, tables = without_long_tables(_body(templates, section, contents), section.id)
            bodies[section.id] = Markup(living_links(body, ids))
            for name, table in tables.items():
                arguments = json.dumps([name, living_links(table, ids)], ensure_ascii=False)
                yield f"tables/{name}.js", f"showTable(...{arguments});\n"
        template = templates.get_template("page.html.j2")
        yield f"{page.id}.html", template.render(page=page, pages=shown, bodies=bodies)
    for name, picture in contents.figures.items():
        yield f"figures/{name}.svg", picture
    for name in ("style.css", "tables.js"):
        yield name, templates.get_template(name).render()


def without_long_tables(body: str, section: str) -> tuple[str, dict[str, str]]:
    """Return HTML, the `body`, without the contents of long `details` elements, and these by name.

    They are replaced by links to their files, or else to the files of their `section`. Contents
    without files stay.

    >>> without_long_tables("<details><summary>a</summary>b</details>", "s")
    ('<details><summary>a</summary>b</details>', {})
    """
    found: dict[str, str] = {}

    def left(opening: re.Match[str]) -> str:
        summary, inside = opening.groups()
        files = ", ".join(dict.fromkeys(FILES.findall(inside) or FILES.findall(body)))
        if len(inside) <= LONG or not files:
            return opening[0]
        name = f"{section}-{len(found) + 1}"
        found[name] = inside
        return (
            f'<details data-table="{name}"><summary>{summary}</summary><div class="later">'
            f'<p class="note">Loaded when it is opened. All numbers: {files}.</p></div></details>'
        )

    return OPENING.sub(left, body), found


def _possible(contents: Contents) -> list[Page]:
    """Return the pages and sections for which there are tables."""
    pages = [
        replace(page, sections=tuple(s for s in page.sections if s.possible(contents.tables)))
        for page in PAGES
    ]
    return [page for page in pages if page.sections]


def _body(templates: jinja2.Environment, section: Section, contents: Contents) -> str:
    own = OWN.get(section.id)
    values = own(contents) if own else section.content(contents.tables)
    return templates.get_template(f"{section.template}.html.j2").render(values)


def environment(compiled: jinja2.BytecodeCache | None = None) -> jinja2.Environment:
    """Return the environment of all templates; ``compiled`` caches compiled templates."""
    shared = map(
        jinja2.PackageLoader, ("reproduction.report", "deniable.display", "reproduction.papers")
    )
    own = {paper.key: jinja2.PackageLoader(f"reproduction.papers.{paper.key}") for paper in PAPERS}
    made = jinja2.Environment(
        loader=jinja2.ChoiceLoader([*shared, jinja2.PrefixLoader(own)]),
        autoescape=jinja2.select_autoescape(["html", "j2"]),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        bytecode_cache=compiled,
    )
    filters = (short, percent, thousands, plain, between, joined, typeset)
    made.filters.update({each.__name__: each for each in filters})
    made.filters["markdown"] = lambda text, folder: Markup(markdown(text, folder))
    made.globals.update(short=short, percent=percent, plain=plain, sign=SIGN, results="")
    return made


def _environment(
    contents: Contents, results: str, drawn: Callable[[str, str, str], str]
) -> jinja2.Environment:
    """Return the environment with shared values; ``results`` leads from a page to the results."""
    shared = environment()
    shared.globals.update(
        tables=contents.tables,
        titles={name: table.title for name, table in TABLES.items()},
        pictures={name: figure.shows for name, figure in FIGURES.items()},
        made_by=MADE_BY,
        drawn_by=DRAWN_BY,
        compared_by=COMPARED_BY,
        printed=PRINTED,
        folders={name: audit.folder for name, audit in AUDITS.items()},
        surrogate=contents.surrogate,
        results=results,
        drawings={
            name: Markup(drawn(picture, name, FIGURES[name].shows))
            for name, picture in contents.figures.items()
        },
    )
    return shared
