"""Channels to test with, and exact answers in fractions that owe nothing to the library."""

from fractions import Fraction
from itertools import product

import numpy as np
from hypothesis import strategies as st
from scipy import stats

from deniable.channels import Channel, DenseChannel, KeepOrReplace, ProductChannel

THREE = DenseChannel(np.array([[0.5, 0.5, 0.0], [0.125, 0.75, 0.125], [0.25, 0.0, 0.75]]))
AVOID = KeepOrReplace(-0.25, np.array([0.25, 0.5, 0.5]))
GAPS = KeepOrReplace(0.25, np.array([0.25, 0.0, 0.5, 0.0]))
COIN = KeepOrReplace.uniform(2, 0.5)

CHANNELS: dict[str, Channel] = {
    "uniform": KeepOrReplace.uniform(4, 0.5),
    "own replacement": KeepOrReplace(0.375, np.array([0.125, 0.25, 0.0625, 0.1875])),
    "replacement with zeros": GAPS,
    "negative weight": AVOID,
    "never the truth": KeepOrReplace.from_entries(4, 0.0, 1 / 3),
    "flip": KeepOrReplace(-1.0, np.ones(2)),
    "identity": KeepOrReplace.uniform(3, 1.0),
    "one category": KeepOrReplace.uniform(1, 0.5),
    "dense": DenseChannel(
        np.array([[0.7, 0.1, 0.1, 0.1], [0.2, 0.5, 0.2, 0.1], [0.1, 0.3, 0.6, 0], [0, 0, 0.1, 0.9]])
    ),
    "dense with zeros": THREE,
    "dense permutation": DenseChannel(np.eye(3)[[1, 2, 0]]),
    "product": ProductChannel((COIN, THREE)),
    "product of all kinds": ProductChannel((AVOID, COIN, GAPS)),
    "product of products": ProductChannel((ProductChannel((COIN, AVOID)), THREE)),
    "product of one": ProductChannel((AVOID,)),
}

Matrix = list[list[Fraction]]


def exact_matrix(channel: Channel) -> Matrix:
    """The matrix that is drawn: the parameters that the channel holds, in exact proportions."""
    if isinstance(channel, KeepOrReplace):
        a, b = Fraction(channel.diagonal_weight), [Fraction(float(x)) for x in channel.replacement]
        b = [(1 - a) * x / sum(b) if sum(b) else x for x in b]
        zero = channel.diagonal_weight + channel.replacement == 0
        return [
            [Fraction(0) if u == v and zero[v] else b[v] + a * (u == v) for v in range(len(b))]
            for u in range(len(b))
        ]
    if isinstance(channel, DenseChannel):
        rows = [[Fraction(float(x)) for x in row] for row in channel.entries]
        return [[x / sum(row) for x in row] for row in rows]
    assert isinstance(channel, ProductChannel)
    matrix = [[Fraction(1)]]
    for factor in channel.factors:
        part = exact_matrix(factor)
        matrix = [[x * y for x in row for y in other] for row in matrix for other in part]
    return matrix


def transposed(matrix: Matrix) -> Matrix:
    return [list(column) for column in zip(*matrix, strict=True)]


def times(left: Matrix, right: Matrix) -> Matrix:
    columns = transposed(right)
    return [
        [sum((x * y for x, y in zip(row, c, strict=True)), Fraction()) for c in columns]
        for row in left
    ]


def inverse(matrix: Matrix) -> Matrix:
    """Gauss and Jordan, in fractions."""
    size = len(matrix)
    rows = [[*row, *(Fraction(i == j) for j in range(size))] for i, row in enumerate(matrix)]
    for i in range(size):
        pivot = next(r for r in range(i, size) if rows[r][i])
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for r in range(size):
            if r != i and rows[r][i]:
                factor = rows[r][i]
                rows[r] = [x - factor * y for x, y in zip(rows[r], rows[i], strict=True)]
    return [row[size:] for row in rows]


def diagonal(values: list[Fraction]) -> Matrix:
    return [[x * (i == j) for j in range(len(values))] for i, x in enumerate(values)]


def outer(values: list[Fraction]) -> Matrix:
    return [[x * y for y in values] for x in values]


