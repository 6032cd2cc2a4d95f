"""Requirements are met by the matrix that is returned, as recomputed from it alone."""

from fractions import Fraction

import numpy as np
import pytest
from tests.design.design_cases import LOSSES, check, exact_rows, misses
from tests.slow_variants import all_but_first, one_in, slow

from deniable.design import Cost, Requirements, design
from deniable.design.exactness import violations
from deniable.errors import DeniableError

PI = np.array([0.4, 0.3, 0.2, 0.1])
NEIGHBOURS = {0: [1], 1: [0, 2], 2: [1, 3], 3: [2]}
CASES = {
    "epsilon": Requirements(epsilon=1.0),
    "epsilon, invariant": Requirements(epsilon=1.0, invariant=True),
    "epsilon, a floor": Requirements(epsilon=2.0, retention=0.55),
    "epsilon, floors": Requirements(epsilon=2.0, retention=[0.6, 0.5, 0.4, 0.3]),
    "epsilon, floors of some": Requirements(epsilon=2.0, retention={0: 0.6}, change={3: 0.5}),
    "epsilon, invariant, floor": Requirements(epsilon=2.0, invariant=True, retention={3: 0.3}),
    "epsilon, cap": Requirements(epsilon=1.0, cost=Cost(power=1, at_most=0.8)),
    "epsilon, invariant, cap": Requirements(
        epsilon=1.5, invariant=True, cost=Cost(power=2, at_most=1.2)
    ),
    "forbidden": Requirements(change=0.2, forbidden=[(0, 3), (3, 0), (1, 3)]),
    "forbidden, invariant": Requirements(change=0.1, invariant=True, forbidden=[(0, 3), (2, 0)]),
    "allowed": Requirements(change=0.25, allowed=NEIGHBOURS),
    "allowed, invariant": Requirements(change=0.1, invariant=True, allowed=NEIGHBOURS),
    "allowed, floor, cap": Requirements(
        change=0.1, retention=0.5, allowed=NEIGHBOURS, cost=Cost(power=1, at_most=0.3)
    ),
    "costs of a matrix": Requirements(
        epsilon=1.0, cost=Cost(matrix=[[0, 1, 5, 5], [1, 0, 1, 5], [9, 1, 0, 1], [9, 9, 1, 0]])
    ),
    "nothing": Requirements(),
}


@pytest.mark.parametrize("loss", [*LOSSES[:2], *map(slow, LOSSES[2:])])
@pytest.mark.parametrize("case", one_in(3, CASES))
def test_requirements_are_met(case, loss):
    asked = CASES[case]
    if loss == "distance" and asked.cost is None:
        with pytest.raises(DeniableError, match="needs costs"):
            design(PI, asked, loss)
        return
    found = design(PI, asked, loss)
    check(found, PI, asked)
    if loss in ("changed", "distance"):
        assert found.optimality == "global"


def test_zeros_are_zeros_and_sums_of_columns_say_where_forbidden_ones_are():
    asked = CASES["forbidden"]
    P = design(PI, asked, "trace").channel.matrix()
    assert P[0, 3] == 0.0
    assert P[3, 0] == 0.0
    assert P[1, 3] == 0.0


def test_floors_hold_of_the_probabilities_that_are_drawn():
    asked = CASES["epsilon, a floor"]
    for loss in ("trace", "changed"):
        rows = exact_rows(design(PI, asked, loss).channel.matrix())
        assert all(rows[v][v] >= Fraction(0.55) for v in range(4))


