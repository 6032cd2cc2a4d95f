"""Weighted estimates: unbiasedness and variances by enumeration, then coverage by simulation."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats
from tests.channels.channel_cases import CHANNELS, Matrix, exact_matrix

from deniable.channels import DenseChannel, KeepOrReplace, ProductChannel
from deniable.errors import ChannelError, DataError, DeniableError, SingularChannelError
from deniable.estimation.survey_weights import (
    SurveyEstimate,
    WeightedCounts,
    survey_estimate,
    weighted_intervals,
)

TWO = DenseChannel(np.array([[0.75, 0.25], [0.5, 0.5]]))
THREE = CHANNELS["dense with zeros"]
TARGETS = pytest.mark.parametrize("target", ["population", "file"])
TOTALS = pytest.mark.parametrize("total", [None, 900.0])
Moments = tuple[np.ndarray, np.ndarray, np.ndarray]


def report_outcomes(matrix: Matrix, truth: Sequence[int]) -> Iterator[tuple[list[int], Fraction]]:
    """Yield every outcome of the reports of some records, with its probability."""
    for reports in itertools.product(range(len(matrix)), repeat=len(truth)):
        chance = Fraction(1)
        for u, v in zip(truth, reports, strict=True):
            chance *= matrix[u][v]
        if chance:
            yield list(reports), chance


def moments(
    outcomes: Iterator[tuple[Fraction, SurveyEstimate]],
) -> Moments:
    """Return the mean and the covariance of the estimate, and the mean of its estimated one."""
    chances, estimates, covariances = [], [], []
    for chance, found in outcomes:
        chances.append(float(chance))
        estimates.append(found.estimate)
        covariances.append(found.covariance)
    weight, values = np.array(chances), np.array(estimates)
    assert weight.sum() == pytest.approx(1, abs=1e-12)
    mean = weight @ values
    spread = (values - mean).T @ ((values - mean) * weight[:, None])
    return mean, spread, np.tensordot(weight, np.array(covariances), 1)


# -- the file --------------------------------------------------------------------------------------


@pytest.mark.parametrize("channel", [TWO, THREE, CHANNELS["own replacement"]])
@pytest.mark.parametrize("total", [None, 7.5])
def test_the_file_without_bias(channel, total):
    # All outcomes of three or four records of fixed truth and weights.
    truth = [0, channel.size - 1, 1, 1][: 4 if channel.size < 4 else 3]
    weights = np.array([2.0, 0.5, 1.0, 3.0])[: len(truth)]

    def outcomes() -> Iterator[tuple[Fraction, SurveyEstimate]]:
        for reports, chance in report_outcomes(exact_matrix(channel), truth):
            codes = np.array(reports)
            yield chance, survey_estimate(codes, weights, channel, target="file", total=total)

    mean, spread, estimated = moments(outcomes())
    wanted = np.bincount(truth, weights, channel.size) / (total or weights.sum())
    np.testing.assert_allclose(mean, wanted, atol=1e-13)
    np.testing.assert_allclose(estimated, spread, atol=1e-12)


def test_the_file_by_hand():
    # P^-1 has the rows (2, -1), (-2, 3). Reports 0, 1 of weights 1, 3: (1 (2, -1) + 3 (-2, 3)) / 4.
    found = survey_estimate(np.array([0, 1]), [1.0, 3.0], TWO, target="file")
    np.testing.assert_allclose(found.estimate, [-1, 2])
    # sum w^2 (g g' - diag g): ((4 - 2) + 9 (4 + 2)) / 16 on the diagonal.
    np.testing.assert_allclose(found.covariance[0, 0], 3.5)
    np.testing.assert_allclose(found.covariance[0, 1], -3.5)
    assert found.degrees_of_freedom == np.inf


# -- the population --------------------------------------------------------------------------------


def drawn_with_replacement() -> Iterator[tuple[Fraction, np.ndarray, np.ndarray]]:
    """Two draws from three units, with unequal probabilities: (probability, units, weights)."""
    chances = [Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)]
    for units in itertools.product(range(3), repeat=2):
        weights = [1 / (2 * chances[unit]) for unit in units]
        yield chances[units[0]] * chances[units[1]], np.array(units), np.array(weights, float)


@pytest.mark.parametrize("channel", [TWO, THREE])
def test_draws_with_replacement_without_bias(channel):
    # Sampling and randomization together: every draw, and for it every report.
    truth = np.array([1, 0, channel.size - 1])

    def outcomes() -> Iterator[tuple[Fraction, SurveyEstimate]]:
        for chance, units, weights in drawn_with_replacement():
            for reports, further in report_outcomes(exact_matrix(channel), truth[units].tolist()):
                found = survey_estimate(np.array(reports), weights, channel, total=3.0)
                yield chance * further, found

    mean, spread, estimated = moments(outcomes())
    np.testing.assert_allclose(mean, np.bincount(truth, minlength=channel.size) / 3, atol=1e-13)
    np.testing.assert_allclose(estimated, spread, atol=1e-12)


def test_strata_and_clusters_without_bias():
    # Stratum 0: clusters of units {0} and {1, 2}, drawn twice with probabilities 1/4 and 3/4.
    # Stratum 1: units 3 and 4, clusters of their own, drawn twice with 1/2 each.
    truth = np.array([1, 0, 0, 1, 0])
    members = {
        0: [([0], Fraction(1, 4)), ([1, 2], Fraction(3, 4))],
        1: [([3], Fraction(1, 2)), ([4], Fraction(1, 2))],
    }

    def outcomes() -> Iterator[tuple[Fraction, SurveyEstimate]]:
        draws = [list(itertools.product(members[h], repeat=2)) for h in (0, 1)]
        for drawn in itertools.product(*draws):
            chance, units, weights, strata, clusters = Fraction(1), [], [], [], []
            for h, pair in enumerate(drawn):
                for number, (cluster, probability) in enumerate(pair):
                    chance *= probability
                    units += cluster
                    weights += [float(1 / (2 * probability))] * len(cluster)
                    strata += ["first", "second"][h : h + 1] * len(cluster)
                    clusters += [10 * number] * len(cluster)  # numbered anew in each stratum
            for reports, further in report_outcomes(exact_matrix(TWO), truth[units].tolist()):
                yield (
                    chance * further,
                    survey_estimate(
                        np.array(reports),
                        weights,
                        TWO,
                        total=5.0,
                        strata=strata,
                        clusters=clusters,
                    ),
                )

    mean, spread, estimated = moments(outcomes())
    np.testing.assert_allclose(mean, [3 / 5, 2 / 5], atol=1e-13)
    np.testing.assert_allclose(estimated, spread, atol=1e-12)


def test_equal_weights_are_the_multinomial_estimate():
    codes = np.random.default_rng(1).integers(0, 3, 60)
    counts = np.bincount(codes)
    for total in (None, 60 * 7.0):
        found = survey_estimate(codes, np.full(60, 7.0), THREE, total=total)
        np.testing.assert_allclose(found.estimate, THREE.estimate(counts), atol=1e-14)
        np.testing.assert_allclose(found.covariance, THREE.estimated_covariance(counts), atol=1e-14)
        own = survey_estimate(codes, np.full(60, 7.0), THREE, total=total, target="file")
        np.testing.assert_allclose(
            own.covariance, THREE.estimated_covariance(counts, "file"), atol=1e-14
        )
        assert found.degrees_of_freedom == 59


# -- against plain loops ---------------------------------------------------------------------------


def slow_covariance(
    scores: np.ndarray,
    weights: np.ndarray,
    strata: np.ndarray,
    clusters: np.ndarray,
    total: float | None,
) -> np.ndarray:
    """The formula as it stands in textbooks, record by record."""
    denominator = total or weights.sum()
    centre = 0 if total else weights @ scores / weights.sum()
    covariance = np.zeros((scores.shape[1],) * 2)
    for stratum in set(strata):
        totals = []
        for cluster in set(clusters[strata == stratum]):
            inside = (strata == stratum) & (clusters == cluster)
            totals.append((weights[inside, None] * (scores[inside] - centre)).sum(axis=0))
        spread = np.array(totals) - np.mean(totals, axis=0)
        covariance += len(totals) / (len(totals) - 1) * spread.T @ spread
    return covariance / denominator**2


@pytest.fixture(scope="module")
def survey() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(9)
    codes = rng.integers(0, 12, 300)
    return codes, rng.gamma(2.0, 1.0, 300), rng.integers(0, 4, 300), rng.integers(0, 9, 300)


ATTRIBUTES = ProductChannel((KeepOrReplace.uniform(2, 0.6), THREE, KeepOrReplace.uniform(2, 0.9)))


@TOTALS
@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_covariance_is_that_of_the_loops(survey, total, clustered, weighted):
    codes, weights, strata, clusters = survey
    asked = np.random.default_rng(2).normal(size=(3, 12)) if weighted else np.eye(12)
    found = survey_estimate(
        codes,
        weights,
        ATTRIBUTES,
        total=total,
        strata=strata,
        clusters=clusters if clustered else None,
        functionals=asked if weighted else None,
    )
    scores = np.linalg.inv(ATTRIBUTES.matrix())[codes] @ asked.T
    np.testing.assert_allclose(found.estimate, weights @ scores / (total or weights.sum()))
    slow = slow_covariance(
        scores, weights, strata, clusters if clustered else np.arange(300), total
    )
    np.testing.assert_allclose(found.covariance, slow, rtol=1e-9, atol=1e-14)
    units = len({(h, c) for h, c in zip(strata, clusters, strict=True)}) if clustered else 300
    assert found.degrees_of_freedom == units - 4


@TOTALS
@TARGETS
@pytest.mark.parametrize("functionals", [None, np.random.default_rng(4).normal(size=(2, 12))])
def test_batches_are_loops(survey, total, target, functionals):
    codes, weights, strata, _ = survey
    halves = [slice(0, 150), slice(150, 300)]
    one = [
        WeightedCounts.of_records(codes[half], weights[half], 12, strata[half]) for half in halves
    ]
    both = WeightedCounts(
        *(np.stack([getattr(x, part) for x in one]) for part in ("weights", "squares", "records"))
    )
    found = weighted_intervals(
        both, ATTRIBUTES, target=target, total=total, functionals=functionals
    )
    proportions = weighted_intervals(both, ATTRIBUTES, target=target, total=total).estimate
    asked = np.eye(12) if functionals is None else functionals
    np.testing.assert_allclose(found.estimate, proportions @ asked.T, atol=1e-12)
    for run, half in enumerate(halves):
        single = survey_estimate(
            codes[half],
            weights[half],
            ATTRIBUTES,
            strata=strata[half],
            target=target,
            total=total,
            functionals=functionals,
        )
        limits = single.intervals()
        for part in ("estimate", "standard_error", "low", "high"):
            np.testing.assert_allclose(getattr(found, part)[run], getattr(limits, part), rtol=1e-9)
    quantile = stats.norm.ppf(0.975) if target == "file" else stats.t.ppf(0.975, 146)
    np.testing.assert_allclose(
        (found.high - found.estimate) / found.standard_error, quantile, rtol=1e-9
    )


@settings(deadline=None, max_examples=40, derandomize=True)
@given(st.integers(0, 10**6), st.floats(0.01, 100))
def test_without_a_known_total_the_scale_of_weights_is_none(seed, scale):
    rng = np.random.default_rng(seed)
    codes, weights = rng.integers(0, 3, 40), rng.gamma(1.0, 1.0, 40)
    strata = np.arange(40) % 3
    for target in ("file", "population"):
        first, second = (
            survey_estimate(codes, w, THREE, strata=strata, target=target)
            for w in (weights, scale * weights)
        )
        np.testing.assert_allclose(second.estimate, first.estimate, atol=1e-9)
        np.testing.assert_allclose(second.covariance, first.covariance, atol=1e-9)
        assert first.estimate.sum() == pytest.approx(1)
        np.testing.assert_allclose(first.covariance.sum(axis=0), 0, atol=1e-12)


# -- coverage --------------------------------------------------------------------------------------


def test_weighted_intervals_cover_and_unweighted_ones_do_not():
    # Two strata, the smaller drawn ten times as often. False alarm 1e-6 an interval.
    channel, simulations = CHANNELS["dense"], 10_000
    shares = np.array([[0.4, 0.3, 0.2, 0.1], [0.1, 0.1, 0.2, 0.6]])
    sizes, drawn = np.array([0.8, 0.2]), np.array([1000, 2500])
    truth = sizes @ shares
    rng = np.random.default_rng(3)
    reports = np.stack(
        [
            rng.multinomial(n, channel.reported(p), simulations)
            for n, p in zip(drawn, shares, strict=True)
        ],
        axis=1,
    )
    weight = (sizes / drawn)[:, None]
    counts = WeightedCounts(
        reports * weight, reports * weight**2, np.broadcast_to(drawn, (simulations, 2))
    )
    found = weighted_intervals(counts, channel)
    np.testing.assert_allclose(found.cover(truth).mean(axis=0), 0.95, atol=0.0107)
    # The standard error is that of the spread, within 4 %: 5 standard errors of a root of 10,000.
    np.testing.assert_allclose(
        found.standard_error.mean(axis=0), found.estimate.std(axis=0), rtol=0.04
    )
    plain = channel.estimate(reports.sum(axis=1)).mean(axis=0)
    assert np.abs(plain - truth).max() > 0.1
    assert np.abs(found.estimate.mean(axis=0) - truth).max() < 0.002


# -- refusals --------------------------------------------------------------------------------------

CODES = np.array([0, 1, 1])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: survey_estimate(CODES, [1, 2], TWO), DataError, "give one weight per record"),
        (lambda: survey_estimate(CODES, [1, -2, 1], TWO), DataError, r"record 2 has the weight -2"),
        (lambda: survey_estimate(CODES, [1, 2, np.inf], TWO), DataError, "record 3 has the weight"),
        (lambda: survey_estimate(CODES, [0, 0, 0], TWO), DataError, "the weights sum to 0"),
        (lambda: survey_estimate(CODES + 1, [1, 1, 1], TWO), DataError, "the code 2 is outside"),
        (lambda: survey_estimate(CODES, [1, 1, 1], TWO, strata=[1]), DataError, "strata of shape"),
        (
            lambda: survey_estimate(CODES, [1, 1, 1], TWO, clusters=[1]),
            DataError,
            r"clusters of shape \(1,\) for 3 records",
        ),
        (
            lambda: survey_estimate(CODES, [1, 1, 1], TWO, strata=[1, 1, 2]),
            DeniableError,
            "a design stratum has 1 sampling unit",
        ),
        (
            lambda: survey_estimate(CODES, [1, 1, 1], TWO, clusters=[4, 4, 4]),
            DeniableError,
            "join it with a similar stratum, or use the target 'file'",
        ),
        (lambda: survey_estimate(CODES, [1, 1, 1], TWO, total=0), DeniableError, "size is 0"),
        (
            lambda: survey_estimate(CODES, [1, 1, 1], TWO, functionals=np.ones(3)),
            ChannelError,
            "functionals of shape",
        ),
        (
            lambda: survey_estimate(CODES, [1, 1, 1], KeepOrReplace.uniform(2, 0.0)),
            SingularChannelError,
            "singular",
        ),
        (
            lambda: weighted_intervals(WeightedCounts.of_records(CODES, [1, 1, 1], 2), THREE),
            ChannelError,
            "weights over 2 randomized values do not fit a channel with 3",
        ),
        (
            lambda: WeightedCounts(np.ones((1, 2)), np.ones((2, 2)), np.ones(1)),
            DataError,
            "sums of weights of shape",
        ),
        (
            lambda: WeightedCounts(np.ones((1, 2)), np.ones((1, 2)), np.ones(2)),
            DataError,
            "give one per stratum",
        ),
        (
            lambda: survey_estimate(CODES, [1, 1, 1], TWO).intervals(95),
            DeniableError,
            "the confidence is 95",
        ),
    ],
)
def test_refusals(call: Callable[[], object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()
