"""Consistency, two-step estimates and adjusted tests over many tables, of all kinds of plans."""

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.plans.test_collected import frame_of, schema_of
from tests.rrba.collected_records import DOMAIN, estimate_tables, some_records

import deniable
from deniable import CollectedPlan, Released, StrataPlan, randomize
from deniable.analysis import many_tables
from deniable.contingency.consistency import NoisyTable, consistent_tables, largest_disagreement
from deniable.contingency.many_tables import NOTHING
from deniable.contingency.two_step import nearest_tables
from deniable.errors import DeniableError
from deniable.files import read_table, write_table
from deniable.pram import StratifiedProtocol
from deniable.randomized_response import Protocol

SCHEMA, RECORDS = schema_of(), 1500
PAIRS = list(combinations(DOMAIN.names, 2))


PLANS: dict[str, Any] = {
    "independent columns": lambda: deniable.make_plan(SCHEMA, 6.0, mechanism="generalized-rr"),
    "other randomized values": lambda: deniable.make_plan(SCHEMA, 6.0, mechanism="hadamard"),
    "clusters": lambda: deniable.make_plan(SCHEMA, 6.0, clusters=[["a", "b", "c"]]),
    "strata": lambda: StrataPlan.from_schema(SCHEMA, ["a"], 4.0),
    "views of pairs": lambda: CollectedPlan.from_schema(SCHEMA, 6.0),
    "single tables": lambda: CollectedPlan.from_schema(SCHEMA, 2.0, answers="table", floor=0.3),
    "triples": lambda: CollectedPlan.from_schema(SCHEMA, 4.0, size=3),
}


def released(name: str, records: int = RECORDS) -> Released:
    plan = PLANS[name]()
    data = frame_of(some_records(records))
    return Released(randomize(data, plan, np.random.default_rng(3)), plan)


def by_table(frame: pd.DataFrame, column: str) -> dict[tuple[str, ...], np.ndarray]:
    """Return a column of a table of estimates as arrays, by the names of their columns."""
    found = {}
    for label, own in frame.groupby("columns", sort=False):
        names = tuple(str(label).split(" x "))
        found[names] = own[column].to_numpy(float).reshape(DOMAIN.project(names).shape)
    return found


@pytest.mark.parametrize("name", PLANS)
def test_consistent_tables_of_every_kind_agree_and_are_the_closest(name: str) -> None:
    found = released(name).consistent()
    cells = by_table(found.tables, "consistent")
    assert found.tables.attrs["left_out"] == {}
    assert list(cells) == (list(combinations("abcd", 3)) if name == "triples" else PAIRS)
    assert all(table.min() >= 0 for table in cells.values())
    tables = [NoisyTable(names, table) for names, table in cells.items()]
    assert largest_disagreement(tables) <= 1e-9
    assert list(found.tables)[:2] == ["columns", "values"]
    # The same tables through `contingency`, with the weights as they are stated.
    estimates = by_table(found.tables, "estimate")
    errors = by_table(found.tables, "standard_error")
    noisy = [
        NoisyTable(each, estimates[each], 1 / float(np.nanmean(errors[each] ** 2)))
        for each in estimates
    ]
    expected = consistent_tables(noisy)
    for each, table in cells.items():
        np.testing.assert_allclose(table, expected[each], atol=1e-12)
    # The disagreement between tables, before and after.
    disagreement = found.disagreement
    assert (disagreement["lowest"] <= disagreement["median"]).all()
    assert (disagreement["median"] <= disagreement["highest"]).all()
    assert disagreement.groupby("column")["consistent"].sum().to_numpy() == pytest.approx(1)
    assert set(disagreement["tables"]) == {3}
    first = cells[PAIRS[0] if name != "triples" else ("a", "b", "c")]
    own = disagreement[disagreement["column"] == "a"]["consistent"].to_numpy()
    np.testing.assert_allclose(own, first.reshape(2, -1).sum(axis=1), atol=1e-12)


