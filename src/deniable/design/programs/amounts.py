"""The best channel with any number of reports, with few of them; and with fewer still.

With the shapes of reports given, and only their amounts free, the best channel is a convex program
(`deniable.design.programs.relaxation`); with all staircases given it is the best of all channels.
What reports tell is the vector y of J, of size (size + 1) / 2 entries, and linear in their amounts:
so many reports tell as much as any number (Caratheodory). The sums of rows follow, for J pi is
these sums.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy

from deniable.arrays import Floats
from deniable.design.programs.central_path import CentralPath, Relaxation
from deniable.design.programs.certificate import certified
from deniable.design.programs.losses import InverseVariance, inverse_of_information
from deniable.design.programs.relaxation import Program, information, weighted_hessian
from deniable.design.programs.requirements import Requirements, polytope

# The barrier's share of the loss: in the end; where bounds are best; where losses fall steadily.
FINE, CENTRAL, NEARLY = 1e-12, 1e-7, 1e-6
DECREASE = 0.15
MAX_WEIGHTS = 40
ROUNDS = 4
PROVED = 1e-7  # of the loss: a bound this near is not improved any more
KEPT = 1e-9  # of the loss: what leaving out reports may cost it
LITTLE = 1e-3  # of the mean amount: that of a staircase which is added
ADDS_UP = 1e-9


def epsilon_alone(loss: InverseVariance, epsilon: float) -> Program:
    """Return the convex program of a `loss` where nothing but `epsilon`, above 0, is required."""
    return Program.of(loss, polytope(loss.proportions, Requirements(epsilon=epsilon)))


@dataclass(frozen=True, eq=False)
class Weighed:
    """The `columns` in amounts of least loss, and `central`, in such as prove best how low it is.

    Either of shape (size, columns). Some amounts are (nearly) nothing.
    """

    columns: Floats
    central: Floats


def best_amounts(program: Program, columns: Floats) -> Weighed:
    """Return `columns`, shape (size, columns), in the amounts of least loss of the `program`.

    The sums of rows are 1 to rounding; not at all if no amounts have such.
    """
    path = CentralPath.among(program, columns)
    best = central = columns
    least = np.inf
    for _ in range(MAX_WEIGHTS):
        if not path.approach():
            break
        value = path.value()
        share = path.weight * path.codes.size / abs(value)
        if share >= CENTRAL:
            central = path.every_column()
        if share <= NEARLY:
            if not value <= least * (1 + FINE):
                break
            best, least = path.every_column(), min(value, least)
        if share <= FINE:
            break
        path.weight *= DECREASE
    return Weighed(best, central)


def optimum(program: Program, first: Relaxation) -> Relaxation:
    """Return the best channel with any number of reports, as few as one knows, and a better bound.

    From `first`, what solved the `program` to a lesser precision. Its rows sum to 1 to rounding.
    """
    loss, pi = program.loss, program.loss.proportions
    columns, bound = first.columns, first.bound
    weighed = Weighed(columns, columns)
    for _ in range(ROUNDS):
        proof = certified(loss, program.ratio, weighed.central)
        bound = max(bound, proof.bound)
        value = loss.value(columns)
        if value - bound <= PROVED * abs(value):
            break
        used = columns[:, pi @ columns > KEPT]
        little = LITTLE * float(used.min(axis=0).mean())
        weighed = best_amounts(program, np.hstack([used, little * proof.staircases.T]))
        if is_improvement(loss, weighed.columns, columns):
            columns = weighed.columns
    few = fewest(columns, pi)
    again = best_amounts(program, few).columns
    few = again if is_improvement(loss, again, few) else few
    return Relaxation(bound, _without_idle(program, few))


def is_improvement(
    loss: InverseVariance, columns: Floats, other: Floats, margin: float = 0.0
) -> bool:
    """Return whether `columns` are a channel of less `loss` than `other`, by a relative `margin`.

    Both have the shape (size, reports), each with reports of its own number.
    """
    least = loss.value(other)
    return is_channel(columns) and loss.value(columns) < least - margin * abs(least)


def is_channel(columns: Floats) -> bool:
    """Return whether `columns`, shape (size, reports), are a channel: with rows of sum 1."""
    return bool(np.all(columns >= 0) and np.abs(columns.sum(axis=1) - 1).max() <= ADDS_UP)


def _without_idle(program: Program, columns: Floats) -> Floats:
    """Leave reports out as long as the loss is kept."""
    loss, highest = program.loss, program.loss.value(columns)
    highest += KEPT * abs(highest)
    for fewer in eliminated(program, columns, len(columns)):
        if loss.value(fewer) > highest:
            break
        columns = fewer
    return columns


def fewest(columns: Floats, proportions: Floats) -> Floats:
    """Return few columns, some of those given in other amounts, that tell the same.

    The `columns` have the shape (size, columns), the `proportions` (size,).
    """
    lows = columns.min(axis=0)
    features = information((columns / lows).T, proportions)
    told = features @ lows
    scale = np.abs(told).max()
    try:
        amounts, _ = scipy.optimize.nnls(features / scale, told / scale, maxiter=100 * lows.size)
    except RuntimeError:  # its iterations do not end
        return columns
    kept = amounts > 0
    return np.asarray(columns[:, kept] / lows[kept] * amounts[kept])


def eliminated(program: Program, columns: Floats, count: int) -> Iterator[Floats]:
    """Yield channels with one report fewer each, down to `count`: the loss rises little.

    The first leaves out one of `columns`, shape (size, reports), a channel of the `program`. The
    amounts of those left are the best; ends where none make a channel.
    """
    while columns.shape[1] > count:
        least = column_to_drop(program, columns)
        columns = best_amounts(program, np.delete(columns, least, axis=1)).columns
        if not is_channel(columns) or not np.isfinite(program.loss.value(columns)):
            return
        yield columns


def column_to_drop(program: Program, columns: Floats) -> int:
    """Return which column can be left out at the least loss, as a quadratic model has it.

    The model is the `program`'s loss near the amounts of `columns`, shape (size, columns), all of
    which can change but for the sums of rows: with M the inverse of its matrix, where all amounts
    are 1, to leave out amount j costs 1 / (2 M_jj).
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
