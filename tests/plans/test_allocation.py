"""The optimal budget allocation: near the least error of a fine grid, for each kind of channel."""

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from deniable.arrays import Floats
from deniable.errors import DeniableError
from deniable.plans.allocation import Tables, allocate_to_blocks
from deniable.plans.blocks import Block, ExpectedTable
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


def test_columns_in_no_table_have_no_epsilon_unless_there_is_a_floor() -> None:
    blocks, kinds, tables = blocks_of_sizes(2, 9, 4, 5), [GENERALIZED] * 4, [("a0",), ("a1",)]
    found = allocate_to_blocks(blocks, kinds, 2.0, "optimal", tables)
    assert found[2:] == (0.0, 0.0)
    assert 2 - 1e-12 < sum(map(Fraction, found)) <= 2
    floored = allocate_to_blocks(blocks, kinds, 2.0, "optimal", tables, floor=0.1)
    assert floored[2:] == pytest.approx((0.05, 0.05))
    assert allocate_to_blocks(blocks, kinds, 2.0, "optimal", tables, floor=1) == (0.5,) * 4


def test_one_stated_column_or_table_has_all_of_epsilon() -> None:
    blocks, kinds = blocks_of_sizes(2, 3, 4, *[2] * 13), [GENERALIZED] * 16
    one = allocate_to_blocks(blocks, kinds, 2.0, "optimal", [("a1",)])
    assert one == (0.0, 2.0, *[0.0] * 14)
    tables = [("a0", "a1")]
    found = allocate_to_blocks(blocks, kinds, 2.0, "optimal", tables)
    assert sum(found[:2]) == pytest.approx(2.0)
    even = allocate_to_blocks(blocks, kinds, 2.0, "even")
    root = [exact_error(blocks, kinds, tables, each) ** 0.5 for each in (found, even)]
    assert root[0] < 0.12 * root[1]  # the standard error of the table falls to an eighth


def moments_by_hand(block: Block, part: tuple[str, ...], epsilon: float) -> Floats:
    """Return the second moment through generalized RR, and its derivative by epsilon.

    With s = e^epsilon - 1, it is the sum over shares of p + (p (k - 2 n) + n) / s + n (k - n) / s^2
    for the proportion p and the n cells of a share. All terms are log-convex in epsilon.
    """
    inside = block.shares(part)
    p, n, k, s = block.prior @ inside, inside.sum(axis=0), block.part.size, math.expm1(epsilon)
    first, second = (p * (k - 2 * n) + n).sum(), (n * (k - n)).sum()
    slope = -(s + 1) * (first / s**2 + 2 * second / s**3)
    return np.array([p.sum() + first / s + second / s**2, slope])


def exact_error(
    blocks: Sequence[Block], kinds: Sequence[str], tables: Tables, found: Sequence[float]
) -> float:
    """Return the mean over tables of n times the mean variance, from the channels themselves."""
    expected = [ExpectedTable.of(blocks, table) for table in tables]
    moments = {}
    for part in {part for table in expected for part in table.parts}:
        block, own = blocks[part[0]], found[part[0]]
        if not own and block.part.size > 1:
            return math.inf
        channel = choose(block, own, kinds[part[0]]).channel
        moments[part] = block.second_moments(channel, part[1])
    return float(np.mean([table.excess(moments) for table in expected]))


def relative_gap(blocks: Sequence[Block], tables: Tables, found: Sequence[float]) -> float:
    """Return a bound on the relative distance from the least error, by convexity in epsilon.

    f(x) - f(y) <= f'(x) (x - y), whose maximum over all y of the same sum is at a corner.
    """
    expected = [ExpectedTable.of(blocks, table) for table in tables]
    slopes, error = np.zeros(len(blocks)), 0.0
    for table in expected:
        own = {
            part: moments_by_hand(blocks[part[0]], part[1], found[part[0]]) for part in table.parts
        }
        product = math.prod(float(each[0]) for each in own.values())
        error += (product - table.held) / table.shares
        for (number, _), (moment, slope) in own.items():
            slopes[number] += product / moment * slope / table.shares
    stated = np.array(found) > 0
    return float((np.array(found)[stated] @ (slopes[stated] - slopes[stated].min())) / error)


def skewed(blocks: Sequence[Block]) -> list[Block]:
    generator = np.random.default_rng(5)
    return [replace(each, prior=generator.dirichlet(np.ones(each.part.size))) for each in blocks]


def numbers_of(*sizes: int) -> list[Block]:
    return [
        replace(each, points={each.names[0]: each.part.size}) for each in blocks_of_sizes(*sizes)
    ]


