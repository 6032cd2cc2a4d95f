"""Allocate an epsilon to blocks: evenly, by their sizes, or for the least error of tables."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Literal, get_args

import numpy as np
import scipy

from deniable.arrays import Floats
from deniable.channels import MAX_EPSILON, rounded_down
from deniable.errors import DeniableError, refuse_unknown
from deniable.plans.blocks import Block, ExpectedTable
from deniable.plans.choosing import choose
from deniable.privacy import Allocation, allocate, allocate_by_size

Split = Literal[Allocation, "optimal", "each"]
Tables = Sequence[tuple[str, ...]]
"""The names of the columns of each table."""
MIN_MEAN_EPSILON = 1e-5
"""Mean epsilon of the channels below which floats cannot distinguish their randomized values."""
MIN_PROPORTION = 1e-3
"""Least proportion of the largest allocated epsilon in the search for the optimum."""
TINY = 1e-300  # keeps the logarithm of an error of 0 finite
POINTS = 13  # of each curve of error by epsilon, which is interpolated between them


def allocate_to_blocks(
    blocks: Sequence[Block], kinds: Sequence[str], epsilon: float, how: Split, tables: Tables = ()
) -> tuple[float, ...]:
    """Return the epsilon of each of the `blocks`.

    The `epsilon`, above 0, is the one of a whole record. As fractions, the results sum to at most
    it. With "each", it is the epsilon of each block instead. The budget allocations (`how`) "even"
    and "size" are as in `deniable.privacy.allocate_by_size`. "optimal" minimizes the mean variance
    of estimated proportions, summed over the `tables`, by default all marginal distributions. The
    search is numerical, on interpolated curves of error by epsilon. It depends on `kinds`, the
    mechanism of each block as in `choose`. Blocks in no table keep their even part. Raises
    `DeniableError` if epsilon is not above 0 or too small, or no block has two cells.
    """
    refuse_unknown("way to split epsilon", how, get_args(Split))
    sizes = [block.size for block in blocks]
    even = allocate_by_size(epsilon, sizes)
    if how == "each":
        return tuple(epsilon if size > 1 else 0.0 for size in sizes)
    least = MIN_MEAN_EPSILON * sum(size > 1 for size in sizes)
    if epsilon < least:
        raise DeniableError(
            f"epsilon is {epsilon}, too small to estimate anything from these columns; give "
            f"{least:.2g} or more"
        )
    if how == "even" or sum(size > 1 for size in sizes) == 1:
        return even
    by_size = allocate_by_size(epsilon, sizes, "size")
    if how == "size":
        return by_size
    tables = [*tables] or [(name,) for block in blocks for name in block.names]
    named = {name for table in tables for name in table}
    several = [
        number for number, size in enumerate(sizes) if size > 1 and named & {*blocks[number].names}
    ]
    if len(several) < 2:
        return even
    budget = rounded_down(sum((Fraction(even[number]) for number in several), Fraction()))
    chosen = [(blocks[number], kinds[number]) for number in several]
    starts = [np.array(each)[several] for each in (even, by_size)]
    best = _optimum(chosen, budget, tables, [start / start.sum() for start in starts])
    found = allocate(budget, best.tolist())
    return tuple((dict(enumerate(even)) | dict(zip(several, found, strict=True))).values())


def _optimum(
    chosen: Sequence[tuple[Block, str]], epsilon: float, tables: Tables, starts: Sequence[Floats]
) -> Floats:
    """Return the proportions of epsilon with the least error of the tables."""
    blocks = [block for block, _ in chosen]
    expected = [ExpectedTable.of(blocks, table) for table in tables]
    curves = {
        part: _curve(*chosen[part[0]], part[1], epsilon, len(blocks))
        for part in dict.fromkeys(part for table in expected for part in table.parts)
    }

    def error(of: Floats) -> float:
        at = np.log(np.minimum(epsilon * of, MAX_EPSILON))
        moments = {part: float(np.exp(curve(at[part[0]]))) for part, curve in curves.items()}
        return sum(table.excess(moments) for table in expected if table.parts)

    def shares(logarithms: Floats) -> Floats:
        weights = np.exp(np.clip(logarithms - logarithms.max(), np.log(MIN_PROPORTION), 0))
        return np.asarray(weights / weights.sum())

    def loss(logarithms: Floats) -> float:
        return float(np.log(error(shares(logarithms)) + TINY))

    best = min(starts, key=error)
    found = scipy.optimize.minimize(loss, np.log(best), method="BFGS")
    return min([best, shares(found.x)], key=error)


def _curve(
    block: Block, kind: str, part: tuple[str, ...], epsilon: float, blocks: int
) -> "scipy.interpolate.PchipInterpolator":
    """Return the logarithm of `Block.second_moments` as a function of the logarithm of epsilon."""
    at = np.geomspace(epsilon * MIN_PROPORTION / blocks, min(epsilon, MAX_EPSILON), POINTS)
    moments = [block.second_moments(choose(block, each, kind).channel, part) for each in at]
    return scipy.interpolate.PchipInterpolator(np.log(at), np.log(moments))
