"""The square wave against its definition in fractions, and the epsilon that is asked for."""

import math
from decimal import Decimal, getcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from tests.channels.channel_cases import fit_p_value, floats, inverse, times, transposed

from deniable.channels import (
    DenseChannel,
    SquareWave,
    channel_from_json,
    channel_to_json,
    window_half_width,
)
from deniable.errors import ChannelError, DataError
from deniable.sampling import KeyedDraws, SystemRandomSource

SEEDED = settings(deadline=None, max_examples=60, derandomize=True)
ALARM = 1e-6
SHAPES = [(2, 0), (2, 1), (3, 1), (5, 0), (5, 2), (6, 1), (4, 7)]


def defined(cells: int, half_width: int, inside: float) -> list[list[Fraction]]:
    """Report v stands for the cell v - b; it is in the window of u if they are within b."""
    p = Fraction(inside)
    window = 2 * half_width + 1
    return [
        [
            p / window if abs(v - half_width - u) <= half_width else (1 - p) / (cells - 1)
            for v in range(cells + 2 * half_width)
        ]
        for u in range(cells)
    ]


@st.composite
def waves(draw: st.DrawFn) -> SquareWave:
    cells, b = draw(st.integers(2, 9)), draw(st.integers(0, 6))
    least = math.nextafter((2 * b + 1) / (cells + 2 * b), 1)
    return SquareWave(cells, b, draw(st.floats(least, 1)))


@SEEDED
@given(waves())
def test_everything_that_is_linear_is_that_of_the_matrix(wave):
    exact = defined(wave.cells, wave.half_width, wave.inside)
    P = floats(exact)
    assert all(sum(row) == 1 for row in exact)
    assert (wave.size, wave.reports) == P.shape
    np.testing.assert_allclose(wave.matrix(), P, rtol=1e-15)
    columns = [wave.exact_column(report) for report in range(wave.reports)]
    assert columns == transposed(exact)
    worst = max(max(column) / min(column) for column in columns) if wave.inside < 1 else None
    assert wave.exact_parity == worst
    x = np.arange(2.0 * wave.size).reshape(2, -1) ** 1.5
    y = np.arange(3.0 * wave.reports).reshape(3, -1) ** 1.5
    np.testing.assert_allclose(wave.reported(x), x @ P, rtol=1e-12)
    np.testing.assert_allclose(wave.expected(y), y @ P.T, rtol=1e-12)


@pytest.mark.parametrize(("cells", "half_width"), SHAPES)
def test_estimates_are_of_least_variance_at_even_cells(cells, half_width):
    # The inverse in fractions: L^-1 P' (P L^-1 P')^-1 with L = P' (1, ..., 1) / cells.
    wave = SquareWave(cells, half_width, 0.9375)
    P = defined(cells, half_width, 0.9375)
    scaled = [[x / sum(column) for x in column] for column in transposed(P)]
    D = times(scaled, inverse(times(P, scaled)))
    counts = [Fraction((5 * v) % 7 + 1) for v in range(wave.reports)]
    shares = [count / sum(counts) for count in counts]
    expected = floats(times([shares], D))[0]
    numbers = np.array(counts, dtype=float)
    np.testing.assert_allclose(wave.estimate(numbers, inverse="own"), expected, rtol=1e-10)
    squares = [[x * x for x in row] for row in D]
    np.testing.assert_allclose(
        wave.moments(np.array(shares, dtype=float), 2),
        floats(times([shares], squares))[0],
        rtol=1e-10,
    )
    np.testing.assert_allclose(
        wave.solve(np.eye(cells)), floats(transposed(D)), rtol=1e-9, atol=1e-12
    )


def test_least_variance_at_other_proportions_is_that_of_the_dense_channel():
    wave, truth = SquareWave(4, 1, 0.75), np.array([0.4, 0.3, 0.2, 0.1])
    dense = DenseChannel(wave.matrix())
    np.testing.assert_allclose(
        wave.covariance(truth, 100), dense.covariance(truth, 100), rtol=1e-10, atol=1e-15
    )
    counts = [10, 20, 30, 25, 10, 5]
    np.testing.assert_allclose(wave.estimate(counts), dense.estimate(counts), rtol=1e-10)


# -- privacy ---------------------------------------------------------------------------------------


def above(ratio: Fraction, epsilon: float) -> bool:
    """Whether ratio > exp(epsilon), by 60 digits of another library."""
    getcontext().prec = 60
    return Decimal(ratio.numerator) / Decimal(ratio.denominator) > Decimal(epsilon).exp()


@SEEDED
@given(st.integers(2, 40), st.floats(1e-9, 30), st.none() | st.integers(0, 20))
def test_the_epsilon_that_is_asked_for_is_reached_and_never_exceeded(cells, epsilon, half_width):
    wave = SquareWave.of_epsilon(cells, epsilon, half_width)
    inside, others, window = Fraction(wave.inside), cells - 1, 2 * wave.half_width + 1
    ratio = inside / window / ((1 - inside) / others)
    assert not above(ratio, epsilon)
    assert wave.epsilon <= epsilon
    # Two floats further it is exceeded: the last may be lost to a logarithm that is rounded up.
    more = Fraction(math.nextafter(math.nextafter(wave.inside, 1), 1))
    assert more >= 1 or above(more / window / ((1 - more) / others), epsilon)


