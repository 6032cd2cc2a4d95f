"""Numbers as they are written, and the matrix that is drawn, in fractions."""

import time
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from tests.channels.channel_cases import CHANNELS, channels, exact_matrix, transposed

from deniable.channels import Channel, DenseChannel
from deniable.channels.probabilities import (
    ExactMatrix,
    _exact_sum,
    as_written,
    exact_distribution,
    thresholds,
)
from deniable.errors import ChannelError, DeniableError


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
    with pytest.raises(DeniableError, match="no finite number"):
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
    two = DenseChannel(np.eye(2))
    assert exact_distribution(two, [0.1, 0.9]) == (Fraction(1, 10), Fraction(9, 10))
    third = exact_distribution(two, np.array([1 / 3, 2 / 3]))
    assert sum(third) == 1
    assert float(third[0]) == 1 / 3


@pytest.mark.parametrize("prior", [[0.5, 0.4], [1.5, -0.5], [1.0], [0.2, 0.3, 0.5]])
def test_what_is_no_prior_is_refused(prior):
    with pytest.raises(ChannelError, match="prior"):
        exact_distribution(DenseChannel(np.eye(2)), prior)


@settings(deadline=None, max_examples=200, derandomize=True)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_sums_are_exact(values):
    assert _exact_sum(np.array(values)) == sum(map(Fraction, values))


@pytest.mark.parametrize("channel", CHANNELS.values(), ids=CHANNELS.keys())
def test_columns_are_those_that_are_drawn(channel: Channel):
    matrix = ExactMatrix(channel)
    columns = transposed(exact_matrix(channel))
    assert [matrix.column(report) for report in range(channel.size)] == columns


@settings(deadline=None, max_examples=80, derandomize=True)
@given(channels)
def test_columns_are_those_that_are_drawn_through_any_channel(channel):
    matrix = ExactMatrix(channel)
    for report, column in enumerate(transposed(exact_matrix(channel))):
        # A diagonal of keep-or-replace that rounding leaves below zero is drawn as zero.
        assert matrix.column(report) == [max(p, 0) for p in column]


def test_a_large_matrix_takes_a_moment():
    generator = np.random.default_rng(1)
    rows = generator.random((1024, 1024))
    channel = DenseChannel(rows / rows.sum(axis=1, keepdims=True))
    begun = time.perf_counter()
    column = ExactMatrix(channel).column(5)
    assert time.perf_counter() - begun < 5
    assert sum(map(Fraction, channel.entries[7].tolist())) * column[7] == channel.entries[7, 5]
