"""The report as pages: the same as in one file, small, each link and anchor there."""

import dataclasses
import html
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.reproduction.report.reading import Read, section, words

from reproduction.papers.audit import OF_MATRICES, RELEASE, STATED, THEOREM
from reproduction.papers.catalog import FIGURES, PAGES
from reproduction.report.contents import Contents
from reproduction.report.own_sections import ORDER, in_short
from reproduction.report.render import render, render_pages, write

ROOT = Path(__file__).resolve().parents[3]
LARGEST_FIRST, LARGEST = 500_000, 2_000_000


@pytest.fixture(scope="module")
def files(contents: Contents) -> dict[str, str]:
    return dict(render_pages(contents))


def pages_of(files: dict[str, str]) -> dict[str, str]:
    return {name: text for name, text in files.items() if name.endswith(".html")}


def test_there_is_a_page_for_each_and_no_file_that_nothing_loads(files: dict[str, str]) -> None:
    assert list(pages_of(files)) == [f"{page.id}.html" for page in PAGES]
    loaded = {
        str(attributes.get("src") or attributes.get("href"))
        for text in pages_of(files).values()
        for tag, attributes in Read(text).elements
        if tag in ("img", "script", "link")
    }
    assert loaded == set(files) - set(pages_of(files))
    assert {f"figures/{name}.svg" for name in FIGURES} <= loaded


def test_pages_are_small(files: dict[str, str]) -> None:
    for name, text in pages_of(files).items():
        assert len(text.encode()) < (LARGEST_FIRST if name == "index.html" else LARGEST)
        assert "<svg" not in text


def test_pages_say_what_the_one_file_says(files: dict[str, str], contents: Contents) -> None:
    whole = render(contents)

    for page in PAGES[1:]:
        text = files[f"{page.id}.html"]
        for each in page.sections:
            in_one = section(whole, each.id)
            assert words(section(text, each.id)) == words(in_one), each.id
            assert section(text, each.id).count("<tr") == in_one.count("<tr"), each.id


def test_every_link_leads_somewhere(files: dict[str, str], run_folder: Path) -> None:
    ids = {
        name: {attributes.get("id") for _, attributes in Read(text).elements}
        for name, text in pages_of(files).items()
    }
    for name, text in pages_of(files).items():
        for attributes, _ in Read(text).all("a"):
            target, _, anchor = str(attributes["href"]).partition("#")
            if target.startswith("../../"):
                assert (ROOT / target.removeprefix("../../")).is_file(), (name, target)
            elif target.startswith("../"):
                assert (run_folder / target.removeprefix("../")).is_file(), (name, target)
            else:
                assert anchor in ids[target or name] or (target in ids and not anchor), (
                    name,
                    anchor,
                )


def test_the_config_is_on_its_page_as_a_whole(files: dict[str, str], contents: Contents) -> None:
    assert contents.config in html.unescape(files["findings.html"])


def test_a_report_that_was_there_is_replaced_as_a_whole(contents: Contents, tmp_path: Path) -> None:
    nothing = dataclasses.replace(contents, tables={}, figures={}, releases=[])
    folder = tmp_path / "report"
    write(folder, contents)
    write(folder, nothing)
    assert not (folder / "figures").exists()
    assert not (folder / "multirr.html").exists()
    assert "The configuration has no releases." in (folder / "releases.html").read_text("utf-8")
    write(tmp_path / "report.html", nothing)
    assert (tmp_path / "report.html").read_text("utf-8") == render(nothing)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report", "report.html"]


# -- the first page --------------------------------------------------------------------------------


def test_what_fails_comes_first_the_worst_before_the_others(
    files: dict[str, str], contents: Contents
) -> None:
    rows = in_short(contents)["privacy"]
    verdicts = [each.verdict for _, each in rows]
    assert verdicts == sorted(verdicts, key=ORDER.index)
    failing = [each.beyond for _, each in rows if each.verdict == "fails"]
    assert failing == sorted(failing, reverse=True)
    assert {page.id for page, _ in rows} == {"multirr", "pram", "idp", "rrba"}
    first = words(files["index.html"])
    places = [
        first.index(says)
        for says in (
            "iDP&#39;s released records keep the promised ε",
            "Theorem 4.1 of RRBA: ε = ln 1 / (1 − p)",
            "“Equal risk” of an attribute in a cluster",
            "An invariant matrix protects a value, not the file",
            "Published numbers and claims: agreements and differences",
        )
    ]
    assert max(places[:3]) < places[3] < places[4]


