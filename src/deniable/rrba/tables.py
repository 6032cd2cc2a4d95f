"""Update the table of randomized response block aggregation ([rrba], section 4.1).

Clients answer in blocks. A client with the table q returns its true cell with probability p, and
otherwise a cell drawn from q: the channel P = p I + (1 - p) 1 q'. Equation (4) applies the inverse
of that channel to the answers of the block. A `Rule` makes the next block's table from the result.

Cells are the last axis of all arrays. There may be leading axes of replicates.

**Privacy.** Theorem 4.1 claims ln(1 / (1 - p)), for all tables. Its proof gives the true answer the
probability p q, as if a client returned its true cell only if a fake draw also had it. In fact the
answer v has the probability p + (1 - p) q_v from a client with the true cell v, and (1 - p) q_v
from any other client. So

    epsilon = max over v of ln(1 + p / ((1 - p) q_v)),

For every table of two cells or more this is above the claim: some q_v is at most 1/2, and 1 + p /
((1 - p) q) exceeds 1 / (1 - p) = 1 + p / (1 - p) for every q < 1.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from deniable.arrays import Counts, Floats
from deniable.channels import KeepOrReplace, ProductChannel, log_rounded_up, product_of_ratios
from deniable.errors import DeniableError, refuse_unknown
from deniable.estimation import euclidean_projection

Update = Literal["pooled", "first_version", "second_version"]
"""The estimate for the next q: from all answers so far, or by a version of Algorithm 1."""
Basis = Literal["none", Update]

DIVERGENCE_THRESHOLD = 1e6
"""A table with a larger entry has diverged. It is not updated, because floats would overflow."""


@dataclass(frozen=True)
class Rule:
    """A rule that makes the next clients' table from the answers so far.

    The `basis` is the estimate from which the table is made:

    - ``none``: no estimate; the table stays uniform.
    - ``second_version`` of the protocol: (4) for the last block alone.
    - ``first_version``: (4) with all counts so far, and the last table. It subtracts the
      contribution of the last table from the counts of all answers. Each step multiplies the error
      of the table by -(1 - p) / p, so it diverges for p < 1/2.
    - ``pooled``: (4) with all counts so far, and the average of their tables. It is unbiased, and
      corrects the first version.

    With a `floor`, in (0, 1], the table is the closest distribution with cells of at least floor /
    cells. The floor bounds epsilon, see `deniable.rrba.tables.floor_epsilon`. With 0 the table is
    the estimate itself, as published, even if it is not a distribution, and fake answers follow
    (3) exactly (`drawn_distribution`). Raises `DeniableError` for other values.
    """

    basis: Basis = "pooled"
    floor: float = 0.1

    def __post_init__(self) -> None:
        refuse_unknown("basis", self.basis, get_args(Basis))
        if not 0 <= self.floor <= 1:
            raise DeniableError(f"the floor is {self.floor}; it must be in [0, 1]")


PRINTED = Rule("second_version", 0.0)
"""The second version of the protocol, exactly as published."""

PRINTED_FIRST_VERSION = Rule("first_version", 0.0)
"""Algorithm 1, exactly as published, with the answers of all clients so far."""

POOLED = Rule("pooled", 0.1)
"""The rule of this library."""


@dataclass(frozen=True, eq=False)
class TableState:
    """The state of one table at an aggregator. All arrays have the shape (..., cells).

    `table` is T, the table of the next clients, which (4) subtracts. Without a floor it may not be
    a distribution. `counts` has all answers so far. `exposure` is the sum over answers of their
    distributions of fake answers.
    """

    table: Floats
    counts: Counts
    exposure: Floats

    @classmethod
    def uniform(cls, cells: int, runs: tuple[int, ...] = ()) -> "TableState":
        """Return the state before the first client: uniform `cells`, with leading axes `runs`."""
        if cells < 1:
            raise DeniableError(f"a table has at least 1 cell, not {cells}")
        shape = (*runs, cells)
        return cls(np.full(shape, 1 / cells), np.zeros(shape, dtype=np.int64), np.zeros(shape))

    def updated(self, reported: npt.ArrayLike, keep: float, rule: Rule) -> "TableState":
        """Return the state after a block with the counts `reported`, shape (..., cells).

        p is `keep`, in (0, 1), and the `rule` makes the next table. A replicate without answers
        does not change. Raises `DeniableError` if `reported` are not counts.
        """
        block = checked_counts(reported, self.table.shape[-1])
        size = block.sum(axis=-1, keepdims=True)
        counts, exposure = self.counts + block, self.exposure + size * self.drawn_from
        after = TableState(self.table, counts, exposure)
        if rule.basis == "none":
            return after
        if rule.basis == "pooled":
            estimate = after.estimate(keep)
        else:
            reports = block if rule.basis == "second_version" else counts
            estimate = printed_estimate(reports, self.table, keep)
        moves = (size > 0) & (np.abs(self.table).max(axis=-1, keepdims=True) < DIVERGENCE_THRESHOLD)
        if rule.floor:
            made = floored_projection(estimate, rule.floor)
        else:
            # The exact sum is 1, but (4) multiplies its rounding error by -(1 - p) / p at each
            # step. For p below 1/2 the sum of floats would drift from 1 within a hundred blocks.
            made = estimate - (estimate.sum(axis=-1, keepdims=True) - 1) / estimate.shape[-1]
        return TableState(np.where(moves, made, self.table), counts, exposure)

    @cached_property
    def drawn_from(self) -> Floats:
        """The distribution of the next clients' fake answers, shape (..., cells)."""
        return drawn_distribution(self.table)

    def estimate(self, keep: float) -> Floats:
        """Return the unbiased estimate from all answers so far; it is uniform without answers.

        p is `keep`, in (0, 1).
        """
        total = self.counts.sum(axis=-1, keepdims=True)
        truth = pooled_estimate(self.counts, self.exposure, total, keep)
        return np.asarray(np.where(total > 0, truth, 1 / self.counts.shape[-1]))


