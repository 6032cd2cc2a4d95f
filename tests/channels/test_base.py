"""What every channel promises, kind by kind against the definition in fractions."""

from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st
from scipy import stats
from tests.channels.channel_cases import (
    EVERY_CHANNEL,
    RECTANGULAR,
    any_channels,
    count_distribution,
    distributions,
    exact_covariance,
    exact_matrix,
    fit_p_value,
    fitted_inverse,
    floats,
    inverse_of_least_variance,
    left_inverse,
    spread_of,
    times,
    transposed,
    well_conditioned,
)

from deniable.channels import Channel, DenseChannel, KeepOrReplace, ProductChannel
from deniable.errors import ChannelError, DataError, DeniableError, SingularChannelError
from deniable.sampling import KeyedDraws, SystemRandomSource, multinomial

EVERY = pytest.mark.parametrize("channel", EVERY_CHANNEL.values(), ids=EVERY_CHANNEL.keys())
WIDE = pytest.mark.parametrize("channel", RECTANGULAR.values(), ids=RECTANGULAR.keys())
INVERSES = pytest.mark.parametrize("inverse", ["least", "own"])
TARGETS = pytest.mark.parametrize("target", ["population", "file"])
SEEDED = settings(deadline=None, max_examples=60, derandomize=True)
# Fixed seeds, so a right library passes always; were the seeds free, each comparison below would
# raise a false alarm once in a million runs.
ALARM = 1e-6


def numbers(size: int) -> list[int]:
    return [(7 * u + 3) % 11 + 2 for u in range(size)]


def some_counts(channel: Channel) -> list[int]:
    """Of reports: none of those that nobody gives."""
    given = channel.matrix().any(axis=0)
    return [x * bool(some) for x, some in zip(numbers(channel.reports), given, strict=True)]


def some_truth(channel: Channel) -> list[Fraction]:
    return shares_of(numbers(channel.size))


def shares_of(counts: list[int]) -> list[Fraction]:
    return [Fraction(x, sum(counts)) for x in counts]


def exact_inverse(channel: Channel, counts: list[int], inverse: str):
    """The left inverse that counts are estimated with."""
    if inverse == "own":
        return left_inverse(channel)
    return fitted_inverse(channel, shares_of(counts), sum(counts))


# -- the definition, in fractions ------------------------------------------------------------------


@EVERY
def test_matrix_is_the_definition_and_stochastic(channel):
    P = channel.matrix()
    np.testing.assert_allclose(P, floats(exact_matrix(channel)), rtol=1e-15)
    np.testing.assert_allclose(P.sum(axis=1), 1, rtol=1e-12)
    assert P.shape == (channel.size, channel.reports)
    assert P.min() >= 0


@EVERY
def test_reported_and_expected_are_the_definition(channel):
    P, shares = exact_matrix(channel), [some_truth(channel)]
    values = [[Fraction(v * v - 5) for v in range(channel.reports)]]
    np.testing.assert_allclose(
        channel.reported(floats(shares)[0]), floats(times(shares, P))[0], atol=1e-15
    )
    np.testing.assert_allclose(
        channel.expected(floats(values)[0]), floats(times(values, transposed(P)))[0], atol=1e-12
    )


@EVERY
@INVERSES
def test_estimate_is_the_definition(channel, inverse):
    counts = some_counts(channel)
    D = exact_inverse(channel, counts, inverse)
    assert times(exact_matrix(channel), D) == [
        [Fraction(u == w) for w in range(channel.size)] for u in range(channel.size)
    ]
    exact = floats(times([shares_of(counts)], D))[0]
    np.testing.assert_allclose(channel.estimate(counts, inverse), exact, atol=1e-13)
    assert sum(exact) == pytest.approx(1, rel=1e-14)


@EVERY
def test_the_own_inverse_and_its_moments_are_the_definition(channel):
    P, D = exact_matrix(channel), left_inverse(channel)
    reported = times([some_truth(channel)], P)[0]
    weights = np.array([[1.0] * channel.size, [u % 3 - 1.0 for u in range(channel.size)]])
    np.testing.assert_allclose(channel.solve(weights), weights @ floats(D).T, atol=1e-12)
    for power in (2, 3):
        powers = [[x**power for x in row] for row in D]
        np.testing.assert_allclose(
            channel.moments(floats([reported])[0], power),
            floats(times([reported], powers))[0],
            rtol=1e-11,
        )
        own = times(P, powers)
        np.testing.assert_allclose(
            channel.own_moments(power), [float(row[u]) for u, row in enumerate(own)], rtol=1e-11
        )


