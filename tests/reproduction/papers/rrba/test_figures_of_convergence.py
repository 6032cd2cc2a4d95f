"""Figures of [rrba], from the tables that the library's own functions make."""

import itertools
from pathlib import Path

import pandas as pd
import pytest
from tests.display.figure_checks import BANNER, cut_off, extents, saved
from tests.simulations import simulated_whole

from deniable.records.categorical import Microdata

from reproduction.papers.rrba import figures
from reproduction.papers.rrba.convergence import Convergence
from reproduction.papers.rrba.exact import figure_4_table
from reproduction.study.engine import plotted

KEYS = ("dataset", "probability", "block_size", "p", "update", "criterion", "measure")


def simulated(data: Microdata, names: list[str], keeps: list[float]) -> pd.DataFrame:
    grid = {
        "dataset": names,
        "probability": [0.05, 0.1, 0.2, 0.3],
        "block_size": [18, 50],
        "p": keeps,
        "update": ["printed", "projected", "pooled"],
    }
    results = simulated_whole(
        Convergence(dict.fromkeys(names, data), blocks=20), "rrba", [grid], 6
    ).assign(data_source="network")
    return plotted(results, KEYS, "mean")


@pytest.fixture(scope="module")
def by_dataset(small_data: Microdata) -> pd.DataFrame:
    return simulated(small_data, ["survey", "alarm", "child"], [0.5])


@pytest.fixture(scope="module")
def by_p(small_data: Microdata) -> pd.DataFrame:
    return simulated(small_data, ["alarm"], [0.009, 0.048, 0.095, 0.139, 0.221, 0.295])


def test_figure_4_stays_on_its_canvas() -> None:
    assert cut_off(extents(figures.fig4(figure_4_table()))) == []


@pytest.mark.slow
def test_figure_5_stays_on_its_canvas(by_dataset: pd.DataFrame) -> None:
    assert cut_off(extents(figures.fig5(by_dataset))) == []


def test_the_texts_of_figure_6_stay_on_its_canvas_and_apart(by_p: pd.DataFrame) -> None:
    found = extents(figures.fig6(by_p))
    assert cut_off(found) == []
    above = [box for text, box in found.items() if text.startswith(("Figure", "means", "p ="))]
    for a, b in itertools.combinations(above, 2):
        assert not a.overlaps(b)


def test_figures_show_each_cell_once_a_panel(by_dataset: pd.DataFrame) -> None:
    figure = figures.fig5(by_dataset)
    assert len(figure.axes) == 12
    for axes in figure.axes:
        assert len(axes.lines) == 1 + 3 * 4  # all answers; four cells with line and two markers


@pytest.mark.slow
def test_surrogate_data_are_marked(by_dataset: pd.DataFrame) -> None:
    figure = figures.fig5(by_dataset.assign(data_source="surrogate"))
    assert BANNER in [text.get_text() for text in figure.texts]
    assert cut_off(extents(figure)) == []


@pytest.mark.slow
def test_the_same_table_gives_the_same_bytes(by_dataset: pd.DataFrame, tmp_path: Path) -> None:
    first = saved(figures.fig5(by_dataset), tmp_path, "a")
    assert first == saved(figures.fig5(by_dataset), tmp_path, "b")
