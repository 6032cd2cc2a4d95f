"""Breaches and factors under a given prior: by hand, and against all sets in fractions."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st
from tests.channels.channel_cases import (
    CIRCLE,
    any_channels,
    dense_channels,
    distributions,
    exact_matrix,
    rectangular_channels,
)

from deniable.channels import DenseChannel, KeepOrReplace, ProductChannel
from deniable.errors import ChannelError
from deniable.privacy.amplification import channel_of_parity
from deniable.privacy.breaches import (
    extreme_factors,
    find_breaches,
    worst_set,
)

SEEDED = settings(deadline=None, max_examples=100, derandomize=True)
HALVES = DenseChannel(np.array([[0.75, 0.25], [0.5, 0.5]]))
THREE = DenseChannel(np.array([[0.5, 0.5, 0.0], [0.125, 0.75, 0.125], [0.25, 0.0, 0.75]]))
F = Fraction


def exact_posterior(channel, prior, members):
    """Pr(Q | report) in fractions, None for a report that cannot occur."""
    rows = exact_matrix(channel)
    answers = []
    for report in range(channel.reports):
        joint = [F(p) * row[report] for p, row in zip(prior, rows, strict=True)]
        inside = sum((joint[u] for u in members), F())
        answers.append(inside / sum(joint) if sum(joint) else None)
    return answers


def posterior_of_set(channel, prior, members):
    return find_breaches(channel, prior, members, 0.1, 0.5).posterior


def all_sets(size):
    for number in range(1, size + 1):
        yield from combinations(range(size), number)


@st.composite
def channels_with_priors(draw, kinds=any_channels):
    channel = draw(kinds)
    weights = draw(
        st.lists(st.integers(0, 9), min_size=channel.size, max_size=channel.size).filter(any)
    )
    return channel, [F(weight, sum(weights)) for weight in weights]


# -- posteriors ------------------------------------------------------------------------------------


def test_posterior_by_hand():
    # Prior (1/3, 2/3): report 0 has joint (1/4, 1/3), report 1 (1/12, 1/3).
    prior = [F(1, 3), F(2, 3)]
    np.testing.assert_allclose(posterior_of_set(HALVES, prior, [0]), [3 / 7, 1 / 5], rtol=1e-15)
    np.testing.assert_allclose(posterior_of_set(HALVES, prior, {1}), [4 / 7, 4 / 5], rtol=1e-15)
    np.testing.assert_array_equal(posterior_of_set(HALVES, prior, [0, 1]), [1, 1])


def test_reports_that_cannot_occur_have_no_posterior():
    found = posterior_of_set(THREE, [1, 0, 0], [0])
    np.testing.assert_array_equal(found, [1, 1, np.nan])


def test_more_reports_than_categories_by_hand():
    # Rows (1, 1, 0, 0, 0)/2, (0, 1, 1, 0, 0)/2, (0, 0, 1, 1, 2)/4; prior 1/4, 1/4, 1/2.
    # Joint with the reports, in eighths: (1, 1, 0, 0, 0), (0, 1, 1, 0, 0), (0, 0, 1, 1, 2).
    prior = [F(1, 4), F(1, 4), F(1, 2)]
    np.testing.assert_array_equal(posterior_of_set(CIRCLE, prior, [1]), [0, 0.5, 0.5, 0, 0])
    np.testing.assert_array_equal(posterior_of_set(CIRCLE, prior, [0, 2]), [1, 0.5, 0.5, 1, 1])
    assert find_breaches(CIRCLE, prior, [2], F(3, 5), F(9, 10)).upward == (3, 4)
    assert find_breaches(CIRCLE, prior, [1, 2], F(1, 4), F(1, 2)).downward == (0,)
    largest, smallest = extreme_factors(CIRCLE, prior)
    assert largest == (4, 0, 0)
    assert smallest.ratio == 0
    worst = worst_set(CIRCLE, prior, F(1, 3))
    assert (worst.members, worst.report, worst.posterior) == ((0,), 0, 1)


def test_fewer_reports_than_categories_by_hand():
    # Report 1 has the probabilities 1/2, 3/4, 7/8; under an even prior 4, 6 and 7 seventeenths.
    few = DenseChannel(np.array([[0.5, 0.5], [0.25, 0.75], [0.125, 0.875]]))
    even = [F(1, 3)] * 3
    np.testing.assert_allclose(posterior_of_set(few, even, [2]), [1 / 7, 7 / 17], rtol=1e-15)
    assert find_breaches(few, even, [2], F(2, 5), F(41, 100)).upward == (1,)
    worst = worst_set(few, even, F(1, 2))
    assert (worst.members, worst.report) == ((0,), 0)  # 4 sevenths
    assert worst.posterior == pytest.approx(4 / 7, rel=1e-15)


@SEEDED
@given(channels_with_priors(), st.data())
def test_posterior_in_fractions(case, data):
    channel, prior = case
    members = data.draw(st.sets(st.integers(0, channel.size - 1), min_size=1))
    expected = [np.nan if p is None else float(p) for p in exact_posterior(channel, prior, members)]
    found = posterior_of_set(channel, prior, members)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)
    # The posterior of a set is the sum of those of its members, from the channel's own.
    single = channel.posterior([float(p) for p in prior])[:, sorted(members)].sum(axis=1)
    np.testing.assert_allclose(found, single, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize(("members", "message"), [([], "empty"), ([2], "category 2"), ([-1], "-1")])
def test_sets_that_are_none_are_refused(members, message):
    with pytest.raises(ChannelError, match=message):
        posterior_of_set(HALVES, [0.5, 0.5], members)


# -- breaches under a prior ------------------------------------------------------------------------


def test_breaches_by_hand():
    # Q = {0}, prior 1/3: posterior 3/7 after report 0, 1/5 after report 1.
    prior = [F(1, 3), F(2, 3)]
    found = find_breaches(HALVES, prior, [0], F(2, 5), F(5, 12))
    assert (found.upward, found.downward) == ((0,), ())
    assert found.prior_probability == 1 / 3
    # Q = {1}, prior 2/3: 4/7 after report 0, 4/5 after report 1.
    found = find_breaches(HALVES, prior, [1], F(3, 5), F(13, 20))
    assert (found.upward, found.downward) == ((), (0,))
    # Not below rho_1, not above rho_2: neither.
    found = find_breaches(HALVES, prior, [0], F(3, 10), F(2, 5))
    assert (found.upward, found.downward) == ((), ())


def test_inequalities_are_strict():
    prior = [F(1, 3), F(2, 3)]
    tiny = F(1, 10**30)
    # The posterior is exactly rho_2, then above it by 1e-30.
    assert find_breaches(HALVES, prior, [0], F(2, 5), F(3, 7)).upward == ()
    assert find_breaches(HALVES, prior, [0], F(2, 5), F(3, 7) - tiny).upward == (0,)
    # The prior is exactly rho_1, then below it by 1e-30.
    assert find_breaches(HALVES, prior, [0], F(1, 3), F(5, 12)).upward == ()
    assert find_breaches(HALVES, prior, [0], F(1, 3) + tiny, F(5, 12)).upward == (0,)
    # Downward alike.
    assert find_breaches(HALVES, prior, [1], F(4, 7), F(13, 20)).downward == ()
    assert find_breaches(HALVES, prior, [1], F(4, 7) + tiny, F(13, 20)).downward == (0,)
    assert find_breaches(HALVES, prior, [1], F(3, 5), F(2, 3)).downward == ()
    assert find_breaches(HALVES, prior, [1], F(3, 5), F(2, 3) - tiny).downward == (0,)


def test_floats_are_taken_as_decimals():
    # .1 + .2 is not below .3, whatever 0.1 + 0.2 is in floats.
    channel = DenseChannel(np.array([[0.5, 0.5, 0], [0.5, 0.5, 0], [0.25, 0.25, 0.5]]))
    assert find_breaches(channel, [0.1, 0.2, 0.7], [0, 1], 0.3, 0.4).upward == ()
    assert find_breaches(channel, [0.1, 0.2, 0.7], [0, 1], 0.31, 0.4).upward == (0, 1)


def test_reports_of_probability_zero_cause_no_breach():
    # Under this prior report 2 cannot occur; category 2 alone would give it away.
    channel = DenseChannel(np.array([[0.5, 0.5, 0], [0.5, 0.5, 0], [0.25, 0.25, 0.5]]))
    assert find_breaches(channel, [0.5, 0.5, 0], [2], 0.1, 0.2).upward == ()
    assert find_breaches(channel, [0.5, 0.499, 0.001], [2], 0.1, 0.2).upward == (2,)
    assert np.isnan(find_breaches(channel, [0.5, 0.5, 0], [2], 0.1, 0.2).posterior[2])


RHO = st.fractions(F(1, 20), F(19, 20), max_denominator=20)


@SEEDED
@given(channels_with_priors(), RHO, RHO, st.data())
def test_breaches_in_fractions_and_those_of_the_complement(case, rho_1, rho_2, data):
    # [pram], after Definition 3.1: upward on Q is downward (1 - rho_1)-to-(1 - rho_2) on Q^c.
    assume(rho_1 < rho_2)
    channel, prior = case
    members = data.draw(st.sets(st.integers(0, channel.size - 1), min_size=1))
    found = find_breaches(channel, prior, members, rho_1, rho_2)
    before = sum(prior[u] for u in members)
    after = exact_posterior(channel, prior, members)
    upward = [j for j, p in enumerate(after) if p is not None and before < rho_1 and p > rho_2]
    downward = [j for j, p in enumerate(after) if p is not None and before > rho_2 and p < rho_1]
    assert (list(found.upward), list(found.downward)) == (upward, downward)
    if others := set(range(channel.size)) - members:
        mirrored = find_breaches(channel, prior, others, 1 - rho_2, 1 - rho_1)
        assert (mirrored.upward, mirrored.downward) == (found.downward, found.upward)


# -- the worst set ---------------------------------------------------------------------------------


def exact_worst(channel, prior, rho):
    """The largest posterior over all sets below rho, by enumeration."""
    values = [
        posterior
        for members in all_sets(channel.size)
        if sum(prior[u] for u in members) < rho
        for posterior in exact_posterior(channel, prior, members)
        if posterior is not None
    ]
    return max(values, default=None)


@settings(deadline=None, max_examples=60, derandomize=True)
@given(channels_with_priors(dense_channels(5) | rectangular_channels(4) | st.just(THREE)), RHO)
def test_the_worst_sets_are_those_of_all_sets(case, rho):
    channel, prior = case
    expected = exact_worst(channel, prior, rho)
    found = worst_set(channel, prior, rho)
    if found is None:  # no set below rho but sets of probability 0
        assert expected in (None, 0)
        return
    assert found.exact
    assert found.bound == found.posterior == pytest.approx(float(expected), abs=1e-12)
    mass = sum(prior[u] for u in found.members)
    assert mass < rho
    assert found.prior_probability == pytest.approx(float(mass), abs=1e-15)


@settings(deadline=None, max_examples=60, derandomize=True)
@given(channels_with_priors(dense_channels(4) | rectangular_channels(4)), RHO, RHO)
def test_a_breach_is_permitted_if_some_set_has_one(case, rho_1, rho_2):
    assume(rho_1 < rho_2)
    channel, prior = case
    found = [
        find_breaches(channel, prior, members, rho_1, rho_2) for members in all_sets(channel.size)
    ]
    worst = worst_set(channel, prior, rho_1)
    permitted = worst is not None and bool(
        find_breaches(channel, prior, worst.members, rho_1, rho_2).upward
    )
    assert permitted is any(each.upward for each in found)


def random_case(size, seed, decimals):
    generator = np.random.default_rng(seed)
    channel = DenseChannel(generator.dirichlet(np.ones(size), size))
    if decimals:
        weights = generator.integers(1, 1000, size)
        return channel, [F(int(w), int(weights.sum())) for w in weights]
    return channel, generator.dirichlet(np.ones(size))


@pytest.mark.parametrize("fractions", [True, False])
def test_halves_match_all_subsets(fractions):
    # 14 categories: 16,383 subsets, all at once in floats.
    channel, prior = random_case(14, 7, fractions)
    bits = (np.arange(1, 2**14)[:, None] >> np.arange(14)) & 1
    shares = np.array([float(p) for p in prior])
    below = bits[bits @ shares < 0.25]
    joint = shares[:, None] * channel.matrix()
    expected = (below @ joint / joint.sum(axis=0)).max()
    found = worst_set(channel, prior, 0.25)
    assert found.exact
    assert found.posterior == pytest.approx(expected, rel=1e-12)
    assert found.prior_probability < 0.25


def test_beyond_forty_categories_the_answer_is_bracketed():
    channel, prior = random_case(60, 3, True)
    found = worst_set(channel, prior, 0.1)
    assert not found.exact
    assert found.posterior <= found.bound < found.posterior + 0.02
    assert found.prior_probability < 0.1
    assert found.posterior == posterior_of_set(channel, prior, found.members)[found.report]


def test_the_bracket_holds_the_exact_answer(monkeypatch):
    for seed in range(10):
        channel, prior = random_case(12, seed, True)
        exact = worst_set(channel, prior, 0.2)
        with monkeypatch.context() as patched:
            patched.setattr("deniable.privacy.breaches.MAX_ENUMERATED", 5)
            bracket = worst_set(channel, prior, 0.2)
        assert bracket.posterior <= exact.posterior + 1e-15
        assert exact.posterior <= bracket.bound


def test_forty_categories_take_seconds_and_are_exact():
    channel, prior = random_case(40, 5, False)
    found = worst_set(channel, prior, 0.05)
    assert found.exact
    assert found.prior_probability < 0.05


def test_a_set_at_the_limit_is_not_below_it():
    # Ten categories of 1/10: at most two of them are below .3.
    channel = KeepOrReplace.uniform(10, 0.5)
    assert len(worst_set(channel, [0.1] * 10, 0.3).members) == 2
    assert len(worst_set(channel, [0.1] * 10, 0.31).members) == 3
    assert worst_set(channel, [0.1] * 10, 0.1) is None


def test_products_are_searched_too():
    pair = ProductChannel((HALVES, HALVES))
    prior = [F(1, 9), F(2, 9), F(2, 9), F(4, 9)]
    expected = exact_worst(pair, prior, F(1, 4))
    assert worst_set(pair, prior, F(1, 4)).posterior == pytest.approx(float(expected))


# -- factors ---------------------------------------------------------------------------------------


def test_factors_by_hand():
    # {0} has the prior 1/3 and posteriors 3/7 and 1/5: 9/7 and 3/5; {1} has 6/7 and 6/5.
    largest, smallest = extreme_factors(HALVES, [F(1, 3), F(2, 3)])
    assert (largest.ratio, smallest.ratio) == pytest.approx((9 / 7, 3 / 5), rel=1e-15)
    assert (largest.report, smallest.report) == (0, 1)
    assert (largest.category, smallest.category) == (0, 0)


def test_a_set_of_probability_zero_is_left_out_of_the_extremes():
    largest, smallest = extreme_factors(HALVES, [1, 0])
    assert (largest.ratio, smallest.ratio) == (1, 1)


@settings(deadline=None, max_examples=60, derandomize=True)
@given(channels_with_priors(dense_channels(5) | rectangular_channels(4)))
def test_single_categories_have_the_extreme_factors(case):
    channel, prior = case
    largest, smallest = extreme_factors(channel, prior)
    over_sets = {
        members: posterior_of_set(channel, prior, members) / float(share)
        for members in all_sets(channel.size)
        if (share := sum(prior[u] for u in members))
    }
    most = max(np.nanmax(ratios) for ratios in over_sets.values())
    least = min(np.nanmin(ratios) for ratios in over_sets.values())
    assert largest.ratio == pytest.approx(most, rel=1e-12)
    assert smallest.ratio == pytest.approx(least, rel=1e-12, abs=1e-15)
    assert over_sets[(largest.category,)][largest.report] == pytest.approx(most)
    assert over_sets[(smallest.category,)][smallest.report] == pytest.approx(least)


@SEEDED
@given(st.integers(2, 6), st.floats(1, 50), st.data())
def test_a_parity_bounds_every_factor(size, parity, data):
    # Theorem 3.2, sufficiency, for the channel of given parity.
    channel = channel_of_parity(size, parity)
    prior = data.draw(distributions(size))
    largest, smallest = extreme_factors(channel, prior)
    assert 1 / parity * (1 - 1e-12) <= smallest.ratio <= 1 + 1e-12
    assert 1 - 1e-12 <= largest.ratio <= parity * (1 + 1e-12)
