"""What the page says of noises on a public grid, from the tables it says it of."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from jinja2 import FileSystemBytecodeCache
from tests.display.figure_checks import BANNER, cut_off, extents, saved
from tests.display.section_page import render_section
from tests.reproduction.papers.idp import tables
from tests.reproduction.papers.idp.test_sections import words

from reproduction.papers.idp import figures
from reproduction.papers.idp.grid import ESTIMATORS, NOISES
from reproduction.papers.idp.names import ESTIMATORS as CALLED
from reproduction.papers.idp.sections import noises

Said = Callable[[pd.DataFrame], str]


def noises_table() -> pd.DataFrame:
    """Return a copy, to be changed."""
    return tables.noises_table().copy()


@pytest.fixture
def said_of(tmp_path: Path) -> Said:
    """Return what gives the words of the section."""
    compiled = FileSystemBytecodeCache(str(tmp_path))

    def said(table: pd.DataFrame) -> str:
        shown = {"idp_noises": table}
        return words(render_section("idp/noises", noises(shown), shown, compiled))

    return said


def at(table: pd.DataFrame, noise: str, estimator: str, epsilon: float) -> pd.Series:
    own = (table["noise"] == noise) & (table["estimator"] == estimator)
    return own & (table["epsilon"] == epsilon)


def test_all_that_is_compared_is_drawn_and_called_by_a_name() -> None:
    assert list(figures.NOISES) == list(NOISES)
    assert list(CALLED) == list(ESTIMATORS)
    table = noises_table()
    assert table["cells"].eq(8).all()
    assert table["n"].eq(200).all()
    for axes in figures.noises(table).axes:
        assert len(axes.get_lines()) == 2 * len(NOISES)


def test_the_least_noise_is_undecided_within_its_interval() -> None:
    def least(table: pd.DataFrame) -> tuple[str, ...]:
        rows = noises({"idp_noises": table})["least"].rows
        return next(row for row in rows if row[:2] == ("4", "smoothed EM"))

    table = noises_table().assign(wasserstein=0.2, ci_low=0.19, ci_high=0.21)
    table.loc[at(table, "Laplace", "EMS", 4.0), ["wasserstein", "ci_high"]] = (0.1, 0.15)
    assert least(table)[2:5] == ("Laplace", "0.1", "–")
    table.loc[at(table, "staircase", "EMS", 4.0), "ci_low"] = 0.15
    assert least(table)[2:5] == ("Laplace", "0.1", "staircase")


def test_smoothing_is_counted_where_intervals_are_apart() -> None:
    table = noises_table().assign(ci_low=0.19, ci_high=0.21)
    table.loc[at(table, "Laplace", "EMS", 4.0), ["ci_low", "ci_high"]] = (0.1, 0.15)
    table.loc[at(table, "staircase", "EMS", 0.5), ["ci_low", "ci_high"]] = (0.3, 0.4)
    table.loc[at(table, "staircase", "EMS", 4.0), ["ci_low", "ci_high"]] = (0.2, 0.4)
    assert noises({"idp_noises": table})["smoothing"] == {"nearer": 1, "farther": 1, "of": 8}


def test_intervals_that_cover_too_few_beyond_chance_are_marked() -> None:
    table = noises_table()
    made = table["intervals"] > 0
    table.loc[made, "intervals"] = 50
    table.loc[made, ["coverage_mean", "coverage_median"]] = 0.94
    table.loc[made & (table["noise"] == "Laplace"), "coverage_mean"] = [0.5, 0.7]
    covered = noises({"idp_noises": table})["covered"]
    (low,) = [row for row in covered.rows if "✗" in row[2]]
    assert (low[:3], low[4]) == (("Laplace", "mean", "60.0 % ✗"), "100")


def test_an_epsilon_above_what_was_asked_is_said(said_of: Said) -> None:
    table = noises_table()
    assert "The exact ε of every channel is at most the target." in said_of(table)
    table.loc[0, "exact_epsilon"] += 0.1
    assert "Some channel has an exact ε above the target." in said_of(table)


@pytest.mark.slow
def test_the_figure_is_legible_the_same_each_time_and_marked(tmp_path: Path) -> None:
    table = noises_table()
    found = extents(figures.noises(table))
    assert not cut_off(found)
    assert BANNER not in found
    assert BANNER in extents(figures.noises(table.assign(data_source="surrogate")))
    first, second = (saved(figures.noises(table), tmp_path, name) for name in "ab")
    assert first == second
