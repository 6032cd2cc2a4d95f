"""Tests of models through channels with more reports than cells.

The references: a square channel some of whose reports were split by a coin, Rao's statistic by
differences of the likelihood, a general optimiser, and simulated sizes and powers.
"""

from functools import reduce

import numpy as np
import pytest
from scipy import optimize, stats

from deniable.channels import DenseChannel, KeepOrReplace, ProductChannel
from deniable.channels.protocols import HadamardResponse, ProjectiveGeometry, SubsetSelection
from deniable.contingency import (
    Independence,
    RandomizedRelease,
    channel_test,
    monte_carlo_test,
)
from deniable.contingency.independence import (
    LEAST_DISTANCE,
    LEAST_EXPECTED,
    LEAST_RECORDS,
    chi_squared,
    score_statistic,
)
from deniable.contingency.likelihood import fit_through_channel
from deniable.rrba import keep_for_epsilon

from reproduction.papers.rrba.independence import proportions

THREE = DenseChannel(np.array([[0.5, 0.375, 0.125], [0.125, 0.75, 0.125], [0.25, 0.0, 0.75]]))
WIDE = DenseChannel(np.array([[0.6, 0.2, 0.1, 0.1], [0.1, 0.3, 0.1, 0.5]]))
WIDER = DenseChannel(
    np.array([[0.6, 0.2, 0.1, 0.05, 0.05], [0.1, 0.5, 0.1, 0.2, 0.1], [0.1, 0.1, 0.3, 0.1, 0.4]])
)
COIN = KeepOrReplace.uniform(2, 0.6)
OF_SPLIT = np.array([0, 0, 1, 2, 2])
SPLIT = DenseChannel(THREE.entries[:, OF_SPLIT] * np.array([0.3, 0.7, 1.0, 0.6, 0.4]))
INDEPENDENT = Independence((2, 3))
TWO_WIDE = ProductChannel((WIDE, WIDER))


def hadamard(categories: int, epsilon: float) -> DenseChannel:
    """Hadamard response: half of the reports, one's own, are e^epsilon times as likely."""
    m = 2
    while m <= categories:
        m *= 2
    rows = np.array(
        [[bin(v & (u + 1)).count("1") % 2 for v in range(m)] for u in range(categories)]
    )
    truth = np.exp(epsilon) / (np.exp(epsilon) + 1)
    return DenseChannel(np.where(rows == 0, truth, 1 - truth) * 2 / m)


def margins_of(*shares: list[float]) -> np.ndarray:
    return np.asarray(reduce(np.kron, [np.array(share) for share in shares]))


NULL = margins_of([0.6, 0.4], [0.5, 0.3, 0.2])


# -- a report split by a coin tells no more --------------------------------------------------------


@pytest.mark.parametrize("records", [4000, 60])
def test_split_reports_are_tested_as_the_whole_ones(records):
    split, whole = ProductChannel((COIN, SPLIT)), ProductChannel((COIN, THREE))
    reports = np.random.default_rng(4).multinomial(records, split.reported(NULL), 20)
    merge = np.kron(np.eye(2), np.eye(3)[OF_SPLIT])
    found, wanted = (
        channel_test(n, c, INDEPENDENT) for n, c in ((reports, split), (reports @ merge, whole))
    )
    assert found.degrees_of_freedom == wanted.degrees_of_freedom == 2
    np.testing.assert_array_equal(found.valid, wanted.valid)
    assert found.valid.any() == (records == 4000)
    names = ["statistic", "p_value", "expected_counts", "effective_records", "distance_from_zero"]
    for name in names:
        of_both = getattr(found, name), getattr(wanted, name)
        np.testing.assert_allclose(*of_both, rtol=1e-5, atol=1e-6)


