"""EM on a grid against other ways to the same maximum, its smoothing."""

from fractions import Fraction

import numpy as np
import pytest
import scipy

from deniable.channels import DenseChannel, KeepOrReplace, SquareWave, laplace_channel
from deniable.errors import ChannelError
from deniable.estimation import grid_estimate

THREE = DenseChannel(
    np.array([[0.5, 0.25, 0.25, 0.0], [0.125, 0.5, 0.125, 0.25], [0, 0.25, 0.25, 0.5]])
)


def directly(matrix: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Maximize sum of n_v ln (P' x)_v over distributions by sequential quadratic programming."""
    shares = counts / counts.sum()
    found = scipy.optimize.minimize(
        lambda x: -float(shares @ np.log(np.maximum(x @ matrix, 1e-300))),
        np.full(len(matrix), 1 / len(matrix)),
        jac=lambda x: -matrix @ (shares / np.maximum(x @ matrix, 1e-300)),
        bounds=[(0, 1)] * len(matrix),
        constraints={"type": "eq", "fun": lambda x: x.sum() - 1, "jac": np.ones_like},
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    assert found.success
    return np.asarray(found.x)


@pytest.mark.parametrize(
    ("channel", "counts"),
    [
        (THREE, [40, 30, 20, 30]),
        (THREE, [90, 30, 20, 0]),  # a maximum on the border
        (SquareWave(4, 1, 0.75), [10, 20, 40, 45, 30, 12]),
        (SquareWave(4, 0, 0.625), [5, 40, 10, 60]),
        (laplace_channel(5, 4.0, 2), [3, 9, 20, 40, 25, 12, 8, 4, 2]),
    ],
)
def test_em_that_goes_on_is_maximum_likelihood(channel, counts):
    numbers = np.array(counts, dtype=float)
    found = grid_estimate(numbers, channel, smoothed=False, rise=1e-12, iterations=200_000)
    best = directly(channel.matrix(), numbers)
    np.testing.assert_allclose(found, best, atol=2e-4)
    height = numbers @ np.log(found @ channel.matrix())
    assert height >= numbers @ np.log(best @ channel.matrix()) - 1e-6


def steps(
    matrix: list[list[Fraction]] | list[list[float]], counts: list[int], number: int, smoothed: bool
):
    """EM from the uniform distribution, step by step, in fractions or in floats."""
    size, total = len(matrix), sum(counts)
    x = [Fraction(1, size)] * size
    for _ in range(number):
        reported = [sum(x[u] * matrix[u][v] for u in range(size)) for v in range(len(counts))]
        x = [
            x[u] * sum(matrix[u][v] * n / reported[v] for v, n in enumerate(counts)) / total
            for u in range(size)
        ]
        if smoothed:
            at = [max(u - 1, 0) for u in range(size)], [min(u + 1, size - 1) for u in range(size)]
            x = [(x[a] + 2 * x[u] + x[b]) / 4 for u, (a, b) in enumerate(zip(*at, strict=True))]
    return [float(each) for each in x]


@pytest.mark.parametrize("smoothed", [True, False])
@pytest.mark.parametrize("number", [1, 2, 5])
@pytest.mark.filterwarnings("ignore:EM of")
def test_steps_are_the_definition(smoothed, number):
    matrix = [[Fraction(float(p)) for p in row] for row in THREE.entries]
    counts = [40, 30, 20, 30]
    found = grid_estimate(counts, THREE, smoothed=smoothed, rise=1e-300, iterations=number)
    np.testing.assert_allclose(found, steps(matrix, counts, number, smoothed), rtol=1e-13)


@pytest.mark.parametrize("smoothed", [True, False])
def test_steps_end_where_the_log_likelihood_changes_by_less(smoothed):
    counts, rise = np.array([40, 30, 20, 30]), 1e-2
    found = grid_estimate(counts, THREE, smoothed=smoothed, rise=rise)
    matrix = THREE.entries.tolist()  # in floats: fractions of many steps grow without end
    heights = [
        counts @ np.log(steps(matrix, counts.tolist(), number, smoothed) @ THREE.entries)
        for number in range(1, 40)
    ]
    last = next(i for i in range(1, 39) if abs(heights[i] - heights[i - 1]) < rise)
    np.testing.assert_allclose(
        found, steps(matrix, counts.tolist(), last + 1, smoothed), rtol=1e-12
    )


def test_tables_of_a_batch_are_estimated_each_on_its_own():
    wave = SquareWave.of_epsilon(8, 2.0)
    tables = np.random.default_rng(3).integers(0, 90, (2, 3, wave.reports))
    together = grid_estimate(tables, wave)
    assert together.shape == (2, 3, 8)
    for at in np.ndindex(2, 3):
        np.testing.assert_allclose(together[at], grid_estimate(tables[at], wave), rtol=1e-10)
    np.testing.assert_allclose(together.sum(axis=-1), 1, rtol=1e-12)


def test_the_most_steps_are_said_to_have_ended_it():
    with pytest.warns(RuntimeWarning, match="EM of 1 tables stopped after 3 steps"):
        grid_estimate([40, 30, 20, 30], THREE, rise=1e-300, iterations=3)


def test_what_cannot_have_been_reported_is_refused():
    channel = DenseChannel(np.array([[0.5, 0.5, 0.0], [0.25, 0.75, 0.0]]))
    with pytest.raises(ChannelError, match="cannot produce"):
        grid_estimate([1, 1, 1], channel)
    assert np.isfinite(grid_estimate([1, 1, 0], channel)).all()


def test_what_is_no_point_is_not_smoothed() -> None:
    # All is missing: a step of smoothing would move a quarter of it to the last point.
    channel = KeepOrReplace.uniform(5, 0.9)
    counts = 1000 * channel.matrix()[4]
    found = grid_estimate(counts, channel, apart=1)
    assert found[4] > 0.99
    assert grid_estimate(counts, channel)[4] < 0.8
    # Of one alike on all points nothing changes.
    counts = 1000 * (channel.matrix()[:4].mean(axis=0) / 2 + channel.matrix()[4] / 2)
    assert grid_estimate(counts, channel, apart=1) == pytest.approx([0.125] * 4 + [0.5], abs=1e-2)
