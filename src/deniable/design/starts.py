"""Make the first matrices of a search: closed forms, block designs, and relaxed responses.

**Block designs** give channels in which responses of several categories are most informative. A
response of category v alone, as in generalized randomized response, is a staircase that is high in
one category. If epsilon is small, responses that are high in several categories are more
informative. The condition is that each category, and each pair of categories, occurs equally often.
The high entries then form a symmetric block design, such as a projective plane (7 categories in
threes, 13 in fours, 15 in sevens; 16 in sixes). These are developed from one block by the shifts of
an abelian group. Without such a design, the best block is close to one. At larger epsilon some
categories form a design, and the others have their own responses.

All of these are vertices of the polytope of an epsilon, P = S diag(theta) with S of entries 1 and
exp(epsilon) and theta = S^-1 1. They only start a search and have no proved property.
"""

from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations, combinations_with_replacement

import numpy as np
import scipy

from deniable.arrays import Flags, Floats
from deniable.channels import two_step_with_epsilon
from deniable.design.programs import Bounded, Loss, Polytope, Requirements, inverse

BISECTIONS = 40
FITS = 1e-12
FEW_REPORTS = 4  # times the categories: above it responses are joined by means, below by pairs
MEAN_ROUNDS = 6
TRIED = 3
MAX_BLOCK_DESIGN = 16
WORTHWHILE = 1.2
"""Designs are omitted if, for epsilon near 0, their loss is larger by this factor than with
responses of single categories."""


def _closed_forms(proportions: Floats, requirements: Requirements) -> Iterator[Floats]:
    size, epsilon = proportions.size, requirements.epsilon
    odds = np.full((size, size), np.exp(-np.inf if epsilon is None else -epsilon))
    np.fill_diagonal(odds, 1.0)
    yield odds / odds.sum(axis=1, keepdims=True)
    if epsilon is not None and epsilon > 0:
        yield two_step_with_epsilon(proportions, epsilon).matrix()
    floors = requirements.floors("retention", size)
    if size > 1 and floors.any():
        rest = (1 - floors) / (size - 1)
        yield np.where(np.eye(size, dtype=bool), floors[:, None], rest[:, None])


def feasible_forms(
    polytope: Polytope, proportions: Floats, requirements: Requirements
) -> list[Floats]:
    """Return closed forms that meet the `requirements` at `proportions`, in the `polytope`.

    Others are mixed with as little as possible of a matrix with equal rows, if that makes them
    feasible.
    """
    size = proportions.size
    found = [np.tile(row, (size, 1)) for row in (proportions, np.full(size, 1 / size))]
    found = [P for P in found if polytope.contains(P, FITS)]
    idle = list(found)
    for P in _closed_forms(proportions, requirements):
        if polytope.contains(P, FITS):
            found.append(P)
            continue
        found += [_mixed(polytope, P, Q) for Q in idle]
    return found + [_mixed(polytope, np.eye(size), Q) for Q in idle]


def _mixed(polytope: Polytope, P: Floats, Q: Floats) -> Floats:
    """Return t P + (1 - t) Q with the largest feasible t, if Q is feasible."""
    low, high = 0.0, 1.0
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        if polytope.contains(middle * P + (1 - middle) * Q, FITS):
            low = middle
        else:
            high = middle
    return np.asarray(low * P + (1 - low) * Q)


