"""Find local minima of a loss over a polytope by a primal-dual interior-point method.

The variances by inversion are smooth but not convex, and have exact Hessians. A Newton step
minimizes the quadratic model of loss and barrier. If the model is not convex, the least necessary
part of the loss's concave part is left out. The step ends when the barrier function stops falling.
As the barrier's weight falls to rounding, iterates reach a local minimum, on binding constraints.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import linalg, sparse

from deniable.arrays import Floats, Positions, Sparse
from deniable.design.programs.linear import Constraints
from deniable.design.programs.losses import Expansion, InverseVariance
from deniable.design.programs.requirements import Polytope, padded

FIRST_WEIGHT = 0.1  # of the barrier: this proportion of the loss, over the number of constraints
DECREASE = 0.2
FAST = 10.0  # a weight falls to its power 1.5 times the root of this, if that is less
TO_BOUNDARY = 0.99
CENTRED = 10.0  # up to this multiple of the weight, a step is near the central path
DUAL_SAFEGUARD = 1e8
LEAST_DAMPING = 0.05
STIFF = 10.0
FEW_ENTRIES = 4  # most constraints have one or two entries
MAX_STEPS = 200
LEAST_ROOM = 1e-7  # least slack of a polytope with an interior
TIGHTENED = (0.5, 0.9, 0.99)
"""An interior point has one of these proportions of the allowed epsilon."""


@dataclass(frozen=True, eq=False)
class Interior:
    """The relative interior of a polytope, over its free variables.

    Free variables are not always zero. The constraints are A x <= b (`left`, shape (inequalities,
    free), and `right`) and E x = e (`equal_left`, of full rank, and `equal_right`), with x the free
    variables. These have the positions `free` among the variables of the `polytope`. At the
    `centre`, shape (free,), no inequality binds.
    """

    polytope: Polytope
    free: Positions
    left: Sparse
    right: Floats
    equal_left: Floats
    equal_right: Floats
    centre: Floats

    @cached_property
    def free_entries(self) -> Positions:
        """The free variables that are entries of the matrix; they are the first ones."""
        return np.asarray(self.free[self.free < self.polytope.entries])

    def curvature(self, weights: Floats) -> Floats:
        """Return A' W A for a diagonal W of `weights`, one for each inequality."""
        rows, flat, products, wide, dense = self._products
        size = self.free.size
        curvature = np.bincount(flat, products * weights[rows], size**2).reshape(size, size)
        return np.asarray(curvature + (dense.T * weights[wide]) @ dense if wide.size else curvature)

    @cached_property
    def _products(self) -> tuple[Positions, Positions, Floats, Positions, Floats]:
        """Products of entries in short rows (row, place, product), long rows (number, entries)."""
        counts = np.diff(self.left.indptr)
        rows, flat, products = [], [], []
        for count in range(1, FEW_ENTRIES + 1):
            chosen = np.flatnonzero(counts == count)
            places = self.left.indptr[chosen][:, None] + np.arange(count)
            columns, values = self.left.indices[places], self.left.data[places]
            flat.append((columns[:, :, None] * self.free.size + columns[:, None, :]).ravel())
            products.append((values[:, :, None] * values[:, None, :]).ravel())
            rows.append(np.repeat(chosen, count**2))
        wide = np.flatnonzero(counts > FEW_ENTRIES)
        short = np.concatenate(rows), np.concatenate(flat), np.concatenate(products)
        return *short, wide, self.rows[wide]

    def matrix(self, x: Floats) -> Floats:
        """Return the matrix P of a point `x`, given by its free variables, shape (free,)."""
        entries = np.zeros(self.polytope.entries)
        entries[self.free_entries] = x[: self.free_entries.size]
        return entries.reshape(self.polytope.size, self.polytope.size)

    @cached_property
    def rows(self) -> Floats:
        """A as a dense matrix, which is faster at this size."""
        return np.asarray(self.left.toarray())

    def slacks(self, x: Floats) -> Floats:
        """Return b - A x of a point `x`, shape (free,), the slack of each inequality."""
        return np.asarray(self.right - self.rows @ x)

    def inside(self, P: Floats, share: float) -> Floats:
        """Return an interior point: `P` mixed with the proportion `share` of the centre.

        `share` is in (0, 1], and the point is given by its free variables. First the residuals of
        the equations are distributed over the entries, in proportion to their squares. If the
        result is outside, the point is between the centre and the boundary.
        """
        target = self.polytope.point(P)[self.free]
        weights = target**2 + 1e-12
        scaled = self.equal_left * weights
        missing = self.equal_right - self.equal_left @ target
        target = target + scaled.T @ np.linalg.solve(scaled @ self.equal_left.T, missing)
        way = target - self.centre
        room, used = self.slacks(self.centre), self.rows @ way
        reach = float(np.min(np.where(used > 0, room / np.maximum(used, 1e-300), np.inf)))
        return np.asarray(self.centre + (1 - share) * min(reach, 1.0) * way)


