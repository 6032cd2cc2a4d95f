"""Confidence intervals: exact cases, the test that each score interval turns around, coverage."""

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import optimize, stats
from tests.channels.channel_cases import CHANNELS, channels, well_conditioned

from deniable.channels import Channel, DenseChannel, KeepOrReplace, ProductChannel
from deniable.channels.base import Target
from deniable.errors import ChannelError, DeniableError, SingularChannelError
from deniable.estimation.intervals import EVENED, clopper_pearson, confidence_intervals

EVERY = pytest.mark.parametrize("channel", CHANNELS.values(), ids=CHANNELS.keys())
TARGETS = pytest.mark.parametrize("target", ["population", "file"])
METHODS = pytest.mark.parametrize("method", ["score", "wald"])
SEEDED = settings(deadline=None, max_examples=60, derandomize=True)
Z = float(stats.norm.ppf(0.975))
NEIGHBOURS = DenseChannel(np.diag([0.8] * 4) + np.diag([0.2] * 3, 1) + np.diag([0, 0, 0, 0.2]))


def some_counts(channel: Channel) -> np.ndarray:
    return np.array([(7 * u + 3) % 11 + 2 for u in range(channel.size)])


def wilson(count: float, records: float, z: float) -> tuple[float, float]:
    """Wilson's (1927) interval, as printed in textbooks."""
    share = count / records
    middle = (share + z**2 / (2 * records)) / (1 + z**2 / records)
    reach = math.sqrt(share * (1 - share) / records + (z / (2 * records)) ** 2)
    return middle - z * reach / (1 + z**2 / records), middle + z * reach / (1 + z**2 / records)


# -- exact cases -----------------------------------------------------------------------------------


@pytest.mark.parametrize("counts", [[8, 2], [10, 0], [0, 0, 7], [3, 0, 4, 0, 93], [1, 1]])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_without_randomization_the_score_interval_is_wilsons(counts, confidence):
    z = float(stats.norm.ppf((1 + confidence) / 2))
    expected = np.array([wilson(x, sum(counts), z) for x in counts])
    for channel in (KeepOrReplace.uniform(len(counts), 1.0), DenseChannel(np.eye(len(counts)))):
        found = confidence_intervals(counts, channel, confidence=confidence)
        np.testing.assert_allclose(found.low, expected[:, 0], atol=1e-14)
        np.testing.assert_allclose(found.high, expected[:, 1], atol=1e-14)


def test_wilson_by_hand():
    # z^2 = 4, 1 in 4: (1/4 + 1/2) / 2 give or take sqrt(3/64 + 1/16) * 2 / 2 = 3/8 +- sqrt(7)/8.
    confidence = float(stats.chi2.cdf(4, 1))
    found = confidence_intervals([3, 1], DenseChannel(np.eye(2)), confidence=confidence)
    np.testing.assert_allclose(found.low[1], (3 - math.sqrt(7)) / 8, rtol=1e-12)
    np.testing.assert_allclose(found.high[1], (3 + math.sqrt(7)) / 8, rtol=1e-12)


@pytest.mark.parametrize("name", ["uniform", "own replacement", "negative weight"])
def test_through_keep_or_replace_it_is_wilsons_of_the_reports(name):
    channel = CHANNELS[name]
    a, b = channel.diagonal_weight, channel.replacement
    truth = np.array([0.5, 0.3, 0.2, 0.0])[: b.size]
    counts = np.random.default_rng(4).multinomial(400, channel.reported(truth), 50)
    dense = DenseChannel(channel.matrix())
    found, other = (confidence_intervals(counts, each) for each in (channel, dense))
    for run, row in enumerate(counts):
        limits = np.array([wilson(x, 400, Z) for x in row])
        low, high = np.sort((limits - b[:, None]) / a, axis=1).T
        for intervals in (found, other):
            np.testing.assert_allclose(intervals.low[run], low, atol=1e-12)
            np.testing.assert_allclose(intervals.high[run], high, atol=1e-12)


