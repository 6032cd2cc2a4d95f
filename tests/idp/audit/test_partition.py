"""Released records, the certificate, attacks and certain values, against slow references."""

import itertools
import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings, strategies as st
from scipy import sparse
from scipy.sparse import csgraph

from deniable.arrays import Floats, Positions
from deniable.errors import DeniableError
from deniable.idp.audit.attack import (
    Accuracy,
    NoisyCentroids,
    certain_values,
    certificate,
    constant_within,
    epsilon_from_errors,
    likelihood_attack,
    partition_attack,
    privacy_loss_at_equal_centroids,
)
from deniable.idp.audit.losses import Cut
from deniable.idp.audit.partition import (
    _log_at,
    refutation_by_a_full_shift,
    shown_when_shuffled,
    visible,
)
from deniable.idp.audit.report import AuditedFile, ClusteredFile, Kind, MethodAudit
from deniable.idp.methods import masking
from deniable.idp.microaggregation import Ranking

Array = npt.NDArray[Any]


def refutation(
    clusters: Positions, other: Positions, centres: Floats, scales: Floats, upper: float
) -> float:
    """Return the probability that records released under D contradict D' outright.

    Parameters
    ----------
    clusters, other : array, shape (records,)
        The cluster of each record under D and under D'. Records that share a cluster under D' must
        have the same value, or it was not D'.
    centres, scales : array, shape (clusters,)
        Under D.
    upper : float
        Values are clipped to [0, upper].

    Returns
    -------
    float
        Above 0 if and only if the visible partition of D is not one that D' can show.
    """
    number, others = int(clusters.max()) + 1, int(other.max()) + 1
    links = sparse.coo_array(
        (np.ones(clusters.size), (clusters, number + other)), shape=(number + others,) * 2
    )
    _, component = csgraph.connected_components(links, directed=False)
    tied = component[:number]
    log_at_0, log_at_upper = (_log_at(end, centres, scales, upper) for end in (0.0, upper))
    consistent = 0.0  # logarithm of the probability that nothing contradicts
    for each in np.unique(tied):
        inside = np.flatnonzero(tied == each)
        if inside.size > 1:
            if scales[inside].any():
                consistent += np.logaddexp(log_at_0[inside].sum(), log_at_upper[inside].sum())
            elif np.ptp(centres[inside]):
                consistent = -np.inf
    return float(-np.expm1(consistent))


# -- records ---------------------------------------------------------------------------------------


def memberships(column: npt.ArrayLike, k: int) -> Positions:
    return Ranking.of(np.asarray(column)[:, None]).clusters(k).memberships[0]


def test_one_change_of_five_records_by_hand() -> None:
    # (1, 2 | 3, 4, 5) and, with 1 -> 9, (2, 3 | 4, 5, 9): records 1 and 2 part.
    column = np.array([1.0, 2, 3, 4, 5])
    before, after = memberships(column, 2), memberships([9.0, 2, 3, 4, 5], 2)
    assert before.tolist() == [0, 0, 1, 1, 1]
    assert after.tolist() == [1, 0, 0, 1, 1]
    # Both clusters must be equal under the neighbour: both clipped at 0, or both at U = 10.
    centres, scales = np.array([1.5, 4.0]), np.array([2.0, 3.0])
    at_0 = 0.25 * math.exp(-1.5 / 2 - 4 / 3)
    at_upper = 0.25 * math.exp(-8.5 / 2 - 6 / 3)
    found = refutation(before, after, centres, scales, 10.0)
    assert found == pytest.approx(1 - at_0 - at_upper, rel=1e-12)
    assert refutation_by_a_full_shift(centres, scales, 10.0) == pytest.approx(found, rel=1e-12)


@given(st.lists(st.integers(0, 6), min_size=6, max_size=30), st.integers(2, 4), st.booleans())
@settings(max_examples=60, deadline=None)
def test_the_smallest_made_largest_always_shows(numbers: list[int], k: int, exact: bool) -> None:
    column = np.array(numbers, dtype=float)
    if k == 2 and column.size // k == 1:
        return
    changed = column.copy()
    changed[np.argsort(column, kind="stable")[0]] = 10.0
    before, after = memberships(column, k), memberships(changed, k)
    clusters = int(before.max()) + 1
    generator = np.random.default_rng(len(numbers))
    centres, scales = generator.uniform(0, 9, clusters), generator.uniform(0.5, 3, clusters)
    scales[0] *= not exact
    general = refutation(before, after, centres, scales, 10.0)
    assert general == pytest.approx(refutation_by_a_full_shift(centres, scales, 10.0), abs=1e-12)
    assert (general > 0) == (clusters > 1)


def test_refutation_is_how_often_releases_contradict() -> None:
    generator = np.random.default_rng(8)
    column = np.arange(12.0)
    changed = column.copy()
    changed[2] = 7.5
    before, after = memberships(column, 3), memberships(changed, 3)
    centres, scales = np.array([1.0, 4, 7, 10]), np.array([30.0, 20.0, 25.0, 9.0])
    model = NoisyCentroids(centres, scales, np.full(4, 15.0))
    draws = model.draw(generator, 20_000)
    seen = 1 - constant_within(after, draws[:, before]).mean()
    expected = refutation(before, after, centres, scales, 15.0)
    # Five standard errors: a right answer is missed once in two million runs of this test.
    assert abs(seen - expected) < 5 * math.sqrt(expected * (1 - expected) / 20_000)


