"""Estimates from strata and from matrices that were computed from the records, held exactly.

Small cases are enumerated: every possible count of reports with its probability. What is claimed to
be unbiased is so to rounding.
"""

from collections.abc import Iterator
from itertools import product
from math import comb

import numpy as np
import pytest
from scipy import stats
from tests.slow_variants import all_but_first

from deniable.channels import Channel, DenseChannel, KeepOrReplace
from deniable.channels.invariant import two_step
from deniable.errors import ChannelError
from deniable.estimation.strata import Part, Reduced, combined, own_share_part, unbiased_part

ALL = np.eye(2)
ONE = np.array([1, 0])


def reports_of(truth: np.ndarray, channel: Channel) -> Iterator[tuple[float, np.ndarray]]:
    """Yield every table of reports of two categories with its probability, given the true one."""
    P = channel.matrix()
    ways = [
        [(s, comb(int(t), s) * P[u, 0] ** s * P[u, 1] ** (t - s)) for s in range(int(t) + 1)]
        for u, t in enumerate(truth)
    ]
    for (first, p), (second, q) in product(*ways):
        reported = first + second
        yield float(p * q), np.array([reported, int(truth.sum()) - reported])


def invariant(truth: np.ndarray) -> DenseChannel:
    """Return the matrix that an owner makes of the true counts."""
    return two_step(KeepOrReplace.uniform(2, 0.6), truth / truth.sum())


@pytest.mark.parametrize("estimator", ["unbiased", "own share"])
@pytest.mark.parametrize("truth", [[3, 2], [1, 4], [5, 0], [0, 2]])
def test_given_the_records_estimate_and_variance_are_unbiased(
    truth: list[int], estimator: str
) -> None:
    counts = np.array(truth)
    channel = invariant(counts)
    true = counts / counts.sum()
    mean, second, variance = np.zeros(2), np.zeros(2), np.zeros(2)
    for probability, reported in reports_of(counts, channel):
        if probability == 0:
            continue
        part = part_of(estimator, channel, reported)
        mean += probability * part.values
        second += probability * part.values**2
        variance += probability * part.variance
    np.testing.assert_allclose(mean, true, atol=1e-12)
    np.testing.assert_allclose(variance, second - mean**2, atol=1e-12)


def part_of(estimator: str, channel: Channel, reported: np.ndarray) -> Part:
    if estimator == "own share":
        return own_share_part(channel, reported, ALL)
    return unbiased_part(Reduced.of(channel, invariant=True), reported, ALL)


@pytest.mark.parametrize("estimator", ["unbiased", "own share"])
def test_for_the_population_the_variance_is_unbiased_though_the_matrix_depends_on_the_records(
    estimator: str,
) -> None:
    # Over all samples of 6 records, the owner making another matrix for each.
    n, pi = 6, np.array([0.35, 0.65])
    mean, second, variance, fixed = np.zeros(2), np.zeros(2), np.zeros(2), np.zeros(2)
    for t in range(n + 1):
        truth = np.array([t, n - t])
        chance = stats.binom.pmf(t, n, pi[0])
        channel = invariant(truth)
        for probability, reported in reports_of(truth, channel):
            if probability == 0:
                continue
            part = part_of(estimator, channel, reported)
            weight = chance * probability
            mean += weight * part.values
            second += weight * part.values**2
            variance += (
                weight * part.standard_errors("population") ** 2
                if estimator == ("own share")
                else weight * population_variance(part)
            )
            if 0 < t < n:
                fixed += weight * channel.standard_errors(reported, "population") ** 2
    np.testing.assert_allclose(mean, pi, atol=1e-12)
    np.testing.assert_allclose(variance, second - mean**2, rtol=1e-10)
    if estimator == "own share":
        # (1.3), taken for the variance of the reports' own shares, is far from it.
        assert (fixed > 1.5 * variance).all()


def population_variance(part: Part) -> np.ndarray:
    """Return the square of the standard error also where it is below zero."""
    n = part.records
    return np.asarray((n * part.variance + part.values * (1 - part.values)) / (n - 1))


def test_strata_together_are_unbiased_with_the_sum_of_their_variances() -> None:
    tables = [np.array([2, 1]), np.array([1, 4])]
    channels = [KeepOrReplace.uniform(2, 0.5), DenseChannel(np.array([[0.9, 0.1], [0.3, 0.7]]))]
    true = sum(tables) / 8
    mean, second, variance, sampling = np.zeros(2), np.zeros(2), np.zeros(2), np.zeros(2)
    for (p, one), (q, other) in product(*map(reports_of, tables, channels)):
        parts = [
            unbiased_part(Reduced.of(channel, invariant=False), reported, ALL)
            for channel, reported in zip(channels, (one, other), strict=True)
        ]
        whole = combined(parts)
        assert whole.records == 8
        mean += p * q * whole.values
        second += p * q * whole.values**2
        variance += p * q * whole.variance
        sampling += p * q * (population_variance(whole) * 7 - 8 * whole.variance) / 7
    np.testing.assert_allclose(mean, true, atol=1e-12)
    np.testing.assert_allclose(variance, second - mean**2, atol=1e-12)
    # What the population adds has the expectation of p (1 - p) / 7, less the variance's own part.
    expected = (true * (1 - true) - (second - mean**2)) / 7
    np.testing.assert_allclose(sampling, expected, atol=1e-12)


