"""Linear programs by HiGHS, with bounds that do not rest on its tolerances.

HiGHS is called directly rather than through cvxpy or SciPy: a search solves hundreds of programs
over the same constraints, each a matter of few steps from where the last one ended.
"""

from dataclasses import dataclass
from typing import Any

import highspy
import numpy as np
from scipy import sparse

from deniable.arrays import Sparse
from deniable.channels import Floats
from deniable.errors import DeniableError

Highs: Any = highspy.Highs  # whose methods have no types
TOLERANCE = 1e-10  # the tightest that HiGHS takes
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
