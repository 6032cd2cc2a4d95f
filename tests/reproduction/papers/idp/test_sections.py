"""What the sections about individual differential privacy show, from hand-made tables."""

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from jinja2 import BytecodeCache, FileSystemBytecodeCache
from scipy import stats
from tests.display.section_page import render_section
from tests.reproduction.papers.idp.tables import (
    EPSILONS,
    FACTORS,
    SIZES,
    all_tables,
    forest_table,
    sse_table,
)
from tests.slow_variants import one_in

from deniable.display.page import SIGN, short
from deniable.idp.audit import report as idp_audit

from reproduction.papers.idp import (
    attacks as idp_attacks,
    figures as drawn,
    forests as idp_forests,
    names,
    settings as config_idp,
    sse as idp_sse,
)
from reproduction.papers.idp.audit_section import audit
from reproduction.papers.idp.names import (
    AUDITED,
    CLUSTERED,
    FOREST_TITLES,
    HONEST,
    MASKED,
    SSE_TITLES,
    common,
    judged,
    shown,
    shown_epsilons,
)
from reproduction.papers.idp.noises import noises
from reproduction.papers.idp.sections import (
    forests,
    forests_of,
    in_words,
    line_at,
    overview,
    sse,
)
from reproduction.study.pages import Origin

COMPILED: list[BytecodeCache] = []
PREPARE = {
    "overview": overview,
    "sse": sse,
    "forests": forests,
    "privacy": audit,
    "noises": noises,
}
NEEDS = {
    "overview": ("idp_audit",),
    "sse": ("idp_fig3", "idp_fig4"),
    "forests": ("idp_fig5", "idp_fig6"),
    "privacy": ("idp_audit",),
    "noises": ("idp_noises",),
}


@pytest.fixture(scope="module")
def tables() -> dict[str, pd.DataFrame]:
    return all_tables()


@pytest.fixture(scope="module", autouse=True)
def _compiled_once(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Compile each template once, for all pages."""
    COMPILED.append(FileSystemBytecodeCache(str(tmp_path_factory.mktemp("templates"))))


# -- on the page -----------------------------------------------------------------------------------


def render(name: str, tables: dict[str, pd.DataFrame], surrogate: bool = False) -> str:
    """Return a section as the report shows it."""
    origin = Origin("reproduction.papers.idp.audit:audit_table", "idp_audit")
    content = PREPARE[name](tables)
    return render_section(f"idp/{name}", content, tables, origin, COMPILED[-1], surrogate=surrogate)


def words(part: str) -> str:
    """Return what is read of a part of the page."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", part))


def cells(part: str, label: str) -> list[list[str]]:
    """Return the words of the rows that start with a label."""
    rows = re.findall(r"<tr.*?</tr>", part, flags=re.DOTALL)
    found = [[words(c).strip() for c in re.findall(r"<td.*?</td>", row, re.DOTALL)] for row in rows]
    return [row for row in found if row and row[0] == label]


@pytest.mark.parametrize("name", PREPARE)
def test_a_section_is_whole(name: str, tables: dict[str, pd.DataFrame]) -> None:
    page = render(name, tables)
    for tag in ("table", "tr", "td", "th", "p", "div", "details", "dl", "dd", "ul", "li", "b"):
        assert len(re.findall(rf"<{tag}[\s>]", page)) == page.count(f"</{tag}>"), tag
    assert " nan" not in words(page)
    assert "None" not in words(page)
    for table in NEEDS[name]:
        assert f'href="tables/{table}.csv"' in page
    for verdict in ("holds", "fails", "undecided"):
        for cell in re.findall(rf'<td class="[^"]*\b{verdict}\b[^"]*"[^>]*>(.*?)</td>', page):
            assert SIGN[verdict] in cell, cell
    rows = re.findall(r"<table>.*?</table>", page, flags=re.DOTALL)
    assert rows
    assert all("<caption>" in row or "<thead>" in row for row in rows)


@pytest.mark.parametrize("name", ["overview", "forests"])
def test_values_are_escaped(name: str, tables: dict[str, pd.DataFrame]) -> None:
    page = render(name, tables)
    assert "&lt;b&gt;" in page
    assert "common <b>" not in page


