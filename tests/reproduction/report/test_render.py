"""The page that people read: complete, self-contained, honest about its data."""

import dataclasses
import html
import html.parser
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.reproduction.report.reading import Read, parsed, section, words
from tests.slow_variants import slow

from deniable.display import percent
from deniable.display.page import short
from deniable.files import write_table, write_text
from deniable.plans import KINDS
from deniable.records.categorical import Microdata

from reproduction.papers.catalog import (
    AUDITS,
    COMPUTED_TABLES,
    DRAWN_BY,
    FIGURES,
    MADE_BY,
    PAGES,
    TABLES,
)
from reproduction.papers.pram.in_short import INVARIANT
from reproduction.report import own_sections, render as report
from reproduction.report.contents import Contents, ReleaseFiles, gather
from reproduction.report.render import render
from reproduction.study import SIGN
from reproduction.study.pages import Page

ROOT = Path(__file__).resolve().parents[3]
SECTIONS = [section for page in PAGES for section in page.sections]


@pytest.fixture(scope="module")
def page(contents: Contents) -> str:
    return render(contents)


@pytest.fixture(scope="module")
def surrogate_page(of_surrogate: Contents) -> str:
    return render(of_surrogate)


def without(contents: Contents, *names: str) -> Contents:
    tables = {name: table for name, table in contents.tables.items() if name not in names}
    return dataclasses.replace(contents, tables=tables)


class Asked(dict[str, pd.DataFrame]):
    """Tables that remember which of them somebody asked for."""

    def __init__(self, tables: Mapping[str, pd.DataFrame]) -> None:
        super().__init__(tables)
        self.names: set[Any] = set()

    def __contains__(self, name: object) -> bool:
        self.names.add(name)
        return super().__contains__(name)

    def __getitem__(self, name: str) -> pd.DataFrame:
        self.names.add(name)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self.names.add(name)
        return super().get(name, default)

    def items(self) -> Any:
        self.names.update(self)
        return super().items()