@WIDE
def test_what_is_tuned_is_the_inverse_of_least_variance(channel):
    truth = some_truth(channel)
    tuned = channel.of_least_variance([float(x) for x in truth])
    np.testing.assert_allclose(
        tuned.solve(np.eye(channel.size)).T, floats(left_inverse(channel, truth)), atol=1e-12
    )
    np.testing.assert_array_equal(tuned.matrix(), channel.matrix())
    assert tuned.exact_parity == channel.exact_parity


@EVERY
@TARGETS
@INVERSES
def test_covariance_is_the_definition(channel, target, inverse):
    # population: D' (diag(l) - l l') D / n; file: D' diag(l) D / n - diag(pi) / n.
    truth = some_truth(channel)
    expected = floats(exact_covariance(channel, truth, target, inverse)) / 250
    found = channel.covariance([float(x) for x in truth], 250, target, inverse)
    np.testing.assert_allclose(found, expected, atol=1e-13)
    np.testing.assert_allclose(found.sum(axis=0), 0, atol=1e-13)  # an estimate sums to 1 always


@EVERY
@TARGETS
@INVERSES
def test_estimated_covariance_and_standard_errors_are_the_definition(channel, target, inverse):
    counts = some_counts(channel)
    n = sum(counts)
    # The same plug-in, unbiased: l' for l, divided by n - 1 for the population.
    exact = floats(spread_of(shares_of(counts), exact_inverse(channel, counts, inverse), target))
    exact = exact / (n - 1) if target == "population" else exact / n
    found = channel.estimated_covariance(counts, target, inverse=inverse)
    np.testing.assert_allclose(found, exact, atol=1e-12)
    np.testing.assert_allclose(
        channel.standard_errors(counts, target, inverse=inverse),
        roots(np.diag(exact)),
        atol=1e-9,
    )
    weights = np.array([[1.0] * channel.size, [u % 3 - 1.0 for u in range(channel.size)]])
    of_weights = weights @ exact @ weights.T
    np.testing.assert_allclose(
        channel.estimated_covariance(counts, target, weights, inverse), of_weights, atol=1e-11
    )
    np.testing.assert_allclose(
        channel.standard_errors(counts, target, weights, inverse),
        roots(np.diag(of_weights)),
        atol=1e-6,
    )
    np.testing.assert_allclose(
        channel.estimated_covariance(counts, target, weights[1], inverse),
        [[weights[1] @ exact @ weights[1]]],
        atol=1e-11,
    )


def roots(variances: np.ndarray) -> np.ndarray:
    """Standard errors; NaN where a variance is estimated below zero by more than rounding."""
    return np.sqrt(np.where(variances < -1e-9, np.nan, np.maximum(variances, 0)))


@pytest.mark.parametrize("name", [name for name, c in EVERY_CHANNEL.items() if c.size <= 6])
@TARGETS
def test_estimated_covariance_is_unbiased(name, target):
    # Over the exact distribution of the reports of a file of 2 records; for the population also
    # over the file. No sampling: the sum over all outcomes.
    # By the own inverse, which does not depend on the counts.
    channel = EVERY_CHANNEL[name]
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
        float(chance) * channel.estimated_covariance(reports, target, inverse="own")
        for reports, chance in outcomes.items()
    )
    expected = channel.covariance([float(x) for x in truth], sum(counts), target, "own")
    np.testing.assert_allclose(mean, expected, atol=1e-12)


