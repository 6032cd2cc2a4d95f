"""Guarantees against all priors: Theorems 3.1 and 3.2 of [pram] in both directions, exactly."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st
from tests.channels.channel_cases import EVERY_CHANNEL, any_channels, exact_matrix, exact_parity

from deniable.channels import DenseChannel, KeepOrReplace, ProductChannel
from deniable.errors import DeniableError
from deniable.privacy.amplification import (
    channel_of_parity,
    largest_parity,
    largest_posterior,
    prior_approaching_parity,
    smallest_posterior,
    witness,
)
from deniable.privacy.breaches import extreme_factors, find_breaches

F = Fraction
SEEDED = settings(deadline=None, max_examples=120, derandomize=True)
RHO = st.fractions(F(1, 50), F(49, 50), max_denominator=50)
# Columns (6, 2, 2)/8, (1, 4, 1)/8, (1, 2, 5)/8: ratios 3, 4, 5, of which 5 in the last column.
SKEWED = DenseChannel(np.array([[6, 1, 1], [2, 4, 2], [2, 1, 5]]) / 8)


def exact_posterior(channel, prior, members, report):
    column = [row[report] for row in exact_matrix(channel)]
    joint = [p * q for p, q in zip(prior, column, strict=True)]
    return sum((joint[u] for u in members), F()) / sum(joint)


# -- parity and the bound (3.5) --------------------------------------------------------------------


@pytest.mark.parametrize("channel", EVERY_CHANNEL.values(), ids=EVERY_CHANNEL.keys())
def test_amplification_and_factor_are_the_parity(channel):
    exact = exact_parity(exact_matrix(channel))
    expected = math.inf if exact is None else float(exact)
    assert channel.parity == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize(
    ("rows", "parity"),
    [
        ([[F(1, 2), F(1, 2), 0], [F(1, 4), F(3, 4), 0], [F(1, 3), F(2, 3), 0]], 2),  # 0/0 is 1
        ([[F(1, 2), F(1, 2), 0], [F(1, 4), F(1, 2), F(1, 4)], [1, 0, 0]], math.inf),  # a/0
        ([[F(7, 10), F(3, 10)], [F(1, 10), F(9, 10)]], 7),
        (
            [[F(1, 2), F(1, 3), F(1, 6)], [F(1, 6), F(1, 2), F(1, 3)], [F(1, 3), F(1, 6), F(1, 2)]],
            3,
        ),
    ],
)
def test_parity_of_fractions(rows, parity):
    # [pram], (3.6), with its conventions for zeros.
    channel = DenseChannel(np.array([[float(p) for p in row] for row in rows]))
    assert channel.parity == pytest.approx(parity, rel=1e-15)


@pytest.mark.parametrize(
    ("rho_1", "rho_2", "bound"),
    [(0.1, 0.5, 9), (0.05, 0.5, 19), (0.2, 0.8, 16), (0.3, 0.7, 49 / 9)],
)
def test_largest_parity(rho_1, rho_2, bound):
    found = largest_parity(rho_1, rho_2)
    assert found == pytest.approx(bound, rel=1e-15)
    exact = F(str(rho_2)) * (1 - F(str(rho_1))) / (F(str(rho_1)) * (1 - F(str(rho_2))))
    assert F(found) <= exact


@SEEDED
@given(RHO, RHO)
def test_the_bound_is_where_the_largest_posterior_of_rho_1_is_rho_2(rho_1, rho_2):
    assume(rho_1 < rho_2)
    eta = largest_parity(rho_1, rho_2)
    assert largest_posterior(float(rho_1), eta) == pytest.approx(float(rho_2), rel=1e-12)
    assert smallest_posterior(float(rho_2), eta) == pytest.approx(float(rho_1), rel=1e-12)


# -- Theorem 3.1, both directions ------------------------------------------------------------------


def test_at_equality_there_is_no_breach_and_above_it_there_is():
    # Parity 5 exactly. rho_1 = 1/6 gives 5/(5 + 5) = 1/2.
    rho_1, rho_2, tiny = F(1, 6), F(1, 2), F(1, 10**30)
    assert exact_parity(exact_matrix(SKEWED)) == 5 == F(largest_parity(rho_1, rho_2))
    assert witness(SKEWED, rho_1, rho_2) is None
    assert witness(SKEWED, rho_1 + tiny, rho_2) is not None
    assert witness(SKEWED, rho_1, rho_2 - tiny) is not None
    assert witness(SKEWED, 1 - rho_2 + tiny, 1 - rho_1) is not None
    # With weak inequalities equality would be a breach: 1/6 on category 2, 5/6 on 0, report 2.
    assert exact_posterior(SKEWED, [F(5, 6), F(0), F(1, 6)], [2], 2) == rho_2


@SEEDED
@given(any_channels, RHO, RHO, st.data())
def test_a_guarantee_holds_or_a_witness_breaks_it(channel, rho_1, rho_2, data):
    assume(rho_1 < rho_2)
    if witness(channel, rho_1, rho_2) is None:
        weights = data.draw(
            st.lists(st.integers(0, 99), min_size=channel.size, max_size=channel.size).filter(any)
        )
        members = data.draw(st.sets(st.integers(0, channel.size - 1), min_size=1))
        prior = [F(weight, sum(weights)) for weight in weights]
        found = find_breaches(channel, prior, members, rho_1, rho_2)
        assert (found.upward, found.downward) == ((), ())
        return
    parity = exact_parity(exact_matrix(channel))
    bound = rho_2 * (1 - rho_1) / (rho_1 * (1 - rho_2))
    assert parity is None or parity > bound
    # A downward breach is an upward one of the complement.
    for low, high in ((rho_1, rho_2), (1 - rho_2, 1 - rho_1)):
        found = witness(channel, low, high)
        assert sum(found.prior) == 1
        assert min(found.prior) > 0
        assert found.prior_probability == sum(found.prior[u] for u in found.members)
        posterior = exact_posterior(channel, found.prior, found.members, found.report)
        assert found.posterior == posterior
        assert found.prior_probability < low
        assert posterior > high
        # And the search under a given prior sees it too.
        assert found.report in find_breaches(channel, found.prior, found.members, low, high).upward
        others = {*range(channel.size)} - {*found.members}
        down = find_breaches(channel, found.prior, others, 1 - high, 1 - low)
        assert found.report in down.downward


def test_a_guarantee_of_a_large_product_needs_no_matrix():
    many = ProductChannel((KeepOrReplace.uniform(2, 0.1),) * 40)  # parity (11/9)**40, about 3061
    assert largest_parity(0.001, 0.7) < many.parity
    assert witness(many, 0.001, 0.8) is None


def test_unknown_words_are_refused():
    with pytest.raises(DeniableError, match="side 'top'"):
        prior_approaching_parity(SKEWED, 0.5, "top")


# -- bounds of posteriors, (3.9) to (3.13) ---------------------------------------------------------


def test_bounds_by_hand():
    np.testing.assert_allclose(largest_posterior([0, 0.1, 0.5, 1], 9), [0, 0.5, 0.9, 1])
    np.testing.assert_allclose(smallest_posterior([0, 0.5, 0.9, 1], 9), [0, 0.1, 0.5, 1])
    np.testing.assert_array_equal(largest_posterior([0, 0.1, 1], np.inf), [0, 1, 1])
    np.testing.assert_array_equal(smallest_posterior([0, 0.1, 1], np.inf), [0, 0, 1])
    np.testing.assert_array_equal(largest_posterior([0, 0.1, 1], 1), [0, 0.1, 1])
    assert largest_posterior([[0.1], [0.2]], [1.0, 2.0, 4.0]).shape == (2, 3)


@pytest.mark.parametrize(
    ("rho", "eta"), [(-0.1, 2), (1.1, 2), (0.5, 0.9), (np.nan, 2), (0.5, np.nan)]
)
def test_bounds_refuse_what_is_no_probability_or_parity(rho, eta):
    with pytest.raises(DeniableError, match=r"probability is not|parity is below"):
        largest_posterior(rho, eta)


@SEEDED
@given(any_channels, st.data())
def test_posteriors_of_sets_stay_within_the_bounds_which_two_point_priors_attain(channel, data):
    size = channel.size
    weights = data.draw(st.lists(st.integers(0, 99), min_size=size, max_size=size).filter(any))
    prior = [F(weight, sum(weights)) for weight in weights]
    members = data.draw(st.sets(st.integers(0, size - 1), min_size=1))
    mass = sum(prior[u] for u in members)
    rows = exact_matrix(channel)
    eta = exact_parity(rows)
    for report in range(channel.reports):
        if not any(prior[u] * rows[u][report] for u in range(size)):
            continue
        posterior = exact_posterior(channel, prior, members, report)
        # In fractions, as odds: at most eta times, at least 1/eta times those of the prior.
        if eta is not None:
            assert posterior * (1 - mass) <= eta * mass * (1 - posterior)
            assert eta * posterior * (1 - mass) >= mass * (1 - posterior)
        low = smallest_posterior(float(mass), channel.parity)
        high = largest_posterior(float(mass), channel.parity)
        assert low - 1e-12 <= float(posterior) <= high + 1e-12


# -- the matrix of given parity --------------------------------------------------------------------


@pytest.mark.parametrize(("size", "eta"), [(2, 3), (4, 5), (5, 9), (16, 2.5), (3, F(7, 3)), (3, 1)])
def test_the_matrix_of_given_parity(size, eta):
    channel = channel_of_parity(size, eta)
    total = F(str(eta) if isinstance(eta, float) else eta) + size - 1
    expected = np.full((size, size), float(1 / total))
    np.fill_diagonal(expected, float((total - size + 1) / total))
    np.testing.assert_allclose(channel.matrix(), expected, rtol=1e-14)
    assert channel.parity == pytest.approx(float(eta), rel=1e-14)


@SEEDED
@given(st.integers(2, 30), st.floats(1, 1e12))
def test_it_is_never_above_and_one_step_below_at_most(size, eta):
    channel = channel_of_parity(size, eta)
    exact = channel.exact_parity
    assert exact <= F(eta)
    assert channel.parity <= eta
    step = math.nextafter(channel.diagonal_weight, 2)
    assert step == 1 or KeepOrReplace.uniform(size, step).exact_parity > min(F(eta), F(str(eta)))


def test_it_meets_the_bound_that_it_is_made_for():
    for rho_1, rho_2 in ((0.1, 0.5), (0.05, 0.3), (0.3, 0.9), (0.01, 0.02)):
        for size in (2, 3, 10, 16):
            channel = channel_of_parity(size, largest_parity(rho_1, rho_2))
            assert witness(channel, rho_1, rho_2) is None


@pytest.mark.parametrize(("size", "eta"), [(0, 2), (3, 0.5), (3, math.inf), (3, math.nan)])
def test_impossible_parities_are_refused(size, eta):
    with pytest.raises(DeniableError):
        channel_of_parity(size, eta)


# -- beta-factor privacy, Theorem 3.2 in both directions -------------------------------------------


def test_approaching_priors_by_hand():
    # Report 2 has the column (1, 2, 5)/8: heavy on 0, the ratio is that of 2. With a = 9/10:
    # 5 / (.9 + .05 (2 + 5)) = 5/1.25 = 4, the prior of (3.12).
    found = prior_approaching_parity(SKEWED, F(9, 10))
    assert found.prior == (F(9, 10), F(1, 20), F(1, 20))
    assert (found.members, found.report, found.ratio) == ((2,), 2, 4)
    # Mirrored: heavy on 2, the ratio of 0: 1 / (.9 * 5 + .05 (1 + 2)) = 1/4.65.
    mirrored = prior_approaching_parity(SKEWED, F(9, 10), "smallest")
    assert mirrored.prior == (F(1, 20), F(1, 20), F(9, 10))
    assert (mirrored.members, mirrored.report, mirrored.ratio) == ((0,), 2, F(100, 465))


def test_approaching_priors_of_two_categories():
    # k = 2 leaves no third category: 3 / (3 (1 - a) + a), exactly.
    coin = DenseChannel(np.array([[0.75, 0.25], [0.25, 0.75]]))
    for mass in (F(1, 10), F(1, 2), F(99, 100)):
        assert prior_approaching_parity(coin, mass).ratio == 3 / (3 - 2 * mass)
        assert prior_approaching_parity(coin, mass, "smallest").ratio == 1 / (1 + 2 * mass)


def test_approaching_priors_of_an_infinite_parity():
    # Identity: the ratio is 1 / prior and grows beyond all bounds; the other one is 0.
    identity = DenseChannel(np.eye(3))
    assert prior_approaching_parity(identity, F(98, 100)).ratio == 100
    assert prior_approaching_parity(identity, F(98, 100), "smallest").ratio == 0


@SEEDED
@given(any_channels)
def test_ratios_rise_to_the_parity_and_never_pass_it(channel):
    assume(channel.size > 1)
    parity = exact_parity(exact_matrix(channel))
    masses = [1 - F(1, 10**digits) for digits in (1, 2, 4, 8)]
    up = [prior_approaching_parity(channel, mass).ratio for mass in masses]
    down = [prior_approaching_parity(channel, mass, "smallest").ratio for mass in masses]
    assert up == sorted(up)
    assert down == sorted(down, reverse=True)
    if parity is None:
        assert down[-1] == 0
    else:
        assert 1 <= up[-1] <= parity
        assert 1 / parity <= down[-1] <= 1
        # The gap of 1/ratio is at most (1 - a) (1 - 1/eta), from (3.12).
        assert 1 / up[-1] - 1 / parity <= F(1, 10**8)
        assert 1 / down[-1] >= parity * (1 - F(1, 10**8))
    found = prior_approaching_parity(channel, masses[0])
    largest, _ = extreme_factors(channel, found.prior)
    assert largest.ratio >= float(found.ratio) * (1 - 1e-12)


def test_one_category_has_nothing_to_learn():
    one = DenseChannel(np.eye(1))
    assert witness(one, 0.1, 0.2) is None
    assert witness(one, 0.1, 0.2) is None
    with pytest.raises(DeniableError, match="one category"):
        prior_approaching_parity(one, 0.5)


def test_witnesses_of_other_reports_by_hand():
    # Columns (4, 1)/8, (2, 3)/8, (2, 4)/8: the parity is 4, of report 0. From 1/5 to 1/2 exactly.
    wide = DenseChannel(np.array([[4, 2, 2], [1, 3, 4]]) / 8)
    assert witness(wide, F(1, 5), F(1, 2)) is None
    found = witness(wide, F(1, 5), F(2, 5))
    assert (found.report, found.members) == (0, (0,))
    assert found.posterior > F(2, 5)
    # Fewer reports than categories: columns (4, 2, 1)/8 and (4, 6, 7)/8 have 4, of report 0.
    few = DenseChannel(np.array([[4, 4], [2, 6], [1, 7]]) / 8)
    found = prior_approaching_parity(few, F(9, 10))
    assert (found.members, found.report) == ((0,), 0)
    assert found.ratio == 4 / (F(9, 10) + F(1, 20) * (2 + 4))
    # One report tells nothing.
    assert witness(DenseChannel(np.ones((3, 1))), 0.1, 0.11) is None


def test_a_constant_channel_tells_nothing():
    constant = DenseChannel(np.full((3, 3), 1 / 3))
    assert prior_approaching_parity(constant, 0.9).ratio == 1


def test_factor_privacy_excludes_breaches_by_the_same_factor():
    # [pram], after Theorem 3.2: none if rho_2 / rho_1 >= eta. (3.5) excludes more.
    for rho_1 in (0.01, 0.1, 0.19):
        assert witness(SKEWED, rho_1, 5 * F(str(rho_1))) is None
    assert witness(SKEWED, F(1, 6), F(1, 2)) is None  # although 3 < 5
