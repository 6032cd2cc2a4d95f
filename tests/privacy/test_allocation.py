"""Allocated epsilons: their exact sum never exceeds the whole, and nearly reaches it."""

import math
from decimal import Context, Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings, strategies as st

from deniable.channels import Channel, KeepOrReplace
from deniable.errors import DeniableError
from deniable.privacy import allocate, allocate_by_size

HOWS = ("even", "size")
SEEDED = settings(deadline=None, max_examples=40, derandomize=True)
PRECISE = Context(prec=80)
epsilons = st.floats(1e-3, 20)
several_sizes = st.lists(st.integers(1, 40), min_size=1, max_size=6).filter(lambda s: max(s) > 1)
some_weights = st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=6)


def exact_logarithm(ratio: Fraction) -> Decimal:
    return PRECISE.ln(PRECISE.divide(Decimal(ratio.numerator), Decimal(ratio.denominator)))


def ratio_of(channel: Channel) -> Fraction:
    """Return the parity from all entries that are drawn."""
    columns = [channel.exact_column(report) for report in range(channel.reports)]
    return max(max(column) / min(column) for column in columns)


@SEEDED
@given(epsilon=epsilons, sizes=several_sizes, how=st.sampled_from(HOWS))
def test_sums_and_drawn_probabilities_never_exceed_epsilon_and_nearly_reach_it(epsilon, sizes, how):
    parts = allocate_by_size(epsilon, sizes, how)
    total = sum(map(Fraction, parts))
    assert total <= Fraction(epsilon)
    assert total >= Fraction(epsilon) * (1 - Fraction(1, 10**14))
    assert all((part > 0) == (size > 1) for part, size in zip(parts, sizes, strict=True))
    channels = [
        KeepOrReplace.of_epsilon(size, part)
        for size, part in zip(sizes, parts, strict=True)
        if size > 1
    ]
    drawn = math.prod((ratio_of(channel) for channel in channels), start=Fraction(1))
    assert exact_logarithm(drawn) <= Decimal(epsilon)
    assert exact_logarithm(drawn) >= Decimal(epsilon) * Decimal("0.9999999")


@SEEDED
@given(epsilon=epsilons, weights=some_weights)
def test_parts_are_in_proportion_to_their_weights(epsilon, weights):
    parts = allocate(epsilon, weights)
    expected = [epsilon * weight / sum(weights) for weight in weights]
    assert parts == pytest.approx(expected, rel=1e-13)
    assert sum(map(Fraction, parts)) <= Fraction(epsilon)


def test_parts_by_hand():
    assert allocate_by_size(1.5, [2, 9, 1, 4]) == (0.5, 0.5, 0.0, 0.5)
    # ln 2, ln 4, ln 16 are as 1, 2, 4.
    assert allocate_by_size(7.0, [2, 4, 16], "size") == pytest.approx((1, 2, 4), rel=1e-14)


def test_a_part_is_not_rounded_up():
    parts = allocate_by_size(1.1, [2] * 49)
    assert sum(map(Fraction, [1.1 / 49] * 49)) > Fraction(1.1)  # plain division exceeds it
    assert sum(map(Fraction, parts)) <= Fraction(1.1)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.inf, math.nan])
def test_an_epsilon_that_is_not_a_budget_is_refused(epsilon):
    for make in (allocate, allocate_by_size):
        with pytest.raises(DeniableError, match="epsilon is"):
            make(epsilon, [2, 3])


@pytest.mark.parametrize("sizes", [[], [1, 1], [0, 2]])
def test_sizes_without_an_attribute_to_protect_are_refused(sizes):
    with pytest.raises(DeniableError, match="cannot be allocated"):
        allocate_by_size(1.0, sizes)


def test_an_unknown_allocation_is_refused():
    with pytest.raises(DeniableError, match="budget allocation"):
        allocate_by_size(1.0, [2, 3], "fair")
