"""Local minima of a loss over a polytope, by a primal-dual interior-point method.

The losses are smooth but not convex, and have exact Hessians. A Newton step minimises the quadratic
model of loss and barrier, made convex where it is not by a multiple of the barrier's own curvature;
it is taken as far as the barrier function falls. As the barrier's weight falls to rounding, the
iterates end at a local minimum, on whichever constraints bind there.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy import linalg, sparse

from deniable.channel.base import Floats
from deniable.design.losses import Expansion, Loss
from deniable.design.polytope import Polytope

Indices = npt.NDArray[np.intp]
FIRST_WEIGHT = 0.1  # of the barrier: this share of the loss, divided by the constraints
DECREASE = 0.2
TO_BOUNDARY = 0.99
CENTRED = 10.0  # a step is near enough to the central path at this multiple of the weight
DUAL_SAFEGUARD = 1e8
MOST_STEPS = 200


@dataclass(frozen=True, eq=False)
class Interior:
    """The relative interior of a polytope: its free variables, constraints, and a point inside.

    Attributes
    ----------
    polytope : Polytope
    free : array of int
        Variables that are not zero throughout.
    left, right : A and b of A x <= b, over the free variables
    equal_left, equal_right : E and e of E x = e, over the free variables, E of full rank
    centre : array
        A point, over the free variables, at which no inequality binds.
    """

    polytope: Polytope
    free: Indices
    left: sparse.csr_array
    right: Floats
    equal_left: Floats
    equal_right: Floats
    centre: Floats

    @cached_property
    def free_entries(self) -> Indices:
        """The free variables that are entries of the matrix; they come first."""
        return np.asarray(self.free[self.free < self.polytope.entries])

    def matrix(self, x: Floats) -> Floats:
        """Return the matrix of a point given by its free variables."""
        entries = np.zeros(self.polytope.entries)
        entries[self.free_entries] = x[: self.free_entries.size]
        return entries.reshape(self.polytope.size, self.polytope.size)

    def slacks(self, x: Floats) -> Floats:
        """Return b - A x."""
        return np.asarray(self.right - self.left @ x)

    def inside(self, P: Floats, share: float) -> Floats:
        """Return a point inside that is mixed of a matrix and, to a share, of the centre."""
        target = self.polytope.point(P)[self.free]
        x = (1 - share) * target + share * self.centre
        room, used = self.slacks(self.centre), self.left @ (x - self.centre)
        reach = np.min(np.where(used > 0, room / np.maximum(used, 1e-300), np.inf))
        if reach <= 1 + share / 2:  # the matrix is not in the polytope: go as far as there is room
            x = self.centre + (1 - share) * min(reach, 1.0) * (x - self.centre)
        return np.asarray(x)


@dataclass(frozen=True, eq=False)
class LocalMinimum:
    """Where the interior-point method ended.

    Attributes
    ----------
    P : array
        A matrix inside the polytope, within rounding of a local minimum.
    value : float
        Its loss.
    steps : int
    """

    P: Floats
    value: float
    steps: int


def descend(loss: Loss, interior: Interior, start: Floats, precision: float) -> LocalMinimum:
    """Return a local minimum near a starting point.

    Parameters
    ----------
    loss : Loss
    interior : Interior
    start : array
        Free variables of a point inside, with a finite loss.
    precision : float
        Relative: the barrier's weight ends at this share of the loss, divided by the constraints.
    """
    return _Descent(loss, interior).run(start, precision)


@dataclass(frozen=True, eq=False)
class _Descent:
    loss: Loss
    interior: Interior

    def run(self, start: Floats, precision: float) -> LocalMinimum:
        inner, x = self.interior, start
        constraints = len(inner.right)
        unit = max(self.loss.scale(inner.matrix(x)), 1e-12) / constraints
        weight = FIRST_WEIGHT * unit
        duals = weight / inner.slacks(x)
        damping, steps = 0.0, 0
        while steps < MOST_STEPS:
            steps += 1
            dx, decrement, damping = self._newton(x, duals, weight, damping)
            slacks = inner.slacks(x)
            ds = -(inner.left @ dx)
            dz = weight / slacks - duals - duals / slacks * ds
            move = self._line_search(x, dx, ds, weight, decrement)
            stuck = move == 0.0
            x = x + move * dx
            duals = duals + to_boundary(duals, dz) * dz
            slacks = inner.slacks(x)
            duals = np.clip(
                duals, weight / (DUAL_SAFEGUARD * slacks), DUAL_SAFEGUARD * weight / slacks
            )
            if stuck or decrement <= CENTRED * weight:
                if weight <= precision * unit:
                    break
                weight *= DECREASE
        P = inner.matrix(x)
        return LocalMinimum(P, self.loss.value(P), steps)

    def _newton(
        self, x: Floats, duals: Floats, weight: float, damping: float
    ) -> tuple[Floats, float, float]:
        """Return the step, by how much the model falls along it, and the damping that it took."""
        inner = self.interior
        slacks = inner.slacks(x)
        model = self.loss.expansion(inner.matrix(x), weight)
        gradient = _over_free(model, inner, x.size) + inner.left.T @ (weight / slacks)
        curvature = inner.left.multiply((duals / slacks)[:, None]).tocsr()
        barrier = (inner.left.T @ curvature).toarray()
        hessian = barrier.copy()
        entries = inner.free_entries
        hessian[: entries.size, : entries.size] += model.hessian[np.ix_(entries, entries)]
        unit = 1 / np.sqrt(np.diagonal(barrier))
        damping *= 0.25
        while True:
            damped = hessian + np.diag(damping / unit**2) if damping else hessian
            scaled = damped * unit[:, None] * unit
            try:
                factor = linalg.cho_factor(scaled, check_finite=False)
            except linalg.LinAlgError:
                damping = max(1e-3, 4 * damping)
                continue
            break
        equal = inner.equal_left * unit
        right = np.column_stack([gradient * unit, equal.T])
        solved = linalg.cho_solve(factor, right, check_finite=False)
        gap = inner.equal_right - inner.equal_left @ x
        multipliers = np.linalg.solve(equal @ solved[:, 1:], -equal @ solved[:, 0] - gap)
        dx = -(solved[:, 0] + solved[:, 1:] @ multipliers) * unit
        return dx, float(-(gradient @ dx)), damping if damping > 1e-4 else 0.0

    def _line_search(
        self, x: Floats, dx: Floats, ds: Floats, weight: float, decrement: float
    ) -> float:
        move = to_boundary(self.interior.slacks(x), ds)
        before = self._barrier(x, weight)
        rounding = 1e-14 * (abs(before) + 1)
        for _ in range(40):
            if self._barrier(x + move * dx, weight) <= before - 1e-4 * move * decrement + rounding:
                return move
            move /= 2
        return 0.0

    def _barrier(self, x: Floats, weight: float) -> float:
        slacks = self.interior.slacks(x)
        if slacks.min() <= 0:
            return np.inf
        return self.loss.smooth(self.interior.matrix(x), weight) - weight * np.sum(np.log(slacks))


def _over_free(model: Expansion, interior: Interior, variables: int) -> Floats:
    gradient = np.zeros(variables)
    entries = interior.free_entries
    gradient[: entries.size] = model.gradient.ravel()[entries]
    return gradient


def to_boundary(values: Floats, change: Floats) -> float:
    """Return the longest step, at most 1, that leaves positive values positive by a margin."""
    ratio = np.min(change / values, initial=0.0)
    return float(min(1.0, -TO_BOUNDARY / ratio)) if ratio < 0 else 1.0
