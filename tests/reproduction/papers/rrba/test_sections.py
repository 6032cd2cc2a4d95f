"""What the sections about RRBA ([rrba]) show, from hand-made tables."""

import importlib
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest
from jinja2 import BytecodeCache, FileSystemBytecodeCache
from tests.display.section_page import render_section
from tests.reproduction.papers.rrba.tables import all_tables
from tests.slow_variants import one_in

from deniable.display.page import SIGN

from reproduction.papers.rrba import (
    consistency as rrba_consistency,
    independence as rrba_independence,
    names,
    released_tables as rrba_tables,
)
from reproduction.papers.rrba.catalog import PAPER
from reproduction.papers.rrba.figures import tables as drawn
from reproduction.papers.rrba.sections import analyses, tables as rrba
from reproduction.study.pages import Origin

COMPILED: list[BytecodeCache] = []
SECTION = {section.id: section for section in PAPER.sections}
Tables = dict[str, pd.DataFrame]


@pytest.fixture(scope="module")
def tables() -> Tables:
    return all_tables()


@pytest.fixture(scope="module", autouse=True)
def _compiled_once(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Compile each template once, for all pages."""
    COMPILED.append(FileSystemBytecodeCache(str(tmp_path_factory.mktemp("templates"))))


def render(name: str, tables: Tables) -> str:
    """Return a section as the report shows it."""
    section = SECTION[name]
    assert section.possible(tables)
    origin = Origin("reproduction.papers.rrba.exact:epsilon_table", "bound_blocks")
    content = section.content(tables)
    return render_section(section.template, content, tables, origin, COMPILED[-1])


def words(part: str) -> str:
    """Return what is read of a part of the page."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", part))


def cells(part: str, label: str) -> list[list[str]]:
    """Return the words of the rows that start with a label."""
    rows = re.findall(r"<tr.*?</tr>", part, flags=re.DOTALL)
    found = [[words(c).strip() for c in re.findall(r"<td.*?</td>", row, re.DOTALL)] for row in rows]
    return [row for row in found if row and row[0] == label]


def is_whole(text: str) -> bool:
    return not re.search(r"\bnan\b|None|undefined", text)


# -- on the page -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SECTION)
def test_a_section_is_whole(name: str, tables: Tables) -> None:
    page = render(name, tables)
    for tag in ("table", "tr", "td", "th", "p", "div", "details", "dl", "dd", "ul", "li", "b"):
        assert len(re.findall(rf"<{tag}[\s>]", page)) == page.count(f"</{tag}>"), tag
    assert is_whole(words(page))
    for table in SECTION[name].needs:
        assert f'href="tables/{table}.csv"' in page
    for verdict in ("holds", "fails", "undecided", "agrees", "differs"):
        for cell in re.findall(rf'<td class="[^"]*\b{verdict}\b[^"]*"[^>]*>(.*?)</td>', page):
            assert SIGN[verdict] in cell, cell
    rows = re.findall(r"<table>.*?</table>", page, flags=re.DOTALL)
    assert rows
    assert all("<caption>" in row or "<thead>" in row for row in rows)


@pytest.mark.parametrize("name", ["rrba_consistency"])
def test_values_are_escaped(name: str, tables: Tables) -> None:
    page = render(name, tables)
    assert "&lt;b&gt;" in page
    assert "<b> response" not in page


@pytest.mark.parametrize("name", SECTION)
def test_rows_span_what_the_head_spans(name: str, tables: Tables) -> None:
    def width(row: str) -> int:
        found = re.findall(r"<t[dh]([^>]*)>", row)
        return sum(int((re.search(r'colspan="(\d+)"', a) or [0, 1])[1]) for a in found)

    for table in re.findall(r"<table>.*?</table>", render(name, tables), flags=re.DOTALL):
        body = table.split("</thead>")[1]
        widths = [width(row) for row in re.findall(r"<tr.*?</tr>", body, flags=re.DOTALL)]
        if "rowspan" in body:
            widths = [w for w in widths if w == max(widths)]
        top = re.findall(r"<tr.*?</tr>", table.split("</thead>")[0], flags=re.DOTALL)[0]
        assert set(widths) == {width(top)}, table[:400]


