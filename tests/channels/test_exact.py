"""Privacy is rounded up: never below the rational truth, and hardly above it."""

import math
import time
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from tests.channels.channel_cases import CHANNELS, channels, exact_matrix, exact_parity, transposed

from deniable.channels import Channel, DenseChannel, KeepOrReplace
from deniable.channels.exact import (
    as_written,
    exact_distribution,
    exact_ratio,
    exact_sum,
    largest_column_ratio,
    log_rounded_up,
    rounded_up,
    thresholds,
)
from deniable.errors import ChannelError, DeniableError

VERY_PRECISE = Context(prec=800)  # 700 digits more than the library has


def exact_logarithm(ratio: Fraction) -> Decimal:
    quotient = VERY_PRECISE.divide(Decimal(ratio.numerator), Decimal(ratio.denominator))
    return VERY_PRECISE.ln(quotient)


def assert_rounded_up(epsilon: float, ratio: Fraction) -> None:
    truth = exact_logarithm(ratio)
    assert Decimal(epsilon) >= truth
    # At most one float further than the smallest that is not below.
    assert Decimal(math.nextafter(math.nextafter(epsilon, 0), 0)) < truth or epsilon == 0


@settings(deadline=None, max_examples=120, derandomize=True)
@given(channels)
def test_epsilon_is_not_below_the_exact_logarithm_and_at_most_a_step_above(channel):
    exact = exact_parity(exact_matrix(channel))
    if exact is None:
        assert channel.epsilon == math.inf
    else:
        assert_rounded_up(channel.epsilon, exact)


@settings(deadline=None, max_examples=150, derandomize=True)
@given(st.floats(1e-300, 1), st.floats(1e-300, 1))
def test_logarithms_of_any_two_probabilities(x, y):
    ratio = exact_ratio(max(x, y), min(x, y))
    assert_rounded_up(log_rounded_up(ratio), ratio)


@pytest.mark.parametrize("exponent", [1, 10, 52, 60, 65, 66, 67, 70, 100, 300, 1000])
def test_logarithms_close_to_zero(exponent):
    # The smaller the privacy loss the more digits are lost in the ratio: none may be.
    for numerator in (1, 3, 12345678901):
        ratio = 1 + Fraction(numerator, 2**exponent)
        assert_rounded_up(log_rounded_up(ratio), ratio)


def test_a_tiny_weight_has_a_privacy_loss():
    # a = 1e-200 among 3: P differs from a constant by 3e-200, in fractions if not in floats.
    assert 0 < KeepOrReplace(1e-200, np.full(3, 1 / 3)).epsilon < 3.1e-200


def test_conventions():
    assert exact_ratio(0, 0) == 1
    assert exact_ratio(0.5, 0) is None
    assert exact_ratio(0.5, 0.125) == 4
    assert rounded_up(None) == log_rounded_up(None) == math.inf
    assert rounded_up(Fraction(1)) == 1
    assert log_rounded_up(Fraction(1)) == 0


@pytest.mark.parametrize("ratio", [Fraction(1, 3), Fraction(10), Fraction(2**60 + 1, 3)])
def test_rounded_up_is_the_next_float(ratio):
    found = rounded_up(ratio)
    assert Fraction(found) >= ratio
    assert Fraction(math.nextafter(found, 0)) < ratio


def test_beyond_the_floats():
    huge = Fraction(10) ** 400
    assert rounded_up(huge) == math.inf
    assert log_rounded_up(huge) == pytest.approx(400 * math.log(10), rel=1e-15)


def test_largest_column_ratio_with_denormal_entries():
    matrix = np.array([[2.0**-1074, 1.0], [1.0, 0.0]])
    assert largest_column_ratio(matrix) is None
    matrix[1] = [0.5, 0.5]
    # The first row sums to 1 + 2**-1074, exactly.
    assert largest_column_ratio(matrix) == 2**1073 + Fraction(1, 2)


# -- numbers as they are written, and the matrix that is drawn -------------------------------------


@pytest.mark.parametrize(
    ("value", "exact"),
    [
        (0.1, Fraction(1, 10)),
        (np.float64(0.1), Fraction(1, 10)),
        (1, Fraction(1)),
        (np.int64(3), Fraction(3)),
        (1e-20, Fraction(1, 10**20)),
        (Fraction(1, 3), Fraction(1, 3)),
    ],
)
def test_a_number_is_taken_as_it_is_written(value, exact):
    assert as_written(value) == exact


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "x", None])
def test_what_is_no_number_is_refused(value):
    with pytest.raises(DeniableError, match="not a finite number"):
        as_written(value)


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        ((0.5, 0.5), "rho_1 must be the smaller one"),
        ((0.6, 0.5), "rho_1 must be the smaller one"),
        ((0.0, 0.5), r"rho_1 is 0.0; it must be in \(0, 1\)"),
        ((0.5, 1), r"rho_2 is 1; it must be in \(0, 1\)"),
    ],
)
def test_thresholds_are_refused(pair, message):
    with pytest.raises(DeniableError, match=message):
        thresholds(*pair)


def test_a_prior_is_taken_in_its_proportions():
    assert exact_distribution(2, [0.1, 0.9]) == (Fraction(1, 10), Fraction(9, 10))
    third = exact_distribution(2, np.array([1 / 3, 2 / 3]))
    assert sum(third) == 1
    assert float(third[0]) == 1 / 3


@pytest.mark.parametrize("prior", [[0.5, 0.4], [1.5, -0.5], [1.0], [0.2, 0.3, 0.5]])
def test_what_is_no_prior_is_refused(prior):
    with pytest.raises(ChannelError, match="prior"):
        exact_distribution(2, prior)


@settings(deadline=None, max_examples=200, derandomize=True)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_sums_are_exact(values):
    assert exact_sum(np.array(values)) == sum(map(Fraction, values))


@pytest.mark.parametrize("channel", CHANNELS.values(), ids=CHANNELS.keys())
def test_columns_are_those_that_are_drawn(channel: Channel):
    columns = transposed(exact_matrix(channel))
    assert [channel.exact_column(report) for report in range(channel.size)] == columns


@settings(deadline=None, max_examples=80, derandomize=True)
@given(channels)
def test_columns_are_those_that_are_drawn_through_any_channel(channel):
    for report, column in enumerate(transposed(exact_matrix(channel))):
        # A diagonal of keep-or-replace that rounding leaves below zero is drawn as zero.
        assert channel.exact_column(report) == [max(p, 0) for p in column]


def test_a_large_matrix_takes_a_moment():
    generator = np.random.default_rng(1)
    rows = generator.random((1024, 1024))
    channel = DenseChannel(rows / rows.sum(axis=1, keepdims=True))
    begun = time.perf_counter()
    column = channel.exact_column(5)
    assert time.perf_counter() - begun < 5
    assert sum(map(Fraction, channel.entries[7].tolist())) * column[7] == channel.entries[7, 5]
