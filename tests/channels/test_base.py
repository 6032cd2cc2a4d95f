"""What every channel promises, kind by kind against the definition in fractions."""

from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st
from scipy import stats
from tests.channels.channel_cases import (
    CHANNELS,
    channels,
    count_distribution,
    distributions,
    exact_covariance,
    exact_matrix,
    fit_p_value,
    floats,
    inverse,
    times,
    transposed,
    well_conditioned,
)

from deniable.channels import Channel, DenseChannel, KeepOrReplace, ProductChannel
from deniable.errors import ChannelError, DataError, SingularChannelError
from deniable.sampling import SystemSource, multinomial

EVERY = pytest.mark.parametrize("channel", CHANNELS.values(), ids=CHANNELS.keys())
TARGETS = pytest.mark.parametrize("target", ["population", "file"])
SEEDED = settings(deadline=None, max_examples=60, derandomize=True)
# Fixed seeds, so a right library passes always; were the seeds free, each comparison below would
# raise a false alarm once in a million runs.
ALARM = 1e-6


def some_counts(channel: Channel) -> list[int]:
    return [(7 * u + 3) % 11 + 2 for u in range(channel.size)]


def some_truth(channel: Channel) -> list[Fraction]:
    counts = some_counts(channel)
    return [Fraction(x, sum(counts)) for x in counts]


# -- the definition, in fractions ------------------------------------------------------------------


@EVERY
def test_matrix_is_the_definition_and_stochastic(channel):
    P = channel.matrix()
    np.testing.assert_allclose(P, floats(exact_matrix(channel)), rtol=1e-15)
    np.testing.assert_allclose(P.sum(axis=1), 1, rtol=1e-12)
    assert P.shape == (channel.size, channel.size)
    assert P.min() >= 0


@EVERY
def test_estimate_reported_expected_are_the_definition(channel):
    P, counts = exact_matrix(channel), some_counts(channel)
    shares = [some_truth(channel)]
    values = [[Fraction(u * u - 5) for u in range(channel.size)]]
    np.testing.assert_allclose(
        channel.estimate(counts), floats(times(shares, inverse(P)))[0], atol=1e-13
    )
    np.testing.assert_allclose(
        channel.reported(floats(shares)[0]), floats(times(shares, P))[0], atol=1e-15
    )
    np.testing.assert_allclose(
        channel.expected(floats(values)[0]), floats(times(values, transposed(P)))[0], atol=1e-12
    )


@EVERY
@TARGETS
def test_covariance_is_the_definition(channel, target):
    # population: P'^-1 (diag(l) - l l') P^-1 / n; file: P'^-1 diag(l) P^-1 / n - diag(pi) / n.
    truth = some_truth(channel)
    expected = floats(exact_covariance(channel, truth, target)) / 250
    found = channel.covariance([float(x) for x in truth], 250, target)
    np.testing.assert_allclose(found, expected, atol=1e-13)
    np.testing.assert_allclose(found.sum(axis=0), 0, atol=1e-13)  # an estimate sums to 1 always


@EVERY
@TARGETS
def test_estimated_covariance_and_standard_errors_are_the_definition(channel, target):
    counts = some_counts(channel)
    n = sum(counts)
    P, reported = exact_matrix(channel), some_truth(channel)
    estimate = times([reported], inverse(P))[0]
    # The same plug-in, unbiased: l' for l, divided by n - 1 for the population.
    exact = floats(exact_covariance(channel, estimate, target))
    exact = exact / (n - 1) if target == "population" else exact / n
    found = channel.estimated_covariance(counts, target)
    np.testing.assert_allclose(found, exact, atol=1e-12)
    np.testing.assert_allclose(
        channel.standard_errors(counts, target),
        np.sqrt(np.maximum(np.diag(exact), 0)),
        atol=1e-9,
    )
    weights = np.array([[1.0] * channel.size, [u % 3 - 1.0 for u in range(channel.size)]])
    np.testing.assert_allclose(
        channel.estimated_covariance(counts, target, weights),
        weights @ exact @ weights.T,
        atol=1e-11,
    )
    np.testing.assert_allclose(
        channel.estimated_covariance(counts, target, weights[1]),
        [[weights[1] @ exact @ weights[1]]],
        atol=1e-11,
    )


