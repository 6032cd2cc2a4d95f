"""[pram], (1.1) - (1.3), (3.1) and (3.6), in fractions that are no floats: agreement to 1e-12.

Matrices are given as fractions with awkward denominators. The library gets them rounded to floats;
the answers here are those of the fractions, or, where the matrix is ill-conditioned, of the very
floats.
"""

from fractions import Fraction
from functools import reduce
from itertools import product

import numpy as np
import pytest
from tests.channels.channel_cases import (
    Matrix,
    count_distribution,
    diagonal,
    exact_matrix,
    exact_parity,
    floats,
    inverse,
    outer,
    times,
    transposed,
)

from deniable.channels import Channel, DenseChannel, KeepOrReplace, ProductChannel
from deniable.estimation.intervals import confidence_intervals


def rows_of(*rows: str) -> Matrix:
    return [[Fraction(entry) for entry in row.split()] for row in rows]


MATRICES = {
    "two": rows_of("5/7 2/7", "3/11 8/11"),
    "two, more often wrong than right": rows_of("1/9 8/9", "10/13 3/13"),
    "three": rows_of("9/13 3/13 1/13", "2/17 12/17 3/17", "1/19 4/19 14/19"),
    "three with zeros": rows_of("6/7 1/7 0", "0 11/13 2/13", "3/11 0 8/11"),
    "four": rows_of(
        "7/11 2/11 1/11 1/11",
        "3/23 15/23 4/23 1/23",
        "1/29 5/29 20/29 3/29",
        "2/31 3/31 7/31 19/31",
    ),
    "four, keep or replace": [
        [Fraction(3, 7) * (u == v) + Fraction(4, 7) * b for v, b in enumerate(row)]
        for u, row in enumerate(rows_of(*["2/13 3/13 1/13 7/13"] * 4))
    ],
}
TRUTHS = {
    2: [Fraction(3, 7), Fraction(4, 7)],
    3: [Fraction(2, 19), Fraction(6, 19), Fraction(11, 19)],
    4: [Fraction(n, 37) for n in (3, 7, 9, 18)],
}
PAIRS = {
    "two x three": ("two", "three"),
    "three with zeros x two": ("three with zeros", "two, more often wrong than right"),
    "four x four": ("four", "four, keep or replace"),
    "two x three x two": ("two", "three", "two, more often wrong than right"),
}


def kronecker(left: Matrix, right: Matrix) -> Matrix:
    return [[x * y for x in row for y in other] for row in left for other in right]


def channel_of(name: str) -> Channel:
    if name == "four, keep or replace":
        return KeepOrReplace(3 / 7, np.array([8, 12, 4, 28]) / 91)
    return DenseChannel(floats(MATRICES[name]))


def case(name: str) -> tuple[Channel, Matrix, list[Fraction]]:
    """Return the channel, its matrix, and a truth to estimate."""
    if name in MATRICES:
        return channel_of(name), MATRICES[name], TRUTHS[len(MATRICES[name])]
    parts = PAIRS[name]
    channel = ProductChannel(tuple(channel_of(part) for part in parts))
    matrix = reduce(kronecker, (MATRICES[part] for part in parts))
    # Attributes that depend on each other: no product of margins.
    weights = [Fraction(5 + (7 * cell) % 11) for cell in range(len(matrix))]
    return channel, matrix, [weight / sum(weights) for weight in weights]


CASES = pytest.mark.parametrize("name", [*MATRICES, *PAIRS])


def close(found: np.ndarray, exact: Matrix | list[Fraction]) -> None:
    expected = np.array([[float(x) for x in row] for row in np.atleast_2d(exact)])
    np.testing.assert_allclose(np.atleast_2d(found), expected, rtol=1e-12, atol=1e-12)


def minus(left: Matrix, right: Matrix) -> Matrix:
    return [[x - y for x, y in zip(a, b, strict=True)] for a, b in zip(left, right, strict=True)]


def divided(matrix: Matrix, by: int) -> Matrix:
    return [[x / by for x in row] for row in matrix]


def variance(matrix: Matrix, truth: list[Fraction]) -> tuple[Matrix, Matrix]:
    """The two terms of (1.3), times n: of sampling, and of randomization."""
    back = transposed(inverse(matrix))  # P^-1 of the text, which is column-stochastic
    spread = times(times(back, diagonal(times([truth], matrix)[0])), transposed(back))
    return minus(diagonal(truth), outer(truth)), minus(spread, diagonal(truth))


# -- (1.1), (1.2) ----------------------------------------------------------------------------------


