"""Streams of jobs, and the operating system's generator."""

import os

import numpy as np
import pytest
from scipy import stats

from deniable.sampling import sources as randomness
from deniable.sampling.sources import SystemSource, generator_for

ALARM = 1e-6  # SystemSource has no seed: so often may a test of it fail for nothing


def test_system_source_random_is_uniform_on_its_grid():
    numbers = SystemSource().random(200_000)
    assert numbers.dtype == np.float64
    assert numbers.min() >= 0
    assert numbers.max() < 1
    np.testing.assert_array_equal(numbers * 2**53 % 1, 0)  # multiples of 2**-53 ...
    assert np.any(numbers * 2**52 % 1)  # ... and of nothing coarser
    assert stats.kstest(numbers, "uniform").pvalue > ALARM
    odd = np.count_nonzero(numbers * 2**53 % 2)  # the last bit is as good as the first
    assert stats.binomtest(odd, 200_000).pvalue > ALARM


@pytest.mark.parametrize(
    ("low", "high"), [(0, 1), (0, 2), (0, 16), (-3, 4), (5, 105), (0, 3), (10**9, 10**9 + 7)]
)
def test_system_source_integers_are_uniform(low, high):
    drawn = SystemSource().integers(low, high, 70_000)
    assert drawn.dtype == np.int64
    counts = np.bincount(drawn - low, minlength=high - low)
    assert counts.size == high - low
    assert high - low == 1 or stats.chisquare(counts).pvalue > ALARM


def test_system_source_over_wide_ranges():
    source = SystemSource()
    for low, high in [(-(2**63), 2**63), (-(2**62), 2**62 + 1), (0, 2**63), (-1, 2**63)]:
        drawn = source.integers(low, high, 20_000)
        assert drawn.min() >= low
        assert int(drawn.max()) < high
        shares = (drawn.astype(float) - low) / (high - low)
        assert stats.kstest(shares, "uniform").pvalue > ALARM


@pytest.mark.parametrize("span", [3, 10, 2**63 - 1, 2**62 + 1])
def test_integers_reject_what_would_bias_them(monkeypatch, span):
    # The largest words belong to no full span: they are drawn again, and only they.
    full = 2**64 // span * span
    words = [[full - 1, full, 2**64 - 1, 0], [full, 1], [span]]
    served = iter(words)
    monkeypatch.setattr(
        randomness.os,
        "urandom",
        lambda size: np.array(next(served), np.uint64).tobytes()[:size],
    )
    drawn = SystemSource().integers(0, span, 4)
    assert drawn.tolist() == [span - 1, 0, 1, 0]


def test_system_source_of_nothing():
    assert SystemSource().random(0).shape == (0,)
    assert SystemSource().integers(0, 5, 0).shape == (0,)


def test_system_source_draws_every_byte_from_the_operating_system(monkeypatch):
    drawn = []
    urandom = os.urandom
    monkeypatch.setattr(randomness.os, "urandom", lambda size: drawn.append(size) or urandom(size))
    first, second = SystemSource().random(100), SystemSource().random(100)
    assert sum(drawn) == 1600
    assert not np.array_equal(first, second)


def test_generators_depend_on_seed_and_key_alone():
    def numbers(seed, key):
        return tuple(generator_for(seed, key).integers(0, 2**63, 4))

    key = {"study": "s", "p": 0.1, "block": 3}
    assert numbers(1, key) == numbers(1, dict(reversed(key.items())))
    keys = [
        {**key, "block": 4},
        {**key, "p": 0.1000000001},
        {**key, "block": 3.5},
        {**key, "block": "3"},
        {**key, "study": "S"},
        {},
        {"study": ["s"]},
    ]
    streams = {numbers(seed, k) for seed in (0, 1, 2**32 + 1, 2**64) for k in [key, *keys]}
    assert len(streams) == 4 * 8


def test_the_stream_of_a_key_stays_what_it_is():
    # Tables are the same bytes from one version to the next only as long as this holds.
    stream = generator_for(20241, {"study": "multirr_table1", "replicates": [0, 100]})
    assert stream.integers(0, 1000, 5).tolist() == [695, 860, 176, 631, 436]


def test_streams_of_many_keys_are_independent():
    # First numbers of 20,000 streams: uniform, and uncorrelated with the neighbour's (1e-6 each).
    first = np.array([generator_for(5, {"cell": i}).random() for i in range(20_000)])
    assert stats.kstest(first, "uniform").pvalue > ALARM
    assert abs(np.corrcoef(first[:-1], first[1:])[0, 1]) < 4.9 / np.sqrt(20_000)


@pytest.mark.parametrize("key", [{"a": np.nan}, {"a": np.float64("inf")}, {"a": {1, 2}}])
def test_keys_that_are_no_json(key):
    with pytest.raises((TypeError, ValueError)):
        generator_for(1, key)
