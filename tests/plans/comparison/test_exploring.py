"""What a data owner reads on the page of epsilons: odds, bounds and errors, computed again."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from deniable.channels import MAKERS, KeepOrReplace
from deniable.errors import DeniableError
from deniable.plans import (
    EPSILONS,
    AnswerOdds,
    ExploredPlan,
    expected_errors,
    explore,
    make_plan,
    make_questionnaire,
)
from deniable.schema import Schema, schema_from_dict


def schema(*columns: object) -> Schema:
    about = {"format": "deniable-schema", "version": 1, "population": "survey"}
    return schema_from_dict(about | {"file": {"kind": "csv"}, "columns": list(columns)})


def answers(name: str, *categories: str) -> dict[str, object]:
    return {"name": name, "kind": "categorical", "categories": list(categories)}


def nine() -> Schema:
    return schema(*(answers(f"q{number}", "no", "yes") for number in range(1, 10)))


def setting(epsilon: float, of: Schema | None = None) -> ExploredPlan:
    return next(
        each
        for each in explore(of or nine(), 20_000, [epsilon])
        if each.allocation == "--split even"
    )


def test_nine_binary_columns_at_epsilon_1_have_the_odds_computed_by_hand() -> None:
    found = setting(1.0)
    kept = math.exp(1 / 9) / (1 + math.exp(1 / 9))
    assert 100 * kept == pytest.approx(52.77, abs=0.01)
    assert {(each.same, each.other, each.exact) for each in found.odds.values()} == {(53, 47, True)}
    odds = math.e / 9, 1 / (9 * math.e)  # of a guess of 10 in 100, odds 1 to 9
    assert [round(100 * each / (1 + each), 2) for each in odds] == [23.2, 3.93]
    assert found.moved(0.1) == (3, 24)


def test_errors_are_those_of_the_plan_that_the_command_makes() -> None:
    tables = [("q1", "q2")]
    found = explore(nine(), 5000, [0.5, 2.0], tables)
    ways = ["--split optimal", "--split even", "--split joint", "--ask pairs"]
    assert [each.allocation for each in found] == ways * 2
    for each in found:
        if (allocation := each.allocation) == "--ask pairs":
            plan = make_questionnaire(nine(), each.epsilon, "pairs", tables=tables)
        else:
            split, clusters = allocation.removeprefix("--split "), []
            if split == "joint":
                split, clusters = "optimal", tables
            plan = make_plan(nine(), each.epsilon, split=split, tables=tables, clusters=clusters)
        assert each.plan.epsilon == plan.epsilon <= each.epsilon
        again = expected_errors(plan, 5000, tables)
        assert each.errors["points"].tolist() == again["points"].tolist()
        assert each.errors["columns"].tolist()[-1] == "q1 x q2"


def test_tables_that_rules_join_to_a_cluster_with_too_many_cells_have_no_joint_plan() -> None:
    columns = [answers(name, *map(str, range(50))) for name in "abcd"]
    tables = [("a", "b"), ("c", "d")]
    apart = explore(schema(*columns), 1000, [1.0], tables)
    assert "--split joint" in [each.allocation for each in apart]
    joined = schema(*columns[:2], columns[2] | {"asked_if": {"a": ["0"]}}, columns[3])
    found = explore(joined, 1000, [1.0], tables)
    assert [each.allocation for each in found][:2] == ["--split optimal", "--split even"]
    assert "--split joint" not in [each.allocation for each in found]


def exact_bounds(prior: Fraction, epsilon: float) -> tuple[Decimal, Decimal]:
    """Return both bounds of the posterior in percent, to 60 digits."""
    with localcontext(prec=60):
        ratio = Decimal(epsilon).exp()
        rho = Decimal(prior.numerator) / Decimal(prior.denominator)
        return (
            100 * rho / (ratio - (ratio - 1) * rho),
            100 * ratio * rho / (1 + (ratio - 1) * rho),
        )


@given(st.floats(1e-3, 25), st.integers(0, 100))
def test_bounds_are_rounded_outwards(epsilon: float, percent: int) -> None:
    plan = make_plan(schema(answers("a", "no", "yes")), epsilon)
    found = ExploredPlan(epsilon, "--split even", 100, plan, expected_errors(plan, 100))
    low, high = found.moved(percent / 100)
    least, most = exact_bounds(Fraction(percent, 100), plan.epsilon)
    assert 0 <= low <= least <= percent <= most <= high <= 100
    assert least - low < 1.0001
    assert high - most < 1.0001


@given(
    st.floats(1e-3, 25), st.sampled_from(("hadamard", "projective-geometry", "subset-selection"))
)
def test_odds_of_other_channels_bound_all_tests_of_two_answers(epsilon: float, kind: str) -> None:
    channel = MAKERS[kind].of_epsilon(7, epsilon)
    odds = AnswerOdds.of(("a", "b"), channel)
    assert not odds.exact
    assert odds.same + odds.other == 100
    P = channel.matrix()
    # Between two answers, the best test has Pr(yes | a) - Pr(yes | b) = total variation, and the
    # bound has the largest of any channel with this epsilon.
    apart = max(abs(P[u] - P[v]).sum() / 2 for u in range(7) for v in range(u))
    assert 100 * apart <= odds.same - odds.other + 1e-9


@given(st.integers(2, 30), st.floats(1e-2, 10))
def test_odds_of_keep_or_replace_are_entries_of_the_matrix(size: int, epsilon: float) -> None:
    channel = KeepOrReplace.of_epsilon(size, epsilon)
    odds = AnswerOdds.of(tuple(map(str, range(size))), channel)
    P = channel.matrix()
    assert odds.exact
    assert abs(odds.same - 100 * P[0, 0]) <= 0.5 + 1e-9
    assert abs(odds.other - 100 * P[1, 0]) <= 0.5 + 1e-9


def test_a_larger_epsilon_reveals_more_and_errs_less() -> None:
    three = schema(*(answers(name, "no", "yes") for name in "abc"))
    found = [
        each for each in explore(three, 1000, EPSILONS[::-5]) if each.allocation == "--split even"
    ]
    assert [each.epsilon for each in found] == sorted(EPSILONS[::-5])
    assert len(EPSILONS) == 40
    assert (EPSILONS[0], EPSILONS[-1]) == (0.1, 10)
    for less, more in pairwise(found):
        assert (less.errors["points"] > more.errors["points"]).all()
        assert less.moved(0.1)[0] >= more.moved(0.1)[0]
        assert less.moved(0.1)[1] <= more.moved(0.1)[1]


def test_two_tables_with_one_name_are_shown_once() -> None:
    _, found, *_ = explore(nine(), 1000, [1.0], [("q1",), ("q1", "q2"), ("q1", "q2")])
    assert found.errors["columns"].is_unique
    assert len(found.errors) == 10


@pytest.mark.parametrize("epsilons", [(), (0.0,), (-1.0,), (math.nan,), (math.inf,)])
def test_epsilons_out_of_range_are_refused(epsilons: tuple[float, ...]) -> None:
    with pytest.raises(DeniableError, match="epsilon"):
        explore(nine(), 1000, epsilons)


def test_too_few_records_are_refused() -> None:
    with pytest.raises(DeniableError, match="2 or more records"):
        explore(nine(), 1, [1.0])