@pytest.mark.parametrize("name", [name for name, c in CHANNELS.items() if c.size <= 6])
@TARGETS
def test_estimated_covariance_is_unbiased(name, target):
    # Over the exact distribution of the reports of a file of 2 records; for the population also
    # over the file. No sampling: the sum over all outcomes.
    channel = CHANNELS[name]
    P = exact_matrix(channel)
    if target == "file":
        counts = [1] * min(channel.size, 2) + [0] * (channel.size - 2)
        truth = [Fraction(x, sum(counts)) for x in counts]
        outcomes = count_distribution(P, counts)
    else:
        truth = some_truth(channel)
        reported = times([truth], P)
        counts = [2] + [0] * (channel.size - 1)
        outcomes = count_distribution(reported * channel.size, counts)
    mean = sum(
        float(chance) * channel.estimated_covariance(reports, target)
        for reports, chance in outcomes.items()
    )
    expected = channel.covariance([float(x) for x in truth], sum(counts), target)
    np.testing.assert_allclose(mean, expected, atol=1e-12)


@EVERY
@TARGETS
def test_same_answers_as_the_dense_channel_of_its_matrix(channel, target):
    dense = DenseChannel(channel.matrix())
    counts, truth = some_counts(channel), [float(x) for x in some_truth(channel)]
    weights = np.arange(2.0 * channel.size).reshape(2, -1)
    for name, arguments in [
        ("estimate", (counts,)),
        ("covariance", (truth, 99, target)),
        ("estimated_covariance", (counts, target)),
        ("estimated_covariance", (counts, target, weights)),
        ("reported", (truth,)),
        ("expected", (weights,)),
        ("posterior", (truth,)),
        ("matrix", ()),
    ]:
        np.testing.assert_allclose(
            getattr(channel, name)(*arguments),
            getattr(dense, name)(*arguments),
            rtol=1e-10,
            atol=1e-11,
            err_msg=name,
        )
    # Roots: a variance of 0 may be 1e-18 in one and 0 in the other.
    np.testing.assert_allclose(
        channel.standard_errors(counts, target) ** 2,
        dense.standard_errors(counts, target) ** 2,
        atol=1e-12,
    )
    assert channel.parity == pytest.approx(dense.parity, rel=1e-14)
    assert channel.epsilon == pytest.approx(dense.epsilon, rel=1e-14)
    assert not channel.singular
    assert not dense.singular


@EVERY
def test_posterior_is_bayes_rule(channel):
    P, prior = exact_matrix(channel), some_truth(channel)
    joint = [[prior[u] * P[u][v] for u in range(channel.size)] for v in range(channel.size)]
    found = channel.posterior([float(x) for x in prior])
    for row, exact in zip(found, joint, strict=True):
        if sum(exact):
            np.testing.assert_allclose(row, [float(x / sum(exact)) for x in exact], atol=1e-15)
        else:
            assert np.isnan(row).all()


def test_posterior_of_an_impossible_report_is_nan():
    channel = DenseChannel(np.array([[1.0, 0.0], [1.0, 0.0]]))
    np.testing.assert_array_equal(channel.posterior([0.25, 0.75]), [[0.25, 0.75], [np.nan, np.nan]])


@EVERY
@TARGETS
def test_batch_axes_are_loops(channel, target):
    rng = np.random.default_rng(5)
    batch = rng.integers(1, 60, (2, 3, channel.size))
    for name in ("estimate", "standard_errors", "reported", "expected"):
        method = getattr(channel, name)
        extra = (target,) if name == "standard_errors" else ()
        loop = [[method(table, *extra) for table in tables] for tables in batch]
        np.testing.assert_allclose(method(batch, *extra), loop, rtol=1e-9, atol=1e-10, err_msg=name)


@SEEDED
@given(data=st.data(), channel=channels)
def test_estimate_undoes_the_channel(data, channel):
    assume(well_conditioned(channel))
    truth = data.draw(distributions(channel.size))
    reports = channel.reported(truth)
    assert reports.sum() == pytest.approx(1, rel=1e-12)
    np.testing.assert_allclose(channel.estimate(reports * 12345), truth, atol=1e-10)
    np.testing.assert_allclose(channel.estimate(reports * 12345).sum(), 1, rtol=1e-10)


@SEEDED
@given(data=st.data(), channel=channels)
def test_reported_and_expected_are_adjoint(data, channel):
    # E[f(report)] by way of the reports is that by way of the expectations.
    truth = data.draw(distributions(channel.size))
    values = np.array(data.draw(st.lists(st.integers(-9, 9), min_size=channel.size).map(list)))
    values = np.resize(values, channel.size)
    assert channel.reported(truth) @ values == pytest.approx(
        truth @ channel.expected(values), abs=1e-12
    )


