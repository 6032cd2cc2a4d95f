"""Invariant PRAM as a method: a matrix made anew of each file, and what that tells.

A matrix that is computed from the file is random when the file is: over neighbouring files, the
reports of all records change their probabilities when one record does.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from deniable.arrays import Counts, Floats
from deniable.channels import (
    Channel,
    whole_counts,
)

Method = Callable[[Floats], Channel]
"""How an owner makes the matrix: from the proportions of the file, shape (size,), a channel."""


def whole_file_epsilon(method: Method, counts: npt.ArrayLike) -> float:
    """Return the epsilon of a released file whose matrix is made from it and kept secret.

    The largest |ln Pr(reports | file) / Pr(reports | neighbour)| over all reports of all records
    and all files that differ from this one in one record's category. The neighbour has another
    matrix, so that the reports of all other records tell of that record as well:

        sum over records j of max over v of ln(R[x_j, v] / R'[x'_j, v]).

    Compare with the epsilon of the matrix, which counts one report. Infinite if a category has a
    single record and is reported at all. To rounding, not exact.

    Parameters
    ----------
    method : callable
        From proportions to a channel.
    counts : array, shape (size,)
        True counts of the file.
    """
    true = whole_counts(counts)
    here = method(true / true.sum()).matrix()
    worst = 0.0
    for u in np.flatnonzero(true).tolist():
        for w in range(true.size):
            if w != u:
                moved = true.copy()
                moved[[u, w]] += (-1, 1)
                there = method(moved / moved.sum()).matrix()
                others = true.copy()
                others[u] -= 1
                worst = max(worst, _loss(here, there, others, u, w))
                worst = max(worst, _loss(there, here, others, w, u))
    return worst


def _loss(here: Floats, there: Floats, others: Counts, u: int, w: int) -> float:
    def largest(numerators: Floats, denominators: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            logarithms = np.log(numerators / denominators)
        return np.asarray(np.where(numerators > 0, logarithms, -np.inf).max(axis=-1))

    present = others > 0
    of_others = others[present] @ largest(here[present], there[present])
    return float(of_others + largest(here[u], there[w]))