def test_the_file_without_randomization_is_known():
    for method in ("score", "wald"):
        found = confidence_intervals(
            [5, 0, 2], KeepOrReplace.uniform(3, 1.0), target="file", method=method
        )
        for limit in (found.low, found.high, found.estimate):
            np.testing.assert_allclose(limit, [5 / 7, 0, 2 / 7], atol=1e-15)


@TARGETS
@METHODS
def test_one_category_is_known(target, method):
    for channel in (KeepOrReplace.uniform(1, 0.5), DenseChannel([[1.0]]), CHANNELS["flip"]):
        size = channel.size
        found = confidence_intervals(
            [9] * size, channel, target=target, method=method, functionals=np.full((1, size), 3.0)
        )
        np.testing.assert_allclose([found.low, found.high], 3, atol=1e-12)
    only = confidence_intervals([9], KeepOrReplace.uniform(1, 0.5), target=target, method=method)
    np.testing.assert_allclose([only.low, only.high], 1, atol=1e-12)


@EVERY
@TARGETS
def test_wald_is_the_estimate_give_or_take_standard_errors(channel, target):
    counts = np.stack([some_counts(channel), some_counts(channel)[::-1]])
    found = confidence_intervals(counts, channel, method="wald", target=target)
    np.testing.assert_array_equal(found.estimate, channel.estimate(counts))
    np.testing.assert_array_equal(found.standard_error, channel.standard_errors(counts, target))
    np.testing.assert_allclose(found.high - found.estimate, Z * found.standard_error, atol=1e-14)
    np.testing.assert_allclose(found.estimate - found.low, Z * found.standard_error, atol=1e-14)
    score = confidence_intervals(counts, channel, target=target)
    np.testing.assert_array_equal(score.standard_error, found.standard_error)


# -- the test that is turned around ----------------------------------------------------------------


def slow_projection(values: np.ndarray) -> np.ndarray:
    """The closest distribution: the shift found by bisection."""
    shift = optimize.brentq(lambda t: np.maximum(values - t, 0).sum() - 1, -5 - values.max(), 5e3)
    return np.maximum(values - shift, 0)


def slow_limits(
    channel: Channel, counts: np.ndarray, weights: np.ndarray, target: str
) -> tuple[float, float]:
    """The limits of one functional: report by report, and the root of the inequality by search."""
    P, n, k = channel.matrix(), counts.sum(), channel.size
    B = np.linalg.inv(P)
    g, s = B @ weights, B @ weights**2
    estimate = float(counts / n @ g)
    likely = n * ((1 - EVENED) * slow_projection(channel.estimate(counts)) + EVENED / k)
    middle = (weights.min() + weights.max()) / 2
    limits = []
    for side in (weights <= middle, weights > middle):
        # Expected records of each true category, and four more on this side.
        records = likely + 4 * likely * side / likely[side].sum()
        joint = P * (records / records.sum())[:, None]
        covariance = variance = 0.0
        if target == "population":
            level = counts / n @ g**2 - estimate**2
            centre = joint.sum(axis=0) @ np.stack([g, g**2]).T
            for v in range(k):
                share = joint[:, v].sum()
                variance += share * (g[v] - centre[0]) ** 2
                covariance += share * (g[v] - centre[0]) * (g[v] ** 2 - centre[1])
        else:
            level = counts / n @ (g**2 - s)
            for t in range(k):
                mean_g, mean_h = P[t] @ g, P[t] @ (g**2 - s)
                for v in range(k):
                    variance += joint[t, v] * (g[v] - mean_g) ** 2
                    covariance += joint[t, v] * (g[v] - mean_g) * (g[v] ** 2 - s[v] - mean_h)
            level = level if level >= 0 else variance

        def excess(f: float, level: float = level, slope: float = covariance / variance) -> float:
            moved = level + slope * (f - estimate)
            moved += estimate**2 - f**2 if target == "population" else 0.0
            return float((estimate - f) ** 2 - Z**2 / n * moved)

        far = 100 * (1 + math.sqrt(level))
        ends = (
            (estimate - far, estimate - 1e-9)
            if side[weights.argmin()]
            else (
                estimate + 1e-9,
                estimate + far,
            )
        )
        limits.append(float(optimize.brentq(excess, *ends, xtol=1e-13)))
    return limits[0], limits[1]


