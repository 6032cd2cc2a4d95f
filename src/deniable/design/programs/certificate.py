"""Compute a lower bound from any channel alone, by a linear program in the prices.

The bound of `deniable.design.programs.relaxation` holds for any C, weights w and prices n of the
rows. With epsilon alone, a staircase pays n' s for any response. With C = J^-1 of a channel, it
gains the sum over u of w_u (C_u' s)^2 / (pi' s), which is linear in w. For this C the best bound is
therefore

    maximise  sum of w_u (2 C_uu - own_u) - sum of n_u
    with      no staircase gaining more than it pays,  w >= 0 of sum 1,  or all w = 1 for the trace.

If the channel's loss is near the least, so is the bound. Staircases are added by their prices. In
the end all are checked, and the largest remaining gain is added to the prices.
"""

import numpy as np
from scipy import sparse

from deniable.arrays import Floats, Positions
from deniable.design.programs.linear import Constraints
from deniable.design.programs.losses import InverseVariance, inverse_of_information
from deniable.design.programs.relaxation import bound_of_prices, members
from deniable.errors import DeniableError

ROUNDS = 30
TAKEN_IN = 64  # staircases added per round
FAR = 1e6  # times the largest C_uu: the lower bound of prices is minus this
NO_GAIN = 1e-9  # times the largest gain: the error of solvers


def certified(loss: InverseVariance, ratio: float, columns: Floats) -> float:
    """Return a lower bound of the loss of all channels with epsilon of at most ln(ratio).

    The `ratio` is above 1. `columns`, shape (size, reports), is a channel of at most 16 categories.
    The lower its `loss`, the better is the bound.
    """
    C = inverse_of_information(columns, loss.proportions)
    # All staircases except the two constant ones, and their gains from each cell.
    staircases = np.where(members(len(C))[1:-1], ratio, 1.0)
    gains = (staircases @ C) ** 2 / (staircases @ loss.proportions)[:, None]
    chosen, best = _nearest_staircases(columns, ratio), -np.inf
    for _ in range(ROUNDS):
        solution = _solved(loss, np.diagonal(C), staircases[chosen], gains[chosen])
        if solution is None:
            break
        prices, weights = solution
        gained = gains @ weights
        excess = gained - staircases @ prices
        bound = bound_of_prices(loss, C, weights, float(prices.sum()), excess, staircases)
        best = max(best, bound)
        further = np.argsort(-excess)[:TAKEN_IN]
        if excess[further[0]] <= NO_GAIN * gained.max() or np.isin(further, chosen).all():
            break
        chosen = np.union1d(chosen, further)
    return best


def _nearest_staircases(columns: Floats, ratio: float) -> Positions:
    """Return the staircases nearest to columns, and the ones that are high in one category."""
    high = columns > columns.min(axis=0) * (1 + ratio) / 2
    size = len(columns)
    codes = np.union1d(high.T @ (1 << np.arange(size)), 1 << np.arange(size))
    return np.asarray(codes[(codes > 0) & (codes < 2**size - 1)] - 1)


def _solved(
    loss: InverseVariance, cells: Floats, staircases: Floats, gains: Floats
) -> tuple[Floats, Floats] | None:
    """Return the best prices and weights if only these staircases count; `cells` are the C_uu."""
    size, totals, unit = len(cells), gains.sum(axis=1), float(cells.max())
    left, right = -unit * staircases / totals[:, None], -np.ones(len(gains))
    objective, equal, total = np.ones(size), np.zeros((0, size)), np.zeros(0)
    if loss.worst:
        left, right = np.hstack([left, gains / totals[:, None]]), np.zeros(len(gains))
        objective = np.append(objective, (loss.own - 2 * cells) / unit)
        equal, total = np.repeat([[0.0, 1.0]], size, axis=1), np.ones(1)
    low = np.zeros(objective.size)
    low[:size] = -FAR
    program = Constraints(sparse.csr_array(left), right, sparse.csr_array(equal), total)
    try:
        found = program.minimise(objective, low)
    except DeniableError:  # the solver failed; earlier bounds hold
        return None
    if found is None:
        return None
    if not loss.worst:
        return unit * found.x, np.ones(size)
    weights = np.maximum(found.x[size:], 0.0)
    return unit * found.x[:size], weights / weights.sum()