def test_exact_clusters_with_one_centroid_look_like_one() -> None:
    blocks = visible(np.array([0, 0, 1, 1, 2, 2]), np.array([5.0, 5.0, 7.0]), np.zeros(3))
    assert blocks.tolist() == [0, 0, 0, 0, 2, 2]
    scales = np.zeros(2)
    same = np.array([5.0, 5.0])
    assert refutation(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 0]), same, scales, 9.0) == 0.0
    apart = np.array([5.0, 6.0])
    assert refutation(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 0]), apart, scales, 9.0) == 1.0


def test_shuffled_records_show_who_shares_clusters() -> None:
    generator = np.random.default_rng(3)
    values = generator.uniform(0, 9, size=(60, 3))
    scales = np.ones((3, 20))
    assert shown_when_shuffled(values, 3, "mean", scales, 20.0)
    # Of one attribute alone nothing is shown but the number of clusters.
    assert not shown_when_shuffled(values[:, :1], 3, "mean", scales[:1], 20.0)


# -- certificate -----------------------------------------------------------------------------------


@pytest.mark.parametrize("keep", [0.6, 0.8, 0.95])
@pytest.mark.parametrize("ones", [1, 2, 3])
def test_the_bound_holds_for_binary_randomized_response(keep: float, ones: int) -> None:
    # All orders of four records, all reports: the best estimator of record 1 is its posterior mean.
    numbers = [1.0] * ones + [0.0] * (4 - ones)
    orders = sorted(set(itertools.permutations(numbers)))
    variance = np.var(numbers)
    error = 0.0
    for report in itertools.product((0.0, 1.0), repeat=4):
        chances = [
            math.prod(keep if r == x else 1 - keep for r, x in zip(report, order, strict=True))
            for order in orders
        ]
        total = sum(chances)
        mean = sum(p * order[0] for p, order in zip(chances, orders, strict=True)) / total
        error += sum(p * (x[0] - mean) ** 2 for p, x in zip(chances, orders, strict=True))
    error /= len(orders)
    epsilon = math.log(keep / (1 - keep))
    assert error >= math.exp(-2 * epsilon) * variance
    assert float(epsilon_from_errors(variance, error)) <= epsilon


def test_the_certificate_stays_below_a_known_epsilon() -> None:
    generator = np.random.default_rng(5)
    true = generator.uniform(0, 1, size=(300, 2))
    for epsilon in (0.5, 2.0, 8.0):
        noise = generator.laplace(scale=1 / epsilon, size=(30, *true.shape))
        found = certificate(true, np.clip(true + noise, 0, 1))
        assert found.max() <= epsilon
        assert found.sum() <= 2 * epsilon
    assert found.max() > 0.3


def test_the_certificate_of_exact_values_is_infinite() -> None:
    true = np.array([[1.0], [2.0], [3.0]])
    assert certificate(true, true[None]).max() == math.inf
    assert certificate(true, np.full((1, 3, 1), 2.0)).max() == 0.0
    with pytest.raises(DeniableError, match="records by attributes"):
        certificate(true, true)


def test_an_error_of_known_size_proves_its_epsilon() -> None:
    assert epsilon_from_errors(1.0, math.exp(-6)) == pytest.approx(3.0, rel=1e-15)
    assert epsilon_from_errors([4.0, 1.0], [1.0, 2.0]).tolist() == [math.log(2), 0.0]
    # The variance of 0 and 2 is 1, and each released number is wrong by 1/4.
    found = certificate([[0.0], [2.0]], [[[0.25], [1.75]]])
    assert found.tolist() == pytest.approx([math.log(4)], rel=1e-15)


@pytest.mark.parametrize(
    ("found", "kind", "expected"),
    [
        (math.inf, "lower bound", ("exact", False)),
        (2.0, "lower bound", ("lower bound", False)),
        (0.5, "lower bound", ("lower bound", None)),
        (0.5, "exact", ("exact", True)),
        (1.0, "exact", ("exact", True)),
        (1.1, "exact", ("exact", False)),
    ],
)
def test_an_infinite_lower_bound_is_exact(
    found: float, kind: Kind, expected: tuple[str, bool | None]
) -> None:
    file = AuditedFile("small", ("x",), np.arange(3.0)[:, None], np.array([2.0]), 1.0)
    about = {"reading": "as it runs", "unit": "record", "attribute": "x", "clusters": "recomputed"}
    row = MethodAudit(ClusteredFile(file, 3), "dp_um", 1.0).row(found, kind, **about)
    assert (row["kind"], row["holds"]) == expected
    assert (row["exact_or_lower_bound"], row["times_claimed"]) == (found, found)


# -- attacks ---------------------------------------------------------------------------------------


