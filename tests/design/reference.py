"""The convex programs of a design, stated with cvxpy from their definitions.

They are references for faster programs of the library:

- `least_linear`: linear losses, `deniable.design.programs.linear`
- `relaxed`: the lower bound of variances by inversion, `deniable.design.programs.relaxation`
- `relaxed_concave`: the lower bound of variances of an invariant matrix's own proportions,
  `deniable.design.programs.concave`
"""

import math
from typing import Any

import cvxpy
import numpy as np

from deniable.arrays import Floats
from deniable.design import Requirements
from deniable.design.programs.losses import InverseVariance, ReportsVariance
from deniable.design.programs.relaxation import members
from deniable.errors import DeniableError

cp: Any = cvxpy  # whose types do not know most of its functions
HIGHS_OPTIONS = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


def least_linear(
    costs: Floats, proportions: Floats, requirements: Requirements
) -> tuple[Floats, float] | None:
    """Minimise the sum of costs * P over the channels that meet the requirements.

    Parameters
    ----------
    costs : array, shape (size, size)
    proportions : array, shape (size,)
    requirements : Requirements

    Returns
    -------
    P and its cost, or None if no channel meets the requirements

    Raises
    ------
    DeniableError
        If the solver gives up.
    """
    size = proportions.size
    P, constraints = _channel(size, requirements)
    constraints += _required(P, proportions, requirements)
    objective = cp.Minimize(cp.sum(cp.multiply(costs, P)))
    problem = cp.Problem(objective, constraints)
    try:
        problem.solve(solver=cp.HIGHS, **HIGHS_OPTIONS)
        status = problem.status
    except (cvxpy.error.SolverError, ValueError):  # it raises either where HiGHS gives up
        status = "given up"
    if status in ("infeasible", "infeasible_or_unbounded", "infeasible_inaccurate"):
        return None
    if status not in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE):
        raise DeniableError(
            f"the linear program of the design was not solved ({status}); round the numbers of "
            "the requirements, or ask for less"
        )
    return np.maximum(P.value, 0.0), float(problem.value)


def _channel(size: int, requirements: Requirements) -> tuple[Any, list[Any]]:
    """Return a matrix whose rows sum to 1 and whose epsilon is bounded."""
    excess = cp.Variable((size, size), nonneg=True)
    if requirements.epsilon is None:
        return excess, [cp.sum(excess, axis=1) == 1]
    # Entries lie between a ceiling for each column and that ceiling divided by exp(epsilon).
    ratio = math.exp(requirements.epsilon)
    ceilings = np.ones((size, 1)) @ cp.Variable((1, size), nonneg=True)
    P = excess + ceilings / ratio
    return P, [cp.sum(P, axis=1) == 1, ceilings >= P]


def _required(P: Any, proportions: Floats, requirements: Requirements) -> list[Any]:
    size = proportions.size
    constraints = [cp.diag(P) >= requirements.floors("retention", size)]
    constraints.append(cp.diag(P) <= 1 - requirements.floors("change", size))
    if requirements.invariant:
        constraints.append(P.T @ proportions == proportions)
    zeros = requirements.zeros(size)
    if zeros:
        where = np.zeros((size, size))
        where[tuple(np.array(list(zeros)).T)] = 1
        constraints.append(cp.multiply(where, P) == 0)
    cost = requirements.cost
    if cost is not None and cost.at_most is not None:
        expected = cp.sum(cp.multiply(proportions[:, None] * cost.costs(size), P))
        constraints.append(expected <= cost.at_most)
    return constraints


def relaxed(loss: InverseVariance, requirements: Requirements) -> float:
    """Return the value of the program of `deniable.design.programs.relaxation`, of few categories.

    Every report is split into all 2 ** size - 2 staircases, and the covariance of the estimate by
    inversion is the inverse of a matrix that is linear in their amounts.

    Parameters
    ----------
    loss : InverseVariance
    requirements : Requirements
        With a finite epsilon.
    """
    proportions = loss.proportions
    size = proportions.size
    staircases = 1 + math.expm1(float(requirements.epsilon or 0.0)) * members(size)[1:-1]
    amounts = cp.Variable((len(staircases), size), nonneg=True)
    P = staircases.T @ amounts
    shares = staircases @ proportions
    total = cp.sum(amounts, axis=1)
    J = (staircases / shares[:, None]).T @ cp.diag(total) @ staircases
    J = (J + J.T) / 2
    cells = [cp.matrix_frac(unit, J) for unit in np.eye(size)]
    variances = cp.hstack(cells) - loss.own
    objective = cp.max(variances) if loss.worst else cp.sum(variances)
    constraints = [cp.sum(P, axis=1) == 1, *_required(P, proportions, requirements)]
    problem = cp.Problem(cp.Minimize(objective), constraints)
    problem.solve(solver=cp.CLARABEL)
    return float(problem.value)


def extreme_entries(proportions: Floats, requirements: Requirements) -> tuple[Floats, Floats]:
    """Return the least and the largest value that each entry of a feasible matrix can have."""
    size = proportions.size
    found = np.zeros((2, size, size))
    for u, v in np.ndindex(size, size):
        costs = np.zeros((size, size))
        costs[u, v] = 1.0
        for end, sign in enumerate((1, -1)):
            solved = least_linear(sign * costs, proportions, requirements)
            assert solved is not None
            found[end, u, v] = sign * solved[1]
    return found[0], found[1]


def relaxed_concave(
    loss: ReportsVariance, requirements: Requirements, low: Floats, high: Floats
) -> float:
    """Return the least loss where the secant of each entry's P - P^2 over a box replaces it.

    The concave function is at least its secant, so that no feasible matrix has a smaller loss.

    Parameters
    ----------
    loss : ReportsVariance
    requirements : Requirements
    low, high : array, shape (size, size)
        The box: it contains all feasible matrices.
    """
    proportions = loss.proportions
    P, constraints = _channel(proportions.size, requirements)
    constraints += [*_required(P, proportions, requirements), low <= P, high >= P]
    secants = cp.multiply(1 - low - high, P) + low * high
    variances = proportions @ secants + loss.sampling
    objective = cp.max(variances) if loss.worst else cp.sum(variances)
    problem = cp.Problem(cp.Minimize(objective), constraints)
    problem.solve(solver=cp.HIGHS, **HIGHS_OPTIONS)
    return float(problem.value)
