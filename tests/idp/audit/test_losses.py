"""The audit's suprema over neighbours against listing neighbours one by one, in fractions."""

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from deniable.arrays import Floats
from deniable.idp.audit.losses import (
    Cut,
    Losses,
    Moves,
    _upward,
    distance_in_scales,
    loss_between,
    losses_of_clusters_formed_anew,
    losses_within_fixed_clusters,
    with_frozen_scales,
    with_own_scales,
)
from deniable.idp.methods import Centroid, Variant, centroid_of, masking, sensitivity
from deniable.idp.microaggregation import Edges, Ranking

CLUSTERED = [method for method in get_args(Variant) if method != "dp"]
Numbers = Sequence[Fraction]


def cut_into(values: Numbers, k: int) -> list[list[Fraction]]:
    """Cut sorted values into clusters: the definition, once more and slowly."""
    number = len(values) // k
    clusters = [list(values[c * k : (c + 1) * k]) for c in range(number)]
    clusters[-1] += values[number * k :]
    return clusters


def exact_centroid(cluster: Numbers, centroid: Centroid) -> Fraction:
    held = sorted(cluster)
    if centroid == "preprocessed":
        held = [held[1], *held[1:-1], held[-2]]
    return sum(held, start=Fraction(0)) / len(held)


def exact_sensitivity(method: str, cluster: Numbers, upper: Fraction) -> Fraction:
    x, n = sorted(cluster), len(cluster)
    if method == "dp_um":
        return upper / n
    if method == "idp_ls":
        return max(upper - x[0], x[-1]) / n
    first = (x[-1] - x[1]) + (x[2] - x[1])
    second = (x[-2] - x[0]) + (x[-2] - x[-3])
    if method == "idp_cbls":
        first, second = first + x[-1] - x[-2], second + x[1] - x[0]
    return max(first, second) / n


def ratio(distance: Fraction, scale: Fraction) -> Fraction | float:
    if distance == 0:
        return Fraction(0)
    return abs(distance) / scale if scale else math.inf