@EVERY
@TARGETS
def test_same_answers_as_the_dense_channel_of_its_matrix(channel, target):
    dense = DenseChannel(channel.matrix(), getattr(channel, "reference", None))
    counts, truth = some_counts(channel), [float(x) for x in some_truth(channel)]
    weights = np.arange(2.0 * channel.size).reshape(2, -1)
    linear = [
        # Products have another inverse than their matrices, if they have a choice.
        ("estimate", (counts,)),
        ("covariance", (truth, 99, target)),
        ("estimated_covariance", (counts, target)),
        ("estimated_covariance", (counts, target, weights)),
    ]
    for name, arguments in [
        *(linear if channel.square or channel.shape == (channel.size,) else ()),
        ("reported", (truth,)),
        ("expected", (np.arange(2.0 * channel.reports).reshape(2, -1),)),
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
    if channel.square or channel.shape == (channel.size,):
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
    joint = [[prior[u] * P[u][v] for u in range(channel.size)] for v in range(channel.reports)]
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
    batches = {
        width: rng.integers(1, 60, (2, 3, width)) for width in (channel.size, channel.reports)
    }
    for name in ("estimate", "standard_errors", "reported", "expected"):
        method = getattr(channel, name)
        extra = (target,) if name == "standard_errors" else ()
        batch = batches[channel.size if name == "reported" else channel.reports]
        loop = [[method(table, *extra) for table in tables] for tables in batch]
        np.testing.assert_allclose(method(batch, *extra), loop, rtol=1e-9, atol=1e-10, err_msg=name)
    weights = np.arange(2.0 * channel.size).reshape(2, -1)
    of_weights = channel.standard_errors(batch, target, weights)
    assert of_weights.shape == (2, 3, 2)
    np.testing.assert_allclose(
        of_weights[1, 2], channel.standard_errors(batch[1, 2], target, weights), atol=1e-8
    )
    # No table at all has no answer, of the shape that answers have.
    assert channel.estimate(batch[:0]).shape == (0, 3, channel.size)
    assert channel.standard_errors(batch[:, :0], target).shape == (2, 0, channel.size)
    assert channel.standard_errors(batch[:0], target, weights).shape == (0, 3, 2)


@SEEDED
@given(data=st.data(), channel=any_channels)
def test_estimate_undoes_the_channel(data, channel):
    assume(well_conditioned(channel))
    truth = data.draw(distributions(channel.size))
    reports = channel.reported(truth)
    assert reports.sum() == pytest.approx(1, rel=1e-12)
    np.testing.assert_allclose(channel.estimate(reports * 12345), truth, atol=1e-10)
    np.testing.assert_allclose(channel.estimate(reports * 12345).sum(), 1, rtol=1e-10)


@SEEDED
@given(data=st.data(), channel=any_channels)
def test_reported_and_expected_are_adjoint(data, channel):
    # E[f(report)] by way of the reports is that by way of the expectations.
    truth = data.draw(distributions(channel.size))
    values = np.array(data.draw(st.lists(st.integers(-9, 9), min_size=1)))
    values = np.resize(values, channel.reports)
    assert channel.reported(truth) @ values == pytest.approx(
        truth @ channel.expected(values), abs=1e-12
    )


@SEEDED
@given(data=st.data(), channel=any_channels)
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
    # False alarm: 1e-6 a row; with SystemRandomSource at most 1e-4 a run of the whole test session.
    source = np.random.default_rng(20) if seeded else SystemRandomSource()
    rows = floats(exact_matrix(channel))
    codes = np.tile(np.arange(channel.size), (20_000, 1))
    reports = channel.randomize(codes, source)
    for row, column in zip(rows, reports.T, strict=True):
        drawn = np.bincount(column, minlength=channel.reports)
        assert drawn[row == 0].sum() == 0
        assert fit_p_value(drawn, row) > ALARM


@EVERY
def test_keyed_draws_have_the_distribution_of_the_matrix(channel):
    draws = KeyedDraws(bytes(range(32)), b"plan")
    names = [f"attribute {position}" for position in range(len(channel.shape))]
    codes = np.tile(np.arange(channel.size, dtype=np.uint8), 10_000)
    reports = channel.report(codes, draws, names)
    assert reports.dtype == np.uint8
    np.testing.assert_array_equal(reports, channel.report(codes, draws, names))
    for category, row in enumerate(floats(exact_matrix(channel))):
        drawn = np.bincount(reports[codes == category], minlength=channel.reports)
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
    by_record = [tuple(np.bincount(row, minlength=channel.reports).tolist()) for row in reports]
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
    true = np.array(numbers(channel.size)) * 200 // sum(numbers(channel.size)) + 1
    rng = np.random.default_rng(11)
    codes = np.repeat(np.arange(channel.size), true)
    reports = channel.randomize(np.tile(codes, (1500, 1)), rng)
    offsets = np.arange(1500)[:, None] * channel.reports
    by_record = np.bincount((reports + offsets).ravel(), minlength=1500 * channel.reports)
    by_record = by_record.reshape(1500, -1)
    by_count = channel.randomize_counts(np.tile(true, (1500, 1)), rng)
    np.testing.assert_array_equal(by_count.sum(axis=1), true.sum())
    weights = np.sqrt(np.arange(channel.reports) + 1.0)
    assert stats.ks_2samp(by_record @ weights, by_count @ weights).pvalue > ALARM
    P = channel.matrix()
    spread = np.sqrt(true @ (P * (1 - P)))  # of the counts of each report
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
            assert reports.max() < channel.reports
        np.testing.assert_array_equal(codes, before)
    assert channel.randomize(np.zeros(0, np.uint8), rng).shape == (0,)
    np.testing.assert_array_equal(channel.randomize_counts([0] * channel.size, rng), 0)
    empty = channel.randomize_counts(np.zeros((0, channel.size), int), rng)
    assert empty.shape == (0, channel.reports)
    large = channel.randomize_counts([2**40] * channel.size, rng)
    assert large.sum() == 2**40 * channel.size


def test_randomize_in_any_memory_order_pairs_reports_with_their_records():
    identity, flip = EVERY_CHANNEL["identity"], EVERY_CHANNEL["flip"]
    codes = np.arange(12).reshape(3, 4).T % 3
    np.testing.assert_array_equal(identity.randomize(codes, SystemRandomSource()), codes)
    np.testing.assert_array_equal(flip.randomize(codes % 2, SystemRandomSource()), 1 - codes % 2)
    cycle = EVERY_CHANNEL["dense permutation"]
    np.testing.assert_array_equal(cycle.randomize(codes, SystemRandomSource()), (codes + 1) % 3)


# -- intervals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        *("uniform", "own replacement", "negative weight", "dense", "product"),
        *("wide", "product of square and wide"),
    ],
)
@TARGETS
def test_intervals_cover_as_they_say(name, target):
    """Estimate +- 1.96 standard errors covers 95 % in 10,000 simulations at n = 5,000.

    Within .0098, 4.5 standard errors of a share of 10,000: a false alarm of 7e-6 a category, and a
    standard error that is wrong by 4 % is found. In 1,000 through channels that are tuned to each
    table, which takes its time.
    """
    channel, n = EVERY_CHANNEL[name], 5000
    simulations = 10_000 if channel.square else 1000
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
    np.testing.assert_allclose(covered, 0.95, atol=4.5 * (0.0475 / simulations) ** 0.5)
    # And the spread of the estimates is that which covariance() says.
    exact = np.diag(channel.covariance(counts / n, n, target))
    np.testing.assert_allclose(
        channel.estimate(reports).var(axis=0), exact, rtol=5 * (2.25 / simulations) ** 0.5
    )


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