@contextmanager
def only(sections: Iterable[Any]) -> Iterator[None]:
    """Have pages with some sections and no others."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report, "PAGES", (Page("some", "Some", "Some", tuple(sections)),))
        yield


@pytest.fixture(scope="module")
def read_by(contents: Contents) -> dict[str, set[str]]:
    """Return the tables that each section asks for."""
    found = {}
    for each in SECTIONS:
        tables = Asked(contents.tables)
        with only([each]):
            render(dataclasses.replace(contents, tables=tables, figures={}))
        found[each.id] = tables.names
    return found


def alone(contents: Contents, name: str) -> str:
    """Fill one section."""
    with only(each for each in SECTIONS if each.id == name):
        return section(render(contents), name)


def of_readers(
    contents: Contents, read_by: Mapping[str, set[str]], name: str, table: pd.DataFrame | None
) -> tuple[str, list[str]]:
    """Fill the sections that read a table, with another in its place or none.

    Returns the page, without pictures, and the sections that should be on it.
    """
    tables = {each: t for each, t in contents.tables.items() if each != name}
    tables |= {} if table is None else {name: table}
    sections = [each for each in SECTIONS if name in read_by[each.id]]
    with only(sections):
        page = render(dataclasses.replace(contents, tables=tables, figures={}))
    return page, [each.id for each in sections if set(each.needs) <= set(tables)]


# -- as a file: whole, self-contained, reachable ---------------------------------------------------


def test_nothing_is_fetched(page: str) -> None:
    loading = ("src", "href", "xlink:href", "action", "data", "poster", "srcset")
    for tag, attributes in parsed(page).elements:
        assert tag not in ("script", "link", "iframe", "object", "embed", "base"), tag
        for name in loading:
            value = attributes.get(name) or ""
            assert not re.match(r"(?i)\s*(https?:|//|file:|/)", value), (tag, name, value)
    assert "@import" not in page
    assert "@font-face" not in page
    for inside in re.findall(r"url\(([^)]*)\)", page):
        assert inside.strip("\"' ").startswith("#"), inside


def test_every_id_is_there_once_and_links_within_the_page_lead_to_one(page: str) -> None:
    elements = parsed(page).elements
    ids = [attributes["id"] for _, attributes in elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    inner = {
        str(attributes.get(name))[1:]
        for _, attributes in elements
        for name in ("href", "xlink:href", "aria-labelledby")
        if str(attributes.get(name) or "").startswith("#")
    }
    assert inner
    assert inner <= set(ids)
    assert {value.strip("\"' ")[1:] for value in re.findall(r"url\(([^)]*)\)", page)} <= set(ids)


def test_links_to_files_lead_to_what_a_run_leaves_or_to_the_code(
    page: str, run_folder: Path
) -> None:
    made = {f"tables/{name}.csv" for name in [*TABLES, *COMPUTED_TABLES]}
    made |= {"audit/privacy.csv", "audit/samplers.csv"}
    made |= {str(each.relative_to(run_folder)) for each in run_folder.glob("estimates/*/*")}
    for attributes, _ in parsed(page).all("a"):
        target = str(attributes["href"])
        if target.startswith("../"):
            assert (ROOT / target.removeprefix("../")).is_file(), target
        elif not target.startswith("#"):
            assert target in made, target


def test_tables_and_pictures_can_be_scrolled_on_a_narrow_screen_with_keys(page: str) -> None:
    read = parsed(page)
    for tag in ("table", "svg"):
        for attributes, above in read.all(tag):
            # The findings are text with, now and then, a small table.
            assert "div scroll" in above or tag == "table", attributes
    for attributes, _ in read.all("div"):
        if attributes.get("class") == "scroll":
            assert attributes["tabindex"] == "0"
            assert attributes["aria-label"]
    outside = [a for a, above in read.all("table") if "div scroll" not in above]
    # The first page has room for its own, and so have findings.
    assert outside == [{"class": "papers"}, {}]


def test_regions_and_columns_have_names_of_their_own(page: str) -> None:
    labels = [a["aria-label"] for a, _ in parsed(page).all("div") if a.get("role") == "region"]
    assert sorted({str(label) for label in labels}) == sorted(map(str, labels))
    assert not re.search(r"<th[^>]*>\s*</th>", page)


def test_pictures_say_what_they_show(page: str) -> None:
    labels = [a["alt"] for a, _ in parsed(page).all("img")]
    assert sorted(str(label) for label in labels) == sorted(
        figure.shows for figure in FIGURES.values()
    )


def test_headings_have_no_gaps(page: str) -> None:
    levels = [int(tag[1]) for tag, _ in parsed(page).elements if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(later - earlier <= 1 for earlier, later in itertools.pairwise(levels))


def test_the_same_contents_give_the_same_page(page: str, contents: Contents) -> None:
    assert render(contents) == page


def test_values_are_escaped(contents: Contents) -> None:
    evil = "<script>alert(1)</script>&\"'"
    tables = dict(contents.tables)
    for name, column in (
        ("multirr_clusters", "cluster"),
        ("multirr_dependences", "attribute_1"),
        ("samplers", "release"),
        ("multirr_claims", "printed"),
        ("multirr_claims", "figure"),
        ("multirr_secure_sum_faults", "fault"),
        ("multirr_linkage", "category"),
        ("multirr_waiver", "trust"),
        ("multirr_accuracy", "added"),
        ("pram_results", "figure"),
        ("pram_coverage", "category"),
        ("pram_variance", "attribute"),
        ("pram_whole_file", "attribute"),
        ("pram_intruder", "category"),
        ("pram_worst_sets", "members"),
        ("pram_design", "requirements"),
        ("pram_channels", "reported"),
    ):
        said = tables[name][column].astype(str)
        said = said.where(said == "every category", evil + said)  # what pages look for stays
        tables[name] = tables[name].assign(**{column: said})
    tables["multirr_clusters"] = tables["multirr_clusters"].assign(attributes=2)
    release = contents.releases[0]
    document, margins = release.document, release.tables["margins"]
    changed = dataclasses.replace(
        contents,
        tables=tables,
        releases=[
            dataclasses.replace(
                release,
                document={**document, "release": {**document["release"], "notice": evil}},
                tables={**release.tables, "margins": margins.assign(value=evil)},
            )
        ],
        config=evil,
        findings=evil,
    )
    page = render(changed)
    assert "<script" not in page
    assert page.count("&lt;script&gt;") >= 12
    parsed(page)


# -- every section ---------------------------------------------------------------------------------


def test_every_section_is_there_in_order_and_in_the_list_of_contents(page: str) -> None:
    names = [each.id for each in SECTIONS]
    assert re.findall(r'<h2 id="([^"]*)">', page) == names
    listed = page.split("<nav")[1].split("</nav>", maxsplit=1)[0]
    assert re.findall(r'href="#([^"]*)"', listed) == names


@pytest.mark.parametrize("each", SECTIONS, ids=lambda each: each.id)
def test_a_section_says_where_its_numbers_are_and_which_file_computes_them(
    page: str, each: Any
) -> None:
    part = section(page, each.id)
    for name in each.needs:
        assert f"{folder_of(name)}/{name}.csv" in part
        assert MADE_BY[name] in part


@pytest.mark.parametrize("name", [*TABLES, *COMPUTED_TABLES, "privacy", "samplers"])
def test_every_table_stands_on_the_page_with_its_code(page: str, name: str) -> None:
    assert f'href="{folder_of(name)}/{name}.csv"' in page
    assert (ROOT / MADE_BY[name]).is_file()


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_stands_on_the_page_with_its_code(page: str, name: str) -> None:
    assert f'<figure id="figure-{name}">' in page
    assert (ROOT / DRAWN_BY[name]).is_file()
    caption = page.split(f'<figure id="figure-{name}">')[1].split("</figcaption>", maxsplit=1)[0]
    assert len(words(caption.split("<figcaption>")[1])) > 100


def folder_of(table: str) -> str:
    return "audit" if table in AUDITS else "tables"


ALL_TABLES = sorted([*TABLES, *COMPUTED_TABLES, "privacy", "samplers"])
FIRST_OF_PAPERS = {name.partition("_")[0]: name for name in reversed(ALL_TABLES)}


@pytest.mark.parametrize(
    "name", [name if name in FIRST_OF_PAPERS.values() else slow(name) for name in ALL_TABLES]
)
def test_a_missing_table_leaves_its_section_out_and_nothing_else(
    contents: Contents, page: str, read_by: dict[str, set[str]], name: str
) -> None:
    named = {each.id for each in SECTIONS if f"/{name}.csv" in section(page, each.id)}
    assert named <= {each for each, names in read_by.items() if name in names}
    without_it, shown = of_readers(contents, read_by, name, None)
    assert re.findall(r'<h2 id="([^"]*)">', without_it) == shown
    inner = {a["href"] for a, _ in Read(without_it).all("a") if str(a["href"]).startswith("#")}
    assert inner <= {f"#{each}" for each in ["top", *shown]}
    assert f"/{name}.csv" not in without_it


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("multirr_fig2", "estimator == 'rr_independent'"),
        ("multirr_fig3", "best == 'paper'"),
        slow("multirr_fig3", "method == 'rr_clusters'"),
        slow("multirr_adjustment", "measure == 'sweeps'"),
        slow("multirr_pairs", "estimator == 'pair_likelihood'"),
        slow("multirr_assessment", "method == 'pairs_joint'"),
        slow("multirr_assessment", "measure == 'spearman' or t_v == 50"),
        slow("multirr_attributes", "t_v == 50"),
        slow("multirr_attributes", "t_v == 1"),
        slow("multirr_risk", "mechanism == 'rr_independent' or t_v == 6"),
        ("multirr_secure_sum", "parties == 20"),
        slow("multirr_linkage", "attribute == 'any'"),
        slow("multirr_order", "measure == 'cramers_v'"),
        ("privacy", "source == 'rrba'"),
        slow("multirr_audit", "p == 0.1"),
        slow("multirr_table1", "t_v == 50 and mechanism == 'joint'"),
        ("pram_coverage", "channel == 'neighbours'"),
        slow("pram_weights", "design == 'stratified'"),
        ("pram_item_sets", "epsilon == 2 and size == 1"),
        slow("pram_item_sets", "epsilon == 2 or size == 1"),
        slow("pram_variance", "epsilon == 6"),
        slow("pram_whole_file", "mechanism != 'invariant_lazy'"),
        slow("pram_invariant", "method == 'resampling'"),
        slow("pram_invariant", "method == 'resampling' and estimator == 'shares'"),
        slow("pram_invariant", "method == 'two_step_fixed'"),
        slow("pram_invariant", "method == 'two_step_fixed' and claim != 'conditional'"),
        slow("pram_invariant", "records == 1000 and p == 0.7"),
        slow("pram_joint_loss", "epsilon == 1"),
        slow("pram_breach_bounds", "epsilon == 1"),
        slow("pram_breach_thresholds", "categories == 5"),
        slow("pram_approach", "side == 'largest' and mass == 0.9"),
        slow("pram_intruder", "p == 0.5"),
        slow("pram_worst_sets", "rho_1 == 0.01"),
        ("pram_design", "epsilon == 1"),
    ],
)
def test_what_a_config_does_not_ask_for_is_not_missed(
    contents: Contents, read_by: dict[str, set[str]], name: str, rows: str
) -> None:
    table = contents.tables[name].query(rows)
    assert len(table)
    page, shown = of_readers(contents, read_by, name, table)
    assert re.findall(r'<h2 id="([^"]*)">', page) == shown
    assert " nan" not in words(page)


def test_a_missing_figure_leaves_its_caption_out(contents: Contents) -> None:
    kept = {name: svg for name, svg in contents.figures.items() if name != "multirr_pairs"}
    page = render(dataclasses.replace(contents, figures=kept))
    assert "figure-multirr_pairs" not in page
    assert page.count("<figure") == page.count("<figcaption") == len(kept)


def test_a_run_without_tables_has_a_page(contents: Contents) -> None:
    page = render(dataclasses.replace(contents, tables={}, figures={}))
    assert re.findall(r'<h2 id="([^"]*)">', page) == [e.id for e in SECTIONS if not e.needs]


def test_without_the_table_of_claims_nothing_is_said_of_them(contents: Contents, page: str) -> None:
    without_them = render(without(contents, "multirr_claims"))
    assert '<h2 id="multirr_claims">' not in without_them
    assert 'href="#multirr_claims"' not in section(without_them, "glance")
    assert 'href="#multirr_claims"' in section(page, "glance")


def test_a_run_without_releases_and_printed_numbers_has_a_page(contents: Contents) -> None:
    emptied = ("samplers", "multirr_agreement", "multirr_threshold_trend")
    tables = {name: contents.tables[name].iloc[:0] for name in emptied}
    page = render(
        dataclasses.replace(
            contents,
            releases=[],
            tables=dict(contents.tables) | tables,
        )
    )
    assert "The configuration has no releases." in page
    assert "There are no releases to test." in page


# -- tables as the paper prints them ---------------------------------------------------------------


def test_all_72_cells_of_both_tables_are_there_with_sign_and_colour(
    page: str, contents: Contents
) -> None:
    for name in ("multirr_table1", "multirr_table2"):
        part = section(page, name).split("<details>", maxsplit=1)[0]
        cells = re.findall(r'<td class="(agrees|differs)" title="[^"]*">\s([\d.]+) (.)</td>', part)
        expected = [
            (row["verdict"], f"{row['regenerated']:.3f}", SIGN[row["verdict"]])
            for row in contents.tables[name].to_dict("records")
        ]
        assert len(cells) == 72
        assert sorted(cells) == sorted(expected)
        printed = re.findall(r'<td class="group">([\d.]+)</td>', part)
        assert len(printed) == 36
        assert set(printed) == {f"{v:.3f}" for v in contents.tables[name]["published"]}


@pytest.mark.parametrize("verdict", SIGN)
def test_every_verdict_has_a_sign(verdict: str) -> None:
    assert SIGN[verdict].strip()
    assert not SIGN[verdict].isalnum()  # a bare letter says nothing


@pytest.mark.parametrize(
    "kind",
    [
        ("agrees", "differs", "surrogate"),
        ("holds", "fails", "undecided", "depends on the interpretation"),
        ("holds", "fails", "no amount stated", "better than published", "our finding"),
    ],
)
def test_verdicts_are_told_apart_without_colours(page: str, kind: tuple[str, ...]) -> None:
    assert len({SIGN[verdict] for verdict in kind}) == len(kind)
    for verdict in kind:
        for cell in re.findall(rf'<td class="[^"]*\b{verdict}\b[^"]*"[^>]*>(.*?)</td>', page):
            assert SIGN[verdict] in cell, cell


def test_what_is_said_on_hovering_can_also_be_read(page: str) -> None:
    for name in ("multirr_table1", "multirr_table2"):
        part = section(page, name)
        titles = re.findall(r'title="([^"]*)"', part)
        below = words(part.split("<details>", maxsplit=1)[1])
        assert titles
        for title in titles:
            numbers = re.findall(r"0\.\d{3}|[\d.]+ %", title.replace("95 %", ""))
            assert all(number in below for number in numbers), title


# -- claims in words -------------------------------------------------------------------------------


def test_claims_are_a_row_a_sentence_with_their_readings_below(page: str) -> None:
    said, details = section(page, "multirr_claims").split("<details>", maxsplit=1)
    rows = [re.findall(r"<td.*?</td>", row, re.DOTALL) for row in said.split("<tr")[2:]]
    assert [words(row[0]).strip() for row in rows] == [
        f"{claim} grows with Tv &lt;b&gt; section 6.5, Table 1"
        for claim in ("gain", "best", "trend")
    ]
    assert [" ".join(words(row[2]).split()) for row in rows] == [
        "✓ holds(2 hold, 0 fail of 2 interpretations)",
        "≠ depends on the interpretation(1 hold, 1 fail of 3 interpretations)",
        "✗ fails",
    ]
    below = [re.findall(r"<td.*?</td>", row, re.DOTALL) for row in details.split("<tr")[2:]]
    verdicts = [" ".join(words(row[-5]).split()) for row in below]
    assert verdicts[0] == verdicts[1] == "✓ holds"
    assert "? undecided least supported: 0.5" in verdicts[3]
    assert "RR-Clusters below RR-Independent at σ = .1" in words(details)


def test_claims_are_summed_up(page: str) -> None:
    row = words(section(page, "glance")).split("Multi-dimensional RR [multirr]")[1]
    assert "✓ 1 holds ✗ 1 fails ≠ 1 depends" in row.split("PRAM [pram]")[0]
    said = " ".join(words(section(page, "multirr_claims")).split())
    assert "Of 3 sentences 1 holds, 1 fails and 1 depends on the interpretation" in said


# -- surrogate data --------------------------------------------------------------------------------


def test_the_banner_stands_on_surrogate_data_and_only_there(page: str, surrogate_page: str) -> None:
    assert "SURROGATE DATA" not in page.replace("SURROGATE DATA: records drawn", "", 0)
    assert 'class="banner"' not in page
    assert surrogate_page.count('<div class="banner" role="alert">SURROGATE DATA') == 1
    assert "because" in surrogate_page
    assert "because" not in words(section(page, "run"))


def test_sentences_on_trends_stand_apart(page: str) -> None:
    said = words(section(page, "clusters")).partition("independent replicates?")[2]
    assert re.match(r" adult: they do[^.]*\([^)]*\)[^.]*\. adult6: they do", said)


def test_no_verdict_is_given_on_surrogate_data(surrogate_page: str) -> None:
    page = surrogate_page
    for name in ("multirr_table1", "multirr_table2", "readings"):
        part = section(page, name)
        assert not re.search(r'<td class="[^"]*(agrees|differs)', part), name
    claims = section(page, "multirr_claims").split("<thead>", maxsplit=1)[1]
    assert not re.search(r'class="[^"]*(holds|fails|undecided|depends)', claims)
    assert "no verdict" in words(claims)
    glance = words(section(page, "glance"))
    assert "It gives no verdicts" in glance
    assert "Privacy: what is claimed" not in glance
    assert glance.count("no verdict on surrogate data") >= 5


def test_no_sign_of_a_verdict_is_on_surrogate_data_in_any_section(
    page: str, surrogate_page: str
) -> None:
    """No section is left out, also if it rests on no data."""
    names = "agrees|differs|holds|fails|undecided|depends|fitted|better|stated|our"
    looks = rf'class="[^"]*\b({names})\b'
    marked = "".join({*SIGN.values()} - {"–", "?"})
    assert re.search(looks, page)
    assert re.search(f"[{marked}]", words(page))
    assert not re.search(looks, surrogate_page)
    assert not re.search(f"[{marked}]", words(surrogate_page))
    assert not re.search(r"<td[^>]*>\s*[a-z]\s*</td>", section(surrogate_page, "multirr_table1"))


# -- the other sections ----------------------------------------------------------------------------


def test_an_attribute_is_shown_under_every_reading(page: str, contents: Contents) -> None:
    part = words(section(page, "about"))
    assert "the attribute colour with 3 categories, at p = 0.7" in part
    keep = contents.tables["multirr_propagation"].query(
        "attribute == 'colour' and reading == 'keep' and p == 0.7"
    )
    assert keep["diagonal_weight"].iloc[0] == pytest.approx(0.7)
    assert (
        "80.0 % 10.0 %" in re.sub(r"otherwise a random category ?", "", part)
        or "80.0 %10.0 %" in part
    )
    assert "of the 6 cells of colour and smokes, a query with σ = 0.3 contains 2" in part


def test_example_1_is_shown_in_fractions(page: str) -> None:
    part = section(page, "adjustment")
    for fraction in ("1/12", "(2/3, 1/3)", "3/32", "1/84"):
        assert fraction in part, fraction
    assert words(part).count("✓ agrees") == 5
    assert "the value that λ₂ takes is that of π̂²" in words(part)


def test_bounds_are_shown_with_records_per_cell(page: str) -> None:
    part = " ".join(words(section(page, "bounds")).split())
    assert "records per cell" in part
    assert "10.4" in part  # 500 records in 48 cells
    assert "order preserved" in part


def test_the_secure_sum_is_beside_its_formula(page: str) -> None:
    part = words(section(page, "assessment"))
    assert "counts are exact" in part
    assert "4,800" in part  # 12 cells x 20 x 20
    assert "exact ε" in part


def test_the_page_on_privacy_is_a_view_of_the_one_audit(page: str, contents: Contents) -> None:
    part = section(page, "audit")
    audited = contents.tables["privacy"]
    assert audited["fail"].gt(0).any()
    every = "".join(each.split("</details>")[0] for each in part.split("<details>")[1:])
    assert every.count("✗</td>") == audited["fail"].gt(0).sum()
    assert every.count("✓</td>") == (audited["hold"] == audited["cases"]).sum()
    for source in ("multirr", "pram", "idp", "rrba", "protocols", "releases"):
        assert f'<h3 id="audit-{source}">' in part


def test_all_rows_of_the_account_of_risk_are_there(page: str, contents: Contents) -> None:
    rows = section(page, "risk").split("<details>")[1].count("<tr")
    assert rows == len(contents.tables["multirr_risk"]) + 1


def test_numbered_results_are_shown_with_their_verdicts(page: str, contents: Contents) -> None:
    part = section(page, "pram_results")
    table = contents.tables["pram_results"]
    assert len(re.findall(r'<td class="l holds">✓ holds</td>', part)) == len(table)
    assert f"{len(table)} of {len(table)} results hold" in words(part)
    assert f"✓ {len(table)} hold" in words(section(page, "glance"))


def test_a_numbered_result_that_fails_is_marked(contents: Contents) -> None:
    table = contents.tables["pram_results"]
    broken = table.assign(verdict=["fails", *table["verdict"][1:]])
    tables = contents.tables | {"pram_results": broken}
    part = alone(dataclasses.replace(contents, tables=tables), "pram_results")
    assert f"{len(table) - 1} of {len(table)} results hold." in words(part)
    assert part.count('<td class="l fails">✗ fails</td>') == 1


def test_only_what_rests_on_no_data_has_a_verdict_under_pram(
    page: str, surrogate_page: str
) -> None:
    (page_of_pram,) = (each for each in PAGES if each.id == "pram")
    for each in page_of_pram.sections:
        for shown in (page, surrogate_page):
            coloured = re.search(
                r'class="[^"]*(agrees|differs|holds|fails)', section(shown, each.id)
            )
            expected = each.id == "pram_results" and shown is page
            assert bool(coloured) == expected, each.id


def test_what_an_invariant_matrix_gives_away_is_said_with_numbers(
    page: str, contents: Contents
) -> None:
    part = " ".join(words(section(page, "pram_variance")).split())
    made = contents.tables["pram_whole_file"].query("mechanism != 'resampling'")
    assert "Invariant PRAM is not differentially private at the ε of its matrix." in part
    for epsilon in made["whole_file_epsilon"]:
        assert short(epsilon) in part
    for mechanism in INVARIANT:
        own = len(made.query("mechanism == @mechanism"))
        assert f"in {own} of {own} cases with {INVARIANT[mechanism]}" in html.unescape(part)
    worst = made["whole_file_epsilon"].max()
    assert f"→ {short(worst)}" in words(section(page, "glance"))


def test_printed_cells_are_said_to_have_the_runs_that_they_have(contents: Contents) -> None:
    tables = dict(contents.tables)
    tables["pram_coverage"] = tables["pram_coverage"].assign(replicates=123_456)
    part = words(alone(dataclasses.replace(contents, tables=tables), "glance"))
    assert "up to 50 replicates per number" in part


def test_a_design_that_is_worse_is_not_passed_over(page: str, contents: Contents) -> None:
    table = contents.tables["pram_design"]
    (worse,) = (table["generalized_rr"] / table["designed"]).loc[lambda ratio: ratio < 1]
    assert f"{worse:g}" in words(section(page, "pram_design"))
    assert "closed form in 2 of 3 comparisons" in words(section(page, "glance"))


def of_release(part: str, name: str) -> str:
    """Return what is said of one release."""
    return part.split(f"<h3>{name}</h3>")[1].split("<h3>", maxsplit=1)[0]


def read(part: str) -> str:
    """Return the words of a part as they are read, without escapes."""
    return html.unescape(words(part))


def named(contents: Contents, name: str) -> ReleaseFiles:
    (found,) = (each for each in contents.releases if each.document["release"]["name"] == name)
    return found


def shown(contents: Contents, release: ReleaseFiles) -> str:
    """Return the section on a run with one release."""
    return alone(dataclasses.replace(contents, releases=[release]), "releases")


def test_every_kind_of_plan_is_shown_with_its_guarantees(page: str, contents: Contents) -> None:
    part = section(page, "releases")
    assert {each.document["kind"] for each in contents.releases} == set(KINDS)
    for each in contents.releases:
        plan, release = each.document, each.document["release"]
        said = read(of_release(part, release["name"]))
        assert f"kind “{plan['kind']}”, {release['records']} protected rows" in said
        for guarantee in plan["guarantees"]:
            exact = guarantee["epsilon"]
            number = "infinite" if isinstance(exact, str) else f"{exact:.3f}"
            assert f"{number} for {guarantee['unit']}" in said
            assert all(condition in said for condition in guarantee["conditions"])
        assert all(sentence in said for sentence in plan["not_covered"])


def test_a_part_of_the_respondents_and_replicas_are_named(page: str, contents: Contents) -> None:
    part = section(page, "releases")
    assert "part 1 of 2 of the respondents" in read(of_release(part, "tried"))
    assert "of the respondents;" not in read(of_release(part, "by_owner"))
    assert "repeat a setting of a paper" in read(part)
    assert "repeat a setting" not in read(shown(contents, named(contents, "tried")))


def test_test_releases_are_marked_and_productions_show_no_comparison(
    page: str, contents: Contents
) -> None:
    part = section(page, "releases")
    for each in contents.releases:
        said = read(of_release(part, each.document["release"]["name"]))
        assert each.document["release"]["notice"] in said
        assert "TEST RELEASE" in said
    for name in ("tried", "histograms", "collected"):
        each = named(contents, name)
        block = {**each.document["release"], "mode": "production", "notice": "drawn once"}
        kept = {key: table for key, table in each.tables.items() if key != "check"}
        real = ReleaseFiles({**each.document, "release": block}, kept)
        said = read(shown(contents, real))
        assert "drawn once" in said
        assert "TEST RELEASE" not in said
        assert "intervals, checked" not in said
        assert "distance from the original" not in said


def test_data_of_a_release_are_named(contents: Contents) -> None:
    each = named(contents, "tried")
    block = {**each.document["release"], "data_source": "surrogate"}
    assert "data: surrogate" in read(
        shown(contents, ReleaseFiles({**each.document, "release": block}, each.tables))
    )
    assert "data: published" in read(shown(contents, each))


def test_what_fails_of_a_release_stands_by_its_notice(page: str, contents: Contents) -> None:
    part = section(page, "releases")
    (files,) = (files for files in contents.releases if files.document["risks"])
    release = files.document["release"]
    beside = of_release(part, release["name"]).split("<dl>")[0]
    assert release["notice"] in read(beside)
    assert list(files.document["risks"]) == ["no_epsilon_for_records", "original_values_released"]
    for name, why in files.document["risks"].items():
        assert f"✗ {name.replace('_', ' ')} {why}." in read(beside)
    # Of the others nothing fails.
    assert part.count('class="failing"') == 1


def test_shares_of_exact_cells_are_on_no_page(page: str, contents: Contents) -> None:
    assert not any("exact_cells" in files.tables for files in contents.releases)
    assert "exact_cells" not in page


def test_a_check_shows_coverage_and_distances(page: str, contents: Contents) -> None:
    part = section(page, "releases")
    for name in ("tried", "by_owner", "collected", "histograms"):
        covered = named(contents, name).tables["check"]["covered"].dropna()
        assert f"({len(covered)} intervals or tables," in read(of_release(part, name))
    check = named(contents, "collected").tables["check"]
    said = read(of_release(part, "collected"))
    for column, meaning in (("l2_estimate", "unbiased"), ("l2_consistent", "consistent tables")):
        assert f"{meaning}" in said
        assert percent(check[column].mean()) in said
    check = named(contents, "tried").tables["check"]
    said = read(of_release(part, "tried"))
    assert f"weighted records {percent(check['weights'].mean())}" in said
    # Of iDP the noise is not released, so there is no interval to check.
    assert "intervals, checked" not in read(of_release(part, "paper_idp"))


def test_tests_of_independence_are_counted(page: str, contents: Contents) -> None:
    part = section(page, "releases")
    for name in ("tried", "collected"):
        table = named(contents, name).tables["independence"]
        said = read(of_release(part, name))
        assert f"Tests of independence: {len(table)}" in said
        rejected = (table["rejected"].astype(str) == "True").sum()
        assert f"Rejected at 5 %: {rejected} (each test on its own)" in said


def test_the_findings_are_set_as_text_with_tables(page: str) -> None:
    part = section(page, "findings")
    assert "<strong>bold</strong>" in part
    assert "<td>1</td>" in part
    assert "<h3>On</h3>" in part
    assert "The current run differs" in part


@pytest.mark.parametrize(
    ("findings", "changes", "same"),
    [
        ("seed 1, up to\n1,000 replicates", {}, True),
        ("seed 2, up to 1,000 replicates", {}, False),
        ("seed 1, up to 50 replicates", {}, False),
        ("nothing", {}, False),
        ("seed 1, up to 1,000 replicates", {"tables": {}}, False),
    ],
)
def test_findings_are_about_a_run_of_their_seed_and_size(
    contents: Contents, findings: str, changes: dict[str, Any], same: bool
) -> None:
    sizes = {"multirr_table1": pd.DataFrame({"replicates": [1000, 1000]})}
    sizes["pram_weights"] = pd.DataFrame({"replicates": [50]})
    sizes["multirr_linkage"] = pd.DataFrame({"replicates": [3]})  # filled by no study
    settings = {"tables": sizes, "findings": findings} | changes
    assert own_sections.findings(dataclasses.replace(contents, **settings))["as_written"] == same


def test_findings_are_about_no_surrogate(of_surrogate: Contents) -> None:
    written = dataclasses.replace(of_surrogate, findings="seed 1, up to 50 replicates")
    assert not own_sections.findings(written)["as_written"]


def test_the_run_is_described(page: str, contents: Contents) -> None:
    part = section(page, "run")
    assert "0" * 64 in part
    for name, version in contents.facts.items():
        assert name in part
        assert version in part
    assert "seed: 1" in part


# -- reading the files -----------------------------------------------------------------------------


def test_a_category_may_be_called_what_others_call_missing(
    small_data: Microdata, tmp_path: Path
) -> None:
    files = SimpleNamespace(
        **{
            name: [] for name in ("figures", "audits", "releases", "estimates", "checks", "sources")
        },
        tables=[str(tmp_path / "t.csv")],
        findings=str(tmp_path / "findings.md"),
    )
    write_table(tmp_path / "t.csv", pd.DataFrame({"a": ["NA", "None", None], "b": [1, np.inf, 2]}))
    write_text(tmp_path / "findings.md", "")
    table = gather(files, {"seed": 1}).tables["t"]
    assert table["a"].tolist()[:2] == ["NA", "None"]
    assert table["a"].isna().tolist() == [False, False, True]
    assert table["b"].tolist() == [1, np.inf, 2]


def test_no_object_is_shown_by_its_address(page: str) -> None:
    # A key such as "update" is a method of a row where a template asks for it with a dot.
    assert not re.search(r" at 0x[0-9a-f]{6,}|built-in method|&lt;bound method", page)


def test_the_margins_of_a_release_are_shown(page: str) -> None:
    """Whole files have no stratum: rows by stratum alone are left out."""
    shown = page.split("<summary>Estimated marginal distributions with 95 % intervals")[1:]
    assert shown
    for part in shown:
        assert part.partition("</table>")[0].count("<tr") > 2
    assert "None by inversion" not in page
