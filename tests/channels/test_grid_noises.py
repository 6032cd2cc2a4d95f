"""Added noises against sums of their probabilities, term by term, and their epsilon."""

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from tests.channels.channel_cases import exact_matrix, exact_parity
from tests.channels.test_square_wave import above

from deniable.channels import laplace_channel, staircase_channel
from deniable.errors import ChannelError

SEEDED = settings(deadline=None, max_examples=40, derandomize=True)
MAKERS = {"laplace": laplace_channel, "staircase": staircase_channel}
EVERY = pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS.keys())
FAR = 400


def laplace_weights(cells: int, epsilon: float) -> list[float]:
    return [math.exp(-epsilon * i / (cells - 1)) for i in range(FAR)]


def staircase_weights(cells: int, epsilon: float) -> list[float]:
    """Steps at r, r + D, r + 2 D, ..., each down by exp(epsilon), with D = cells - 1."""
    return min((steps_at(r, cells - 1, epsilon) for r in range(1, cells)), key=mean_noise)


def mean_noise(weights: list[float]) -> float:
    absolute = 2 * math.fsum(i * weight for i, weight in enumerate(weights))
    return absolute / (weights[0] + 2 * math.fsum(weights[1:]))


def steps_at(r: int, D: int, epsilon: float) -> list[float]:
    return [
        math.exp(-epsilon * sum(i >= r + step * D for step in range(FAR // D + 1)))
        for i in range(FAR)
    ]


def added(weights: list[float], cells: int, beyond: int) -> np.ndarray:
    """The matrix: every noise up to FAR on its own, reports beyond the ends moved there."""
    total = weights[0] + 2 * math.fsum(weights[1:])
    matrix = np.zeros((cells, cells + 2 * beyond))
    for u in range(cells):
        for i in range(1 - FAR, FAR):
            v = min(max(u + i, -beyond), cells - 1 + beyond)
            matrix[u, v + beyond] += weights[abs(i)] / total
    return matrix


@pytest.mark.parametrize(
    ("cells", "beyond", "epsilon"),
    [(2, 0, 1.0), (3, 2, 0.5), (6, 0, 2.0), (7, 9, 1.5), (5, 1, 8.0)],
)
def test_the_noise_is_what_is_added(cells, beyond, epsilon):
    for maker, weights in (
        (laplace_channel, laplace_weights),
        (staircase_channel, staircase_weights),
    ):
        expected = added(weights(cells, epsilon), cells, beyond)
        found = maker(cells, epsilon, beyond)
        np.testing.assert_allclose(found.matrix(), expected, rtol=1e-9)
        np.testing.assert_allclose(found.matrix().sum(axis=1), 1, rtol=1e-12)


@EVERY
@SEEDED
@given(cells=st.integers(2, 12), epsilon=st.floats(1e-6, 30), beyond=st.integers(0, 8))
def test_the_epsilon_that_is_asked_for_is_reached_and_not_exceeded(maker, cells, epsilon, beyond):
    channel = maker(cells, epsilon, beyond)
    parity = exact_parity(exact_matrix(channel))
    assert not above(parity, epsilon)
    assert channel.epsilon <= epsilon
    # What rounding takes: steps of 2^-50, doubled until the rows' rounding is made up for, which
    # is absolute, some 1e-16 of each entry.
    assert channel.epsilon >= epsilon - 1e-13 - 1e-14 * epsilon


@pytest.mark.parametrize(("cells", "epsilon", "first"), [(2, 1.0, 1), (21, 2.0, 6), (64, 1.0, 24)])
def test_the_first_step_of_the_staircase(cells, epsilon, first):
    # Next to (k - 1) / (1 + exp(epsilon / 2)) (Geng and Viswanath, 2014), 5.4 and 23.8.
    row = staircase_channel(cells, epsilon, 100).matrix()[0]
    assert np.flatnonzero(row[100:] < row[100] * 0.9)[0] == first


@EVERY
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1, 1.0), "cells is 1"),
        ((4.0, 1.0), "cells is 4.0"),
        ((4, 1.0, -1), "beyond is -1"),
        ((4, 0.0), "epsilon is 0"),
        ((4, math.nan), "epsilon is nan"),
        ((4, 31.0), "epsilon is 31"),
    ],
)
def test_what_is_no_grid_is_refused(maker, arguments, message):
    with pytest.raises(ChannelError, match=message):
        maker(*arguments)