@pytest.mark.parametrize(
    ("verdict", "figure", "advised"),
    [
        (
            "no amount stated",
            "the sign: holds; the amount: ratios of medians from 0.5 to 0.8",
            True,
        ),
        ("holds", "ratios of medians from 0.5 to 0.8", True),
        (
            "no amount stated",
            "the sign: fails; the amount: ratios of medians from 0.5 to 1.2",
            False,
        ),
    ],
)
def test_what_to_use_for_utility_follows_from_a_claim_whatever_its_badge(
    contents: Contents, verdict: str, figure: str, advised: bool
) -> None:
    tables, told = dict(contents.tables), {"verdict": verdict, "figure": figure}
    for name in ("multirr_claims", "multirr_claim_readings"):
        own = tables[name].iloc[[0]].assign(claim="adjustment_helps_at_small_coverage", **told)
        tables[name] = pd.concat([tables[name], own], ignore_index=True)
    page = render(dataclasses.replace(contents, tables=tables))
    cards = [words(card) for card in section(page, "glance").split("<article")[1:]]
    assert all(re.search(r"For utility: *\S", card) for card in cards)
    advice = "add RR-Adjustment: it multiplies errors by 0.5 to 0.8."
    assert any(advice in card for card in cards) == advised


def test_cards_say_what_the_one_audit_says(files: dict[str, str], contents: Contents) -> None:
    audited, cards = contents.tables["privacy"], in_short(contents)["privacy"]
    told = {each.says: each for _, each in cards}
    idp = audited[(audited["source"] == "idp") & audited["claim"].str.endswith("as it runs")]
    clustered = idp[(idp["unit"] == "record") & ~idp["mechanism"].isin(["dp", "idp_cbls_prose"])]
    assert np.isinf(clustered["exact_epsilon"]).all()
    assert told["iDP's released records keep the promised ε"].verdict == "fails"
    theorem = told["Theorem 4.1 of RRBA: ε = ln 1 / (1 − p)"]
    rows = audited[(audited["claim"] == THEOREM) & (audited["source"] == "rrba")]
    once = rows[rows["unit"].isin(["answer", "view"])]
    beyond = (once["exact_epsilon"] - once["claimed_epsilon"]).max()
    assert theorem.beyond == pytest.approx(beyond, rel=1e-6)
    rows = rows[rows["unit"] == "answer"]
    assert f"{rows['hold'].sum()} of {rows['cases'].sum()} settings" in theorem.found
    stated = told["The stated ε of whole records"]
    own = audited[(audited["claim"] == OF_MATRICES) & audited["mechanism"].eq("rr_independent")]
    assert f"RR-Independent {own['hold'].sum()} of {own['cases'].sum()}" in stated.found
    published = audited[audited["claim"].str.endswith("published")]
    assert np.isinf(published["exact_epsilon"]).all()


def test_the_first_page_says_what_an_epsilon_means(files: dict[str, str]) -> None:
    text = words(files["index.html"])
    for epsilon, after in ((1, "2.68 %"), (2, "6.95 %"), (4, "35.6 %"), (8, "96.8 %")):
        assert f"{after} at ε = {epsilon}" in text


def test_numbers_that_differ_by_mechanism_are_counted_apart(
    files: dict[str, str], contents: Contents
) -> None:
    text = words(files["index.html"])
    for number in (1, 2):
        table = contents.tables[f"multirr_table{number}"]
        for mechanism, part in table.groupby("mechanism"):
            agree = (part["verdict"] == "agrees").sum()
            assert f"Table {number}, {mechanism}: {agree} of {len(part)}" in text


def test_the_first_page_says_where_it_counts_fewer_verdicts_than_the_papers_pages(
    contents: Contents,
) -> None:
    def said(p_value: float) -> str:
        claims = contents.tables["multirr_claims"]
        others = claims["verdict"] != "fails"
        moved = claims.assign(p_value=claims["p_value"].mask(others, p_value))
        only = {name: contents.tables[name] for name in ("multirr_example1", "multirr_agreement")}
        only["multirr_claims"] = moved
        return words(section(render(dataclasses.replace(contents, tables=only)), "glance"))

    assert "2 fewer decided claims of [multirr] than the papers’ pages" in html.unescape(said(0.04))
    assert "fewer" not in said(1e-9)


def test_stated_epsilons_are_said_to_be_not_exceeded(
    files: dict[str, str], contents: Contents
) -> None:
    audited = contents.tables["privacy"]
    stated = audited["source"].str.startswith(RELEASE) & (audited["claim"] == STATED)

    def said(table: pd.DataFrame) -> str:
        changed = dataclasses.replace(contents, tables=contents.tables | {"privacy": table})
        return words(section(render(changed), "glance"))

    assert stated.any()
    assert (audited[stated]["hold"] == audited[stated]["cases"]).all()
    # Each kind of plan has its own count: none is pooled with another.
    for kind, part in audited[stated].groupby("mechanism"):
        said_of_kind = f"none of {part['cases'].sum()} stated ε ({kind})"
        assert said_of_kind in words(files["index.html"])
    first = audited.index == audited.index[stated][0]
    broken = audited.assign(hold=audited["hold"] - first)
    kind = audited["mechanism"][first].iloc[0]
    cases = audited.loc[stated & (audited["mechanism"] == kind), "cases"].sum()
    assert f"1 of {cases} stated ε ({kind})" in said(broken)
