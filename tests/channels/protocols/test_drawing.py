"""Draws of protocols, from sources, from keys and of counts: the distribution of the matrix."""

import numpy as np
import pytest
from tests.channels.channel_cases import fit_p_value
from tests.channels.protocols.protocol_cases import PROTOCOLS, exact_matrix, floats

from deniable.channels import (
    HadamardResponse,
    ProjectiveGeometry,
    SubsetSelection,
)
from deniable.errors import DataError
from deniable.sampling import KeyedDraws, SystemRandomSource

EVERY = pytest.mark.parametrize("channel", PROTOCOLS.values(), ids=PROTOCOLS.keys())
# Fixed seeds and keys; were they free, each comparison would raise a false alarm once in a million.
ALARM = 1e-6
RECORDS = 20_000
DRAWS = KeyedDraws(bytes(range(32)), b"plan")


def refuse_other_rows(channel, codes, reports):
    for u, row in enumerate(floats(exact_matrix(channel))):
        tally = np.bincount(reports[codes == u], minlength=channel.reports)
        assert fit_p_value(tally, row) > ALARM


@EVERY
def test_records_are_drawn_by_their_rows(channel):
    generator = np.random.default_rng(11)
    codes = generator.integers(0, channel.size, RECORDS)
    refuse_other_rows(channel, codes, channel.randomize(codes, generator))


@EVERY
def test_keyed_records_are_drawn_by_their_rows(channel):
    codes = np.random.default_rng(12).integers(0, channel.size, RECORDS)
    column = DRAWS.column(("attribute",), RECORDS)
    refuse_other_rows(channel, codes, channel.randomize_keyed(codes, column))


@EVERY
def test_keyed_records_are_the_same_in_any_portions(channel):
    codes = np.random.default_rng(13).integers(0, channel.size, 500).astype(np.int16)
    column = DRAWS.column(("attribute",), 500)
    whole = channel.randomize_keyed(codes, column)
    assert whole.dtype == np.int16
    some = np.array([3, 77, 400, 499])
    for part in (slice(0, 123), slice(123, 500), some):
        found = channel.randomize_keyed(codes[part], column.chosen(part))
        np.testing.assert_array_equal(found, whole[part])
    other = channel.randomize_keyed(codes, DRAWS.column(("another",), 500))
    assert np.any(other != whole)


@EVERY
@pytest.mark.parametrize("tables", [1, 40], ids=["by category", "by record"])
def test_counts_are_drawn_by_the_rows_of_their_records(channel, tables):
    counts = np.zeros((tables, channel.size), dtype=int)
    generator = np.random.default_rng(14)
    pi = np.arange(1, channel.size + 1) / sum(range(1, channel.size + 1))
    records = RECORDS if tables == 1 else channel.size
    counts = np.array([np.random.default_rng(0).multinomial(records, pi)] * tables)
    reports = channel.randomize_counts(counts, generator)
    assert reports.shape == (tables, channel.reports)
    assert reports.dtype == np.int64
    np.testing.assert_array_equal(reports.sum(axis=1), counts.sum(axis=1))
    expected = counts.sum(axis=0) @ floats(exact_matrix(channel)) / counts.sum()
    assert fit_p_value(reports.sum(axis=0), expected) > ALARM


@pytest.mark.parametrize("name", ["subsets of two", "the plane of order 2"])
def test_counts_have_the_covariance_of_independent_records(name):
    channel = PROTOCOLS[name]
    counts = np.arange(3, 3 + channel.size)
    drawn = channel.randomize_counts(np.tile(counts, (40_000, 1)), np.random.default_rng(15))
    P = channel.matrix()
    variance = (counts[:, None] * P * (1 - P)).sum(axis=0)
    # The relative error of a variance of 40,000 nearly normal counts: .7 %, five times that.
    np.testing.assert_allclose(drawn.var(axis=0), variance, rtol=0.05)


def test_shapes_types_and_foreign_codes():
    channel = ProjectiveGeometry.of_epsilon(300, 2.0)
    codes = np.arange(300).reshape(20, 15).astype(np.uint16)
    reports = channel.randomize(codes, SystemRandomSource())
    assert reports.shape == codes.shape
    assert reports.dtype == np.uint16
    assert channel.randomize(np.zeros(0, dtype=int), SystemRandomSource()).size == 0
    with pytest.raises(DataError, match="outside 0"):
        channel.randomize(np.array([300]), SystemRandomSource())


KNOWN = {
    "subsets": SubsetSelection(10, 3, 0.55),
    "subsets beyond 32 bits": SubsetSelection(62, 30, 0.75),
    "Hadamard": HadamardResponse(1000, 0.7),
    "projective": ProjectiveGeometry(1000, 5, 0.4),
}
ANSWERS = {
    "subsets": [78, 95, 76, 34, 107],
    "subsets beyond 32 bits": [
        276408050488520522,
        406643674471826339,
        329177279537867452,
        179894337290896488,
        295115335842304589,
    ],
    "Hadamard": [617, 928, 759, 420, 682],
    "projective": [819, 3534, 2893, 938, 2597],
}


@pytest.mark.parametrize("name", KNOWN)
def test_keyed_reports_are_the_known_ones(name):
    # Releases can be made again as long as these stay: another layout is another version.
    channel = KNOWN[name]
    codes = np.array([0, 1, 5, 9, 9])
    column = DRAWS.column(("attribute",), range(10**9, 10**9 + 5))
    assert channel.randomize_keyed(codes, column).tolist() == ANSWERS[name]


# -- what is too large for a matrix ----------------------------------------------------------------


@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize(
    "channel",
    [
        SubsetSelection.of_epsilon(62, 0.5),
        HadamardResponse.of_epsilon(100_000, 1.0),
        ProjectiveGeometry.of_epsilon(100_000, 1.0),
        ProjectiveGeometry.of_epsilon(100_000, 4.0),
    ],
    ids=lambda channel: f"{type(channel).__name__} {channel.size}",
)
def test_estimates_of_large_channels_have_the_stated_variance(channel, keyed):
    generator = np.random.default_rng(16)
    records = 70_000  # more than a chunk of 2 ** 16
    codes = np.where(np.arange(records) % 4 == 0, 7, generator.integers(0, channel.size, records))
    column = DRAWS.column(("large",), records)
    reports = (
        channel.randomize_keyed(codes, column) if keyed else channel.randomize(codes, generator)
    )
    truth = np.bincount(codes, minlength=channel.size) / records
    if isinstance(channel, SubsetSelection):
        supports = np.bincount(channel.elements(reports).reshape(-1), minlength=channel.size)
    else:
        tally = np.bincount(reports, minlength=channel.reports)
        supports = channel.membership_sums(tally.astype(float))
    found = (supports / records - channel.support_of_others) / channel.gain
    # Given the file: the part of the variance that randomization adds.
    variance = (channel.own_variance(truth) - truth * (1 - truth)) / records
    score = (found - truth) / np.sqrt(variance)
    assert np.abs(score[7]) < 5
    assert np.abs(score).max() < 6.5
    # Estimates are correlated little: in mean the squared scores are 1, to within 6 errors.
    assert abs((score**2).mean() - 1) < 6 * np.sqrt(2 / channel.size) + 0.01