# -- more reports than categories ------------------------------------------------------------------

FEW = DenseChannel(np.array([[0.5, 0.5], [0.25, 0.75], [0.125, 0.875]]))


@SEEDED
@given(data=st.data(), channel=any_channels)
def test_least_is_never_above_any_other_left_inverse(data, channel):
    assume(well_conditioned(channel))
    truth = data.draw(distributions(channel.size))
    least, own = (channel.covariance(truth, 1, inverse=which) for which in ("least", "own"))
    D = channel.solve(np.eye(channel.size)).T
    # Any left inverse is D + N with P N = 0: the columns of N are projected from any matrix.
    P = channel.matrix()
    entries = st.lists(st.integers(-3, 3), min_size=P.size, max_size=P.size)
    any_matrix = np.array(data.draw(entries), dtype=float).reshape(channel.reports, channel.size)
    other = D + (np.eye(channel.reports) - np.linalg.pinv(P) @ P) @ any_matrix
    np.testing.assert_allclose(P @ other, np.eye(channel.size), atol=1e-9)
    reported = channel.reported(truth)
    middle = np.diag(reported) - np.outer(reported, reported)
    for above in (own, other.T @ middle @ other):
        if channel.shape == (channel.size,):  # products are tuned one attribute at a time
            scale = max(1.0, np.abs(above).max())
            assert np.linalg.eigvalsh(above - least).min() >= -1e-7 * scale
    if channel.square:
        np.testing.assert_array_equal(least, own)