@pytest.mark.parametrize("name", PREPARE)
def test_rows_span_what_the_head_spans(name: str, tables: dict[str, pd.DataFrame]) -> None:
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


SHOWN_IN = {
    **dict.fromkeys(("idp_fig3", "idp_fig4"), ("overview", "sse")),
    **dict.fromkeys(("idp_fig5", "idp_fig6"), ("overview", "forests")),
    "idp_expected_sse": ("sse",),
}
"""The sections that show a table, if not the page and the audit."""
MISSING = [
    ("idp_audit", "reading == 'as it runs'"),
    ("idp_audit", "reading == 'scale frozen'"),
    ("idp_audit", "unit == 'record'"),
    ("idp_audit", "dataset == 'wine' and epsilon == 1"),
    ("idp_audit", "method == 'dp'"),
    ("idp_audit", "domain == 'public' and k == 3"),
    ("idp_audit_clusters", "method == 'dp_um'"),
    ("idp_audit_clusters", "domain_factor == 10"),
    ("idp_attacks", "method == 'dp'"),
    ("idp_attacks", "attack == 'partition' and k == 3"),
    ("idp_protection", "dataset == 'none'"),
    ("idp_protection", "measure == 'records linked' and epsilon == 1"),
    ("idp_protection", "measure == 'values known for certain'"),
    ("idp_fig3", "method == 'idp_cbls'"),
    ("idp_fig3", "method == 'least_dp'"),
    ("idp_fig3", "epsilon == 1 and domain_factor == 10"),
    ("idp_fig4", "k == 3"),
    ("idp_fig5", "method == 'original'"),
    ("idp_fig5", "method == 'majority'"),
    ("idp_fig5", "method == 'idp_cbls' and epsilon == 0.1"),
    ("idp_fig6", "method in ('dp_rule', 'dp')"),
    ("idp_fig6", "`class` == 'rare'"),
]


@pytest.mark.parametrize(("table", "rows"), one_in(4, MISSING))
def test_what_a_config_does_not_ask_for_is_not_missed(
    tables: dict[str, pd.DataFrame], table: str, rows: str
) -> None:
    fewer = tables | {table: tables[table].query(rows)}
    assert len(fewer[table])
    for name in SHOWN_IN.get(table, ("overview", "privacy")):
        text = words(render(name, fewer))
        assert " nan" not in text
        assert "None" not in text


@pytest.mark.parametrize("name", PREPARE)
def test_tables_that_are_missing_leave_out_what_rests_on_them(
    name: str, tables: dict[str, pd.DataFrame]
) -> None:
    alone = {table: tables[table] for table in NEEDS[name]}
    page = render(name, alone)
    assert " nan" not in words(page)
    for table in tables.keys() - alone.keys():
        assert f"/{table}.csv" not in page


# -- promised, delivered, protected ----------------------------------------------------------------


def test_the_page_has_a_row_a_method_with_what_was_found(tables: dict[str, pd.DataFrame]) -> None:
    page = render("overview", tables).split("<details>", maxsplit=1)[0]
    (row, _) = cells(page, "iDP-CBLS")
    assert row[1:4] == ["∞ ✗of 0.111", "∞ ✗of 0.111", "∞ ✗of 1.00"]
    assert row[4:8] == ["2.00 %", "20.0 %", "3.70 %", "98.5 % ✗"]
    errors = tables["idp_fig3"].query("method == 'idp_cbls' and domain_factor == 1.5 and k == 10")
    shown_errors = errors.set_index("epsilon")["mean_sse"]
    assert row[8:] == [short(shown_errors[0.1]), short(shown_errors[1.0]), *["0.840 · 0.480"] * 2]
    assert cells(page, "iDP-LS")[0][1] == "≥ 0.456 ✗of 0.111"
    assert cells(page, "DP-UM")[0][1:4] == ["0.111 ✓of 0.111", "0.111 ✓of 0.111", "∞ ✗of 1.00"]
    assert cells(page, "DP")[0][3] == "0.990 ✓of 1.00"
    assert cells(page, "threshold rule")[0][1:3] == [
        "✓ true DP: what is promised, by proof",
        "noticed in at most 73.1 %, by proof",
    ]
    assert cells(page, "microaggregation alone")[0][2:5] == ["99.8 %", "99.8 %", "1.95 %"]
    assert cells(page, "no data: 0, majority class")[0][-1] == "0.900 · 0.000"