@pytest.mark.parametrize(
    "name", [name for name, c in CHANNELS.items() if c.size > 1 and name not in ("identity",)]
)
@TARGETS
@pytest.mark.parametrize("kind", ["category", "functional"])
def test_limits_are_those_of_the_slow_way(name, target, kind):
    channel = CHANNELS[name]
    if target == "file" and name in ("flip", "dense permutation"):
        return  # the file is known
    rng = np.random.default_rng(8)
    truth = np.arange(1.0, channel.size + 1) / np.arange(1.0, channel.size + 1).sum()
    counts = rng.multinomial(300, channel.reported(truth))
    weights = np.eye(channel.size)
    if kind == "functional":
        weights = np.round(rng.normal(size=(3, channel.size)), 2)
    found = confidence_intervals(
        counts, channel, target=target, functionals=weights if kind == "functional" else None
    )
    for number, row in enumerate(weights):
        low, high = slow_limits(channel, counts, row, target)
        assert found.low[number] == pytest.approx(low, abs=1e-8)
        assert found.high[number] == pytest.approx(high, abs=1e-8)


def test_a_variance_below_zero_is_replaced_in_the_slow_way_too():
    channel, counts = CHANNELS["dense"], np.array([0, 0, 0, 9])
    found = confidence_intervals(counts, channel, target="file")
    replaced = np.isnan(found.standard_error)
    assert replaced.any()
    for number in np.flatnonzero(replaced):
        limits = slow_limits(channel, counts, np.eye(4)[number], "file")
        np.testing.assert_allclose((found.low[number], found.high[number]), limits, atol=1e-8)


def test_an_estimate_far_outside_has_limits_in_proportion():
    # Reports of 80 % where 50 to 52 % are possible.
    channel = DenseChannel(np.array([[0.52, 0.48], [0.5, 0.5]]))
    score = confidence_intervals([80, 20], channel)
    assert score.estimate[0] == pytest.approx(15)
    low, high = (each / 0.02 - 25 for each in wilson(80, 100, Z))
    np.testing.assert_allclose([score.low[0], score.high[0]], [low, high], rtol=1e-9)


# -- one method for all channels -------------------------------------------------------------------


@EVERY
@TARGETS
@METHODS
def test_categories_are_functionals_and_channels_their_matrices(channel, target, method):
    rng = np.random.default_rng(3)
    counts = rng.integers(0, 40, (4, channel.size)) + 1
    options = {"target": target, "method": method, "simultaneous": "bonferroni"}
    found = confidence_intervals(counts, channel, **options)
    functional = confidence_intervals(counts, channel, **options, functionals=np.eye(channel.size))
    dense = confidence_intervals(counts, DenseChannel(channel.matrix()), **options)
    loop = [confidence_intervals(row, channel, **options) for row in counts]
    for limit in ("estimate", "low", "high"):
        own = getattr(found, limit)
        # Roots: a variance of 0 may be 1e-17 elsewhere.
        np.testing.assert_allclose(getattr(functional, limit), own, atol=1e-7, err_msg=limit)
        np.testing.assert_allclose(getattr(dense, limit), own, atol=1e-7, err_msg=limit)
        np.testing.assert_allclose([getattr(each, limit) for each in loop], own, atol=1e-7)


@TARGETS
@METHODS
def test_intervals_follow_a_change_of_unit(target, method):
    rng = np.random.default_rng(6)
    weights = rng.normal(size=(5, 4))
    counts = rng.multinomial(300, NEIGHBOURS.reported([0.4, 0.3, 0.2, 0.1]), 20)
    options = {"target": target, "method": method}
    plain = confidence_intervals(counts, NEIGHBOURS, functionals=weights, **options)
    moved = confidence_intervals(counts, NEIGHBOURS, functionals=-3 * weights + 7, **options)
    np.testing.assert_allclose(moved.low, -3 * plain.high + 7, atol=1e-7)
    np.testing.assert_allclose(moved.high, -3 * plain.low + 7, atol=1e-7)


