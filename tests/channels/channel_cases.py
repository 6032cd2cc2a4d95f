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

WIDE = DenseChannel(np.array([[8, 4, 2, 1, 1], [1, 6, 4, 4, 1], [2, 2, 2, 2, 8]], dtype=float) / 16)
WIDE_COIN = DenseChannel(np.array([[0.5, 0.25, 0.25], [0.125, 0.375, 0.5]]))
CIRCLE = DenseChannel(np.array([[1, 1, 0, 0, 0], [0, 1, 1, 0, 0], [0, 0, 0.5, 0.5, 1]]) / 2)

RECTANGULAR: dict[str, Channel] = {
    "wide": WIDE,
    "wide with zeros": CIRCLE,
    "wide with a reference": DenseChannel(WIDE.entries, np.array([0.5, 0.125, 0.375])),
    "a report of nobody": DenseChannel(
        np.array([[0.5, 0.25, 0, 0.25], [0.125, 0.5, 0, 0.375], [0.25, 0, 0, 0.75]])
    ),
    "one category, three reports": DenseChannel(np.array([[0.5, 0.25, 0.25]])),
    "as many doubles": DenseChannel(np.repeat(THREE.entries, 2, axis=1) / 2),
    "product of square and wide": ProductChannel((COIN, WIDE_COIN)),
    "product of wide": ProductChannel((WIDE_COIN, DenseChannel(WIDE_COIN.entries[:, ::-1]))),
    "product of products, wide": ProductChannel((ProductChannel((COIN, WIDE_COIN)), AVOID)),
}
EVERY_CHANNEL = CHANNELS | RECTANGULAR
"""Square and rectangular ones, all of which can be estimated through."""

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


def even(size: int) -> list[Fraction]:
    return [Fraction(1, size)] * size


def inverse_of_least_variance(P: Matrix, truth: list[Fraction]) -> Matrix:
    """D = L^-1 P' (P L^-1 P')^-1, with L the reports' distribution; without reports of nobody."""
    weights = [1 / x if x else x for x in times([truth], P)[0]]
    scaled = [[w * x for x in row] for w, row in zip(weights, transposed(P), strict=True)]
    return times(scaled, inverse(times(P, scaled)))


def simple_factors(channel: Channel) -> list[Channel]:
    if not isinstance(channel, ProductChannel):
        return [channel]
    return [simple for factor in channel.factors for simple in simple_factors(factor)]


def margins(channel: Channel, truth: list[Fraction]) -> list[list[Fraction]]:
    """The distributions of the attributes that are randomized apart."""
    sizes = [len(exact_matrix(factor)) for factor in simple_factors(channel)]
    found = [[Fraction()] * size for size in sizes]
    for probability, cell in zip(truth, product(*map(range, sizes)), strict=True):
        for position, category in enumerate(cell):
            found[position][category] += probability
    return found


def left_inverse(channel: Channel, truth: list[Fraction] | None = None) -> Matrix:
    """The channel's own left inverse, or that of least variance at a truth, factor by factor."""
    joint = [[Fraction(1)]]
    factors = simple_factors(channel)
    for position, factor in enumerate(factors):
        P = exact_matrix(factor)
        if len(P) == len(P[0]):
            part = inverse(P)
        elif truth is not None:
            part = inverse_of_least_variance(P, margins(channel, truth)[position])
        else:
            assert isinstance(factor, DenseChannel)
            reference = factor.reference
            own = even(len(P)) if reference is None else [Fraction(float(x)) for x in reference]
            part = inverse_of_least_variance(P, own)
        joint = [[x * y for x in row for y in other] for row in joint for other in part]
    return joint


def fitted_inverse(channel: Channel, reported: list[Fraction], records: int) -> Matrix:
    """The one of least variance at the own estimate, made a distribution, and one record more."""
    estimate = times([reported], left_inverse(channel))[0]
    clipped = [max(x, Fraction()) for x in estimate]
    evened = [x * records + sum(clipped) / len(clipped) for x in clipped]
    return left_inverse(channel, [x / sum(evened) for x in evened])


def exact_covariance(
    channel: Channel, truth: list[Fraction], target: str, inverse: str = "own"
) -> Matrix:
    """The covariance of the estimate times n, from the definition."""
    P = exact_matrix(channel)
    used = left_inverse(channel, truth if inverse == "least" else None)
    return spread_of(times([truth], P)[0], used, target)


def spread_of(reported: list[Fraction], inverted: Matrix, target: str) -> Matrix:
    """The covariance times n by a left inverse D: D' (diag(l) - l l') D, or less diag(D' l)."""
    middle = diagonal(reported)
    if target == "population":
        middle = combined(middle, outer(reported), -1)
    spread = times(times(transposed(inverted), middle), inverted)
    if target == "population":
        return spread
    return combined(spread, diagonal(times([reported], inverted)[0]), -1)


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
    size = len(rows[0])
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


@st.composite
def rectangular_channels(draw: st.DrawFn, largest: int = 5) -> DenseChannel:
    """More reports than categories, or fewer; columns of zeros and alike rows as they come."""
    size, reports = draw(st.integers(1, largest)), draw(st.integers(1, largest + 2))
    return DenseChannel(np.array([draw(distributions(reports)) for _ in range(size)]))


single_channels = keep_or_replace_channels(4) | dense_channels(4)
product_channels = st.lists(single_channels, min_size=1, max_size=3).map(
    lambda factors: ProductChannel(tuple(factors))
)
channels = keep_or_replace_channels() | dense_channels() | product_channels
rectangular_products = st.tuples(
    rectangular_channels(3), keep_or_replace_channels(3) | rectangular_channels(2)
).map(ProductChannel)
any_channels = channels | rectangular_channels() | rectangular_products


def well_conditioned(channel: Channel) -> bool:
    return channel.size <= channel.reports and bool(np.linalg.cond(channel.matrix()) < 1e4)
