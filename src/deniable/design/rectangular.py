"""Find the best channel with any number of responses.

If the shapes of responses are given, and only their amounts are free, the best channel solves a
convex program (`deniable.design.programs.relaxation`). With all staircases it is the best of all
channels. The vector y of J has size (size + 1) / 2 entries, which are linear in the amounts. So
this number of responses is as informative as any number (Caratheodory). Sums of rows are then also
equal, because J pi is their vector.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import scipy

from deniable.arrays import Flags, Floats
from deniable.design.programs import (
    Bounded,
    CentralPath,
    InverseVariance,
    Program,
    Requirements,
    information,
    inverse_of_information,
    polytope,
    weighted_hessian,
)

Reports = Literal["square", "any"]
"""The allowed number of responses of a channel: the number of categories, or any number."""

# The barrier's proportion of the loss in the end, and where losses fall steadily.
FINE, NEARLY = 1e-12, 1e-6
DECREASE = 0.15
MAX_WEIGHTS = 40
KEPT = 1e-9  # largest relative increase of the loss when responses are left out
ADDS_UP = 1e-9
WORTHWHILE = 1e-9  # least relative decrease of the loss by more responses
ALIKE = 1e-9


def least_with_reports(
    loss: InverseVariance, epsilon: float, square: Floats, relaxed: Bounded
) -> Floats:
    """Return the channel of least `loss` with any number of responses, as few as possible.

    Its exact epsilon is at most `epsilon`. `square`, shape (size, size), is the best known channel
    with one response per category. It is returned unless `relaxed`, a result of `relax`, is better.
    """
    program = Program.of(loss, polytope(loss.proportions, Requirements(epsilon=epsilon)))
    used = relaxed.P[:, loss.proportions @ relaxed.P > KEPT]
    columns = _fewest(_best_amounts(program, used), loss.proportions)
    again = _best_amounts(program, columns)
    if _is_improvement(loss, again, columns) or not _is_channel(columns):
        columns = again
    columns = _without_idle(program, columns)
    return _in_order(columns if _is_improvement(loss, columns, square, WORTHWHILE) else square)


def _best_amounts(program: Program, columns: Floats) -> Floats:
    """Return columns with the amounts of least loss, if possible with rows of sum 1."""
    path = CentralPath.among(program, columns)
    best, least = columns, np.inf
    for _ in range(MAX_WEIGHTS):
        if not path.approach():
            break
        value = path.value()
        share = path.weight * path.codes.size / abs(value)
        if share <= NEARLY:
            if not value <= least * (1 + FINE):
                break
            best, least = path.columns(), min(value, least)
        if share <= FINE:
            break
        path.weight *= DECREASE
    return best


def _is_improvement(
    loss: InverseVariance, columns: Floats, other: Floats, margin: float = 0.0
) -> bool:
    least = loss.value(other)
    return _is_channel(columns) and loss.value(columns) < least - margin * abs(least)


def _is_channel(columns: Floats) -> bool:
    """Return whether columns form a channel: not negative, with rows of sum 1."""
    return bool(np.all(columns >= 0) and np.abs(columns.sum(axis=1) - 1).max() <= ADDS_UP)


def _without_idle(program: Program, columns: Floats) -> Floats:
    """Leave out responses, one by one, while the loss with the best amounts stays the same."""
    loss, highest = program.loss, program.loss.value(columns)
    highest += KEPT * abs(highest)
    while columns.shape[1] > program.size:
        fewer = np.delete(columns, _column_to_drop(program, columns), axis=1)
        fewer = _best_amounts(program, fewer)
        if not (_is_channel(fewer) and loss.value(fewer) <= highest):
            break
        columns = fewer
    return columns


def _fewest(columns: Floats, proportions: Floats) -> Floats:
    """Return few of the columns, with other amounts and the same information."""
    lows = columns.min(axis=0)
    features = information((columns / lows).T, proportions)
    told = features @ lows
    scale = np.abs(told).max()
    try:
        amounts, _ = scipy.optimize.nnls(features / scale, told / scale, maxiter=100 * lows.size)
    except RuntimeError:  # the solver does not converge
        return columns
    kept = amounts > 0
    return np.asarray(columns[:, kept] / lows[kept] * amounts[kept])


def _column_to_drop(program: Program, columns: Floats) -> int:
    """Return the column with the least loss by omission, by a quadratic model of the amounts.

    With M the inverse of its matrix at amounts 1, the loss without j rises by 1 / (2 M_jj).
    """
    pi, size = program.loss.proportions, program.size
    C = inverse_of_information(columns, pi)
    weights = np.ones(size)
    if program.loss.worst:
        cells = np.diagonal(C) - program.loss.own
        weights = (cells >= cells.max() * (1 - NEARLY)).astype(float)
    features = information(columns.T, pi)
    H = features.T @ weighted_hessian(C, weights) @ features
    H += 1e-11 * np.trace(H) / len(H) * np.eye(len(H))
    bordered = np.block([[H, columns.T], [columns, np.zeros((size, size))]])
    M = np.diagonal(np.linalg.pinv(bordered, hermitian=True))[: len(H)]
    return int(np.argmax(M))


def _in_order(P: Floats) -> Floats:
    """Return the columns with proportional ones joined, and responses of few categories first."""
    if P.shape[1] == len(P):
        return P
    merged: list[Floats] = []
    for column in P.T:
        for place, other in enumerate(merged):
            if np.abs(column / column.sum() - other / other.sum()).max() <= ALIKE:
                merged[place] = other + column
                break
        else:
            merged.append(column)

    def by_size(column: Floats) -> tuple[int, tuple[int, ...]]:
        high = tuple(np.flatnonzero(_high(column)).tolist())
        return len(high), high

    return np.array(sorted(merged, key=by_size)).T


def _high(column: Floats) -> Flags:
    """Mark the likely categories of a response, above the geometric mean of the extremes."""
    return np.asarray(column**2 >= column.min() * column.max())


def report_names(P: Floats, categories: Sequence[str]) -> tuple[str, ...]:
    """Return a name for each response, its likely categories, such as "a|c".

    Responses of a square channel have the names of the `categories`. Equal names are numbered. `P`
    has the shape (size, reports).

    Examples
    --------
    >>> report_names(np.array([[0.4, 0.4, 0.2], [0.2, 0.4, 0.4]]), ["a", "b"])
    ('a', 'a|b', 'b')
    """
    if P.shape[1] == len(P):
        return tuple(categories)
    names: list[str] = []
    for column in P.T:
        name = "|".join(categories[int(u)] for u in np.flatnonzero(_high(column)))
        number = 1 + sum(other == name or other.startswith(f"{name} (") for other in names)
        names.append(name if number == 1 else f"{name} ({number})")
    return tuple(names)