@CASES
def test_reports_and_estimates(name):
    channel, matrix, truth = case(name)
    close(channel.matrix(), matrix)
    close(channel.reported([float(x) for x in truth]), times([truth], matrix)[0])
    counts = [(13 * u + 5) % 17 for u in range(channel.size)]
    shares = [Fraction(x, sum(counts)) for x in counts]
    close(channel.estimate(counts), times([shares], inverse(matrix))[0])


def test_two_categories_by_hand():
    # Determinant 5/7 * 8/11 - 2/7 * 3/11 = 34/77; inverse (77/34) ((8/11, -2/7), (-3/11, 5/7)).
    channel = channel_of("two")
    close(channel.estimate([1, 0]), [Fraction(56, 34), Fraction(-22, 34)])
    close(channel.estimate([0, 1]), [Fraction(-21, 34), Fraction(55, 34)])
    # Truth (3/7, 4/7): lambda_0 = 15/49 + 12/77 = 249/539; the estimate is (77/34) l_0 - 21/34, so
    # its variance is (77/34)^2 (249/539) (290/539) / n = 72210 / 56644 / n.
    found = channel.covariance([3 / 7, 4 / 7], 10)
    close(found[0, :1], [Fraction(249 * 290, 49 * 34**2) / 10])
    # Of which sampling 12/49 / n.
    added = channel.covariance([3 / 7, 4 / 7], 10, "file")
    close(added[0, :1], [(Fraction(249 * 290, 49 * 34**2) - Fraction(12, 49)) / 10])


# -- (1.3) -----------------------------------------------------------------------------------------


@CASES
def test_variance(name):
    channel, matrix, truth = case(name)
    sampling, randomization = variance(matrix, truth)
    known = [float(x) for x in truth]
    total = minus(sampling, [[-x for x in row] for row in randomization])
    close(channel.covariance(known, 23), divided(total, 23))
    close(channel.covariance(known, 23, "file"), divided(randomization, 23))


@CASES
def test_plug_in_of_the_variance(name):
    channel, matrix, _ = case(name)
    counts = [(13 * u + 5) % 17 for u in range(channel.size)]
    n = sum(counts)
    estimate = times([[Fraction(x, n) for x in counts]], inverse(matrix))[0]
    sampling, randomization = variance(matrix, estimate)
    total = minus(sampling, [[-x for x in row] for row in randomization])
    close(channel.estimated_covariance(counts), divided(total, n - 1))
    close(channel.estimated_covariance(counts, "file"), divided(randomization, n))
    squares = channel.standard_errors(counts) ** 2
    close(squares, [total[u][u] / (n - 1) for u in range(channel.size)])
    weights = [[Fraction(u % 3 - 1, 7) for u in range(channel.size)]]
    functional = channel.estimated_covariance(counts, functionals=floats(weights))
    close(functional, divided(times(times(weights, total), transposed(weights)), n - 1))


@pytest.mark.parametrize("name", ["two", "three", "three with zeros", "two x three"])
def test_the_plug_in_is_unbiased_with_one_record_less(name):
    # Over all outcomes of 2 records from the population, in fractions; (1.3) itself divides by n.
    channel, matrix, truth = case(name)
    reported = times([truth], matrix)[0]
    size, n = len(matrix), 2
    outcomes = count_distribution([reported] * size, [n] + [0] * (size - 1))
    mean = [[Fraction(0)] * size for _ in range(size)]
    found = np.zeros((size, size))
    for counts, chance in outcomes.items():
        shares = [Fraction(x, n) for x in counts]
        sampling, randomization = variance(matrix, times([shares], inverse(matrix))[0])
        for u, v in product(range(size), repeat=2):
            mean[u][v] += chance * (sampling[u][v] + randomization[u][v])
        found += float(chance) * channel.estimated_covariance(counts)
    sampling, randomization = variance(matrix, truth)
    true = minus(sampling, [[-x for x in row] for row in randomization])
    assert mean == [[x * Fraction(n - 1, n) for x in row] for row in true]
    close(found, divided(true, n))


# -- (3.1) -----------------------------------------------------------------------------------------


@CASES
def test_posterior(name):
    channel, matrix, prior = case(name)
    size = len(matrix)
    joint = [[prior[u] * matrix[u][v] for u in range(size)] for v in range(size)]
    exact = [[x / sum(row) for x in row] for row in joint]
    close(channel.posterior([float(x) for x in prior]), exact)