@lru_cache(maxsize=MAX_BLOCK_DESIGN)
def developed(points: int) -> dict[int, Flags]:
    """Return, for each block size, the best design that an abelian group develops from a block.

    There are `points`, at most 16, categories and responses, and a block has up to half of them.
    The incidence matrix has categories in rows; true entries are high.
    """
    found: dict[int, Flags] = {1: np.eye(points, dtype=bool)}
    most = WORTHWHILE * (points - 1)
    scores: dict[int, float] = {}
    for orders in _factorisations(points):
        for size in range(2, points // 2 + 1):
            incidence, score = _best_of_group(orders, size)
            if score < scores.get(size, most) - 1e-9:
                scores[size], found[size] = score, incidence
    return dict(sorted(found.items()))


def _best_of_group(orders: tuple[int, ...], size: int) -> tuple[Flags, float]:
    """Return the most informative shifts of a block of a size, and their score, by characters.

    The eigenvalues of the incidence matrix are the block's Fourier coefficients. As epsilon falls
    to 0, the loss is proportional to the sum of their inverse squares without the first.
    """
    points = int(np.prod(orders))
    rest = list(combinations(range(1, points), size - 1))
    blocks = np.hstack([np.zeros((len(rest), 1), dtype=np.intp), np.array(rest, dtype=np.intp)])
    inside = np.zeros((len(blocks), points))
    np.put_along_axis(inside, blocks, 1.0, axis=1)
    axes = tuple(range(1, len(orders) + 1))
    characters = np.fft.fftn(inside.reshape(-1, *orders), axes=axes).reshape(len(blocks), -1)
    squares = np.maximum(np.abs(characters[:, 1:]) ** 2, 1e-9)
    scores = np.round(np.sum(1 / squares, axis=1), 9)
    best = int(scores.argmin())
    places = np.array(np.unravel_index(np.arange(points), orders))
    shifted = tuple(places[:, blocks[best], None] + places[:, None])
    incidence = np.zeros((points, points), dtype=bool)
    np.put_along_axis(incidence, np.ravel_multi_index(shifted, orders, mode="wrap"), True, axis=0)
    return incidence, float(scores[best])


def _factorisations(number: int, least: int = 2) -> Iterator[tuple[int, ...]]:
    """Yield the abelian groups of order `number`, as orders of cyclic factors."""
    yield (number,)
    for factor in range(least, int(number**0.5) + 1):
        if number % factor == 0:
            for rest in _factorisations(number // factor, factor):
                yield (factor, *rest)


@lru_cache(maxsize=4)
def incidences(size: int) -> tuple[Flags, ...]:
    """Return incidence matrices of a design and single categories, larger designs first.

    With more categories than a design can have, two designs are also combined.
    """
    points = range(min(size, MAX_BLOCK_DESIGN), 2, -1)
    designs = [design for each in points for design in list(developed(each).values())[1:]]
    chosen: list[tuple[Flags, ...]] = [(), *((design,) for design in designs)]
    if size > MAX_BLOCK_DESIGN:
        pairs = combinations_with_replacement(designs, 2)
        chosen += [pair for pair in pairs if sum(map(len, pair)) <= size]
    return tuple(
        scipy.linalg.block_diag(*parts, np.eye(size - sum(map(len, parts)), dtype=bool))
        for parts in chosen
    )


def _vertex_channels(proportions: Floats, ratio: float, count: int) -> list[Floats]:
    """Return the `count` channels of least trace from `incidences`.

    Let g_v be the contribution of a response v to the trace. The loss is the sum over places of (S
    g) times the proportion at the place. So the most frequent category gets the place of least S g.
    """
    found = []
    for incidence in incidences(proportions.size):
        S = np.where(incidence, ratio, 1.0)
        if (M := inverse(S)) is None:
            continue
        theta = M.sum(axis=1)
        if theta.min() <= 1e-9:
            continue
        burden = S @ ((M**2).sum(axis=1) / theta)
        places = np.empty(len(S), dtype=np.intp)
        places[np.argsort(-proportions, kind="stable")] = np.argsort(burden, kind="stable")
        found.append((float(proportions @ burden[places]), (S * theta)[places]))
    found.sort(key=lambda each: each[0])
    return [P for _, P in found[:count]]


def _gathered(
    relaxed: Bounded, proportions: Floats, generator: np.random.Generator, count: int
) -> list[Floats]:
    """Return channels that join the relaxation's responses until there are `size` of them.

    Joining several responses subtracts from the information J the spread of the joined columns,
    each in proportion to its probability. Responses are joined so that the trace of J^-1 rises
    little: in half of the channels by k-means in the metric of J^-2, in the others by the best
    pairs from four times as many.
    """
    columns = relaxed.P[:, relaxed.P.sum(axis=0) > 1e-7]
    size = proportions.size
    if columns.shape[1] < size:
        return []
    shares = proportions @ columns
    C = np.linalg.inv((columns / shares) @ columns.T)
    places = (C @ (columns / shares)).T
    found = []
    for number in range(count):
        reports = columns
        if number % 2 == 0 or columns.shape[1] > FEW_REPORTS * size:
            groups = size if number % 2 == 0 else FEW_REPORTS * size
            reports = columns @ _by_means(places, shares, groups, generator)
        P = _by_pairs(reports[:, reports.any(axis=0)], proportions, generator)
        if P.shape[1] == size:
            found.append(P / P.sum(axis=1, keepdims=True))
    return found


def _by_means(
    places: Floats, weights: Floats, groups: int, generator: np.random.Generator
) -> Floats:
    """Return the group of each place by weighted k-means, with first means far apart."""
    chosen = [int(generator.choice(len(weights), p=weights / weights.sum()))]
    nearest = np.sum((places - places[chosen[0]]) ** 2, axis=1)
    for _ in range(groups - 1):
        odds = weights * nearest + 1e-300
        chosen.append(int(generator.choice(len(weights), p=odds / odds.sum())))
        nearest = np.minimum(nearest, np.sum((places - places[chosen[-1]]) ** 2, axis=1))
    means = places[chosen]
    for _ in range(MEAN_ROUNDS):
        distances = np.sum(means**2, axis=1) - 2 * places @ means.T
        group = np.zeros_like(distances)
        group[np.arange(len(places)), distances.argmin(axis=1)] = 1.0
        mass = weights @ group
        occupied = mass > 0
        means[occupied] = ((group.T * weights) @ places)[occupied] / mass[occupied, None]
    return np.asarray(group)


def _by_pairs(columns: Floats, proportions: Floats, generator: np.random.Generator) -> Floats:
    """Join the pair of responses that increases the trace least, with noise, until few remain."""
    while columns.shape[1] > proportions.size:
        shares = np.asarray(proportions @ columns, dtype=float)
        X = np.asarray(columns / shares, dtype=float)
        C = np.asarray(np.linalg.inv(columns @ X.T), dtype=float)
        joined = shares[:, None] * shares / (shares[:, None] + shares)
        lost = joined * _squared_distances(X, C)
        # The inverse of J - joined * d d' has a larger trace, by this cost (Sherman and Morrison).
        cost: Floats = joined * _squared_distances(X, C @ C) / np.maximum(1 - lost, 1e-9)
        cost *= np.exp(0.5 * generator.standard_normal(cost.shape))
        cost[np.tril_indices(len(cost))] = np.inf
        i, j = divmod(int(cost.argmin()), len(cost))
        columns = np.delete(columns, j, axis=1)
        columns[:, i] += X[:, j] * shares[j]
    return columns


def _squared_distances(X: Floats, metric: Floats) -> Floats:
    products = X.T @ metric @ X
    own = np.diagonal(products)
    return np.asarray(own[:, None] + own - 2 * products)


def labelled(P: Floats, proportions: Floats, polytope: Polytope) -> Floats:
    """Return the matrix `P` with its responses renamed so that most records are retained.

    The `proportions` are the ones of the categories. A name that violates a requirement of the
    `polytope` has a penalty above any gain of retention.
    """
    gains = proportions[:, None] * P  # if response v gets the name of category u
    for group in polytope.groups:
        if group.kind in ("retention", "change"):
            (v,) = group.categories
            (factor,) = group.left.data
            gains[v] -= 10 * np.maximum(factor * P[v] - group.right, 0.0)
        elif group.kind == "cost":
            weighted = group.left[:, : polytope.entries].toarray().reshape(P.shape)
            gains -= 10 * weighted.T @ P
    names, reports = scipy.optimize.linear_sum_assignment(-gains)
    renamed = np.empty_like(P)
    renamed[:, names] = P[:, reports]
    return renamed


def first_matrices(
    loss: Loss,
    polytope: Polytope,
    proportions: Floats,
    relaxed: Bounded | None,
    generator: np.random.Generator,
    counts: tuple[int, int],
) -> list[Floats]:
    """Return the starts from block designs and from the relaxation.

    `counts` has the largest number of each. From `relaxed`, a result of `relax` or None, the
    `generator` draws several times as many starts, and the ones of least `loss` are returned. The
    `polytope` and the `proportions` are as in `labelled`.
    """
    designs, channels = counts
    found = _vertex_channels(proportions, polytope.ratio, designs)
    if relaxed is not None:
        tried = _gathered(relaxed, proportions, generator, TRIED * channels)
        tried = [P for P in tried if inverse(P) is not None]
        found += sorted(tried, key=loss.value)[:channels]
    return [labelled(P, proportions, polytope) for P in found]
