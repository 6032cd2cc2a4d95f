"""The search for the best channel if the loss is not convex: many starts, local descents.

Every search also starts from the closed forms that meet the requirements, and returns the best of
all matrices it has seen. So its result is never worse than they are. [workload_adaptive] optimizes
matrices for linear queries by projected gradients; see also [optimized_matrices].
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
    LinearPrograms,
    Loss,
    Polytope,
    ReportsVariance,
    Requirements,
    interior,
    polytope,
    relax,
)
from deniable.design.starts import feasible_forms, first_matrices, labelled

COARSE, FINE = 1e-2, 1e-10  # precisions of the descents: of all starts, and of the best
ALIKE = 1e-3  # starts whose entries differ by no more descend to the same matrix
CANDIDATES = 3
BINDS = 1e-6
TO_CENTRE = 0.05  # a start is mixed with this share of a matrix well inside
HOPELESS = 1e4  # times the loss of the best start: nearly singular
SLIDES = 60
FEW_CATEGORIES = 10
NEARBY = (0.2, 0.8)  # the range of a random vertex's weight where a search starts again


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

    These `candidates` meet the requirements to a solver's tolerance and include the best closed
    form that does. The `bound` is None if none is known. The best of all channels of the
    epsilon and its bound are `relaxed`; None if they were not solved for.
    """

    candidates: list[Floats]
    bound: float | None
    relaxed: Bounded | None = None


def least_variance(
    loss: InverseVariance, proportions: Floats, requirements: Requirements, generator: Generator
) -> SearchResult:
    """Search for the matrix of least trace or largest variance of the estimate by inversion.

    This is the `loss`. Some matrix meets the `requirements` at the `proportions`. The loss found is
    infinite if all matrices found are singular. The `generator` draws the starts.
    """
    wanted = polytope(proportions, requirements)
    inside = interior(wanted)
    forms = feasible_forms(wanted, proportions, requirements)
    bounded = math.isfinite(wanted.ratio) and wanted.ratio > 1 and proportions.size > 1
    relaxed = None
    if bounded:  # with epsilon alone
        alone = polytope(proportions, Requirements(epsilon=requirements.epsilon))
        idle = np.full((proportions.size, proportions.size), 1 / proportions.size)
        relaxed = relax(loss, alone, idle, forms)
    told_apart = math.isfinite(wanted.ratio) and inside is not None
    effort = _effort(proportions.size)
    starts = forms + _corners(wanted, proportions, generator, 1 if told_apart else effort.corners)
    if bounded:
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
    known = proportions - loss.own  # with true reports
    truth = float(known.max() if loss.worst else known.sum())
    bound = None if bounded else truth
    if relaxed is not None:
        bound = max(relaxed.bound, truth)
    # Reports split into staircases meet invariance anyway.
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

    Both variances are lambda_0 lambda_1 / det(P)^2, less what J^-1 exceeds them by, and lambda is
    the proportions: the largest determinant decides, P[0, 0] - P[1, 0] in size, which is linear.
    """
    pi = loss.proportions
    costs = np.array([[-1.0, 0.0], [1.0, 0.0]])
    corners = [LinearPrograms(wanted).corner(sign * costs) for sign in (1, -1)]
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
    """Return vertices: the one of most retention, and some at random."""
    programs, size = LinearPrograms(wanted), proportions.size
    costs = [-np.eye(size) * proportions[:, None]]
    costs += [generator.standard_normal((size, size)) for _ in range(count)]
    corners = [programs.corner(cost) for cost in costs]
    return [corner.P / corner.P.sum(axis=1, keepdims=True) for corner in corners if corner]


def _descended(loss: InverseVariance, inside: Interior, starts: Sequence[Floats]) -> list[Floats]:
    """Return the local minima of all starts, the best ones to full precision."""
    points = [inside.inside(P, TO_CENTRE) for P in starts]
    values = [loss.scale(inside.matrix(x)) for x in points]
    hopeful: list[Floats] = []
    for x, value in zip(points, values, strict=True):
        new = all(np.abs(x - other).max() > ALIKE for other in hopeful)
        if new and value <= HOPELESS * min(values) < math.inf:
            hopeful.append(x)
    descent = Descent(loss, inside)
    rough = sorted((descent.run(x, COARSE) for x in hopeful), key=lambda minimum: minimum.value)
    finalists = rough[:1]
    for minimum in rough[1:]:
        another = minimum.value > finalists[-1].value * (1 + 1e-6)
        if another and len(finalists) < _effort(inside.polytope.size).finalists:
            finalists.append(minimum)
    return [descent.run(minimum.x, FINE, COARSE).P for minimum in finalists]


def _slide(loss: InverseVariance, wanted: Polytope, P: Floats) -> Floats:
    """Return a matrix with a loss not above the loss of P, by the method of Frank and Wolfe."""
    programs = LinearPrograms(wanted)
    value = loss.value(P)
    if not math.isfinite(value):
        return P
    for _ in range(SLIDES):
        gradient = loss.expansion(P, 1e-3 * loss.scale(P)).gradient
        corner = programs.corner(gradient)
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
    """Search for the invariant matrix whose own proportions have the least variances.

    The search goes from vertex to better vertices, and starts again between the best vertex and
    random ones. Its result is local; for two categories the lower bound proves that it is the best.
    The `loss`, `proportions`, `requirements` and `generator` are as in `least_variance`.
    """
    wanted = polytope(proportions, requirements)
    if wanted.ratio == 1:  # all rows are the same, and so the proportions
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
