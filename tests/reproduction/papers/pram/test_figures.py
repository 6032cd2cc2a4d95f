"""Figures of [pram], from the tables that the library's own functions make."""

import itertools
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.transforms import Bbox
from tests.display.figure_checks import BANNER, Tables, cut_off, draw, extents, marked, saved
from tests.simulations import simulated_whole
from tests.slow_variants import all_but_first, one_in

from deniable.records.categorical import Microdata

from reproduction.papers.catalog import FIGURES, TABLES
from reproduction.papers.pram import breaches as pram_breaches
from reproduction.papers.pram.intervals.coverage import PramCoverage
from reproduction.papers.pram.invariant import InvariantPram
from reproduction.papers.pram.joint_loss import JointLoss
from reproduction.papers.pram.variance import variance_inflation
from reproduction.study.engine import plotted

PRAM = [figure for figure in FIGURES if figure.startswith("pram_")]
OF_DATA = [figure for figure in PRAM if figure != "pram_breaches"]  # formulas, of no data
EDUCATION = ("Preschool", "1st-4th", "HS-grad", "Some-college", "Bachelors", "Doctorate")
MAKERS: dict[str, Callable[[Microdata, bool], Tables]] = {}


def simulated(simulator: Any, table: str, grids: list[dict[str, list[Any]]]) -> pd.DataFrame:
    results = simulated_whole(simulator, table, grids, 6).assign(data_source="original")
    return plotted(results, TABLES[table].keys, "mean")


def of_coverage(data: Microdata, few: bool) -> Tables:
    grid = {"channel": ["warner"] if few else ["warner", "ordinal", "neighbours"], "records": [500]}
    return [simulated(PramCoverage(data), "pram_coverage", [grid])]


def of_variance(data: Microdata, few: bool) -> Tables:
    names = ["income"] if few else ["education", "relationship", "race", "income", "sex"]
    epsilons = [2.0] if few else [0.5, 2.0, 4.0]
    table = variance_inflation(data.project(names), epsilons)
    return [table.assign(data_source="original")]


def of_invariant(data: Microdata, few: bool) -> Tables:
    names = ["sex"] if few else ["marital-status", "sex", "income"]
    methods = ["two_step"] if few else ["two_step", "lazy", "resampling", "two_step_fixed"]
    grid = {"attribute": names, "records": [200, 500], "method": methods, "p": [0.5, 0.7]}
    return [simulated(InvariantPram(data), "pram_invariant", [grid])]


def of_joint_loss(data: Microdata, few: bool) -> Tables:
    firsts = ["sex"] if few else ["sex", "marital-status", "race"]
    grid = {"first": firsts, "second": ["income"], "epsilon": [2.0] if few else [1.0, 4.0, 8.0]}
    return [simulated(JointLoss(data), "pram_joint_loss", [grid])]


def of_breaches(data: Microdata, few: bool) -> Tables:
    bounds, approach = pram_breaches.bound_table(), pram_breaches.approach_table()
    return (
        [bounds[bounds["epsilon"] == 1], approach[approach["mass"] < 0.99]]
        if few
        else [bounds, approach]
    )


def of_design(data: Microdata, few: bool) -> Tables:
    """Return designs by hand: the columns are those of `reproduction.papers.pram.design`."""
    rows = [
        {"attribute": attribute, "categories": 5, "epsilon": epsilon, "loss": loss}
        | {"requirements": requirements}
        for attribute, epsilon, (loss, requirements) in itertools.product(
            data.domain.names[: 1 if few else 8],
            [1.0] if few else [0.5, 1.0, 2.0, 4.0],
            [("trace", "epsilon")]
            if few
            else [
                ("trace", "epsilon"),
                ("worst_cell", "epsilon"),
                ("changed", "epsilon, retention"),
                ("trace", "epsilon, invariant"),
            ],
        )
    ]
    table = pd.DataFrame(rows)
    shares = np.linspace(0.4, 1, len(table))
    invariant = table["requirements"].str.contains("invariant")
    return [
        table.assign(
            designed=shares,
            generalized_rr=np.where(invariant, np.nan, 1.0),
            two_step=np.where(invariant, 1.0, np.nan),
            lower_bound=np.where(invariant, np.nan, shares * 0.97),
            optimality="local",
            data_source="original",
        )
    ]


