"""Solve linear programs by HiGHS, with bounds that do not depend on its tolerances.

HiGHS is called directly, not through cvxpy or SciPy, because a search solves hundreds of programs
over the same constraints, each a few steps from the last solution.
"""

from typing import Any

import numpy as np
from scipy import sparse

from deniable.arrays import Floats, Sparse
from deniable.errors import DeniableError, from_extras

with from_extras():
    import highspy

Highs: Any = highspy.Highs  # its methods have no types
TOLERANCE = 1e-10  # the smallest that HiGHS accepts
OPTIONS = {
    "output_flag": False,
    "threads": 1,
    "presolve": "off",
    "primal_feasibility_tolerance": TOLERANCE,
    "dual_feasibility_tolerance": TOLERANCE,
}
INFEASIBLE = highspy.HighsModelStatus.kInfeasible
OPTIMAL = highspy.HighsModelStatus.kOptimal


class Constraints:
    """Constraints A x <= b and E x = e, under which linear functions are minimized in turn.

    A (`left`) and E (`equal_left`) are sparse arrays, shapes (inequalities, variables) and
    (equations, variables); b and e are `right` and `equal_right`.
    """

    def __init__(
        self, left: Sparse, right: Floats, equal_left: Sparse, equal_right: Floats
    ) -> None:
        rows = self._rows = sparse.csr_array(sparse.vstack([left, equal_left], format="csr"))
        self._limits, self._inequalities = np.concatenate([right, equal_right]), len(right)
        model = highspy.HighsLp()
        model.num_row_, model.num_col_ = rows.shape
        nothing = np.zeros(model.num_col_)
        model.col_cost_, model.col_lower_, model.col_upper_ = nothing, nothing, nothing
        model.row_lower_ = np.concatenate([np.full(len(right), -np.inf), equal_right])
        model.row_upper_ = self._limits
        model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        model.a_matrix_.start_ = rows.indptr.astype(np.int32)
        model.a_matrix_.index_ = rows.indices.astype(np.int32)
        model.a_matrix_.value_ = rows.data.astype(float)
        self._solver = Highs()
        for option, value in OPTIONS.items():
            self._solver.setOptionValue(option, value)
        self._solver.passModel(model)

    def minimise(
        self, objective: Floats, low: Floats | None = None, high: Floats | None = None
    ) -> tuple[Floats, float] | None:
        """Minimize `objective` @ x over `low` <= x <= `high`, by default 0 and no limit.

        All three have the shape (variables,). Returns the x of least value and a lower bound of all
        values, or None if no x is feasible. The bound holds by weak duality. The dual variables are
        clipped to their signs, and the rest of the objective is counted at the variables' own
        bounds. Raises `DeniableError` if the solver fails.
        """
        lowest = np.zeros(objective.size) if low is None else low
        highest = np.full(objective.size, np.inf) if high is None else high
        if np.any(lowest > highest):
            return None
        everything = np.arange(objective.size, dtype=np.int32)
        self._solver.changeColsCost(objective.size, everything, objective)
        self._solver.changeColsBounds(objective.size, everything, lowest, highest)
        self._solver.run()
        status = self._solver.getModelStatus()
        if status not in (OPTIMAL, INFEASIBLE):  # start again without the last solution
            self._solver.clearSolver()
            self._solver.setOptionValue("presolve", "on")
            self._solver.run()
            status = self._solver.getModelStatus()
            self._solver.setOptionValue("presolve", "off")
        if status == INFEASIBLE:
            return None
        if status != OPTIMAL:
            raise DeniableError(
                "a linear program of the design was not solved "
                f"({self._solver.modelStatusToString(status)}); round the numbers of the "
                "requirements, or relax them"
            )
        found = self._solver.getSolution()
        x, prices = np.array(found.col_value), np.array(found.row_dual)
        prices[: self._inequalities] = np.minimum(prices[: self._inequalities], 0.0)
        reduced = objective - self._rows.T @ prices
        own = np.where(reduced > 0, reduced * lowest, 0.0)
        own[reduced < 0] = reduced[reduced < 0] * highest[reduced < 0]
        return x, float(self._limits @ prices + own.sum())