@pytest.mark.parametrize("epsilon", [1e-4, slow(0.3), np.log(3.0), slow(30.0)])
@pytest.mark.parametrize("invariant", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
def test_exact_epsilon_is_never_above(epsilon, invariant, loss):
    asked = Requirements(epsilon=float(epsilon), invariant=invariant, cost=Cost(power=1))
    found = design([0.5, 0.3, 0.2], asked, loss)
    check(found, [0.5, 0.3, 0.2], asked)
    if loss in ("trace", "worst_cell"):  # others may report the commonest category alone
        assert found.channel.epsilon >= epsilon * (1 - 1e-6) - 1e-12


@pytest.mark.parametrize("loss", LOSSES)
def test_epsilon_zero(loss):
    asked = Requirements(epsilon=0.0, cost=Cost(power=1), invariant=True)
    found = design(PI, asked, loss)
    check(found, PI, asked)
    np.testing.assert_allclose(found.channel.matrix(), np.tile(PI, (4, 1)), atol=1e-12)
    assert any("singular" in note for note in found.notes)
    alone = design(PI, Requirements(epsilon=0.0), "changed")
    check(alone, PI, Requirements(epsilon=0.0))
    assert alone.loss == pytest.approx(0.6)  # all are reported as the commonest
    assert any(note.startswith("never reported: category 1") for note in alone.notes)


SHARES = {
    "one category": [1.0],
    "a category without records": [0.6, 0.4, 0.0],
    "two equal": [0.4, 0.4, 0.2],
    "all equal": [0.25] * 4,
    "very skewed": [1 - 3e-5, 1e-5, 2e-5],
    "skewed": [0.97, 0.01, 0.01, 0.01],
}


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("invariant", all_but_first([True, False]))
@pytest.mark.parametrize("shares", SHARES)
def test_proportions_of_all_kinds(shares, invariant, loss):
    pi = SHARES[shares]
    asked = Requirements(epsilon=1.0, invariant=invariant, cost=Cost(power=1))
    found = design(pi, asked, loss)
    check(found, pi, asked)
    if shares == "a category without records" and invariant:
        assert found.channel.matrix()[:, 2].tolist() == [0.0, 0.0, 0.0]
        assert found.notes[0] == "never reported: category 2"
        assert "singular" in found.notes[1]


def test_no_bound_on_epsilon_leaves_the_truth():
    for loss in ("trace", "changed"):
        found = design(PI, Requirements(), loss)
        np.testing.assert_allclose(found.channel.matrix(), np.eye(4), atol=1e-7)
        assert found.optimality == "global"


def test_violations_are_those_of_the_definitions():
    P = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.05, 0.05, 0.9]])
    pi = np.array([0.5, 0.3, 0.2])
    asked = Requirements(
        epsilon=2.0,
        invariant=True,
        retention=0.75,
        change=0.15,
        forbidden=[(2, 0)],
        allowed={1: [0]},
        cost=Cost(power=1, at_most=0.2),
    )
    found = violations(P, pi, asked)
    assert found["epsilon"] == pytest.approx(np.log(16) - 2)
    assert found["invariance"] == pytest.approx(0.11)  # .5 .7 + .3 .1 + .2 .05 = .39
    assert found["retention"] == pytest.approx(0.05)
    assert found["change"] == pytest.approx(0.05)
    assert found["forbidden"] == 0.05
    assert found["allowed"] == 0.1
    # .5 (.2 + 2 .1) + .3 (.1 + .1) + .2 (2 .05 + .05) = .2 + .06 + .03
    assert found["cost"] == pytest.approx(0.09)
    assert misses(P, pi, asked)["invariance"] == pytest.approx(found["invariance"])


@pytest.mark.parametrize(
    ("proportions", "fault"),
    [([0.5, 0.6], "the sum is 1.1"), ([1.5, -0.5], "not negative"), ([], "one distribution")],
)
def test_proportions_must_be_a_distribution(proportions, fault):
    with pytest.raises(DeniableError, match=fault):
        design(proportions, Requirements(epsilon=1.0))


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"epsilon": -1.0}, "the bound of epsilon is -1"),
        ({"epsilon": 31.0}, "the bound of epsilon is 31"),
        ({"retention": 1.2}, "a retention of 1.2"),
        ({"change": {0: -0.1}}, "a change of -0.1"),
    ],
)
def test_numbers_out_of_range(options, fault):
    with pytest.raises(DeniableError, match=fault):
        Requirements(**options)


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"retention": [0.1, 0.2]}, "2 numbers for 4 categories"),
        ({"retention": {4: 0.1}}, "retention names the category 4"),
        ({"forbidden": [(0, 4)]}, "forbidden names the category 4"),
        ({"forbidden": [(0, 1, 2)]}, "it takes pairs"),
        ({"allowed": {0: [7]}}, "allowed names the category 7"),
        ({"categories": ["a"]}, "1 names of categories for 4"),
        ({"cost": Cost(matrix=[[0.0]])}, "has shape"),
        ({"cost": Cost(matrix=np.full((4, 4), -1.0))}, "must be numbers >= 0"),
    ],
)
def test_requirements_of_other_categories(options, fault):
    with pytest.raises(DeniableError, match=fault):
        design(PI, Requirements(**options), "changed" if "cost" not in options else "distance")


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({}, "neither of matrix and power"),
        ({"power": 1.0, "matrix": [[0.0]]}, "both of matrix and power"),
        ({"power": 0.0}, "the power of the costs is 0"),
        ({"power": 1.0, "at_most": -1.0}, "the expected cost is -1"),
    ],
)
def test_costs_out_of_range(options, fault):
    with pytest.raises(DeniableError, match=fault):
        Cost(**options)


def test_what_cannot_be_asked():
    with pytest.raises(DeniableError, match="unknown loss 'cost'; use trace"):
        design(PI, Requirements(epsilon=1.0), "cost")
    with pytest.raises(DeniableError, match="only if the matrix is invariant"):
        design(PI, Requirements(epsilon=1.0), estimator="reports")
    with pytest.raises(DeniableError, match="25 categories are too many"):
        design(np.full(25, 0.04), Requirements(epsilon=1.0))