@pytest.mark.parametrize("name", PLANS)
def test_the_two_steps_are_those_of_each_table_by_itself(name: str) -> None:
    fitted = released(name, 120).two_step()
    nearest, independent = (by_table(fitted, each) for each in ("nearest", "independent"))
    for each, cells in by_table(fitted, "estimate").items():
        expected = nearest_tables(cells.reshape(-1), 1.0).reshape(cells.shape)
        np.testing.assert_allclose(nearest[each], expected, atol=1e-12)
        product = np.ones(())
        for axis in range(cells.ndim):
            others = tuple(other for other in range(cells.ndim) if other != axis)
            product = np.multiply.outer(product, expected.sum(axis=others))
        np.testing.assert_allclose(independent[each], product, atol=1e-12)


@pytest.mark.parametrize("name", [name for name in PLANS if name not in ("clusters", "strata")])
def test_estimates_are_those_of_tables_and_tests_are_those_of_each_pair(name: str) -> None:
    own = released(name)
    found = own.two_step()
    for each, cells in by_table(found, "estimate").items():
        np.testing.assert_allclose(own.table(each)["estimate"], cells.reshape(-1), atol=1e-12)
    tests = own.independence_of_pairs().set_index("columns")
    for each in by_table(found, "estimate"):
        one, row = own.independence(each).iloc[0], tests.loc[" x ".join(each)]
        assert row["statistic"] == pytest.approx(one["statistic"], rel=1e-6)
        assert row["degrees_of_freedom"] == one["degrees_of_freedom"]
        if row["valid"]:
            assert row["p_value"] == pytest.approx(one["p_value"], rel=1e-6)
    dependent = "a x b" if name != "triples" else "a x b x c"
    assert tests.loc[dependent, "rejected_holm"]
    assert (tests["p_value_holm"] >= tests["p_value_benjamini_hochberg"] - 1e-12).all()
    assert tests.attrs["left_out"] == {}


def test_files_of_consistent_tables_agree_as_well(tmp_path: Path) -> None:
    found = released("views of pairs").consistent().tables
    texts = found["consistent"].map(repr, na_action="ignore")
    write_table(tmp_path / "consistent.csv", found.assign(consistent=texts))
    read = read_table(tmp_path / "consistent.csv")
    cells = by_table(read, "consistent")
    assert largest_disagreement([NoisyTable(n, c) for n, c in cells.items()]) <= 1e-9
    np.testing.assert_array_equal(read["consistent"], found["consistent"])


def test_estimates_of_a_collection_are_those_of_equation_4() -> None:
    plan = PLANS["single tables"]()
    answers = randomize(frame_of(some_records(RECORDS)), plan, np.random.default_rng(3))
    found = by_table(Released(answers, plan).consistent().tables, "estimate")
    expected = estimate_tables(plan.design, answers, RECORDS)
    for label, own in expected.groupby("attributes"):
        cells = found[tuple(str(label).split(" x "))]
        np.testing.assert_allclose(cells.reshape(-1), own["estimate"], atol=5e-10)


def test_pairs_that_cannot_be_tested_are_named() -> None:
    # A pair of a joint cluster of three goes through a channel of all three.
    tests = released("strata").independence_of_pairs()
    assert set(tests["columns"]) | set(tests.attrs["left_out"]) == {" x ".join(p) for p in PAIRS}
    assert tests.attrs["left_out"]
    assert all("name these columns too" in why for why in tests.attrs["left_out"].values())