def printed_estimate(reported: npt.ArrayLike, table: npt.ArrayLike, keep: float) -> Floats:
    """Return T' = (o / n - T (1 - p)) / p, equation (4), with counts o = `reported` and p = `keep`.

    It sums to 1 if the `table` T does, and may leave [0, 1]. Without answers it is T. Arrays have
    the shape (..., cells). Raises `DeniableError` if `reported` are not counts.

    Examples
    --------
    >>> printed_estimate([3, 1], [0.5, 0.5], 0.5)
    array([1., 0.])
    """
    T = np.asarray(table, dtype=float)
    counts = checked_counts(reported, T.shape[-1])
    n = counts.sum(axis=-1, keepdims=True)
    return np.asarray(np.where(n > 0, (counts / np.maximum(n, 1) - (1 - keep) * T) / keep, T))


def pooled_estimate(
    counts: Counts | Floats, exposure: Floats, total: Counts | Floats, keep: float
) -> Floats:
    """Return (O - (1 - p) sum of n q) / (p N): (4) over all blocks, each with its own table.

    It is unbiased. Blocks may depend on earlier blocks, because the error is a martingale. O are
    the `counts` of all answers. The `exposure` is the sum of n q over blocks (see `TableState`). N
    is the `total`, shape (..., 1), and p the probability `keep`.
    """
    return np.asarray((counts - (1 - keep) * exposure) / (keep * np.maximum(total, 1)))


def floored_projection(estimate: npt.ArrayLike, floor: float) -> Floats:
    """Return the closest distribution (Euclidean) with every cell at least `floor` / cells.

    The floor is in [0, 1]: 0 is the projection on the simplex, 1 gives the uniform distribution.
    The `estimate` has the shape (..., cells).

    Examples
    --------
    >>> floored_projection([1.2, -0.2], 0.1)
    array([0.95, 0.05])
    """
    values = np.asarray(estimate, dtype=float)
    least = floor / values.shape[-1]
    if floor == 1:
        return np.full(values.shape, least)
    # The cells minus the floor are a distribution times 1 - floor.
    return np.asarray(least + (1 - floor) * euclidean_projection((values - least) / (1 - floor)))


