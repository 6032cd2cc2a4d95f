"""The page that people read: every table and figure beside the printed numbers.

Its sections are listed in the catalogs of the papers; here they are filled and put together.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import yaml
from jinja2 import (
    BytecodeCache,
    ChoiceLoader,
    Environment,
    PackageLoader,
    PrefixLoader,
    StrictUndefined,
    select_autoescape,
)
from markupsafe import Markup

from deniable.datasets import Source, read_source
from deniable.display import (
    SIGN,
    Row,
    Tables,
    between,
    inline_svg,
    joined,
    living_links,
    markdown,
    percent,
    plain,
    short,
    thousands,
    typeset,
)
from deniable.files import read_table
from deniable.papers import (
    AUDITS,
    COMPARED_BY,
    DRAWN_BY,
    FIGURES,
    MADE_BY,
    PAPERS,
    PARTS,
    TABLES,
    by_kind,
)
from deniable.papers.claims_section import counted
from deniable.papers.multirr.verdicts import is_as_printed
from deniable.pipeline import run_facts
from deniable.report.releases import ReleaseFiles, read_releases, releases

# Cells of other tables are counted in their own sections.
PRINTED = [name for name, table in TABLES.items() if table.compared]
"""The tables that have printed numbers beside ours."""
SUMMED_UP = ("pram_results", "pram_coverage", "pram_variance", "pram_design")
"""The sections of PRAM that have a card at a glance."""


@dataclass(frozen=True)
class Contents:
    """What the page is made of."""

    tables: Tables  # that the run made; a section without its tables is left out
    figures: Mapping[str, str]  # as SVG
    releases: Sequence[ReleaseFiles]
    sources: Sequence[Source]
    findings: str  # as Markdown
    facts: Mapping[str, str]  # versions
    seed: int
    config: str


def gather(files: Any, config: Mapping[str, Any]) -> Contents:
    """Read everything that the page shows, from the inputs of the report's rule by name.

    The config is without its data section: that may name a folder of the machine.
    """
    return Contents(
        tables={Path(path).stem: read_table(path) for path in [*files.tables, *files.audits]},
        figures={Path(path).stem: Path(path).read_text(encoding="utf-8") for path in files.figures},
        releases=read_releases(files.releases),
        sources=[read_source(path) for path in files.sources],
        findings=Path(files.findings).read_text(encoding="utf-8"),
        facts=run_facts(),
        seed=config["seed"],
        config=yaml.safe_dump(dict(config), sort_keys=False, default_flow_style=None, width=100),
    )


def render(contents: Contents) -> str:
    """Return the page as HTML that opens without a network."""
    templates = _environment(contents)
    parts = {
        heading: possible
        for heading, sections in PARTS.items()
        if (possible := [each for each in sections if each.possible(contents.tables)])
    }
    own = {"glance": glance, "releases": _releases, "findings": findings, "run": run}
    shown = {each.id: each for sections in parts.values() for each in sections}
    bodies = {}
    for name, section in shown.items():
        values = own[name](contents) if name in own else section.content(contents.tables)
        body = templates.get_template(f"{section.template}.html.j2").render(values)
        bodies[name] = Markup(living_links(body, shown))
    return templates.get_template("report.html.j2").render(parts=parts, bodies=bodies)


def environment(compiled: BytecodeCache | None = None) -> Environment:
    """Return what templates are filled by, with the filters and signs of all of them.

    ``compiled`` keeps compiled templates, for whoever fills them again and again.
    """
    shared = map(PackageLoader, ("deniable.report", "deniable.display", "deniable.papers"))
    own = {paper.key: PackageLoader(f"deniable.papers.{paper.key}") for paper in PAPERS}
    made = Environment(
        loader=ChoiceLoader([*shared, PrefixLoader(own)]),
        autoescape=select_autoescape(["html", "j2"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        bytecode_cache=compiled,
    )
    filters = (short, percent, thousands, plain, between, joined, typeset)
    made.filters.update({each.__name__: each for each in filters})
    made.globals.update(short=short, percent=percent, plain=plain, sign=SIGN)
    return made


def _environment(contents: Contents) -> Environment:
    """Return what all templates of a page share: tables, pictures, where numbers come from."""
    shared = environment()
    shared.globals.update(
        tables=contents.tables,
        titles={name: table.title for name, table in TABLES.items()},
        svg={
            name: Markup(inline_svg(picture, name, FIGURES[name].shows))
            for name, picture in contents.figures.items()
        },
        pictures={name: figure.shows for name, figure in FIGURES.items()},
        made_by=MADE_BY,
        drawn_by=DRAWN_BY,
        compared_by=COMPARED_BY,
        printed=PRINTED,
        folders={name: audit.folder for name, audit in AUDITS.items()},
        surrogate=_is_surrogate(contents),
    )
    return shared


def _is_surrogate(contents: Contents) -> bool:
    return any(source.kind == "surrogate" for source in contents.sources)


# -- sections that show more than tables -----------------------------------------------------------


def glance(contents: Contents) -> Row:
    """Prepare how much of what is printed comes out again, and of what is claimed holds."""
    tables = contents.tables
    agreement = tables.get("multirr_agreement", pd.DataFrame())
    if len(agreement):
        agreement = agreement[is_as_printed(agreement)]
    return {
        "agreement": agreement,
        "claims": {f"[{paper.key}]": counted(tables, paper.key) for paper in PAPERS},
        "audited": by_kind(tables["privacy"]) if "privacy" in tables else None,
        "samplers": tables.get("samplers", pd.DataFrame()),
        "example": tables.get("multirr_example1"),
        "runs": _runs({name: tables[name] for name in PRINTED if name in tables}),
        "pram": {
            section.id: section.content(tables)
            for sections in PARTS.values()
            for section in sections
            if section.id in SUMMED_UP and section.possible(tables)
        },
    }


def _runs(tables: Tables) -> list[int]:
    """Return how many runs stand behind a number, over all studies."""
    simulated = [tables[name]["replicates"].dropna() for name in TABLES if name in tables]
    return sorted({int(n) for replicates in simulated for n in replicates.unique()})


def _releases(contents: Contents) -> Row:
    return releases(contents.releases)


def findings(contents: Contents) -> Row:
    """Prepare the findings, and whether they are about this run."""
    return {
        "findings": Markup(markdown(contents.findings, "../docs")),
        "as_written": is_run_of_findings(contents),
    }


def is_run_of_findings(contents: Contents) -> bool:
    """Return whether this run has the seed, the size and the data that the findings name.

    Their "seed 5, 1,000 runs" gives the seed and the largest number of runs of any study; every
    other number of runs must stand in them too ("200 runs").
    """
    headline = re.search(r"seed (\d+), ([\d,]+) runs", contents.findings)
    named = {int(n.replace(",", "")) for n in re.findall(r"(\d[\d,]*) runs", contents.findings)}
    runs = _runs(contents.tables)
    return (
        headline is not None
        and bool(runs)
        and int(headline[1]) == contents.seed
        and runs[-1] == int(headline[2].replace(",", ""))
        and set(runs) <= named
        and not _is_surrogate(contents)
    )


def run(contents: Contents) -> Row:
    """Prepare what the run was made from."""
    shown = ("sources", "seed", "facts", "config")
    return {"papers": PAPERS} | {name: getattr(contents, name) for name in shown}
