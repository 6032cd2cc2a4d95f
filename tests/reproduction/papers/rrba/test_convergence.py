"""Convergence of RRBA: criteria by hand, against theory, and the table of epsilons."""

import math
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError
from tests.simulations import outputs_of

from deniable.errors import DeniableError
from deniable.records.categorical import Microdata
from deniable.rrba.questions import make_views
from deniable.rrba.tables import (
    answer_epsilon,
    claimed_epsilon,
    printed_estimate,
    variance_inflation,
)

from reproduction.papers.rrba import exact, settings
from reproduction.papers.rrba.convergence import (
    UPDATES,
    Z_95,
    Convergence,
    closest_cell,
    interval_width,
)
from reproduction.study.engine import replicate

CELL: dict[str, Any] = {
    "dataset": "small",
    "probability": 0.3,
    "block_size": 50,
    "p": 0.5,
    "update": "pooled",
}


@pytest.fixture
def study(small_data: Microdata) -> Convergence:
    return Convergence({"small": small_data})


def means(study: Convergence, runs: int = 200, **changed: Any) -> dict[tuple[str, str], float]:
    cell = CELL | changed
    values = study(cell, np.random.default_rng(1), runs)[1]
    names = [(each["criterion"], each["measure"]) for each in outputs_of(study, cell)]
    return dict(zip(names, values.mean(axis=0).tolist(), strict=True))


def test_intervals_by_hand() -> None:
    # 250 clients, v = .4: 2 * 1.96 sqrt(.24 / 250). A count of 5 or less goes by the log odds.
    assert interval_width(0.4, 250) == pytest.approx(2 * Z_95 * math.sqrt(0.24 / 250), rel=1e-12)
    v, n = 0.02, 250
    reach = Z_95 / math.sqrt(n * v * (1 - v))
    low, high = (1 / (1 + math.exp(-math.log(v / (1 - v)) - s * reach)) for s in (-1, 1))
    assert interval_width(v, n) == pytest.approx(high - low, rel=1e-12)
    # A count of 5 in 50 by way of equation (4), which floats make a little more, is at most 5.
    tenth = float(printed_estimate([7, 43], [0.18, 0.82], 0.5)[0])
    assert tenth * 50 > 5
    assert interval_width(tenth, 50) == pytest.approx(float(interval_width(0.1, 50)), rel=1e-9)
    outside = interval_width([-3.0, 0.0, 7.0], 18)
    assert np.all(np.isfinite(outside))
    assert np.all((outside > 0) & (outside < 1))


def test_the_closest_cell_is_found(small_data: Microdata) -> None:
    found = closest_cell(small_data, 0.3)
    counts = small_data.counts(found.combination).reshape(-1)
    assert found.proportion == counts[found.cell] / len(small_data)
    names = small_data.domain.names
    best = min(
        np.abs(small_data.counts((a, b)) / len(small_data) - 0.3).min()
        for i, a in enumerate(names)
        for b in names[i + 1 :]
    )
    assert abs(found.proportion - 0.3) == pytest.approx(best, abs=1e-15)


@pytest.mark.parametrize("block_size", [18, 50, 150])
def test_precision_is_reached_when_theory_says(study: Convergence, block_size: int) -> None:
    found = means(study, block_size=block_size, p=0.6)
    truth = closest_cell(study.files["small"], 0.3).proportion
    # The table is soon close to the truth.
    expected = 500 * variance_inflation([truth, 1 - truth], [truth, 1 - truth], 0.6)
    assert expected == pytest.approx(500 / 0.36)
    assert found["precise", "converged"] == 1
    assert found["precise", "tuples"] == pytest.approx(expected, abs=0.04 * expected + block_size)
    assert found["precise", "within"] > 0.9  # a 95 % interval; 200 runs


def test_the_printed_rule_stops_at_once_and_far_away(study: Convergence) -> None:
    found = means(study, update="printed", p=0.5)
    assert found["first", "tuples"] < 3 * 50
    assert found["first", "within"] < 0.35
    # For good only when the blocks end: there is always another exception.
    assert found["lasting", "tuples"] > 180 * 50


def test_the_printed_rule_holds_by_chance_whatever_the_block_size(small_data: Microdata) -> None:
    study = Convergence({"small": small_data}, blocks=15)
    # With large blocks, Pr(|Z| < sqrt(2) z p) a block; here of the end of the run alone.
    met = 2 * 0.5 * (1 + math.erf(Z_95 * 0.5)) - 1
    for block_size in (150, 600):
        cell = CELL | {"update": "printed", "block_size": block_size}
        last = study(cell, np.random.default_rng(5), 2000)[1][:, 4].mean()
        assert abs(last - met) < 4.9 * math.sqrt(met * (1 - met) / 2000) + 0.02