def cluster_of(first: int, second: int, *others: int) -> list[Block]:
    """Return a cluster of a0 and a1, and further columns."""
    parts = [block.part for block in blocks_of_sizes(first, second, *others)]
    joint = Domain((*parts[0], *parts[1]))
    blocks = [Block(joint, {}, np.full(joint.size, 1 / joint.size), categories_only=True)]
    return [*blocks, *(Block(part, {}, np.full(part.size, 1 / part.size)) for part in parts[2:])]


PAIRS = [tuple(pair) for pair in combinations(("a0", "a1", "a2", "a3"), 2)]
CERTIFIED = {
    "margins of different sizes": (
        blocks_of_sizes(2, 3, 9, 40),
        [("a0",), ("a1",), ("a2",), ("a3",)],
    ),
    "all pairs": (blocks_of_sizes(2, 3, 4, 7), PAIRS),
    "a table and a column": (blocks_of_sizes(2, 3, 4, 7), [("a0", "a3"), ("a1",)]),
    "a table of three": (blocks_of_sizes(2, 3, 4), [("a0", "a1", "a2")]),
    "clusters": (cluster_of(2, 3, 5, 4), [("a0", "a2"), ("a1",), ("a0", "a1"), ("a3",)]),
    "numbers": (numbers_of(9, 31), [("a0",), ("a0", "a1")]),
    "skewed": (skewed(blocks_of_sizes(2, 3, 4, 7)), PAIRS),
}


@pytest.mark.parametrize("name", CERTIFIED)
@pytest.mark.parametrize("epsilon", [0.5, 2.0, 8.0])
def test_a_duality_gap_shows_that_the_optimum_is_global(name: str, epsilon: float) -> None:
    blocks, tables = CERTIFIED[name]
    kinds = [GENERALIZED] * len(blocks)
    for block in blocks:
        made = block.second_moments(choose(block, epsilon, GENERALIZED).channel, block.names)
        assert moments_by_hand(block, block.names, epsilon)[0] == pytest.approx(made, rel=1e-9)
    found = allocate_to_blocks(blocks, kinds, epsilon, "optimal", tables)
    assert 0 <= relative_gap(blocks, tables, found) < 0.005
    even = allocate_to_blocks(blocks, kinds, epsilon, "even")
    assert relative_gap(blocks, tables, even) > 0.01  # the gap notices other allocations


SETTINGS = {
    "different sizes": (blocks_of_sizes(2, 5, 16), ["best"] * 3, [("a0",), ("a1",), ("a2",)], 2.0),
    "one column": (blocks_of_sizes(2, 5, 16), ["best"] * 3, [("a1",)], 1.0),
    "one table": (blocks_of_sizes(2, 5, 9, 3), ["best"] * 4, [("a1", "a2")], 4.0),
    "all pairs": (blocks_of_sizes(2, 5, 7), ["best"] * 3, PAIRS[:2] + PAIRS[3:4], 2.0),
    "a cluster": (cluster_of(2, 3, 16), ["best"] * 2, [("a0", "a1"), ("a2",)], 2.0),
    "a number": ([*numbers_of(31), *blocks_of_sizes(2, 5)[1:]], ["best"] * 2, [("a0", "a1")], 2.0),
    "two numbers": (numbers_of(11, 31), ["square-wave"] * 2, [("a0",), ("a1",)], 4.0),
    "geometry": (blocks_of_sizes(2, 40), ["projective-geometry"] * 2, [("a0",), ("a1",)], 4.0),
    "mixed": (blocks_of_sizes(4, 12), [GENERALIZED, "hadamard"], [("a0", "a1")], 8.0),
    "subsets": (blocks_of_sizes(6, 12), ["subset-selection"] * 2, [("a0", "a1"), ("a0",)], 0.5),
    "a floor": (blocks_of_sizes(2, 16, 5), ["best"] * 3, [("a0",), ("a1",)], 2.0),
    "a share": (blocks_of_sizes(2, 16, 5), ["best"] * 3, [("a0", "a2"), ("a1", "a2")], 2.0),
}
OPTIONS: dict[str, dict[str, Any]] = {"a floor": {"floor": 0.6}, "a share": {"shares": {"a2": 0.5}}}