def test_singular_invariant_matrices_give_the_proportions_of_their_randomized_values() -> None:
    names, sizes = ("a", "b"), (2, 3)
    inner = DOMAIN.project(names)
    # All rows are equal: the matrix is singular, and invariant for its own distribution.
    channels = tuple(deniable.DenseChannel(np.full((size, size), 1 / size)) for size in sizes)
    own = Protocol(inner, (("a",), ("b",)), channels)
    domain = DOMAIN.project(("a", "b", "c"))
    protocols = {(each,): own for each in DOMAIN["c"].categories}
    protocol = StratifiedProtocol(domain, ("c",), protocols, True)
    origin, accept = "the data, by a curator", ("chosen_by_data",)
    plan = StrataPlan(
        schema_of(domain), 100.0, protocol, ("stated",) * 2, chosen_from=origin, accept=accept
    )
    data = frame_of(some_records(400).project(["a", "b", "c"]))
    found = Released(randomize(data, plan, np.random.default_rng(1)), plan).two_step()
    # Pairs of two matrices have no unbiased proportions; each pair with the stratum has.
    assert set(found["columns"]) == {"a x c", "b x c"}
    assert set(found.attrs["left_out"]) == {"a x b"}


# -- which tables ----------------------------------------------------------------------------------


def test_requested_tables_are_taken_in_their_order() -> None:
    own = released("independent columns")
    found = own.consistent([["c", "a"], ["a", "b", "d"]])
    assert list(dict.fromkeys(found.tables["columns"])) == ["c x a", "a x b x d"]
    assert list(found.disagreement["column"].unique()) == ["a", "b", "c", "d"]
    assert len(own.independence_of_pairs([["a", "b"]])) == 1
    assert len(own.two_step([["a", "b"], ["a", "b"]])) == 6


def test_default_pairs_beyond_the_limits_are_left_out_and_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = released("independent columns")
    monkeypatch.setattr(many_tables, "MAX_CELLS_OF_PAIR", 8)
    found = own.consistent()
    assert found.tables.attrs["left_out"] == {"b x d": "12 cells, over 8"}
    monkeypatch.setattr(many_tables, "MAX_CELLS", 18)
    # 4 + 6 + 6 + 8 + 8: the smallest pairs first, in the order of the columns.
    found = own.consistent()
    assert list(dict.fromkeys(found.tables["columns"])) == ["a x b", "a x c", "b x c"]
    assert found.tables.attrs["left_out"]["a x d"] == "over 18 cells in all"


REFUSED: dict[str, tuple[Any, str]] = {
    "too many cells": (
        [["a", "b", "c", "d"], ["a", "b"]],
        "the requested tables have 54 cells in all; at most 50",
    ),
    "one column": ([["a"]], "fewer than two columns"),
    "no table": ([], "fewer than two columns"),
    "an unknown column": ([["a", "x"]], "'x'"),
}


@pytest.mark.parametrize(("tables", "words"), REFUSED.values(), ids=REFUSED)
@pytest.mark.parametrize("method", ["consistent", "two_step", "independence_of_pairs"])
def test_impossible_requests_are_refused_before_work(
    tables: Any, words: str, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = released("independent columns")
    monkeypatch.setattr(many_tables, "MAX_CELLS", 50)
    monkeypatch.setattr(own.responses, "count", None)
    with pytest.raises(DeniableError, match=words):
        getattr(own, method)(tables)


def test_tables_that_were_not_collected_are_refused() -> None:
    with pytest.raises(DeniableError, match="no table of a, b, c was collected"):
        released("views of pairs").consistent([["a", "b", "c"]])


def test_columns_of_one_category_are_no_obstacle() -> None:
    domain = deniable.Domain((*DOMAIN.attributes[:2], deniable.Attribute("k", ("all",))))
    plan = CollectedPlan.from_schema(schema_of(domain), 2.0)
    data = frame_of(some_records(300, domain=domain))
    own = Released(randomize(data, plan, np.random.default_rng(1)), plan)
    assert own.consistent().tables["consistent"].min() >= 0
    tests = own.independence_of_pairs().set_index("columns")
    assert tests.loc["a x k", "p_value_by"] == NOTHING
    assert not tests.loc["a x k", "rejected"]
    assert len(own.two_step()) == 6 + 2 + 3