@SEEDED
@given(data=st.data(), channel=channels)
def test_covariance_is_positive_semidefinite(data, channel):
    assume(well_conditioned(channel))
    truth = data.draw(distributions(channel.size))
    for target in ("population", "file"):
        covariance = channel.covariance(truth, 100, target)
        np.testing.assert_allclose(covariance, covariance.T, atol=1e-9)
        assert np.linalg.eigvalsh(covariance).min() >= -1e-9 * max(1, np.abs(covariance).max())
    # What sampling adds is the multinomial's own covariance.
    added = channel.covariance(truth, 100) - channel.covariance(truth, 100, "file")
    np.testing.assert_allclose(added, (np.diag(truth) - np.outer(truth, truth)) / 100, atol=1e-12)


# -- draws -----------------------------------------------------------------------------------------


@EVERY
@pytest.mark.parametrize("seeded", [True, False], ids=["seeded", "system"])
def test_randomize_has_the_distribution_of_the_matrix(channel, seeded):
    # False alarm: 1e-6 a row; with SystemSource at most 1e-4 a run of the whole test session.
    source = np.random.default_rng(20) if seeded else SystemSource()
    rows = floats(exact_matrix(channel))
    codes = np.tile(np.arange(channel.size), (20_000, 1))
    reports = channel.randomize(codes, source)
    for row, column in zip(rows, reports.T, strict=True):
        drawn = np.bincount(column, minlength=channel.size)
        assert drawn[row == 0].sum() == 0
        assert fit_p_value(drawn, row) > ALARM


@EVERY
def test_record_level_and_count_level_have_the_same_distribution(channel):
    """Drawing counts is drawing records and counting them (design: simulation at the right level).

    Both against the exact distribution of the counts, found by enumeration; 1e-6 each.
    """
    draws = 20_000
    records = 3 if channel.size <= 4 else 2
    true = [0] * channel.size
    for i in range(records):
        true[(5 * i) % channel.size] += 1
    exact = count_distribution(exact_matrix(channel), true)
    rng = np.random.default_rng(3)

    codes = np.tile(np.repeat(np.arange(channel.size), true), (draws, 1))
    reports = channel.randomize(codes, rng)
    by_record = [tuple(np.bincount(row, minlength=channel.size).tolist()) for row in reports]
    by_count = channel.randomize_counts(np.tile(true, (draws, 1)), rng)

    for drawn in (by_record, map(tuple, by_count.tolist())):
        found = Counter(drawn)
        assert set(found) <= set(exact)
        observed = np.array([found[outcome] for outcome in exact])
        assert fit_p_value(observed, np.array([float(p) for p in exact.values()])) > ALARM


@EVERY
def test_levels_agree_at_many_records(channel):
    # Two samples of 1,500 tables of about 200 records, compared in a linear statistic that weighs
    # every category differently, by Kolmogorov and Smirnov; and their means against n P' pi.
    true = np.array(some_counts(channel)) * 200 // sum(some_counts(channel)) + 1
    rng = np.random.default_rng(11)
    codes = np.repeat(np.arange(channel.size), true)
    reports = channel.randomize(np.tile(codes, (1500, 1)), rng)
    offsets = np.arange(1500)[:, None] * channel.size
    by_record = np.bincount((reports + offsets).ravel(), minlength=1500 * channel.size)
    by_record = by_record.reshape(1500, -1)
    by_count = channel.randomize_counts(np.tile(true, (1500, 1)), rng)
    np.testing.assert_array_equal(by_count.sum(axis=1), true.sum())
    weights = np.sqrt(np.arange(channel.size) + 1.0)
    assert stats.ks_2samp(by_record @ weights, by_count @ weights).pvalue > ALARM
    exact = channel.covariance(true / true.sum(), int(true.sum()), "file")
    P = channel.matrix()
    spread = np.sqrt(np.maximum(np.diag(P.T @ exact @ P), 0)) * true.sum()
    for drawn in (by_record, by_count):
        error = np.abs(drawn.mean(axis=0) - true @ P)
        assert np.all(error <= 6 * spread / np.sqrt(1500) + 1e-9)  # 2e-9 a category


