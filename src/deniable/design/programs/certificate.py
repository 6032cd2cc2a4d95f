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

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from deniable.arrays import Floats, Positions
from deniable.design.programs.linear import Constraints
from deniable.design.programs.losses import InverseVariance, inverse_of_information
from deniable.design.programs.relaxation import members
from deniable.errors import DeniableError

ROUNDS = 30
TAKEN_IN = 64  # staircases added per round
FAR = 1e6  # times the largest C_uu: the lower bound of prices is minus this
NO_GAIN = 1e-9  # times the largest gain: the error of solvers


@dataclass(frozen=True, eq=False)
class _Dual:
    """The linear program of one channel, with `ratio` = exp(epsilon)."""

    loss: InverseVariance
    ratio: float
    columns: Floats

    @cached_property
    def inverse(self) -> Floats:
        """The inverse of the channel's information."""
        return inverse_of_information(self.columns, self.loss.proportions)

    @cached_property
    def staircases(self) -> Floats:
        """All staircases except the two constant ones, shape (staircases, size)."""
        return np.where(members(self.loss.proportions.size)[1:-1], self.ratio, 1.0)

    @cached_property
    def gains(self) -> Floats:
        """The gain of each staircase from each cell, shape (staircases, size)."""
        shares = self.staircases @ self.loss.proportions
        return np.asarray((self.staircases @ self.inverse) ** 2 / shares[:, None])

    def own(self) -> Positions:
        """Return the staircases nearest to columns, and the ones that are high in one category."""
        high = self.columns > self.columns.min(axis=0) * (1 + self.ratio) / 2
        size = len(self.columns)
        codes = np.union1d(high.T @ (1 << np.arange(size)), 1 << np.arange(size))
        return np.asarray(codes[(codes > 0) & (codes < 2**size - 1)] - 1)

    def solved(self, chosen: Positions) -> tuple[Floats, Floats] | None:
        """Return the best prices and weights if only the `chosen` staircases count."""
        size, worst = len(self.columns), self.loss.worst
        s, gains, cells = self.staircases[chosen], self.gains[chosen], np.diagonal(self.inverse)
        totals, unit = gains.sum(axis=1), float(cells.max())
        left, right = -unit * s / totals[:, None], -np.ones(len(s))
        objective, equal, total = np.ones(size), np.zeros((0, size)), np.zeros(0)
        if worst:
            left, right = np.hstack([left, gains / totals[:, None]]), np.zeros(len(s))
            objective = np.append(objective, (self.loss.own - 2 * cells) / unit)
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
        if not worst:
            return unit * found.x, np.ones(size)
        weights = np.maximum(found.x[size:], 0.0)
        return unit * found.x[:size], weights / weights.sum()

    def bound(self, prices: Floats, weights: Floats, excess: Floats) -> float:
        """Return the bound after all prices rise equally until no staircase gains."""
        shift = float(np.max(excess / self.staircases.sum(axis=1)))
        paid = float(prices.sum()) + shift * prices.size
        if paid <= 0:
            return -np.inf
        own = float(weights @ self.loss.own)
        return float(weights @ np.diagonal(self.inverse)) ** 2 / paid - own


def certified(loss: InverseVariance, ratio: float, columns: Floats) -> float:
    """Return a lower bound of the loss of all channels with epsilon of at most ln(ratio).

    The `ratio` is above 1. `columns`, shape (size, reports), is a channel of at most 16 categories.
    The lower its `loss`, the better is the bound.
    """
    dual = _Dual(loss, ratio, columns)
    chosen, best = dual.own(), -np.inf
    for _ in range(ROUNDS):
        if (solution := dual.solved(chosen)) is None:
            break
        prices, weights = solution
        gains = dual.gains @ weights
        excess = gains - dual.staircases @ prices
        best = max(best, dual.bound(prices, weights, excess))
        further = np.argsort(-excess)[:TAKEN_IN]
        if excess[further[0]] <= NO_GAIN * gains.max() or np.isin(further, chosen).all():
            break
        chosen = np.union1d(chosen, further)
    return best
