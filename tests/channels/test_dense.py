"""Dense channels worked by hand."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from tests.channels.channel_cases import (
    dense_channels,
    distributions,
    exact_matrix,
    exact_parity,
    fit_p_value,
    rectangular_channels,
)

from deniable.channels import DenseChannel
from deniable.errors import ChannelError


def test_by_hand():
    # Rows (3/4, 1/4), (1/2, 1/2): inverse ((2, -1), (-2, 3)).
    channel = DenseChannel(np.array([[0.75, 0.25], [0.5, 0.5]]))
    # l = (5/8, 3/8): (10/8 - 6/8, -5/8 + 9/8) = (1/2, 1/2).
    np.testing.assert_allclose(channel.estimate([5, 3]), [0.5, 0.5], atol=1e-15)
    assert channel.parity == 2  # columns: 3/2 and 2
    # Prior (1/3, 2/3), report 0: (3/12, 4/12) -> (3/7, 4/7); report 1: (1/12, 4/12) -> (1/5, 4/5).
    np.testing.assert_allclose(
        channel.posterior([1 / 3, 2 / 3]), [[3 / 7, 4 / 7], [1 / 5, 4 / 5]], rtol=1e-14
    )
    # Population, pi = (1/2, 1/2), n = 8: Var l_0 = (15/64) / 8, pi_0 = 2 l_0 - 2 l_1 = 4 l_0 - 2.
    variance = 16 * 15 / 64 / 8
    np.testing.assert_allclose(
        channel.covariance([0.5, 0.5], 8), [[variance, -variance], [-variance, variance]]
    )
    # File of 4 and 4: reports of 0 vary by 4 (3/16) + 4 (1/4) = 7/4; over 8^2, times 16: 7/16.
    np.testing.assert_allclose(channel.covariance([0.5, 0.5], 8, "file")[0, 0], 7 / 16)


@pytest.mark.parametrize(
    ("matrix", "parity"),
    [
        (np.eye(3), np.inf),
        (np.eye(1), 1),
        (np.full((4, 4), 0.25), 1),
        ([[0.5, 0.5, 0], [0.5, 0.5, 0], [0.5, 0.5, 0]], 1),  # 0/0 counts as 1
        ([[0.5, 0.5, 0], [0.5, 0.5, 0], [0.5, 0.25, 0.25]], np.inf),
        ([[0.5, 0.5], [0.125, 0.875]], 4),
        ([[2.0**-1074, 1], [0.5, 0.5]], np.inf),  # 2**1073 is beyond the floats
    ],
)
def test_parity_by_hand(matrix, parity):
    channel = DenseChannel(np.array(matrix))
    assert channel.parity == parity
    if parity == 1:
        assert channel.epsilon == 0
    elif parity == np.inf and channel.size == 3:
        assert channel.epsilon == np.inf


def test_epsilon_is_finite_where_parity_is_beyond_the_floats():
    # ln 2**1073 = 1073 ln 2: the channel is no identity, and does not claim to be one.
    channel = DenseChannel(np.array([[2.0**-1074, 1], [0.5, 0.5]]))
    assert channel.epsilon == pytest.approx(1073 * np.log(2), rel=1e-15)


def test_more_reports_by_hand():
    # Rows (1, 1, 0)/2 and (0, 1, 1)/2: report 1 tells nothing. By an even reference L has the
    # diagonal (1, 2, 1)/4 and P L^-1 P' = ((3/2, 1/2), (1/2, 3/2)), with the inverse
    # ((3, -1), (-1, 3))/4; L^-1 P' has the rows (2, 0), (1, 1), (0, 2), and D has (3, -1)/2,
    # (1, 1)/2, (-1, 3)/2.
    channel = DenseChannel(np.array([[0.5, 0.5, 0], [0, 0.5, 0.5]]))
    np.testing.assert_allclose(channel.estimate([6, 4, 2], "own"), [10 / 12, 2 / 12], rtol=1e-14)
    assert channel.epsilon == np.inf
    np.testing.assert_allclose(channel.posterior([0.25, 0.75]), [[1, 0], [0.25, 0.75], [0, 1]])
    # At pi = (1/2, 1/2) the bound is J^-1 - pi pi' = (3, -1; -1, 3)/4 - 1/4 = (1, -1; -1, 1)/2.
    np.testing.assert_allclose(
        channel.covariance([0.5, 0.5], 10), [[0.05, -0.05], [-0.05, 0.05]], atol=1e-15
    )
    # A share p of the first category: the shares of 0 and 2 are p/2 and (1 - p)/2. Of n reports
    # the likeliest p is that of those who tell, whose variance is p (1 - p) / (n/2).
    np.testing.assert_allclose(channel.covariance([0.2, 0.8], 10)[0, 0], 0.16 / 5, rtol=1e-13)


def test_a_reference_that_leaves_a_report_without_a_chance_is_refused():
    P = np.array([[0.5, 0.5, 0], [0, 0.5, 0.5]])
    with pytest.raises(
        ChannelError, match="no category with a positive probability in the reference"
    ):
        DenseChannel(P, np.array([1.0, 0.0]))
    for wrong in ([0.5, 0.25, 0.25], [0.5, 0.4], [1.5, -0.5], [np.nan, 1]):
        with pytest.raises(ChannelError, match="the reference"):
            DenseChannel(P, np.array(wrong))
    # A report of nobody needs none.
    assert DenseChannel(np.array([[0.5, 0.5, 0]]), np.array([1.0])).reports == 3


@settings(deadline=None, max_examples=60, derandomize=True)
@given(dense_channels(), st.data())
def test_a_square_matrix_has_one_inverse_whatever_is_asked(channel, data):
    reference = data.draw(distributions(channel.size, zeros=False))
    other = DenseChannel(channel.entries, reference)
    assert other.of_least_variance(reference) is other
    if channel.singular:
        return
    counts = np.arange(1, channel.size + 1)
    for which in ("least", "own"):
        assert other.estimate(counts, which).tobytes() == channel.estimate(counts).tobytes()
        for target in ("population", "file"):
            found = other.covariance(reference, 9, target, which)
            assert found.tobytes() == channel.covariance(reference, 9, target).tobytes()


def test_more_categories_than_numbers_of_16_bits():
    # Category u is reported by its remainder, for certain.
    size, reports = 70_000, 3
    channel = DenseChannel(np.eye(reports)[np.arange(size) % reports])
    codes = np.array([0, 1, 65_535, 65_536, 65_537, 69_999])
    found = channel.randomize(codes, np.random.default_rng(1))
    np.testing.assert_array_equal(found, codes % reports)


def test_columns_alike_are_told_from_none():
    # Doubling every report, by halves, changes no estimate and no variance.
    P = np.array([[0.75, 0.25], [0.25, 0.75]])
    single, doubled = DenseChannel(P), DenseChannel(np.repeat(P, 2, axis=1) / 2)
    counts = np.array([40, 20, 25, 15])
    for which in ("least", "own"):
        np.testing.assert_allclose(
            doubled.estimate(counts, which), single.estimate([60, 40]), atol=1e-14
        )
        np.testing.assert_allclose(
            doubled.covariance([0.3, 0.7], 5, inverse=which), single.covariance([0.3, 0.7], 5)
        )
    drawn = doubled.randomize(np.zeros(40_000, np.uint8), np.random.default_rng(3))
    assert fit_p_value(np.bincount(drawn, minlength=4), doubled.matrix()[0]) > 1e-6


@settings(deadline=None, max_examples=150, derandomize=True)
@given(dense_channels() | rectangular_channels())
def test_parity_is_the_worst_pair_of_the_whole_matrix(channel):
    exact = exact_parity(exact_matrix(channel))
    if exact is None:
        assert channel.parity == channel.epsilon == np.inf
    else:
        assert Fraction(channel.parity) >= exact
        assert Fraction(np.nextafter(channel.parity, 0)) < exact


def test_nearly_equal_ratios_are_told_apart_exactly():
    # Two columns whose ratios agree to the last bit of a division in floats or nearly so.
    rng = np.random.default_rng(12)
    for _ in range(300):
        low, high = 0.1 + rng.random() * 1e-16, 0.3
        rows = [[low, high, 1 - low - high], [high, np.nextafter(low, 1), 0]]
        rows[1][2] = 1 - sum(rows[1])
        rows.append([0.2, 0.2, 0.6])
        channel = DenseChannel(np.array(rows))
        assert Fraction(channel.parity) >= exact_parity(exact_matrix(channel))


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[0.5, 0.5], [0.5, 0.4]], r"row 1 sums to 0\.9, not to 1"),
        ([[0.5, 0.5], [0.5, 0.5 + 1e-8]], r"row 1 sums to 1\.00000001, not to 1"),
        ([[0.5, 0.5], [1.5, -0.5]], r"entry -0\.5 of row 1, column 1 is negative"),
        ([0.5, 0.5], r"one column per response, not the shape \(2,\)"),
        (np.zeros((0, 0)), r"one column per response, not the shape \(0, 0\)"),
        (np.zeros((2, 2, 2)), r"one column per response, not the shape \(2, 2, 2\)"),
        ([[np.nan, 1], [0, 1]], "must be finite"),
        ([[np.inf, 0], [0, 1]], "must be finite"),
        (
            np.broadcast_to(1 / 5000, (5000, 5000)),
            "5,000 by 5,000 is over the limit",
        ),
    ],
)
def test_what_is_no_channel(matrix, message):
    with pytest.raises(ChannelError, match=message):
        DenseChannel(np.array(matrix) if not isinstance(matrix, np.ndarray) else matrix)


def test_entries_are_the_channels_own():
    P = np.eye(2)
    channel = DenseChannel(P)
    P[0, 0] = 9
    channel.matrix()[0, 0] = 9
    assert channel.matrix()[0, 0] == 1
    with pytest.raises(ValueError, match="read-only"):
        channel.entries[0, 0] = 9


def test_nearly_singular_is_singular():
    nearly = 0.5 + 1e-13
    assert DenseChannel(np.array([[nearly, 1 - nearly], [0.5, 0.5]])).singular
    assert not DenseChannel(np.array([[0.5 + 1e-9, 0.5 - 1e-9], [0.5, 0.5]])).singular


@pytest.mark.parametrize(
    ("size", "codes_type"),
    [
        *((2, np.uint8), (255, np.uint8), (256, np.uint8)),
        *((size, wide) for size in (256, 257, 300) for wide in (np.uint16, np.int64)),
    ],
)
def test_codes_of_many_categories_are_kept_apart(size, codes_type):
    rng = np.random.default_rng(size)
    # A permutation matrix reports one category for each, whatever chance says.
    reported = rng.permutation(size)
    channel = DenseChannel(np.eye(size)[reported])
    true = np.concatenate([rng.permutation(size), rng.integers(size, size=500)]).astype(codes_type)
    reports = channel.randomize(true, rng)
    assert reports.dtype == true.dtype
    np.testing.assert_array_equal(reports, reported[true])


@pytest.mark.parametrize("size", [256, 300])
def test_records_of_many_categories_are_drawn_from_their_own_rows(size):
    # Category u is reported as u or as its neighbour, each with probability one half.
    channel = DenseChannel((np.eye(size) + np.roll(np.eye(size), 1, axis=1)) / 2)
    true = np.repeat(np.arange(size), 400).astype(np.uint16)
    moved = (channel.randomize(true, np.random.default_rng(7)) - true.astype(int)) % size
    assert set(moved.tolist()) == {0, 1}
    # 6 standard deviations of 10 records: any of 600 rows fails once in 800,000 runs.
    kept = np.bincount(true[moved == 0], minlength=size)
    assert np.all(np.abs(kept - 200) <= 60)
