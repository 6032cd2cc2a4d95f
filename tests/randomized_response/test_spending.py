"""The p of an exact epsilon, and what is spent there, in fractions worked from the definition."""

import math
from decimal import Decimal
from fractions import Fraction
from functools import partial
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st
from tests.privacy.test_allocation import (
    HOWS,
    epsilons as some_epsilons,
    exact_logarithm,
    ratio_of,
    several_sizes,
)
from tests.randomized_response.test_protocols import domain_of

from deniable.channels import DenseChannel, KeepOrReplace, ProductChannel, SubsetSelection
from deniable.errors import ChannelError, DeniableError
from deniable.randomized_response import (
    Clustering,
    Protocol,
    epsilons,
    p_of_epsilon,
    protocol_from_epsilon,
    rr_clusters,
    rr_independent,
    rr_joint,
)
from deniable.randomized_response.protocols import CLUSTER_MECHANISMS, READINGS

ADULT = (9, 16, 7, 15, 6, 5, 2, 2)
SEEDED = settings(deadline=None, max_examples=40, derandomize=True)
SIZES = (9, 16, 7, 2)
DOMAIN = domain_of(*SIZES)
GROUPED: Clustering = (("a0", "a3"), ("a1",), ("a2",))


def log_odds(p: float, size: int) -> float:
    """Return ln(1 + p |A| / (1 - p)), from [multirr], 6.3.1 read as keep."""
    return math.log(1 + Fraction(p) * size / (1 - Fraction(p)))


@given(st.floats(0.01, 25))
def test_what_is_asked_for_is_reached_and_never_exceeded(epsilon: float) -> None:
    build = partial(rr_independent, DOMAIN, reading="keep")
    p = p_of_epsilon(DOMAIN, epsilon, "keep")
    assert build(p=p).epsilon <= epsilon < build(p=math.nextafter(p, 1)).epsilon
    assert sum(log_odds(p, size) for size in SIZES) == pytest.approx(epsilon, rel=1e-11)


@pytest.mark.parametrize("epsilon", [0.5, 4.0, 21.19])
def test_clusters_by_one_matrix_spend_the_same_on_a_record_and_more_on_an_attribute(
    epsilon: float,
) -> None:
    for mechanism, inside in (("kronecker", [9]), ("joint", [9, 2])):
        build = partial(rr_clusters, DOMAIN, GROUPED, reading="keep", mechanism=mechanism)
        p = p_of_epsilon(DOMAIN, epsilon, "keep", GROUPED, mechanism)
        spent = epsilons(build(p=p))
        assert epsilon * (1 - 1e-11) < spent["record_epsilon"] <= epsilon
        largest = max(log_odds(p, 16), sum(log_odds(p, size) for size in inside))
        assert spent["attribute_epsilon"] == pytest.approx(largest, rel=1e-9)