@EVERY
def test_randomize_keeps_type_shape_and_input(channel):
    rng = np.random.default_rng(1)
    for dtype in (np.uint8, np.int16, np.int64, np.uint64):
        codes = rng.integers(0, channel.size, (3, 4)).astype(dtype)
        before = codes.copy()
        for view in (codes, codes.T, codes[:, ::2]):
            reports = channel.randomize(view, rng)
            assert reports.dtype == dtype
            assert reports.shape == view.shape
            assert reports.max() < channel.size
        np.testing.assert_array_equal(codes, before)
    assert channel.randomize(np.zeros(0, np.uint8), rng).shape == (0,)
    assert channel.randomize_counts(np.zeros((0, channel.size), int), rng).shape[0] == 0
    np.testing.assert_array_equal(channel.randomize_counts([0] * channel.size, rng), 0)
    large = channel.randomize_counts([2**40] * channel.size, rng)
    assert large.sum() == 2**40 * channel.size


def test_randomize_in_any_memory_order_pairs_reports_with_their_records():
    identity, flip = CHANNELS["identity"], CHANNELS["flip"]
    codes = np.arange(12).reshape(3, 4).T % 3
    np.testing.assert_array_equal(identity.randomize(codes, SystemSource()), codes)
    np.testing.assert_array_equal(flip.randomize(codes % 2, SystemSource()), 1 - codes % 2)
    cycle = CHANNELS["dense permutation"]
    np.testing.assert_array_equal(cycle.randomize(codes, SystemSource()), (codes + 1) % 3)


# -- intervals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["uniform", "own replacement", "negative weight", "dense", "product"]
)
@TARGETS
def test_intervals_cover_as_they_say(name, target):
    """Estimate +- 1.96 standard errors covers 95 % in 10,000 simulations at n = 5,000.

    Within .0098, 4.5 standard errors of a share of 10,000: a false alarm of 7e-6 a category, and a
    standard error that is wrong by 4 % is found.
    """
    channel, n, simulations = CHANNELS[name], 5000, 10_000
    rng = np.random.default_rng(77)
    weights = 1.0 + np.arange(channel.size) % 4
    counts = np.round(weights / weights.sum() * n).astype(int)
    counts[0] += n - counts.sum()
    if target == "file":
        files = np.tile(counts, (simulations, 1))
    else:
        files = rng.multinomial(n, counts / n, size=simulations)
    reports = channel.randomize_counts(files, rng)
    errors = np.abs(channel.estimate(reports) - counts / n)
    covered = (errors <= 1.959964 * channel.standard_errors(reports, target)).mean(axis=0)
    np.testing.assert_allclose(covered, 0.95, atol=0.0098)
    # And the spread of the estimates is that which covariance() says.
    exact = np.diag(channel.covariance(counts / n, n, target))
    np.testing.assert_allclose(channel.estimate(reports).var(axis=0), exact, rtol=0.075)  # 5 s.e.


# -- zeros are zeros -------------------------------------------------------------------------------


def test_multinomial_leaves_no_remainder_to_an_impossible_last_category():
    # NumPy gives what is left of n to the last category: ten times .1 sum to 1 - 1e-16, so of
    # 1e18 records a hundred or so would land in a category of probability 0.
    shares, n = np.array([0.1] * 10 + [0.0]), 2**59
    assert np.random.default_rng(1).multinomial(n, shares)[-1] > 0  # the fault that is guarded
    guarded = multinomial(np.random.default_rng(1), np.array([n, n]), shares)
    np.testing.assert_array_equal(guarded[:, -1], 0)
    np.testing.assert_array_equal(guarded.sum(axis=1), n)
    for channel in (KeepOrReplace(0.0, shares), DenseChannel(np.tile(shares, (11, 1)))):
        reports = channel.randomize_counts([n] + [0] * 9 + [n], np.random.default_rng(1))
        assert reports[-1] == 0
        assert reports.sum() == 2 * n


def test_multinomial_of_shares_that_sum_to_one_within_tolerance():
    # Of 2e12 records some 200 would fall into what is missing to 1.
    shares, n = np.array([0.5, 0.5 - 1e-10, 0.0]), 2 * 10**12
    assert multinomial(np.random.default_rng(1), np.array([n]), shares)[0, -1] == 0


class Edges:
    """A source whose numbers are the worst that there can be."""

    def __init__(self, uniform: float) -> None:
        self.uniform = uniform

    def random(self, size: int) -> np.ndarray:
        return np.full(size, self.uniform)

    def integers(self, low: int, high: int, size: int) -> np.ndarray:
        return np.full(size, high - 1 if self.uniform else low)


