"""What RRBA discloses: exact epsilons, beside what Theorem 4.1 of [rrba] claims.

The theorem says ln(1 / (1 - p)), whatever the table. Its proof gives the truthful answer the
probability p q, as if a client told its true cell only when a fake draw had hit it too; for a
client whose true cell is v the probability of the answer v is p + (1 - p) q_v, for any other
client (1 - p) q_v. So

    epsilon = max over v of ln(1 + p / ((1 - p) q_v)),

which is above the claim for every table of two cells or more: some q_v is at most 1/2, and
1 + p / ((1 - p) q) exceeds 1 / (1 - p) = 1 + p / (1 - p) for every q < 1.
"""

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from deniable.channels import ProductChannel, log_rounded_up
from deniable.errors import DeniableError
from deniable.rrba.tables import refuse_bad_keep, table_channel


def claimed_epsilon(keep: float) -> float:
    """Return ln(1 / (1 - p)), the epsilon of Theorem 4.1 and equation (6). It does not hold.

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

    The p of [rrba], Figure 6, come from here: epsilons .01, .05, .1, .15, .25 and .35 give .009,
    .048, .095, .139, .221 and .295, cut off after three digits.
    """
    if not epsilon > 0:
        raise DeniableError(f"epsilon is {epsilon}; it must be above 0")
    return -math.expm1(-epsilon)


def answer_epsilon(table: npt.ArrayLike, keep: float) -> float:
    """Return the exact epsilon of one answer about one table, rounded up.

    Proved by the channel's closed form, see `deniable.channels.KeepOrReplace`; infinite where a
    cell of the table is 0, and 0 for a table of one cell.

    Parameters
    ----------
    table : shape (cells,), a distribution
        q, which the client was sent.
    keep : float, in (0, 1)
        p.

    Examples
    --------
    >>> round(answer_epsilon([0.25] * 4, 0.5), 3)
    1.609
    """
    return table_channel(table, keep).epsilon


def view_epsilon(tables: Sequence[npt.ArrayLike], keep: float) -> float:
    """Return the exact epsilon of a client's answers to all combinations of a view, rounded up.

    The sum over its `tables`, distributions of the shape (cells,) each: combinations of a view
    share no attribute, so that some two records are at each table's worst at once, and answers are
    independent. p, `keep`, is in (0, 1).
    """
    return ProductChannel(tuple(table_channel(table, keep) for table in tables)).epsilon


def repeated_epsilon(tables: Sequence[npt.ArrayLike], keep: float) -> float:
    """Return the exact epsilon of a client's answers about one combination in several rounds.

    Each round sends its own table and the client draws anew. For records with the cells u and u'
    the most telling answer of every round is u, so that

        epsilon = max over u of the sum over rounds of ln(1 + p / ((1 - p) q_u of the round)),

    at most the sum of the rounds' epsilons, and equal to it where one cell is the smallest in all
    rounds. The tables may depend on answers before them, the client's own too: this is then
    epsilon given the tables that were sent.

    Parameters
    ----------
    tables : sequence of arrays, shape (cells,)
        One a round.
    keep : float, in (0, 1)
        p.
    """
    channels = [table_channel(table, keep) for table in tables]
    if not channels:
        return 0.0
    cells = channels[0].size
    if any(channel.size != cells for channel in channels):
        raise DeniableError("the rounds' tables differ in their number of cells")
    if cells == 1:
        return 0.0
    entries = [[channel.exact_entries(cell) for channel in channels] for cell in range(cells)]
    if any(elsewhere == 0 for rounds in entries for _, elsewhere in rounds):
        return math.inf
    # A row a cell: how much more often than others those who are in it give it in every round.
    one = Fraction(1)
    ratios = (math.prod((d / e for d, e in rounds), start=one) for rounds in entries)
    return log_rounded_up(max(ratios))


