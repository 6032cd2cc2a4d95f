"""Search for the best channel if the loss is not convex, by many starts and local descents.

Every search also starts from the closed forms that meet the requirements, and returns the best of
all matrices that it has computed. So its result is never worse than the closed forms.
See also [workload_adaptive], for linear queries by projected gradients, and [optimized_matrices].
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from deniable.arrays import Floats
from deniable.design.programs import (
    Bounded,
    Concave,
    Descent,
    Interior,
    InverseVariance,
    Loss,
    Polytope,
    ReportsVariance,
    Requirements,
    interior,
    polytope,
    relax,
)
from deniable.design.starts import feasible_forms, first_matrices, labelled

COARSE, FINE = 1e-2, 1e-10  # precisions of descents from all starts, and from the best
ALIKE = 1e-3  # starts with smaller differences of entries descend to the same matrix
CANDIDATES = 3
BINDS = 1e-6
TO_CENTRE = 0.05  # a start is mixed with this proportion of a matrix well inside
HOPELESS = 1e4  # times the loss of the best start: such a start is nearly singular
SLIDES = 60
FEW_CATEGORIES = 10
NEARBY = (0.2, 0.8)  # range of the weight of a random vertex when a search starts again


class _Effort(NamedTuple):
    """Numbers of starts by kind, of finalists, and of restarts near the best vertex."""

    corners: int
    designs: int
    channels: int
    finalists: int
    restarts: int


def _effort(size: int) -> _Effort:
    return _Effort(8, 4, 12, 3, 48) if size <= FEW_CATEGORIES else _Effort(4, 3, 5, 2, 12)


@dataclass(frozen=True, eq=False)
class SearchResult:
    """The result of a search: the best matrices, best first, and a lower bound of all losses.

    The `candidates` meet the requirements up to a solver's tolerance and include the best feasible
    closed form. The `bound` is None if none is known. `relaxed` has the best channel of any size at
    the epsilon and its bound, or None if it was not computed.
    """

    candidates: list[Floats]
    bound: float | None
    relaxed: Bounded | None = None


def least_variance(
    loss: InverseVariance, proportions: Floats, requirements: Requirements, generator: Generator
) -> SearchResult:
    """Search for the matrix of least trace or largest variance of the estimate by inversion.

    This is the `loss`. Some matrix meets the `requirements` at the `proportions`. If all matrices
    found are singular, their loss is infinite. The `generator` draws the starts.
    """
    wanted = polytope(proportions, requirements)
    inside = interior(wanted)
    forms = feasible_forms(wanted, proportions, requirements)
    bounded = math.isfinite(wanted.ratio) and wanted.ratio > 1 and proportions.size > 1
    told_apart = math.isfinite(wanted.ratio) and inside is not None
    effort, relaxed = _effort(proportions.size), None
    starts = forms + _corners(wanted, proportions, generator, 1 if told_apart else effort.corners)
    if bounded:  # with epsilon alone
        alone = polytope(proportions, Requirements(epsilon=requirements.epsilon))
        idle = np.full((proportions.size, proportions.size), 1 / proportions.size)
        relaxed = relax(loss, alone, idle, forms)
        counts = (effort.designs, effort.channels)
        starts += first_matrices(loss, wanted, proportions, relaxed, generator, counts)
    if inside is None:
        starts = [P for P in starts if wanted.contains(P, 1e-9)]
        seen = starts + [_slide(loss, wanted, P) for P in starts]
    else:
        seen = forms + _descended(loss, inside, starts)
    best = _ranked(loss, seen, forms)
    if all(group.kind in ("rows", "epsilon") for group in wanted.groups):
        best = [labelled(P, proportions, wanted) for P in best]
    known = proportions - loss.own  # without randomization
    truth = float(known.max() if loss.worst else known.sum())
    bound = None if bounded else truth
    if relaxed is not None:
        bound = max(relaxed.bound, truth)
    # Responses split into staircases always meet invariance.
    left, right, *_ = wanted.without("rows", "epsilon", "invariance").constraints
    bind = bool(np.any(right - left[:, : wanted.entries] @ best[0].ravel() < BINDS))
    if relaxed is not None and inside is not None and bind:
        further = relax(loss, wanted, inside.matrix(inside.centre), best)
        bound = max(bound or 0.0, further.bound if further else 0.0)
    if requirements.invariant and proportions.size == 2:
        bound = max(bound or 0.0, _pair_bound(loss, wanted))
    return SearchResult(best, bound, relaxed)


def _pair_bound(loss: InverseVariance, wanted: Polytope) -> float:
    """Return the least loss of an invariant matrix of two categories.

    With lambda equal to the proportions, both variances are lambda_0 lambda_1 / det(P)^2 plus a
    constant. So the largest |det(P)| is needed, and det(P) = P[0, 0] - P[1, 0] is linear.
    """
    pi = loss.proportions
    costs = np.array([[-1.0, 0.0], [1.0, 0.0]])
    corners = [wanted.corner(sign * costs) for sign in (1, -1)]
    largest = max((-corner.bound for corner in corners if corner is not None), default=0.0)
    if largest <= 0:
        return np.inf
    cells = pi[0] * pi[1] / largest**2 + pi**2 - loss.own
    return float(cells.max() if loss.worst else cells.sum())


def _ranked(loss: Loss, seen: Sequence[Floats], forms: Sequence[Floats]) -> list[Floats]:
    return sorted(seen, key=loss.value)[:CANDIDATES] + sorted(forms, key=loss.value)[:1]


def _corners(
    wanted: Polytope, proportions: Floats, generator: Generator, count: int
) -> list[Floats]:
    """Return the vertex of largest retention, and some random vertices."""
    size = proportions.size
    costs = [-np.eye(size) * proportions[:, None]]
    costs += [generator.standard_normal((size, size)) for _ in range(count)]
    fresh = wanted.without()  # so that vertices do not depend on earlier programs
    corners = [fresh.corner(cost) for cost in costs]
    return [corner.P / corner.P.sum(axis=1, keepdims=True) for corner in corners if corner]


def _descended(loss: InverseVariance, inside: Interior, starts: Sequence[Floats]) -> list[Floats]:
    """Return the local minima of all starts, the best ones with full precision."""
    points = [inside.inside(P, TO_CENTRE) for P in starts]
    values = [loss.scale(inside.matrix(x)) for x in points]
    hopeful: list[Floats] = []
    for x, value in zip(points, values, strict=True):
        new = all(np.abs(x - other).max() > ALIKE for other in hopeful)
        if new and value <= HOPELESS * min(values) < math.inf:
            hopeful.append(x)
    descent = Descent(loss, inside)

    def reached(x: Floats) -> float:
        return loss.value(inside.matrix(x))

    rough = sorted((descent.run(x, COARSE) for x in hopeful), key=reached)
    finalists = rough[:1]
    for x in rough[1:]:
        another = reached(x) > reached(finalists[-1]) * (1 + 1e-6)
        if another and len(finalists) < _effort(inside.polytope.size).finalists:
            finalists.append(x)
    return [inside.matrix(descent.run(x, FINE, COARSE)) for x in finalists]


def _slide(loss: InverseVariance, wanted: Polytope, P: Floats) -> Floats:
    """Return a matrix with a loss of at most the loss of P, by the method of Frank and Wolfe."""
    value, fresh = loss.value(P), wanted.without()
    if not math.isfinite(value):
        return P
    for _ in range(SLIDES):
        gradient = loss.expansion(P, 1e-3 * loss.scale(P)).gradient
        corner = fresh.corner(gradient)
        if corner is None or np.sum(gradient * (P - corner.P)) <= 1e-10 * abs(value):
            break
        steps = 2.0 ** -np.arange(0, 30)
        values = [loss.value(P + step * (corner.P - P)) for step in steps]
        best = int(np.argmin(values))
        if values[best] >= value:
            break
        P, value = P + steps[best] * (corner.P - P), values[best]
    return P


def least_concave(
    loss: ReportsVariance, proportions: Floats, requirements: Requirements, generator: Generator
) -> SearchResult:
    """Search for the invariant matrix with the least variances of the responses' own proportions.

    The search goes from vertex to better vertices, and starts again between the best vertex and
    random ones. Its result is local; for two categories the lower bound proves that it is the best.
    The `loss`, `proportions`, `requirements` and `generator` are as in `least_variance`.
    """
    wanted = polytope(proportions, requirements)
    if wanted.ratio == 1:  # all rows equal the proportions
        alike = np.tile(proportions, (proportions.size, 1))
        return SearchResult([alike], loss.value(alike))
    concave = Concave(loss, wanted)
    forms = feasible_forms(wanted, proportions, requirements)
    effort = _effort(proportions.size)
    starts = forms + _corners(wanted, proportions, generator, effort.corners)
    seen = [concave.lowered(P) for P in starts]
    for corner in _corners(wanted, proportions, generator, effort.restarts):
        best, weight = min(seen, key=loss.value), generator.uniform(*NEARBY)
        seen.append(concave.lowered((1 - weight) * best + weight * corner))
    return SearchResult(_ranked(loss, seen, forms), concave.bound())
