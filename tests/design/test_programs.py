"""The programs as cvxpy states them agree with the fast ones."""

import numpy as np
import pytest
from tests.design.design_cases import MARGINS
from tests.design.reference import extreme_entries, least_linear, relaxed, relaxed_concave
from tests.slow_variants import slow

from deniable.design import Cost, Requirements, design
from deniable.design.programs.central_path import relax
from deniable.design.programs.concave import Concave
from deniable.design.programs.interior_point import _multipliers
from deniable.design.programs.losses import InverseVariance, loss_of
from deniable.design.programs.requirements import polytope

PI = np.array([0.4, 0.3, 0.2, 0.1])
CASES = [
    Requirements(epsilon=1.0),
    Requirements(epsilon=1.0, invariant=True),
    Requirements(epsilon=2.0, retention=0.5),
    Requirements(change=0.2, forbidden=[(0, 3), (1, 2)], invariant=True),
    Requirements(epsilon=2.0, invariant=True, cost=Cost(power=1, at_most=0.9)),
    Requirements(allowed={0: [1], 3: [2]}, change=0.1, retention={1: 0.6}),
]


@pytest.mark.parametrize("asked", CASES, ids=range(len(CASES)))
def test_linear_programs_agree(asked):
    generator = np.random.default_rng(3)
    for _ in range(6):
        costs = generator.standard_normal((4, 4))
        P, value = least_linear(costs, PI, asked)
        corner = polytope(PI, asked).corner(costs)
        assert np.sum(costs * corner.P) == pytest.approx(value, rel=1e-6, abs=1e-9)
        assert corner.bound <= np.sum(costs * corner.P) + 1e-9
        assert corner.bound == pytest.approx(value, rel=1e-6, abs=1e-9)
        assert np.sum(costs * P) == pytest.approx(value, rel=1e-6, abs=1e-9)


def test_the_relaxed_program_by_hand():
    # Two categories of equal share: generalized randomized response is best, as (1.3) has it.
    loss = InverseVariance(np.array([0.5, 0.5]), "file", worst=False)
    assert relaxed(loss, Requirements(epsilon=np.log(3.0))) == pytest.approx(1.5, abs=1e-4)


def test_both_see_what_is_infeasible():
    asked = Requirements(epsilon=1.0, retention=0.6)
    assert least_linear(np.eye(4), PI, asked) is None
    assert polytope(PI, asked).corner(np.eye(4)) is None


@pytest.mark.parametrize("loss", ["trace", "worst_cell"])
@pytest.mark.parametrize("epsilon", [slow(0.3), 1.0, slow(3.0)])
@pytest.mark.parametrize("invariant", [False, True])
def test_the_bound_is_the_value_of_the_convex_program(loss, epsilon, invariant):
    pi = np.array([0.5, 0.3, 0.2])
    function = loss_of(loss, pi)
    asked = Requirements(epsilon=epsilon, invariant=invariant)
    value = relaxed(function, asked)
    found = design(pi, asked, loss, estimator="inverse")
    assert found.lower_bound == pytest.approx(value, rel=1e-5) or invariant
    assert value <= found.loss * (1 + 1e-6)
    alone = polytope(pi, Requirements(epsilon=epsilon))
    fast = relax(function, alone, np.full((3, 3), 1 / 3))
    assert fast.bound == pytest.approx(relaxed(function, Requirements(epsilon=epsilon)), rel=1e-5)
    assert fast.bound <= found.loss * (1 + 1e-9)


@pytest.mark.parametrize("loss", ["trace", "worst_cell"])
@pytest.mark.parametrize(
    ("pi", "asked"),
    [
        ([0.7, 0.3], Requirements(epsilon=1.0, invariant=True)),
        ([0.5, 0.3, 0.2], Requirements(epsilon=0.5, invariant=True)),
        ([0.5, 0.3, 0.2], Requirements(epsilon=2.0, invariant=True, retention=0.6)),
        ([0.4, 0.3, 0.2, 0.1], Requirements(epsilon=1.0, invariant=True, change={0: 0.3})),
    ],
)
def test_the_bound_of_a_concave_loss_is_that_of_its_secants(loss, pi, asked):
    pi = np.array(pi)
    function = loss_of(loss, pi, estimator="reports", target="file")
    concave = Concave(function, polytope(pi, asked))
    low, high = concave.box()
    least, largest = extreme_entries(pi, asked)
    assert np.all(low <= least + 1e-7)
    assert np.all(high >= largest - 1e-7)
    bound = concave.bound()
    assert bound == pytest.approx(relaxed_concave(function, asked, low, high), rel=1e-6)
    tightest = relaxed_concave(function, asked, least, largest)  # of the smallest box of all
    found = design(pi, asked, loss)
    assert bound <= tightest * (1 + 1e-6)
    assert tightest <= found.loss * (1 + 1e-6)
    assert found.lower_bound == pytest.approx(bound, rel=1e-6)
    assert (found.optimality == "global") == (len(pi) == 2)


def test_the_bound_is_met_where_a_block_design_exists():
    # Seven categories and threes of the Fano plane; epsilon small enough for it to be best.
    found = design(np.full(7, 1 / 7), Requirements(epsilon=0.5), "trace")
    assert found.optimality == "global"
    assert np.unique(np.round(found.channel.matrix(), 9)).size == 2
    assert np.sum(found.channel.matrix() > 1 / 7, axis=0).tolist() == [3] * 7


def test_the_bound_of_local_designs_is_below():
    for attribute in ("race", "marital-status"):
        for epsilon in (0.5, 2.0):
            found = design(MARGINS[attribute], Requirements(epsilon=epsilon), "trace")
            assert 0 < found.lower_bound <= found.loss


def test_equations_that_rounding_makes_one_have_the_least_multipliers():
    left = np.array([[2.0, 1.0], [1.0, 3.0]])
    np.testing.assert_array_equal(_multipliers(left, left @ [1.0, -2.0]), [1.0, -2.0])
    # Exactly singular, as machines differ in: x + y = 2 has the least solution (1, 1).
    np.testing.assert_allclose(_multipliers(np.ones((2, 2)), np.array([2.0, 2.0])), [1.0, 1.0])
