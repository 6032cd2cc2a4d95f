"""Linear programs by HiGHS, with bounds that do not rest on its tolerances; points of polytopes.

HiGHS is called directly rather than through cvxpy or SciPy: a search solves hundreds of programs
over the same constraints, each a matter of few steps from where the last one ended.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import highspy
import numpy as np
from scipy import linalg, sparse

from deniable.arrays import Floats, Positions, Sparse
from deniable.design.programs.interior_point import Interior
from deniable.design.programs.polytope import Polytope, padded
from deniable.errors import DeniableError

Highs: Any = highspy.Highs  # whose methods have no types
TOLERANCE = 1e-10  # the tightest that HiGHS takes
LEAST_ROOM = 1e-7
"""What constraints must leave for a polytope to count as having an interior."""
TIGHTENED = (0.5, 0.9, 0.99)
"""A point inside has one of these shares of the epsilon that is allowed."""
INFEASIBLE = highspy.HighsModelStatus.kInfeasible
OPTIMAL = highspy.HighsModelStatus.kOptimal


@dataclass(frozen=True, eq=False)
class Solution:
    """Where a linear program is least.

    Attributes
    ----------
    x : array
    value : float
    bound : float
        No x that fits has a smaller value: by weak duality from the dual variables, these clipped
        to their signs, and what they leave of the objective counted at the variables' own bounds.
    prices : array
        By how much the value would fall if a unit more of each inequality were allowed.
    """

    x: Floats
    value: float
    bound: float
    prices: Floats


class Constraints:
    """Constraints under which linear functions are minimised, one after the other.

    Parameters
    ----------
    left, right : A and b of A x <= b
    equal_left, equal_right : E and e of E x = e
    """

    def __init__(
        self, left: Sparse, right: Floats, equal_left: Sparse, equal_right: Floats
    ) -> None:
        self._left, self._right = left, right
        self._equal_left, self._equal_right = equal_left, equal_right
        self._solver = Highs()
        for option, value in (
            ("output_flag", False),
            ("threads", 1),
            ("presolve", "off"),
            ("primal_feasibility_tolerance", TOLERANCE),
            ("dual_feasibility_tolerance", TOLERANCE),
        ):
            self._solver.setOptionValue(option, value)
        self._solver.passModel(self._model())

    def _model(self) -> highspy.HighsLp:
        rows = sparse.csr_array(sparse.vstack([self._left, self._equal_left], format="csr"))
        model = highspy.HighsLp()
        model.num_row_, model.num_col_ = rows.shape
        nothing = np.zeros(model.num_col_)
        model.col_cost_, model.col_lower_, model.col_upper_ = nothing, nothing, nothing
        unlimited = np.full(len(self._right), -np.inf)
        model.row_lower_ = np.concatenate([unlimited, self._equal_right])
        model.row_upper_ = np.concatenate([self._right, self._equal_right])
        model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        model.a_matrix_.start_ = rows.indptr.astype(np.int32)
        model.a_matrix_.index_ = rows.indices.astype(np.int32)
        model.a_matrix_.value_ = rows.data.astype(float)
        return model

    def minimise(
        self, objective: Floats, low: Floats | None = None, high: Floats | None = None
    ) -> Solution | None:
        """Minimise objective @ x over low <= x <= high under the constraints.

        Parameters
        ----------
        objective : array, shape (variables,)
        low, high : array, optional
            By default 0 and no limit.

        Returns
        -------
        Solution, or None if no x fits

        Raises
        ------
        DeniableError
            If the solver gives up.
        """
        lowest = np.zeros(objective.size) if low is None else low
        highest = np.full(objective.size, np.inf) if high is None else high
        if np.any(lowest > highest):
            return None
        everything = np.arange(objective.size, dtype=np.int32)
        self._solver.changeColsCost(objective.size, everything, objective)
        self._solver.changeColsBounds(objective.size, everything, lowest, highest)
        status = self._run()
        if status == INFEASIBLE:
            return None
        if status != OPTIMAL:
            raise DeniableError(
                "a linear program of the design was not solved "
                f"({self._solver.modelStatusToString(status)}); round the numbers of the "
                "requirements, or ask for less"
            )
        found = self._solver.getSolution()
        duals = np.array(found.row_dual)
        return self._bounded(np.array(found.col_value), duals, objective, lowest, highest)

    def _run(self) -> highspy.HighsModelStatus:
        """Solve from where the last program ended; if that fails, from nothing."""
        self._solver.run()
        status: highspy.HighsModelStatus = self._solver.getModelStatus()
        if status not in (OPTIMAL, INFEASIBLE):
            self._solver.clearSolver()
            self._solver.setOptionValue("presolve", "on")
            self._solver.run()
            status = self._solver.getModelStatus()
            self._solver.setOptionValue("presolve", "off")
        return status

    def _bounded(
        self, x: Floats, duals: Floats, objective: Floats, lowest: Floats, highest: Floats
    ) -> Solution:
        count = len(self._right)
        prices, multipliers = np.minimum(duals[:count], 0.0), duals[count:]
        reduced = objective - self._left.T @ prices - self._equal_left.T @ multipliers
        own = np.where(reduced > 0, reduced * lowest, 0.0)
        own[reduced < 0] = reduced[reduced < 0] * highest[reduced < 0]
        bound = float(self._right @ prices + self._equal_right @ multipliers + own.sum())
        return Solution(x, float(objective @ x), bound, -prices)


def minimise(
    objective: Floats,
    left: Sparse,
    right: Floats,
    equal_left: Sparse,
    equal_right: Floats,
    low: Floats | None = None,
    high: Floats | None = None,
) -> Solution | None:
    """Minimise objective @ x under constraints that are used once; see `Constraints`."""
    return Constraints(left, right, equal_left, equal_right).minimise(objective, low, high)


# -- points of a polytope of channels -------------------------------------------------------------


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


def _centre(polytope: Polytope, free: Positions) -> Floats | None:
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
    found = minimise(
        np.append(np.zeros(free.size), -1.0),
        sparse.csr_array(sparse.hstack(wider)),
        np.concatenate(right),
        padded(equal_left[:, free], free.size + 1),
        equal_right,
    )
    return None if found is None or found.x[-1] < LEAST_ROOM else np.asarray(found.x[:-1])


def _interior_of(polytope: Polytope, free: Positions, centre: Floats | None) -> Interior | None:
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
