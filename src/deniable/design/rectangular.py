"""Channels with more reports than categories: the best with any number, or with at most so many.

With any number the best is that of a convex program (`deniable.design.programs.relaxation`), and is
found. With few, no program is known that has it: two families of channels are looked at, each no
worse with one report more, so that what is found is not either.

- From above: reports of the best channel are left out, one by one, those that are missed least.
- From below: to the best square channel the staircase is added that gains most, again and again;
  and exchanged for another as long as that tells more.

Protocols with so many reports, their sets in the best amounts, are among either.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from deniable.arrays import Flags, Floats
from deniable.channels import (
    HadamardResponse,
    LocalHashing,
    ProjectiveGeometry,
    PureProtocol,
    SubsetSelection,
)
from deniable.design.programs import (
    InverseVariance,
    Program,
    Relaxation,
    best_amounts,
    column_to_drop,
    eliminated,
    epsilon_alone,
    improving_columns,
    is_channel,
    is_improvement,
    optimum,
)

Reports = Literal["square", "any"] | int
"""How many reports a channel may have: as many as categories, any number, at most so many."""

TRIED = 3  # staircases that gain most
EXCHANGES = 6  # of one report each, for one number of reports
FROM_BELOW = 3  # times the categories: beyond so many reports, only from above
PRIMES = (2, 3, 5, 7, 11)  # of geometries and hashes: with larger ones there are too many reports
WORTHWHILE = 1e-9  # relative: what a report more must lessen the loss by
ADDED = 0.1  # of the mean amount: that of a staircase which is added
ALIKE = 1e-9


@dataclass(frozen=True, eq=False)
class Searched:
    """The best channel `P` found, shape (size, reports); a `bound` for any number of reports."""

    P: Floats
    bound: float


def least_with_reports(
    loss: InverseVariance,
    epsilon: float,
    square: Floats,
    relaxation: Relaxation,
    reports: Literal["any"] | int,
) -> Searched:
    """Search for the channel of least `loss` of an `epsilon` with any, or at most so many, reports.

    Parameters
    ----------
    square : array, shape (size, size)
        The best square channel known, which is returned if no other is better.
    relaxation : Relaxation
        What the square channel's bound was found by.
    reports : "any" or int
    """
    program = epsilon_alone(loss, epsilon)
    best = optimum(program, relaxation)
    columns = best.columns
    if reports != "any" and columns.shape[1] > reports:
        columns = _few(program, epsilon, square, columns, reports)
    chosen = columns if is_improvement(loss, columns, square, WORTHWHILE) else square
    return Searched(_in_order(chosen), best.bound)


def _few(program: Program, epsilon: float, square: Floats, most: Floats, count: int) -> Floats:
    """Return the best channel found with at most so many reports; `most` has more."""
    size, loss = program.size, program.loss
    above = {P.shape[1]: P for P in eliminated(program, most, size)}
    protocols = {P.shape[1]: P for P in _of_protocols(program, epsilon, count)}
    best = below = square
    for reports in range(size + 1, count + 1):
        found = [each[reports] for each in (above, protocols) if reports in each]
        if reports <= FROM_BELOW * size:
            below = _exchanged(program, _with_one_more(program, below, found))
            found.append(below)
        for P in found:
            best = P if is_improvement(loss, P, best) else best
    return best


def _of_protocols(program: Program, epsilon: float, count: int) -> Iterator[Floats]:
    """Yield the best channel of each number of reports, at most so many, that protocols have."""
    made = sorted(_protocols(program, epsilon, count), key=lambda P: P.shape[1])
    for _, alike in itertools.groupby(made, lambda P: P.shape[1]):
        yield min(alike, key=program.loss.value)


def _protocols(program: Program, epsilon: float, count: int) -> Iterator[Floats]:
    for channel in _pure_protocols(program.size, epsilon):
        if program.size < channel.reports <= count:
            P = best_amounts(program, channel.matrix()).columns
            yield P if is_improvement(program.loss, P, channel.matrix()) else channel.matrix()


def _pure_protocols(size: int, epsilon: float) -> Iterator[PureProtocol]:
    yield HadamardResponse.of_epsilon(size, epsilon)
    for prime in PRIMES:
        yield ProjectiveGeometry.of_epsilon(size, epsilon, prime)
        yield LocalHashing.of_epsilon(size, epsilon, prime)
    for chosen in range(2, size - 1):
        yield SubsetSelection.of_epsilon(size, epsilon, chosen)


def _with_one_more(program: Program, P: Floats, others: Sequence[Floats]) -> Floats:
    """Return the best of other channels and those with a staircase more than P."""
    gained = improving_columns(program.loss, program.ratio, P, TRIED)
    found = [each for s in gained if is_channel(each := _added(program, P, s))]
    return min([*found, *others], key=program.loss.value, default=P)


def _exchanged(program: Program, P: Floats) -> Floats:
    """Return a channel with staircases exchanged for others that tell more."""
    for _ in range(EXCHANGES):
        (staircase,) = improving_columns(program.loss, program.ratio, P, 1)
        more = _added(program, P, staircase)
        fewer = np.delete(more, column_to_drop(program, more), axis=1)
        found = best_amounts(program, fewer).columns
        if not is_improvement(program.loss, found, P, WORTHWHILE):
            break
        P = found
    return P


def _added(program: Program, P: Floats, staircase: Floats) -> Floats:
    little = ADDED * float(P.min(axis=0).mean())
    return best_amounts(program, np.column_stack([P, little * staircase])).columns


def _in_order(P: Floats) -> Floats:
    """Return reports that are proportional as one; those of few categories first."""
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

    Those of a square channel are the categories. A name that is there already is numbered.

    Parameters
    ----------
    P : array, shape (size, reports)
    categories : sequence of str

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
