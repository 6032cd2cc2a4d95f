"""Solve the convex programs of consistent tables with cvxpy ([rrba], 4.3).

Tables are even + basis @ effects (`deniable.contingency.consistency`), so the only constraints are
non-negative cells. CLARABEL solves quadratic programs, and HiGHS linear ones.
"""

import warnings
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from deniable.arrays import Floats
from deniable.contingency.two_step import positive_totals
from deniable.errors import DeniableError, from_extras

with from_extras():
    import cvxpy

cp: Any = cvxpy  # most of its functions have no types
# Target tolerances, and reduced ones if the target is out of reach (many cells at zero).
OPTIONS = {
    "CLARABEL": {
        "tol_gap_abs": 1e-10,
        "tol_gap_rel": 1e-10,
        "tol_feas": 1e-10,
        "reduced_tol_gap_abs": 1e-6,
        "reduced_tol_gap_rel": 1e-6,
        "reduced_tol_feas": 1e-7,
    },
    "HIGHS": {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
}
TIE = 1e-8  # relative excess over the least absolute misfit for a solution of smallest norm
SLIGHT = 1e-8
"""Weight of unobserved cells. It moves the solution by about the same amount."""
GAMMA = 0.01  # [rrba], 7.3.1
INFEASIBLE = ("infeasible", "infeasible_inaccurate", "infeasible_or_unbounded")


def least_squares(
    even: Floats, basis: sparse.csr_array, observed: Floats, weights: Floats
) -> Floats:
    """Return the effects of the non-negative tables with the least weighted squared misfit.

    For `even` and `basis` see `deniable.contingency.consistency.Layout`. `observed` and `weights`
    have the shape (cells,); unobserved cells have the weight 0.
    """
    effects = cp.Variable(basis.shape[1])
    tables = even + basis @ effects
    seen = np.flatnonzero(weights)
    relative = np.sqrt(weights[seen] / weights.max())
    misfit = cp.sum_squares(cp.multiply(relative, tables[seen] - observed[seen]))
    if seen.size < weights.size:
        # Without this, the misfit would be constant in some directions.
        misfit += SLIGHT * cp.sum_squares(tables[np.flatnonzero(weights == 0)])
    _solve(cp.Problem(cp.Minimize(misfit), [tables >= 0]), "CLARABEL")
    return np.asarray(effects.value)


def nearest_cells(
    observed: Floats,
    weights: Floats,
    constraints: tuple[sparse.csr_array, sparse.csr_array, Floats],
) -> tuple[Floats, Floats, Floats]:
    """Return the non-negative cells with the least weighted squared misfit under agreement.

    The multipliers of the `constraints` and the shared sums are also returned. The program is the
    one of `deniable.contingency.agreement`, with the `Agreement.constraints` A, B and b. The
    `observed` cells and their `weights` have the shape (cells,).
    """
    sums, links, values = constraints
    roots, scale = np.sqrt(weights), observed.size / max(float(np.sum(values)), 1.0)
    # In units of an average cell, so that the solver's tolerances are relative to it.
    cells, shared = cp.Variable(observed.size), cp.Variable(links.shape[1])
    misfit = cp.sum_squares(cells) - 2 * (roots * observed * scale) @ cells
    scaled = (sums / roots[None, :]).tocsr() / scale
    agreement = scaled @ cells - links @ shared == values
    _solve(cp.Problem(cp.Minimize(misfit), [agreement, cells >= 0]), "CLARABEL")
    found = np.maximum(cells.value, 0.0) / roots / scale
    return found, -agreement.dual_value / (2 * scale**2), np.asarray(shared.value)


def least_absolute(
    even: Floats, basis: sparse.csr_array, observed: Floats, weights: Floats
) -> Floats:
    """Return the effects with the least weighted absolute misfit and then the smallest tables.

    If several solutions have the least misfit, the one with the least sum of squares of all cells
    is returned. For `even`, `basis`, `observed` and `weights` see `least_squares`.
    """
    effects = cp.Variable(basis.shape[1])
    tables = even + basis @ effects
    seen = np.flatnonzero(weights)
    misfit = cp.norm1(cp.multiply(weights[seen], tables[seen] - observed[seen]))
    linear = cp.Problem(cp.Minimize(misfit), [tables >= 0])
    _solve(linear, "HIGHS")
    # Per observed cell, so that the scale of the constraint does not grow with the tables.
    allowed = (float(linear.value) * (1 + TIE) + TIE * float(weights[seen].mean())) / seen.size
    smallest = cp.Minimize(cp.sum_squares(tables))
    _solve(cp.Problem(smallest, [tables >= 0, misfit / seen.size <= allowed]), "CLARABEL")
    return np.asarray(effects.value)


def smallest_norm(known: Floats, basis: sparse.csr_array) -> Floats | None:
    """Return the effects that make known + basis @ effects non-negative with least squares.

    `known`, shape (cells,), is the part of the tables with fixed effects; `basis` has the free
    effects. The result is None if all effects leave a negative cell.
    """
    effects = cp.Variable(basis.shape[1])
    tables = known + basis @ effects
    problem = cp.Problem(cp.Minimize(cp.sum_squares(tables)), [tables >= 0])
    return np.asarray(effects.value) if _solve(problem, "CLARABEL", may_fail=True) else None


def nearest_table_by_program(noisy: npt.ArrayLike, total: float, gamma: float = GAMMA) -> Floats:
    """Solve (7) of [rrba] as published for one table, with cvxpy and CLARABEL.

    It is the reference for the closed form. The `noisy` table, shape (cells,), is finite, and its
    `total` positive. `gamma`, in [0, 1], is the weight of the first norm; at 1 the solution is not
    unique. A `DeniableError` is raised for other values, or if the solver fails.
    """
    values = np.asarray(noisy, dtype=float)
    if values.ndim != 1 or not values.size or not np.all(np.isfinite(values)):
        raise DeniableError("the program takes one noisy table of finite numbers")
    if not 0 <= gamma <= 1:
        raise DeniableError(f"gamma is {gamma}; it must be in [0, 1]")
    n = float(positive_totals(total))
    # In units of the total, so that the solver's tolerances are relative.
    share = cp.Variable(values.size, nonneg=True)
    error = share - values / n
    objective = gamma * cp.norm1(error) + (1 - gamma) * n * cp.sum_squares(error)
    problem = cp.Problem(cp.Minimize(objective), [cp.sum(share) == 1])
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-13, tol_gap_rel=1e-13, tol_feas=1e-13)
    if problem.status not in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE):
        raise DeniableError(
            f"the nearest table was not found ({problem.status}); use nearest_tables"
        )
    return np.asarray(n * np.maximum(share.value, 0.0))


def _solve(problem: Any, solver: str, may_fail: bool = False) -> bool:
    status = "failed"
    for options in (OPTIONS[solver], {}):  # the solver's defaults are larger, 1e-8
        with warnings.catch_warnings(), suppress(cp.error.SolverError):
            # An "inaccurate" solution is within the reduced tolerances.
            warnings.filterwarnings("ignore", message="Solution may be inaccurate")
            problem.solve(solver=getattr(cp, solver), **options)
            status = str(problem.status)
            break
    if status in INFEASIBLE and may_fail:
        return False
    if status not in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE):
        raise DeniableError(
            f"{solver} found no consistent tables ({status}); round the tables or change the norm"
        )
    return True
