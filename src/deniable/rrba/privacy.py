"""Compute exact epsilons of RRBA, and the epsilon that Theorem 4.1 of [rrba] claims.

The theorem claims ln(1 / (1 - p)), for all tables. Its proof gives the true answer the probability
p q, as if a client returned its true cell only if a fake draw also had it. In fact the answer v has
the probability p + (1 - p) q_v from a client with the true cell v, and (1 - p) q_v from any other
client. So

    epsilon = max over v of ln(1 + p / ((1 - p) q_v)),

For every table of two cells or more this is above the claim: some q_v is at most 1/2, and 1 + p /
((1 - p) q) exceeds 1 / (1 - p) = 1 + p / (1 - p) for every q < 1.
"""

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from deniable.channels import ProductChannel, log_rounded_up, product_of_ratios
from deniable.errors import DeniableError
from deniable.rrba.tables import refuse_bad_keep, table_channel


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


def answer_epsilon(table: npt.ArrayLike, keep: float) -> float:
    """Return the exact epsilon of one answer about one `table` q, shape (cells,), rounded up.

    `deniable.channels.KeepOrReplace` proves the closed form. Epsilon is infinite if a cell of the
    table is 0, and 0 for a table of one cell. p, `keep`, is in (0, 1).

    Examples
    --------
    >>> round(answer_epsilon([0.25] * 4, 0.5), 3)
    1.609
    """
    return table_channel(table, keep).epsilon


def view_epsilon(tables: Sequence[npt.ArrayLike], keep: float) -> float:
    """Return the exact epsilon of a client's answers to all `tables` of a view, rounded up.

    Combinations of a view have no common attribute, so the same two records are the worst pair for
    all tables. Answers are independent. So epsilon is the sum over tables. p, `keep`, is in (0, 1).
    For several answers through the same table, list it once per round. If the table of a
    combination differs between rounds, the sum is an upper bound, given the tables.
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
