"""Tables and tests by what each report says, where reports are too many to be counted together."""

from math import prod

import numpy as np
import pandas as pd
import pytest
import scipy
from tests.analysis.public_folders import survey_plan, survey_truth

import deniable
from deniable.analysis import Released, independence
from deniable.channels import KeepOrReplace, SubsetSelection
from deniable.plans import ColumnsPlan
from deniable.randomized_response import Protocol
from deniable.records import Attribute, Domain
from deniable.responses import tables

SIZES = {"a": 3, "b": 4, "c": 2}


@pytest.fixture(scope="module")
def released() -> Released:
    plan, (true, weights) = survey_plan(), survey_truth(2000, 1)
    frame = pd.DataFrame(
        {each.name: np.array(each.categories)[true.column(each.name)] for each in true.domain}
    ).replace({"income": {"(missing)": "NA"}})
    reports = deniable.randomize(frame.assign(w=weights), plan, np.random.default_rng(1))
    return Released(reports, plan)


@pytest.mark.parametrize("target", ["population", "file"])
@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize(
    ("names", "off"),
    [
        (["sex", "region"], 1e-9),
        (["region", "sex", "owner"], 1e-9),  # not in the order of the clusters
        (["owner", "sex"], 1e-9),  # one of them a part of a cluster
        (["age", "income", "sex"], 0.2),  # the inverse that varies least is another one
    ],
)
def test_a_table_by_scores_is_that_by_counts(
    released: Released,
    names: list[str],
    off: float,
    weight: str | None,
    target: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    by_counts = released.table(names, weight=weight, target=target)
    monkeypatch.setattr(tables, "MAX_CELLS", 1)
    by_scores = released.table(names, weight=weight, target=target)
    pd.testing.assert_frame_equal(by_scores[names], by_counts[names])
    errors = by_counts["standard_error"].to_numpy()
    assert by_scores["standard_error"].to_numpy() == pytest.approx(errors, rel=max(off, 1e-3))
    apart = np.abs(by_scores["estimate"] - by_counts["estimate"]) / errors
    assert apart.max() <= 5 * off
    assert by_scores["consistent"].sum() == pytest.approx(1)
    assert by_scores["consistent"].min() >= 0


def plan_of_sizes(sizes: dict[str, int], epsilon: float, *, square: bool) -> ColumnsPlan:
    make = KeepOrReplace.of_epsilon if square else SubsetSelection.of_epsilon
    domain = Domain(
        tuple(Attribute(name, tuple(map(str, range(size)))) for name, size in sizes.items())
    )
    channels = tuple(make(size, epsilon) for size in sizes.values())
    return deniable.plan_from_protocol(Protocol(domain, tuple((name,) for name in sizes), channels))


def drawn(
    sizes: dict[str, int], records: int, plan: ColumnsPlan, seed: int, depend: float
) -> Released:
    generator = np.random.default_rng(seed)
    first, *_ = sizes.values()
    common = generator.integers(first, size=records)
    columns = {
        name: np.where(
            generator.random(records) < depend,
            common % size,
            generator.integers(size, size=records),
        )
        for name, size in sizes.items()
    }
    frame = pd.DataFrame(columns).astype(str)
    return Released(deniable.randomize(frame, plan, generator), plan)


@pytest.mark.parametrize("names", [["a", "b"], ["c", "b", "a"]])
def test_through_square_channels_the_statistic_is_pearsons(
    names: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_of_sizes(SIZES, 2.0, square=True)
    released = drawn(SIZES, 500, plan, 1, 0.3)
    counts = released.responses.count([released._table(names).reports])[0].counts
    table = counts.reshape([SIZES[name] for name in names])
    shares = [
        table.sum(tuple(set(range(table.ndim)) - {i})) / table.sum() for i in range(len(names))
    ]
    expected = table.sum() * np.einsum({2: "a,b->ab", 3: "a,b,c->abc"}[len(names)], *shares)
    monkeypatch.setattr(independence, "MAX_TESTED", 1)
    found = released.independence(names).iloc[0]
    assert found["statistic"] == pytest.approx(((table - expected) ** 2 / expected).sum())
    sizes = [SIZES[name] for name in names]
    assert found["degrees_of_freedom"] == prod(sizes) - 1 - sum(size - 1 for size in sizes)
    monkeypatch.setattr(independence, "MAX_ORDERED", 0)
    by_chi_squared = released.independence(names).iloc[0]
    assert by_chi_squared["p_value_by"] == "chi-squared"
    tail = scipy.stats.chi2.sf(found["statistic"], found["degrees_of_freedom"])
    assert by_chi_squared["p_value"] == pytest.approx(tail)
    error = (tail * (1 - tail) / int(found["p_value_by"].split()[0])) ** 0.5
    assert abs(found["p_value"] - tail) < 4 * error + 0.01


def test_by_scores_of_subsets_it_is_nearly_raos(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_of_sizes(SIZES, 2.0, square=False)
    released = drawn(SIZES, 4000, plan, 2, 0.2)
    by_counts = released.independence(["a", "b"]).iloc[0]
    monkeypatch.setattr(independence, "MAX_TESTED", 1)
    by_scores = released.independence(["a", "b"]).iloc[0]
    assert by_scores["degrees_of_freedom"] == by_counts["degrees_of_freedom"]
    assert by_scores["statistic"] == pytest.approx(by_counts["statistic"], rel=0.1)


def test_large_channels_are_estimated_and_tested(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MAX_CELLS", 1 << 15)
    sizes = {"region": 17, "trust": 12}
    plan = plan_of_sizes(sizes, 1.5, square=False)
    assert [channel.reports for channel in plan.protocol.channels] == [680, 66]
    apart, together = (drawn(sizes, 6000, plan, 3, depend) for depend in (0.0, 1.0))
    assert apart.independence(["region", "trust"])["p_value"][0] > 0.001
    found = together.independence(["region", "trust"]).iloc[0]
    assert (found["p_value"], found["p_value_by"]) == (1 / 500, "499 random orders")
    table = together.table(["region", "trust"], target="file")
    assert table["estimate"].sum() == pytest.approx(1)
    assert (together.pairs()["estimate"] == table["estimate"]).all()


@pytest.mark.slow
@pytest.mark.parametrize("records", [200, 3000])
def test_true_nulls_are_rejected_as_often_as_stated(records: int) -> None:
    """Of 400 tests at the level .05, 20 are expected and a right test has over 38 once in 10^4."""
    sizes = {"a": 12, "b": 9}
    plan = plan_of_sizes(sizes, 1.0, square=False)
    rejected = sum(
        drawn(sizes, records, plan, seed, 0.0).independence(["a", "b"])["p_value"][0] <= 0.05
        for seed in range(400)
    )
    assert 5 <= rejected <= 38


@pytest.mark.slow
@pytest.mark.parametrize("target", ["population", "file"])
def test_intervals_by_scores_cover(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 300 samples of 12 cells; the mean rate of 12 has a standard error below .006."""
    sizes = {"a": 4, "b": 3}
    plan = plan_of_sizes(sizes, 2.0, square=False)
    monkeypatch.setattr(tables, "MAX_CELLS", 1)
    held = []
    for seed in range(300):
        generator = np.random.default_rng(seed)
        a = generator.integers(4, size=800)
        b = np.where(generator.random(800) < 0.4, a % 3, generator.integers(3, size=800))
        frame = pd.DataFrame({"a": a, "b": b}).astype(str)
        found = Released(deniable.randomize(frame, plan, generator), plan).table(
            ["a", "b"], target=target
        )
        if target == "file":
            truth = np.bincount(a * 3 + b, minlength=12) / 800
        else:
            truth = (0.4 * (np.arange(4)[:, None] % 3 == np.arange(3)) + 0.2).ravel() / 4
        held.append((found["ci_low"] <= truth) & (truth <= found["ci_high"]))
    assert 0.93 <= np.mean(held) <= 0.97
