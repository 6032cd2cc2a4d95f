"""Invariant matrices for weighted frequencies ([pram], (2.7)): enumeration, coverage, refusals."""

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

from deniable.analysis import Released
from deniable.channels import disclosed_proportions
from deniable.errors import DeniableError
from deniable.estimation import WeightedCounts, own_proportions
from deniable.plans import (
    PlanInputs,
    plan_from_json,
    plan_to_json,
    randomize,
    settings_from,
)
from deniable.schema import RecordsFile, schema_from_dict

COLUMNS = [
    {"name": "sex", "kind": "categorical", "categories": ["F", "M"]},
    {"name": "town", "kind": "categorical", "categories": ["a", "b", "c"]},
    {"name": "w", "kind": "weight"},
]
ABOUT = {"format": "deniable-schema", "population": "people", "file": {"kind": "arrow"}}
SCHEMA = schema_from_dict(ABOUT | {"columns": COLUMNS})
TINY = pd.DataFrame({"sex": list("FMFM"), "town": list("abca"), "w": [1.0, 2.5, 4.0, 0.5]})
ACCEPT = ("chosen_by_data", "weights_released")
MATRICES: list[dict[str, Any]] = [
    {"kind": "two_step", "epsilon": 1.5, "weight": "w"},
    {"kind": "two_step", "beta": 4.0, "weight": "w"},
    {"kind": "two_step", "retention": 0.6, "weight": "w"},
    {"kind": "designed", "epsilon": 1.5, "weight": "w"},
]


def plan_of(frame: pd.DataFrame, accept: tuple[str, ...] = ACCEPT, **options: Any) -> Any:
    options = {"kind": "columns", "matrix": MATRICES[0]} | options
    return settings_from(options).plan(
        PlanInputs(SCHEMA, RecordsFile.open(frame, SCHEMA), accept=accept)
    )


def margin(frame: pd.DataFrame, name: str, categories: list[str]) -> np.ndarray:
    sums = frame.groupby(name)["w"].sum().reindex(categories, fill_value=0.0)
    return (sums / sums.sum()).to_numpy()


@pytest.mark.parametrize("matrix", MATRICES, ids=str)
def test_estimates_of_a_tiny_file_agree_with_all_of_its_releases(matrix: dict[str, Any]) -> None:
    plan = plan_of(TINY, matrix=matrix)
    categories = list("abc")
    truth, (_, channel) = margin(TINY, "town", categories), plan.protocols[()].channels
    np.testing.assert_allclose(disclosed_proportions(channel), truth, rtol=0, atol=1e-12)
    P, w = channel.matrix(), TINY["w"].to_numpy()
    original = TINY["town"].map(categories.index).to_numpy()
    mean, second, own = np.zeros(3), np.zeros(3), np.zeros(3)
    for drawn in product(range(3), repeat=4):
        chance = np.prod(P[original, list(drawn)])
        counts = WeightedCounts.of_records(np.array(drawn), w, 3)
        values, _ = own_proportions(counts, channel, np.eye(3), "file")
        mean += chance * values
        second += chance * values**2
        if not channel.singular:  # before it is cut off at zero
            squares = channel.solve_transposed(counts.squares[0]) / w.sum() ** 2
            own += chance * ((P * (1 - P)).T @ squares)
    np.testing.assert_allclose(mean, truth, rtol=0, atol=1e-12)  # unbiased
    stated = (w**2) @ (P * (1 - P))[original] / w.sum() ** 2
    np.testing.assert_allclose(second - mean**2, stated, rtol=0, atol=1e-12)
    if not channel.singular:
        np.testing.assert_allclose(own, stated, rtol=0, atol=1e-12)
    again: Any = plan_from_json(plan_to_json(plan))
    assert again.weight == "w"
    assert again.audit()["holds"].all()
    assert "weighted by 'w'" in again.risks["chosen_by_data"]


def test_each_stratum_keeps_its_own_weighted_frequencies() -> None:
    frame = pd.concat([TINY, TINY.assign(town=list("bcab"), w=[3.0, 1.0, 2.0, 2.0])])
    plan = plan_of(frame, kind="strata", strata=["sex"])
    for (sex,), protocol in plan.protocols.items():
        truth = margin(frame[frame["sex"] == sex], "town", list("abc"))
        (channel,) = protocol.channels
        np.testing.assert_allclose(disclosed_proportions(channel), truth, rtol=0, atol=1e-12)


def survey(records: int, generator: np.random.Generator) -> pd.DataFrame:
    town = generator.choice(3, records, p=[0.5, 0.3, 0.2])
    w = generator.gamma(4.0, 0.25, records) * (1 + town) + 0.1
    sex = np.array(list("FM"))[generator.integers(0, 2, records)]
    return pd.DataFrame({"sex": sex, "town": np.array(list("abc"))[town], "w": w})


@pytest.mark.parametrize("target", ["file", "population"])
def test_intervals_by_the_plans_weights_cover(target: Any) -> None:
    """60 protections with three intervals at 95 %, by fixed seeds.

    If intervals cover at their level, fewer than 50 of 60 do so with probability 2e-4 (binomial).
    """
    generator = np.random.default_rng(11)
    frame = survey(1500, generator)
    # The population: weighted proportions if towns are drawn as above.
    expected = np.array([0.5, 0.3, 0.2]) * (np.array([1.0, 2.0, 3.0]) + 0.1)
    covered = []
    for _ in range(60):
        own = frame if target == "file" else survey(1500, generator)
        plan = plan_of(own)
        table = Released(randomize(own, plan, generator), plan).margins(
            "town", weight="w", target=target
        )
        truth = margin(own, "town", list("abc")) if target == "file" else expected / expected.sum()
        low, high = table["reported_ci_low"], table["reported_ci_high"]
        covered.append(((low <= truth) & (truth <= high)).to_numpy())
    assert (np.sum(covered, axis=0) >= 50).all()
    unweighted = Released(randomize(own, plan, generator), plan).margins("town")
    assert unweighted["reported_standard_error"].isna().all()


def test_a_test_of_independence_by_weights_has_its_size() -> None:
    """100 protections of independent columns at 5 %, by fixed seeds.

    At its level, 14 or more are rejected with probability 5e-4 (binomial).
    """
    generator = np.random.default_rng(12)
    rejected = 0
    for _ in range(100):
        own = survey(1500, generator)
        plan = plan_of(own)
        released = Released(randomize(own, plan, generator), plan)
        found = released.independence(["sex", "town"], weight="w")
        assert found["p_value_by"][0] == "F, by weights"
        rejected += found["p_value"][0] <= 0.05
    assert rejected < 14


@pytest.mark.parametrize(
    ("change", "accept", "said"),
    [
        ({"w": [1.0, 2.0, 0.0, 1.0]}, ACCEPT, "'w': a record has the weight 0.*positive weights"),
        ({"w": [1.0, 2.0, -1.0, 1.0]}, ACCEPT, "which is not a weight"),
        ({}, ("chosen_by_data",), "accept weights_released"),
        ({}, ("weights_released",), "chosen_by_data"),
    ],
)
def test_wrong_weights_are_refused(
    change: dict[str, Any], accept: tuple[str, ...], said: str
) -> None:
    with pytest.raises(DeniableError, match=said):
        plan_of(TINY.assign(**change), accept)
    with pytest.raises(DeniableError, match="unknown column of weights 'x'"):
        plan_of(TINY, matrix=MATRICES[0] | {"weight": "x"})
