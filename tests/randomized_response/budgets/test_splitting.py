"""Budgets split over attributes: never exceeded, nearly reached, and well."""

import math
from decimal import Context, Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings, strategies as st

from deniable.channels import Channel, KeepOrReplace
from deniable.errors import ChannelError, DeniableError
from deniable.randomized_response.budgets import (
    mean_variance,
    protocol_of_epsilon,
    split_budget,
    split_record,
)
from deniable.randomized_response.budgets.splitting import checked_channel
from deniable.records import Attribute, Domain

HOWS = ("even", "size", "least_variance")
SEEDED = settings(deadline=None, max_examples=40, derandomize=True)
PRECISE = Context(prec=80)
epsilons = st.floats(1e-3, 20)
several_sizes = st.lists(st.integers(1, 40), min_size=1, max_size=6).filter(lambda s: max(s) > 1)


def domain_of(*sizes: int) -> Domain:
    return Domain(
        tuple(
            Attribute(f"a{i}", tuple(f"c{j}" for j in range(size))) for i, size in enumerate(sizes)
        )
    )


def exact_logarithm(ratio: Fraction) -> Decimal:
    return PRECISE.ln(PRECISE.divide(Decimal(ratio.numerator), Decimal(ratio.denominator)))


def ratio_of(channel: Channel) -> Fraction:
    """Worked from all entries that are drawn."""
    columns = [channel.exact_column(report) for report in range(channel.reports)]
    return max(max(column) / min(column) for column in columns)


@SEEDED
@given(epsilon=epsilons, sizes=several_sizes, how=st.sampled_from(HOWS))
def test_shares_and_what_is_drawn_never_exceed_epsilon_and_nearly_reach_it(epsilon, sizes, how):
    shares = split_budget(epsilon, sizes, how)
    total = sum(map(Fraction, shares))
    assert total <= Fraction(epsilon)
    assert total >= Fraction(epsilon) * (1 - Fraction(1, 10**14))
    assert all((share > 0) == (size > 1) for share, size in zip(shares, sizes, strict=True))
    channels = [
        KeepOrReplace.of_epsilon(size, share)
        for size, share in zip(sizes, shares, strict=True)
        if size > 1
    ]
    drawn = math.prod((ratio_of(channel) for channel in channels), start=Fraction(1))
    assert exact_logarithm(drawn) <= Decimal(epsilon)
    assert exact_logarithm(drawn) >= Decimal(epsilon) * Decimal("0.9999999")


@SEEDED
@given(epsilon=epsilons, sizes=several_sizes, how=st.sampled_from(HOWS))
def test_plans_and_protocols_of_an_epsilon_keep_to_it(epsilon, sizes, how):
    domain = domain_of(*sizes)
    for made in (
        split_record(domain, epsilon, how),
        protocol_of_epsilon(domain, epsilon, None, how),
    ):
        assert epsilon * (1 - 1e-7) <= made.epsilon <= epsilon


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0, 14.0])
def test_protocols_of_adult_in_the_range_that_users_work_in(epsilon):
    domain = domain_of(9, 16, 7, 15, 6, 5, 2, 2)
    pairs = tuple(domain.names[start : start + 2] for start in range(0, 8, 2))
    for parts in (None, pairs):
        made = protocol_of_epsilon(domain, epsilon, parts, "least_variance")
        assert epsilon * (1 - 1e-12) < made.epsilon <= epsilon


def test_protocols_of_clusters_hold_one_channel_a_cluster():
    domain = domain_of(2, 3, 1)
    protocol = protocol_of_epsilon(domain, 1.2, (("a1", "a0"), ("a2",)))
    assert [channel.size for channel in protocol.channels] == [6, 1]
    assert protocol.channels[0].epsilon == pytest.approx(1.2, rel=1e-12)


def test_shares_by_hand():
    assert split_budget(1.5, [2, 9, 1, 4]) == (0.5, 0.5, 0.0, 0.5)
    # ln 2, ln 4, ln 16 are as 1, 2, 4.
    assert split_budget(7.0, [2, 4, 16], "size") == pytest.approx((1, 2, 4), rel=1e-14)


def test_a_third_is_not_rounded_up():
    shares = split_budget(1.1, [2] * 49)
    assert float(Fraction(1.1) / 49) * 49 != 1.1 or sum(map(Fraction, shares)) <= Fraction(1.1)
    assert sum(map(Fraction, [1.1 / 49] * 49)) > Fraction(1.1)  # what division alone would do
    assert sum(map(Fraction, shares)) <= Fraction(1.1)


@pytest.mark.parametrize("size", [2, 3, 10])
def test_mean_variance_is_that_of_generalized_randomized_response(size):
    # Reports are uniform: (1/r)(1 - 1/r) / a^2 with a = (e - 1) / (e - 1 + r).
    channel = KeepOrReplace.of_epsilon(size, 1.0)
    odds = math.e - 1
    expected = (1 / size) * (1 - 1 / size) * ((odds + size) / odds) ** 2
    assert mean_variance(channel) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("sizes", [(2, 16), (3, 4), (2, 100)])
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 6.0])
def test_least_variance_is_least_over_a_fine_grid(sizes, epsilon):
    def loss(first: float) -> float:
        total = 0.0
        for size, own in zip(sizes, (first, epsilon - first), strict=True):
            total += (1 / size) * (1 - 1 / size) * (1 + size / math.expm1(own)) ** 2
        return total

    found = split_budget(epsilon, sizes, "least_variance")
    grid = min(loss(epsilon * step / 4000) for step in range(1, 4000))
    assert loss(found[0]) <= grid * (1 + 1e-9)


def test_least_variance_of_a_small_epsilon_is_in_third_roots():
    found = split_budget(1e-3, [2, 9, 28, 9], "least_variance")
    # The variance is (r - 1) / eps^2 to first order: 1, 2, 3, 2 parts of 8.
    assert found == pytest.approx([1e-3 * part / 8 for part in (1, 2, 3, 2)], rel=1e-3)


def test_least_variance_follows_the_channel():
    def lavish(size: int, epsilon: float) -> KeepOrReplace:
        return KeepOrReplace.of_epsilon(size, epsilon / 2 if size == 2 else epsilon)

    plain = split_budget(1.0, [2, 9], "least_variance")
    wasted = split_budget(1.0, [2, 9], "least_variance", lavish)
    assert wasted[0] > plain[0] * 1.05


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.inf, math.nan])
def test_an_epsilon_that_is_none_is_refused(epsilon):
    with pytest.raises(DeniableError, match="epsilon is"):
        split_budget(epsilon, [2, 3])


@pytest.mark.parametrize("sizes", [[], [1, 1], [0, 2]])
def test_nothing_to_split_over_is_refused(sizes):
    with pytest.raises(DeniableError, match="cannot be split"):
        split_budget(1.0, sizes)


def test_an_unknown_way_and_a_channel_above_its_epsilon_are_refused():
    with pytest.raises(DeniableError, match="way to split"):
        split_budget(1.0, [2, 3], "fair")
    with pytest.raises(DeniableError, match="keeps to both"):
        checked_channel(lambda size, epsilon: KeepOrReplace.uniform(size, 0.9), 4, 1.0)
    with pytest.raises(DeniableError, match="keeps to both"):
        checked_channel(lambda size, epsilon: KeepOrReplace.of_epsilon(size + 1, epsilon), 4, 1.0)
    with pytest.raises(ChannelError, match="at most 30"):
        KeepOrReplace.of_epsilon(4, 31.0)
