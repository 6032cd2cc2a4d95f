"""Write the report as pages in a folder, or as one file for mailing; both work offline.

The catalogs of the papers list the sections.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from deniable.display import at_most, between, joined, percent, plain, short, thousands
from deniable.errors import from_extras
from deniable.files import folder_written_whole, write_text

from reproduction.papers import AUDITS, DRAWN_BY, FIGURES, MADE_BY, PAGES, PAPERS, TABLES
from reproduction.report import markup
from reproduction.report.contents import Contents
from reproduction.report.own_sections import OWN
from reproduction.study import SIGN, Page, Section

with from_extras():
    import jinja2
    from markupsafe import Markup


def write(output: Path | str, contents: Contents) -> None:
    """Write the report of `contents`: in one file if `output` ends in ".html", else in a folder."""
    if str(output).endswith(".html"):
        write_text(output, render(contents))
        return
    with folder_written_whole(output) as folder:
        for name, text in render_pages(contents):
            write_text(folder / name, text)


def render(contents: Contents) -> str:
    """Return the report of `contents` as one HTML page that contains its figures and tables."""
    templates = _environment(contents, "", {})
    shown = _possible(contents)
    sections = [section for page in shown for section in page.sections]
    ids = {section.id: f"#{section.id}" for section in sections}
    ids |= {f"page-{page.id}": f"#{page.sections[0].id}" for page in shown}
    bodies = {each.id: _body(templates, each, contents, ids) for each in sections}
    template = templates.get_template("one_file.html.j2")
    return template.render(title=PAGES[0].title, pages=shown, bodies=bodies)


def render_pages(contents: Contents) -> Iterator[tuple[str, str]]:
    """Yield the files of a report of `contents` by name: pages, figures, style and script."""
    templates = _environment(contents, "../", {name: f"figures/{name}.svg" for name in FIGURES})
    shown = _possible(contents)
    places = {section.id: page.id for page in shown for section in page.sections}
    for page in shown:
        ids = {id: f"#{id}" if at == page.id else f"{at}.html#{id}" for id, at in places.items()}
        ids |= {f"page-{each.id}": f"{each.id}.html" for each in shown}
        bodies = {each.id: _body(templates, each, contents, ids) for each in page.sections}
        template = templates.get_template("page.html.j2")
        yield f"{page.id}.html", template.render(page=page, pages=shown, bodies=bodies)
    for name, svg in contents.figures.items():
        yield f"figures/{name}.svg", svg
    for name in ("style.css", "tables.js"):
        yield name, templates.get_template(name).render()


def _possible(contents: Contents) -> list[Page]:
    tables = contents.tables
    pages = (replace(p, sections=tuple(s for s in p.sections if s.possible(tables))) for p in PAGES)
    return [page for page in pages if page.sections]


def _body(
    templates: jinja2.Environment, section: Section, contents: Contents, places: Mapping[str, str]
) -> Markup:
    """Return the HTML of a section, with links to sections at their `places`."""
    own = OWN.get(section.id)
    values = own(contents) if own else section.content(contents.tables)
    page = templates.get_template(f"{section.template}.html.j2").render(values)
    page = markup.without_verdicts(page) if contents.surrogate else page
    return Markup(markup.living_links(markup.origins_last(page), places))


def environment(compiled: jinja2.BytecodeCache | None = None) -> jinja2.Environment:
    """Return the environment of all templates; `compiled` is a cache of compiled templates."""
    folders = ("reproduction.report", "deniable.display", "reproduction.papers")
    own = {paper.key: jinja2.PackageLoader(f"reproduction.papers.{paper.key}") for paper in PAPERS}
    made = jinja2.Environment(
        loader=jinja2.ChoiceLoader([*map(jinja2.PackageLoader, folders), jinja2.PrefixLoader(own)]),
        autoescape=jinja2.select_autoescape(["html", "j2"]),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        bytecode_cache=compiled,
    )
    filters = (short, at_most, percent, thousands, plain, between, joined, markup.typeset)
    made.filters.update({each.__name__: each for each in filters})
    made.filters["log10"] = math.log10
    made.filters["markdown"] = lambda text, folder: Markup(markup.markdown(text, folder))
    made.globals.update(short=short, percent=percent, plain=plain, sign=SIGN, results="")
    return made


def _environment(contents: Contents, results: str, places: Mapping[str, str]) -> jinja2.Environment:
    """Return the environment with the values that all templates share.

    `results` is the path from a page to the results. `places` are the addresses of figures.
    """
    shared = environment()
    privacy = [each for page in PAGES for each in page.verdicts_on(contents.tables).privacy]
    shared.globals.update(
        tables=contents.tables,
        titles={name: table.title for name, table in TABLES.items()},
        pictures={name: figure.shows for name, figure in FIGURES.items()},
        made_by=MADE_BY,
        drawn_by=DRAWN_BY,
        folders=dict.fromkeys(AUDITS, "audit"),
        surrogate=contents.surrogate,
        full=[] if contents.surrogate else privacy,
        results=results,
        drawings={
            name: Markup(markup.picture(svg, FIGURES[name].shows, places.get(name, "")))
            for name, svg in contents.figures.items()
        },
    )
    return shared
