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
    above = [
        box
        for text, box in found.items()
        if text.startswith(("Figure", "6 replicates", "blocks of"))
    ]
    assert len(above) == 2 + 2
    for a, b in itertools.combinations(above, 2):
        assert not a.overlaps(b)


def test_figures_show_the_mean_of_each_rule_over_cells(by_dataset: pd.DataFrame) -> None:
    figure = figures.fig5(by_dataset)
    rows = ("tuples", "within")
    assert len(figure.axes) == len(rows) * 3
    panels = itertools.product(rows, ("survey", "alarm", "child"))
    for axes, (measure, name) in zip(figure.axes, panels, strict=True):
        part = by_dataset[(by_dataset["measure"] == measure) & (by_dataset["dataset"] == name)]
        drawn = [tuple(line.get_ydata()) for line in axes.lines if len(line.get_ydata()) == 2]
        for update, criterion in figures.CRITERIA:
            own = part[(part["update"] == update) & (part["criterion"] == criterion)]
            means = own.groupby("block_size")["mean"].mean()
            assert any(line == pytest.approx(tuple(means)) for line in drawn), (update, criterion)
        # Of each rule a line, and markers of the two kinds. Above, all available answers.
        assert len(axes.lines) == 3 * len(figures.CRITERIA) + (measure == "tuples")
        assert len(axes.collections) == len(figures.CRITERIA) * (measure == "tuples")


@pytest.mark.slow
def test_surrogate_data_are_marked(by_dataset: pd.DataFrame) -> None:
    figure = figures.fig5(by_dataset.assign(data_source="surrogate"))
    assert BANNER in [text.get_text() for text in figure.texts]
    assert cut_off(extents(figure)) == []


@pytest.mark.slow
def test_the_same_table_gives_the_same_bytes(by_dataset: pd.DataFrame, tmp_path: Path) -> None:
    first = saved(figures.fig5(by_dataset), tmp_path, "a")
    assert first == saved(figures.fig5(by_dataset), tmp_path, "b")