def listed_losses(
    values: Numbers, k: int, upper: Fraction, method: Variant, new: Numbers, *, fixed: bool
) -> tuple[list[float], list[float]]:
    """Return the losses of centroids and of records over all listed new values."""
    centroid = centroid_of(method)
    old = cut_into(values, k)
    centres = [exact_centroid(cluster, centroid) for cluster in old]
    scales = [exact_sensitivity(method, cluster, upper) for cluster in old]
    of_centroids: list[Fraction | float] = [Fraction(0)] * len(old)
    of_records: list[Fraction | float] = []
    for record in range(len(values)):
        worst: Fraction | float = Fraction(0)
        for value in new:
            if fixed:
                at = min(record // k, len(old) - 1)
                changed = [list(cluster) for cluster in old]
                changed[at][record - at * k] = value
            else:
                changed = cut_into(sorted([*values[:record], *values[record + 1 :], value]), k)
            found = [
                ratio(exact_centroid(cluster, centroid) - centre, scale)
                for cluster, centre, scale in zip(changed, centres, scales, strict=True)
            ]
            of_centroids = [max(pair) for pair in zip(of_centroids, found, strict=True)]
            worst = max(worst, sum(found, start=Fraction(0)))
        of_records.append(worst)
    return [float(each) for each in of_centroids], [float(each) for each in of_records]


def audited(values: Numbers, k: int, upper: Fraction, method: Variant, *, fixed: bool) -> Losses:
    cut = Cut(np.array([float(v) for v in values]), k, float(upper))
    scales = sensitivity(method, cut.edges, cut.upper)
    moves, loss = Moves(cut, centroid_of(method)), with_frozen_scales(scales)
    if fixed:
        return losses_within_fixed_clusters(moves, loss)
    return losses_of_clusters_formed_anew(moves, loss)


def in_fractions(values: Sequence[float]) -> list[Fraction]:
    return sorted(Fraction(v) for v in values)


@pytest.mark.parametrize("fixed", [True, False])
@pytest.mark.parametrize("method", CLUSTERED)
@given(data=st.data())
@settings(max_examples=12, deadline=None)
def test_losses_are_those_of_all_neighbours(
    method: Variant, fixed: bool, data: st.DataObject
) -> None:
    k = data.draw(st.integers(3, 7))
    n = data.draw(st.integers(k, 3 * k + 2))
    # Few distinct values: ties, and clusters whose values are all the same.
    most = data.draw(st.sampled_from([2, 5, 40]))
    values = in_fractions(data.draw(st.lists(st.integers(0, most), min_size=n, max_size=n)))
    upper = Fraction(most + data.draw(st.integers(1, 30)))
    # Thirds contain all breakpoints, and what lies between.
    new = [Fraction(q, 3) for q in range(3 * min(most, 8) + 1)] + [*set(values), upper]
    found = audited(values, k, upper, method, fixed=fixed)
    of_centroids, of_records = listed_losses(values, k, upper, method, new, fixed=fixed)
    np.testing.assert_allclose(found.of_centroids, of_centroids, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(found.of_records, of_records, rtol=1e-11, atol=1e-12)


def test_two_clusters_of_three_by_hand() -> None:
    # (0, 1, 3) and (4, 6, 10), U = 12. Middle values 1 and 6, sensitivities by Proposition 3:
    # max(2 + 2 + 2, 1 + 1 + 1) / 3 = 2 and max(4 + 4 + 4, 2 + 2 + 2) / 3 = 4.
    # 0 -> 12 gives (1, 3, 4) and (6, 10, 12): middles move by 2 and 4, a loss of 1 + 1 = 2.
    # 3 -> 12 gives (0, 1, 4) and (6, 10, 12), a loss of 0 + 1.
    values = in_fractions([0, 1, 3, 4, 6, 10])
    found = audited(values, 3, Fraction(12), "idp_cbls", fixed=False)
    assert found.of_records.tolist() == [2.0, 2.0, 1.0, 1.0, 1.0, 1.0]
    assert found.of_centroids.tolist() == [1.0, 1.0]
    # The prose leaves out the last terms: 4 / 3 and 8 / 3 for what moves by 2 and 4.
    prose = audited(values, 3, Fraction(12), "idp_cbls_prose", fixed=True)
    assert prose.of_centroids.tolist() == [1.5, 1.5]


@given(st.lists(st.integers(0, 30), min_size=9, max_size=30))
@settings(max_examples=60, deadline=None)
def test_a_passed_cluster_costs_all_that_proposition_3_grants(numbers: list[int]) -> None:
    cut = Cut(np.sort(np.array(numbers, dtype=float)), 3, 40.0)
    scales = sensitivity("idp_cbls", cut.edges, cut.upper)
    moves, loss = Moves(cut, "preprocessed"), with_frozen_scales(scales)
    upward, downward = loss(moves.upward[1]), loss(moves.downward[1])
    np.testing.assert_allclose(np.maximum(upward, downward), scales > 0, atol=1e-12)
    anew = losses_of_clusters_formed_anew(moves, loss)
    inner = (scales > 0)[1:-1].sum()
    assert anew.of_records.max() >= inner / 2 - 1e-9


@given(st.lists(st.integers(0, 30), min_size=6, max_size=40), st.integers(2, 6))
@settings(max_examples=60, deadline=None)
def test_dp_um_spends_what_it_claims_on_all_centroids(numbers: list[int], k: int) -> None:
    values = np.sort(np.array(numbers, dtype=float))
    cut = Cut(values, k, 35.0)
    loss = with_frozen_scales(sensitivity("dp_um", cut.edges, cut.upper))
    found = losses_of_clusters_formed_anew(Moves(cut, "mean"), loss).of_records
    np.testing.assert_allclose(found, np.maximum(values, 35 - values) / 35, atol=1e-12)


def test_sensitivities_are_those_that_ship() -> None:
    generator = np.random.default_rng(4)
    values = np.round(generator.gamma(2.0, 10.0, size=(53, 2)))
    ranking = Ranking.of(values)
    upper = 1.5 * values.max(axis=0)
    for method, k in itertools.product(get_args(Variant), (3, 5, 20)):
        shipped = masking(method, ranking, k, upper, 1.0)
        for j in range(2):
            cut = Cut(np.sort(values[:, j]), 1 if method == "dp" else k, float(upper[j]))
            own = sensitivity(method, cut.edges, cut.upper)
            np.testing.assert_allclose(own, shipped.scales[j] * shipped.epsilons[j], rtol=1e-12)
            assert shipped.clusters.starts.tolist() == cut.starts.tolist()


# -- the loss of one clipped centroid --------------------------------------------------------------


def log_densities(centre: float, scale: float, upper: float, at: Floats) -> Floats:
    """Return log densities inside the domain, then the logarithms of both atoms."""
    inside = -np.log(2 * scale) - np.abs(at - centre) / scale
    atoms = np.log(0.5) - np.array([centre, upper - centre]) / scale
    return np.concatenate([inside, atoms])


@given(
    st.tuples(*(st.floats(0, 10) for _ in range(2))),
    st.tuples(*(st.floats(0.05, 50) for _ in range(2))),
)
@settings(max_examples=200, deadline=None)
def test_loss_is_the_largest_log_ratio(
    centres: tuple[float, float], scales: tuple[float, float]
) -> None:
    upper = 10.0
    found = float(
        loss_between(*map(np.array, (centres[0], scales[0], centres[1], scales[1])), upper)
    )
    grid = np.concatenate([np.linspace(0, upper, 2001), centres])
    ratios = log_densities(centres[0], scales[0], upper, grid) - log_densities(
        centres[1], scales[1], upper, grid
    )
    assert found == pytest.approx(np.abs(ratios).max(), rel=1e-9, abs=1e-9)


def test_equal_scales_give_the_distance_in_scales() -> None:
    generator = np.random.default_rng(0)
    m, m2 = generator.uniform(0, 5, size=(2, 200))
    b = generator.uniform(0.1, 9, 200)
    np.testing.assert_allclose(loss_between(m, b, m2, b, 5.0), np.abs(m - m2) / b, atol=1e-12)


def test_no_noise_tells_all_or_nothing() -> None:
    zero, one = np.zeros(1), np.ones(1)
    assert loss_between(one, zero, one, zero, 2.0).tolist() == [0.0]
    assert loss_between(one, zero, zero, zero, 2.0).tolist() == [math.inf]
    assert loss_between(one, zero, one, one, 2.0).tolist() == [math.inf]
    assert distance_in_scales(np.array([0.0, 1.0, 3.0]), np.array([0.0, 0.0, 2.0])).tolist() == [
        0.0,
        math.inf,
        1.5,
    ]


INF = math.inf


@pytest.mark.parametrize(
    ("passed", "of_records"),
    [
        # 1 + max(16, 8 + 32, 8 + 8 + 64), 2 + max(32, 8 + 64), 4 + 64, and no cluster above.
        ([99, 8, 8, 99], [81, 74, 68, 0]),
        ([99, INF, 8, 99], [INF, 74, 68, 0]),
        ([99, 8, INF, 99], [INF, INF, 68, 0]),
        ([99, INF, INF, 99], [INF, INF, 68, 0]),
    ],
)
def test_a_cluster_without_noise_blocks_all_moves_that_pass_it(
    passed: list[float], of_records: list[float]
) -> None:
    leaves, entered = np.array([1.0, 2, 4, 99]), np.array([99.0, 16, 32, 64])
    found = _upward(np.arange(4), leaves, np.array(passed), entered[:, None])
    assert found.of_records.tolist() == of_records
    alone = [1, max(passed[1], 16), max(passed[2], 32), 64]
    assert found.of_centroids.tolist() == alone


def test_as_it_runs_an_equal_cluster_gives_its_neighbours_away() -> None:
    values = np.array([1.0, 5, 5, 5, 6, 9])
    cut = Cut(values, 3, 12.0)
    moves = Moves(cut, "preprocessed")
    scales = sensitivity("idp_cbls", cut.edges, 12.0)
    loss = with_own_scales("idp_cbls", cut, np.array([5.0, 6.0]), scales, 1.0)
    # 1 -> 5 leaves a cluster of fives only, without noise.
    assert losses_of_clusters_formed_anew(moves, loss).of_records.tolist()[0] == math.inf


def listed_as_it_runs(
    values: Floats, k: int, upper: float, method: Variant, epsilon: float, new: Sequence[float]
) -> float:
    """Return the largest loss over listed neighbours, each with scales of its own."""

    def run(sorted_values: Floats) -> tuple[Floats, Floats]:
        clusters = cut_into([Fraction(float(v)) for v in sorted_values], k)
        centres = [float(exact_centroid(c, centroid_of(method))) for c in clusters]
        scales = [float(exact_sensitivity(method, c, Fraction(upper))) for c in clusters]
        return np.array(centres), np.array(scales) / epsilon

    centre, scale = run(values)
    return max(
        loss_between(centre, scale, *run(np.sort(np.append(np.delete(values, i), v))), upper).sum()
        for i in range(values.size)
        for v in new
    )


@pytest.mark.parametrize("method", CLUSTERED)
@pytest.mark.parametrize("k", [3, 4])
def test_as_it_runs_is_the_loss_of_listed_neighbours(method: Variant, k: int) -> None:
    generator = np.random.default_rng(11)
    values = np.sort(np.round(generator.uniform(0, 90, 14)))
    cut = Cut(values, k, 100.0)
    epsilon = 0.7
    scales = sensitivity(method, cut.edges, 100.0) / epsilon
    moves = Moves(cut, centroid_of(method))
    centres = np.array(
        [
            float(exact_centroid(c, centroid_of(method)))
            for c in cut_into([Fraction(v) for v in values], k)
        ]
    )
    found = losses_of_clusters_formed_anew(
        moves, with_own_scales(method, cut, centres, scales, epsilon)
    )
    listed = listed_as_it_runs(values, k, 100.0, method, epsilon, [0.0, *values, 100.0])
    assert found.of_records.max() == pytest.approx(listed, rel=1e-9)


def test_edges_of_small_clusters() -> None:
    cut = Cut(np.array([1.0, 2.0, 7.0]), 1, 9.0)
    edges: Edges = cut.exchanged(np.array([1]), np.array([1]), np.array([4.0]))
    assert edges.low[0].tolist() == [4.0, math.inf, math.inf]
    assert edges.high[0].tolist() == [4.0, -math.inf, -math.inf]
