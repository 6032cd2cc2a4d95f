"""Channels with more reports than categories: the best with any number, or with at most so many.

With the shapes of reports given, and only their amounts free, the best channel is a convex program
(`deniable.design.programs.relaxation`). With all staircases given it is the best of all channels.
The vector y of J has size (size + 1) / 2 entries, linear in the amounts, so that so many reports
are as informative as any number (Caratheodory). The sums of rows follow, because J pi is the vector
of these sums.

With fewer reports no program is known. Two families of channels are searched, each no worse with
one report more, so that the result is not either. Protocols with so many reports, their sets in the
best amounts, are in both.

- From above: reports of the best channel are left out, one by one, the least useful first.
- From below: to the best square channel the staircase is added that gains most, again and again,
  and exchanged for another as long as that gains.
"""

import itertools
from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
import scipy

from deniable.arrays import Flags, Floats
from deniable.channels import (
    HadamardResponse,
    LocalHashing,
    ProjectiveGeometry,
    PureProtocol,
    SubsetSelection,
)
from deniable.design.programs import (
    Bounded,
    CentralPath,
    InverseVariance,
    Program,
    Relaxation,
    Requirements,
    certified,
    improving_columns,
    information,
    inverse_of_information,
    polytope,
    weighted_hessian,
)

Reports = Literal["square", "any"] | int
"""How many reports a channel may have: as many as categories, any number, at most so many."""

# The barrier's share of the loss: in the end; where bounds are best; where losses fall steadily.
FINE, CENTRAL, NEARLY = 1e-12, 1e-7, 1e-6
DECREASE = 0.15
MAX_WEIGHTS = 40
ROUNDS = 4
PROVED = 1e-7  # of the loss: a bound this near is not improved any more
KEPT = 1e-9  # of the loss: what leaving out reports may cost it
LITTLE = 1e-3  # of the mean amount: that of a staircase which is added
ADDS_UP = 1e-9
TRIED = 3  # staircases that gain most
EXCHANGES = 6  # of one report each, for one number of reports
FROM_BELOW = 3  # times the categories: beyond so many reports, only from above
PRIMES = (2, 3, 5, 7, 11)  # of geometries and hashes: with larger ones there are too many reports
WORTHWHILE = 1e-9  # relative: what a report more must lessen the loss by
ADDED = 0.1  # of the mean amount: that of a staircase which is added
ALIKE = 1e-9


def least_with_reports(
    loss: InverseVariance,
    epsilon: float,
    square: Floats,
    relaxation: Relaxation,
    reports: Literal["any"] | int,
) -> Bounded:
    """Search for the channel of least `loss` with at most the given number of `reports`, or any.

    Its exact epsilon is at most `epsilon`. The best known channel with as many reports as
    categories is `square`, shape (size, size). It is returned if no other is better. Its bound is
    from the `relaxation`.
    """
    program = Program.of(loss, polytope(loss.proportions, Requirements(epsilon=epsilon)))
    best = _optimum(program, relaxation)
    columns = best.columns
    if reports != "any" and columns.shape[1] > reports:
        columns = _few(program, epsilon, square, columns, reports)
    chosen = columns if _is_improvement(loss, columns, square, WORTHWHILE) else square
    return Bounded(_in_order(chosen), best.bound)


def _best_amounts(program: Program, columns: Floats) -> Floats:
    """Return columns in the amounts of least loss, if possible with rows of sum 1."""
    return _weighed(program, columns)[0]


def _weighed(program: Program, columns: Floats) -> tuple[Floats, Floats]:
    """Return columns in the amounts of least loss, and in amounts with the best lower bound."""
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
    return best, central


def _optimum(program: Program, first: Relaxation) -> Relaxation:
    """Return the best channel with any number of reports, as few as possible, and a bound."""
    loss, pi = program.loss, program.loss.proportions
    columns, bound = first.columns, first.bound
    central = columns
    for _ in range(ROUNDS):
        proof = certified(loss, program.ratio, central)
        bound = max(bound, proof.bound)
        value = loss.value(columns)
        if value - bound <= PROVED * abs(value):
            break
        used = columns[:, pi @ columns > KEPT]
        little = LITTLE * float(used.min(axis=0).mean())
        more = np.hstack([used, little * proof.staircases.T])
        weighed, central = _weighed(program, more)
        if _is_improvement(loss, weighed, columns):
            columns = weighed
    few = _fewest(columns, pi)
    again = _best_amounts(program, few)
    few = again if _is_improvement(loss, again, few) else few
    return Relaxation(bound, _without_idle(program, few))


def _is_improvement(
    loss: InverseVariance, columns: Floats, other: Floats, margin: float = 0.0
) -> bool:
    """Return whether columns are a channel of less loss than another, by a relative margin."""
    least = loss.value(other)
    return _is_channel(columns) and loss.value(columns) < least - margin * abs(least)


