"""What the sections about RRBA ([rrba]) show, from hand-made tables."""

import importlib
import re
from typing import Any

import pandas as pd
import pytest
from jinja2 import BytecodeCache, FileSystemBytecodeCache
from tests.display.section_page import render_section
from tests.reproduction.papers.rrba.tables import all_tables
from tests.slow_variants import one_in

from reproduction.papers.rrba import (
    consistency as rrba_consistency,
    figures,
    independence as rrba_independence,
    names,
    released_tables as rrba_tables,
)
from reproduction.papers.rrba.catalog import PAPER
from reproduction.papers.rrba.sections import (
    consistency,
    convergence,
    equal,
    overview,
    table_3,
    tables as prepared_tables,
    tests as prepared_tests,
)
from reproduction.study import SIGN, PageTable, resolve

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
    content = section.content(tables)
    return render_section(section.template, content, tables, COMPILED[-1])


def words(part: str) -> str:
    """Return what is read of a part of the page."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", part))


def rows_of(table: PageTable, *keys: str) -> dict[Any, dict[str, str]]:
    """Return the rows of a table by what stands in the columns `keys`."""
    rows = [dict(zip(table.heads, row, strict=True)) for row in table.rows]
    return {tuple(row[key] for key in keys) if keys[1:] else row[keys[0]]: row for row in rows}


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


@pytest.mark.parametrize("name", SECTION)
def test_tables_that_are_missing_leave_out_what_rests_on_them(name: str, tables: Tables) -> None:
    alone = {table: tables[table] for table in SECTION[name].needs}
    page = render(name, alone)
    assert is_whole(words(page))
    for table in tables.keys() - alone.keys():
        assert f"/{table}.csv" not in page


def test_the_catalog_names_code_and_tables_that_are_there() -> None:
    computed = {table.id for each in PAPER.analyses for table in each.tables}
    simulated = {table.id: PAPER.studies[table.study].simulator for table in PAPER.tables}
    for function in [*simulated.values(), *(each.draw for each in PAPER.figures)]:
        assert callable(resolve(function))
    assert {table.study for table in PAPER.tables} == PAPER.studies.keys()
    assert all_tables().keys() == computed | simulated.keys()
    needed = [*(each.needs for each in PAPER.sections), *(each.tables for each in PAPER.figures)]
    assert {table for tables in needed for table in tables} <= all_tables().keys()


def test_names_are_those_of_the_studies() -> None:
    """The page imports nothing that computes: what it repeats is held against the original."""
    files = importlib.import_module("deniable.datasets.networks").FILES
    assert names.FILES.keys() == files.keys()
    simulators = (rrba_tables.PrintedTables({}), rrba_tables.EqualEpsilon({}))
    for simulator, titles in zip(simulators, (names.METHODS, names.EQUAL_METHODS), strict=True):
        assert simulator.methods.keys() == titles.keys()
    assert set(rrba_tables.MEASURES) == names.METRICS.keys()
    assert set(rrba_independence.TABLE_3_METHODS) == names.TESTS.keys()
    assert set(rrba_independence.HYPOTHESES) == names.HYPOTHESES.keys()
    assert set(rrba_consistency.METHODS) == names.CONSISTENCY_METHODS.keys()
    assert figures.METHOD_STYLE.keys() == names.METHODS.keys()
    assert figures.EQUAL_STYLE.keys() == names.EQUAL_METHODS.keys()
    updates = importlib.import_module("reproduction.papers.rrba.convergence").UPDATES
    assert updates.keys() == names.UPDATES.keys()


# -- claims and exact epsilons ---------------------------------------------------------------------


def test_epsilons_stand_beside_the_claim(tables: Tables) -> None:
    found = overview(tables)
    own = [row for row in found["answers"].rows if row[0] == "0.5"]
    assert [row[1:] for row in own] == [
        ("0.693", "uniform", "1.10 ✗", "1.61 ✗"),
        ("0.693", "one cell at the floor 0.1 / m", "3.04 ✗", "3.71 ✗"),
    ]
    views = rows_of(found["views"], "dataset", "p")
    assert views["Survey", "0.5"]["uniform"] == "4.50 ✗"
    assert views["Survey", "0.5"]["original table, floor 0.1 / m"] == "30.0 ✗"


# -- convergence -----------------------------------------------------------------------------------


def test_what_converges_is_counted(tables: Tables) -> None:
    found = convergence(tables)
    first, lasting, projected, precise = found["criteria"].rows
    assert first[1:5] == ("16", "100 %", "16", "16")
    assert first[6:] == ("3.00", "25.0 % (by setting 0.250)")
    assert lasting[2:4] == ("0 %", "0")
    # Half of the runs, in each setting: means of the others' answers are cut off, and not shown.
    assert projected[2:7] == ("50.0 %", "16", "0", "–", "–")
    assert precise[3:5] == ("12", "12")
    updates = rows_of(found["updates"], "next table", "p")
    invalid = updates[names.UPDATES["printed"], "0.5"]["replicates with an invalid table"]
    assert invalid == "0.750"


# -- Tables 4 and 5 --------------------------------------------------------------------------------


def test_published_numbers_stand_beside_ours(tables: Tables) -> None:
    found = prepared_tables(tables)
    table = found["printed"]["Table 4"]
    first = next(row for row in table.rows if row[0] == names.METRICS["l2"])
    assert first[4] == "100 | 100 ✓ (80.0 – 120)"
    privacy = found["privacy"].rows[0]
    assert (privacy[2], privacy[-1]) == ("0.35", "0.511")


# -- equal epsilon ---------------------------------------------------------------------------------


def test_methods_are_compared_at_equal_epsilon(tables: Tables) -> None:
    found = equal(tables)
    ratios = rows_of(found["ratios"], "method")
    assert [*ratios[names.EQUAL_METHODS["rrba"]].values()][1:] == ["0", "8", "2.00"]
    assert [*ratios[names.EQUAL_METHODS["rrba_at_truth"]].values()][1] == "8"


# -- tests of independence -------------------------------------------------------------------------


def test_table_3_is_arranged(tables: Tables) -> None:
    rows = rows_of(table_3(tables["rrba_table3"]), "k", "rate", "setting")
    own = names.TESTS["rrba"]
    assert rows["2", "accuracy", "n = 4,000, effect 0.2"][own] == "95.5"
    assert rows["2", "accuracy", "published"][own] == "96.5"


def test_sizes_and_powers_are_judged_beyond_chance(tables: Tables) -> None:
    found = prepared_tests(tables)
    sizes = rows_of(found["sizes"], "method")
    assert sizes[names.TESTS["laplace"]]["too large"] == "16"
    assert sizes[names.TESTS["channel_aware"]]["held"] == "16"
    against = {row[0]: row[1:] for row in found["against"].rows}
    assert against[names.TESTS["rrba"]] == ("16", "0", "16", "10.0")
    assert against[names.TESTS["mcindep"]][1] == "16"
    close = tables["rrba_power"].copy()
    close["ci_low"], close["ci_high"] = close["ci_low"] - 20, close["ci_high"] + 20
    assert prepared_tests(tables | {"rrba_power": close})["against"].rows[0][1] == "0"


# -- consistency, worked cases ---------------------------------------------------------------------


def test_views_and_worked_cases_are_shown(tables: Tables) -> None:
    found = consistency(tables)
    gains = {row[0]: row[1:] for row in found["gains"].rows}
    assert gains[names.CONSISTENCY_METHODS["l2"]] == ("2", "0", "2", "0.500")
    assert gains[names.CONSISTENCY_METHODS["nearest"]][0] == "0"
    assert found["views"].heads[:6] == (
        *("data", "n", "p", "views", "tables", "published program is feasible"),
    )
    verdicts = [row[-1] for row in found["cases"].rows]
    assert sorted(verdicts) == sorted(["✓ agrees", "✗ differs", "– not published"])
    shown = found["views"].rows[0]
    assert shown[-1].endswith("; < 10⁻⁹")
