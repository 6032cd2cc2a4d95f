"""Errors that are stated in advance are those of protected records."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from deniable import Released, randomize
from deniable.arrays import Floats
from deniable.channels import KeepOrReplace
from deniable.errors import DeniableError
from deniable.estimation import confidence_intervals
from deniable.plans import (
    CollectedPlan,
    MaskedPlan,
    MixedPlan,
    Plan,
    StrataPlan,
    epsilon_for,
    expected_errors,
    make_plan,
    make_questionnaire,
    note_on_guesses,
)
from deniable.schema import Part, Schema, schema_from_dict

PROTECTIONS = 200
PRIOR = {"a": [0.1, 0.9], "b": [0.5, 0.2, 0.15, 0.1, 0.05], "s": [0.3, 0.7]}


def categorical(name: str, size: int) -> dict[str, Any]:
    return {"name": name, "kind": "categorical", "categories": [f"{k}" for k in range(size)]}


def number(name: str, points: int) -> dict[str, Any]:
    return {"name": name, "kind": "numeric", "bounds": [0, points - 1], "step": 1}


def schema(*columns: dict[str, Any]) -> Schema:
    about = {"format": "deniable-schema", "population": "survey", "file": {"kind": "arrow"}}
    return schema_from_dict(about | {"columns": list(columns)})


MIXED = schema(categorical("a", 2), categorical("b", 5), number("n", 21))
EVEN = schema(*(categorical(name, 2) for name in "apqruvwx"))
STRATA = {("0",): 1.0, ("1",): 2.0}
PLANS = {
    "even": lambda: make_plan(EVEN, 2.0),
    "best, square wave": lambda: make_plan(MIXED, 3.0),
    "clusters": lambda: make_plan(MIXED, 3.0, clusters=[("a", "b")]),
    "subset selection": lambda: make_plan(MIXED, 3.0, mechanism="subset-selection"),
    "numbers by keep or replace": lambda: make_plan(MIXED, 3.0, mechanism="generalized-rr"),
    "strata": lambda: StrataPlan.from_schema(
        schema(categorical("s", 2), categorical("a", 2), categorical("b", 5)), ["s"], STRATA
    ),
}


def proportions(plan: Plan, names: tuple[str, ...]) -> tuple[Floats, Floats]:
    """Return the distribution of the cells of a table, and the weights of its proportions."""
    distribution, weights = np.ones(1), np.ones((1, 1))
    for each in plan.table_of(names).cells:
        of = np.array(PRIOR.get(each.name, np.full(each.size, 1 / each.size)))
        distribution = np.kron(distribution, of)
        own = np.ones((1, each.size))
        if each.name in names:
            on_grid = plan.schema[each.name].on_grid
            own = np.tri(each.size)[:-1] if on_grid else np.eye(each.size)
        weights = np.kron(weights, own)
    return distribution, weights


@pytest.mark.parametrize("kind", PLANS)
@pytest.mark.parametrize("records", [400, 12_000])
def test_errors_in_advance_are_those_of_protections(kind: str, records: int) -> None:
    plan, generator = PLANS[kind](), np.random.default_rng(1)
    columns = [(each.name,) for each in plan.schema.randomized]
    tables = [(columns[0][0], columns[1][0])]
    found = expected_errors(plan, records, tables, prior=PRIOR)
    for names, row in zip([*columns, *tables], found.itertuples(), strict=True):
        channel = plan.table_of(names).channel
        distribution, weights = proportions(plan, names)
        counts = generator.multinomial(records, channel.reported(distribution), PROTECTIONS)
        intervals = confidence_intervals(counts, channel, functionals=weights)
        squares = ((intervals.high - intervals.low) / 2) ** 2
        drawn = 100 * np.sqrt(squares.mean(axis=1)).mean()
        assert row.points == pytest.approx(drawn, rel=0.05), row.columns


def test_a_release_has_the_promised_intervals() -> None:
    plan, generator = make_plan(MIXED, 4.0, clusters=[("a", "b")]), np.random.default_rng(2)
    records = pd.DataFrame(
        {
            "a": generator.choice(2, 3000, p=PRIOR["a"]).astype(str),
            "b": generator.choice(5, 3000, p=PRIOR["b"]).astype(str),
            "n": generator.integers(0, 21, 3000).astype(str),
        }
    )
    released = Released(randomize(records, plan, generator), plan)
    found = expected_errors(plan, 3000, [("a", "b")], prior=PRIOR).set_index("columns")["points"]
    tables = [*(released.margins([name]) for name in "ab"), released.table(["a", "b"])]
    for label, table in zip(("a", "b", "a x b"), tables, strict=True):
        half = (table["ci_high"] - table["ci_low"]) / 2
        assert 100 * np.sqrt((half**2).mean()) == pytest.approx(found[label], rel=0.05)
    ages = pd.concat(released.query(f"n<={point}") for point in range(20))
    half = (ages["ci_high"] - ages["ci_low"]) / 2
    assert 100 * np.sqrt((half**2).mean()) == pytest.approx(found["n"], rel=0.05)


def test_points_follow_from_the_formula_of_binary_columns() -> None:
    sixteen = schema(*(categorical(f"c{number}", 2) for number in range(16)))
    found = expected_errors(make_plan(sixteen, 2.0), 12_000)
    exact = 196 * 0.5 / np.tanh(1 / 16) / np.sqrt(12_000)
    assert found["points"].round(1).eq(14.3).all()
    assert found["points"].to_numpy() == pytest.approx(exact, rel=1e-4)
    assert (found["guess"] == 47.5).all()
    assert found["informative"].all()
    assert not expected_errors(make_plan(sixteen, 0.5), 12_000)["informative"].any()


def test_a_half_of_the_respondents_gives_larger_errors() -> None:
    plan = make_plan(EVEN, 2.0)
    half = replace(plan, part=Part(2, 1, "panel"))
    whole, own = expected_errors(plan, 1000), expected_errors(half, 1000)
    assert (own["records"] == 500).all()
    assert own["points"].to_numpy() == pytest.approx(np.sqrt(2) * whole["points"].to_numpy())


def test_masked_numbers_leave_the_errors_of_the_categories() -> None:
    columns = [categorical("a", 2), {"name": "x", "kind": "numeric", "bounds": [0, 1]}]
    both = schema(*columns)
    categories = make_plan(both.only(["a"]), 1.0)
    numbers = MaskedPlan.from_schema(both.for_masking(["x"], []), 1.0)
    plan = MixedPlan.of(numbers, categories)
    error = np.sqrt(KeepOrReplace.of_epsilon(2, 1.0).covariance([0.5, 0.5], 1000)[0, 0])
    found = expected_errors(plan, 1000)
    assert found["columns"].tolist() == ["a"]
    assert found["points"].tolist() == pytest.approx([196 * error], rel=1e-4)
    with pytest.raises(DeniableError, match="kind masked has no channels"):
        expected_errors(numbers, 1000)


def test_plans_without_channels_and_too_few_records_are_refused() -> None:
    with pytest.raises(DeniableError, match="kind collected has no channels"):
        expected_errors(CollectedPlan.from_schema(EVEN, 1.0), 1000)
    for few in (1, 0, -5):
        with pytest.raises(DeniableError, match="errors need 2 or more"):
            expected_errors(make_plan(EVEN, 1.0), few)
    with pytest.raises(DeniableError, match="no attribute 'z'"):
        expected_errors(make_plan(EVEN, 1.0), 100, [("a", "z")])


WANTED: dict[str, dict[str, Any]] = {
    "all columns": {"points": 5},
    "by size": {"points": 5, "split": "size"},
    "one column": {"points": 3, "tables": [("b",)]},
    "optimal for a table": {"points": 8, "split": "optimal", "tables": [("a", "b")]},
    "a cluster": {"points": 4, "clusters": [("a", "b")], "tables": [("a", "b"), ("n",)]},
    "subset selection": {"points": 12, "mechanism": "subset-selection"},
    "at a prior": {
        "points": 5,
        "prior": {"a": np.array([0.01, 0.99])},
        "tables": [("a",)],
        "mechanism": "generalized-rr",
    },
}


@pytest.mark.parametrize("kind", WANTED)
def test_the_least_epsilon_has_the_points_and_the_next_one_below_has_not(kind: str) -> None:
    wanted = WANTED[kind]
    options = {name: value for name, value in wanted.items() if name != "points"}
    tables = options.get("tables", [(each.name,) for each in MIXED.randomized])

    def worst(epsilon: float) -> float:
        plan = make_plan(MIXED, epsilon, **options)
        found = expected_errors(plan, 20_000, tables, prior=options.get("prior"))
        return float(
            found.set_index("columns").loc[[" x ".join(t) for t in tables], "points"].max()
        )

    epsilon = epsilon_for(MIXED, records=20_000, **wanted)
    assert f"{epsilon:.3g}" == f"{epsilon:g}"
    assert worst(epsilon) <= wanted["points"]
    below = epsilon - 10 ** (np.floor(np.log10(epsilon)) - 2)
    assert worst(below) > wanted["points"]


def test_split_questionnaires_need_a_smaller_epsilon() -> None:
    epsilon = epsilon_for(EVEN, 5, 12_000, ask=1)
    assert epsilon < epsilon_for(EVEN, 5, 12_000)
    found = expected_errors(make_questionnaire(EVEN, epsilon, 1), 12_000)
    assert found["points"].max() <= 5
    assert (found["records"] == 1500).all()


def test_points_that_sampling_forbids_are_refused_with_the_least_possible_ones() -> None:
    sampling = 196 * np.sqrt(0.25 / 100)
    with pytest.raises(DeniableError, match=f"impossible with 100 records: .* ± {sampling:.1f} po"):
        epsilon_for(EVEN, 9, 100)
    assert epsilon_for(EVEN, 10, 100) > 0
    for bad in (0, -1, 51, float("nan"), float("inf")):
        with pytest.raises(DeniableError, match="give a number above 0, at most 50"):
            epsilon_for(EVEN, bad, 100)
    with pytest.raises(DeniableError, match="'z'"):
        epsilon_for(EVEN, 9, 1000, [("z",)])


def test_the_least_epsilon_at_all_is_enough_for_many_records() -> None:
    assert epsilon_for(schema(categorical("a", 2)), 50, 10**9) == 0.01


def test_a_note_names_estimates_that_are_worse_than_a_guess() -> None:
    poor = expected_errors(make_plan(MIXED, 0.1), 2000, [("a", "b")])
    note = note_on_guesses(poor)
    assert "a x b (± " in note
    assert "a guess ± 16.7)" in note
    for remedy in ("leave columns out", "coarser categories", "larger epsilon", "--split optimal"):
        assert remedy in note
    assert note_on_guesses(expected_errors(make_plan(MIXED, 8.0), 20_000)) == ""
    many = schema(*(categorical(f"c{number}", 2) for number in range(16)))
    assert "c9 (" in (note := note_on_guesses(expected_errors(make_plan(many, 0.1), 2000)))
    assert "6 more: a guess without" in note
