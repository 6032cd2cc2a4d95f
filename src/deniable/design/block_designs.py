"""Channels built of block designs: where reports that stand for several categories tell most.

A report of category v alone, as in generalized randomized response, is a staircase that is high in
one category. When epsilon is small, reports that are high in several tell more, if any two
categories are reported together equally often and every category equally often: if the high
entries form a symmetric block design, such as a projective plane (7 categories in threes, 13 in
fours, 15 in sevens; 16 in sixes). These are developed from one block by the shifts of an abelian
group; where there is no such design, the best block comes close to one. At larger epsilon part of
the categories form a design and the rest have reports of their own.

All of these are vertices of the polytope of an epsilon, P = S diag(theta) with S of entries 1 and
exp(epsilon) and theta = S^-1 1. They are starts of a search, no more: nothing is claimed of them.
"""

from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations

import numpy as np

from deniable.arrays import Flags, Floats, Positions
from deniable.design.problem import inverse

Incidence = Flags
LARGEST_BLOCK_DESIGN = 16
LARGEST_IN_THREE_PARTS = 24  # beyond, the matrices of three parts are thousands
WORTHWHILE = 1.2
"""Designs are left out that tell this many times less than reports of single categories would, were
epsilon near 0."""


@lru_cache(maxsize=LARGEST_BLOCK_DESIGN)
def developed(points: int) -> dict[int, Incidence]:
    """Return the best design that an abelian group develops from a block, for each block size.

    Parameters
    ----------
    points : int, at most 16
        Categories, and reports.

    Returns
    -------
    dict
        From the number of points in a block, up to half of them, to the incidence matrix: which
        category each report is high in, categories in rows.
    """
    found: dict[int, Incidence] = {1: np.eye(points, dtype=bool)}
    most = WORTHWHILE * (points - 1)
    scores: dict[int, float] = {}
    for orders in _factorisations(points):
        for size in range(2, points // 2 + 1):
            block, score = _best_block(orders, size)
            if score < min(scores.get(size, most), most) - 1e-9:
                scores[size] = score
                found[size] = _shifts(block, orders)
    return dict(sorted(found.items()))


def _best_block(orders: tuple[int, ...], size: int) -> tuple[Positions, float]:
    """Return the block of a size whose shifts tell most: by the characters of the group.

    The eigenvalues of the incidence matrix are the block's Fourier coefficients; as epsilon falls
    to 0 the loss is in proportion to the sum of their inverse squares, the first left out.
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
    return blocks[best], float(scores[best])


def _shifts(block: Positions, orders: tuple[int, ...]) -> Incidence:
    points = int(np.prod(orders))
    places = np.array(np.unravel_index(np.arange(points), orders))
    moduli = np.array(orders)[:, None]
    incidence = np.zeros((points, points), dtype=bool)
    for v in range(points):
        shifted = (places[:, block] + places[:, [v]]) % moduli
        incidence[np.ravel_multi_index(tuple(shifted), orders), v] = True
    return incidence


def _factorisations(number: int, least: int = 2) -> Iterator[tuple[int, ...]]:
    """Yield the abelian groups of an order, as orders of cyclic factors."""
    yield (number,)
    for factor in range(least, int(number**0.5) + 1):
        if number % factor == 0:
            for rest in _factorisations(number // factor, factor):
                yield (factor, *rest)


@lru_cache(maxsize=4)
def incidences(size: int) -> tuple[Incidence, ...]:
    """Return incidence matrices of up to two designs side by side, and singles for the rest."""
    designs = 2 if size <= LARGEST_IN_THREE_PARTS else 1
    return tuple(_side_by_side(size, parts) for parts in _parts(size, designs, ()))


Part = tuple[int, int]
"""The points of a design, and of a block of it."""


def _parts(left: int, designs: int, before: tuple[Part, ...]) -> Iterator[tuple[Part, ...]]:
    """Yield the designs that lie side by side, larger ones first."""
    yield before
    largest = before[-1] if before else (LARGEST_BLOCK_DESIGN, LARGEST_BLOCK_DESIGN)
    for points in range(min(left, largest[0]) if designs else 0, 2, -1):
        for block in list(developed(points))[1:]:
            if (points, block) <= largest:
                yield from _parts(left - points, designs - 1, (*before, (points, block)))


def _side_by_side(size: int, parts: tuple[Part, ...]) -> Incidence:
    whole = np.eye(size, dtype=bool)
    start = 0
    for points, block in parts:
        end = start + points
        whole[start:end, start:end] = developed(points)[block]
        start = end
    return whole


def vertex_channels(proportions: Floats, ratio: float, count: int) -> list[Floats]:
    """Return the channels of least trace that are built of block designs side by side.

    Which category takes which place is chosen best: with g_v what a report of v adds to the trace,
    the loss is the sum over places of (S g) times the proportion there, so that the commonest
    category takes the place of least S g.

    Parameters
    ----------
    proportions : array, shape (size,)
    ratio : float
        exp(epsilon).
    count : int

    Returns
    -------
    list of array, shape (size, size), best first
    """
    found = []
    for incidence in incidences(proportions.size):
        S = np.where(incidence, ratio, 1.0)
        M = inverse(S)
        if M is None:
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
