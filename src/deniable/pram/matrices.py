"""Make matrices for PRAM: with a given epsilon or retention, invariant, or optimized.

Requirements hold for the floating-point matrix, in exact arithmetic: epsilon is at most the target,
and retention probabilities are at least the floor.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import permutations
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from deniable.arrays import Counts, Floats
from deniable.channels import (
    Channel,
    DenseChannel,
    KeepOrReplace,
    read_channel,
    two_step,
    whole_counts,
)
from deniable.errors import DataError, DeniableError, refuse_unknown
from deniable.records import Domain

Method = Callable[[Floats], Channel]
"""A function that makes a channel from the proportions of the file, shape (size,)."""
LossName = Literal["changed", "trace", "worst_cell"]
Kind = Literal["epsilon", "retention", "two_step", "designed"]
NEEDS: dict[Kind, tuple[str, set[tuple[bool, bool]]]] = {
    "epsilon": ("epsilon and nothing else", {(True, False)}),
    "retention": ("retention and nothing else", {(False, True)}),
    "two_step": ("either epsilon or retention", {(True, False), (False, True)}),
    "designed": ("epsilon, and may have a retention", {(True, False), (True, True)}),
}
"""The options of each kind, in words and as allowed pairs: epsilon given, retention given."""


def channel_of_retention(size: int, retention: float) -> KeepOrReplace:
    """Return a matrix that retains each of `size` categories with at least a given probability.

    All other categories have equal probabilities. In exact arithmetic, P[v, v] is at least
    `retention`, in [0, 1], and only rounding makes it larger.
    """
    if size < 1:
        raise DeniableError(f"a matrix needs at least one category, not {size}")
    floor = float(retention)
    if not 0 <= floor <= 1:
        raise DeniableError(f"a retention is {floor}; it must be in [0, 1]")
    if size == 1:
        return KeepOrReplace(1.0, np.zeros(1))
    keep = (size * floor - 1) / (size - 1)
    first = np.eye(1, size)
    while True:
        elsewhere = (1 - keep) / size
        drawn = Fraction(keep) + (1 - Fraction(keep)) / size
        if drawn >= Fraction(floor) and keep + elsewhere >= 0:
            channel = KeepOrReplace(keep, np.full(size, elsewhere))
            # The float of this entry in the published matrix must not be below the floor either.
            if channel.expected(first)[0, 0] >= floor:
                return channel
        keep += max(math.ulp(keep), math.ulp(floor))  # if keep is near 0, its own ulp is tiny


def pram_matrix(
    proportions: npt.ArrayLike,
    kind: Kind,
    *,
    epsilon: float | None = None,
    retention: float | None = None,
    invariant: bool = True,
    loss: LossName = "changed",
    categories: Sequence[str] | None = None,
) -> Channel:
    """Return the channel of a block of attributes, based on its original frequencies.

    Raises `DeniableError` if an option is missing or does not apply, or the target is infeasible.

    Parameters
    ----------
    proportions : array, shape (cells,)
        Original frequencies of the block's cells, in a stratum if there are strata. For (2.7) of
        [pram] they are weighted (`deniable.pram.protocol.shares`). ``epsilon`` and ``retention``
        use only the number of cells.
    kind : "epsilon", "retention", "two_step" or "designed"
        - ``epsilon``: generalized randomized response (`KeepOrReplace.of_epsilon`).
        - ``retention``: see `channel_of_retention`.
        - ``two_step``: invariant for the proportions, from the matrix of that `epsilon` or that
          `retention`, by Bayes' formula (`deniable.channels.invariant.two_step`). Its epsilon is at
          most the epsilon of the first matrix; its retention probabilities differ.
        - ``designed``: optimized (`deniable.design`) for the least loss, with at most that epsilon
          and, if given, at least that retention.
    invariant, loss : for ``designed`` only
        See `deniable.design.design`. The loss is the expected proportion of "changed" records, or
        the sum ("trace") or the largest ("worst_cell") of the variances of the estimates.
    categories : sequence of str, optional
        Names of the cells, for messages.
    """
    refuse_unknown("kind of matrix", kind, NEEDS)
    needs, allowed = NEEDS[kind]
    if (epsilon is not None, retention is not None) not in allowed:
        raise DeniableError(
            f"a matrix of kind {kind!r} needs {needs}; given are "
            f"epsilon {epsilon} and retention {retention}"
        )
    frequencies = np.asarray(proportions, dtype=float)
    size = frequencies.size
    if kind == "designed" and size > 1:
        asked = {"epsilon": epsilon, "retention": retention, "invariant": invariant}
        return _designed(frequencies, asked, loss, categories)
    if retention is not None and epsilon is None:
        first = channel_of_retention(size, retention)
    else:
        first = KeepOrReplace.of_epsilon(size, float(epsilon or 0.0))
    return first if kind != "two_step" or size == 1 else two_step(first, frequencies)


def _designed(
    proportions: Floats, asked: Mapping[str, Any], loss: LossName, categories: Sequence[str] | None
) -> DenseChannel:
    from deniable.design import Requirements, design  # noqa: PLC0415 - large, seldom needed

    # An invariant matrix never returns a category without records. So the matrix is optimized for
    # the other categories. The row of such a category is the average of the other rows, which
    # raises no ratio; no record uses it.
    occurring = proportions > 0 if asked["invariant"] else np.ones(proportions.size, dtype=bool)
    names = categories and [categories[v] for v in np.flatnonzero(occurring).tolist()]
    shares = proportions[occurring] / proportions[occurring].sum()
    channel = design(shares, Requirements(**asked, categories=names), loss).channel
    if occurring.all():
        return channel
    found = channel.matrix()
    P = np.zeros((proportions.size, proportions.size))
    P[:, occurring] = proportions[occurring] @ found
    P[np.ix_(occurring, occurring)] = found
    return DenseChannel(P)


def matrix_from_file(path: Path | str, block: Domain) -> DenseChannel:
    """Read a user's own matrix for a `block` of attributes from the CSV file at `path`.

    The header and the first column have the block's cells. Each row belongs to an original
    category. Names of cells of several attributes are their categories, joined by " x ". Raises
    `DeniableError`, with the file's name, if it cannot be read or is not such a matrix.
    """
    named, cells = read_channel(path), block.cell_labels()
    if named.reports != named.categories:
        raise DataError(
            f"{path}: the columns are not the categories, for example {named.reports[0]!r}; "
            "randomized values must be categories: give a column for each category"
        )
    if sorted(named.categories) != sorted(cells):
        strange = [name for name in named.categories if name not in cells]
        missing = [name for name in cells if name not in named.categories]
        raise DataError(
            f"{path}: the matrix is not over {' x '.join(block.names)}: "
            + "; ".join(
                f"{what} {', '.join(map(repr, names[:5]))}{' ...' if len(names) > 5 else ''}"
                for what, names in (("it has no", missing), ("unknown are", strange))
                if names
            )
            + f"; give a row and a column for each of the {len(cells)} categories"
        )
    order = [named.categories.index(cell) for cell in cells]
    return DenseChannel(named.channel.entries[np.ix_(order, order)])


def whole_file_epsilon(method: Method, counts: npt.ArrayLike) -> float:
    """Return the epsilon of a released file with a secret matrix that was made from the file.

    It is the largest |ln Pr(released | file) / Pr(released | neighbour)| over all released files
    and all files that differ from this one in one record's category. The neighbour has another
    matrix, so the randomized values of all other records also reveal information about that record:

        sum over records j of max over v of ln(R[x_j, v] / R'[x'_j, v]).

    The epsilon of the matrix covers one randomized value only. The result is infinite if a category
    has a single record and can occur in the release. It is subject to rounding. The `counts`, shape
    (size,), are the original ones of the file; `method` makes a channel from proportions.
    """
    true = whole_counts(counts)
    here = method(true / true.sum()).matrix()
    worst = 0.0
    for u, w in permutations(range(true.size), 2):
        if true[u]:
            others, moved = true.copy(), true.copy()
            others[u] -= 1
            moved[[u, w]] += (-1, 1)
            there = method(moved / moved.sum()).matrix()
            losses = _loss(here, there, others, u, w), _loss(there, here, others, w, u)
            worst = max(worst, *losses)
    return worst


def _loss(here: Floats, there: Floats, others: Counts, u: int, w: int) -> float:
    def largest(numerators: Floats, denominators: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            logarithms = np.log(numerators / denominators)
        return np.asarray(np.where(numerators > 0, logarithms, -np.inf).max(axis=-1))

    present = others > 0
    of_others = others[present] @ largest(here[present], there[present])
    return float(of_others + largest(here[u], there[w]))