@WIDE
def test_least_attains_the_bound_of_cramer_and_rao(channel):
    # J = P L^-1 P', the information of one report; by J^-1 - pi pi', factor by factor.
    truth = some_truth(channel)
    least = channel.covariance([float(x) for x in truth], 1)
    P = exact_matrix(channel)
    bound = inverse_of_least_variance(P, truth)
    reported = times([truth], P)[0]
    exact = floats(spread_of(reported, bound, "population"))
    if channel.shape == (channel.size,):
        np.testing.assert_allclose(least, exact, atol=1e-13)
    else:
        assert np.linalg.eigvalsh(least - exact).min() >= -1e-13


@WIDE
def test_proportions_of_zero_have_the_limit_of_small_ones(channel):
    for kept in range(channel.size):
        pure = np.eye(channel.size)[kept]
        nearly = pure * (1 - 1e-7) + 1e-7 / channel.size
        for target in ("population", "file"):
            found = channel.covariance(pure, 1, target)
            assert np.isfinite(found).all()
            np.testing.assert_allclose(found, channel.covariance(nearly, 1, target), atol=1e-4)


def test_estimates_of_tables_with_reports_of_one_kind_only():
    # The first estimate leaves the simplex, and has reports without a chance.
    for channel in RECTANGULAR.values():
        for report in np.flatnonzero(channel.matrix().any(axis=0)).tolist():
            counts = 7 * np.eye(channel.reports)[report]
            assert channel.estimate(counts).sum() == pytest.approx(1, abs=1e-10)
            assert np.isfinite(channel.estimated_covariance(counts)).all()


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.uint16, np.int16, np.uint64, np.int64])
@pytest.mark.parametrize("reports", [128, 129, 256, 257, 300])
def test_reports_have_a_type_that_holds_them(kind, reports):
    P = np.zeros((2, reports))
    P[:, -1] = 1
    for drawn in (
        DenseChannel(P).randomize(np.array([0, 1], kind), np.random.default_rng(1)),
        ProductChannel((DenseChannel(P), KeepOrReplace.uniform(1, 1.0))).randomize(
            np.array([0, 1], kind), np.random.default_rng(1)
        ),
    ):
        assert drawn.dtype.kind == np.dtype(kind).kind
        assert drawn.tolist() == [reports - 1] * 2
        if np.iinfo(kind).max >= reports - 1:
            assert drawn.dtype == kind


def test_reports_of_a_large_product_are_whole_numbers():
    # 300 ** 5 reports are beyond 32 bits, and neither floats nor objects.
    P = np.zeros((2, 300))
    P[:, -1] = 1
    channel = ProductChannel((DenseChannel(P),) * 5)
    for kind in (np.uint8, np.int64, np.uint64):
        drawn = channel.randomize(np.array([0, 31], kind), np.random.default_rng(1))
        assert drawn.dtype == (np.int64 if kind == np.int64 else np.uint64)
        assert drawn.tolist() == [300**5 - 1] * 2


# -- refusals --------------------------------------------------------------------------------------