def drawn_distribution(table: Floats) -> Floats:
    """Return the distribution of fake answers by (3), even if `table` is not a distribution.

    A uniform number u selects the first cell with a cumulative sum above u. So negative cells are
    never drawn, and cells after them less often than their entry. A distribution is returned
    unchanged.
    """
    possible = table >= 0
    if possible.all():
        return table
    cumulative = np.minimum(np.maximum(np.cumsum(table, axis=-1), 0.0), 1.0)
    cumulative[..., -1] = 1.0
    reached = np.maximum.accumulate(cumulative, axis=-1)
    steps = reached.copy()
    steps[..., 1:] -= reached[..., :-1]
    return np.where(possible.all(axis=-1, keepdims=True), table, steps)


def table_channel(table: npt.ArrayLike, keep: float) -> KeepOrReplace:
    """Return P = p I + (1 - p) 1 q', p = `keep`, q = `table`: the channel of a client.

    Raises `DeniableError` if p is outside (0, 1), or the table is not a distribution.
    """
    refuse_bad_keep(keep)
    return KeepOrReplace(keep, (1 - keep) * np.asarray(table, dtype=float))


def checked_counts(reported: npt.ArrayLike, cells: int) -> Counts:
    """Return counts `reported`, shape (..., `cells`), as an array; they need not be whole.

    Raises `DeniableError` for another number of cells, or a value that is negative or infinite.
    """
    counts = np.asarray(reported)
    if counts.dtype.kind not in "iuf" or counts.shape[-1:] != (cells,):
        raise DeniableError(
            f"counts of answers are {counts.dtype} of shape {counts.shape}; give numbers, one for "
            f"each of {cells} cells on the last axis"
        )
    right = counts >= 0 if counts.dtype.kind != "f" else (counts >= 0) & (counts < np.inf)
    if not right.all():
        wrong = counts[~right].tolist()
        raise DeniableError(f"a cell has the count {wrong[0]}; counts are finite and at least 0")
    return counts


def refuse_bad_keep(keep: float) -> None:
    """Raise `DeniableError` unless p, `keep`, is in (0, 1)."""
    if not 0 < keep < 1:
        raise DeniableError(f"p, the probability of a true answer, is {keep}; it must be in (0, 1)")


def claimed_epsilon(keep: float) -> float:
    """Return ln(1 / (1 - p)), the epsilon of Theorem 4.1 and equation (6), which does not hold.

    p, `keep`, is in (0, 1).

    Examples
    --------
    >>> round(claimed_epsilon(0.5), 3)
    0.693
    """
    refuse_bad_keep(keep)
    return -math.log1p(-keep)


def retention_from_claim(epsilon: float) -> float:
    """Return p = 1 - exp(-`epsilon`), equation (6), for an epsilon above 0.

    This gives the p of [rrba], Figure 6: epsilons .01, .05, .1, .15, .25 and .35 give .009, .048,
    .095, .139, .221 and .295, truncated to three digits.
    """
    if not epsilon > 0:
        raise DeniableError(f"epsilon is {epsilon}; it must be above 0")
    return -math.expm1(-epsilon)


def answer_epsilon(tables: Sequence[npt.ArrayLike], keep: float) -> float:
    """Return the exact epsilon of a client's answer about all `tables` of a view, rounded up.

    Each table q has the shape (cells,), and p, `keep`, is in (0, 1). Combinations of a view have no
    common attribute, so the same two records are the worst pair for all tables. Cells are drawn
    independently. So epsilon is the sum over tables. `deniable.channels.KeepOrReplace` proves the
    closed form for one table: infinite if a cell is 0, and 0 for a table of one cell. For several
    answers through the same table, list it once per round. If the table of a combination differs
    between rounds, the sum is an upper bound, given the tables.

    Examples
    --------
    >>> round(answer_epsilon([[0.25] * 4], 0.5), 3)
    1.609
    """
    return ProductChannel(tuple(table_channel(table, keep) for table in tables)).epsilon