def test_a_promise_that_is_kept_is_not_called_broken(tables: dict[str, pd.DataFrame]) -> None:
    broken = words(render("overview", tables))
    assert "no finite ε at all" in broken
    assert "An iDP release is microaggregation with noise" in broken
    assert "under iDP-CBLS in at least 2.00 % at ε = 0.1" in broken
    assert "What one intruder finds is a lower bound" in broken
    assert "Noise does work" not in broken
    assert "DP-UM keeps its promise for centroids" in broken
    table = tables["idp_audit"].copy()
    kept = {"exact_or_lower_bound": table["claimed_epsilon"], "times_claimed": 1.0, "holds": True}
    page = words(render("overview", tables | {"idp_audit": table.assign(**kept)}))
    for said in ("no finite ε at all", "An iDP release is microaggregation", "guarantees nothing"):
        assert said not in page


def test_values_are_certain_only_where_noise_is_missing(tables: dict[str, pd.DataFrame]) -> None:
    rows = overview(tables)["datasets"]["census"]["by"]
    certain = {name: row["certain"] for name, row in rows.items()}
    assert certain == {"dp": 0.0, "dp_um": 0.0, "idp_ls": 0.0, "idp_cbls": 0.037}
    noisy = tables["idp_audit_clusters"].assign(clusters_without_noise=0.1)
    rows = overview(tables | {"idp_audit_clusters": noisy})["datasets"]["census"]["by"]
    assert rows["idp_ls"]["certain"] is None


def test_the_best_classifier_with_true_dp_is_found(tables: dict[str, pd.DataFrame]) -> None:
    best = overview(tables)["datasets"]["census"]["best"]
    assert {epsilon: line["method"] for epsilon, line in best.items()} == {
        0.1: "dp_rule",
        1.0: "dp_rule",
    }


def test_the_settings_of_one_page_are_those_that_tables_share(
    tables: dict[str, pd.DataFrame],
) -> None:
    at = shown(tables)
    assert (at.k, at.factor, at.epsilons) == (10, 1.5, [0.1, 1.0])
    fewer = {
        name: table.query("k != 10") if "k" in table else table for name, table in tables.items()
    }
    assert shown(fewer).k == 3
    assert shown({"idp_audit": tables["idp_audit"].query("epsilon == 0.01")}).epsilons == [0.01]


def test_the_commonest_comes_first_then_the_nearest() -> None:
    some = {"a": pd.DataFrame({"k": [3, 9]}), "b": pd.DataFrame({"k": [3, 11, np.nan]})}
    assert common(some.values(), "k", 10) == 3
    assert common([some["a"]], "k", 10) == 9
    assert common([], "k", 10) is None
    assert shown_epsilons([0.5]) == [0.5]
    assert shown_epsilons([]) == []


# -- Figures 3 to 6 --------------------------------------------------------------------------------


def test_what_the_figures_of_errors_say_is_counted(tables: dict[str, pd.DataFrame]) -> None:
    found = sse(tables)["datasets"]["census"]
    settings = len(EPSILONS) * len(FACTORS) * len(SIZES)
    assert found["ordered"] == (settings, settings)
    assert found["below_least"] == (0, settings)
    assert found["beats_median"] == (0, settings)
    assert list(found["useless"]) == list(MASKED)
    assert found["useless"]["dp"] == (len(EPSILONS) * len(FACTORS),) * 2  # once, whatever k
    assert found["flat"]["saved"] == 0
    assert found["gains"][-1]["low"] == pytest.approx(1000 * 2)  # (1 + epsilon) at 1
    assert found["widening"][0]["high"] == pytest.approx(1)
    assert "all 12 settings" in words(render("sse", tables))
    higher = tables["idp_expected_sse"].assign(expected_sse=1e9)
    above = sse(tables | {"idp_expected_sse": higher.query("method == 'idp_cbls'")})
    assert above["datasets"]["census"]["ordered"] == (0, settings)  # what is expected counts
    turned = sse_table()
    turned.loc[turned["method"] == "least_dp", "mean_sse"] = 1e6
    found = sse({"idp_fig3": turned})["datasets"]["census"]
    assert found["below_least"] == (settings, settings)


