"""Products of channels against Kronecker products."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from tests.channels.channel_cases import (
    AVOID,
    COIN,
    GAPS,
    THREE,
    WIDE,
    WIDE_COIN,
    distributions,
    exact_matrix,
    exact_parity,
    fit_p_value,
    product_channels,
    rectangular_products,
)

from deniable.channels import DenseChannel, KeepOrReplace, ProductChannel
from deniable.errors import ChannelError, DataError
from deniable.records.domain import Attribute, Domain
from deniable.sampling import KeyedDraws, SystemRandomSource


def test_by_hand():
    # Two fair coins of Warner's, 3/4 and 1/4: entries 9, 3, 3, 1 sixteenths.
    channel = ProductChannel((COIN, COIN))
    np.testing.assert_array_equal(channel.matrix()[0], np.array([9, 3, 3, 1]) / 16)
    assert (channel.size, channel.shape, channel.parity) == (4, (2, 2), 9)
    # Inverse of one: ((3, -1), (-1, 3)) / 2. Reports (1, 0, 0, 0): (9, -3, -3, 1) / 4.
    np.testing.assert_array_equal(channel.estimate([8, 0, 0, 0]), np.array([9, -3, -3, 1]) / 4)


def test_cells_are_numbered_as_the_domain_numbers_them():
    domain = Domain((Attribute("a", ("0", "1")), Attribute("b", ("0", "1", "2"))))
    identity = KeepOrReplace.uniform(2, 1.0)
    shift = THREE  # true 0 is never reported as 2
    channel = ProductChannel((identity, shift))
    joint = domain.ravel([np.full(500, 1), np.full(500, 0)])
    a, b = domain.unravel(channel.randomize(joint, np.random.default_rng(1)))
    assert set(a) == {1}
    assert set(b) == {0, 1}


@settings(deadline=None, max_examples=80, derandomize=True)
@given(data=st.data(), channel=product_channels | rectangular_products)
def test_everything_linear_is_the_kronecker_product(data, channel):
    matrix = np.ones((1, 1))
    for factor in channel.factors:
        matrix = np.kron(matrix, factor.matrix())
    np.testing.assert_allclose(channel.matrix(), matrix, atol=1e-15)
    x = data.draw(distributions(channel.size))
    np.testing.assert_allclose(channel.reported(x), x @ matrix, atol=1e-14)
    values = np.arange(float(channel.reports))
    np.testing.assert_allclose(channel.expected(values), matrix @ values, atol=1e-12)
    exact = exact_parity(exact_matrix(channel))
    # The product of the factors' parities is that of the matrix, zero columns and all.
    finite = [factor.parity for factor in channel.factors]
    if exact is None:
        assert channel.parity == channel.epsilon == np.inf
    else:
        assert Fraction(channel.parity) >= exact
        assert channel.parity == pytest.approx(float(exact), rel=1e-15)
        assert channel.parity == pytest.approx(np.prod(finite), rel=1e-14)
        assert channel.epsilon == pytest.approx(
            sum(factor.epsilon for factor in channel.factors), rel=1e-14, abs=1e-300
        )


@pytest.mark.parametrize(
    "factors", [(COIN, THREE), (THREE, COIN, AVOID), (GAPS, AVOID)], ids=["2", "3", "zeros"]
)
def test_margins_are_estimated_through_their_factors_alone(factors):
    channel = ProductChannel(factors)
    counts = np.arange(3, 3 + channel.size)
    table = channel.estimate(counts).reshape(channel.shape)
    for position in range(len(factors)):
        others = tuple(i for i in range(len(factors)) if i != position)
        margin = counts.reshape(channel.shape).sum(axis=others)
        np.testing.assert_allclose(
            channel.margin([position]).estimate(margin), table.sum(axis=others), atol=1e-12
        )
        # Its covariance is that of functionals of the whole.
        weights = np.zeros((factors[position].size, *channel.shape))
        for category in range(factors[position].size):
            np.moveaxis(weights[category], position, 0)[category] = 1
        for target in ("population", "file"):
            np.testing.assert_allclose(
                channel.estimated_covariance(
                    counts, target, weights.reshape(factors[position].size, -1)
                ),
                factors[position].estimated_covariance(margin, target),
                atol=1e-11,
            )


def test_each_attribute_is_tuned_by_its_margin():
    # The margins of a table are estimated as by their own channels at the same margins.
    channel = ProductChannel((COIN, WIDE, WIDE_COIN))
    assert (channel.shape, channel.report_shape) == ((2, 3, 2), (2, 5, 3))
    table = np.arange(1.0, 13).reshape(2, 3, 2) / 78
    tuned = channel.of_least_variance(table.ravel())
    assert tuned.factors[0] is COIN
    for position, others in ((1, (0, 2)), (2, (0, 1))):
        factor = channel.factors[position]
        alone = factor.of_least_variance(table.sum(axis=others))
        np.testing.assert_array_equal(
            tuned.factors[position].solve(np.eye(factor.size)), alone.solve(np.eye(factor.size))
        )
    assert tuned.of_least_variance(table.ravel()).factors[0] is COIN


def test_counts_of_other_reports_are_drawn_along_each_axis():
    channel = ProductChannel((WIDE, WIDE_COIN))
    true = np.array([0, 0, 0, 90_000, 0, 0])
    reports = channel.randomize_counts(true, np.random.default_rng(8))
    assert reports.shape == (15,)
    assert fit_p_value(reports, channel.matrix()[3]) > 1e-6


@pytest.mark.parametrize("seeded", [True, False], ids=["seeded", "system"])
def test_columns_are_randomized_independently(seeded):
    # The joint distribution of the columns' reports against the row of the matrix; 1e-6.
    source = np.random.default_rng(9) if seeded else SystemRandomSource()
    channel = ProductChannel((COIN, THREE))
    columns = (np.full(30_000, 1, np.uint8), np.full(30_000, 2, np.uint8))
    first, second = channel.randomize_columns(columns, source)
    drawn = np.bincount(first.astype(int) * 3 + second, minlength=6)
    assert fit_p_value(drawn, channel.matrix()[5]) > 1e-6
    assert (first.dtype, second.dtype) == (np.uint8, np.uint8)


def test_counts_of_a_large_table_keep_their_margins_distribution():
    # 40 x 50 cells: the first attribute's reports have the distribution that its factor gives.
    factors = (KeepOrReplace.uniform(40, 0.6), KeepOrReplace.uniform(50, 0.3))
    true = np.zeros((40, 50), int)
    true[3, 7] = 400_000
    reports = ProductChannel(factors).randomize_counts(true.ravel(), np.random.default_rng(4))
    table = reports.reshape(40, 50)
    assert fit_p_value(table.sum(axis=1), factors[0].matrix()[3]) > 1e-6
    assert fit_p_value(table.sum(axis=0), factors[1].matrix()[7]) > 1e-6
    assert (
        fit_p_value(table.ravel(), np.outer(factors[0].matrix()[3], factors[1].matrix()[7]).ravel())
        > 1e-6
    )


def test_what_cannot_be():
    with pytest.raises(ChannelError, match="at least one channel"):
        ProductChannel(())
    with pytest.raises(ChannelError, match="2 channels, but 1 columns"):
        ProductChannel((COIN, COIN)).randomize_columns([np.array([0])], np.random.default_rng(1))
    with pytest.raises(DataError, match=r"the code 2 is outside 0 \.\. 1"):
        ProductChannel((COIN, COIN)).randomize_columns(
            [np.array([0]), np.array([2])], np.random.default_rng(1)
        )
    P = np.zeros((1, 4096))
    P[:, 0] = 1
    many_reports = ProductChannel((DenseChannel(P),) * 6)
    for draw in (
        lambda: many_reports.randomize(np.array([0]), np.random.default_rng(1)),
        lambda: many_reports.report(np.array([0]), KeyedDraws(bytes(32), b"plan"), ["a"]),
    ):
        with pytest.raises(ChannelError, match=r"4\.72e\+21 joint cells are too many"):
            draw()
    huge = ProductChannel((KeepOrReplace.uniform(2**16, 0.5),) * 4)
    with pytest.raises(ChannelError, match=r"1\.84e\+19 joint cells are too many"):
        huge.randomize(np.array([0]), np.random.default_rng(1))


def test_privacy_of_hundreds_of_attributes():
    # 101**500 is beyond the floats, its logarithm is not: 500 ln 101.
    many = ProductChannel((KeepOrReplace.uniform(100, 0.5),) * 500)
    assert many.parity == np.inf
    assert many.epsilon == pytest.approx(500 * np.log(101), rel=1e-14)