def test_posterior_by_hand():
    # Prior (3/7, 4/7), report 0: 15/49 against 12/77, that is 165 against 84.
    found = channel_of("two").posterior([3 / 7, 4 / 7])
    close(found[0], [Fraction(165, 249), Fraction(84, 249)])


# -- (3.6) -----------------------------------------------------------------------------------------


@CASES
def test_parity(name):
    channel, matrix, _ = case(name)
    exact = exact_parity(matrix)
    if exact is None:
        assert channel.parity == channel.epsilon == np.inf
        return
    assert channel.parity == pytest.approx(float(exact), rel=1e-12)
    assert channel.epsilon == pytest.approx(np.log(float(exact)), rel=1e-12)
    # Rounded up: not below the parity of the floats that are drawn.
    assert Fraction(channel.parity) >= exact_parity(exact_matrix(channel))


def test_parity_by_hand():
    # Columns: 5/7 over 3/11 is 55/21; 8/11 over 2/7 is 28/11.
    assert channel_of("two").parity == pytest.approx(55 / 21, rel=1e-12)
    # A report that nobody can give counts as 1; one that only some can give as infinite.
    nobody = DenseChannel(np.array([[2, 1, 0], [1, 2, 0], [1, 1, 0]]) / np.array([[3], [3], [2]]))
    assert nobody.parity == pytest.approx(2, rel=1e-12)
    assert channel_of("three with zeros").parity == np.inf


# -- condition numbers of a million ----------------------------------------------------------------


def nearly_singular(size: int, seed: int) -> DenseChannel:
    """Rows that differ by 1e-5 or so; entries are multiples of 2^-40, rows sum to exactly 1."""
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.full(size, 3.0)) + 3e-6 * rng.dirichlet(np.ones(size), size)
    entries = np.floor(rows / rows.sum(axis=1, keepdims=True) * 2**40) / 2**40
    entries[:, 0] += 1 - entries.sum(axis=1)
    return DenseChannel(entries)


@pytest.mark.parametrize(("size", "seed"), [(2, 1), (3, 1), (4, 2), (7, 4), (16, 5)])
def test_what_is_nearly_singular_keeps_its_digits(size, seed):
    channel = nearly_singular(size, seed)
    assert 3e5 < np.linalg.cond(channel.matrix()) < 3e8
    matrix = exact_matrix(channel)
    counts = [(13 * u + 5) % 17 for u in range(size)]
    n = sum(counts)
    exact = times([[Fraction(x, n) for x in counts]], inverse(matrix))[0]
    scale = max(abs(float(x)) for x in exact)
    found = channel.estimate(counts)
    np.testing.assert_allclose(found, [float(x) for x in exact], rtol=0, atol=1e-12 * scale)
    sampling, randomization = variance(matrix, exact)
    total = floats(minus(sampling, [[-x for x in row] for row in randomization])) / (n - 1)
    np.testing.assert_allclose(
        channel.estimated_covariance(counts), total, rtol=0, atol=1e-12 * total.max()
    )
    np.testing.assert_allclose(channel.standard_errors(counts), np.sqrt(np.diag(total)), rtol=2e-12)
    wald = confidence_intervals(counts, channel, method="wald")
    np.testing.assert_allclose(
        wald.high,
        [float(x) for x in exact] + 1.959963984540054 * np.sqrt(np.diag(total)),
        rtol=0,
        atol=3e-12 * scale,
    )


def test_a_product_of_nearly_singular_channels():
    first, second = nearly_singular(2, 1), channel_of("three")
    channel = ProductChannel((first, second))
    matrix = kronecker(exact_matrix(first), exact_matrix(second))
    counts = [3, 14, 1, 5, 9, 2]
    exact = times([[Fraction(x, 34) for x in counts]], inverse(matrix))[0]
    scale = max(abs(float(x)) for x in exact)
    np.testing.assert_allclose(
        channel.estimate(counts), [float(x) for x in exact], rtol=0, atol=1e-12 * scale
    )
    sampling, randomization = variance(matrix, exact)
    total = floats(minus(sampling, [[-x for x in row] for row in randomization])) / 33
    np.testing.assert_allclose(
        channel.estimated_covariance(counts), total, rtol=0, atol=1e-12 * np.abs(total).max()
    )


def test_large_matrices_are_inverted_without_refinement():
    rng = np.random.default_rng(3)
    channel = DenseChannel(0.5 * np.eye(130) + 0.5 * rng.dirichlet(np.ones(130), 130))
    truth = rng.dirichlet(np.ones(130))
    np.testing.assert_allclose(channel.estimate(channel.reported(truth)), truth, atol=1e-14)
