"""RR-Independent, RR-Joint and RR-Clusters, by hand and against the papers' numbers."""

import math
from itertools import product

import numpy as np
import pytest
from scipy import stats

from deniable.channels import DenseChannel, KeepOrReplace, ProductChannel
from deniable.errors import ChannelError, DeniableError, SingularChannelError
from deniable.randomized_response.protocols import (
    CLUSTER_MECHANISMS,
    READINGS,
    Protocol,
    claimed_epsilon,
    cluster_channel,
    rr_channel,
    rr_clusters,
    rr_independent,
    rr_joint,
)
from deniable.records.categorical import Microdata
from deniable.records.domain import Attribute, Domain
from deniable.sampling import SystemRandomSource

ADULT = (9, 16, 7, 15, 6, 5, 2, 2)
PROBABILITIES = (0.1, 0.3, 0.5, 0.7)


def domain_of(*sizes: int) -> Domain:
    return Domain(
        tuple(
            Attribute(f"a{i}", tuple(f"c{j}" for j in range(size))) for i, size in enumerate(sizes)
        )
    )


def test_readings_by_hand():
    # p = 1/2, 4 categories. printed: 1/2 and 1/8, row sum 7/8: 4/7 and 1/7. keep: 1/2 + 1/8 and
    # 1/8. diagonal: 1/2 and 1/6.
    for reading, diagonal, elsewhere in [
        ("printed", 4 / 7, 1 / 7),
        ("keep", 5 / 8, 1 / 8),
        ("diagonal", 1 / 2, 1 / 6),
    ]:
        expected = np.full((4, 4), elsewhere) + (diagonal - elsewhere) * np.eye(4)
        np.testing.assert_allclose(rr_channel(4, 0.5, reading).matrix(), expected, rtol=1e-15)
        assert rr_channel(4, 0.5, reading).parity == pytest.approx(diagonal / elsewhere, rel=1e-14)