def test_simulation_is_confirmed_over_all_cells(tables: dict[str, pd.DataFrame]) -> None:
    cells = 2 * len(EPSILONS) * len(FACTORS) * (1 + 3 * len(SIZES))
    found = sse(tables)["confirmed"]
    assert (found["cells"], found["sum"]) == (cells, 4 * cells)
    assert found["p"] == pytest.approx(stats.chi2.sf(4 * cells, cells))
    assert f"of {cells} cells sum up to {4 * cells}" in words(render("sse", tables))


def test_a_trap_is_called_one_only_where_it_is_one(tables: dict[str, pd.DataFrame]) -> None:
    page = render("forests", tables)
    trapped, free = page.split("<h3>White wine</h3>")
    assert "A trap in the measure." in words(trapped)
    assert "more than the 0.850 of the bound" in words(trapped)
    assert "A trap in the measure." not in words(free)
    assert "less than the 0.850 of the bound" in words(free)
    assert "plain noise in all 6 settings" in words(trapped)


def test_forests_are_arranged_by_setting() -> None:
    found = forests_of(forest_table())
    assert (found["common"], found["rare"]) == ("common <b>", "rare")
    assert found["k"] == 10
    assert line_at(found, "original", 0.1, 1.5) == found["original"]
    line = line_at(found, "idp_cbls", 0.1, 1.5)
    assert line is not None
    assert (line["k"], line["mean"]) == (10, pytest.approx(0.66))
    assert line_at(found, "dp_median", 0.1, 1.5) is None
    assert found["unlearned"]["dp"] == (6, 6)
    assert found["unlearned"]["idp_cbls"] == (0, 12)
    assert found["best"][1.0]["honest"]["method"] == "dp_rule"


# -- the audit -------------------------------------------------------------------------------------


def test_the_audit_is_summed_up(tables: dict[str, pd.DataFrame]) -> None:
    found = audit(tables)
    tight = {row["method"]: row for row in found["tightness"] if row["dataset"] == "census"}
    assert tight["idp_cbls"]["verdict"] == "holds"
    assert tight["idp_cbls_prose"]["verdict"] == "fails"
    assert tight["idp_cbls_prose"]["fixed"] == (2.0, 2.0)
    assert found["composition"]["fails"]
    assert found["composition"]["kept"]
    cbls = [row for row in found["composition"]["rows"] if row["method"] == "idp_cbls"]
    assert cbls[0]["everyone"]
    assert cbls[0]["cells"][10]["value"] == 272
    count = 2 * len(EPSILONS) * len(SIZES) * 4
    expected = {"of": count, "endless": count, "delta": 0.9987}
    assert found["records"] == expected | {"shuffled_of": count, "shuffled": count}
    runs = {row["method"]: row for row in found["runs"]["rows"]}
    assert runs["idp_ls"]["cells"][10]["verdict"] == "fails"
    assert runs["dp_um"]["cells"][10]["verdict"] == "holds"
    assert found["noiseless"]["rows"][0]["cells"][10]["mean"] == 0.25
    assert found["noiseless"]["rows"][0]["cells"][10]["worst"]["attribute"] == "FICA"
    certified = {row["method"]: row for row in found["certificate"]["rows"]}
    assert certified["idp_cbls"]["cells"][1.0, "all"]["exact_or_lower_bound"] == 13
    assert certified["dp"]["cells"][1.0, "all"]["verdict"] == "undecided"
    assert found["domain"]["endless"] == ["DP-UM", "iDP-LS", "iDP-CBLS"]
    assert found["protection"]["linked"][0]["alone"] == 0.998
    assert found["readings"]["kept"]
    assert found["readings"]["names"] == list(names.READINGS)
    assert found["protection"]["nearest"]["census", 10, "idp_cbls", 1.0] == 0.1


