"""Points of a polytope of channels: of least linear cost, or well inside."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import linalg, sparse

from deniable.arrays import Sparse
from deniable.channels import Floats
from deniable.design.problem import Polytope
from deniable.design.solvers.interior_point import Indices, Interior
from deniable.design.solvers.linear import Constraints, minimise

LEAST_ROOM = 1e-7
"""What constraints must leave for a polytope to count as having an interior."""
TIGHTENED = (0.5, 0.9, 0.99)
"""A point inside has one of these shares of the epsilon that is allowed."""


@dataclass(frozen=True, eq=False)
class Corner:
    """A vertex of least linear cost.

    Attributes
    ----------
    P : array, shape (size, size)
    cost : float
    bound : float
        No point of the polytope costs less: from the dual variables, made feasible.
    """

    P: Floats
    cost: float
    bound: float


@dataclass(frozen=True, eq=False)
class LinearPrograms:
    """Linear programs over one polytope, by HiGHS.

    Variables are the excess of each entry over the floor of its column, which is its ceiling h_v
    divided by the ratio, and the ceilings: what lies on its floor has then an excess of exactly 0,
    also where exp(-epsilon) is smaller than the solver's tolerance.
    """

    polytope: Polytope

    def corner(self, costs: Floats) -> Corner | None:
        """Return a vertex at which the sum of costs * P is least, None if no matrix is feasible.

        Parameters
        ----------
        costs : array, shape (size, size)
        """
        scale = float(np.abs(costs).max()) or 1.0
        objective = np.zeros(self.polytope.variables)
        objective[: self.polytope.entries] = costs.ravel() / scale
        objective = self._change.T @ objective
        found = self._constraints.minimise(objective, high=self.polytope.highest)
        if found is None:
            return None
        P = self.polytope.matrix(self._change @ np.maximum(found.x, 0.0))
        return Corner(P, float(np.sum(costs * P)), found.bound * scale)

    @cached_property
    def _change(self) -> Sparse:
        """The matrix T of x = T y, from these variables to the polytope's."""
        size, entries = self.polytope.size, self.polytope.entries
        if not math.isfinite(self.polytope.ratio):
            return sparse.eye_array(entries, format="csr")
        floors = sparse.kron(np.ones((size, 1)), sparse.eye_array(size)) / self.polytope.ratio
        blocks: Any = [[sparse.eye_array(entries), floors], [None, sparse.eye_array(size)]]
        return sparse.block_array(blocks, format="csr")

    @cached_property
    def _constraints(self) -> Constraints:
        inner = self.polytope
        others = [group for group in inner.groups if group.kind != "epsilon"]
        left, right = inner.with_groups(others).inequalities
        left = left @ self._change
        if math.isfinite(inner.ratio):
            ceilings = sparse.kron(np.ones((inner.size, 1)), sparse.eye_array(inner.size))
            below = [sparse.eye_array(inner.entries), -(1 - 1 / inner.ratio) * ceilings]
            left = sparse.vstack([left, sparse.hstack(below)], format="csr")
            right = np.concatenate([right, np.zeros(inner.entries)])
        equal_left, equal_right = inner.equalities
        return Constraints(left, right, equal_left @ self._change, equal_right)


def interior(polytope: Polytope) -> Interior | None:
    """Return the interior of a polytope, None if it has none beyond rounding."""
    free = np.flatnonzero(~polytope.zeros.ravel())
    if not math.isfinite(polytope.ratio):
        return _interior_of(polytope, free, _centre(polytope, free))
    used = np.flatnonzero(~polytope.zeros.all(axis=0))
    free = np.concatenate([free, polytope.entries + used])
    for share in TIGHTENED:
        centre = _centre(polytope.with_ratio(polytope.ratio**share), free)
        found = _interior_of(polytope, free, centre)
        if found is not None:
            return found
    return None


def _centre(polytope: Polytope, free: Indices) -> Floats | None:
    """Return a point with as much room as can be had, except between the ratios.

    The largest t with A x + t <= b, and with x >= t for the ceilings, or, if there are none, for
    the entries.
    """
    left, right, room = [], [], []
    for group in polytope.groups:
        if not group.equality and group.kind not in ("forbidden", "allowed"):
            left.append(group.left[:, free])
            right.append(group.right)
            room.append(np.full(len(group.right), group.kind != "epsilon"))
    bounded = free >= polytope.entries if math.isfinite(polytope.ratio) else free >= 0
    left.append(-sparse.eye_array(free.size, format="csr")[np.flatnonzero(bounded)])
    right.append(np.zeros(int(bounded.sum())))
    room.append(np.ones(int(bounded.sum()), dtype=bool))
    wider = [sparse.vstack(left), np.concatenate(room).astype(float)[:, None]]
    equal_left, equal_right = polytope.equalities
    same = [equal_left[:, free], np.zeros((len(equal_right), 1))]
    found = minimise(
        np.append(np.zeros(free.size), -1.0),
        sparse.csr_array(sparse.hstack(wider)),
        np.concatenate(right),
        sparse.csr_array(sparse.hstack(same)),
        equal_right,
    )
    return None if found is None or found.x[-1] < LEAST_ROOM else np.asarray(found.x[:-1])


def _interior_of(polytope: Polytope, free: Indices, centre: Floats | None) -> Interior | None:
    if centre is None:
        return None
    entries = np.zeros(polytope.entries)
    own = free < polytope.entries
    entries[free[own]] = centre[own]
    centre = polytope.point(polytope.matrix(entries))[free]
    kinds = ("forbidden", "allowed")
    left, right = polytope.with_groups(
        [group for group in polytope.groups if group.kind not in kinds]
    ).inequalities
    left = left[:, free]
    kept = np.flatnonzero(np.diff(left.indptr))  # others speak of zeros alone
    left, right = left[kept], right[kept]
    if not math.isfinite(polytope.ratio):
        left = sparse.vstack([left, -sparse.eye_array(free.size)], format="csr")
        right = np.concatenate([right, np.zeros(free.size)])
    equal_left, equal_right = polytope.equalities
    independent, values = _independent(equal_left[:, free].toarray(), equal_right)
    inside = np.min(right - left @ centre, initial=np.inf) > 0
    return Interior(polytope, free, left, right, independent, values, centre) if inside else None


def _independent(left: Floats, right: Floats) -> tuple[Floats, Floats]:
    """Return equations without those that follow from others."""
    _, triangle, order = linalg.qr(left.T, mode="economic", pivoting=True)
    diagonal = np.abs(np.diagonal(triangle))
    rank = int(np.sum(diagonal > 1e-10 * diagonal[0]))
    chosen = np.sort(order[:rank])
    return left[chosen], right[chosen]