def test_the_diagonal_is_the_smaller_entry_for_a_small_p():
    # p = 1/10, 2 categories. printed: .1 and .45, of .55: 2/11 and 9/11; diagonal: .1 and .9.
    np.testing.assert_allclose(rr_channel(2, 0.1, "printed").matrix()[0], [2 / 11, 9 / 11])
    np.testing.assert_allclose(rr_channel(2, 0.1, "diagonal").matrix()[0], [0.1, 0.9])
    assert rr_channel(2, 0.1, "printed").diagonal_weight < 0
    assert claimed_epsilon(2, 0.1, "printed") == pytest.approx(math.log(4.5), rel=1e-14)
    assert claimed_epsilon(2, 0.1, "diagonal") == pytest.approx(math.log(9), rel=1e-14)
    assert claimed_epsilon(2, 0.1, "keep") == pytest.approx(math.log(1 + 0.2 / 0.9), rel=1e-14)


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("p", [*PROBABILITIES, 0.01, 0.99])
@pytest.mark.parametrize("size", [1, 2, 3, 9, 16, 1000])
def test_epsilon_is_the_claimed_formula(size, p, reading):
    exact, claimed = rr_channel(size, p, reading).epsilon, claimed_epsilon(size, p, reading)
    assert exact == pytest.approx(claimed, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize(
    ("reading", "printed"),
    [
        ("printed", (5.34, 8.25, 14.41, 21.19)),
        ("keep", (4.62, 10.69, 15.92, 21.89)),
        ("diagonal", (7.27, 8.82, 12.21, 18.99)),
    ],
)
def test_epsilon_of_a_record_of_adult(reading, printed):
    domain = domain_of(*ADULT)
    for p, expected in zip(PROBABILITIES, printed, strict=True):
        assert sum(claimed_epsilon(size, p, reading) for size in ADULT) == pytest.approx(
            expected, abs=0.005
        )
        assert rr_independent(domain, p, reading).epsilon == pytest.approx(expected, abs=0.005)


@pytest.mark.parametrize(("size", "p", "reading"), [(9, 0.1, "printed"), (2, 0.5, "diagonal")])
def test_settings_of_the_paper_that_erase_an_attribute(size, p, reading):
    channel = rr_channel(size, p, reading)
    assert channel.singular
    assert channel.epsilon < 1e-14
    np.testing.assert_allclose(channel.matrix(), 1 / size, rtol=1e-15)
    with pytest.raises(SingularChannelError, match=f"over {size} categories is singular"):
        channel.estimate([5] * size)
    for mechanism in CLUSTER_MECHANISMS:  # alone, and with one that is not erased
        assert cluster_channel([size], p, reading, mechanism).singular
    assert cluster_channel([size, 5], p, reading, "kronecker").singular
    assert not cluster_channel([size, 5], p, reading, "joint").singular
    assert cluster_channel([size, size], p, reading, "joint").singular


def test_one_category_tells_nothing_and_erases_nothing():
    for reading in READINGS:
        channel = rr_channel(1, 0.3, reading)
        assert (channel.epsilon, claimed_epsilon(1, 0.3, reading)) == (0, 0)
        assert channel.estimate([7]).tolist() == [1]


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("p", PROBABILITIES)
@pytest.mark.parametrize("sizes", [(2, 3), (9, 2), (2, 2, 2), (7, 15), (1, 4)])
def test_cluster_channels(sizes, p, reading):
    total = sum(claimed_epsilon(size, p, reading) for size in sizes)
    cells = math.prod(sizes)
    joint = cluster_channel(sizes, p, reading, "joint")
    # p_C = 1 / (1 + (cells - 1) exp(-total)), and a row has mass 1.
    diagonal = 1 / (1 + (cells - 1) * math.exp(-total))
    expected = np.full((cells, cells), diagonal * math.exp(-total))
    np.fill_diagonal(expected, diagonal)
    np.testing.assert_allclose(joint.matrix(), expected, rtol=1e-12)
    np.testing.assert_allclose(joint.matrix().sum(axis=1), 1, rtol=1e-12)
    assert joint.epsilon == pytest.approx(total, rel=1e-10, abs=1e-10)
    # The other mechanism: each attribute through its own matrix, the same epsilon altogether.
    apart = cluster_channel(sizes, p, reading, "kronecker")
    factors = [rr_channel(size, p, reading).matrix() for size in sizes]
    matrix = np.ones((1, 1))
    for factor in factors:
        matrix = np.kron(matrix, factor)
    np.testing.assert_allclose(apart.matrix(), matrix, rtol=1e-13)
    assert apart.epsilon == pytest.approx(total, rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("mechanism", CLUSTER_MECHANISMS)
def test_a_cluster_of_one_is_its_attribute(mechanism):
    for reading in READINGS:
        found = cluster_channel([5], 0.3, reading, mechanism)
        np.testing.assert_array_equal(found.matrix(), rr_channel(5, 0.3, reading).matrix())


@pytest.mark.parametrize("p", [0.0, 1.0, -0.1, 1.1, math.nan])
def test_p_that_is_no_probability(p):
    for call in (rr_channel, claimed_epsilon):
        with pytest.raises(DeniableError, match=f"p is {p}; it must be above 0 and below 1"):
            call(4, p, "keep")


def test_what_is_unknown():
    for call in (rr_channel, claimed_epsilon):
        with pytest.raises(DeniableError, match=r"unknown reading 'Keep'; use printed, keep, "):
            call(4, 0.5, "Keep")
        with pytest.raises(DeniableError, match="at least one category, not 0"):
            call(0, 0.5, "keep")
    for sizes in ([4], [4, 2]):
        with pytest.raises(DeniableError, match="mechanism 'tensor'; use joint or kronecker"):
            cluster_channel(sizes, 0.5, "keep", "tensor")


# -- protocols -------------------------------------------------------------------------------------

DOMAIN = domain_of(2, 3, 2, 4)
CLUSTERS = (("a0", "a2"), ("a1",), ("a3",))


def some_data(records: int) -> Microdata:
    rng = np.random.default_rng(2)
    return Microdata(
        DOMAIN, tuple(rng.integers(0, size, records) for size in DOMAIN.shape), {"source": "test"}
    )


def test_reports_that_are_no_categories_are_records_of_reports():
    domain = domain_of(2, 3)
    wide = DenseChannel(np.array([[0.5, 0.25, 0.25], [0.25, 0.25, 0.5]]))
    protocol = Protocol(domain, (("a0",), ("a1",)), (wide, KeepOrReplace.uniform(3, 0.5)))
    assert protocol.epsilon == pytest.approx(np.log(2) + np.log(4), rel=1e-12)
    data = Microdata(domain, (np.zeros(40_000, int), np.zeros(40_000, int)))
    reports = protocol.randomize(data, np.random.default_rng(1))
    assert reports.domain == protocol.report_domain
    assert [each.size for each in reports.domain] == [3, 3]
    shares = np.bincount(reports.columns[0], minlength=3) / 40_000
    np.testing.assert_allclose(shares, [0.5, 0.25, 0.25], atol=0.0125)  # 5 standard errors
    with pytest.raises(DeniableError, match="cluster a0 has 3 randomized values for 2 cells"):
        protocol.refuse_other_reports()


@pytest.mark.parametrize("mechanism", CLUSTER_MECHANISMS)
def test_randomize_is_one_draw_through_each_clusters_channel(mechanism):
    protocol = rr_clusters(DOMAIN, CLUSTERS, 0.4, "keep", mechanism)
    data = some_data(500)
    reports = protocol.randomize(data, np.random.default_rng(7))
    assert reports.domain == DOMAIN
    assert reports.marks == {"source": "test"}
    rng = np.random.default_rng(7)
    for cluster, channel in zip(protocol.clusters, protocol.channels, strict=True):
        part = data.project(cluster)
        drawn = channel.randomize(part.domain.ravel(part.columns), rng)
        expected = part.domain.unravel(drawn)
        for name, column in zip(cluster, expected, strict=True):
            np.testing.assert_array_equal(reports.column(name), column)
    assert protocol.channel_of(("a1",)) is protocol.channels[1]


@pytest.mark.parametrize("mechanism", CLUSTER_MECHANISMS)
@pytest.mark.parametrize("seeded", [True, False], ids=["seeded", "system"])
def test_a_records_reports_have_the_distribution_of_all_channels_together(mechanism, seeded):
    # 40,000 records alike: the joint distribution of all four reports over 48 cells; 1e-6.
    protocol = rr_clusters(DOMAIN, CLUSTERS, 0.3, "diagonal", mechanism)
    truth = (1, 2, 0, 3)
    data = Microdata(DOMAIN, tuple(np.full(40_000, code) for code in truth))
    source = np.random.default_rng(5) if seeded else SystemRandomSource()
    table = protocol.randomize(data, source).counts()
    pair, second, fourth = (channel.matrix() for channel in protocol.channels)
    expected = np.array(
        [
            pair[1 * 2 + 0, a * 2 + c] * second[2, b] * fourth[3, d]
            for a, b, c, d in product(range(2), range(3), range(2), range(4))
        ]
    )
    assert stats.chisquare(table.ravel(), expected * 40_000).pvalue > 1e-6


def test_epsilon_of_a_protocol_is_the_sum_over_clusters():
    protocol = rr_clusters(DOMAIN, CLUSTERS, 0.4, "keep", "joint")
    total = sum(claimed_epsilon(size, 0.4, "keep") for size in DOMAIN.shape)
    assert protocol.epsilon == pytest.approx(total, rel=1e-12)
    assert protocol.epsilon == pytest.approx(sum(c.epsilon for c in protocol.channels), rel=1e-12)
    assert rr_independent(DOMAIN, 0.4, "keep").epsilon == pytest.approx(total, rel=1e-12)


def test_a_protocol_may_mix_kinds():
    protocol = Protocol(
        domain_of(2, 3),
        (("a0",), ("a1",)),
        (KeepOrReplace.uniform(2, 0.5), DenseChannel(np.eye(3))),
    )
    assert protocol.epsilon == np.inf


COIN = KeepOrReplace.uniform(2, 0.5)


@pytest.mark.parametrize(
    ("clusters", "channels", "message"),
    [
        ((("a0",),), (COIN,), "clusters have a0, but the domain has a0, a1; each attribute"),
        ((("a0", "a1"), ("a1",)), (COIN, COIN), "clusters have a0, a1, a1, but"),
        ((("a0",), ("b",)), (COIN, COIN), "clusters have a0, b, but"),
        ((("a0",), ("a1",)), (COIN, COIN), "the cluster a1 has 3 cells, but its channel 2"),
        ((("a0", "a1"),), (COIN,), "the cluster a0 x a1 has 6 cells, but its channel 2"),
        ((("a0",), ("a1",)), (COIN,), "2 clusters, but 1 channels"),
    ],
)
def test_what_is_no_protocol(clusters, channels, message):
    with pytest.raises(DeniableError, match=message):
        Protocol(domain_of(2, 3), clusters, channels)


def test_rr_joint_within_its_size():
    domain = domain_of(2, 3, 4)
    protocol = rr_joint(domain, 240, 0.5, "keep")
    assert protocol.clusters == (("a0", "a1", "a2"),)
    assert protocol.channels[0].size == 24
    assert protocol.epsilon == pytest.approx(rr_independent(domain, 0.5, "keep").epsilon, rel=1e-12)


@pytest.mark.parametrize(
    ("sizes", "records"), [((2, 3, 4), 239), ((17, 241), 10**9), (ADULT, 32_561)]
)
def test_rr_joint_beyond_its_size(sizes, records):
    cells = math.prod(sizes)
    with pytest.raises(DeniableError, match=r"bound \(7\)") as caught:
        rr_joint(domain_of(*sizes), records, 0.5, "keep")
    text = str(caught.value)
    assert f"{cells:,} cells for {records:,} records" in text
    assert "a0, a1" in text
    assert "use rr_clusters" in text


def test_a_product_of_clusters_is_a_channel_too():
    protocol = rr_clusters(DOMAIN, CLUSTERS, 0.4, "keep", "kronecker")
    assert ProductChannel(protocol.channels).size == DOMAIN.size
    with pytest.raises(ChannelError):
        ProductChannel(protocol.channels).estimate([1, 2])