@SEEDED
@given(
    epsilon=st.floats(0.05, 12),
    sizes=st.lists(st.integers(1, 12), min_size=1, max_size=5).filter(lambda s: max(s) > 1),
    reading=st.sampled_from(READINGS),
    mechanism=st.sampled_from(CLUSTER_MECHANISMS),
    data=st.data(),
)
def test_p_gives_an_epsilon_that_is_not_exceeded_and_nearly_reached(
    epsilon, sizes, reading, mechanism, data
):
    domain = domain_of(*sizes)
    cut = data.draw(st.integers(0, len(sizes)))
    clusters = tuple(part for part in (domain.names[:cut], domain.names[cut:]) if part)
    assume(math.prod(sizes[:cut]) <= 60 and math.prod(sizes[cut:]) <= 60)
    try:
        p = p_of_epsilon(domain, epsilon, reading, clusters, mechanism)
    except DeniableError:
        # Whatever p, a record then has more: by the formula of 6.3.1 over a fine grid.
        logits = np.linspace(-12, 12, 4001)
        turns = [np.log(size if reading == "printed" else size - 1) for size in sizes if size > 1]
        assert reading != "keep"
        assert np.abs(logits[:, None] + turns).sum(axis=1).min() >= epsilon * (1 - 1e-9)
        return
    protocol = rr_clusters(domain, clusters, p, reading, mechanism)
    drawn = math.prod(ratio_of(f) for c in protocol.channels for f in c.simple_factors)
    assert exact_logarithm(drawn) <= Decimal(epsilon)
    # What is not on the diagonal is some exp(-12), of which floats near 1 have 10 digits.
    assert exact_logarithm(drawn) >= Decimal(epsilon) * (1 - Decimal("1e-8"))
    larger = p + 1e-6 * min(p, 1 - p)
    assert rr_clusters(domain, clusters, larger, reading, mechanism).epsilon > epsilon


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0, 14.0])
def test_the_three_protocols_of_adult_in_the_range_that_users_work_in(epsilon):
    domain = domain_of(*ADULT)
    alone = rr_independent(domain, p_of_epsilon(domain, epsilon, "keep"), "keep")
    few = domain.project(domain.names[5:])
    p = p_of_epsilon(few, epsilon, "keep", (few.names,), "joint")
    joint = rr_joint(few, 10_000, p, "keep")
    pairs = tuple(domain.names[start : start + 2] for start in range(0, 8, 2))
    p = p_of_epsilon(domain, epsilon, "keep", pairs, "joint")
    clusters = rr_clusters(domain, pairs, p, "keep", "joint")
    for protocol in (alone, joint, clusters):
        assert epsilon * (1 - 1e-12) < protocol.epsilon <= epsilon


@pytest.mark.parametrize("epsilon", [23.0, 30.0])
def test_what_rounds_most_still_keeps_to_its_epsilon(epsilon):
    domain = domain_of(2, 2, 2)
    p = p_of_epsilon(domain, epsilon, "keep", (domain.names,), "joint")
    assert (
        0.99 * epsilon < rr_clusters(domain, (domain.names,), p, "keep", "joint").epsilon <= epsilon
    )


def test_p_is_that_of_the_paper():
    # [multirr] 6.3.1 as printed: p = .5 gives 14.41, p = .7 gives 21.19 (see test_protocols).
    domain = domain_of(*ADULT)
    for p in (0.3, 0.5, 0.7):
        epsilon = rr_independent(domain, p, "printed").epsilon
        assert p_of_epsilon(domain, epsilon, "printed") == pytest.approx(p, rel=1e-12)


def test_an_epsilon_that_no_p_has_is_refused():
    domain = domain_of(*ADULT)
    for reading in ("printed", "diagonal"):
        with pytest.raises(DeniableError, match="use the matrix 'keep'"):
            p_of_epsilon(domain, 1.0, reading)
    with pytest.raises(DeniableError, match="a record has between"):
        p_of_epsilon(domain, 1e4, "keep")
    for epsilon in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(DeniableError, match=f"epsilon is {epsilon}; it must be a finite"):
            p_of_epsilon(domain, epsilon, "keep")
    with pytest.raises(DeniableError, match="two categories"):
        p_of_epsilon(domain_of(1, 1), 1.0, "keep")


# -- protocols from an epsilon ---------------------------------------------------------------------

SMALL = domain_of(2, 3, 2)
SKEWED = DenseChannel(np.array([[0.5, 0.25, 0.25], [0.125, 0.625, 0.25], [0.25, 0.25, 0.5]]))
PROTOCOLS = {
    "attributes": protocol_from_epsilon(SMALL, 1.3, None, "size"),
    "clusters": protocol_from_epsilon(SMALL, 1.3, (("a2", "a0"), ("a1",))),
    "joint": Protocol(SMALL, (SMALL.names,), (SubsetSelection.of_epsilon(SMALL.size, 1.3),)),
    "a product": Protocol(
        SMALL,
        (("a0", "a1"), ("a2",)),
        (
            ProductChannel((KeepOrReplace.of_epsilon(2, 0.2), SKEWED)),
            KeepOrReplace.of_epsilon(2, 0.3),
        ),
    ),
}


