"""Protocols to test with, and their matrices in fractions, built from the definitions alone."""

from fractions import Fraction
from itertools import combinations, product

import numpy as np

from deniable.channels import (
    HadamardResponse,
    ProjectiveGeometry,
    SubsetSelection,
    TwoLevelChannel,
)

Matrix = list[list[Fraction]]

PROTOCOLS: dict[str, TwoLevelChannel] = {
    "subsets of one": SubsetSelection(3, 1, 0.625),
    "subsets of two": SubsetSelection(5, 2, 0.7),
    "subsets of four": SubsetSelection(6, 4, 0.9),
    "subsets rarely with the true one": SubsetSelection(4, 2, 0.25),
    "two categories by subsets": SubsetSelection(2, 1, 0.75),
    "Hadamard, full": HadamardResponse(3, 0.75),
    "Hadamard, a power of two": HadamardResponse(4, 0.7),
    "Hadamard, the other half": HadamardResponse(6, 0.3),
    "Hadamard, two": HadamardResponse(2, 0.6),
    "the plane of order 2": ProjectiveGeometry(7, 2, 0.7),
    "part of a plane of order 3": ProjectiveGeometry(5, 3, 0.55),
    "a line of order 5": ProjectiveGeometry(4, 5, 0.4),
    "space of order 2": ProjectiveGeometry(9, 2, 0.65),
    "the space of order 3": ProjectiveGeometry(15, 3, 0.125),
    "a plane of order 5": ProjectiveGeometry(8, 5, 0.4),
}


def colexicographic(size: int, chosen: int) -> list[set[int]]:
    found = combinations(range(size), chosen)
    return [set(subset) for subset in sorted(found, key=lambda subset: subset[::-1])]


def sylvester(size: int) -> list[list[int]]:
    rows = [[1]]
    while len(rows) <= size:
        rows = [[*row, *row] for row in rows] + [[*row, *(-x for x in row)] for row in rows]
    return rows


def projective_points(size: int, prime: int) -> list[tuple[int, ...]]:
    for length in range(2, 20):
        vectors = [v for v in product(range(prime), repeat=length) if any(v)]
        points = [v for v in vectors if next(x for x in v if x) == 1]
        if len(points) >= size:
            return points
    raise AssertionError


def sets_of(channel: TwoLevelChannel) -> tuple[int, list[set[int]]]:
    """The number of reports, and the reports that support each category."""
    size = channel.size
    if isinstance(channel, SubsetSelection):
        subsets = colexicographic(size, channel.subset_size)
        return len(subsets), [{v for v, s in enumerate(subsets) if u in s} for u in range(size)]
    if isinstance(channel, HadamardResponse):
        rows = sylvester(size)
        return len(rows), [{v for v, x in enumerate(rows[u + 1]) if x == 1} for u in range(size)]
    assert isinstance(channel, ProjectiveGeometry)
    points, q = projective_points(size, channel.prime), channel.prime
    return len(points), [
        {
            code
            for code, v in enumerate(points)
            if sum(x * y for x, y in zip(points[u], v, strict=True)) % q == 0
        }
        for u in range(size)
    ]


def exact_matrix(channel: TwoLevelChannel) -> Matrix:
    """The matrix that is drawn, of the floats that the channel holds."""
    reports, sets = sets_of(channel)
    p = Fraction(channel.probability)
    return [
        [p / len(own) if v in own else (1 - p) / (reports - len(own)) for v in range(reports)]
        for own in sets
    ]


def own_inverse(channel: TwoLevelChannel) -> Matrix:
    """D[v, u] = (1[v in S_u] - q) / (p - q), with p and q summed up from the matrix."""
    matrix, (reports, sets) = exact_matrix(channel), sets_of(channel)
    other = [1, *([0] * (len(sets) - 1))]
    inverse: Matrix = [[] for _ in range(reports)]
    for u, own in enumerate(sets):
        p = sum((matrix[u][v] for v in own), Fraction())
        q = sum((matrix[other[u]][v] for v in own), Fraction())
        for v in range(reports):
            inverse[v].append(((v in own) - q) / (p - q))
    return inverse


def floats(matrix: Matrix) -> np.ndarray:
    return np.array([[float(x) for x in row] for row in matrix])