@SEEDED
@given(data=st.data(), channel=channels)
def test_score_intervals_always_exist_hold_the_estimate_and_nest(data, channel):
    if channel.singular or not well_conditioned(channel):
        return
    counts = np.array(
        data.draw(st.lists(st.integers(0, 30), min_size=channel.size, max_size=channel.size))
    )
    counts[0] += 2
    for target in ("population", "file"):
        narrow, wide = (
            confidence_intervals(counts, channel, confidence=level, target=target)
            for level in (0.8, 0.99)
        )
        for each in (narrow, wide):
            assert np.all(np.isfinite(each.low) & np.isfinite(each.high))
            assert np.all((each.low <= each.estimate) & (each.estimate <= each.high))
        assert np.all((wide.low <= narrow.low + 1e-9) & (narrow.high <= wide.high + 1e-9))


def test_no_matrix_is_formed_for_a_product():
    channel = ProductChannel((KeepOrReplace.uniform(2, 0.9),) * 14)  # 16,384 cells
    counts = np.random.default_rng(2).multinomial(10**6, np.full(channel.size, 1 / channel.size))
    found = confidence_intervals(counts, channel)
    assert found.low.shape == (channel.size,)
    last = np.zeros((1, channel.size))
    last[0, -1] = 1
    one = confidence_intervals(counts, channel, functionals=last)
    np.testing.assert_allclose([one.low[0], one.high[0]], [found.low[-1], found.high[-1]])


# -- simultaneous ----------------------------------------------------------------------------------


def test_critical_values():
    counts, channel = [50, 30, 20], CHANNELS["dense with zeros"]

    def multiples(**options: object) -> np.ndarray:
        found = confidence_intervals(counts, channel, method="wald", **options)
        return (found.high - found.estimate) / found.standard_error

    np.testing.assert_allclose(multiples(), 1.959963984540054)
    np.testing.assert_allclose(multiples(simultaneous="bonferroni"), stats.norm.ppf(1 - 0.05 / 6))
    np.testing.assert_allclose(multiples(simultaneous="scheffe"), math.sqrt(5.991464547107979))
    np.testing.assert_allclose(
        multiples(simultaneous="bonferroni", functionals=np.ones((1, 3)) - np.eye(3)[0]),
        1.959963984540054,
    )
    # Two categories: one proportion is open, and Scheffe's is the single interval.
    for method in ("score", "wald"):
        single, all_at_once = (
            confidence_intervals([7, 5], NEIGHBOURS_OF_TWO, method=method, simultaneous=each)
            for each in ("none", "scheffe")
        )
        np.testing.assert_allclose(single.low, all_at_once.low)


NEIGHBOURS_OF_TWO = DenseChannel(np.array([[0.75, 0.25], [0.5, 0.5]]))


def test_scheffe_holds_for_all_functionals_exactly_when_the_ellipsoid_does():
    # The worst functional is V^-1 d: its interval holds the truth iff d' V^-1 d <= chi-square.
    channel, truth = NEIGHBOURS, np.array([0.4, 0.3, 0.2, 0.1])
    reports = np.random.default_rng(5).multinomial(800, channel.reported(truth), 400)
    held = []
    for counts in reports:
        covariance = channel.estimated_covariance(counts)[:3, :3]
        miss = (channel.estimate(counts) - truth)[:3]
        worst = np.append(np.linalg.solve(covariance, miss), 0)
        found = confidence_intervals(
            counts, channel, method="wald", simultaneous="scheffe", functionals=worst
        )
        held.append(found.cover([worst @ truth])[0])
        distance = miss @ np.linalg.solve(covariance, miss)
        assert held[-1] == (distance <= stats.chi2.ppf(0.95, 3))
    assert 0.9 < np.mean(held) < 0.99


# -- coverage --------------------------------------------------------------------------------------

SIMULATIONS = 10_000
TOLERANCE = 0.0107  # 4.9 standard errors of a share of 10,000: a false alarm of 1e-6 an interval