@pytest.mark.parametrize(
    ("cells", "epsilon", "expected"),
    # In 30 digits, for a range of 10^6 cells: (x e^x - e^x + 1) / (2 e^x (e^x - 1 - x)).
    [(10**6, 1.0, 256082), (10**6, 0.00011, 499963), (10**6, 9e-5, 499970), (64, 1.0, 16)],
)
def test_the_width_is_that_of_the_rule(cells, epsilon, expected):
    getcontext().prec = 50
    x = Decimal(epsilon)
    e = x.exp()
    assert int((x * e - e + 1) / (2 * e * (e - 1 - x)) * cells) == expected
    assert window_half_width(cells, epsilon) == expected


def test_without_a_window_it_is_generalized_randomized_response():
    wave = SquareWave.of_epsilon(4, math.log(3), 0)
    np.testing.assert_allclose(wave.matrix(), (np.ones((4, 4)) + 2 * np.eye(4)) / 6, rtol=1e-12)


# -- draws -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("cells", "half_width"), SHAPES)
@pytest.mark.parametrize("way", ["source", "system", "key", "counts"])
def test_draws_have_the_distribution_of_the_row(cells, half_width, way):
    wave = SquareWave(cells, half_width, 0.9375)
    P, records = floats(defined(cells, half_width, 0.9375)), 20_000
    generator = np.random.default_rng([cells, half_width])
    for u in range(cells):
        codes = np.full(records, u, dtype=np.uint8)
        if way == "counts":
            true = np.bincount(codes, minlength=cells)
            counts = wave.randomize_counts(np.stack([true, 0 * true]), generator)
            assert not counts[1].any()
            counts = counts[0]
        else:
            if way == "key":
                draws = KeyedDraws(bytes(range(32)), f"{cells} {half_width} {u}".encode())
                reports = wave.report(codes, draws, ["age"])
            else:
                reports = wave.randomize(
                    codes, generator if way == "source" else SystemRandomSource()
                )
            assert reports.dtype == np.uint8
            counts = np.bincount(reports, minlength=wave.reports)
        assert counts.sum() == records
        # The system's numbers are new each time: an alarm once in 2.7e7 runs of these 27 cells.
        assert fit_p_value(counts, P[u]) > (1e-9 if way == "system" else ALARM)


def test_counts_of_all_cells_have_the_variance_of_randomized_records():
    # Given the true counts n_u the counts of reports have the covariance sum of n_u (diag - p p').
    wave, true = SquareWave(4, 1, 0.75), np.array([50, 0, 20, 130])
    P = floats(defined(4, 1, 0.75))
    drawn = wave.randomize_counts(np.tile(true, (20_000, 1)), np.random.default_rng(8))
    expected = np.diag(true @ P) - (P.T * true) @ P
    np.testing.assert_allclose(drawn.mean(axis=0), true @ P, rtol=0.01)
    # An entry of the covariance errs by some sqrt(2 / 20,000) of 40: 6 of these are 2.4.
    np.testing.assert_allclose(np.cov(drawn.T), expected, atol=2.4)


def test_shapes_and_types_of_reports():
    wave = SquareWave(200, 40, 0.75)
    codes = np.arange(200, dtype=np.uint8).reshape(10, 20)
    reports = wave.randomize(codes, np.random.default_rng(1))
    assert (reports.shape, reports.dtype) == ((10, 20), np.uint16)
    assert reports.max() > 255
    draws = KeyedDraws(bytes(32), b"plan")
    assert wave.report(codes.reshape(-1), draws, ["age"]).dtype == np.uint16


# -- as JSON, and what is refused ------------------------------------------------------------------


def test_json_brings_it_back():
    wave = SquareWave.of_epsilon(64, 1.0)
    assert channel_from_json(channel_to_json(wave)) == wave


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1, 1, 0.9), "cells is 1"),
        ((4.5, 1, 0.9), "cells is 4.5"),
        ((4, -1, 0.9), "half_width is -1"),
        ((4, True, 0.9), "half_width is True"),
        ((4, 1, 0.4999), r"0.4999; .* in \[1/2, 1\]"),
        ((4, 1, 1.1), "1.1"),
        ((4, 1, math.nan), "nan"),
    ],
)
def test_what_is_no_square_wave_is_refused(arguments, message):
    with pytest.raises(ChannelError, match=message):
        SquareWave(*arguments)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.inf, math.nan, 1e-18])
def test_an_epsilon_that_cannot_be_is_refused(epsilon):
    with pytest.raises(ChannelError, match="epsilon is"):
        SquareWave.of_epsilon(64, epsilon)


def test_foreign_codes_are_refused():
    with pytest.raises(DataError, match="4"):
        SquareWave(4, 1, 0.9).randomize(np.array([0, 4]), np.random.default_rng(1))


def test_nothing_is_estimated_of_what_tells_nothing():
    wave = SquareWave(4, 1, 0.5)
    assert wave.singular
    assert wave.epsilon == 0
    assert not SquareWave(4, 1, 1.0).singular
    assert SquareWave(4, 1, 1.0).epsilon == math.inf
