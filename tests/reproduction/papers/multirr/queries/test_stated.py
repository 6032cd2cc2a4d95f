"""Queries at stated epsilons: which methods are told, from which runs, what they spend."""

from typing import Any

import numpy as np
import pytest
from tests.simulations import outputs_of

from deniable.records.categorical import Microdata

from reproduction.papers.multirr.queries.adjusted import METHODS, AdjustedQueries, StatedQueries
from reproduction.study.engine import EPSILON_COLUMNS, simulate_chunk

FEW = ("colour", "smokes")


def cell_of(**settings: Any) -> dict[str, Any]:
    base = {"attributes": "all", "matrix": "keep", "mechanism": "kronecker"}
    return base | {"t_v": 6, "t_d": 0.1, "epsilon": 2.0} | settings


@pytest.fixture
def queries(small_data: Microdata) -> StatedQueries:
    return StatedQueries(small_data, (0.3,), ("clip",), few=FEW)


@pytest.mark.parametrize(
    ("cell", "told"),
    [
        (
            cell_of(),
            [
                *("rr_independent", "rr_clusters_kronecker", "rr_independent_adjustment"),
                *("rr_clusters_kronecker_adjustment", "uniform"),
            ],
        ),
        (cell_of(mechanism="joint"), ["rr_clusters_joint", "rr_clusters_joint_adjustment"]),
        (cell_of(attributes="few", mechanism="joint", t_d=0.0), ["rr_joint"]),
    ],
    ids=["by attribute", "one matrix", "one cluster"],
)
def test_each_method_is_told_once(
    queries: StatedQueries, cell: dict[str, Any], told: list[str]
) -> None:
    assert [output["method"] for output in outputs_of(queries, cell)] == told


def test_the_runs_are_those_of_figure_3_at_the_p_that_follows(
    queries: StatedQueries, small_data: Microdata
) -> None:
    cell = cell_of()
    found = queries(cell, np.random.default_rng(1), 3)[1]
    p = queries.spends(cell, {"method": "rr_independent"})["p"]
    whole = AdjustedQueries(small_data, (0.3,), ("clip",))
    own = whole({**cell, "p": p}, np.random.default_rng(1), 3)[1]
    np.testing.assert_array_equal(found[:, : len(METHODS)], own[:, : len(METHODS)])


def test_no_data_is_all_cells_alike(queries: StatedQueries, small_data: Microdata) -> None:
    found = queries(cell_of(), np.random.default_rng(1), 2)[1][:, -1]
    pair = queries.pairs[0]
    true = small_data.counts(pair).reshape(-1)
    # Of 6 cells a query of coverage .3 asks for 2: the answer is a third of the records.
    answers = {
        abs(len(small_data) / 3 - (true[i] + true[j])) / (true[i] + true[j])
        for i in range(true.size)
        for j in range(i)
    }
    for error in found[:, 0]:
        assert any(error == pytest.approx(each) for each in answers)


def test_rows_say_what_is_spent_and_no_data_spends_nothing(queries: StatedQueries) -> None:
    grid = {name: [value] for name, value in cell_of(attributes="few").items()}
    size = {"chunk": 0, "chunks": 1, "replicates": 6, "block": 6, "root_seed": 1}
    table = simulate_chunk(queries, "stated", [grid], **size).set_index("method")
    assert table.loc["uniform", list(EPSILON_COLUMNS)].isna().all()
    others = table.drop("uniform")
    assert (others["record_epsilon"] <= 2).all()
    assert others["record_epsilon"].to_numpy() == pytest.approx(2)
    p = others["p"].to_numpy()
    assert np.log((1 + 3 * p / (1 - p)) * (1 + 2 * p / (1 - p))) == pytest.approx(2)