def floor_epsilon(cells: int, keep: float, floor: float) -> float:
    """Return the epsilon that a floor guarantees for one answer, whatever the data: rounded up.

    Every one of the table's `cells` is at least `floor` / cells, the floor in [0, 1]; p, `keep`, is
    in (0, 1). So epsilon is at most
    ln(1 + p cells / ((1 - p) floor)); a table that touches its floor attains it. At floor 1 the
    table is uniform. Infinite for floor 0, and 0 for one cell.
    """
    refuse_bad_keep(keep)
    if cells < 1 or not 0 <= floor <= 1:
        raise DeniableError(
            f"{cells} cells with the floor {floor}; give at least 1 cell and a floor in [0, 1]"
        )
    if cells == 1:
        return 0.0
    if floor == 0:
        return math.inf
    p = Fraction(keep)
    return log_rounded_up(1 + p * cells / ((1 - p) * Fraction(floor)))


def keep_for_epsilon(cells: int, epsilon: float, floor: float = 1.0) -> float:
    """Return the p at which a table's answers are epsilon-differentially private under a floor.

    Solves ln(1 + p cells / ((1 - p) floor)) = epsilon; rounded so that the guarantee is not above
    `epsilon`, which is above 0. The table has at least 2 `cells`, each at least `floor` / cells,
    the floor in (0, 1]; 1 if it is uniform.

    Examples
    --------
    >>> p = keep_for_epsilon(4, 1.0)
    >>> floor_epsilon(4, p, 1.0) <= 1.0
    True
    """
    if cells < 2 or not 0 < floor <= 1 or not 0 < epsilon < math.inf:
        raise DeniableError(
            f"{cells} cells, floor {floor}, epsilon {epsilon}: give at least 2 cells, a floor in "
            "(0, 1] and a finite epsilon above 0"
        )
    odds = math.expm1(epsilon) * floor / cells
    keep = odds / (1 + odds)
    while floor_epsilon(cells, keep, floor) > epsilon:
        keep = math.nextafter(keep, 0.0)
    return keep


def keep_for_view(sizes: Sequence[int], epsilon: float, floor: float = 1.0) -> float:
    """Return the p at which a client's answers to all tables of a view have a stated epsilon.

    Solves sum over tables of ln(1 + p cells / ((1 - p) floor)) = epsilon, rounded so that it is not
    exceeded in exact arithmetic; see `view_epsilon`. A client that answers about the same tables
    in several rounds is asked a view of them all, each as often as it is asked: whatever its
    answers, the guarantee then holds of all rounds together.

    Parameters
    ----------
    sizes : sequence of int
        The cells of each table, at least 1; one table at least has 2.
    epsilon : float, above 0
        Of all answers.
    floor : float, in (0, 1]
        Of each table, see `floor_epsilon`; 1 if tables are uniform.

    Examples
    --------
    >>> keep_for_view([4], 1.0) == keep_for_epsilon(4, 1.0)
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
    while guaranteed_epsilon(sizes, keep, floor) > epsilon:
        keep = math.nextafter(keep, 0.0)
    return keep


def guaranteed_epsilon(sizes: Sequence[int], keep: float, floor: float) -> float:
    """Return the epsilon that a floor guarantees for the answers of a view, rounded up once.

    The sum of the `floor_epsilon` of its tables, attained where each touches its floor. Infinite
    for floor 0, if a table has two cells. The `sizes` are the tables' numbers of cells; `keep`, p,
    and `floor` are as there.
    """
    for cells in sizes:
        floor_epsilon(cells, keep, floor)  # refuses what is none
    several, p = [cells for cells in sizes if cells > 1], Fraction(keep)
    if several and floor == 0:
        return math.inf
    ratios = (1 + p * cells / ((1 - p) * Fraction(floor)) for cells in several)
    return log_rounded_up(math.prod(ratios, start=Fraction(1)))


def variance_inflation(truth: npt.ArrayLike, table: npt.ArrayLike, keep: float) -> float:
    """Return the trace of the estimate's variance, in units of that of sampling alone.

    sum of lambda (1 - lambda) / (p^2 sum of pi (1 - pi)) with lambda = p pi + (1 - p) q, for the
    distributions pi, `truth`, and q, `table`, of the shape (cells,), and p, `keep`, in (0, 1).
    """
    pi, q = np.asarray(truth, dtype=float), np.asarray(table, dtype=float)
    reported = table_channel(q, keep).reported(pi)
    return float(np.sum(reported * (1 - reported)) / (keep**2 * np.sum(pi * (1 - pi))))