def interior(polytope: Polytope) -> Interior | None:
    """Return the interior of a `polytope`, or None if it is empty or within rounding."""
    free, tighter = np.flatnonzero(~polytope.zeros.ravel()), [polytope]
    if math.isfinite(polytope.ratio):
        used = np.flatnonzero(~polytope.zeros.all(axis=0))
        free = np.concatenate([free, polytope.entries + used])
        tighter = [polytope.with_ratio(polytope.ratio**share) for share in TIGHTENED]
    for each in tighter:
        centre = _centre(each, free)
        if centre is not None and (found := _interior_of(polytope, free, centre)) is not None:
            return found
    return None


def _centre(polytope: Polytope, free: Positions) -> Floats | None:
    """Return a point of the largest slack t, also a lower bound of the ceilings or entries."""
    others = polytope.without("forbidden", "allowed")
    left, right, equal_left, equal_right = others.constraints
    groups = [group for group in others.groups if not group.equality]
    room = [np.full(len(group.right), float(group.kind != "epsilon")) for group in groups]
    first = polytope.entries if math.isfinite(polytope.ratio) else 0
    floors = -sparse.eye_array(free.size, format="csr")[np.flatnonzero(free >= first)]
    slack = sparse.csr_array(np.concatenate([*room, np.ones(floors.shape[0])])[:, None])
    program = Constraints(
        sparse.csr_array(sparse.hstack([sparse.vstack([left[:, free], floors]), slack])),
        np.concatenate([right, np.zeros(floors.shape[0])]),
        padded(equal_left[:, free], free.size + 1),
        equal_right,
    )
    found = program.minimise(np.append(np.zeros(free.size), -1.0))
    return None if found is None or found[0][-1] < LEAST_ROOM else np.asarray(found[0][:-1])


def _interior_of(polytope: Polytope, free: Positions, centre: Floats) -> Interior | None:
    entries = np.zeros(polytope.entries)
    own = free < polytope.entries
    entries[free[own]] = centre[own]
    centre = polytope.point(polytope.matrix(entries))[free]
    left, right, *_ = polytope.without("forbidden", "allowed").constraints
    left = left[:, free]
    kept = np.flatnonzero(np.diff(left.indptr))  # other rows have only zero variables
    left, right = left[kept], right[kept]
    if not math.isfinite(polytope.ratio):
        left = sparse.vstack([left, -sparse.eye_array(free.size)], format="csr")
        right = np.concatenate([right, np.zeros(free.size)])
    *_, equal_left, equal_right = polytope.constraints
    equal = equal_left[:, free].toarray()
    _, triangle, order = linalg.qr(equal.T, mode="economic", pivoting=True)
    diagonal = np.abs(np.diagonal(triangle))
    # Redundant equations are left out.
    chosen = np.sort(order[: int(np.sum(diagonal > 1e-10 * diagonal[0]))])
    equal, equal_right = equal[chosen], equal_right[chosen]
    inside = np.min(right - left @ centre, initial=np.inf) > 0
    return Interior(polytope, free, left, right, equal, equal_right, centre) if inside else None