MISSING = [
    ("rrba_epsilon", "unit == 'answer'"),
    ("rrba_epsilon", "unit == 'view'"),
    ("rrba_epsilon", "unit == 'rounds'"),
    ("rrba_epsilon", "table == 'uniform'"),
    ("rrba_epsilon", "table != 'lowest' and table != 'true'"),
    ("rrba_epsilon", "p == 0.1"),
    ("rrba_fig5", "update == 'printed'"),
    ("rrba_fig5", "update == 'pooled'"),
    ("rrba_fig6", "block_size == 18"),
    ("rrba_fig6", "criterion == 'first'"),
    ("rrba_fig6", "p == 0.1"),
    ("rrba_table4", "method == 'rrba'"),
    ("rrba_table4", "method != 'rrba'"),
    ("rrba_table4", "dataset == 'alarm' and k == 3"),
    ("rrba_table4", "metric == 'jensen_shannon'"),
    ("rrba_table5", "not main"),
    ("rrba_fig7", "k == 2 and method == 'laplace'"),
    ("rrba_equal", "method == 'rrba'"),
    ("rrba_equal", "method == 'rrba_uniform' and epsilon == 2"),
    ("rrba_equal", "metric == 'l2' and k == 2"),
    ("rrba_equal", "reading == 'noisy'"),
    ("rrba_table3", "small_cells == 'table' and k == 2"),
    ("rrba_table3", "hypothesis == 'H0'"),
    ("rrba_table3", "method == 'channel_aware'"),
    ("rrba_table3", "n == 200 or k == 2"),
    ("rrba_power", "measure == 'rejected'"),
    ("rrba_power", "effect == 0"),
    ("rrba_power", "effect > 0"),
    ("rrba_power", "method == 'rrba'"),
    ("rrba_consistency", "method == 'l2'"),
    ("rrba_consistency", "method == 'nearest'"),
    ("rrba_consistency", "tables != 'observed'"),
    ("rrba_examples", "case == 'equation (4)'"),
    ("rrba_claim_readings", "verdict == 'fails'"),
]


@pytest.mark.parametrize(("table", "rows"), one_in(3, MISSING))
def test_what_a_config_does_not_ask_for_is_not_missed(
    tables: Tables, table: str, rows: str
) -> None:
    fewer = tables | {table: tables[table].query(rows)}
    assert len(fewer[table])
    shown = [name for name, section in SECTION.items() if table in section.needs]
    for name in shown or ["rrba_tables"]:
        assert is_whole(words(render(name, fewer)))
    if table == "rrba_equal":
        assert is_whole(words(render("rrba_overview", fewer)))


@pytest.mark.parametrize("name", SECTION)
def test_tables_that_are_missing_leave_out_what_rests_on_them(name: str, tables: Tables) -> None:
    alone = {table: tables[table] for table in SECTION[name].needs}
    page = render(name, alone)
    assert is_whole(words(page))
    for table in tables.keys() - alone.keys():
        assert f"/{table}.csv" not in page


def test_the_catalog_names_code_and_tables_that_are_there() -> None:
    computed = {table.id: table.made_by for each in PAPER.analyses for table in each.tables}
    simulated = {table.id: PAPER.studies[table.study].origin for table in PAPER.tables}
    drawn_by = [each.draw for each in PAPER.figures]
    for function in [*computed.values(), *simulated.values(), *drawn_by]:
        assert Origin(function, "rule").line > 0
    assert {table.study for table in PAPER.tables} == PAPER.studies.keys()
    assert all_tables().keys() == computed.keys() | simulated.keys()
    needed = [*(each.needs for each in PAPER.sections), *(each.tables for each in PAPER.figures)]
    assert {table for tables in needed for table in tables} <= all_tables().keys()


def test_names_are_those_of_the_studies() -> None:
    """The page imports nothing that computes: what it repeats is held against the original."""
    files = importlib.import_module("deniable.datasets.networks").FILES
    assert names.FILES.keys() == files.keys()
    simulators = (rrba_tables.PrintedTables({}), rrba_tables.EqualEpsilon({}))
    for simulator, titles in zip(simulators, (names.METHODS, names.EQUAL_METHODS), strict=True):
        assert {method.name for method in simulator.methods} == titles.keys()
    assert set(rrba_tables.MEASURES) == names.METRICS.keys()
    assert set(rrba_independence.TABLE_3_METHODS) == names.TESTS.keys()
    assert set(rrba_independence.HYPOTHESES) == names.HYPOTHESES.keys()
    assert set(rrba_consistency.METHODS) == names.CONSISTENCY_METHODS.keys()
    assert drawn.METHOD_STYLE.keys() == names.METHODS.keys()
    assert drawn.TABLE_3_NAMES.keys() == names.TESTS.keys()
    updates = importlib.import_module("reproduction.papers.rrba.convergence").UPDATES
    assert updates.keys() == names.UPDATES.keys()


# -- promised and delivered ------------------------------------------------------------------------