def floor_parity(cells: int, keep: float, floor: float) -> Fraction | None:
    """Return 1 + p m / ((1 - p) w) exactly, the parity of one answer if a cell is at its floor.

    The table has m `cells`. Each cell is at least `floor` / m, with w = `floor` in [0, 1]. The
    probability p of a true answer is `keep`. A table of one cell has parity 1. None is an infinite
    parity, at floor 0.
    """
    if cells == 1:
        return Fraction(1)
    if floor == 0:
        return None
    p = Fraction(keep)
    return 1 + p * cells / ((1 - p) * Fraction(floor))


def floor_epsilon(sizes: Sequence[int], keep: float, floor: float) -> float:
    """Return the epsilon that a `floor` guarantees for a client's answers on all data, rounded up.

    It is the sum of the logarithms of `floor_parity` at `keep` over tables with `sizes` cells. A
    table of one cell adds 0; others are infinite at floor 0. Tables with a cell at the floor attain
    it. At floor 1 tables are uniform.
    """
    refuse_bad_keep(keep)
    for cells in sizes:
        if cells < 1 or not 0 <= floor <= 1:
            raise DeniableError(
                f"{cells} cells with the floor {floor}; give at least 1 cell and a floor in [0, 1]"
            )
    return log_rounded_up(product_of_ratios(floor_parity(cells, keep, floor) for cells in sizes))


def keep_for_epsilon(sizes: Sequence[int], epsilon: float, floor: float = 1.0) -> float:
    """Return the p at which the answers to all tables of a view have a stated epsilon.

    The p solves sum over tables of ln(1 + p m / ((1 - p) floor)) = `epsilon`, above 0. `sizes` has
    the number of cells m of each table, at least one of them 2 or more. p is rounded such that the
    exact sum is at most `epsilon`. To cover several rounds with the same tables, list each table
    once per round. For the `floor`, in (0, 1], see `floor_parity`.

    Examples
    --------
    >>> floor_epsilon([4], keep_for_epsilon([4], 1.0), 1.0) <= 1.0
    True
    """
    cells = [size for size in sizes if size > 1]
    if not cells or min(sizes) < 1 or not 0 < floor <= 1 or not 0 < epsilon < math.inf:
        raise DeniableError(
            f"tables of {', '.join(map(str, sizes)) or 'no'} cells, floor {floor}, epsilon "
            f"{epsilon}: give tables of at least 1 cell, one of at least 2, a floor in (0, 1] and "
            "a finite epsilon above 0"
        )

    def sum_of_epsilons(odds: float) -> float:
        return sum(math.log1p(odds * size / floor) for size in cells)

    low, high = 0.0, math.expm1(epsilon / len(cells)) * floor / min(cells)
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (middle, high) if sum_of_epsilons(middle) <= epsilon else (low, middle)
    keep = high / (1 + high)
    while floor_epsilon(sizes, keep, floor) > epsilon:
        keep = math.nextafter(keep, 0.0)
    return keep


def variance_inflation(truth: npt.ArrayLike, table: npt.ArrayLike, keep: float) -> float:
    """Return the trace of the estimate's variance, divided by the trace for sampling alone.

    It is the sum of lambda (1 - lambda) / (p^2 sum of pi (1 - pi)) with lambda = p pi + (1 - p) q.
    The distributions pi, `truth`, and q, `table`, have the shape (cells,). p, `keep`, is in (0, 1).
    """
    pi, q = np.asarray(truth, dtype=float), np.asarray(table, dtype=float)
    reported = table_channel(q, keep).reported(pi)
    return float(np.sum(reported * (1 - reported)) / (keep**2 * np.sum(pi * (1 - pi))))
