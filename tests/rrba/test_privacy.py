"""Exact epsilons of RRBA against an independent formula in fractions, from dense matrices."""

import itertools
import math
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from deniable.errors import DeniableError
from deniable.rrba.tables import (
    answer_epsilon,
    claimed_epsilon,
    floor_epsilon,
    floored_projection,
    keep_for_epsilon,
    retention_from_claim,
    table_channel,
    variance_inflation,
)

KEEPS = st.floats(0.01, 0.99)
TABLES = st.lists(st.integers(1, 1000), min_size=2, max_size=5).map(
    lambda weights: np.array(weights) / sum(weights)
)


def dense(table: np.ndarray, keep: float) -> list[list[Fraction]]:
    """P of the definition, for a table taken in its exact proportions."""
    weights = [Fraction((1 - keep) * float(q)) for q in table]
    p, total = Fraction(keep), sum(weights)
    fake = [(1 - p) * weight / total for weight in weights]
    size = range(len(table))
    return [[(p if u == v else Fraction(0)) + fake[v] for v in size] for u in size]


def worst_log_ratio(matrix: list[list[Fraction]]) -> float:
    """Definition 3.2: over all pairs of truths and all answers."""
    worst = max(
        row[v] / other[v]
        for row, other in itertools.permutations(matrix, 2)
        for v in range(len(row))
    )
    return math.log(worst)


@settings(deadline=None, derandomize=True)
@given(TABLES, KEEPS)
def test_an_answers_epsilon_is_that_of_the_definition(table: np.ndarray, keep: float) -> None:
    exact = answer_epsilon([table], keep)
    assert exact == pytest.approx(worst_log_ratio(dense(table, keep)), rel=1e-12)
    assert exact == pytest.approx(math.log1p(keep / ((1 - keep) * table.min())), rel=1e-9)


@settings(deadline=None, derandomize=True)
@given(TABLES, KEEPS)
def test_theorem_4_1_never_holds_for_two_cells_or_more(table: np.ndarray, keep: float) -> None:
    assert answer_epsilon([table], keep) > claimed_epsilon(keep)


@pytest.mark.parametrize(("cells", "parity"), [(2, 3), (4, 5), (8, 9), (16, 17)])
def test_uniform_tables_at_one_half(cells: int, parity: int) -> None:
    exact = answer_epsilon([np.full(cells, 1 / cells)], 0.5)
    assert exact == pytest.approx(math.log(parity), abs=1e-12)
    assert floor_epsilon([cells], 0.5, 1.0) == pytest.approx(exact, abs=1e-12)


@settings(max_examples=20, deadline=None, derandomize=True)
@given(TABLES, TABLES, KEEPS)
def test_a_views_epsilon_is_that_of_the_joint_answers(
    first: np.ndarray, second: np.ndarray, keep: float
) -> None:
    a, b = dense(first, keep), dense(second, keep)
    joint = [
        [x * y for x in row for y in other] for row in a for other in b
    ]  # the Kronecker product: every record answers both
    assert answer_epsilon([first, second], keep) == pytest.approx(worst_log_ratio(joint), rel=1e-12)
    total = answer_epsilon([first], keep) + answer_epsilon([second], keep)
    assert answer_epsilon([first, second], keep) == pytest.approx(total, rel=1e-12)


def test_the_sum_is_a_bound_if_the_table_differs_between_rounds() -> None:
    # By hand: at p = 1/2, 1 + 1/q is 5 and 7/3 for q = 1/4, 3/4, and the other way round.
    tables = [[0.25, 0.75], [0.75, 0.25]]
    first, second = (dense(np.array(table), 0.5) for table in tables)
    # A client answers about the same cell in both rounds.
    both = [[x * y for x in row for y in other] for row, other in zip(first, second, strict=True)]
    exact = worst_log_ratio(both)
    assert exact == pytest.approx(math.log(5 * 7 / 3), rel=1e-12)
    assert answer_epsilon(tables, 0.5) == pytest.approx(2 * math.log(5), rel=1e-12)
    assert answer_epsilon(tables, 0.5) >= exact
    # Through the same table the sum is exact.
    same = [[x * y for x in row for y in row] for row in first]
    assert answer_epsilon([tables[0]] * 2, 0.5) == pytest.approx(worst_log_ratio(same), rel=1e-12)


@settings(deadline=None, derandomize=True)
@given(st.lists(st.floats(-3, 3), min_size=2, max_size=8), KEEPS, st.floats(0.01, 1))
def test_a_floor_bounds_epsilon_whatever_the_estimate(
    estimate: list[float], keep: float, floor: float
) -> None:
    table = floored_projection(estimate, floor)
    bound = floor_epsilon([len(estimate)], keep, floor)
    assert answer_epsilon([table], keep) <= bound * (1 + 1e-12)


def test_a_table_at_its_floor_attains_the_bound() -> None:
    table = floored_projection([2.0, -1.0, -1.0, 1.0], 0.2)
    assert table.min() == 0.05
    assert answer_epsilon([table], 0.4) == pytest.approx(floor_epsilon([4], 0.4, 0.2), rel=1e-12)
    # ln(1 + .4 * 4 / (.6 * .2)) = ln(43 / 3)
    assert floor_epsilon([4], 0.4, 0.2) == pytest.approx(math.log(43 / 3), rel=1e-12)