def test_the_claim_is_called_broken_only_where_it_is(tables: Tables) -> None:
    text = words(render("rrba_overview", tables))
    assert "Of one answer the claim holds in none of 12 settings" in text
    assert "The proof gives the truthful answer the probability p q" in text
    assert "it holds in none of 16 settings of views and rounds" in text
    assert "Survey (3 answers) 4.50, Alarm (18 answers) 27.0." in text
    assert (
        "With w = 0.1, at the tables where the protocol is heading, the worst view has 30.0" in text
    )
    assert "62.5 % instead of 25.0 % (4 cells), at p = 0.5 each" in text
    table = tables["rrba_epsilon"].assign(holds=True, holds_composed=True)
    kept = words(render("rrba_overview", tables | {"rrba_epsilon": table}))
    assert "the claim holds in all 12 settings" in kept
    assert "The proof gives" not in kept
    assert "does not save it" not in kept


def test_whether_adapting_pays_is_taken_from_the_table(tables: Tables) -> None:
    assert "in none of 8 settings" in words(render("rrba_overview", tables))
    table = tables["rrba_equal"].copy()
    table.loc[table["method"] == "rrba", "mean"] /= 10
    better = words(render("rrba_overview", tables | {"rrba_equal": table}))
    assert "in all 8 settings (the comparison)." in better
    assert "the simpler protocol" not in better


def test_epsilons_stand_beside_the_claim(tables: Tables) -> None:
    (row,) = cells(render("rrba_overview", tables).split("A client's view")[0], "0.5")
    assert row == ["0.5", "0.693", "1.10 ✗", "1.61 ✗", "3.04 ✗", "3.71 ✗"]
    found = analyses.overview(tables)
    assert [row["rounds"] for row in found["rounds"]["rows"]] == [1, 3]
    assert found["claimed"] == pytest.approx(np.log(2))


# -- convergence -----------------------------------------------------------------------------------


def test_what_converges_is_counted(tables: Tables) -> None:
    found = analyses.convergence(tables)
    first, lasting, projected, precise = found["found"]
    assert first["converged"] == first["always"] == first["cells"] == 16
    assert first["blocks"] == (3, 3)
    assert first["within"] == 0.25
    assert (lasting["converged"], lasting["share"]) == (0, 0)
    # Half of the runs, in each setting: means of the others' answers are cut off, and not shown.
    assert (projected["converged"], projected["share"], projected["always"]) == (16, 0.5, 0)
    assert projected["blocks"] is None
    assert precise["converged"] == precise["always"] == 12
    assert found["spread"] == (1, 1)
    rows = {(row["dataset"], row["p"]): row["cells"] for row in found["rows"]}
    assert rows["alarm", 0.1]["pooled", "precise", 18]["converged"] == 0
    assert rows["survey", 0.5]["printed", "first", 250] == {
        "converged": 2,
        "of": 2,
        "within": 0.25,
        "tuples": 750,
    }
    text = words(render("rrba_convergence", tables))
    assert "for good: 0 % of runs converge, at least half of them in none of 16 settings" in text
    assert "tables projected: 50.0 % of runs converge, at least half of them in all 16" in text
    assert "(a cell falls below 0) in 75.0 % to 75.0 % of runs" in text


# -- Tables 4 and 5 --------------------------------------------------------------------------------


def test_printed_cells_are_counted(tables: Tables) -> None:
    found = rrba.released(tables)
    # Two tables, two data sets, two measures, k = 2 agrees and k = 3 does not.
    assert found["tally"]["rrba"] == {
        "of": 16,
        "agrees": 8,
        "some": 8,
        "below": 8,
        "within": 8,
        "above": 0,
        "ratios": (1, 2),
    }
    assert found["tally"]["laplace_honest"] is None
    wins = found["wins"]["laplace"]
    assert wins["pooled"]["l2"] == {"of": 8, "lower": 8, "range": (0.5, 0.5)}
    assert wins["last_block"]["l2"] == {"of": 8, "lower": 0, "range": (1.5, 1.5)}
    assert found["wins"]["laplace_honest"]["pooled"]["l2"]["lower"] == 0
    of = [(row["reading"], row["file"], row["of"]) for row in found["readings"]]
    assert of.count(("last_block", "survey_8000_resampled", 8)) == 1
    text = words(render("rrba_tables", tables))
    assert "(our reading), lower l2 distance in all 8 cells (0.500 times the other)" in text
    assert "updated as printed, lower l2 distance in none of 8 cells (1.50 times the other)" in text
    page = render("rrba_tables", tables)
    (row, *_) = cells(page, "RRBA")
    assert row == ["RRBA", *["100", "100 ✓80.0 – 120", "50.0", "100 ✗80.0 – 120"] * 2]
    assert "Theorem 4.1 claims 0.511, the table's title 0.35" in words(page)


