"""The page that people read: every table and figure beside the printed numbers."""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import yaml
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markdown_it import MarkdownIt
from markupsafe import Markup

from deniable.files import read_json
from deniable.multirr_audit import ATTRIBUTE_IN_CLUSTER
from deniable.provenance import PACKAGE, run_facts
from deniable.sources import Source, read_source
from deniable.studies.cluster_queries import ClusterQueries
from deniable.studies.registry import CLUSTER_QUERY_KEYS, TABLES
from deniable.study import compare

SIGN = {"agrees": "✓", "differs": "✗", "not printed": "–", "surrogate": "s"}


@dataclass(frozen=True)
class Contents:
    """What the page is made of: tables by name, pictures as SVG text, descriptions, facts."""

    results: Mapping[str, pd.DataFrame]
    figures: Mapping[str, str]
    agreement: pd.DataFrame
    clusters: pd.DataFrame
    dependences: pd.DataFrame
    trend: pd.DataFrame
    privacy: pd.DataFrame
    samplers: pd.DataFrame
    releases: Sequence[Mapping[str, Any]]
    estimates: Mapping[str, pd.DataFrame]
    checks: Mapping[str, pd.DataFrame]
    sources: Sequence[Source]
    findings: str
    facts: Mapping[str, str]
    seed: int
    config: str


def gather(files: Any, config: Mapping[str, Any]) -> Contents:
    """Read everything that the page shows.

    Parameters
    ----------
    files : object
        The inputs of the report's rule, by name.
    config : mapping
        The validated config, without its data section: that may name a folder of the machine.
    """

    def table(path: str) -> pd.DataFrame:
        return pd.read_csv(path, keep_default_na=True, na_values=[""])

    def by_stem(paths: Sequence[str]) -> dict[str, pd.DataFrame]:
        return {Path(path).stem: table(path) for path in paths}

    def by_folder(paths: Sequence[str]) -> dict[str, pd.DataFrame]:
        return {Path(path).parent.name: table(path) for path in paths}

    return Contents(
        results=by_stem(files.tables),
        figures={Path(p).stem: Path(p).read_text(encoding="utf-8") for p in files.figures},
        agreement=table(files.agreement[0]),
        clusters=table(files.clusters),
        dependences=table(files.dependences),
        trend=table(files.trend[0]),
        privacy=table(files.privacy[0]),
        samplers=table(files.samplers[0]),
        releases=[read_json(path) for path in files.channels],
        estimates=by_folder(files.estimates),
        checks=by_folder(files.checks),
        sources=[read_source(path) for path in files.sources],
        findings=Path(files.findings).read_text(encoding="utf-8"),
        facts=run_facts(),
        seed=config["seed"],
        config=yaml.safe_dump(dict(config), sort_keys=False, default_flow_style=None, width=100),
    )


def render(contents: Contents) -> str:
    """Return the page as HTML that opens without a network."""
    environment = Environment(
        loader=PackageLoader("deniable"),
        autoescape=select_autoescape(["html", "j2"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["short"] = short
    return environment.get_template("report.html.j2").render(
        contents=contents,
        layouts={
            name: layout(table)
            for name, table in contents.results.items()
            if name in ("multirr_table1", "multirr_table2")
        },
        tables=TABLES,
        sign=SIGN,
        svg={name: Markup(_inline(text)) for name, text in contents.figures.items()},
        findings=Markup(_markdown(contents.findings)),
        surrogate=any(source.kind == "surrogate" for source in contents.sources),
        sensitivity=contents.results.get("multirr_sensitivity"),
        keys=CLUSTER_QUERY_KEYS,
        broken=contents.privacy[~contents.privacy["holds"]],
        stated=contents.privacy[contents.privacy["unit"] != ATTRIBUTE_IN_CLUSTER],
        reading=contents.privacy[contents.privacy["unit"] == ATTRIBUTE_IN_CLUSTER],
        simulated_at=_line_of(ClusterQueries.__call__),
        compared_at=_line_of(compare),
        as_written=_is_run_of_findings(contents),
        records=_records(contents.privacy),
        as_printed=contents.agreement[_is_as_printed(contents.agreement)],
        other_readings=contents.agreement[~_is_as_printed(contents.agreement)],
    )


def _line_of(function: Callable[..., Any]) -> str:
    """Return file and line of a function of this library, as seen from the project's root."""
    file = Path(inspect.getsourcefile(function) or "").relative_to(PACKAGE.parent)
    return f"src/{file.as_posix()}:{inspect.getsourcelines(function)[1]}"


def _is_run_of_findings(contents: Contents) -> bool:
    """Return whether this run has the seed, the size and the data that the findings name."""
    named = re.search(r"seed (\d+), ([\d,]+) runs", contents.findings)
    runs = {int(table["replicates"].max()) for table in contents.results.values()}
    return (
        named is not None
        and int(named[1]) == contents.seed
        and runs == {int(named[2].replace(",", ""))}
        and all(source.kind == "original" for source in contents.sources)
    )


def _markdown(text: str) -> str:
    html: str = MarkdownIt("commonmark", {"html": False}).enable("table").render(text)
    return html


def short(value: Any) -> str:
    """Return a number with three significant digits, or the value as text.

    Examples
    --------
    >>> short(0.29538), short(12.3456), short(float("nan")), short("x")
    ('0.295', '12.3', '–', 'x')
    """
    if isinstance(value, float):
        return "–" if pd.isna(value) else f"{value:#.3g}".removesuffix(".")
    return str(value)


def layout(table: pd.DataFrame) -> dict[str, Any]:
    """Arrange a table as the paper does: a row for each p and T_d, columns by T_v.

    Returns
    -------
    dict
        ``sizes`` (the T_v), ``mechanisms``, and ``rows``: p, t_d and for each T_v the printed value
        and one record a mechanism.
    """
    sizes = sorted(table["t_v"].unique())
    mechanisms = list(dict.fromkeys(table["mechanism"]))
    cells = {
        (cell["p"], cell["t_d"], cell["t_v"], cell["mechanism"]): cell
        for cell in table.to_dict("records")
    }
    rows = [
        {
            "p": p,
            "t_d": t_d,
            "first": t_d == min(table["t_d"]),
            "cells": [
                [cells.get((p, t_d, t_v, mechanism)) for mechanism in mechanisms] for t_v in sizes
            ],
        }
        for p in sorted(table["p"].unique())
        for t_d in sorted(table["t_d"].unique())
    ]
    return {"sizes": sizes, "mechanisms": mechanisms, "rows": rows}


def _is_as_printed(agreement: pd.DataFrame) -> "pd.Series[bool]":
    printed: pd.Series[bool] = agreement["matrix"] == "printed"
    return printed & (agreement["projection"] == "clip")


def _records(privacy: pd.DataFrame) -> pd.DataFrame:
    """Return record-level epsilons: a row a reading, a column a p."""
    records = privacy[(privacy["unit"] == "record") & (privacy["mechanism"] == "rr_independent")]
    return records.pivot_table(index="matrix", columns="p", values="exact_epsilon", sort=False)


def _inline(svg: str) -> str:
    # The prologue belongs to a file of its own, not to the middle of a page.
    return svg[svg.index("<svg") :]