@pytest.mark.parametrize("name", SETTINGS)
def test_the_error_is_within_two_percent_of_an_enumeration(name: str) -> None:
    blocks, kinds, tables, epsilon = SETTINGS[name]
    options = OPTIONS.get(name, {})
    found = allocate_to_blocks(blocks, kinds, epsilon, "optimal", tables, **options)
    assert sum(map(Fraction, found)) <= Fraction(epsilon)
    fixed = {2: found[2]} if options else {}  # at the floor, or the stated share
    assert (
        found[2:] == pytest.approx((epsilon * (0.6 / 3 if "floor" in options else 0.5),))
        or not options
    )
    stated = [number for number, own in enumerate(found) if own and number not in fixed]
    room = epsilon - sum(fixed.values())
    steps = {1: [(1.0,)], 2: [(each, 1 - each) for each in np.linspace(0.04, 0.96, 70)]}
    steps[3] = [
        (x, y, 1 - x - y) for x, y in product(np.linspace(0.04, 0.92, 23), repeat=2) if x + y < 0.97
    ]

    @cache
    def channel_error(number: int, own: float) -> Any:
        return choose(blocks[number], own, kinds[number]).channel

    least = math.inf
    for step in steps[len(stated)]:
        tried = dict.fromkeys(range(len(blocks)), 0.0) | fixed
        tried |= {
            number: float(f"{room * part:.12g}") for number, part in zip(stated, step, strict=True)
        }
        if "floor" in options and min(tried.values()) < epsilon * 0.6 / 3:
            continue
        expected = [ExpectedTable.of(blocks, table) for table in tables]
        moments = {
            part: blocks[part[0]].second_moments(channel_error(part[0], tried[part[0]]), part[1])
            for part in {part for table in expected for part in table.parts}
        }
        least = min(least, float(np.mean([table.excess(moments) for table in expected])))
    assert exact_error(blocks, kinds, tables, found) <= 1.02 * least


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.integers(2, 8), min_size=2, max_size=4),
    st.floats(0.2, 10.0),
    st.sampled_from(["best", GENERALIZED, "hadamard", "subset-selection"]),
    st.data(),
)
def test_the_optimum_is_never_worse_than_even_or_size(
    sizes: list[int], epsilon: float, kind: str, data: st.DataObject
) -> None:
    blocks, kinds = blocks_of_sizes(*sizes), [kind] * len(sizes)
    names = st.lists(st.sampled_from([f"a{n}" for n in range(len(sizes))]), min_size=1, unique=True)
    tables = [tuple(each) for each in data.draw(st.lists(names, min_size=1, max_size=3))]
    shares = {"a0": 0.3} if data.draw(st.booleans()) else None
    errors = [
        exact_error(
            blocks,
            kinds,
            tables,
            allocate_to_blocks(blocks, kinds, epsilon, how, tables, shares=shares),
        )
        for how in ("optimal", "even", "size")
    ]
    assert errors[0] <= min(errors[1:]) * (1 + 1e-9)


def test_shares_are_exact_and_the_rest_is_split() -> None:
    blocks, kinds = blocks_of_sizes(2, 9, 4), [GENERALIZED] * 3
    for how in ("even", "size", "optimal"):
        found = allocate_to_blocks(blocks, kinds, 2.0, how, shares={"a1": 0.25})
        assert found[1] == 0.5
        assert 2 - 1e-12 < sum(map(Fraction, found)) <= 2
    assert allocate_to_blocks(blocks, kinds, 2.0, "even", shares={"a1": 0.25})[0] == 0.75
    tenths = dict.fromkeys(("a0", "a1"), 0.1) | {"a2": 0.8}
    assert sum(allocate_to_blocks(blocks, kinds, 2.0, "even", shares=tenths)) == pytest.approx(2)


@pytest.mark.parametrize(
    ("how", "options", "message"),
    [
        ("even", {"floor": 0.1}, "floor 0.1 with split even"),
        ("optimal", {"floor": 1.5}, "give 0 to 1"),
        ("even", {"shares": {"z": 0.1}}, "unknown column to randomize"),
        ("even", {"shares": {"a0": 0.7, "a2": 0.7}}, "sum to 1.4"),
        ("even", {"shares": {"a0": 0.0}}, "not above 0"),
        ("even", {"shares": {"a0": math.nan}}, "not a finite number"),
        ("even", {"shares": {"a0": 0.1, "a1": 0.1}}, "one cluster"),
        ("even", {"shares": {"a0": 1}}, "leave no epsilon for a2"),
        ("each", {"shares": {"a0": 0.5}}, "gives all of epsilon"),
        ("even", {"shares": {"a3": 0.5}}, "needs no epsilon"),
    ],
)
def test_impossible_floors_and_shares_are_refused(how: Any, options: Any, message: str) -> None:
    blocks = [*cluster_of(2, 3, 4), *blocks_of_sizes(1, 1, 1, 1)[3:]]
    with pytest.raises(DeniableError, match=message):
        allocate_to_blocks(blocks, ["best"] * 3, 2.0, how, **options)