@pytest.mark.parametrize("uniform", [0.0, 1 - 2.0**-53])
@pytest.mark.parametrize(
    "row", [[0.0, 0.3, 0.7], [0.1, 0.2, 0.7, 0.0], [0.1] * 10 + [0.0], [0.5, 0.5 - 1e-10, 0.0]]
)
def test_inverse_sampling_never_reports_the_impossible(row, uniform):
    # The sum of ten .1 is below 1: without a guard, the largest number falls past all of them.
    row = np.array(row)
    codes = np.arange(row.size)
    for channel in (DenseChannel(np.tile(row, (row.size, 1))), KeepOrReplace(0.0, row)):
        assert np.all(row[channel.randomize(codes, Edges(uniform))] > 0)


def test_no_replacement_means_none_even_when_rounding_leaves_some():
    channel = KeepOrReplace(1 - 1e-10, np.zeros(3))  # a row sum within tolerance of 1
    assert channel.randomize_counts([10**14] * 3, np.random.default_rng(1)).tolist() == [10**14] * 3
    np.testing.assert_array_equal(channel.randomize(np.arange(3), Edges(1 - 2.0**-53)), [0, 1, 2])


# -- refusals --------------------------------------------------------------------------------------


@EVERY
def test_counts_that_do_not_fit(channel):
    k = channel.size
    rng = np.random.default_rng(1)
    for method in (
        channel.estimate,
        channel.standard_errors,
        channel.estimated_covariance,
        lambda counts: channel.randomize_counts(counts, rng),
    ):
        with pytest.raises(ChannelError, match=rf"\({k + 1},\) do not fit a channel over {k} "):
            method([1] * (k + 1))
        with pytest.raises(ChannelError, match=r"shape \(\) do not fit"):
            method(5)
        with pytest.raises(ChannelError, match=r"not be negative; there is -3|not negative"):
            method([-3] + [9] * (k - 1))
    for bad in (np.nan, np.inf):
        with pytest.raises(ChannelError, match="finite"):
            channel.estimate([bad] * k)
    with pytest.raises(ChannelError, match="all zero"):
        channel.estimate([[1] * k, [0] * k])
    for bad in (1.5, np.nan):
        with pytest.raises(ChannelError, match="whole numbers"):
            channel.randomize_counts([bad] * k, rng)
    for huge in (np.inf, 2.0**63, np.uint64(2**63)):
        with pytest.raises(ChannelError, match=r"below 2\*\*63; there is (inf|9)"):
            channel.randomize_counts([huge] * k, rng)
    with pytest.raises(ChannelError, match="whole numbers"):
        channel.randomize_counts(["a"] * k, rng)
    with pytest.raises(ChannelError, match="not a batch"):
        channel.estimated_covariance([[9] * k, [9] * k])
    with pytest.raises(ChannelError, match=rf"\(2, {k + 1}\) do not fit a channel over {k} "):
        channel.estimated_covariance([9] * k, functionals=np.ones((2, k + 1)))
    np.testing.assert_array_equal(
        channel.randomize_counts([2.0] * k, np.random.default_rng(4)),
        channel.randomize_counts([2] * k, np.random.default_rng(4)),
    )


@EVERY
def test_proportions_that_are_none(channel):
    k = channel.size
    for bad in ([0.5] * (k + 1), [2.0] + [0.0] * (k - 1), [np.nan] + [0.0] * (k - 1)):
        with pytest.raises(ChannelError, match=r"the prior (of shape|must be one distribution)"):
            channel.posterior(bad)
        with pytest.raises(ChannelError, match=r"the proportions (of shape|must be one dist)"):
            channel.covariance(bad, 10)
    uniform = [1 / k] * k
    with pytest.raises(ChannelError, match="at least 1, not 0"):
        channel.covariance(uniform, 0)
    for reported in (channel.reported, channel.expected):
        with pytest.raises(ChannelError, match=rf"shape \({k + 1},\) do not fit"):
            reported([0.0] * (k + 1))


@EVERY
def test_targets_and_single_records(channel):
    one = [1] + [0] * (channel.size - 1)
    for method in (channel.standard_errors, channel.estimated_covariance):
        with pytest.raises(ChannelError, match="unknown target 'File'; use file or population"):
            method([5] * channel.size, "File")
        with pytest.raises(ChannelError, match="at least 2, or the target 'file'"):
            method(one, "population")
        # One record can give a variance estimated below zero: no standard error then.
        assert not np.any(np.isinf(method(one, "file")))
    with pytest.raises(ChannelError, match="unknown target 'sample'"):
        channel.covariance([1 / channel.size] * channel.size, 5, "sample")


