"""The page that people read: complete, self-contained, honest about its data."""

import dataclasses
import html.parser
import itertools
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from deniable.config import release_from
from deniable.dependence import dependences
from deniable.figures import printed_against_regenerated, save
from deniable.microdata import Microdata
from deniable.multirr_audit import (
    audit_multirr,
    audit_release_samplers,
    clusters_table,
)
from deniable.provenance import run_facts
from deniable.release import (
    check_against_truth,
    coverage_of_redraws,
    describe,
    design,
    estimate,
    protect,
    source_for,
)
from deniable.report import SIGN, Contents, layout, render, short
from deniable.sources import Source
from deniable.studies.registry import CLUSTER_QUERY_KEYS
from deniable.studies.threshold_trend import threshold_trend
from deniable.study import agreement

GRID = [(0.1, 0.3, 0.5, 0.7), (0.1, 0.2, 0.3), (50, 100, 300), ("joint", "kronecker")]


def results(dataset: str, surrogate: bool = False) -> pd.DataFrame:
    """Return a table of all 72 cells; every value is one of its own."""
    rows = []
    for number, (p, t_d, t_v, mechanism) in enumerate(itertools.product(*GRID)):
        value = 0.1 + number / 1000
        verdict = "agrees" if number % 3 else "differs"
        key = (dataset, "printed", mechanism, "clip", p, t_d, t_v)
        row = (0.5 + number // 2 / 1000, value, value - 0.01, value + 0.01, 50)
        rows.append((*key, *row, *(("surrogate",) * 2 if surrogate else ("original", verdict))))
    columns = [*CLUSTER_QUERY_KEYS, "published", "regenerated", "ci_low", "ci_high", "replicates"]
    return pd.DataFrame(rows, columns=[*columns, "data_source", "verdict"])


@pytest.fixture(scope="module")
def contents(small_data: Microdata, tmp_path_factory: pytest.TempPathFactory) -> Contents:
    return contents_of(small_data, tmp_path_factory.mktemp("figures"), surrogate=False)


@pytest.fixture(scope="module")
def of_surrogate(small_data: Microdata, tmp_path_factory: pytest.TempPathFactory) -> Contents:
    return contents_of(small_data, tmp_path_factory.mktemp("figures"), surrogate=True)


def contents_of(data: Microdata, folder: Path, *, surrogate: bool) -> Contents:
    kind = "surrogate" if surrogate else "original"
    tables = {
        "multirr_table1": results("adult", surrogate),
        "multirr_table2": results("adult6", surrogate),
        "multirr_sensitivity": results("adult", surrogate).assign(matrix="keep").iloc[:6],
    }
    figures = {}
    for name in ("multirr_table1", "multirr_table2"):
        figure = printed_against_regenerated(tables[name], name)
        save(figure, folder / f"{name}.svg", folder / f"{name}.png")
        figures[name] = (folder / f"{name}.svg").read_text(encoding="utf-8")
    release = release_from(
        {"name": "tried", "data": "adult", "mechanism": "rr_clusters", "matrix": "keep", "p": 0.6}
        | {"cluster_mechanism": "joint", "t_v": 12, "t_d": 0.05, "rehearsal": True}
    )
    protocol = design(release, data)
    estimates = estimate(protocol, protect(release, protocol, data, source_for(release, 1)))
    coverage = coverage_of_redraws(protocol, data, np.random.default_rng(1), redraws=20)
    measured = dependences(data)
    description = describe(release, protocol, kind)
    clusters = clusters_table(data.domain, measured, [50, 100, 300], [0.1, 0.2, 0.3])
    printed = pd.concat([tables["multirr_table1"], tables["multirr_table2"]])
    by = ["dataset", "matrix", "mechanism", "projection"]
    return Contents(
        results=tables,
        figures=figures,
        agreement=agreement(pd.concat(tables.values()), by),
        clusters=clusters,
        dependences=measured,
        trend=threshold_trend(printed, clusters).astype({"p": float}),
        privacy=audit_multirr(data.domain, measured, [0.1, 0.7], [12], [0.05]),
        samplers=audit_release_samplers(description, 1, draws=2000),
        releases=[description],
        estimates={"tried": estimates},
        checks={"tried": check_against_truth(estimates, data, coverage)},
        sources=[Source("adult", kind, "0" * 64, "mirror", "because")],  # type: ignore[arg-type]
        findings="# Findings\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n**bold** finding",
        facts=run_facts(),
        seed=1,
        config="seed: 1\n",
    )


class Page(html.parser.HTMLParser):
    """Collects elements with their attributes, and checks that they are closed."""

    VOID = ("meta", "link", "br", "hr", "img", "input", "col")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        while self.open.pop() != tag:
            assert tag not in ("table", "tr", "td", "div", "figure", "details"), tag


@pytest.fixture(scope="module")
def page(contents: Contents) -> str:
    return render(contents)


def test_nothing_is_fetched(page: str) -> None:
    loading = ("src", "href", "xlink:href", "action", "data", "poster", "srcset")
    for tag, attributes in Page(page).elements:
        assert tag not in ("script", "link", "iframe", "object", "embed", "base"), tag
        for name in loading:
            value = attributes.get(name) or ""
            assert not re.match(r"(?i)\s*(https?:|//|file:|/)", value), (tag, name, value)
    assert "@import" not in page
    assert "@font-face" not in page
    for inside in re.findall(r"url\(([^)]*)\)", page):
        assert inside.strip("\"' ").startswith("#"), inside


def test_links_within_the_page_lead_somewhere(page: str) -> None:
    elements = Page(page).elements
    ids = {attributes.get("id") for _, attributes in elements}
    inner = {
        attributes["href"][1:]
        for tag, attributes in elements
        if tag == "a" and (attributes.get("href") or "").startswith("#")
    }
    assert inner
    assert inner <= ids


def test_all_72_cells_of_both_tables_are_there_with_sign_and_colour(
    page: str, contents: Contents
) -> None:
    for name in ("multirr_table1", "multirr_table2"):
        part = page.split(f'<h2 id="{name}">')[1].split("<details>", maxsplit=1)[0]
        cells = re.findall(r'<td class="(agrees|differs)" title="[^"]*">([\d.]+) (.)</td>', part)
        expected = [
            (row["verdict"], f"{row['regenerated']:.3f}", SIGN[row["verdict"]])
            for row in contents.results[name].to_dict("records")
        ]
        assert len(cells) == 72
        assert sorted(cells) == sorted(expected)
        printed = re.findall(r'<td class="group">([\d.]+)</td>', part)
        assert len(printed) == 36
        assert set(printed) == {f"{v:.3f}" for v in contents.results[name]["published"]}


@pytest.mark.parametrize("verdict", ["agrees", "differs", "not printed", "surrogate"])
def test_every_verdict_has_a_sign_of_its_own(verdict: str) -> None:
    assert SIGN[verdict].strip()
    assert len(set(SIGN.values())) == len(SIGN)


def test_the_banner_stands_on_surrogate_data_and_only_there(
    page: str, of_surrogate: Contents
) -> None:
    assert "SURROGATE DATA" not in page
    assert 'class="banner"' not in page
    surrogate = render(of_surrogate)
    assert surrogate.count('<div class="banner" role="alert">SURROGATE DATA') == 1
    assert "agrees</td>" not in surrogate
    assert "because" in surrogate
    assert "because" not in page


def test_values_are_escaped(contents: Contents) -> None:
    evil = "<script>alert(1)</script>&\"'"
    releases = [dict(contents.releases[0], notice=evil)]
    estimates = {"tried": contents.estimates["tried"].assign(categories=evil)}
    changed = dataclasses.replace(
        contents,
        releases=releases,
        estimates=estimates,
        clusters=contents.clusters.assign(cluster=evil, attributes=2),
        dependences=contents.dependences.assign(attribute_1=evil),
        samplers=contents.samplers.assign(release=evil),
        config=evil,
        findings=evil,
    )
    page = render(changed)
    assert "<script" not in page
    assert page.count("&lt;script&gt;") >= 6
    Page(page)


def test_the_findings_are_set_as_text_with_tables(page: str) -> None:
    part = page.split('<h2 id="findings">')[1].split("<h2", maxsplit=1)[0]
    assert "<strong>bold</strong>" in part
    assert "<td>1</td>" in part


def test_the_run_is_described(page: str, contents: Contents) -> None:
    part = page.split('<h2 id="run">')[1]
    assert "0" * 64 in part
    for name, version in contents.facts.items():
        assert name in part
        assert version in part
    assert "seed: 1" in part


def test_the_same_contents_give_the_same_page(page: str, contents: Contents) -> None:
    assert render(contents) == page


def test_a_run_without_releases_and_printed_numbers_has_a_page(contents: Contents) -> None:
    changed = dataclasses.replace(
        contents,
        releases=[],
        estimates={},
        checks={},
        samplers=contents.samplers.iloc[:0],
        agreement=contents.agreement.iloc[:0],
    )
    assert "The config names none." in render(changed)


def test_broken_claims_are_listed(page: str, contents: Contents) -> None:
    broken = int((~contents.privacy["holds"]).sum())
    assert broken
    part = page.split("Claims that do not hold")[1].split("Samplers against", maxsplit=1)[0]
    assert part.count("✗</td>") == broken


def test_layout_is_that_of_the_paper() -> None:
    grid = layout(results("adult"))
    assert grid["sizes"] == [50, 100, 300]
    assert grid["mechanisms"] == ["joint", "kronecker"]
    assert [(row["p"], row["t_d"]) for row in grid["rows"]] == list(
        itertools.product(GRID[0], GRID[1])
    )
    assert [row["first"] for row in grid["rows"]] == [True, False, False] * 4
    cell = grid["rows"][4]["cells"][2][1]
    assert (cell["p"], cell["t_d"], cell["t_v"], cell["mechanism"]) == (0.3, 0.2, 300, "kronecker")


@pytest.mark.parametrize(
    ("value", "text"), [(np.float64(0.1), "0.100"), (1234.5, "1.23e+03"), (np.nan, "–"), (3, "3")]
)
def test_short_numbers(value: Any, text: str) -> None:
    assert short(value) == text