# -- the fit and the statistic ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "channel",
    [TWO_WIDE, ProductChannel((COIN, WIDER)), hadamard(6, 1.5)],
    ids=["two wide", "square and wide", "joint"],
)
def test_fit_and_statistic_by_a_general_optimiser(channel):
    P = channel.matrix()
    for counts in np.random.default_rng(9).multinomial(900, channel.reported(NULL), 3):
        fit = fit_through_channel(counts, channel, INDEPENDENT)

        def table(x):
            rows, columns = np.exp([0, x[0]]), np.exp([0, x[1], x[2]])
            return np.kron(rows / rows.sum(), columns / columns.sum())

        def lacking(x, counts=counts):
            return -counts @ np.log(table(x) @ P)

        best = optimize.minimize(lacking, np.zeros(3), method="BFGS", options={"gtol": 1e-7})
        np.testing.assert_allclose(fit.proportions, table(best.x), atol=1e-5)
        np.testing.assert_allclose(fit.reported, table(best.x) @ P, atol=1e-5)
        # Rao's statistic over all tables pi, with the last cell what the others leave.
        pi, free = fit.proportions, np.vstack([np.eye(5), -np.ones(5)]).T
        slope = free @ (P @ (counts / (pi @ P)))
        information = free @ (P / (pi @ P)) @ P.T @ free.T * counts.sum()
        wanted = slope @ np.linalg.solve(information, slope)
        assert score_statistic(counts, fit, channel) == pytest.approx(wanted, rel=1e-8)
        pearson = chi_squared(counts, counts.sum() * fit.reported)
        assert score_statistic(counts, fit, channel) <= pearson + 1e-9
        # The heaviest report, one by one.
        each = [free @ P[:, v] / (pi @ P)[v] for v in range(channel.reports)]
        one = [s @ np.linalg.solve(information / counts.sum(), s) for s in each]
        found = channel_test(counts, channel, INDEPENDENT)
        # A constant comes on top: the direction in which proportions no longer sum to 1.
        assert found.expected_counts == pytest.approx(counts.sum() / (1 + max(one)), rel=1e-6)


def test_batches_are_tables_of_their_own():
    reports = np.random.default_rng(3).multinomial(3000, TWO_WIDE.reported(NULL), (2, 3))
    found = channel_test(reports, TWO_WIDE, INDEPENDENT)
    assert found.statistic.shape == found.p_value.shape == (2, 3)
    alone = channel_test(reports[1, 2], TWO_WIDE, INDEPENDENT)
    assert alone.statistic == pytest.approx(found.statistic[1, 2], rel=1e-6)
    assert fit_through_channel(reports, TWO_WIDE, INDEPENDENT).reported.shape == (2, 3, 20)


@pytest.mark.parametrize(
    "channel",
    [
        HadamardResponse.of_epsilon(6, 1.0),
        SubsetSelection.of_epsilon(6, 1.0),
        ProductChannel((COIN, ProjectiveGeometry.of_epsilon(3, 1.0))),
    ],
    ids=["hadamard", "subsets", "square and projective"],
)
def test_protocols_are_tested_as_their_matrices(channel):
    reports = np.random.default_rng(6).multinomial(3000, channel.reported(NULL), 3)
    found = channel_test(reports, channel, INDEPENDENT)
    wanted = channel_test(reports, DenseChannel(channel.matrix()), INDEPENDENT)
    np.testing.assert_allclose(found.statistic, wanted.statistic, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found.expected_counts, wanted.expected_counts, rtol=1e-5)


# -- size and power --------------------------------------------------------------------------------

TRIALS = 3000
# At 5 % the error of 3,000 trials is .004, and 4.9 of them are passed once in a million times.
REACH = stats.norm.isf(0.5e-6) * np.sqrt(0.05 * 0.95 / TRIALS)


@pytest.mark.parametrize(
    ("channel", "records"),
    [
        (TWO_WIDE, 1000),
        (TWO_WIDE, 20_000),
        (ProductChannel((COIN, WIDER)), 3000),
        (ProductChannel((hadamard(2, 1.0), hadamard(3, 1.0))), 6000),
        (hadamard(6, 1.0), 4000),
    ],
    ids=["two wide", "many records", "square and wide", "two of hadamard", "joint hadamard"],
)
def test_the_size_is_five_per_cent(channel, records):
    rng = np.random.default_rng(21)
    reports = rng.multinomial(records, channel.reported(NULL), TRIALS)
    found = channel_test(reports, channel, INDEPENDENT)
    assert found.valid.mean() > 0.9
    assert abs((found.p_value <= 0.05)[found.valid].mean() - 0.05) < REACH + 0.005
    # All of the distribution, not its upper end alone: the mean is 2, of variance 4.
    assert abs(found.statistic.mean() - 2) < stats.norm.isf(0.5e-6) * 2 / np.sqrt(TRIALS) + 0.05


