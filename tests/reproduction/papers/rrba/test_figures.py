"""Figures of Tables 4 and 5, Figure 7 and equal epsilons, from the library's own tables."""

import itertools
from pathlib import Path

import pandas as pd
import pytest
from matplotlib.transforms import Bbox
from tests.display.figure_checks import BANNER, cut_off, extents, saved
from tests.simulations import simulated_whole

from deniable.records.categorical import Microdata

from reproduction.papers.rrba import figures
from reproduction.papers.rrba.released_tables import EqualEpsilon, PrintedTables, figure_7_table
from reproduction.papers.rrba.table_results import equal_table, printed_table
from reproduction.study.published import read_published

PUBLISHED = Path(__file__).resolve().parents[4] / "resources" / "published"
FILES = ["survey_8000", "survey_8000_resampled", "alarm_8000", "child_8000"]


@pytest.fixture(scope="module")
def published() -> pd.DataFrame:
    tables = [read_published(PUBLISHED / f"rrba_table{n}.csv", "value") for n in (4, 5)]
    return pd.concat(tables)


@pytest.fixture(scope="module")
def tables(small_data: Microdata, published: pd.DataFrame) -> pd.DataFrame:
    grids = [
        {"file": FILES, "k": [2, 3, 4], "p": [p], "epsilon_claimed": [epsilon]}
        for p, epsilon in ((0.4, 0.35), (0.5, 0.5))
    ]
    simulator = PrintedTables(dict.fromkeys(FILES, small_data), block_size=100)
    found = simulated_whole(simulator, "s", grids, 6)
    return printed_table(found.assign(data_source="network"), published)


@pytest.fixture(scope="module")
def figure_7(small_data: Microdata, published: pd.DataFrame) -> pd.DataFrame:
    simulator = PrintedTables(dict.fromkeys(FILES, small_data), block_size=100)
    cells = [
        {"file": file, "k": k, "p": p, "epsilon_claimed": epsilon}
        for file, p, epsilon in (
            ("survey_8000", 0.4, 0.35),
            ("survey_8000", 0.5, 0.5),
            ("alarm_8000", 0.5, 0.5),
        )
        for k in (2, 3, 4)
    ]
    return figure_7_table(
        simulator, cells, published, study="s", root_seed=1, replicates=6, block=6
    )


@pytest.fixture(scope="module")
def equal(small_data: Microdata) -> pd.DataFrame:
    grid = {"file": [FILES[0], FILES[2]], "k": [2, 3, 4], "epsilon": [0.5, 1.0, 2.0, 4.0]}
    simulator = EqualEpsilon(dict.fromkeys(FILES, small_data), block_size=100)
    found = simulated_whole(simulator, "s", [grid], 6)
    return equal_table(found.assign(data_source="network"))


@pytest.fixture(scope="module")
def texts(
    tables: pd.DataFrame, figure_7: pd.DataFrame, equal: pd.DataFrame
) -> dict[str, dict[str, Bbox]]:
    """Where the texts of each figure lie."""
    drawn = {
        "tables": figures.tables(tables),
        "figure 7": figures.fig7(figure_7),
        "equal": figures.equal(equal),
    }
    return {name: extents(figure) for name, figure in drawn.items()}


def test_figures_stay_on_their_canvas(texts: dict[str, dict[str, Bbox]]) -> None:
    for name, found in texts.items():
        assert cut_off(found) == [], name


@pytest.mark.slow
def test_figures_of_a_part_stay_on_their_canvas(tables: pd.DataFrame, equal: pd.DataFrame) -> None:
    for figure in (
        figures.tables(tables[(tables["p"] == 0.4) & (tables["file"] == FILES[0])]),
        figures.equal(equal[(equal["file"] == FILES[0]) & (equal["k"] == 2)]),
    ):
        assert cut_off(extents(figure)) == []


def test_headings_do_not_overlap_titles(texts: dict[str, dict[str, Bbox]]) -> None:
    for found in (texts["tables"], texts["equal"]):
        above = [
            box
            for text, box in found.items()
            if text.startswith(
                ("Distances", "Tables", "tables", "means", "p =", "Survey,", "Alarm,")
            )
            and text != "Survey,\nresampled"  # below the panels
        ]
        assert len(above) > 3
        for a, b in itertools.combinations(above, 2):
            assert not a.overlaps(b)


def test_tables_show_printed_and_regenerated(tables: pd.DataFrame) -> None:
    figure = figures.tables(tables)
    assert len(figure.axes) == 4
    for axes, p, metric in zip(
        figure.axes, (0.4, 0.4, 0.5, 0.5), ("l2", "jensen_shannon") * 2, strict=True
    ):
        reading = "noisy" if metric == "l2" else "projected"
        part = tables[(tables["p"] == p) & (tables["metric"] == metric)]
        part = part[part["reading"] == reading]
        assert len(part) == 4 * 3 * 3
        # A bar and a point a row, and the printed diamonds, in the color of their method.
        assert len(axes.lines) == 2 * len(part) + part["published"].notna().sum()
        assert len(axes.collections) == len(part)
        diamonds = {
            (line.get_markerfacecolor(), float(line.get_ydata()[0]))
            for line in axes.lines
            if line.get_marker() == "D"
        }
        published = part.dropna(subset="published")
        assert diamonds == {
            (figures.METHOD_STYLE[method]["color"], value)
            for method, value in zip(published["method"], published["published"], strict=True)
        }


def test_figure_7_has_the_text_s_panels(figure_7: pd.DataFrame) -> None:
    figure = figures.fig7(figure_7)
    assert len(figure.axes) == 6 * 3
    # Two printed averages each.
    assert {len(axes.lines) for axes in figure.axes} == {2}


@pytest.mark.slow
def test_surrogate_data_are_marked(tables: pd.DataFrame, equal: pd.DataFrame) -> None:
    for figure in (
        figures.tables(tables.assign(data_source="surrogate")),
        figures.equal(equal.assign(data_source="surrogate")),
    ):
        assert BANNER in [text.get_text() for text in figure.texts]
        assert cut_off(extents(figure)) == []


@pytest.mark.slow
def test_the_same_table_gives_the_same_bytes(equal: pd.DataFrame, tmp_path: Path) -> None:
    first = saved(figures.equal(equal), tmp_path, "a")
    assert first == saved(figures.equal(equal), tmp_path, "b")
