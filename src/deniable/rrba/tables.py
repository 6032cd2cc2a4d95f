"""Update the table of randomized response block aggregation ([rrba], section 4.1).

Clients answer in blocks. A client with the table q returns its true cell with probability p, and
otherwise a cell drawn from q: the channel P = p I + (1 - p) 1 q'. Equation (4) applies the inverse
of that channel to the answers of the block. A `Rule` makes the next block's table from the result.

Cells are the last axis of all arrays. There may be leading axes of replicates.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from deniable.arrays import Counts, Floats
from deniable.channels import KeepOrReplace
from deniable.errors import DeniableError, refuse_unknown
from deniable.estimation import euclidean_projection

Basis = Literal["none", "block", "cumulative", "pooled"]
Form = Literal["printed", "projected"]

DIVERGENCE_THRESHOLD = 1e6
"""A table with a larger entry has diverged. It is not updated, because floats would overflow."""


@dataclass(frozen=True)
class Rule:
    """A rule that makes the next clients' table from the answers so far.

    The `basis` is the estimate from which the table is made:

    - ``none``: no estimate; the table stays uniform.
    - ``block``: (4) for the last block alone, the second version of the protocol.
    - ``cumulative``: (4) with all counts so far, and the last table, the first version. It
      subtracts the contribution of the last table from the counts of all answers. Each step
      multiplies the error of the table by -(1 - p) / p, so it diverges for p < 1/2.
    - ``pooled``: (4) with all counts so far, and the average of their tables. It is unbiased, and
      corrects the first version.

    In the `form` ``projected`` the table is the closest distribution with cells of at least `floor`
    / cells, for a floor in [0, 1]. The floor bounds epsilon, see
    `deniable.rrba.privacy.floor_epsilon`; at 0 epsilon can be infinite. In the published form,
    ``printed``, the table is the estimate, even if it is not a distribution, and fake answers
    follow (3) exactly (`drawn_distribution`). Raises `DeniableError` for other values, and for a
    floor in the published form.
    """

    basis: Basis = "pooled"
    form: Form = "projected"
    floor: float = 0.1

    def __post_init__(self) -> None:
        refuse_unknown("basis", self.basis, get_args(Basis))
        refuse_unknown("form", self.form, get_args(Form))
        if not 0 <= self.floor <= 1:
            raise DeniableError(f"the floor is {self.floor}; it must be in [0, 1]")
        if self.form == "printed" and self.floor > 0:
            raise DeniableError(
                f"a table as published has no floor, but the floor is {self.floor}; give 0, or the "
                "form 'projected'"
            )


PRINTED = Rule("block", "printed", 0.0)
"""The second version of the protocol, exactly as published."""

PRINTED_FIRST_VERSION = Rule("cumulative", "printed", 0.0)
"""Algorithm 1, exactly as published, with the answers of all clients so far."""

POOLED = Rule("pooled", "projected", 0.1)
"""The rule of this library."""


@dataclass(frozen=True, eq=False)
class TableState:
    """The state of one table at an aggregator. All arrays have the shape (..., cells).

    `table` is T, the table of the next clients, which (4) subtracts. In the published form it may
    not be a distribution. `counts` has all answers so far. `exposure` is the sum over answers of
    their distributions of fake answers.
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
            reports = block if rule.basis == "block" else counts
            estimate = printed_estimate(reports, self.table, keep)
        moves = (size > 0) & (np.abs(self.table).max(axis=-1, keepdims=True) < DIVERGENCE_THRESHOLD)
        if rule.form == "projected":
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
