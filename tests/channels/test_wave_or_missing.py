"""The square wave with missing values, against its definition in fractions."""

import math
from fractions import Fraction

import numpy as np
import pytest
from tests.channels.channel_cases import fit_p_value

from deniable.channels import (
    SquareWave,
    SquareWaveOrMissing,
    channel_from_json,
    channel_to_json,
    log_rounded_up,
)
from deniable.errors import ChannelError
from deniable.sampling import KeyedDraws

ALARM = 1e-6


@pytest.mark.parametrize(
    ("cells", "epsilon"), [(2, 1.0), (11, 0.01), (61, 1.0), (61, 8.0), (200, 2.0), (5, 30.0)]
)
def test_the_exact_epsilon_is_at_most_the_one_asked_for(cells: int, epsilon: float) -> None:
    channel = SquareWaveOrMissing.of_epsilon(cells, epsilon)
    rows = [[Fraction(p) for p in row] for row in channel.matrix().tolist()]
    proportions = [[p / sum(row) for p in row] for row in rows]
    worst = max(max(column) / min(column) for column in zip(*proportions, strict=True))
    assert channel.exact_parity == worst
    assert channel.epsilon == log_rounded_up(worst) <= epsilon
    assert channel.epsilon == pytest.approx(epsilon, rel=1e-9)


def test_numbers_go_through_the_wave_and_missing_values_anywhere() -> None:
    channel = SquareWaveOrMissing.of_epsilon(20, 1.5)
    matrix, wave = channel.matrix(), SquareWave.of_epsilon(20, 1.5)
    told = matrix[:-1, :-1] / matrix[:-1, :-1].sum(axis=1, keepdims=True)
    assert told == pytest.approx(wave.matrix(), abs=1e-12)
    assert np.ptp(matrix[:-1, -1]) == np.ptp(matrix[-1, :-1]) == 0
    assert matrix[-1, -1] / matrix[0, -1] == pytest.approx(math.exp(1.5))


def test_it_is_the_same_again_from_its_parameters() -> None:
    channel = SquareWaveOrMissing.of_epsilon(13, 0.7)
    again = channel_from_json(channel_to_json(channel))
    assert isinstance(again, SquareWaveOrMissing)
    assert np.array_equal(again.matrix(), channel.matrix())
    assert channel_to_json(again) == channel_to_json(channel)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 2.5])
@pytest.mark.parametrize("cells", [3, 13, 61])
def test_epsilon_follows_exactly_from_the_stated_weights(cells: int, epsilon: float) -> None:
    """The epsilon that anybody can compute from the JSON values, in fractions."""
    channel = SquareWaveOrMissing.of_epsilon(cells, epsilon)
    stated = channel_to_json(channel)
    near, far, made, spread, kept = stated["weights"]["weights"]
    window, reports = 2 * stated["half_width"] + 1, cells + 2 * stated["half_width"]
    number = window * near + (cells - 1) * far + made
    missing = reports * spread + kept
    numbers = Fraction(near, far)
    crossed = [Fraction(near, number) / Fraction(spread, missing)]
    crossed += [Fraction(far, number) / Fraction(spread, missing)]
    crossed += [Fraction(made, number) / Fraction(kept, missing)]
    worst = max(max(each, 1 / each) for each in [numbers, *crossed])
    assert channel.epsilon == log_rounded_up(worst) <= epsilon


@pytest.mark.parametrize(
    ("weights", "said"),
    [([0.5, 0.5], "give five"), ([0.9, 0.1, 0.1, 0.1, 0.7], "row 0 sums"), ([-1] * 5, "negative")],
)
def test_weights_that_are_no_channel_are_refused(weights: list[float], said: str) -> None:
    with pytest.raises(ChannelError, match=said):
        SquareWaveOrMissing(3, 1, np.array(weights))


def test_keyed_draws_fit_the_matrix() -> None:
    channel = SquareWaveOrMissing.of_epsilon(6, 1.0)
    column = KeyedDraws(bytes(32), b"test").column(["x"], 70_000)
    codes = np.repeat(np.arange(7), 10_000).astype(np.uint8)
    reports = channel.randomize_keyed(codes, column)
    p_values = [
        fit_p_value(np.bincount(reports[codes == u], minlength=channel.reports), row)
        for u, row in enumerate(channel.matrix())
    ]
    assert min(p_values) > ALARM