def simulated(
    channel: Channel, proportions: np.ndarray, records: int, target: Target
) -> tuple[np.ndarray, np.ndarray]:
    """Return reported counts and the truth that intervals are to cover."""
    rng = np.random.default_rng(17)
    if target == "population":
        return rng.multinomial(records, channel.reported(proportions), SIMULATIONS), proportions
    counts = np.round(proportions * records).astype(int)
    assert counts.sum() == records
    files = np.broadcast_to(counts, (SIMULATIONS, channel.size))
    return channel.randomize_counts(files, rng), proportions


@pytest.mark.parametrize("name", ["uniform", "dense", "negative weight", "product"])
@TARGETS
@METHODS
def test_coverage_is_as_stated(name, target, method):
    channel = CHANNELS[name]
    weights = 1.0 + np.arange(channel.size)
    proportions = np.round(weights / weights.sum(), 2)
    proportions[0] += 1 - proportions.sum()
    reports, truth = simulated(channel, proportions, 5000, target)
    found = confidence_intervals(reports, channel, target=target, method=method)
    np.testing.assert_allclose(found.cover(truth).mean(axis=0), 0.95, atol=TOLERANCE)
    everything = confidence_intervals(
        reports, channel, target=target, method=method, simultaneous="bonferroni"
    )
    assert everything.cover(truth).all(axis=1).mean() > 0.95 - TOLERANCE


def test_score_covers_rare_categories_that_wald_does_not():
    # A category of 2 in 100,000 behind reports of 1 in 1,000, at 1,000 records.
    channel = ProductChannel((NEIGHBOURS, KeepOrReplace.uniform(2, 0.99)))
    first, second = np.array([0.6, 0.397, 0.002, 0.001]), np.array([0.98, 0.02])
    proportions = np.outer(first, second).reshape(-1)
    reports, truth = simulated(channel, proportions, 1000, "population")
    wald = confidence_intervals(reports, channel, method="wald").cover(truth).mean(axis=0)
    score = confidence_intervals(reports, channel).cover(truth).mean(axis=0)
    assert wald.min() < 0.9
    assert score.min() > 0.92  # two reports or so: no interval has exactly 95 % of whole counts
    assert abs(score.mean() - 0.95) < 0.01 < abs(wald.mean() - 0.95)


def test_a_nearly_singular_channel_is_covered():
    # Its reports are 99 % chance: standard errors up to .3 at 50,000 records.
    blurred = DenseChannel(0.01 * NEIGHBOURS.matrix() + 0.99 * np.array([0.4, 0.3, 0.2, 0.1]))
    assert np.linalg.cond(blurred.matrix()) > 150
    for target in ("population", "file"):
        reports, truth = simulated(blurred, np.array([0.6, 0.3, 0.08, 0.02]), 50_000, target)
        for method in ("score", "wald"):
            found = confidence_intervals(reports, blurred, target=target, method=method)
            np.testing.assert_allclose(found.cover(truth).mean(axis=0), 0.95, atol=TOLERANCE)


def test_badly_conditioned_channels_are_covered():
    # Rows of a few large entries, condition numbers up to 1e4: what a projection of the estimate
    # alone leads to expect is far from the reports there. 4.9 standard errors, and 1.3 % for the
    # rare reports' whole counts.
    rng = np.random.default_rng(5)
    seen = []
    while len(seen) < 12:
        size = rng.integers(3, 8)
        channel = DenseChannel(rng.dirichlet(np.full(size, 0.3), size))
        proportions = rng.dirichlet(np.ones(size))
        if not 30 < np.linalg.cond(channel.matrix()) < 1e4:
            continue
        reports, truth = simulated(channel, proportions, 5000, "population")
        covered = confidence_intervals(reports, channel).cover(truth).mean(axis=0)
        np.testing.assert_allclose(covered, 0.95, atol=TOLERANCE + 0.013)
        seen.append(covered.mean())
    assert np.mean(seen) == pytest.approx(0.95, abs=0.002)


# -- cover, refusals -------------------------------------------------------------------------------


def test_cover():
    found = confidence_intervals([90, 0, 5, 5], KeepOrReplace.uniform(4, 0.2), method="wald")
    assert found.low.min() < 0
    assert found.high.max() > 1
    np.testing.assert_array_equal(found.cover(found.low), True)
    np.testing.assert_array_equal(found.cover(found.low - 1e-9), False)


