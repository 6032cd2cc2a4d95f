"""A designed channel is never worse than the best closed form that meets the same requirements."""

import numpy as np
import pytest
from hypothesis import Phase, given, settings, strategies as st
from tests.design.design_cases import LOSSES, MARGINS, check, check_not_worse
from tests.slow_variants import all_but_first, slow

from deniable.design import Cost, Requirements, design
from deniable.pram.matrices import channel_of_epsilon

weights = st.lists(st.integers(1, 100), min_size=2, max_size=5)
losses = st.sampled_from(LOSSES)
epsilons = st.floats(0.05, 6.0)


@given(weights, epsilons, losses, st.booleans(), st.sampled_from([None, "inverse"]))
@settings(
    max_examples=30,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
)
def test_random_proportions(counts, epsilon, loss, invariant, estimator):
    pi = np.array(counts) / sum(counts)
    asked = Requirements(epsilon=epsilon, invariant=invariant, cost=Cost(power=1))
    found = design(pi, asked, loss, estimator=estimator)
    check(found, pi, asked)
    assert check_not_worse(found, pi, asked) >= 1


@pytest.mark.slow
@given(weights, epsilons, losses, st.floats(0.1, 1.0))
@settings(
    max_examples=15,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
)
def test_random_proportions_with_floors(counts, epsilon, loss, share):
    pi = np.array(counts) / sum(counts)
    floor = share * float(channel_of_epsilon(len(pi), epsilon).matrix()[0, 0])
    asked = Requirements(epsilon=epsilon, retention=floor, cost=Cost(power=1))
    found = design(pi, asked, loss)
    check(found, pi, asked)
    assert check_not_worse(found, pi, asked) >= 1


@pytest.mark.parametrize("invariant", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("epsilon", all_but_first([0.5, 2.0]))
@pytest.mark.parametrize("attribute", ["sex", "race", slow("workclass")])
def test_margins_of_adult(attribute, epsilon, loss, invariant):
    pi = MARGINS[attribute]
    asked = Requirements(epsilon=epsilon, invariant=invariant, cost=Cost(power=1))
    found = design(pi, asked, loss)
    check(found, pi, asked)
    assert check_not_worse(found, pi, asked) >= 1


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("epsilon", [slow(15.0), 30.0])
@pytest.mark.parametrize("invariant", [False, True])
def test_losses_as_small_as_the_tolerance_of_solvers(epsilon, loss, invariant):
    rare = np.array([0.0039, 0.0877, 6.7e-12, 0.556, 0.3524])
    for pi in (rare / rare.sum(), np.array([0.5, 0.3, 0.2])):
        cost = Cost(power=0.5, at_most=0.101)
        asked = Requirements(epsilon=epsilon, invariant=invariant, cost=cost)
        found = design(pi, asked, loss)
        check(found, pi, asked)
        check_not_worse(found, pi, asked)


def test_generalized_randomized_response_is_the_best_where_it_is_known_to_be():
    # Two equal categories: Warner's design; for the share of changed records, any number.
    for size in (2, 3, 6):
        pi = np.full(size, 1 / size)
        for loss in ("trace", "changed") if size == 2 else ("changed",):
            found = design(pi, Requirements(epsilon=1.5), loss)
            expected = channel_of_epsilon(size, 1.5).matrix()
            np.testing.assert_allclose(np.sort(found.channel.matrix()), np.sort(expected), 1e-9)


def test_same_seed_same_matrix():
    pi, asked = MARGINS["race"], Requirements(epsilon=1.0)
    first, second = design(pi, asked, seed=3), design(pi, asked, seed=3)
    np.testing.assert_array_equal(first.channel.matrix(), second.channel.matrix())
    assert first.lower_bound == second.lower_bound