def test_likelihood_attack_reaches_what_epsilon_allows_and_no_more() -> None:
    # One centroid moved by its whole domain: the attack's accuracy is 1 - exp(-eps / 2) / 2, which
    # lies between 1/2 and e^eps / (1 + e^eps).
    epsilon = 1.0
    one = NoisyCentroids(np.array([0.0]), np.array([1 / epsilon]), np.array([1.0]))
    other = NoisyCentroids(np.array([1.0]), np.array([1 / epsilon]), np.array([1.0]))
    found = likelihood_attack(one, other, np.random.default_rng(2), 40_000)
    low, high = found.interval(0.999999)
    assert low <= 1 - math.exp(-epsilon / 2) / 2 <= high
    assert found.value <= 1 / (1 + math.exp(-epsilon))


def test_a_centroid_without_noise_decides() -> None:
    exact = NoisyCentroids(np.array([5.0]), np.array([0.0]), np.array([9.0]))
    noisy = NoisyCentroids(np.array([5.0]), np.array([4.0]), np.array([9.0]))
    for pair in ((exact, noisy), (noisy, exact)):
        assert likelihood_attack(*pair, np.random.default_rng(2), 500).value == 1.0
    # At the end of the domain the noisy one has an atom too: half of its releases look alike.
    exact = NoisyCentroids(np.array([0.0]), np.array([0.0]), np.array([9.0]))
    noisy = NoisyCentroids(np.array([0.0]), np.array([4.0]), np.array([9.0]))
    low, high = likelihood_attack(exact, noisy, np.random.default_rng(2), 5000).interval(0.999999)
    assert low <= 0.75 <= high


def test_nothing_to_tell_is_a_coin() -> None:
    same = NoisyCentroids(np.array([5.0]), np.array([0.0]), np.array([9.0]))
    low, high = likelihood_attack(same, same, np.random.default_rng(2), 4000).interval(0.999999)
    assert low <= 0.5 <= high


def test_partition_attack_ignores_noise() -> None:
    before, after = np.array([0, 0, 1, 1]), np.array([1, 0, 0, 1])
    centres = np.array([3.0, 6.0])
    narrow = NoisyCentroids(centres, np.full(2, 1.0), np.full(2, 1e6))
    found = partition_attack((narrow, before), (narrow, after), np.random.default_rng(4), 800)
    assert found.value > 0.95
    assert found.epsilon() > 2.5
    # Clipped at either end, both clusters look alike half of the time: then only a coin is left.
    wide = NoisyCentroids(centres, np.full(2, 1e9), np.full(2, 10.0))
    low, high = partition_attack(
        (wide, before), (wide, after), np.random.default_rng(4), 2000
    ).interval(0.999999)
    assert low <= 0.75 <= high


def test_intervals_of_accuracy() -> None:
    assert Accuracy(10, 10).interval() == (pytest.approx(0.6915, abs=1e-4), 1.0)
    assert Accuracy(0, 10).interval()[0] == 0.0
    assert Accuracy(5, 10).epsilon() == 0.0


# -- never less than microaggregation --------------------------------------------------------------


def test_equal_means_are_told_apart() -> None:
    one, other = [1.0, 2, 3], [2.0, 2, 2]
    assert privacy_loss_at_equal_centroids("dp_um", one, other, 9.0, 0.1) == 0.0
    assert privacy_loss_at_equal_centroids("idp_cbls", one, other, 9.0, 0.1) == math.inf
    # Scales (9 - 1) / 3 and (9 - 2) / 3 over epsilon .1: 80 / 3 and 70 / 3. The density at the mean
    # differs by ln(8 / 7), the atom at 9 by 7 * (3 / 70 - 3 / 80).
    expected = max(math.log(8 / 7), 0.3 - 7 * 3 / 80)
    assert privacy_loss_at_equal_centroids("idp_ls", one, other, 9.0, 0.1) == pytest.approx(
        expected, rel=1e-12
    )


def test_certain_values_by_hand() -> None:
    # (0, 0, 0), (1, 2, 3), (5, 5, 5), (5, 5, 5), (7, 7, 7): means tell of all but (1, 2, 3), which
    # is not equal, and (7, 7, 7), which could be (6, 7, 8).
    values = np.array([0, 0, 0, 1, 2, 3, 5, 5, 5, 5, 5, 5, 7, 7, 7], dtype=float)
    assert certain_values(Cut(values, 3, 9.0)) == (0.6, 0.8)


def test_the_audited_mechanism_is_the_one_that_ships() -> None:
    # Releases of `masking` have the atoms and the spread that the attack's model says.
    values = np.arange(9.0)[:, None]
    shipped = masking("idp_cbls", Ranking.of(values), 3, [12.0], 1.0)
    model = NoisyCentroids(shipped.centres[0], shipped.scales[0], np.full(3, 12.0))
    draws = model.draw(np.random.default_rng(0), 20_000)
    at_0 = 0.5 * np.exp(-model.centres / model.scales)
    error = np.sqrt(at_0 * (1 - at_0) / 20_000)
    assert np.all(np.abs((draws == 0).mean(axis=0) - at_0) < 5 * error)
