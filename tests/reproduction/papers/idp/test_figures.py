"""Figures 3 to 6 of [idp]: whole, legible, the same bytes each time, marked if surrogate."""

import itertools
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from tests.display.figure_checks import BANNER, cut_off, extents, saved
from tests.slow_variants import all_but_first

from reproduction.papers.idp import figures as idp
from reproduction.papers.idp.names import FOREST_TITLES, SSE_TITLES

EPSILONS, FACTORS, SIZES = (0.01, 0.1, 1.0), (1.5, 10.0), (3, 10, 100, 400)
DRAW = {
    "fig3": (idp.errors, "census"),
    "fig4": (idp.errors, "wine"),
    "fig5": (idp.f_measures, "census"),
    "fig6": (idp.f_measures, "wine"),
}


@pytest.fixture(autouse=True)
def _nothing_warns() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def sse_table(epsilons: tuple[float, ...] = EPSILONS) -> pd.DataFrame:
    rows = [
        {"method": method, "epsilon": epsilon, "domain_factor": factor, "k": k}
        | {"mean_sse": 10.0 ** (number - 2) / epsilon * factor}
        for (number, method), epsilon, factor, k in itertools.product(
            enumerate(idp.SSE_LINES), epsilons, FACTORS, SIZES
        )
    ]
    table = pd.DataFrame(rows)
    return table.assign(
        ci_low=table["mean_sse"] * 0.8,
        ci_high=table["mean_sse"] * 1.2,
        replicates=200,
        data_source="original",
    )


def forest_table(epsilons: tuple[float, ...] = EPSILONS) -> pd.DataFrame:
    rows = []
    for number, method in enumerate(FOREST_TITLES):
        if method in ("original", "majority"):
            cells = [(0.0, 0.0, 0)]
        else:
            sizes = SIZES if method in ("dp_um", "idp_ls", "idp_cbls") else (0,)
            cells = list(itertools.product(epsilons, FACTORS, sizes))
        rows += [
            {"method": method, "epsilon": epsilon, "domain_factor": factor, "k": k}
            | {"class": name, "f_measure": 0.1 * number}
            for (epsilon, factor, k), name in itertools.product(
                cells, ("Not Excellent", "Excellent")
            )
        ]
    table = pd.DataFrame(rows)
    return table.assign(
        ci_low=table["f_measure"] - 0.05,
        ci_high=table["f_measure"] + 0.05,
        replicates=10,
        data_source="original",
    )


TABLES = {"fig3": sse_table, "fig4": sse_table, "fig5": forest_table, "fig6": forest_table}


def drawn(figure: str, table: pd.DataFrame) -> Figure:
    draw, dataset = DRAW[figure]
    return draw(table, dataset)


@cache
def whole(figure: str) -> Figure:
    """Draw a figure of all that the paper's grid has; for tests that only look at it."""
    return drawn(figure, TABLES[figure]())


@pytest.mark.parametrize("figure", all_but_first(DRAW))
def test_texts_stay_on_the_canvas_and_apart(figure: str) -> None:
    found = extents(whole(figure))
    assert not cut_off(found)
    labels = {
        text: box
        for text, box in found.items()
        if text in {*SSE_TITLES.values(), *FOREST_TITLES.values()} or text.endswith("xaxis")
    }
    for (one, first), (other, second) in itertools.combinations(labels.items(), 2):
        assert not first.overlaps(second), f"{one!r} on {other!r}"


@pytest.mark.parametrize("figure", all_but_first(DRAW))
def test_the_same_table_gives_the_same_bytes(figure: str, tmp_path: Path) -> None:
    table = TABLES[figure]((0.1,))
    first, second = (saved(drawn(figure, table), tmp_path, name) for name in "ab")
    assert first == second


@pytest.mark.parametrize("figure", all_but_first(DRAW))
def test_surrogates_are_marked(figure: str) -> None:
    table = TABLES[figure]()
    assert BANNER not in extents(whole(figure))
    marked = drawn(figure, table.assign(data_source="surrogate"))
    found = extents(marked)
    assert BANNER in found
    assert not cut_off(found)
    title = next(box for text, box in found.items() if text.startswith(("Census", "White")))
    assert not found[BANNER].overlaps(title)


@pytest.mark.parametrize("figure", DRAW)
def test_panels_are_those_of_the_table(figure: str) -> None:
    panels = {"fig3": 2 * 3, "fig4": 2 * 3, "fig5": 2 * 3, "fig6": 2 * 3}
    assert len(whole(figure).axes) == panels[figure]
    few = drawn(figure, TABLES[figure]((0.1,)))
    assert len(few.axes) == {"fig3": 2, "fig4": 2, "fig5": 2, "fig6": 2}[figure]
    assert not cut_off(extents(few))


@pytest.mark.parametrize("figure", DRAW)
def test_each_panel_has_a_line_for_each_method(figure: str) -> None:
    methods = idp.SSE_LINES if figure in ("fig3", "fig4") else idp.FOREST_LINES
    for axes in whole(figure).axes:
        assert len(axes.get_lines()) == len(methods)


def test_forests_show_the_narrow_domain_and_the_best_rival_by_epsilon() -> None:
    table = forest_table()
    wide = table["domain_factor"] == max(FACTORS)
    table.loc[wide, "f_measure"] = 0.99
    weak = (table["epsilon"] == 0.01) & (table["method"] == "dp_synthetic")
    table.loc[weak, "f_measure"] = 0.05  # so that naive Bayes is the best of the three there
    best = {0.01: 0.3, 0.1: 0.4, 1.0: 0.4}
    assert list(FOREST_TITLES)[3:5] == ["dp_naive_bayes", "dp_synthetic"]
    figure = drawn("fig5", table)
    assert len(idp.FOREST_LINES) == 6
    for axes, epsilon in zip(figure.axes, EPSILONS * 2, strict=True):
        rival = next(line for line in axes.get_lines() if line.get_color() == "#009e73")
        assert float(np.asarray(rival.get_ydata())[0]) == pytest.approx(best[epsilon])
        assert max(float(np.max(line.get_ydata())) for line in axes.get_lines()) < 0.99


def test_bands_of_f_measures_end_at_0_and_1() -> None:
    found = idp.with_best_dp(forest_table().assign(ci_low=-0.2, ci_high=1.3))
    assert (found["ci_low"] == 0).all()
    assert (found["ci_high"] == 1).all()


def test_scales() -> None:
    assert {axes.get_yscale() for axes in whole("fig3").axes} == {"log"}
    for axes in whole("fig5").axes:
        assert axes.get_ylim() == (-0.02, 1.02)
        assert axes.get_xticks().tolist() == [3, 10, 30, 100, 300]
    for axes in whole("fig3").axes:
        assert axes.get_xticks().tolist() == [3, 5, 10, 25, 50, 100, 200, 400]


def test_few_methods_and_few_runs_are_drawn() -> None:
    table = sse_table()
    alone = table[table["method"] == "idp_cbls"].assign(ci_low=-float("inf"), ci_high=float("inf"))
    assert not cut_off(extents(idp.errors(alone, "census")))
