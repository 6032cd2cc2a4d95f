"""Mean SSE: by clusters against record by record, expectations against integrals."""

import numpy as np
import pytest
from scipy import integrate, stats

from deniable.errors import DeniableError
from deniable.idp.methods import METHODS, Method, domain_bounds, masking
from deniable.idp.microaggregation import Ranking
from deniable.idp.utility import (
    expected_squares,
    expected_sse,
    masking_sse,
    mean_sse,
    sample_variances,
)
from deniable.sampling import SeededNoise


@pytest.fixture(scope="module")
def values() -> np.ndarray:
    generator = np.random.default_rng(1)
    skewed = generator.exponential(3, size=(47, 2))
    return np.column_stack([skewed, generator.integers(0, 3, 47)])


def test_mean_sse_by_hand() -> None:
    # Variances 2 and 8; squares 1 and 0, 4 and 16: (1/2 + 4/8 + 0 + 16/8) / 4.
    original = [[0.0, 0.0], [2.0, 4.0]]
    masked = [[1.0, 2.0], [2.0, 0.0]]
    assert mean_sse(original, masked) == pytest.approx(3 / 4, abs=1e-12)
    everybody_the_mean = np.tile(np.mean(original, axis=0), (2, 1))
    assert mean_sse(original, everybody_the_mean) == pytest.approx(1 / 2, abs=1e-12)  # (n - 1) / n


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("k", [3, 5, 47])
def test_clusters_give_the_sse_of_records(values: np.ndarray, method: Method, k: int) -> None:
    found = masking(method, Ranking.of(values), k, domain_bounds(values, 1.5), 2.0)
    noisy = found.noisy_centroids(SeededNoise(np.random.default_rng(2)), 6)
    by_records = mean_sse(values, found.clusters.expand(noisy))
    by_clusters = masking_sse(found, noisy, sample_variances(values))
    np.testing.assert_allclose(by_clusters, by_records, rtol=1e-12)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("epsilon", [0.05, 1.0, 50.0])
def test_the_expectation_is_that_of_the_runs(
    values: np.ndarray, method: Method, epsilon: float
) -> None:
    found = masking(method, Ranking.of(values), 4, domain_bounds(values, 1.5), epsilon)
    variances = sample_variances(values)
    noisy = found.noisy_centroids(SeededNoise(np.random.default_rng(3)), 4000)
    runs = masking_sse(found, noisy, variances)
    error = runs.std(ddof=1) / np.sqrt(len(runs))
    assert abs(runs.mean() - expected_sse(found, variances)) < 5.5 * error  # 4e-8 a case


def test_expected_squares_are_the_integrals(values: np.ndarray) -> None:
    found = masking("idp_cbls", Ranking.of(values), 10, domain_bounds(values, 1.2), 3.0)
    targets = found.clusters.smallest()
    expected = expected_squares(found, targets)
    for j, c in np.ndindex(*expected.shape):
        centre, scale, upper = found.centres[j, c], found.scales[j, c], found.upper[j]
        if scale == 0:
            assert expected[j, c] == (centre - targets[j, c]) ** 2
            continue
        noise = stats.laplace(centre, scale)
        inner = sum(
            integrate.quad(lambda v: (v - targets[j, c]) ** 2 * noise.pdf(v), *ends)[0]  # noqa: B023
            for ends in ((0, centre), (centre, upper))
        )
        tails = targets[j, c] ** 2 * noise.cdf(0) + (upper - targets[j, c]) ** 2 * noise.sf(upper)
        assert expected[j, c] == pytest.approx(inner + tails, rel=1e-8)


def test_no_noise_no_domain_left(values: np.ndarray) -> None:
    ranking, variances = Ranking.of(values), sample_variances(values)
    upper = domain_bounds(values, 1.5)
    still = masking("dp_um", ranking, 5, upper, 1e9)
    alone = masking_sse(still, still.clusters.centroids[None], variances)[0]
    assert expected_sse(still, variances) == pytest.approx(alone, rel=1e-6)
    # Endless noise leaves each end of the domain with probability 1/2.
    lost = masking("dp", ranking, 1, upper, 1e-4)
    ends = (mean_sse(values, 0 * values) + mean_sse(values, np.tile(upper, (len(values), 1)))) / 2
    assert expected_sse(lost, variances) == pytest.approx(ends, rel=1e-4)


def test_refusals() -> None:
    with pytest.raises(DeniableError, match="column 1 is constant"):
        sample_variances([[1.0, 5.0], [2.0, 5.0]])
    with pytest.raises(DeniableError, match="at least 2 records"):
        sample_variances([[1.0, 5.0]])
