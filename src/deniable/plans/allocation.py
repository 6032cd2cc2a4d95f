"""Allocate an epsilon to blocks: evenly, by their sizes, or for the least error of tables."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import Any, Literal, get_args

import numpy as np
import scipy

from deniable.arrays import Floats
from deniable.channels import MAX_EPSILON, as_written, rounded_down
from deniable.errors import DeniableError, refuse_unknown
from deniable.plans.blocks import NEARLY_NONE, Block, BlockPart, ExpectedTable
from deniable.plans.choosing import BEST, DESIGNED, Choice, choose
from deniable.privacy import Allocation, allocate, allocate_by_size

Split = Literal[Allocation, "optimal", "each"]
Tables = Sequence[tuple[str, ...]]
"""The names of the columns of each table."""
Chooser = Callable[[Block, float, str], Choice]
"""Returns the channel of a block at an epsilon, of a kind: `choose`, with further arguments."""
MIN_MEAN_EPSILON = 1e-5
"""Mean epsilon of the channels below which floats cannot distinguish their randomized values."""
MIN_PROPORTION = 1e-3
"""Least proportion of an even part in the search for the optimum."""
TINY = 1e-300  # keeps the logarithm of an error of 0 finite
POINTS = 16  # of each curve of error by epsilon, which is interpolated between them
ROUNDS = ((0.25, 0.3, 0.5), (0.03, 0.05, 0.1), (0.0, 0.0, 0.0))
"""Rounds of the search for the optimum of the curves. These are widths of logarithms: of points
around the optimum, of random starts, and of dense points if the curve is rough."""
ROUGH, DENSE, STARTS, HALVINGS = 0.02, 32, 16, 3
"""Error of a curve's logarithm, from which on it is rough; then numbers of dense points, starts,
and halvings of intervals with jumps."""


def allocate_to_blocks(
    blocks: Sequence[Block],
    kinds: Sequence[str],
    epsilon: float,
    how: Split,
    tables: Tables = (),
    *,
    floor: float = 0.0,
    shares: Mapping[str, float] | None = None,
    choose: Chooser = choose,
) -> tuple[float, ...]:
    """Return the epsilon of each of the `blocks`, 0 for a block that is left out.

    As fractions, the results sum to at most `epsilon`, the one of a whole record. With `how` "each"
    it is the one of each block instead. The `kinds` are mechanisms, as in `choose`; for designs,
    the optimum is searched for "best". A function `choose` returns the channels.

    "even" and "size" are as in `deniable.privacy.allocate_by_size`. "optimal" has the least mean
    over the `tables`, by default all marginal distributions, of the mean variance of their
    estimated proportions, as `compare` prints it, and leaves out blocks in no table. The optimum is
    global, up to interpolation, if all channels are keep-or-replace channels: the logarithm of a
    second moment is then convex in epsilon. Otherwise several starts are compared. By exact errors,
    the result is never worse than "even", nor than "size" if that is above the floor. The `floor`,
    from 0 to 1, is the least epsilon of a block with "optimal", as a proportion of its even part.

    `shares` are proportions of `epsilon`, above 0, for the blocks of single columns. All other
    blocks divide the rest. Raises `DeniableError` if an argument is out of range, epsilon is too
    small, or no block with two cells has one.
    """
    refuse_unknown("way to split epsilon", how, get_args(Split))
    sizes = [block.size for block in blocks]
    allocate_by_size(epsilon, sizes)
    if not 0 <= floor <= 1 or (floor and how != "optimal"):
        raise DeniableError(f"floor {floor:g} with split {how}; give 0 to 1, with split optimal")
    if how == "each":
        if shares:
            raise DeniableError("split each gives all of epsilon to each column; give no share")
        return tuple(epsilon if size > 1 else 0.0 for size in sizes)
    several = [number for number, size in enumerate(sizes) if size > 1]
    if epsilon < (least := MIN_MEAN_EPSILON * len(several)):
        raise DeniableError(
            f"epsilon is {epsilon}, too small to estimate anything from these columns; give "
            f"{least:.2g} or more"
        )
    given = _given(blocks, shares or {})
    found = {number: rounded_down(Fraction(epsilon) * each) for number, each in given.items()}
    rest = [number for number in several if number not in given]
    tables = [*tables] or [(name,) for block in blocks for name in block.names]
    named = {name for table in tables for name in table}
    stated = [number for number in rest if how != "optimal" or named & {*blocks[number].names}]
    if rest if floor else stated:
        left = Fraction(epsilon) * (1 - sum(given.values()))
        if not (budget := rounded_down(left) if given else epsilon):
            names = ", ".join(blocks[number].label for number in rest)
            raise DeniableError(f"the shares sum to 1 and leave no epsilon for {names}; lower one")
        of_rest = [sizes[number] for number in rest]
        splits: tuple[Allocation, ...] = ("even", "size") if how == "optimal" else (how,)
        starts = [
            dict(zip(rest, allocate_by_size(budget, of_rest, split), strict=True))
            for split in splits
        ]
        if how == "optimal":
            expected = [ExpectedTable.of(blocks, table) for table in tables]
            kind_of = dict(enumerate(zip(blocks, kinds, strict=True)))
            starts = [_optimum(kind_of, expected, found, starts, budget, floor, choose)]
        found |= starts[0]
    if not found:
        raise DeniableError(f"no column of the tables {tables} has two categories; state another")
    return tuple(found.get(number, 0.0) for number in range(len(blocks)))


def _given(blocks: Sequence[Block], shares: Mapping[str, float]) -> dict[int, Fraction]:
    """Return the proportions that the owner gives to blocks, by their numbers."""
    number_of = {name: number for number, block in enumerate(blocks) for name in block.names}
    given = dict[int, Fraction]()
    for name, value in shares.items():
        refuse_unknown("column to randomize", name, [*number_of])
        number, exact = number_of[name], as_written(value)
        if not 0 < exact <= 1:
            raise DeniableError(f"the share {value} for {name!r} is not above 0 and at most 1")
        if blocks[number].size == 1:
            raise DeniableError(f"{name!r} has one category and needs no epsilon; give no share")
        if number in given:
            raise DeniableError(f"{blocks[number].label} is one cluster; give it one share")
        given[number] = exact
    if (total := sum(given.values())) > 1:
        raise DeniableError(f"the shares sum to {float(total):g}; give at most 1")
    return given


def _optimum(
    blocks: Mapping[int, tuple[Block, str]],
    expected: Sequence[ExpectedTable],
    given: Mapping[int, float],
    starts: Sequence[Mapping[int, float]],
    budget: float,
    floor: float,
    choose: Chooser,
) -> dict[int, float]:
    """Return the epsilons of `blocks` with the least exact error of the tables.

    The `starts` are allocations of the `budget`. The first one is even, and decides with the
    `floor` on the least epsilons. The `given` epsilons are of other blocks.
    """
    choose = cache(choose)

    @cache
    def moment(part: BlockPart, epsilon: float) -> float:
        block, kind = blocks[part[0]]
        return block.second_moments(choose(block, epsilon, kind).channel, part[1])

    even, *_ = starts
    low = {number: floor * each for number, each in even.items()}
    parts = sorted({part for table in expected for part in table.parts})
    fixed = {part: moment(part, given.get(part[0], 0.0)) for part in parts if part[0] not in even}
    parts = [part for part in parts if part not in fixed]
    free = list(dict.fromkeys(number for number, _ in parts))

    def error(found: Mapping[int, float]) -> float:
        moments = fixed | {part: moment(part, found[part[0]]) for part in parts}
        return sum(table.excess(moments) for table in expected)

    found = [low | {number: start[number] for number in free} for start in starts]
    found = [each for each in found if all(each[number] >= low[number] for number in free)]
    room = budget - sum(low.values())
    searched = [low | {free[0]: low[free[0]] + room}]
    if len(free) > 1 and room > 0:
        own = [_Curve(*blocks[at], [names for of, names in parts if of == at]) for at in free]
        curve_of = {each.about: each for each in own}  # equal blocks share a curve
        curves = [curve_of[each.about] for each in own]
        bounds = np.array([low[number] for number in free]), room
        begin = [np.array([start[number] for number in free]) for start in starts]
        optima = _optima(curves, parts, expected, fixed, bounds, begin)
        searched = [low | dict(zip(free, each.tolist(), strict=True)) for each in optima]
    for each in searched:
        found.append(dict(zip(each, allocate(budget, [*each.values()]), strict=True)))
    return min(found, key=error)


def _optima(
    curves: "Sequence[_Curve]",
    parts: Sequence[BlockPart],
    expected: Sequence[ExpectedTable],
    fixed: Mapping[BlockPart, float],
    bounds: tuple[Floats, float],
    starts: Sequence[Floats],
) -> list[Floats]:
    """Return one optimum of the interpolated error for each of the `starts`.

    There is one of `curves` for each block, with its `parts` in order. The `bounds` are the least
    epsilons, and the epsilon that they leave.
    """
    contained = scipy.sparse.csr_array(
        [[float(part in table.parts) for part in parts] for table in expected]
    )
    constant = np.array(
        [math.prod(fixed.get(part, 1.0) for part in each.parts) / each.shares for each in expected]
    )
    added_to = sum(table.held / table.shares for table in expected if table.parts)
    block_of = np.repeat(np.arange(len(curves)), [len(each.parts) for each in curves])
    low, room = bounds
    low = low + MIN_PROPORTION * room / low.size
    room *= 1 - MIN_PROPORTION

    def loss(logits: Floats) -> tuple[float, Floats]:
        weights = scipy.special.softmax(logits)
        found = map(_Curve.at, curves, low + room * weights)
        moments, slopes = map(np.concatenate, zip(*found, strict=True))
        terms = constant * np.exp(np.asarray(contained @ np.log(moments)))
        added = max(float(terms.sum()) - added_to, TINY)
        slope = np.bincount(block_of, np.asarray(contained.T @ terms) / moments * slopes)
        return math.log(added), room * weights * (slope - weights @ slope) / added

    def computed(epsilons: Iterable[Floats]) -> list[bool]:
        return list(map(_Curve.compute, curves, epsilons))

    computed(np.geomspace(each, each + room, POINTS) for each in low)
    begin = [np.log(np.maximum((start - low) / room, MIN_PROPORTION)) for start in starts]
    generator, optima = np.random.default_rng(0), list[Floats]()
    for near, spread, wide in ROUNDS:
        searches = [
            scipy.optimize.minimize(loss, each, jac=True, method="L-BFGS-B") for each in begin
        ]
        best = min(searches, key=lambda each: float(each.fun)).x
        optima.append(low + room * scipy.special.softmax(best))
        centers = [float(f"{each:.3g}") for each in optima[-1]]
        rough = computed(each * np.exp([-near, 0.0, near]) for each in centers)
        dense = np.exp(np.linspace(-wide, wide, DENSE))
        computed(each * dense[: off * DENSE] for each, off in zip(centers, rough, strict=True))
        for _ in range(HALVINGS * any(rough)):
            computed([each.jumps() for each in curves])
        begin = [best, *best + generator.normal(0, spread, (STARTS * any(rough), best.size))]
    return optima


class _Curve:
    """Second moments of the `parts` of a block by epsilon, between computed ones interpolated.

    What randomization adds to a moment is interpolated, in logarithms.
    """

    def __init__(self, block: Block, kind: str, parts: Sequence[tuple[str, ...]]) -> None:
        self._block, self._kind, self.parts = block, kind, parts
        self._held = np.array([block.expected(part)[0] for part in parts])
        self._known = dict[float, Floats]()
        self._fitted: Any = None
        self._slope: Any = None

    @property
    def about(self) -> tuple[Any, ...]:
        """A description that equal curves share."""
        block = self._block
        shapes = [
            (each.size, block.points.get(each.name), *(each.name in names for names in self.parts))
            for each in block.part
        ]
        flags = block.possible is not None and block.possible.tobytes()
        others = (flags, block.categories_only, block.beyond)
        return (self._kind, *shapes, block.prior.tobytes(), *others)

    def compute(self, epsilons: Floats) -> bool:
        """Compute the moments at `epsilons`; return whether the curve was far off."""
        before, block = self._fitted, self._block
        new = {min(each, MAX_EPSILON) for each in epsilons} - {*self._known}
        if not new:
            return False
        for each in new:
            channel = choose(block, each, BEST if self._kind == DESIGNED else self._kind).channel
            moments = [block.second_moments(channel, part) for part in self.parts]
            self._known[each] = np.array(moments)
        at = np.array(sorted(self._known))
        least = NEARLY_NONE**2 * self._held
        added = np.log(np.maximum([self._known[each] - self._held for each in at], least))
        self._fitted = scipy.interpolate.PchipInterpolator(np.log(at), added)
        self._slope = self._fitted.derivative()
        return bool(before and np.abs(before(np.log(at)) - added).max() > ROUGH)

    def jumps(self) -> Floats:
        """Return the middles of short intervals in which the curve seems to jump."""
        at = np.log(sorted(self._known))
        widths, steps = np.diff(at), np.diff(self._fitted(at)[:, 0])
        slopes = steps / widths
        jump = (widths < 0.1) & ((slopes > 0) | (slopes < 4 * np.median(slopes)))
        return np.asarray(np.exp(at[:-1] + widths / 2)[jump])

    def at(self, epsilon: float) -> tuple[Floats, Floats]:
        """Return the moments at an `epsilon`, and their slopes."""
        at = np.log(min(epsilon, MAX_EPSILON))
        added = np.exp(self._fitted(at))
        slopes = added * self._slope(at) / epsilon * (epsilon < MAX_EPSILON)
        return self._held + added, slopes
