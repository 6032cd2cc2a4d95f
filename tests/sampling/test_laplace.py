"""Both sources of Laplace noise have the distribution that they claim, and so the same one."""

import numpy as np
import pytest
from scipy import stats

from deniable.errors import DeniableError
from deniable.sampling import laplace
from deniable.sampling.laplace import Noise, SeededNoise, SystemNoise

FALSE_ALARM = 1e-6
"""Of each test on the system's draws, which no seed can fix."""
SOURCES = {
    "seeded": lambda: SeededNoise(np.random.default_rng(20260101)),
    "system": SystemNoise,
}


@pytest.fixture(params=SOURCES)
def noise(request: pytest.FixtureRequest) -> Noise:
    return SOURCES[request.param]()


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e5])
def test_draws_are_laplace(noise: Noise, scale: float) -> None:
    values = np.full(400, 7.0)
    draws = noise.add(values, np.full(400, scale), 10).reshape(-1) - 7.0
    assert stats.kstest(draws, stats.laplace(scale=scale).cdf).pvalue > FALSE_ALARM


def test_both_sources_have_one_distribution() -> None:
    scales = np.array([0.5, 2.0, 2.0, 30.0])
    seeded, system = (
        source().add(np.zeros(4), scales, 1500) / scales for source in SOURCES.values()
    )
    assert stats.ks_2samp(seeded.reshape(-1), system.reshape(-1)).pvalue > FALSE_ALARM


def test_draws_are_independent(noise: Noise) -> None:
    draws = noise.add(np.zeros(2), np.array([1.0, 1.0]), 3000)
    assert stats.spearmanr(draws[:, 0], draws[:, 1]).pvalue > FALSE_ALARM
    assert stats.spearmanr(draws[1:, 0], draws[:-1, 0]).pvalue > FALSE_ALARM


def test_scales_stay_with_their_values(noise: Noise) -> None:
    values = np.array([[1e6, 0.0, -50.0], [3.0, 4.0, 5.0]])
    scales = np.array([[1e-6, 0.0, 1.0], [0.0, 1e-3, 1e-6]])
    drawn = noise.add(values, scales, 4)
    assert drawn.shape == (4, 2, 3)
    # 60 scales: exceeded with probability exp(-60) each.
    assert np.all(np.abs(drawn - values) <= 60 * scales + 1e-9)
    assert np.all(drawn[:, 0, 1] == 0.0)
    assert np.all(drawn[:, 1, 0] == 3.0)
    assert len(np.unique(drawn[:, 0, 2])) == 4


@pytest.mark.parametrize("scale", [0.4, 3.0])
def test_discrete_draws_have_their_probabilities(noise: Noise, scale: float) -> None:
    draws = noise.add_whole(np.full(6000, 10), scale) - 10
    assert draws.dtype == np.int64
    q = np.exp(-1 / scale)
    inner = np.arange(-3, 4)
    expected = (1 - q) / (1 + q) * q ** np.abs(inner)
    observed = np.array([np.sum(draws == z) for z in inner] + [np.sum(np.abs(draws) > 3)])
    found = stats.chisquare(observed, 6000 * np.append(expected, 1 - expected.sum()))
    assert found.pvalue > FALSE_ALARM


def test_opendp_takes_scale_and_sensitivity_at_their_word() -> None:
    # The grid of 2**-1074 costs nothing: the claim is sensitivity / scale, no relaxation added.
    assert laplace.GRANULARITY == -1074
    assert laplace._laplace(2.0).map(1.0) == 0.5
    assert laplace._laplace(0.25).map(1.0) == 4.0


@pytest.mark.parametrize("scale", [0.0, -1.0, np.inf])
def test_refuses_impossible_discrete_scales(noise: Noise, scale: float) -> None:
    with pytest.raises(DeniableError, match="above 0"):
        noise.add_whole(np.array([1]), scale)


@pytest.mark.parametrize("scales", [[-1.0], [np.nan], [1.0, 2.0]])
def test_refuses_impossible_scales(noise: Noise, scales: list[float]) -> None:
    with pytest.raises(DeniableError, match="scales"):
        noise.add(np.array([1.0]), np.array(scales), 1)
