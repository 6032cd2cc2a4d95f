"""Our laws and estimates against reports that the clients of other libraries drew.

`benchmarks/record_peers.py` recorded the reports, and says where the others' mechanisms are not
ours. Seeds are fixed; were they free, each comparison would raise a false alarm once in a million.
"""

from collections import defaultdict
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from deniable.channels import (
    Channel,
    HadamardResponse,
    KeepOrReplace,
    SubsetSelection,
)

from reproduction.papers.protocols import LocalHashing, SupportedProtocol, UnaryEncoding

ALARM = 1e-6
FOLDER = Path(__file__).parent
KEY = ["library", "mechanism", "categories", "epsilon", "parameter"]
REPORTS = dict(iter(pd.read_csv(FOLDER / "peer_reports.csv").groupby(KEY)))
ESTIMATES = dict(iter(pd.read_csv(FOLDER / "peer_estimates.csv").groupby(KEY)))
EVERY = pytest.mark.parametrize("peer", REPORTS, ids=lambda peer: f"{peer[0]} {peer[1]} {peer[2]}")
HASHING = pytest.mark.parametrize("peer", [peer for peer in REPORTS if peer[1] == "hashing"])


def ours(peer, epsilon=None) -> Channel | SupportedProtocol:
    _, mechanism, size, asked, parameter = peer
    epsilon = asked if epsilon is None else epsilon
    if mechanism == "generalized":
        return KeepOrReplace.of_epsilon(size, epsilon)
    if mechanism == "Hadamard":
        return HadamardResponse.of_epsilon(size, epsilon)
    if mechanism == "unary":
        return UnaryEncoding(size, epsilon)
    if mechanism == "hashing":
        return LocalHashing(size, epsilon, parameter)
    return SubsetSelection.of_epsilon(size, epsilon, parameter)


def numbers_of(channel: Channel | SupportedProtocol) -> list[int]:
    """Each of our reports as the peers' are recorded: the set it supports, or itself."""
    codes = np.arange(channel.reports)
    if isinstance(channel, KeepOrReplace | HadamardResponse):
        return codes.tolist()
    bits = [channel.supported_by(codes, u).astype(int) << u for u in range(channel.size)]
    return np.sum(bits, axis=0).tolist()


def law_of(channel: Channel | SupportedProtocol) -> list[dict[int, float]]:
    """Of each true category: the probabilities of what is recorded."""
    numbers, laws = numbers_of(channel), []
    for row in channel.matrix():
        law: dict[int, float] = defaultdict(float)
        for number, probability in zip(numbers, row, strict=True):
            law[number] += probability
        laws.append(dict(law))
    return laws


def counts_of(peer) -> list[dict[int, int]]:
    rows = REPORTS[peer]
    return [
        dict(zip(own["report"], own["count"], strict=True))
        for _, own in rows.groupby("true_category")
    ]


def p_value(counts, laws) -> float:
    """Pearson's test of all rows together."""
    statistic, freedom = 0.0, 0
    for own, law in zip(counts, laws, strict=True):
        assert set(own) <= set(law), "something was reported that our channel cannot report"
        records = sum(own.values())
        statistic += sum((own.get(v, 0) - records * p) ** 2 / (records * p) for v, p in law.items())
        freedom += len(law) - 1
    return float(stats.chi2.sf(statistic, freedom))


def merged(row, mask: int):
    """The same with only some categories looked at."""
    kept: dict[int, float] = defaultdict(float)
    for number, value in row.items():
        kept[number & mask] += value
    return dict(kept)


def p_values(peer, law) -> list[float]:
    """Of everything at once, or, for hashing, of the true category and another one."""
    size, counts = peer[2], counts_of(peer)
    if peer[1] != "hashing":
        return [p_value(counts, law)]
    found = []
    for further in range(1, size):
        masks = [1 << u | 1 << (u + further) % size for u in range(size)]
        seen = [list(map(merged, rows, masks)) for rows in (counts, law)]
        found.append(p_value(*seen))
    return found


@EVERY
def test_the_peers_draw_from_our_law(peer):
    counts = counts_of(peer)
    assert [sum(own.values()) for own in counts] == [20_000] * peer[2]
    assert min(p_values(peer, law_of(ours(peer)))) > ALARM


@EVERY
@pytest.mark.parametrize("factor", [0.8, 1.2])
def test_a_fifth_of_epsilon_would_be_seen(peer, factor):
    assert max(p_values(peer, law_of(ours(peer, factor * peer[3])))) < ALARM


@HASHING
def test_hashes_of_three_categories_are_independent_with_the_peers_alone(peer):
    size, values = peer[2], peer[4]
    chances = []
    for true in range(size):
        one = np.full(size, 1 / values)
        one[true] = ours(peer).own
        bits = np.arange(2**size)[:, None] >> np.arange(size) & 1
        chances.append(dict(enumerate(np.where(bits, one, 1 - one).prod(axis=1).tolist())))
    assert p_value(counts_of(peer), chances) > ALARM
    assert abs(law_of(ours(peer))[0].get(15, 0) - chances[0][15]) > 0.01


def even_variances(peer) -> np.ndarray:
    channel, pi = ours(peer), np.full(peer[2], 1 / peer[2])
    if isinstance(channel, SupportedProtocol):
        return channel.own_variance(pi) - pi * (1 - pi)
    return np.diag(channel.covariance(pi, 1, "file", inverse="own"))


@EVERY
def test_the_peers_estimate_the_same_from_these_reports(peer):
    channel, counts = ours(peer), pd.DataFrame(counts_of(peer)).sum()
    tally = np.array([counts.get(number, 0) for number in numbers_of(channel)])
    ones = [counts[counts.index.to_numpy() >> u & 1 == 1].sum() for u in range(peer[2])]
    if isinstance(channel, SupportedProtocol):  # sets are recorded, not the hash functions
        estimate = (ones / counts.sum() - channel.others) / (channel.own - channel.others)
    else:
        estimate = channel.estimate(tally, inverse="own")
    if peer[0] == "multi-freq-ldpy":  # it clips, and divides by the sum
        estimate = estimate.clip(0) / estimate.clip(0).sum()
    np.testing.assert_allclose(ESTIMATES[peer]["estimate"], estimate, rtol=1e-9)


@EVERY
def test_the_variances_of_the_peers_are_ours(peer):
    table = ESTIMATES[peer]
    tables, found = table["tables"].iloc[0], table["variance"].to_numpy()
    if not tables:  # stated, of one report
        np.testing.assert_allclose(found, even_variances(peer), rtol=1e-9)
        return
    spread = (tables - 1) * found / (even_variances(peer) / (100 * peer[2]))
    for tail in (stats.chi2.sf, stats.chi2.cdf):
        assert tail(spread, tables - 1).min() > ALARM / 2
