"""Keep-or-replace channels worked by hand."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from tests.channels.channel_cases import (
    exact_matrix,
    exact_parity,
    fit_p_value,
    keep_or_replace_channels,
)
from tests.slow_variants import all_but_first

from deniable.channels import DenseChannel, KeepOrReplace, keep_or_replace as module
from deniable.errors import ChannelError
from deniable.sampling import SystemRandomSource


def test_by_hand():
    # k = 4, keep 1/2: P = 5/8 on the diagonal, 1/8 elsewhere; inverse = 2 I - 1 (1/4)' 1.
    channel = KeepOrReplace.uniform(4, 0.5)
    np.testing.assert_array_equal(channel.matrix(), np.full((4, 4), 1 / 8) + np.eye(4) / 2)
    # 80 reports, 40 of the first: 2 * 40/80 - 1/4 = 3/4; of 20: 2/8 ... 20/80 -> 1/4; 0 -> -1/4.
    np.testing.assert_array_equal(channel.estimate([40, 20, 20, 0]), [0.75, 0.25, 0.25, -0.25])
    assert channel.parity == 5
    assert channel.epsilon == pytest.approx(np.log(5), rel=1e-15)
    assert channel.epsilon >= np.log(5)
    # Uniform prior: Pr(true = report) = (5/8) / (5/8 + 3/8).
    np.testing.assert_array_equal(channel.posterior([0.25] * 4), channel.matrix())


def test_standard_error_of_warner_by_hand():
    # Warner: two categories, 3/4 on the diagonal, 1/4 elsewhere (keep 1/2). Of n = 101 reports
    # lambda = x / n; Var = lambda (1 - lambda) / ((n - 1) (2 p - 1)^2) with 2 p - 1 = 1/2.
    channel, n, x = KeepOrReplace.uniform(2, 0.5), 101, 30
    variance = Fraction(x, n) * (1 - Fraction(x, n)) / (n - 1) * 4
    np.testing.assert_allclose(
        channel.standard_errors([x, n - x]), np.sqrt(float(variance)), rtol=1e-14
    )
    # The file's: each report is wrong with probability 1/4, so the count of a category varies by
    # n (1/4) (3/4) whatever the truth; estimates by 4 times that over n^2: 3/4 / n.
    np.testing.assert_allclose(
        channel.standard_errors([x, n - x], "file"), np.sqrt(0.75 / n), rtol=1e-14
    )


def test_negative_weight_by_hand():
    # a = -1/4, b = (1/4, 1/2, 1/2): rows (0, 1/2, 1/2), (1/4, 1/4, 1/2), (1/4, 1/2, 1/4).
    channel = KeepOrReplace(-0.25, np.array([0.25, 0.5, 0.5]))
    np.testing.assert_array_equal(
        channel.matrix(), [[0, 0.5, 0.5], [0.25, 0.25, 0.5], [0.25, 0.5, 0.25]]
    )
    assert channel.parity == np.inf  # the first column has a 0
    # l = (1/8, 3/8, 4/8): (l - b) / a = (1/2, 1/2, 0).
    np.testing.assert_array_equal(channel.estimate([1, 3, 4]), [0.5, 0.5, 0])
    # Without the zero: b = 1/2, 1/2, 1/2 and a = -1/2 is singular-free; a = -1/8, b = 3/8: 3.
    assert KeepOrReplace(-0.125, np.full(3, 0.375)).parity == 1.5  # (3/8) / (2/8)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 16])
def test_edges_of_the_probability_to_keep(size):
    equal = KeepOrReplace.from_entries(size, 1 / size, 1 / size)  # p = 1/k tells nothing
    assert equal.parity == 1
    assert equal.epsilon == 0
    assert KeepOrReplace.uniform(size, 0.0).epsilon == 0
    certain = KeepOrReplace.uniform(size, 1.0)
    assert certain.epsilon == (0 if size == 1 else np.inf)
    np.testing.assert_array_equal(certain.matrix(), np.eye(size))
    np.testing.assert_array_equal(
        certain.randomize(np.arange(size), SystemRandomSource()), range(size)
    )
    np.testing.assert_array_equal(certain.standard_errors([9] * size, "file"), 0)
    assert equal.singular == (size > 1)


def test_a_report_that_nobody_can_give_tells_nothing():
    # 0/0 is 1: a = 0 and a zero in b. Any weight, and the zero column tells the truth apart.
    assert KeepOrReplace(0.0, np.array([0.5, 0.5, 0.0])).epsilon == 0
    assert KeepOrReplace(1e-9, np.array([0.5, 0.5 - 1e-9, 0.0])).epsilon == np.inf


def test_parity_is_decided_by_the_smallest_replacement():
    # a = 1/2, b = (1/4, 3/16, 1/16): ratios 3, 11/3, 9.
    assert KeepOrReplace(0.5, np.array([4, 3, 1]) / 16).parity == 9


@settings(deadline=None, max_examples=200, derandomize=True)
@given(keep_or_replace_channels())
def test_parity_is_the_worst_pair_of_the_whole_matrix(channel):
    exact = exact_parity(exact_matrix(channel))
    if exact is None:
        assert channel.parity == channel.epsilon == np.inf
    else:
        assert Fraction(channel.parity) >= exact
        assert Fraction(np.nextafter(channel.parity, 0)) < exact


@pytest.mark.parametrize(
    ("weight", "replacement", "message"),
    [
        (0.5, [0.3, 0.3], r"rows sum to 1\.1, not to 1"),
        (0.5, [0.25, 0.2499999], r"rows sum to 0\.9999999, not to 1"),
        (0.5, [0.75, -0.25], r"entry -0\.25 of category 1 is negative"),
        (-0.5, [0.25, 1.25], r"diagonal entry -0\.25 of category 0 is negative"),
        (-2.0, [1.5, 1.5], r"diagonal entry -0\.5 of category 0 is negative"),
        (np.nan, [0.5, 0.5], "must be finite"),
        (0.5, [np.inf, 0.5], "must be finite"),
        (0.5, [[0.25, 0.25]], r"a list of numbers, not of shape \(1, 2\)"),
        (1.0, [], r"a list of numbers, not of shape \(0,\)"),
        (1.0, 0.0, r"a list of numbers, not of shape \(\)"),
    ],
)
def test_what_is_no_channel(weight, replacement, message):
    with pytest.raises(ChannelError, match=message):
        KeepOrReplace(weight, np.array(replacement))


@pytest.mark.parametrize("keep", [-0.1, 1.1, np.nan])
def test_what_is_no_probability_to_keep(keep):
    with pytest.raises(ChannelError, match=f"the probability to keep is {keep}; it must be in"):
        KeepOrReplace.uniform(3, keep)


def test_parameters_are_the_channels_own():
    b = np.array([0.25, 0.25])
    channel = KeepOrReplace(0.5, b)
    b[0] = 9
    assert channel.replacement[0] == 0.25
    with pytest.raises(ValueError, match="read-only"):
        channel.replacement[0] = 9


@pytest.mark.parametrize("weight", all_but_first([0.5, -0.125]))
def test_chunks_join_without_a_seam(monkeypatch, weight):
    # Chunks of 7 among 5,000 records: the same distribution in every position of a chunk (1e-6).
    monkeypatch.setattr(module, "CHUNK_RECORDS", 7)
    channel = KeepOrReplace(weight, np.full(3, (1 - weight) / 3))
    rng = np.random.default_rng(8)
    codes = np.tile(np.arange(3), 1667)
    reports = np.array([channel.randomize(codes, rng) for _ in range(20)])
    for category in range(3):
        drawn = np.bincount(reports[:, codes == category].ravel(), minlength=3)
        assert fit_p_value(drawn, channel.matrix()[category]) > 1e-6
    # Reports of neighbours are independent given the truth: correlations vanish at 1.4e5 records.
    wrong = (reports != codes).ravel().astype(float)
    for lag in (1, 7):
        assert abs(np.corrcoef(wrong[:-lag], wrong[lag:])[0, 1]) < 5 / np.sqrt(wrong.size)


def test_kept_share_is_exact_where_sixteen_bits_are_not():
    # keep = 1 - 2**-17 cannot be decided by the first 16 bits alone. Of 2**24 records 128 * 3/4
    # are changed (replacement may be the truth); Poisson, mean 96: within 5.1 s.d., 4e-7.
    channel = KeepOrReplace.uniform(4, 1 - 2.0**-17)
    codes = np.zeros(1 << 24, np.uint8)
    changed = np.count_nonzero(channel.randomize(codes, np.random.default_rng(6)))
    assert abs(changed - 96) < 50


@pytest.mark.parametrize(("weight", "of_32"), [(0.25, [3, 6, 15, 8]), (0.0, [4, 8, 20, 0])])
def test_numbers_near_a_threshold_are_resolved_with_the_exact_distribution(weight, of_32):
    # Kept with probability a, the last outcome, else replaced by b / (1 - a) = (1, 2, 5) / 8.
    channel = KeepOrReplace(weight, (1 - weight) * np.array([1, 2, 5]) / 8)
    cumulative = channel._kept_or_replaced.exact(0).cumulative
    found = [Fraction(each, cumulative[-1]) for each in np.diff([0, *cumulative]).tolist()]
    assert found == [Fraction(each, 32) for each in of_32]
    assert [channel.exact_entries(category)[1] for category in range(3)] == [
        (1 - Fraction(weight)) * Fraction(each, 8) for each in (1, 2, 5)
    ]


def test_many_categories():
    channel = KeepOrReplace.uniform(300, 0.25)
    reports = channel.randomize(np.full(200_000, 7, np.uint16), np.random.default_rng(2))
    assert fit_p_value(np.bincount(reports, minlength=300), channel.matrix()[7]) > 1e-6
    as_dense = DenseChannel(channel.matrix()).epsilon
    assert channel.epsilon == pytest.approx(as_dense, rel=1e-14)