@pytest.mark.parametrize("estimator", all_but_first(["unbiased", "own share"]))
def test_for_the_population_strata_may_be_of_random_size(estimator: str) -> None:
    # The owner makes a matrix for each stratum of each sample of 400 records.
    generator, n, runs = np.random.default_rng(12), 400, 2000
    pi = np.array([[0.30, 0.10], [0.15, 0.45]])  # stratum x category
    values, variances = np.zeros((runs, 2)), np.zeros((runs, 2))
    for run, table in enumerate(generator.multinomial(n, pi.ravel(), runs).reshape(runs, 2, 2)):
        parts = []
        for truth in table:
            channel = invariant(truth)
            parts.append(part_of(estimator, channel, channel.randomize_counts(truth, generator)))
        whole = combined(parts)
        values[run], variances[run] = whole.values, whole.standard_errors("population") ** 2
    errors = values - pi.sum(axis=0)
    variance = variances.mean(axis=0)
    # 4.9 standard errors: a right formula fails once in a million runs.
    assert (np.abs(errors.mean(axis=0)) < 4.9 * np.sqrt(variance / runs)).all()
    np.testing.assert_allclose((errors**2).mean(axis=0), variance, rtol=4.9 * np.sqrt(2 / runs))


def test_one_stratum_gives_what_the_channel_gives() -> None:
    generator = np.random.default_rng(4)
    P = 0.5 * np.eye(4) + 0.5 * generator.dirichlet(np.ones(4), 4)
    channel = DenseChannel(P)
    counts = np.array([30, 10, 45, 15])
    functionals = np.array([[1.0, 1, 0, 0], [0, 0, 1, 0]])
    part = combined([unbiased_part(Reduced.of(channel, invariant=False), counts, functionals)])
    np.testing.assert_allclose(part.values, functionals @ channel.estimate(counts))
    for target in ("file", "population"):
        np.testing.assert_allclose(
            part.standard_errors(target), channel.standard_errors(counts, target, functionals)
        )


def test_batches_are_taken_table_by_table() -> None:
    channel = invariant(np.array([30, 70]))
    tables = np.array([[20, 80], [50, 50], [31, 69]])
    reduced = Reduced.of(channel, invariant=True)
    for estimate, given in ((unbiased_part, reduced), (own_share_part, channel)):
        batch = estimate(given, tables, ALL)  # type: ignore[operator]
        for row, table in enumerate(tables):
            alone = estimate(given, table, ALL)  # type: ignore[operator]
            np.testing.assert_allclose(batch.values[row], alone.values)
            np.testing.assert_allclose(batch.variance[row], alone.variance)


def test_one_record_says_nothing_of_a_population() -> None:
    part = unbiased_part(Reduced.of(KeepOrReplace.uniform(2, 0.5), invariant=False), ONE, ALL)
    assert np.isnan(part.standard_errors("population")).all()
    assert not np.isnan(combined([part, part]).standard_errors("population")).any()


def test_a_variance_that_is_estimated_below_zero_gives_no_error() -> None:
    part = Part(10, np.array([0.5, 0.5]), np.array([-1e-3, -1e-17]), np.full(2, 1e-16))
    found = part.standard_errors("file")
    assert np.isnan(found[0])
    assert found[1] == 0


# -- categories that no record has -----------------------------------------------------------------


def test_a_category_that_no_record_has_is_left_out_of_an_invariant_matrix() -> None:
    truth = np.array([6, 0, 4])
    channel = two_step(KeepOrReplace.uniform(3, 0.6), truth / 10)
    assert channel.singular
    reduced = Reduced.of(channel, invariant=True)
    assert reduced.possible.tolist() == [True, False, True]
    assert not reduced.channel.singular
    part = unbiased_part(reduced, np.array([7, 0, 3]), np.eye(3))
    assert part.values[1] == 0
    assert part.variance[1] == 0
    assert part.values.sum() == pytest.approx(1)
    likely = reduced.likelihood(np.array([7, 0, 3]), 1e-6)
    assert likely.proportions[1] == 0
    assert likely.proportions.sum() == pytest.approx(1)
    for call in (
        lambda: unbiased_part(reduced, np.array([7, 1, 2]), np.eye(3)),
        lambda: reduced.likelihood(np.array([7, 1, 2]), 1e-6),
    ):
        with pytest.raises(ChannelError, match="a category that the matrix never reports"):
            call()


def test_a_matrix_that_is_not_invariant_is_not_reduced() -> None:
    P = DenseChannel(np.array([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.1, 0.9, 0.0]]))
    assert Reduced.of(P, invariant=False).channel is P
    keep = KeepOrReplace(0.5, np.array([0.5, 0.0]))
    assert Reduced.of(keep, invariant=True).channel is keep


def test_tables_of_different_sizes_are_refused() -> None:
    reduced = Reduced.of(KeepOrReplace.uniform(2, 0.5), invariant=False)
    for counts in ([[1, 2], [2, 2]], [0, 0]):
        with pytest.raises(ChannelError, match="the same sum, of at least one record"):
            unbiased_part(reduced, np.array(counts), ALL)