def _is_channel(columns: Floats) -> bool:
    """Return whether columns are a channel: not negative, with rows of sum 1."""
    return bool(np.all(columns >= 0) and np.abs(columns.sum(axis=1) - 1).max() <= ADDS_UP)


def _without_idle(program: Program, columns: Floats) -> Floats:
    """Leave reports out as long as the loss stays the same."""
    loss, highest = program.loss, program.loss.value(columns)
    highest += KEPT * abs(highest)
    for fewer in _eliminated(program, columns, len(columns)):
        if loss.value(fewer) > highest:
            break
        columns = fewer
    return columns


def _fewest(columns: Floats, proportions: Floats) -> Floats:
    """Return few of the columns, in other amounts, with the same information."""
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


def _eliminated(program: Program, columns: Floats, count: int) -> Iterator[Floats]:
    """Yield channels with one report fewer each, down to a count, in the best amounts."""
    while columns.shape[1] > count:
        least = _column_to_drop(program, columns)
        columns = _best_amounts(program, np.delete(columns, least, axis=1))
        if not _is_channel(columns) or not np.isfinite(program.loss.value(columns)):
            return
        yield columns


def _column_to_drop(program: Program, columns: Floats) -> int:
    """Return which column can be left out at the least loss by a quadratic model of the amounts.

    With M the inverse of its matrix, where all amounts are 1, leaving out amount j costs 1 / (2
    M_jj).
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


def _few(program: Program, epsilon: float, square: Floats, most: Floats, count: int) -> Floats:
    """Return the best channel found with at most so many reports; `most` has more."""
    size, loss = program.size, program.loss
    above = {P.shape[1]: P for P in _eliminated(program, most, size)}
    protocols = {P.shape[1]: P for P in _of_protocols(program, epsilon, count)}
    best = below = square
    for reports in range(size + 1, count + 1):
        found = [each[reports] for each in (above, protocols) if reports in each]
        if reports <= FROM_BELOW * size:
            below = _exchanged(program, _with_one_more(program, below, found))
            found.append(below)
        for P in found:
            best = P if _is_improvement(loss, P, best) else best
    return best


def _of_protocols(program: Program, epsilon: float, count: int) -> Iterator[Floats]:
    """Yield the best protocol of each number of reports, at most so many."""
    made = sorted(_protocols(program, epsilon, count), key=lambda P: P.shape[1])
    for _, alike in itertools.groupby(made, lambda P: P.shape[1]):
        yield min(alike, key=program.loss.value)


def _protocols(program: Program, epsilon: float, count: int) -> Iterator[Floats]:
    for channel in _pure_protocols(program.size, epsilon):
        if program.size < channel.reports <= count:
            P = _best_amounts(program, channel.matrix())
            yield P if _is_improvement(program.loss, P, channel.matrix()) else channel.matrix()


def _pure_protocols(size: int, epsilon: float) -> Iterator[PureProtocol]:
    yield HadamardResponse.of_epsilon(size, epsilon)
    for prime in PRIMES:
        yield ProjectiveGeometry.of_epsilon(size, epsilon, prime)
        yield LocalHashing.of_epsilon(size, epsilon, prime)
    for chosen in range(2, size - 1):
        yield SubsetSelection.of_epsilon(size, epsilon, chosen)


def _with_one_more(program: Program, P: Floats, others: Sequence[Floats]) -> Floats:
    """Return the best of other channels and of P with one more staircase."""
    gained = improving_columns(program.loss, program.ratio, P, TRIED)
    found = [each for s in gained if _is_channel(each := _added(program, P, s))]
    return min([*found, *others], key=program.loss.value, default=P)


def _exchanged(program: Program, P: Floats) -> Floats:
    """Return a channel with staircases exchanged for more informative ones."""
    for _ in range(EXCHANGES):
        (staircase,) = improving_columns(program.loss, program.ratio, P, 1)
        more = _added(program, P, staircase)
        fewer = np.delete(more, _column_to_drop(program, more), axis=1)
        found = _best_amounts(program, fewer)
        if not _is_improvement(program.loss, found, P, WORTHWHILE):
            break
        P = found
    return P


def _added(program: Program, P: Floats, staircase: Floats) -> Floats:
    little = ADDED * float(P.min(axis=0).mean())
    return _best_amounts(program, np.column_stack([P, little * staircase]))


def _in_order(P: Floats) -> Floats:
    """Return the columns with proportional ones joined, and values of few categories first."""
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
    return np.array(sorted(merged, key=_place)).T


def _place(column: Floats) -> tuple[int, tuple[int, ...]]:
    high = tuple(np.flatnonzero(_high(column)).tolist())
    return len(high), high


def _high(column: Floats) -> Flags:
    """Return which categories a report is likely for: beyond the geometric middle."""
    return np.asarray(column**2 >= column.min() * column.max())


def report_names(P: Floats, categories: Sequence[str]) -> tuple[str, ...]:
    """Return a name for each report: the categories for which it is likely, "a|c".

    Reports of a square channel have the names of the `categories`. Equal names are numbered. `P`
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