@EVERY
def test_foreign_codes(channel):
    rng = np.random.default_rng(1)
    k = channel.size
    with pytest.raises(DataError, match=rf"the code {k} is outside 0 .. {k - 1}"):
        channel.randomize(np.array([0, k]), rng)
    with pytest.raises(DataError, match=r"the code -1 is outside"):
        channel.randomize(np.array([0, -1], dtype=np.int8), rng)
    for wrong in (np.array([0.0]), np.array(["0"]), np.array([True])):
        with pytest.raises(DataError, match=f"must be integers, not {wrong.dtype}"):
            channel.randomize(wrong, rng)


@pytest.mark.parametrize(
    "channel",
    [
        KeepOrReplace.uniform(3, 0.0),
        KeepOrReplace.uniform(3, 1e-13),
        KeepOrReplace.from_entries(4, 0.25, 0.25),
        DenseChannel(np.full((3, 3), 1 / 3)),
        DenseChannel(np.array([[0.5, 0.5, 0], [0.25, 0.5, 0.25], [0, 0.5, 0.5]])),
        ProductChannel((KeepOrReplace.uniform(2, 0.5), KeepOrReplace.uniform(3, 0.0))),
    ],
    ids=["a = 0", "a = 1e-13", "equal entries", "dense", "dense of rank 2", "product"],
)
def test_singular_channels_randomize_but_do_not_estimate(channel):
    assert channel.singular
    counts = [5] * channel.size
    uniform = np.full(channel.size, 1 / channel.size)
    for call in (
        lambda: channel.estimate(counts),
        lambda: channel.standard_errors(counts),
        lambda: channel.estimated_covariance(counts),
        lambda: channel.covariance(uniform, 10),
    ):
        with pytest.raises(SingularChannelError, match=f"over {channel.size} categories is sing"):
            call()
    rng = np.random.default_rng(1)
    assert channel.randomize_counts(counts, rng).sum() == sum(counts)
    assert channel.randomize(np.arange(channel.size), rng).size == channel.size
    assert channel.reported(uniform).sum() == pytest.approx(1)
    assert np.isfinite(channel.epsilon) or np.any(channel.matrix() == 0)


def test_large_channels_form_no_matrix():
    large = ProductChannel((KeepOrReplace.uniform(100, 0.5),) * 3)
    assert large.size == 10**6
    uniform = np.full(large.size, 1e-6)
    counts = np.ones(large.size)
    for call in (
        large.matrix,
        lambda: large.posterior(uniform),
        lambda: large.covariance(uniform, 10),
        lambda: large.estimated_covariance(counts),
    ):
        with pytest.raises(ChannelError, match="of 1,000,000 categories is not formed"):
            call()
    # What needs none goes on: uniform counts estimate the uniform distribution.
    np.testing.assert_allclose(large.estimate(counts), 1e-6)
    total = large.estimated_covariance(counts, functionals=np.ones(large.size))
    np.testing.assert_allclose(total, 0, atol=1e-12)
    assert large.parity == pytest.approx(101.0**3, rel=1e-14)


def test_parity_of_one_attribute_is_exact() -> None:
    generator = np.random.default_rng(11)
    P = generator.dirichlet(np.ones(6), 6)
    P /= P.sum(axis=1, keepdims=True)
    exact = [[Fraction(x) for x in row] for row in P.tolist()]
    exact = [[x / sum(row) for x in row] for row in exact]
    cells = list(product(range(3), range(2)))
    for position in range(2):
        worst = Fraction(1)
        for u, v in product(range(6), repeat=2):
            if all(cells[u][i] == cells[v][i] for i in range(2) if i != position):
                worst = max(worst, *(exact[u][w] / exact[v][w] for w in range(6)))
        assert DenseChannel(P).parity_of_attribute((3, 2), position) == worst
    product_channel = ProductChannel((KeepOrReplace.uniform(3, 0.5), KeepOrReplace.uniform(2, 0.1)))
    for position, factor in enumerate(product_channel.factors):
        assert product_channel.parity_of_attribute((3, 2), position) == factor.exact_parity
    joint = KeepOrReplace.uniform(6, 0.5)  # any two cells are told apart equally well
    assert joint.parity_of_attribute((3, 2), 1) == joint.exact_parity
    assert DenseChannel(np.eye(6)).parity_of_attribute((3, 2), 1) is None
