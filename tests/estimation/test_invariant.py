"""Estimates through matrices that were computed from the records, checked exactly.

Small cases are enumerated: every possible count of reports with its probability. What is claimed to
be unbiased is so to rounding.
"""

from collections.abc import Iterator
from itertools import product
from math import comb

import numpy as np
import pytest
from scipy import stats

from deniable.channels import Channel, DenseChannel, KeepOrReplace
from deniable.channels.invariant import two_step
from deniable.errors import ChannelError
from deniable.estimation.invariant import own_proportions

ALL = np.eye(2)


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


@pytest.mark.parametrize("truth", [[3, 2], [1, 4], [5, 0], [0, 2]])
def test_given_the_records_estimate_and_variance_are_unbiased(truth: list[int]) -> None:
    counts = np.array(truth)
    channel = invariant(counts)
    true = counts / counts.sum()
    mean, second, variance = np.zeros(2), np.zeros(2), np.zeros(2)
    for probability, reported in reports_of(counts, channel):
        if probability == 0:
            continue
        values, errors = own_proportions(reported, channel, ALL, "file")
        mean += probability * values
        second += probability * values**2
        variance += probability * errors**2
    np.testing.assert_allclose(mean, true, atol=1e-12)
    np.testing.assert_allclose(variance, second - mean**2, atol=1e-12)


def test_for_the_population_the_variance_is_unbiased_though_the_matrix_depends_on_the_records() -> (
    None
):
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
            values, errors = own_proportions(reported, channel, ALL, "population")
            weight = chance * probability
            mean += weight * values
            second += weight * values**2
            variance += weight * errors**2
            if 0 < t < n:
                fixed += weight * channel.standard_errors(reported, "population") ** 2
    np.testing.assert_allclose(mean, pi, atol=1e-12)
    np.testing.assert_allclose(variance, second - mean**2, rtol=1e-10)
    # (1.3), taken for the variance of the reports' own shares, is far from it.
    assert (fixed > 1.5 * variance).all()


def test_batches_are_taken_table_by_table() -> None:
    channel = invariant(np.array([30, 70]))
    tables = np.array([[20, 80], [50, 50], [31, 69]])
    values, errors = own_proportions(tables, channel, ALL, "file")
    for row, table in enumerate(tables):
        alone = own_proportions(table, channel, ALL, "file")
        np.testing.assert_allclose((values[row], errors[row]), alone)


def test_one_record_says_nothing_of_a_population() -> None:
    given = np.array([1, 0]), KeepOrReplace.uniform(2, 0.5), ALL
    assert np.isnan(own_proportions(*given, "population")[1]).all()
    assert not np.isnan(own_proportions(*given, "file")[1]).any()


def test_tables_of_different_sizes_are_refused() -> None:
    for counts in ([[1, 2], [2, 2]], [0, 0]):
        with pytest.raises(ChannelError, match="the same sum, of at least one record"):
            own_proportions(np.array(counts), KeepOrReplace.uniform(2, 0.5), ALL, "file")
