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

from deniable.idp.audit import report as idp_audit

from reproduction.papers.idp import (
    attacks as idp_attacks,
    figures as drawn,
    names,
    settings as config_idp,
)
from reproduction.papers.idp.audit_section import privacy
from reproduction.papers.idp.names import (
    AUDITED,
    BEST_DP,
    CLUSTERED,
    DP_BASELINES,
    FOREST_LABELS,
    FOREST_TITLES,
    MASKED,
    SSE_TITLES,
    shown,
    verdict_of,
)
from reproduction.papers.idp.sections import (
    WORDS,
    forests,
    noises,
    overview,
    simulation_test,
    sse,
)
from reproduction.papers.sections import in_words
from reproduction.study import SIGN

COMPILED: list[BytecodeCache] = []
PREPARE = {
    "overview": overview,
    "sse": sse,
    "forests": forests,
    "privacy": privacy,
    "noises": noises,
}
NEEDS = {
    "overview": ("idp_audit",),
    "sse": ("idp_fig3", "idp_fig4"),
    "forests": ("idp_fig5", "idp_fig6"),
    "privacy": ("idp_audit", "idp_audit_clusters", "idp_attacks", "idp_protection"),
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
    content = PREPARE[name](tables)
    return render_section(f"idp/{name}", content, tables, COMPILED[-1], surrogate=surrogate)


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


def test_values_are_escaped(tables: dict[str, pd.DataFrame]) -> None:
    page = render("overview", tables)
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


def test_a_method_has_one_row_with_what_was_found(tables: dict[str, pd.DataFrame]) -> None:
    table = overview(tables)["datasets"]["Census"]
    rows = {row[0]: list(row[1:]) for row in table.rows}
    assert table.heads[1].endswith("one centroid, of 0.111")
    own = rows["iDP-CBLS"]
    assert own[:3] == ["∞ ✗"] * 3
    assert own[3:7] == ["2.00 %", "20.0 %", "3.70 %", "98.5 % ✗"]
    errors = tables["idp_fig3"].query("method == 'idp_cbls' and domain_factor == 1.5 and k == 10")
    shown_errors = errors.set_index("epsilon")["mean_sse"]
    assert [float(text.replace(",", "")) for text in own[7:9]] == pytest.approx(
        [shown_errors[0.1], shown_errors[1.0]], rel=5e-3
    )
    assert own[9:] == ["0.840 · 0.480"] * 2
    assert rows["iDP-LS"][0] == "≥ 0.456 ✗"
    assert rows["DP-UM"][:3] == ["0.111 ✓", "0.111 ✓", "∞ ✗"]
    assert rows["DP"][2] == "0.990 ✓"
    assert rows["threshold rule"][:3] == ["by proof ✓"] * 3
    assert rows["microaggregation alone"][3:6] == ["99.8 %", "99.8 %", "1.95 %"]
    assert rows["no data: 0, majority class"][-1] == "0.900 · 0.000"


def test_a_promise_that_is_kept_is_not_called_broken(tables: dict[str, pd.DataFrame]) -> None:
    broken = words(render("overview", tables))
    assert "released records have no finite ε" in broken
    assert "An iDP release is microaggregation with noise" in broken
    assert "DP-UM keeps its promise for centroids" in broken
    table = tables["idp_audit"].copy()
    kept = {"exact_or_lower_bound": table["claimed_epsilon"], "times_claimed": 1.0, "holds": True}
    page = words(render("overview", tables | {"idp_audit": table.assign(**kept)}))
    for said in (
        "released records have no finite ε",
        "An iDP release is microaggregation",
        "guarantees nothing",
    ):
        assert said not in page


def test_values_are_certain_only_where_noise_is_missing(tables: dict[str, pd.DataFrame]) -> None:
    def certain(made: dict[str, pd.DataFrame]) -> dict[str, str]:
        table = overview(made)["datasets"]["Census"]
        place = table.heads.index("values known for certain")
        return {row[0]: row[place] for row in table.rows}

    found = certain(tables)
    assert [found[title] for title in MASKED.values()] == ["0 %", "0 %", "0 %", "3.70 %"]
    noisy = tables["idp_audit_clusters"].assign(clusters_without_noise=0.1)
    assert certain(tables | {"idp_audit_clusters": noisy})["iDP-LS"] == "–"


def test_the_settings_of_one_page_are_those_of_the_audit(
    tables: dict[str, pd.DataFrame],
) -> None:
    at = shown(tables)
    assert (at.k, at.factor, at.epsilons) == (10, 1.5, [0.1, 1.0])
    fewer = {
        name: table.query("k != 10") if "k" in table else table for name, table in tables.items()
    }
    assert shown(fewer).k == 3
    assert shown({"idp_audit": tables["idp_audit"].query("epsilon == 0.01")}).epsilons == [0.01]


# -- Figures 3 to 6 --------------------------------------------------------------------------------


def test_ratios_of_errors_are_counted_by_epsilon(tables: dict[str, pd.DataFrame]) -> None:
    def last(made: dict[str, pd.DataFrame]) -> dict[str, str]:
        return {row[0]: row[-1] for row in sse(made)["datasets"]["idp_fig3"][1].rows}

    settings = len(FACTORS) * len(SIZES)
    found = last(tables)
    assert found["iDP-CBLS / least SSE of central ε-DP"].endswith(f"0 of {settings}")
    assert found["DP / a file of zeros"].endswith(f"0 of {len(FACTORS)}")  # once, whatever k
    assert found["iDP-CBLS / DP"].endswith(f"{settings} of {settings}")
    turned = sse_table()
    turned.loc[turned["method"] == "least_dp", "mean_sse"] = 1e6
    below = last({"idp_fig3": turned, "idp_fig4": turned})["iDP-CBLS / least SSE of central ε-DP"]
    assert below.endswith(f"{settings} of {settings}")


def test_simulation_is_confirmed_over_all_cells(tables: dict[str, pd.DataFrame]) -> None:
    cells = 2 * len(EPSILONS) * len(FACTORS) * (1 + 3 * len(SIZES))
    found = sse(tables)["confirmed"]
    assert (found["cells"], found["groups"], found["apart"], found["p"]) == (cells, 8, 0, 1)
    said = f"in {cells} settings, for 8 pairs"
    assert said in words(render("sse", tables))


OF_BOTH = [(data, method) for data in ("census", "wine") for method in MASKED]


def skewed(generator: np.random.Generator, runs: int, factor: float = 1.0) -> pd.DataFrame:
    """Return means of `runs` squares of Laplace noise; those of one method are off by a factor."""
    tables = []
    for number, (dataset, method) in enumerate(OF_BOTH):
        means = (generator.laplace(0, 1, (60, runs)) ** 2 / 2).mean(axis=1)
        own = pd.DataFrame({"mean_sse": means * (factor if number == 5 else 1.0)})
        tables.append(own.assign(dataset=dataset, method=method, expected_sse=1.0))
    return pd.concat(tables)


@pytest.mark.parametrize("runs", [5, 40])
def test_few_replicates_do_not_say_that_the_simulation_is_wrong(runs: int) -> None:
    generator, trials = np.random.default_rng(runs), 200
    alarms = sum(simulation_test(skewed(generator, runs))["p"] <= 0.05 for _ in range(trials))
    # A test of 5 % has more than these once in 10,000 times.
    assert alarms <= stats.binom.isf(1e-4, trials, 0.05)


def test_squared_t_values_of_few_replicates_are_not_chi_square() -> None:
    """The test that this one replaces refuses a right simulation nearly always."""
    generator = np.random.default_rng(3)
    drawn = generator.laplace(0, 1, (30, 480, 5)) ** 2 / 2 - 1
    t = drawn.mean(axis=2) / stats.sem(drawn, axis=2)
    scores = stats.norm.ppf(stats.t.cdf(t, 4))
    assert (stats.chi2.sf((scores**2).sum(axis=1), 480) <= 0.05).mean() > 0.9


def test_a_wrong_scale_of_one_method_is_found() -> None:
    generator = np.random.default_rng(1)
    found = [simulation_test(skewed(generator, 40, 1.5))["p"] for _ in range(20)]
    assert max(found) < 0.01


def test_classes_that_are_not_learned_are_counted() -> None:
    tables = {"idp_fig5": forest_table(), "idp_fig6": forest_table()}
    _, found = forests(tables)["datasets"]["idp_fig5"]
    unlearned = {row[0]: row[1:] for row in found["unlearned"].rows}
    assert unlearned["DP"] == ("6", "6")
    assert unlearned["iDP-CBLS"] == ("0", "12")
    best = {row[:2]: row[2] for row in found["best"].rows}
    assert best["1", "central ε-DP"] == "threshold rule"


# -- the audit -------------------------------------------------------------------------------------


def test_the_audit_is_arranged_by_method(tables: dict[str, pd.DataFrame]) -> None:
    found = privacy(tables)

    def rows(name: str) -> dict[tuple[str, ...], dict[str, str]]:
        table = found[name]
        return {row[:2]: dict(zip(table.heads, row, strict=True)) for row in table.rows}

    assert rows("tightness")["Census", "iDP-CBLS"]["largest"].endswith("✓")
    prose = rows("tightness")["Census", AUDITED["idp_cbls_prose"]]
    assert (prose["members stay"], prose["largest"]) == ("2.00", "2.00 ✗")
    assert rows("composition")["Census", "iDP-CBLS"]["k = 10"] == "272 ✗ *"
    assert rows("composition")["Census", "DP-UM"]["k = 10"].endswith("✓")
    count = str(2 * len(EPSILONS) * len(SIZES) * 4)
    assert found["records"].rows[0] == ("as in the file", count, count, "0.999")
    assert found["records"].rows[1][:3] == ("random", count, count)
    assert rows("noiseless")["Census", "iDP-CBLS"]["k = 10"].startswith("25.0 % (FICA:")
    proved = {row[:3]: row[-1] for row in found["certificate"].rows}
    assert proved["Census", "iDP-CBLS", "all"] == "≥ 13.0 ✗"
    assert "✗" not in proved["Census", "DP", "all"]
    linked = {row[:3]: row for row in found["linked"].rows}
    assert linked["Census", "iDP-CBLS", "10"][3] == "99.8 %"
    assert linked["Census", "iDP-CBLS", "10"][-1].endswith("(10.0 %)")


def test_each_reading_has_its_verdict(tables: dict[str, pd.DataFrame]) -> None:
    rows = {row[:3]: row[-1] for row in privacy(tables)["readings"].rows}
    spent = [rows[name, "Census", "iDP-CBLS"][-1] for name in names.READINGS]
    assert spent == ["✓", "✗", "✗"]


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
    assert verdict_of(holds) == verdict


# -- names -----------------------------------------------------------------------------------------


def test_methods_are_called_by_their_names() -> None:
    assert in_words("idp_cbls over dp at 10 epsilon", WORDS) == "iDP-CBLS over DP at 10 ε"
    assert in_words("dp_synthetic, dp_median", WORDS) == "synthetic records, median of the class"


# -- the same names on the page, in the figures and in the studies ---------------------------------


def test_what_is_drawn_is_called_the_same_on_the_page() -> None:
    assert set(drawn.SSE_LINES) == set(SSE_TITLES)
    # One line is the best of the classifiers under true DP; the majority class is an area.
    rest = {name for name in FOREST_TITLES if name == "majority" or name in DP_BASELINES}
    assert set(drawn.FOREST_LINES) == set(FOREST_TITLES) - rest | {BEST_DP}
    assert set(drawn.FOREST_LINES) <= set(FOREST_LABELS)
    for name, look in drawn.METHODS.items():
        assert look["label"].startswith(AUDITED[name].split(" ")[0])


def test_nothing_that_a_config_can_ask_for_lacks_a_name() -> None:
    def named(grid: Any) -> set[str]:
        return set(grid.model_json_schema()["properties"]["method"]["items"]["enum"])

    assert named(config_idp.SseGrid) == set(SSE_TITLES)
    assert named(config_idp.ForestGrid) == set(FOREST_TITLES)
    assert set(AUDITED) == set(idp_audit.VARIANTS)
    assert set(CLUSTERED) == set(idp_attacks.ATTACKED)
    offered = named(config_idp.SseGrid) | named(config_idp.ForestGrid)
    honest = offered - {*MASKED, "no_data", "least_dp", "original", "majority"}
    assert set(DP_BASELINES) == honest


def test_the_words_of_the_audit_are_those_of_its_tables() -> None:
    assert names.FIXED_SCALE == idp_audit.FIXED_SCALE
    assert names.RECOMPUTED_SCALE == idp_audit.RECOMPUTED_SCALE
    assert (names.FIXED, names.RECLUSTERED) == (idp_audit.FIXED, idp_audit.RECLUSTERED)
    assert names.ALL == idp_audit.ALL
    assert set(names.UNITS) == {"centroid", "attribute", "record"}