def test_the_size_where_the_rule_barely_holds():
    # Few of the 20 reports are expected five times; what counts is the weight of a report.
    rng, pi = np.random.default_rng(22), margins_of([0.5, 0.5], [0.4, 0.3, 0.3])
    records = 260
    reports = rng.multinomial(records, TWO_WIDE.reported(pi), TRIALS)
    assert (records * TWO_WIDE.reported(pi)).min() < LEAST_EXPECTED
    found = channel_test(reports, TWO_WIDE, INDEPENDENT)
    assert found.valid.mean() > 0.3
    assert (found.p_value <= 0.05)[found.valid].mean() < 0.05 + REACH + 0.005
    assert np.all(found.expected_counts[found.valid] >= LEAST_EXPECTED)
    assert np.all(found.effective_records[found.valid] >= LEAST_RECORDS)
    assert np.all(found.distance_from_zero[found.valid] >= LEAST_DISTANCE)


def test_monte_carlo_where_records_are_few():
    rng = np.random.default_rng(23)
    reports = rng.multinomial(40, TWO_WIDE.reported(NULL), 400)
    found = channel_test(reports, TWO_WIDE, INDEPENDENT, generator=rng, tables=99, enough=10)
    assert not found.valid.any()
    assert np.all(found.monte_carlo_tables > 0)
    # The error of 400 trials is .011.
    assert 0.01 < (found.p_value <= 0.05).mean() < 0.05 + 4 * 0.011


# -- power through protocols -----------------------------------------------------------------------


def test_hadamard_response_has_more_power_than_generalized_randomized_response():
    """Of 16 joint cells in one report of epsilon 1, effect .3, 8,000 records.

    Two attributes of 4 categories with even margins, split into halves whose correlation is .3. The
    powers that non-central chi-squared distributions give are .56 and .39;
    of 4,000 tables .56 and .38 (error .008). Four binary attributes with the effect of the rrba
    study, on their product, have .52 and .35.
    """
    rng, records = np.random.default_rng(24), 8000
    halves = np.kron([1, 1, -1, -1], [1, 1, -1, -1])
    four_by_four = Independence((4, 4)), (1 + 0.3 * halves) / 16
    binary = Independence((2,) * 4), proportions(4, "uniform", 0.3)
    wide, square = (
        HadamardResponse.of_epsilon(16, 1.0),
        KeepOrReplace.uniform(16, keep_for_epsilon([16], 1.0)),
    )
    assert wide.parity == pytest.approx(np.e, rel=1e-12)
    assert square.parity == pytest.approx(np.e, rel=1e-12)
    for (model, pi), wanted in ((four_by_four, (0.56, 0.38)), (binary, (0.52, 0.35))):
        critical = stats.chi2.isf(0.05, model.degrees_of_freedom)
        for channel, power in zip((wide, square), wanted, strict=True):
            reports = rng.multinomial(records, channel.reported(pi), 1500)
            found = np.mean(channel_test(reports, channel, model).statistic > critical)
            assert abs(found - power) < 0.05  # the error of 1,500 tables is .013


# -- the test of [rrba] ----------------------------------------------------------------------------


def test_the_simulated_test_has_its_size():
    release = RandomizedRelease(TWO_WIDE)
    rng = np.random.default_rng(25)
    true = rng.multinomial(4000, NULL, 400)
    noisy = release.release(true, rng)
    assert noisy.shape == (400, 6)
    np.testing.assert_allclose(noisy.sum(axis=1), 4000, rtol=1e-9)
    np.testing.assert_allclose(noisy.mean(axis=0), 4000 * NULL, atol=60)
    found = monte_carlo_test(noisy, 4000, release, INDEPENDENT, rng, tables=39, to_the_end=False)
    # The error of 400 trials is .011.
    assert 0.01 < found.rejected.mean() < 0.05 + 4 * 0.011
    dependent = NULL + 0.1 * np.array([1, -1, 0, -1, 1, 0])
    noisy = release.release(rng.multinomial(4000, dependent, 50), rng)
    found = monte_carlo_test(noisy, 4000, release, INDEPENDENT, rng, tables=39, to_the_end=False)
    assert found.rejected.mean() > 0.9