@dataclass(frozen=True, eq=False)
class Descent:
    """Newton's method for a `loss` over the `interior` of a polytope."""

    loss: InverseVariance
    interior: Interior

    def run(self, start: Floats, precision: float, first: float = FIRST_WEIGHT) -> Floats:
        """Return a local minimum near `start`, a point with a finite loss; both are free variables.

        The barrier's weight begins at `first` and ends at `precision`, proportions of the loss
        divided by the number of constraints.
        """
        inner, x = self.interior, start
        unit = max(self.loss.scale(inner.matrix(x)), 1e-12) / len(inner.right)
        weight = first * unit
        duals = weight / inner.slacks(x)
        cells: Floats | None = None  # weights if the loss is a smoothed maximum
        damping = 0.0
        for _ in range(MAX_STEPS):
            model = self.loss.expansion(inner.matrix(x), weight, cells)
            dx, decrement, damping, dcells = self._newton(model, x, duals, weight, damping)
            slacks = inner.slacks(x)
            ds = -(inner.rows @ dx)
            dz = weight / slacks - duals - duals / slacks * ds
            move = self._line_search(x, dx, decrement, to_boundary(slacks, ds), weight)
            x = x + move * dx
            duals = _safeguarded(duals + to_boundary(duals, dz) * dz, weight / inner.slacks(x))
            if model.above.size:
                own = model.stiffness * model.above
                cells = own + to_boundary(own, dcells) * dcells
                cells = _safeguarded(cells, weight / model.above)
            if move == 0 or decrement <= CENTRED * weight:
                if weight <= precision * unit:
                    break
                weight *= min(DECREASE, math.sqrt(FAST * weight / unit))
        return x

    def _newton(
        self, model: Expansion, x: Floats, duals: Floats, weight: float, damping: float
    ) -> tuple[Floats, float, float, Floats]:
        """Return the change of x, its decrease by slopes, the damping, and the change of cells."""
        inner = self.interior
        slacks = inner.slacks(x)
        count = inner.free_entries.size
        gradient = np.zeros(x.size)
        gradient[:count] = model.gradient.ravel()[inner.free_entries]
        gradient = gradient + (weight / slacks) @ inner.rows
        hessian = inner.curvature(duals / slacks)
        unit = 1 / np.sqrt(np.diagonal(hessian))
        scales = np.outer(unit, unit)
        hessian *= scales
        entries = np.ix_(inner.free_entries, inner.free_entries)
        hessian[:count, :count] += model.hessian[entries] * scales[:count, :count]
        concave = np.asarray(model.concave[entries])
        equal = inner.equal_left * unit
        # Only in directions that keep the equations must the model be convex.
        hessian += (
            STIFF * np.abs(hessian).max() * (equal.T @ equal) / np.sum(equal**2, axis=1).max()
        )
        factor, damping = _factorised(hessian, concave, scales, damping / 2)
        right = np.column_stack([gradient * unit, equal.T])
        solved, _ = linalg.lapack.dpotrs(factor, right, lower=True)
        gap = inner.equal_right - inner.equal_left @ x
        multipliers = _multipliers(equal @ solved[:, 1:], -equal @ solved[:, 0] - gap)
        dx = -(solved[:, 0] + solved[:, 1:] @ multipliers) * unit
        return dx, float(-(gradient @ dx)), damping, _weight_changes(model, inner, dx, weight)

    def _line_search(
        self, x: Floats, dx: Floats, decrement: float, move: float, weight: float
    ) -> float:
        before = self._barrier(x, weight)
        rounding = 1e-14 * (abs(before) + 1)
        for _ in range(40):
            target = before - 1e-4 * move * decrement + rounding
            if self._barrier(x + move * dx, weight) <= target:
                return move
            move /= 2
        return 0.0

    def _barrier(self, x: Floats, weight: float) -> float:
        slacks = self.interior.slacks(x)
        if slacks.min() <= 0:
            return np.inf
        loss = self.loss.smooth(self.interior.matrix(x), weight)
        return loss - weight * float(np.sum(np.log(slacks)))


def _multipliers(left: Floats, right: Floats) -> Floats:
    """Return the multipliers of equations, or the least ones if they are singular up to rounding.

    Near the boundary, the machine's linear algebra decides whether a pivot is tiny or 0.
    """
    try:
        return np.asarray(np.linalg.solve(left, right))
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.lstsq(left, right, rcond=None)[0])


def _factorised(
    hessian: Floats, concave: Floats, scales: Floats, damping: float
) -> tuple[Floats, float]:
    """Return the Cholesky factor of a Hessian without a necessary part of its concave part."""
    count = len(concave)
    damping, ridge = damping if damping >= LEAST_DAMPING else 0.0, 0.0
    while True:
        damped = hessian.copy()
        if damping:
            damped[:count, :count] += damping * scales[:count, :count] * concave
        if ridge:
            damped[np.diag_indices(len(damped))] += ridge
        # The matrix is symmetric, so its transpose is the same matrix in LAPACK's order.
        factor, failed = linalg.lapack.dpotrf(damped.T, lower=True, clean=False, overwrite_a=True)
        if not failed:
            return factor, damping
        if damping < 1:
            damping = min(max(2 * damping, 2 * LEAST_DAMPING), 1.0)
        else:  # convex except for rounding
            ridge = max(10 * ridge, 1e-10)


def _weight_changes(model: Expansion, interior: Interior, dx: Floats, weight: float) -> Floats:
    """Return the change of the cells' weights in a step."""
    if not model.above.size:
        return np.zeros(0)
    entries = interior.free_entries
    rise = model.slopes[:, entries] @ dx[: entries.size]
    fall = model.stiffness @ rise / model.stiffness.sum() - rise  # relative to their common ceiling
    own = model.stiffness * model.above
    return np.asarray(weight / model.above - own - model.stiffness * fall)


def to_boundary(values: Floats, change: Floats) -> float:
    """Return the longest step along `change`, up to 1, that keeps `values` clearly positive."""
    ratio = np.min(change / values, initial=0.0)
    return float(min(1.0, -TO_BOUNDARY / ratio)) if ratio < 0 else 1.0


def _safeguarded(duals: Floats, central: Floats) -> Floats:
    """Return duals clipped to a range around the central path."""
    return np.asarray(np.clip(duals, central / DUAL_SAFEGUARD, central * DUAL_SAFEGUARD))
