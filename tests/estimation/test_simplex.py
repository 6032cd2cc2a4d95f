"""Projections onto the simplex, each against an independent optimum."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import optimize

from deniable.errors import DeniableError
from deniable.estimation.simplex import clip_and_rescale, euclidean_projection

SEEDED = settings(deadline=None, max_examples=150, derandomize=True)
vectors = st.lists(st.floats(-3, 3), min_size=1, max_size=6).map(np.array)


def exact_projection(vector: np.ndarray) -> list[Fraction]:
    """The nearest point among the projections onto all faces, in fractions."""
    x = [Fraction(float(v)) for v in vector]
    best, least = None, None
    for size in range(1, len(x) + 1):
        for face in combinations(range(len(x)), size):
            shift = (sum(x[i] for i in face) - 1) / size
            point = [x[i] - shift if i in face else Fraction(0) for i in range(len(x))]
            distance = sum((p - v) ** 2 for p, v in zip(point, x, strict=True))
            if min(point) >= 0 and (least is None or distance < least):
                best, least = point, distance
    return best


def assert_on_simplex(values: np.ndarray) -> None:
    assert np.all(values >= 0)
    np.testing.assert_allclose(values.sum(axis=-1), 1, rtol=1e-12)


def test_clip_and_rescale_by_hand():
    np.testing.assert_array_equal(
        clip_and_rescale([[-1, 1, 3], [2, 2, 0]]), [[0, 0.25, 0.75], [0.5, 0.5, 0]]
    )


def test_euclidean_projection_by_hand():
    # (1.2, .3, -.5): subtract .25 from the first two; (.6, .6, .6) -> thirds; (9, 0) -> a corner.
    np.testing.assert_allclose(
        euclidean_projection([[1.2, 0.3, -0.5], [0.6, 0.6, 0.6], [9, 0, 0]]),
        [[0.95, 0.05, 0], [1 / 3] * 3, [1, 0, 0]],
        atol=1e-15,
    )


@SEEDED
@given(vectors)
def test_euclidean_projection_is_the_closest(vector):
    found = euclidean_projection(vector)
    assert_on_simplex(found)
    np.testing.assert_allclose(found, [float(x) for x in exact_projection(vector)], atol=1e-14)


def test_euclidean_projection_against_a_general_optimizer():
    rng = np.random.default_rng(2)
    for _ in range(5):
        vector = rng.normal(0.2, 0.5, 8)
        found = optimize.minimize(
            lambda x, vector=vector: np.sum((x - vector) ** 2),
            np.full(8, 1 / 8),
            bounds=[(0, 1)] * 8,
            constraints={"type": "eq", "fun": lambda x: x.sum() - 1},
            options={"ftol": 1e-14},
        )
        np.testing.assert_allclose(euclidean_projection(vector), found.x, atol=1e-6)


@SEEDED
@given(st.lists(st.integers(0, 50), min_size=1, max_size=8).filter(any))
def test_projections_leave_distributions_alone(weights):
    distribution = np.array(weights, float) / sum(weights)
    for project in (clip_and_rescale, euclidean_projection):
        np.testing.assert_allclose(project(distribution), distribution, atol=3e-16)
        assert_on_simplex(project(distribution))


@SEEDED
@given(vectors)
def test_projections_twice_are_projections_once(vector):
    once = euclidean_projection(vector)
    np.testing.assert_allclose(euclidean_projection(once), once, atol=3e-16)
    if vector.max() > 0:
        once = clip_and_rescale(vector)
        np.testing.assert_allclose(clip_and_rescale(once), once, atol=3e-16)


@pytest.mark.parametrize("project", [clip_and_rescale, euclidean_projection])
def test_projections_of_a_batch_are_a_loop(project):
    batch = np.random.default_rng(1).normal(0.3, 1, (4, 5, 6))
    batch[..., 0] = 0.5
    np.testing.assert_array_equal(project(batch), [[project(x) for x in xs] for xs in batch])


def test_euclidean_projection_of_what_a_nearly_singular_channel_estimates():
    # At 1e17 the "- 1" is below a float's last digit.
    np.testing.assert_array_equal(euclidean_projection([1e17, 0.9e17, -1e17]), [1, 0, 0])
    np.testing.assert_array_equal(euclidean_projection([-1e17, 1e17, 1e17]), [0, 0.5, 0.5])


def test_projections_refuse_what_they_cannot_project():
    with pytest.raises(DeniableError, match="without any positive entry"):
        clip_and_rescale([[1, 0], [-1, 0]])
    for project in (clip_and_rescale, euclidean_projection):
        for bad in ([np.nan, 1], [np.inf, 1]):
            with pytest.raises(DeniableError, match="not finite"):
                project(bad)
        for empty in ([], 3.0):
            with pytest.raises(DeniableError, match="at least one category"):
                project(empty)