def test_averaging_two_blocks_helps_less_than_pooling_all(study: Convergence) -> None:
    found = means(study, update="projected", p=0.5, runs=400)
    ratio = found["none", "error_average"] / found["none", "error_last"]
    assert ratio == pytest.approx(1 / math.sqrt(2), abs=0.09)
    ratio = found["none", "error_pooled"] / found["none", "error_last"]
    assert ratio == pytest.approx(1 / math.sqrt(200), abs=0.02)


def test_below_one_half_the_printed_table_is_lost(study: Convergence) -> None:
    found = means(study, update="printed", p=0.2, block_size=18)
    assert found["none", "invalid"] == 1
    assert found["lasting", "converged"] < 0.05
    assert found["none", "error_last"] > 0.5
    assert found["none", "error_pooled"] < 0.1
    assert means(study, p=0.2, block_size=18)["none", "invalid"] == 0


@pytest.mark.parametrize("update", UPDATES)
def test_outputs_fit_and_blocks_of_runs_do_too(study: Convergence, update: str) -> None:
    cell = CELL | {"update": update}
    values = replicate(study, 1, "rrba_fig5", cell, replicates=5, block=2)[1]
    assert values.shape == (5, len(outputs_of(study, cell)))
    assert np.all(np.isfinite(values))


def test_what_cannot_be_is_refused(study: Convergence) -> None:
    grid = {name: [value] for name, value in (CELL | {"dataset": "survey"}).items()}
    assert len(settings.ConvergenceStudy(replicates=6, grids=[grid]).cells()) == 1
    for name, value in (("update", "weekly"), ("block_size", 0), ("dataset", "large"), ("p", 1.0)):
        with pytest.raises(ValidationError, match=name):
            settings.ConvergenceStudy(replicates=6, grids=[grid | {name: [value]}])
    with pytest.raises(DeniableError, match=r"must be in \(0, 1\)"):
        study(CELL | {"p": 1.0}, np.random.default_rng(1), 2)


# -- epsilons --------------------------------------------------------------------------------------


def test_the_table_of_epsilons(small_data: Microdata) -> None:
    table = exact.epsilon_table({"small": small_data}, [0.2, 0.5], [0.1, 1.0], [2, 5])
    assert list(table.columns) == list(exact.EPSILON_COLUMNS)
    assert not table["holds"].any()
    assert not table["holds_composed"].any()
    np.testing.assert_allclose(table["claimed"], [claimed_epsilon(p) for p in table["p"]])
    rows = (
        table[(table["dataset"] == "") & (table["p"] == 0.5)]
        .set_index(["unit", "table", "cells", "rounds", "floor"])["exact"]
        .sort_index()
    )
    assert rows["answer", "uniform", 4, 1].iloc[0] == pytest.approx(math.log(5))
    assert rows["rounds", "uniform", 4, 5].iloc[0] == pytest.approx(5 * math.log(5))
    assert rows["answer", "lowest", 4, 1, 0.1] == pytest.approx(math.log(41))


def test_the_worst_view_of_a_file(small_data: Microdata) -> None:
    table = exact.epsilon_table({"small": small_data}, [0.4], [0.1], [2])
    of_file = table[(table["dataset"] == "small") & (table["table"] == "uniform")]
    by_unit = of_file.set_index("unit")["exact"]
    views = make_views(small_data.domain.names, 2)
    uniform = {c: np.full(small_data.domain.project(c).size, 1.0) for v in views for c in v}
    uniform = {c: ones / ones.size for c, ones in uniform.items()}
    assert by_unit["view"] == max(answer_epsilon([uniform[c] for c in v], 0.4) for v in views)
    assert by_unit["answer"] == max(answer_epsilon([q], 0.4) for q in uniform.values())


def test_the_curves_of_figure_4() -> None:
    table = exact.figure_4_table()
    claimed = table[table["curve"] == "claimed"].set_index("p")["epsilon"]
    assert claimed[0.5] == pytest.approx(math.log(2))
    for _, curve in table[table["curve"] != "claimed"].groupby(["curve", "cells"]):
        assert np.all(curve.set_index("p")["epsilon"] > claimed)