def test_figure_7_has_the_range_of_its_bins(tables: Tables) -> None:
    rows = rrba.released(tables)["figure_7"]["rows"]
    assert rows[0]["cells"][2]["range"] == (10, 40)


# -- equal epsilon ---------------------------------------------------------------------------------


def test_methods_are_compared_at_equal_epsilon(tables: Tables) -> None:
    ratios = rrba.equal(tables)["ratios"]
    assert ratios["rrba", "rrba_uniform"] == {"of": 8, "lower": 0, "range": (2, 2)}
    assert ratios["rrba_at_truth", "rrba_uniform"]["lower"] == 8
    page = render("rrba_equal", tables)
    row = next(row for row in cells(page, "Survey") if row[2] == "table stays uniform")
    assert row[3].startswith("200 ▾")
    row = next(row for row in cells(page, "Survey") if row[2].endswith("true table allows"))
    assert "▾" not in row[3]


# -- tests of independence -------------------------------------------------------------------------


def test_table_3_is_arranged_and_counted(tables: Tables) -> None:
    found = rrba.table_3(tables["rrba_table3"])
    assert found["rule"] == "ignore"
    assert found["settings"][2] == [(200, 0.2), (4000, 0.2)]
    row = next(row for row in found["rows"] if row["method"] == "rrba")
    assert row["accuracy"][2, 4000, 0.2] == pytest.approx(95.5)
    assert row["accuracy_printed"][2, 200, 0.2] == pytest.approx(96.5)
    best = found["best"]["rrba"]
    assert [(each["most"], each["of"], each["settings"]) for each in best] == [(2, 2, 2), (1, 2, 4)]
    # One setting, under two rules for small cells.
    assert found["fitted"] == 2
    assert found["epsilons"]["rrba"] == pytest.approx((np.log(5), np.log(9)))
    text = words(render("rrba_tests", tables))
    assert "RRBA, table stays uniform: exact ε 1.61 – 2.20" in text
    assert "≈ fitted (2 settings)" in text


def test_sizes_and_powers_are_judged_beyond_chance(tables: Tables) -> None:
    found = rrba.power(tables["rrba_power"])
    assert found["sizes"]["laplace"] == {
        **dict.fromkeys(names.SIZES, 0),
        **{"too large": 16, "of": 16},
    }
    assert found["sizes"]["channel_aware"]["held"] == 16
    assert found["against"]["rrba"] == {"of": 16, "higher": 16, "lower": 0, "range": (10, 10)}
    assert found["against"]["mcindep"]["lower"] == 16
    assert found["valid_sizes"] == {"of": 16, "always": 8, "sizes": (5.25, 5.25), "never": 8}
    assert found["epsilon"] == 1.0
    assert {row["effect"] for row in found["rows"]} == {0.2}
    close = tables["rrba_power"].copy()
    close["ci_low"], close["ci_high"] = close["ci_low"] - 20, close["ci_high"] + 20
    assert rrba.power(close)["against"]["rrba"]["higher"] == 0


# -- consistency, worked cases, claims -------------------------------------------------------------


def test_agreement_and_distance_are_summed_up(tables: Tables) -> None:
    found = analyses.consistency(tables)
    assert found["gains"]["l2"] == {"of": 2, "closer": 2, "farther": 0, "range": (0.5, 0.5)}
    assert found["gains"]["nearest"]["closer"] == 0
    assert found["tally"] == {"agrees": 1, "differs": 1, "not printed": 1}
    text = words(render("rrba_consistency", tables))
    assert "it has no solution in any trial" in text
    assert "after, by less than 10⁻⁹" in text
    solved = tables["rrba_consistency"].assign(printed_feasible=1.0)
    assert "no solution" not in words(
        render("rrba_consistency", tables | {"rrba_consistency": solved})
    )


@pytest.mark.parametrize(
    ("function", "arguments", "expected"),
    [
        (rrba.ends, ([2.0, np.nan, 1.0],), (1.0, 2.0)),
        (rrba.ends, ([],), None),
        (rrba.in_order, (["b", "a"], ["c", "a"]), ["a", "c"]),
    ],
)
def test_helpers(
    function: Callable[..., Any], arguments: tuple[Any, ...], expected: Mapping[str, Any]
) -> None:
    assert function(*arguments) == expected