def test_the_charitable_reading_is_conditional(tables: dict[str, pd.DataFrame]) -> None:
    part = render("privacy", tables).split("What is held fixed decides")[1]
    assert "Under that charitable reading every claim holds" in words(part)
    assert "conditional on both, and says nothing of the release" in words(part)
    rows = audit(tables)["readings"]["rows"]
    (own,) = [r["cells"] for r in rows if (r["dataset"], r["method"]) == ("census", "idp_cbls")]
    spent = {name: own[name, "record"]["verdict"] for name in names.READINGS}
    assert list(spent.values()) == ["holds", "fails", "fails"]
    table = tables["idp_audit"]
    broken = table.assign(holds=table["holds"].where(table["clusters"] != "fixed", False))
    assert "Under that charitable" not in words(render("privacy", tables | {"idp_audit": broken}))


def test_headings_of_the_audit_follow_what_was_found(tables: dict[str, pd.DataFrame]) -> None:
    page = words(render("privacy", tables))
    assert "One centroid: the sensitivities are right" in page
    assert "too small by a factor of up to 2.00" in page
    assert "parallel composition fails" in page
    clusters = tables["idp_audit_clusters"]
    kept = clusters.assign(attribute_times_claimed=0.9, tightness_fixed=1.0, tightness_anew=1.0)
    page = words(render("privacy", tables | {"idp_audit_clusters": kept}))
    assert "parallel composition fails" not in page
    assert "is large enough on these files too" in page
    wrong = clusters.assign(tightness_anew=1.5)
    page = words(render("privacy", tables | {"idp_audit_clusters": wrong}))
    assert "not every sensitivity is right" in page


@pytest.mark.parametrize(
    ("holds", "verdict"),
    [
        (True, "holds"),
        (False, "fails"),
        (np.nan, "undecided"),
        (None, "undecided"),
        (np.bool_(False), "fails"),
        (pd.NA, "undecided"),
    ],
)
def test_a_bound_that_decides_nothing_is_no_verdict(holds: Any, verdict: str) -> None:
    assert judged({"holds": holds})["verdict"] == verdict


# -- names -----------------------------------------------------------------------------------------


def test_methods_are_called_by_their_names() -> None:
    assert in_words("idp_cbls over dp at 10 epsilon") == "iDP-CBLS over DP at 10 ε"
    assert in_words("dp_synthetic, dp_median") == "synthetic records, median of the class"


# -- the same names on the page, in the figures and in the studies ---------------------------------


def test_what_is_drawn_is_called_the_same_on_the_page() -> None:
    assert set(drawn.SSE_LINES) == set(SSE_TITLES)
    assert set(drawn.FOREST_LINES) == set(FOREST_TITLES)
    for name, (_, _, label) in drawn.METHODS.items():
        assert label.startswith(AUDITED[name].split(" ")[0])


def test_nothing_that_a_config_can_ask_for_lacks_a_name() -> None:
    def named(grid: Any) -> set[str]:
        return set(grid.model_json_schema()["properties"]["method"]["items"]["enum"])

    assert named(config_idp.SseGrid) == set(SSE_TITLES)
    assert named(config_idp.ForestGrid) == set(FOREST_TITLES)
    assert set(AUDITED) == set(idp_audit.VARIANTS)
    assert set(CLUSTERED) == set(idp_attacks.ATTACKED)
    honest = {*idp_sse.SSE_COMPETITORS, *idp_forests.FOREST_COMPETITORS} - {
        "no_data",
        "least_dp",
    }
    assert set(HONEST) == honest


def test_the_words_of_the_audit_are_those_of_its_tables() -> None:
    assert names.FROZEN == idp_audit.FROZEN
    assert names.AS_IT_RUNS == idp_audit.AS_IT_RUNS
    assert (names.FIXED, names.ANEW) == (idp_audit.FIXED, idp_audit.ANEW)
    assert names.ALL == idp_audit.ALL
    assert set(names.UNITS) == {"centroid", "attribute", "record"}
    assert set(names.ATTACKS) == set(drawn.ATTACKS)