@EVERY
def test_counts_that_do_not_fit(channel):
    k, m = channel.size, channel.reports
    rng = np.random.default_rng(1)
    for method, length in (
        (channel.estimate, m),
        (channel.standard_errors, m),
        (channel.estimated_covariance, m),
        (lambda counts: channel.randomize_counts(counts, rng), k),
    ):
        of = f"over {k} " if length == k else f"with {m} randomized values"
        with pytest.raises(ChannelError, match=rf"\({length + 1},\) do not fit a channel {of}"):
            method([1] * (length + 1))
        with pytest.raises(ChannelError, match=r"shape \(\) do not fit"):
            method(5)
        with pytest.raises(ChannelError, match=r"not be negative; there is -3|not negative"):
            method([-3] + [9] * (length - 1))
    for bad in (np.nan, np.inf):
        with pytest.raises(ChannelError, match="finite"):
            channel.estimate([bad] * m)
    with pytest.raises(ChannelError, match="all zero"):
        channel.estimate([[1] * m, [0] * m])
    for bad in (1.5, np.nan):
        with pytest.raises(ChannelError, match="whole numbers"):
            channel.randomize_counts([bad] * k, rng)
    for huge in (np.inf, 2.0**63, np.uint64(2**63)):
        with pytest.raises(ChannelError, match=r"below 2\*\*63; there is (inf|9)"):
            channel.randomize_counts([huge] * k, rng)
    with pytest.raises(ChannelError, match="whole numbers"):
        channel.randomize_counts(["a"] * k, rng)
    with pytest.raises(ChannelError, match="not a batch"):
        channel.estimated_covariance([[9] * m, [9] * m])
    with pytest.raises(ChannelError, match=rf"\(2, {k + 1}\) do not fit a channel over {k} "):
        channel.estimated_covariance([9] * m, functionals=np.ones((2, k + 1)))
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
    for reported, length in ((channel.reported, k), (channel.expected, channel.reports)):
        with pytest.raises(ChannelError, match=rf"shape \({length + 1},\) do not fit"):
            reported([0.0] * (length + 1))


@EVERY
def test_targets_and_single_records(channel):
    one = [1] + [0] * (channel.reports - 1)
    for method in (channel.standard_errors, channel.estimated_covariance):
        with pytest.raises(DeniableError, match="unknown target 'File'; use file or population"):
            method([5] * channel.reports, "File")
        with pytest.raises(ChannelError, match="at least 2, or the target 'file'"):
            method(one, "population")
        # One record can give a variance estimated below zero: no standard error then.
        assert not np.any(np.isinf(method(one, "file")))
    even = [1 / channel.size] * channel.size
    with pytest.raises(DeniableError, match="unknown target 'sample'"):
        channel.covariance(even, 5, "sample")
    for call in (
        lambda: channel.covariance(even, 5, inverse="best"),
        lambda: channel.estimate([5] * channel.reports, "best"),
        lambda: channel.estimate([[5] * channel.reports] * 2, "best"),
        lambda: channel.standard_errors([5] * channel.reports, inverse="best"),
        lambda: channel.estimated_covariance([5] * channel.reports, inverse="best"),
    ):
        with pytest.raises(DeniableError, match="unknown inverse 'best'; use least or own"):
            call()


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
        DenseChannel(np.array([[0.5, 0.25, 0.25, 0]] * 2)),
        DenseChannel(np.array([[2, 1, 1, 0], [0, 1, 1, 2], [1, 1, 1, 1]]) / 4),
        DenseChannel(np.array([[0.5, 0.5], [0.25, 0.75], [0.125, 0.875]])),
        DenseChannel(np.ones((3, 1))),
        ProductChannel((KeepOrReplace.uniform(2, 0.5), DenseChannel(np.full((3, 4), 0.25)))),
        ProductChannel((FEW, DenseChannel(FEW.entries.T / FEW.entries.sum(axis=0)[:, None]))),
    ],
    ids=[
        *("a = 0", "a = 1e-13", "equal entries", "dense", "dense of rank 2", "product"),
        *("equal rows", "wide of rank 2", "fewer reports", "one report"),
        *("product with a wide one", "as many reports in all"),
    ],
)
def test_singular_channels_randomize_but_do_not_estimate(channel):
    assert channel.singular
    counts, reports = [5] * channel.size, [5] * channel.reports
    uniform = np.full(channel.size, 1 / channel.size)
    for call in (
        lambda: channel.estimate(reports),
        lambda: channel.standard_errors(reports),
        lambda: channel.estimated_covariance(reports),
        lambda: channel.covariance(uniform, 10),
        lambda: channel.covariance(uniform, 10, inverse="own"),
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
        with pytest.raises(
            ChannelError, match=r"1,000,000 (categories|randomized values) is not formed"
        ):
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
