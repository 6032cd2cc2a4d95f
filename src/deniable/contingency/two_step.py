"""Estimate tables by two-step maximum likelihood from noisy ones ([rrba], section 6, (7)).

Step one finds the table of counts closest to a noisy one: non-negative, with the stated total. Step
two fits a log-linear model to that table as if it had been observed.

Step one minimizes gamma |T - T'|_1 + (1 - gamma) |T - T'|_2^2. For every gamma < 1 its one solution
is the Euclidean projection on the simplex of that total, so gamma has no effect. Proof: the
projection adds one number to all cells and replaces negative results by 0. If the number is
positive or zero no cell is lowered, and |T - T'|_1 = n - sum T', the least for a table of total n.
If it is negative, cells of T' below 0 are raised to 0, and no other cell is raised. So the sum of
the raises is the least of any non-negative table, and with it, as the total is given, the sum of
the decreases. The projection hence minimizes both norms, the second alone uniquely. For gamma = 1
it is one of several solutions.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats
from deniable.contingency.log_linear import LogLinearModel
from deniable.errors import DeniableError, from_extras
from deniable.estimation import euclidean_projection

GAMMA = 0.01  # [rrba], 7.3.1


@dataclass(frozen=True, eq=False)
class TwoStepEstimate:
    """The nearest `tables` of counts (step one), and the `fitted` counts of the model.

    Both have the shape of the noisy tables, (..., cells).
    """

    tables: Floats
    fitted: Floats


def two_step_estimate(
    noisy: npt.ArrayLike, totals: npt.ArrayLike, model: LogLinearModel
) -> TwoStepEstimate:
    """Return the nearest tables and the model's expected counts ([rrba], section 6).

    Parameters
    ----------
    noisy : finite, shape (..., cells)
    totals : positive, shape (...) or a single number
        The number of records of each table.
    model : LogLinearModel
        The model of step two.

    Examples
    --------
    >>> found = two_step_estimate([6.0, -2.0, 2.0, 2.0], 8, LogLinearModel.independence((2, 2)))
    >>> found.tables.round(2).tolist(), found.fitted.round(2).tolist()
    ([5.33, 0.0, 1.33, 1.33], [4.44, 0.89, 2.22, 0.44])
    """
    tables = nearest_tables(noisy, totals)
    return TwoStepEstimate(tables, model.fit(tables))


def nearest_tables(noisy: npt.ArrayLike, totals: npt.ArrayLike) -> Floats:
    """Return the non-negative tables of given totals closest to noisy ones ([rrba], (7)).

    For `noisy` and `totals` see `two_step_estimate`.

    Examples
    --------
    >>> nearest_tables([6.0, -2.0, 4.0], 8)
    array([5., 0., 3.])
    """
    values = np.asarray(noisy, dtype=float)
    if values.ndim == 0 or not values.shape[-1]:
        raise DeniableError("a noisy table needs at least one cell on the last axis")
    n = np.broadcast_to(_positive(totals), values.shape[:-1])
    # The same number added to all cells: where nothing is negative then, this is the projection.
    shifted = values + ((n - values.sum(axis=-1)) / values.shape[-1])[..., None]
    short = ~(shifted.min(axis=-1) >= 0)  # also where something is not a number
    if np.any(short):
        total = n[short][..., None]
        shifted[short] = total * euclidean_projection(shifted[short] / total)
    return np.asarray(shifted)


def nearest_table_by_program(noisy: npt.ArrayLike, total: float, gamma: float = GAMMA) -> Floats:
    """Solve (7) of [rrba] as published for one table, with cvxpy and CLARABEL.

    It is the reference of the closed form. The `noisy` table, shape (cells,), is finite, and its
    `total` positive. `gamma`, in [0, 1], is the weight of the first norm; at 1 the solution is not
    unique. A `DeniableError` is raised for other values, or if the program is not solved.
    """
    with from_extras():
        import cvxpy  # noqa: PLC0415 - takes a second, and the closed form needs none of it

    cp: Any = cvxpy  # whose types do not know most of its functions

    values = np.asarray(noisy, dtype=float)
    if values.ndim != 1 or not values.size or not np.all(np.isfinite(values)):
        raise DeniableError("the program takes one noisy table of finite numbers")
    if not 0 <= gamma <= 1:
        raise DeniableError(f"gamma is {gamma}; it must be in [0, 1]")
    n = float(_positive(total))
    # In units of the total, so that the solver's tolerances are relative.
    share = cp.Variable(values.size, nonneg=True)
    error = share - values / n
    objective = gamma * cp.norm1(error) + (1 - gamma) * n * cp.sum_squares(error)
    problem = cp.Problem(cp.Minimize(objective), [cp.sum(share) == 1])
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-13, tol_gap_rel=1e-13, tol_feas=1e-13)
    if problem.status not in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE):
        raise DeniableError(f"the program of the nearest table was not solved ({problem.status})")
    return np.asarray(n * np.maximum(share.value, 0.0))


def _positive(totals: npt.ArrayLike) -> Floats:
    n = np.asarray(totals, dtype=float)
    if not np.all(np.isfinite(n)) or np.any(n <= 0):
        raise DeniableError("the totals of tables must be finite and positive; drop empty tables")
    return n