def combined(left: Matrix, right: Matrix, sign: int) -> Matrix:
    return [
        [x + sign * y for x, y in zip(a, b, strict=True)] for a, b in zip(left, right, strict=True)
    ]


def floats(matrix: Matrix) -> np.ndarray:
    return np.array([[float(x) for x in row] for row in matrix])


def exact_covariance(channel: Channel, truth: list[Fraction], target: str) -> Matrix:
    """The covariance of the estimate times n, from the definition."""
    P = exact_matrix(channel)
    inverted = inverse(P)
    reported = times([truth], P)[0]
    middle = diagonal(reported)
    if target == "population":
        middle = combined(middle, outer(reported), -1)
    spread = times(times(transposed(inverted), middle), inverted)
    return spread if target == "population" else combined(spread, diagonal(truth), -1)


def exact_parity(matrix: Matrix) -> Fraction | None:
    """Largest ratio of two entries of a column, over all pairs; None if infinite."""
    worst = Fraction(1)
    for column in transposed(matrix):
        for x, y in product(column, repeat=2):
            if y == 0 and x > 0:
                return None
            if y > 0:
                worst = max(worst, x / y)
    return worst


def count_distribution(rows: Matrix, counts: list[int]) -> dict[tuple[int, ...], Fraction]:
    """The exact distribution of the counts of reports, one record after the other."""
    size = len(rows)
    known = {(0,) * size: Fraction(1)}
    for category, number in enumerate(counts):
        for _ in range(number):
            following: dict[tuple[int, ...], Fraction] = {}
            for state, probability in known.items():
                for report, chance in enumerate(rows[category]):
                    if chance:
                        new = (*state[:report], state[report] + 1, *state[report + 1 :])
                        following[new] = following.get(new, Fraction()) + probability * chance
            known = following
    return known


def fit_p_value(observed: np.ndarray, probabilities: np.ndarray) -> float:
    """Pearson's goodness of fit, cells expected below 5 pooled; 0 if the impossible happened."""
    observed, expected = np.asarray(observed, float), np.asarray(probabilities, float)
    expected = expected / expected.sum() * observed.sum()
    if observed[expected == 0].any():
        return 0.0
    rare = expected < 5
    observed = np.append(observed[~rare], observed[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    observed, expected = observed[expected > 0], expected[expected > 0]
    return float(stats.chisquare(observed, expected).pvalue) if observed.size > 1 else 1.0


@st.composite
def distributions(draw: st.DrawFn, size: int, zeros: bool = True) -> np.ndarray:
    """A distribution, zeros among its entries as likely as small numbers."""
    weights = draw(
        st.lists(st.integers(0 if zeros else 1, 20), min_size=size, max_size=size).filter(any)
    )
    values = np.array(weights, dtype=float)
    return values / values.sum()


@st.composite
def keep_or_replace_channels(draw: st.DrawFn, largest: int = 6) -> KeepOrReplace:
    """Any weight, also negative, 0 and 1; any replacement, also with zeros."""
    size = draw(st.integers(1, largest))
    if size > 1 and draw(st.booleans()):
        weight = draw(st.floats(0, 1)) / (size - 1)
        rest = draw(distributions(size)) * max(1 + weight - size * weight, 0.0)
        return KeepOrReplace(-weight, rest + weight)
    weight = draw(st.sampled_from([0.0, 1.0, 1 / size]) | st.floats(0, 1))
    return KeepOrReplace(weight, draw(distributions(size)) * (1 - weight))


@st.composite
def dense_channels(draw: st.DrawFn, largest: int = 6) -> DenseChannel:
    size = draw(st.integers(1, largest))
    return DenseChannel(np.array([draw(distributions(size)) for _ in range(size)]))


single_channels = keep_or_replace_channels(4) | dense_channels(4)
product_channels = st.lists(single_channels, min_size=1, max_size=3).map(
    lambda factors: ProductChannel(tuple(factors))
)
channels = keep_or_replace_channels() | dense_channels() | product_channels


def well_conditioned(channel: Channel) -> bool:
    return bool(np.linalg.cond(channel.matrix()) < 1e4)