def of_channels(data: Microdata, few: bool) -> Tables:
    rows = [
        {"design": design, "true": u, "reported": v, "probability": 0.7 if u == v else 0.06}
        for design in (["income"] if few else ["a long name of a design", "two", "three"])
        for u, v in itertools.product(EDUCATION, EDUCATION)
    ]
    table = pd.DataFrame(rows).assign(data_source="original")
    table.loc[
        (table["true"] == "Preschool") & (table["reported"] == "Doctorate"), "probability"
    ] = 0
    return [table]


MAKERS |= {
    "pram_coverage": of_coverage,
    "pram_variance": of_variance,
    "pram_invariant": of_invariant,
    "pram_joint_loss": of_joint_loss,
    "pram_breaches": of_breaches,
    "pram_design": of_design,
    "pram_channels": of_channels,
}


@pytest.fixture(scope="module")
def tables_of(adult_like: Microdata) -> Callable[..., Tables]:
    made: dict[tuple[str, bool], Tables] = {}

    def of(figure: str, few: bool = False) -> Tables:
        if (figure, few) not in made:
            made[figure, few] = MAKERS[figure](adult_like, few)
        return made[figure, few]

    return of


@pytest.fixture(autouse=True)
def _nothing_warns() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def test_every_figure_is_drawn_here(tables_of: Callable[..., Tables]) -> None:
    assert set(MAKERS) == set(PRAM)
    for figure in PRAM:
        assert len(tables_of(figure)) == len(FIGURES[figure].tables)


@pytest.mark.parametrize("figure", all_but_first(PRAM))
def test_the_same_tables_give_the_same_bytes(
    tmp_path: Path, tables_of: Callable[..., Tables], figure: str
) -> None:
    tables = tables_of(figure, few=True)
    before = [table.copy() for table in tables]
    one, two = (saved(draw(figure, tables), tmp_path, name) for name in ("one", "two"))
    assert one == two
    for table, unchanged in zip(tables, before, strict=True):
        pd.testing.assert_frame_equal(table, unchanged)


@pytest.mark.parametrize("few", all_but_first([False, True]))
@pytest.mark.parametrize("figure", one_in(3, PRAM))
def test_no_text_is_cut_off_or_hidden(
    tables_of: Callable[..., Tables], figure: str, few: bool
) -> None:
    tables = tables_of(figure, few)
    if figure in OF_DATA:
        tables = marked(tables, data_source="surrogate")
    found = extents(draw(figure, tables))
    assert cut_off(found) == []
    banner = found.pop(BANNER, None)
    assert (banner is not None) == (figure in OF_DATA)
    assert not any("nan" in text for text in found)
    for text, box in found.items():
        assert not (banner and Bbox.intersection(banner, box)), text


@pytest.mark.parametrize("figure", OF_DATA)
def test_the_banner_stands_on_surrogates_only(
    tables_of: Callable[..., Tables], figure: str
) -> None:
    texts = draw(figure, marked(tables_of(figure, few=True), data_source="original")).texts
    assert BANNER not in [text.get_text() for text in texts]


def test_what_is_drawn_of_coverage_are_the_values_of_the_table(
    tables_of: Callable[..., Tables],
) -> None:
    (table,) = tables_of("pram_coverage", few=True)
    drawn = {
        float(x)
        for axes in draw("pram_coverage", [table]).axes
        for line in axes.lines
        for x in np.atleast_1d(np.asarray(line.get_xdata(), dtype=float))
    }
    single = table[(table["measure"] == "coverage") & (table["intervals"] == "none")]
    assert set(single["mean"]) <= drawn


def test_a_channel_is_drawn_cell_by_cell(tables_of: Callable[..., Tables]) -> None:
    (table,) = tables_of("pram_channels", few=True)
    image = draw("pram_channels", [table]).axes[0].images[0].get_array()
    assert image is not None
    values = np.ma.filled(image, np.nan)
    assert values[2, 2] == pytest.approx(0.7)
    assert np.isnan(values[0, 5])  # a zero stays white
    assert np.isfinite(values).sum() == len(EDUCATION) ** 2 - 1