def exact_reports(protocol: Protocol, record: tuple[int, ...]) -> dict[tuple[int, ...], Fraction]:
    """Return Pr(randomized values | record) from the columns of the channels alone."""
    rows = []
    for cluster, channel in zip(protocol.clusters, protocol.channels, strict=True):
        cell = 0
        for name in cluster:
            cell = cell * SMALL[name].size + record[SMALL.position(name)]
        rows.append([channel.exact_column(v)[cell] for v in range(channel.reports)])
    return {
        values: math.prod((row[v] for row, v in zip(rows, values, strict=True)), start=Fraction(1))
        for values in product(*(range(len(row)) for row in rows))
    }


@pytest.mark.parametrize("protocol", PROTOCOLS.values(), ids=PROTOCOLS.keys())
def test_epsilon_is_that_of_all_reports_of_all_records(protocol):
    records = list(product(*(range(size) for size in SMALL.shape)))
    exact = {record: exact_reports(protocol, record) for record in records}
    assert all(sum(chances.values()) == 1 for chances in exact.values())

    def largest(pairs) -> Decimal:
        ratios = (exact[u][report] / exact[w][report] for u, w in pairs for report in exact[u])
        return exact_logarithm(max(ratios))

    whole = largest(product(records, records))
    assert whole <= Decimal(protocol.epsilon) <= whole * (1 + Decimal("1e-15"))
    for position, (name, found) in enumerate(protocol.epsilon_by_changed_attribute().items()):
        assert name == SMALL.names[position]
        others = [(u[:position] + u[position + 1 :], u) for u in records]
        neighbours = [(u, w) for left, u in others for right, w in others if left == right]
        assert found == pytest.approx(float(largest(neighbours)), rel=1e-12)


@SEEDED
@given(epsilon=some_epsilons, sizes=several_sizes, how=st.sampled_from(HOWS))
def test_protocols_of_an_epsilon_keep_to_it(epsilon, sizes, how):
    made = protocol_from_epsilon(domain_of(*sizes), epsilon, None, how)
    assert epsilon * (1 - 1e-7) <= made.epsilon <= epsilon


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0, 14.0])
def test_protocols_of_adult_at_an_epsilon(epsilon):
    domain = domain_of(*ADULT)
    pairs = tuple(domain.names[start : start + 2] for start in range(0, 8, 2))
    for parts in (None, pairs):
        made = protocol_from_epsilon(domain, epsilon, parts, "size")
        assert epsilon * (1 - 1e-12) < made.epsilon <= epsilon


def test_protocols_of_clusters_have_one_channel_per_cluster():
    protocol = protocol_from_epsilon(domain_of(2, 3, 1), 1.2, (("a1", "a0"), ("a2",)))
    assert [channel.size for channel in protocol.channels] == [6, 1]
    assert protocol.channels[0].epsilon == pytest.approx(1.2, rel=1e-12)
    # Cells are 4 and 3: ln 4 / (ln 4 + ln 3) of 1.3 for a change in a0 or a2 alone.
    by_size = protocol_from_epsilon(SMALL, 1.3, (("a2", "a0"), ("a1",)), "size")
    spent = by_size.epsilon_by_changed_attribute()
    assert spent["a0"] == pytest.approx(1.3 * np.log(4) / np.log(12), rel=1e-12)


def test_targets_that_cannot_be_met_are_refused():
    with pytest.raises(ChannelError, match="at most 30"):
        KeepOrReplace.of_epsilon(4, 31.0)
    with pytest.raises(DeniableError, match="each attribute belongs to one cluster"):
        protocol_from_epsilon(SMALL, 1.0, (("a0", "a1"),))
