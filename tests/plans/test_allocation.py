"""The optimal budget allocation: near the least error of a fine grid, for each kind of channel."""

import math
from fractions import Fraction

import numpy as np
import pytest

from deniable.plans.allocation import allocate_to_blocks
from deniable.plans.blocks import Block
from deniable.plans.choosing import choose
from deniable.privacy import allocate_by_size
from deniable.records import Attribute, Domain

GENERALIZED = "generalized-rr"


def blocks_of_sizes(*sizes: int) -> list[Block]:
    """Return one block per size, at uniform proportions."""
    parts = (
        Domain((Attribute(f"a{number}", tuple(map(str, range(size)))),))
        for number, size in enumerate(sizes)
    )
    return [Block(part, {}, np.full(part.size, 1 / part.size)) for part in parts]


def by_hand(size: int, epsilon: float) -> float:
    """Return n times the mean variance through generalized randomized response, with sampling.

    Reports are uniform: (1/r)(1 - 1/r) / a^2, with a = (e^eps - 1) / (e^eps - 1 + r).
    """
    return (1 / size) * (1 - 1 / size) * (1 + size / math.expm1(epsilon)) ** 2


@pytest.mark.parametrize("size", [2, 3, 10])
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
def test_the_error_of_a_block_is_that_by_hand(size: int, epsilon: float) -> None:
    (block,) = blocks_of_sizes(size)
    found = block.error(choose(block, epsilon, GENERALIZED).channel)
    assert found + (1 - 1 / size) / size == pytest.approx(by_hand(size, epsilon), rel=1e-12)


@pytest.mark.parametrize("sizes", [(2, 16), (3, 4), (2, 100)])
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 6.0])
def test_the_optimal_error_is_near_the_least_of_a_fine_grid(
    sizes: tuple[int, int], epsilon: float
) -> None:
    def loss(first: float) -> float:
        return by_hand(sizes[0], first) + by_hand(sizes[1], epsilon - first)

    shares = allocate_to_blocks(blocks_of_sizes(*sizes), [GENERALIZED] * 2, epsilon, "optimal")
    grid = min(loss(epsilon * step / 4000) for step in range(1, 4000))
    assert loss(shares[0]) <= grid * 1.005  # curves of error are interpolated
    for how in ("even", "size"):
        assert loss(shares[0]) <= loss(allocate_by_size(epsilon, sizes, how)[0])
    assert sum(map(Fraction, shares)) <= Fraction(epsilon)


def test_the_optimal_allocation_of_a_small_epsilon_is_in_third_roots() -> None:
    found = allocate_to_blocks(blocks_of_sizes(2, 9, 28, 9), [GENERALIZED] * 4, 1e-3, "optimal")
    # The variance is (r - 1) / eps^2 to first order: 1, 2, 3, 2 parts of 8.
    assert found == pytest.approx([1e-3 * part / 8 for part in (1, 2, 3, 2)], rel=1e-3)


def test_the_optimal_allocation_follows_the_channels() -> None:
    blocks, kinds = blocks_of_sizes(2, 40), (GENERALIZED, "hadamard")

    def loss(kind: str, first: float) -> float:
        pairs = zip(blocks, (GENERALIZED, kind), (first, 2.0 - first), strict=True)
        return sum(block.error(choose(block, own, each).channel) for block, each, own in pairs)

    first = {
        kind: allocate_to_blocks(blocks, [GENERALIZED, kind], 2.0, "optimal")[0] for kind in kinds
    }
    assert first["hadamard"] > first[GENERALIZED] * 1.05  # which wastes less on the larger one
    for kind in kinds:
        grid = min(loss(kind, 2.0 * step / 100) for step in range(1, 100))
        assert loss(kind, first[kind]) <= grid * 1.005


def test_columns_in_no_table_keep_an_even_part() -> None:
    blocks = blocks_of_sizes(2, 9, 4, 5)
    shares = allocate_to_blocks(blocks, [GENERALIZED] * 4, 2.0, "optimal", [("a0",), ("a1",)])
    assert shares[2:] == (0.5, 0.5)
    assert shares[0] < 0.5 < shares[1]
    assert 1 - 1e-12 < Fraction(shares[0]) + Fraction(shares[1]) <= 1
