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

from reproduction.papers.idp.grid import ESTIMATORS, NOISES
from reproduction.papers.idp.noises import CALLED, COLOURS, drawn, noises
from reproduction.study.pages import Origin

Said = Callable[[pd.DataFrame], str]


def noises_table() -> pd.DataFrame:
    """Return a copy, to be changed."""
    return tables.noises_table().copy()


@pytest.fixture
def said_of(tmp_path: Path) -> Said:
    """Return what gives the words of the section."""
    compiled = FileSystemBytecodeCache(str(tmp_path))
    origin = Origin("reproduction.papers.idp.grid:compare_noises", "idp_noises")

    def said(table: pd.DataFrame) -> str:
        shown = {"idp_noises": table}
        return words(render_section("idp/noises", noises(shown), shown, origin, compiled))

    return said


def at(table: pd.DataFrame, noise: str, estimator: str, epsilon: float) -> pd.Series:
    own = (table["noise"] == noise) & (table["estimator"] == estimator)
    return own & (table["epsilon"] == epsilon)


def test_all_that_is_compared_is_drawn_and_called_by_a_name() -> None:
    assert list(COLOURS) == list(NOISES)
    assert list(CALLED) == list(ESTIMATORS)
    table = noises_table()
    assert table["cells"].eq(8).all()
    assert table["n"].eq(200).all()
    for axes in drawn(table).axes:
        assert len(axes.get_lines()) == 2 * len(NOISES)


def test_the_least_noise_is_said_to_be_least_only_beyond_its_interval(said_of: Said) -> None:
    table = noises_table().assign(wasserstein=0.2, ci_low=0.19, ci_high=0.21)
    table.loc[at(table, "Laplace", "EMS", 4.0), ["wasserstein", "ci_high"]] = (0.1, 0.15)
    said = said_of(table)
    assert (
        "ε = 4, smoothed EM: the least distance has the noise Laplace, 10.0 %; its interval" in said
    )
    assert "undecided, its interval is met by" not in said.split("ε = 4, smoothed")[1].split(".")[0]
    table.loc[at(table, "staircase", "EMS", 4.0), "ci_low"] = 0.15
    (row,) = [
        row
        for row in noises({"idp_noises": table})["least"]
        if row["epsilon"] == 4 and row["estimator"] == "EMS"
    ]
    assert (row["noise"], row["others"]) == ("Laplace", ["staircase"])
    assert "Laplace, 10.0 %; undecided, its interval is met by staircase" in said_of(table)


def test_smoothing_is_counted_where_intervals_are_apart() -> None:
    table = noises_table().assign(ci_low=0.19, ci_high=0.21)
    table.loc[at(table, "Laplace", "EMS", 4.0), ["ci_low", "ci_high"]] = (0.1, 0.15)
    table.loc[at(table, "staircase", "EMS", 0.5), ["ci_low", "ci_high"]] = (0.3, 0.4)
    table.loc[at(table, "staircase", "EMS", 4.0), ["ci_low", "ci_high"]] = (0.2, 0.4)
    assert noises({"idp_noises": table})["smoothing"] == {"nearer": 1, "farther": 1, "of": 8}


def test_intervals_are_said_to_cover_what_they_covered(said_of: Said) -> None:
    table = noises_table()
    made = table["intervals"] > 0
    table.loc[made, "intervals"] = 50
    table.loc[made, ["coverage_mean", "coverage_median"]] = 0.94
    table.loc[made & (table["noise"] == "Laplace"), "coverage_mean"] = [0.5, 0.7]
    covered = noises({"idp_noises": table})["covered"]
    (low,) = [row for row in covered if row["too_few"]]
    assert (low["noise"], low["asked"], low["share"], low["of"]) == ("Laplace", "mean", 0.6, 100)
    said = said_of(table)
    assert "Fewer beyond chance: Laplace, mean (60.0 %). There they are no 95 % intervals." in said
    assert "The other rows do not show that fewer are covered, nor that 95 % are." in said
    table.loc[made, ["coverage_mean", "coverage_median"]] = 0.5
    assert "The other rows" not in said_of(table)
    table.loc[made, ["coverage_mean", "coverage_median"]] = 1.0
    assert "Fewer beyond" not in said_of(table)
    assert "No row shows that fewer are covered; none shows that 95 % are." in said_of(table)


def test_an_epsilon_above_what_was_asked_is_said(said_of: Said) -> None:
    table = noises_table()
    assert "The exact ε of every channel is at most what was asked." in said_of(table)
    table.loc[0, "exact_epsilon"] += 0.1
    assert "Some channel has an exact ε above what was asked." in said_of(table)


@pytest.mark.slow
def test_the_figure_is_legible_the_same_each_time_and_marked(tmp_path: Path) -> None:
    table = noises_table()
    found = extents(drawn(table))
    assert not cut_off(found)
    assert BANNER not in found
    assert BANNER in extents(drawn(table.assign(data_source="surrogate")))
    first, second = (saved(drawn(table), tmp_path, name) for name in "ab")
    assert first == second