def test_one_category_costs_nothing_and_a_zero_cell_everything() -> None:
    assert answer_epsilon([[1.0]], 0.9) == answer_epsilon([[1.0]] * 5, 0.9) == 0.0
    assert floor_epsilon([1], 0.9, 0.0) == 0.0
    assert answer_epsilon([[1.0, 0.0]], 0.1) == math.inf
    assert answer_epsilon([[0.5, 0.5], [1.0, 0.0]], 0.1) == math.inf
    assert floor_epsilon([3], 0.1, 0.0) == math.inf


def test_the_listed_p_are_those_of_equation_6_cut_off() -> None:
    printed = [0.009, 0.048, 0.095, 0.139, 0.221, 0.295]
    epsilons = [0.01, 0.05, 0.10, 0.15, 0.25, 0.35]
    assert [math.floor(1000 * retention_from_claim(e)) / 1000 for e in epsilons] == printed
    for epsilon in epsilons:
        assert claimed_epsilon(retention_from_claim(epsilon)) == pytest.approx(epsilon, rel=1e-12)
    # Tables 3 to 5 pair p = .5, .4, .5 with epsilon .25, .35, .5: not by (6).
    assert [round(claimed_epsilon(p), 3) for p in (0.4, 0.5)] == [0.511, 0.693]


@settings(deadline=None, derandomize=True)
@given(st.integers(2, 20), st.floats(0.01, 10), st.floats(0.01, 1))
def test_p_for_a_wanted_epsilon(cells: int, epsilon: float, floor: float) -> None:
    keep = keep_for_epsilon([cells], epsilon, floor)
    assert epsilon * (1 - 1e-9) <= floor_epsilon([cells], keep, floor) <= epsilon


@settings(deadline=None, derandomize=True)
@given(
    st.lists(st.integers(1, 20), min_size=1, max_size=5).filter(lambda sizes: max(sizes) > 1),
    st.floats(0.01, 10),
    st.floats(0.01, 1),
)
def test_p_for_a_wanted_epsilon_of_a_view(sizes: list[int], epsilon: float, floor: float) -> None:
    keep = keep_for_epsilon(sizes, epsilon, floor)
    assert epsilon * (1 - 1e-9) <= floor_epsilon(sizes, keep, floor) <= epsilon
    p, w = Fraction(keep), Fraction(floor)
    drawn = math.prod((1 + p * m / ((1 - p) * w) for m in sizes if m > 1), start=Fraction(1))
    logarithm = Context(prec=60).ln(Decimal(drawn.numerator) / Decimal(drawn.denominator))
    assert logarithm <= Decimal(epsilon) * (1 + Decimal("1e-25"))


def test_what_a_view_guarantees_its_tables_attain() -> None:
    tables = [np.array([0.25, 0.75]), np.full(4, 0.125), np.ones(1)]
    tables[1][0] = 0.625
    keep = keep_for_epsilon([2, 4, 1], 1.0, 0.5)
    assert answer_epsilon(tables, keep) == pytest.approx(1.0, rel=1e-12)
    # In two rounds of one table both answers count.
    twice = keep_for_epsilon([4, 4], 1.0)
    assert answer_epsilon([np.full(4, 0.25)] * 2, twice) == pytest.approx(1.0, rel=1e-12)
    assert floor_epsilon([2, 4], 0.5, 0.0) == math.inf
    assert floor_epsilon([1], 0.5, 0.0) == 0.0


def test_variance_inflation_by_hand() -> None:
    # pi = (1/4, 3/4), q uniform, p = 1/2: lambda = (3/8, 5/8), (15/64) / (1/4 * 3/16) = 5.
    assert variance_inflation([0.25, 0.75], [0.5, 0.5], 0.5) == pytest.approx(5.0, abs=1e-12)
    # With q = pi it is 1 / p^2.
    assert variance_inflation([0.25, 0.75], [0.25, 0.75], 0.5) == pytest.approx(4.0, abs=1e-12)


def test_adapting_the_table_costs_at_equal_epsilon() -> None:
    truth = np.array([0.02, 0.08, 0.2, 0.7])
    uniform = keep_for_epsilon([4], 1.0)
    least = truth.min()
    adapted = math.expm1(1.0) * least / (1 + math.expm1(1.0) * least)
    assert answer_epsilon([truth], adapted) == pytest.approx(1.0, rel=1e-9)
    ratio = variance_inflation(truth, truth, adapted) / variance_inflation(
        truth, np.full(4, 0.25), uniform
    )
    assert ratio > 20


def test_the_channel_is_keep_or_replace() -> None:
    table = np.array([0.1, 0.2, 0.7])
    expected = 0.3 * np.eye(3) + 0.7 * table
    np.testing.assert_allclose(table_channel(table, 0.3).matrix(), expected, atol=1e-15)


@pytest.mark.parametrize("keep", [0.0, 1.0, -0.1, math.nan])
def test_p_out_of_range_is_refused(keep: float) -> None:
    for ask in (claimed_epsilon, lambda p: answer_epsilon([[0.5, 0.5]], p)):
        with pytest.raises(DeniableError, match=r"must be in \(0, 1\)"):
            ask(keep)


def test_other_nonsense_is_refused() -> None:
    with pytest.raises(DeniableError, match="0 cells"):
        floor_epsilon([0], 0.5, 0.5)
    with pytest.raises(DeniableError, match="epsilon is 0"):
        retention_from_claim(0.0)
    with pytest.raises(DeniableError, match="1 cells"):
        keep_for_epsilon([1], 1.0)
    for sizes in ([], [1, 1], [0, 2]):
        with pytest.raises(DeniableError, match="give tables of at least 1 cell"):
            keep_for_epsilon(sizes, 1.0)
