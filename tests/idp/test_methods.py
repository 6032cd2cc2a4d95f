"""Sensitivities against brute force in fractions; the four releases against the obvious loop."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, strategies as st
from scipy import stats

from deniable.errors import DeniableError
from deniable.idp.methods import (
    METHODS,
    Method,
    centroids,
    domain_bounds,
    masking,
    sensitivity,
    split_budget,
)
from deniable.idp.microaggregation import Ranking
from deniable.sampling import SeededNoise

UPPER = 12
clusters_of_values = st.lists(st.integers(0, UPPER), min_size=3, max_size=7)


class Ones:
    """Noise that adds its scale: what is random can then be compared number by number."""

    def add(self, values: np.ndarray, scales: np.ndarray, runs: int) -> np.ndarray:
        return np.stack([values + (run + 1) * scales for run in range(runs)])

    def add_whole(self, counts: np.ndarray, scale: float) -> np.ndarray:
        return counts


def one_cluster(values: list[int]) -> tuple[np.ndarray, Ranking]:
    column = np.array(values, dtype=float)[:, None]
    return column, Ranking.of(column)


def mean(values: list[int]) -> Fraction:
    return Fraction(sum(values), len(values))


def preprocessed_mean(values: list[int]) -> Fraction:
    """[idp], 3.2.2, word by word."""
    x = sorted(values)
    x[0], x[-1] = x[1], x[-2]
    return mean([x[1], *x[1:-1], x[-2]]) if len(x) > 3 else Fraction(sorted(values)[1])


def largest_change(values: list[int], of: object, candidates: range) -> Fraction:
    changes = [
        abs(of([*values[:i], new, *values[i + 1 :]]) - of(values))  # type: ignore[operator]
        for i in range(len(values))
        for new in candidates
    ]
    return max(changes)


@given(clusters_of_values)
def test_local_sensitivity_is_the_largest_change(values: list[int]) -> None:
    _, ranking = one_cluster(values)
    found = sensitivity("idp_ls", ranking.clusters(len(values)), UPPER)
    assert abs(found[0, 0] - largest_change(values, mean, range(UPPER + 1))) < 1e-12


@given(clusters_of_values)
def test_cluster_based_sensitivity_is_the_largest_change(values: list[int]) -> None:
    _, ranking = one_cluster(values)
    found = sensitivity("idp_cbls", ranking.clusters(len(values)), UPPER)
    # The cluster's own values bound what a change can do, so beyond them the domain is endless.
    largest = largest_change(values, preprocessed_mean, range(-2 * UPPER, 4 * UPPER))
    assert abs(found[0, 0] - largest) < 1e-12


@given(clusters_of_values)
def test_preprocessed_centroids(values: list[int]) -> None:
    _, ranking = one_cluster(values)
    found = centroids(ranking.clusters(len(values)), "preprocessed")
    assert abs(found[0, 0] - preprocessed_mean(values)) < 1e-12


@given(clusters_of_values)
def test_the_prose_of_proposition_3_is_never_larger(values: list[int]) -> None:
    _, ranking = one_cluster(values)
    clusters = ranking.clusters(len(values))
    prose = sensitivity("idp_cbls_prose", clusters, UPPER)
    exact = sensitivity("idp_cbls", clusters, UPPER)
    assert prose[0, 0] <= exact[0, 0] + 1e-12
    assert exact[0, 0] <= 2 * prose[0, 0] + 1e-12


def test_the_prose_of_proposition_3_is_too_small_by_a_factor_of_2() -> None:
    values = [0, 0, 0, 0, 8]
    clusters = one_cluster(values)[1].clusters(5)
    assert sensitivity("idp_cbls_prose", clusters, UPPER)[0, 0] == pytest.approx(8 / 5, abs=1e-12)
    assert largest_change(values, preprocessed_mean, range(20)) == Fraction(16, 5)


def test_global_sensitivity_is_the_worst_local_one() -> None:
    for values in itertools.combinations_with_replacement(range(4), 3):
        clusters = one_cluster(list(values))[1].clusters(3)
        assert sensitivity("idp_ls", clusters, 3.0) <= sensitivity("dp_um", clusters, 3.0)
    constant = one_cluster([3, 3, 3])[1].clusters(3)
    assert sensitivity("idp_ls", constant, 3.0) == sensitivity("dp_um", constant, 3.0) == 1.0


def test_a_masking_by_hand() -> None:
    values = [[1.0, 8.0], [2.0, 8.0], [4.0, 8.0], [9.0, 8.0], [5.0, 8.0]]
    ranking, upper = Ranking.of(values), [18.0, 16.0]
    # One cluster of all five: 1, 2, 4, 5, 9 and five times 8. Half of epsilon 1 for each attribute.
    expected = {
        "dp_um": ([21 / 5, 8], [2 * 18 / 5, 2 * 16 / 5]),
        "idp_ls": ([21 / 5, 8], [2 * 17 / 5, 2 * 8 / 5]),
        "idp_cbls": ([18 / 5, 8], [2 * 13 / 5, 0]),  # (9-2) + (4-2) + (9-5) and (5-1) + (5-4) + 1
    }
    for method, (centres, scales) in expected.items():
        found = masking(method, ranking, 5, upper, 1.0)  # type: ignore[arg-type]
        np.testing.assert_allclose(found.centres[:, 0], centres, atol=1e-12)
        np.testing.assert_allclose(found.scales[:, 0], scales, atol=1e-12)
    found = masking("dp", ranking, 5, upper, 1.0)
    np.testing.assert_array_equal(found.centres, ranking.values)
    np.testing.assert_allclose(found.scales, [[36.0] * 5, [32.0] * 5])


@pytest.mark.parametrize("method", METHODS)
def test_the_release_is_that_of_the_loop(method: Method) -> None:
    generator = np.random.default_rng(4)
    values = generator.integers(0, 40, size=(23, 3)).astype(float)
    upper, k, epsilon = domain_bounds(values, 1.5), 4, 3.0
    found = masking(method, Ranking.of(values), k, upper, epsilon).mask(Ones(), 2)
    for j, run in itertools.product(range(3), range(2)):
        order = sorted(range(23), key=lambda i, j=j: (values[i, j], i))
        if method == "dp":
            parts = [[i] for i in order]
        else:
            parts = [order[4 * c : 4 * c + 4] for c in range(4)] + [order[16:]]
        for part in parts:
            x = [int(values[i, j]) for i in part]
            centre = preprocessed_mean(x) if method == "idp_cbls" else mean(x)
            if method == "idp_cbls":
                sensitivity = largest_change(x, preprocessed_mean, range(-50, 150))
            elif method == "idp_ls":
                sensitivity = max(upper[j] - min(x), *x) / len(x)
            else:
                sensitivity = upper[j] / len(x)
            noisy = float(centre) + (run + 1) * float(sensitivity) / (epsilon / 3)
            expected = min(max(noisy, 0.0), upper[j])
            np.testing.assert_allclose(found[run, part, j], expected, rtol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_values_stay_in_the_domain_and_clusters_share_theirs(method: Method) -> None:
    values = np.random.default_rng(5).exponential(size=(40, 2))
    upper = domain_bounds(values, 1.5)
    found = masking(method, Ranking.of(values), 5, upper, 0.5)
    masked = found.mask(SeededNoise(np.random.default_rng(6)), 50)
    assert masked.shape == (50, 40, 2)
    assert np.all((masked >= 0) & (masked <= upper))
    assert np.any(masked == upper)
    for j, memberships in enumerate(found.clusters.memberships):
        for cluster in range(found.clusters.number):
            assert np.ptp(masked[:, memberships == cluster, j], axis=1).max() == 0


def test_centroids_get_noise_of_their_scale() -> None:
    values = np.random.default_rng(7).normal(1000, 1, size=(60, 2))
    found = masking("idp_cbls", Ranking.of(values), 6, domain_bounds(values, 2.0), 1.0)
    noisy = found.noisy_centroids(SeededNoise(np.random.default_rng(8)), 400)
    standard = (noisy - found.centres) / found.scales  # never clipped: 1000 scales to the ends
    assert stats.kstest(standard.reshape(-1), stats.laplace.cdf).pvalue > 1e-6


def test_equal_values_are_released_without_noise() -> None:
    values = np.array([[0.1]] * 6 + [[0.3], [0.4], [0.5]])
    found = masking("idp_cbls", Ranking.of(values), 3, [1.0], 0.01)
    assert (found.scales == 0).mean(axis=1) == pytest.approx([2 / 3])
    masked = found.mask(SeededNoise(np.random.default_rng(9)), 5)
    assert np.all(masked[:, :6, 0] == 0.1)
    assert np.all(masking("idp_ls", Ranking.of(values), 3, [1.0], 0.01).scales > 0)


def test_proposition_1_bounds_the_ratio_of_densities() -> None:
    # A query at the actual data answers 3; at the neighbours 3 + d with |d| <= 2.
    epsilon, sensitivity = 0.7, 2.0
    answers = np.linspace(-20, 20, 801)
    scale = sensitivity / epsilon
    for apart in np.linspace(-sensitivity, sensitivity, 9):
        ratio = stats.laplace.logpdf(answers, 3, scale) - stats.laplace.logpdf(
            answers, 3 + apart, scale
        )
        assert np.max(np.abs(ratio)) <= epsilon + 1e-12


def test_budgets() -> None:
    np.testing.assert_allclose(split_budget(0.9, 9), np.full(9, 0.1), rtol=1e-15)
    for wrong in (0.0, -1.0, np.inf, np.nan):
        with pytest.raises(DeniableError, match="above 0"):
            split_budget(wrong, 2)


@given(st.floats(1e-6, 1e3), st.integers(1, 60))
@example(1.1, 49)  # 49 times 1.1 / 49 is above 1.1
def test_shares_never_exceed_the_budget_and_miss_it_by_rounding(epsilon: float, m: int) -> None:
    total = sum(map(Fraction, split_budget(epsilon, m).tolist()))
    assert Fraction(epsilon) * (1 - Fraction(1, 2**52)) <= total <= Fraction(epsilon)


def test_refusals() -> None:
    ranking = Ranking.of([[1.0], [2.0], [3.0], [4.0]])
    with pytest.raises(DeniableError, match="unknown method 'idp'"):
        masking("idp", ranking, 3, [4.0], 1.0)  # type: ignore[arg-type]
    with pytest.raises(DeniableError, match="at least 3 values"):
        masking("idp_cbls", ranking, 2, [4.0], 1.0)
    with pytest.raises(DeniableError, match=r"column 0 .* from 1 to 4, .* \[0, 3\]"):
        masking("idp_ls", ranking, 3, [3.0], 1.0)
    with pytest.raises(DeniableError, match="column 0"):
        masking("dp", Ranking.of([[-1.0], [2.0]]), 1, [3.0], 1.0)
    with pytest.raises(DeniableError, match="each of 1 attributes"):
        masking("dp", ranking, 1, [4.0, 5.0], 1.0)
    with pytest.raises(DeniableError, match="at least 1"):
        domain_bounds([[1.0]], 0.5)