def test_a_variance_below_zero_gives_no_wald_interval_but_a_score_interval():
    channel = CHANNELS["dense"]
    counts = [0, 0, 0, 9]
    wald, score = (
        confidence_intervals(counts, channel, target="file", method=method)
        for method in ("wald", "score")
    )
    assert np.isnan(wald.low).any()
    assert not wald.cover(channel.estimate(counts))[np.isnan(wald.low)].any()
    assert np.isfinite(score.low).all()
    np.testing.assert_array_equal(np.isnan(score.standard_error), np.isnan(wald.low))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"confidence": 95}, r"the confidence is 95; it must be in \(0, 1\)"),
        ({"confidence": 0.0}, "the confidence is 0.0"),
        ({"confidence": math.nan}, "the confidence is nan"),
        ({"method": "exact"}, "unknown method 'exact'; use score or wald"),
        (
            {"simultaneous": "all"},
            "unknown option simultaneous 'all'; use none, bonferroni, scheffe",
        ),
        ({"target": "sample"}, "unknown target 'sample'"),
        ({"functionals": np.ones((2, 3))}, r"functionals of shape \(2, 3\) do not fit"),
        ({"functionals": [np.nan, 1.0]}, "give one finite weight per category"),
        ({"functionals": np.ones((1, 1, 2))}, "do not fit a channel over 2 categories"),
    ],
)
def test_refusals(options, message):
    with pytest.raises(DeniableError, match=message):
        confidence_intervals([3, 4], NEIGHBOURS_OF_TWO, **options)


def test_what_a_channel_refuses():
    with pytest.raises(SingularChannelError):
        confidence_intervals([3, 4], KeepOrReplace.uniform(2, 0.0))
    with pytest.raises(ChannelError, match="cannot be estimated from one record"):
        confidence_intervals([1, 0], NEIGHBOURS_OF_TWO)
    with pytest.raises(ChannelError, match="all zero"):
        confidence_intervals([0, 0], NEIGHBOURS_OF_TWO)


# -- Clopper and Pearson: against scipy's, and what it covers, summed over all outcomes ------------


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999999])
def test_as_scipys_for_each_number_of_events(confidence: float) -> None:
    events = np.arange(13)
    low, high = clopper_pearson(events, 12, confidence)
    known = [stats.binomtest(e, 12).proportion_ci(confidence, "exact") for e in events.tolist()]
    np.testing.assert_allclose(low, [each.low for each in known], atol=1e-12)
    np.testing.assert_allclose(high, [each.high for each in known], atol=1e-12)


def test_as_scipys_of_many_trials() -> None:
    events, trials = np.array([0, 3, 100]), np.array([100, 100, 100])
    low, high = clopper_pearson(events, trials)
    for e, lower, upper in zip(events, low, high, strict=True):
        known = stats.binomtest(int(e), 100).proportion_ci(0.95, "exact")
        assert (lower, upper) == pytest.approx((known.low, known.high), abs=1e-12)


def test_trials_of_their_own_and_single_numbers() -> None:
    events, trials = np.array([[0, 3], [7, 1]]), np.array([[5, 9], [7, 1]])
    low, high = clopper_pearson(events, trials)
    for place in np.ndindex(2, 2):
        assert clopper_pearson(int(events[place]), int(trials[place])) == (low[place], high[place])


def test_by_hand_where_all_trials_agree() -> None:
    # (1 - p)^n = .025 at the upper limit of no event in n, and the mirror image of n in n.
    low, high = clopper_pearson([0, 10], [10, 10])
    reach = 1 - 0.025**0.1
    np.testing.assert_allclose([low, high], [[0, 1 - reach], [reach, 1]], rtol=1e-12)


@pytest.mark.parametrize("trials", [1, 7, 40])
def test_it_covers_as_stated_at_every_probability(trials: int) -> None:
    low, high = clopper_pearson(np.arange(trials + 1), trials)
    for probability in np.linspace(0.005, 0.995, 199):
        chances = stats.binom.pmf(np.arange(trials + 1), trials, probability)
        assert chances[(low <= probability) & (probability <= high)].sum() >= 0.95
