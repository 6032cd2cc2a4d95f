"""Linear programs by HiGHS, with bounds that do not rest on its tolerances."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import optimize

from deniable.channel.base import Floats
from deniable.errors import DeniableError

Sparse = Any
"""A sparse array of SciPy, whose types do not say what can be done with it."""

TOLERANCE = 1e-10  # the tightest that HiGHS takes
INFEASIBLE = 2


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


def minimise(
    objective: Floats,
    left: Sparse,
    right: Floats,
    equal_left: Sparse,
    equal_right: Floats,
    low: Floats | None = None,
    high: Floats | None = None,
) -> Solution | None:
    """Minimise objective @ x over low <= x <= high under inequalities and equations.

    left @ x <= right and equal_left @ x = equal_right.

    Parameters
    ----------
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
    found: Any = optimize.linprog(  # type: ignore[call-overload]
        objective,
        left,
        right,
        equal_left,
        equal_right,
        np.column_stack([lowest, highest]),
        method="highs-ds",
        options={
            "primal_feasibility_tolerance": TOLERANCE,
            "dual_feasibility_tolerance": TOLERANCE,
        },
    )
    if found.status == INFEASIBLE:
        return None
    if found.status != 0:
        raise DeniableError(
            f"a linear program of the design was not solved ({found.message.strip()}); round the "
            "numbers of the requirements, or ask for less"
        )
    duals, multipliers = np.minimum(found.ineqlin.marginals, 0.0), found.eqlin.marginals
    reduced = objective - left.T @ duals - equal_left.T @ multipliers
    own = np.where(reduced > 0, reduced * lowest, 0.0)
    own[reduced < 0] = reduced[reduced < 0] * highest[reduced < 0]
    bound = float(right @ duals + equal_right @ multipliers + own.sum())
    return Solution(np.asarray(found.x), float(found.fun), bound, np.abs(duals))
