"""Bound concave losses by secants, and find local minima at vertices by tangents.

The variances of the responses' own proportions, (2.4) of [pram], are sums of pi_u (P - P^2) over
entries P of the invariant matrix. They are concave in each entry. On an interval [l, h] of that
entry P - P^2 is at least its secant, (1 - l - h) P + l h. So a linear program bounds the loss from
below. Tangents at a matrix are above the loss, so a linear program finds a better matrix. Repeated,
it ends at a vertex, which is a local minimum.

The bound follows from the dual variables of the program by weak duality, for any tolerance of
the solver. It is exact for two categories, and mostly loose for more.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from deniable.arrays import Floats
from deniable.design.programs.linear import Constraints
from deniable.design.programs.losses import ReportsVariance
from deniable.design.programs.requirements import Bounded, Polytope, padded

PROPAGATIONS = 30
TANGENT_STEPS = 50


@dataclass(frozen=True, eq=False)
class Concave:
    """Linear programs for a concave `loss` of the invariant matrices of a `polytope`."""

    loss: ReportsVariance
    polytope: Polytope

    @cached_property
    def _program(self) -> Constraints:
        return Constraints(*self.polytope.constraints)

    def _least(
        self, slopes: Floats, constants: Floats, low: Floats, high: Floats
    ) -> Bounded | None:
        """Minimize sum or maximum of <slopes[:, v], P[:, v]> + constants[v], low <= P <= high."""
        inner, size = self.polytope, self.polytope.size
        entries, variables = inner.entries, inner.variables
        lowest, highest = np.zeros(variables), np.ones(variables)
        lowest[:entries], highest[:entries] = low.ravel(), high.ravel()
        if self.loss.worst:  # one more variable, the least ceiling of all cells
            left, right, equal_left, equal_right = inner.constraints
            cells = sparse.kron(np.ones((size, 1)), sparse.eye_array(size))
            each = (sparse.diags_array(slopes.ravel()) @ cells).T
            blocks: Any = [[left, None], [padded(each.tocsr(), variables), -np.ones((size, 1))]]
            reach = float(np.abs(slopes).sum() + np.abs(constants).sum())
            program = Constraints(
                sparse.block_array(blocks, format="csr"),
                np.concatenate([right, -constants]),
                padded(equal_left, variables + 1),
                equal_right,
            )
            objective = np.append(np.zeros(variables), 1.0)
            lowest, highest = np.append(lowest, -reach), np.append(highest, reach)
        else:
            program = self._program
            objective = np.append(slopes.ravel(), np.zeros(variables - entries))
        if (found := program.minimise(objective, lowest, highest)) is None:
            return None
        x, bound = found
        P = np.maximum(inner.matrix(x), 0.0)
        offset = 0.0 if self.loss.worst else float(constants.sum())
        return Bounded(P / P.sum(axis=1, keepdims=True), bound + offset)

    def lowered(self, P: Floats) -> Floats:
        """Return a vertex with at most the loss of `P`, a feasible matrix, by tangents."""
        value = self.loss.value(P)
        zeros, ones = np.zeros_like(P), np.ones_like(P)
        for _ in range(TANGENT_STEPS):
            slopes = self.loss.proportions[:, None] * (1 - 2 * P)
            constants = self.loss.sampling + self.loss.proportions @ P**2
            if (better := self._least(slopes, constants, zeros, ones)) is None:
                break
            lower = self.loss.value(better.P)
            if lower >= value - 1e-12:
                break
            P, value = better.P, lower
        return P

    def bound(self) -> float:
        """Return a lower bound of the loss, from the secants over `box`."""
        low, high = self.box()
        pi = self.loss.proportions[:, None]
        slopes = pi * (1 - low - high)
        constants = self.loss.sampling + np.sum(pi * low * high, axis=0)
        least = self._least(slopes, constants, low, high)
        return 0.0 if least is None else least.bound

    def box(self) -> tuple[Floats, Floats]:
        """Return bounds of each entry from sums of rows, invariance and epsilon."""
        pi, ratio = self.loss.proportions, self.polytope.ratio
        low, high = np.zeros((pi.size, pi.size)), np.ones((pi.size, pi.size))
        if np.isfinite(ratio):  # column v has the mean pi_v; entries differ by at most the ratio
            others = 1 - pi[:, None]
            low = pi / (pi[:, None] + others * ratio)
            high = np.minimum(ratio * pi / (ratio * pi[:, None] + others), 1.0)
        high[self.polytope.zeros] = 0.0
        low[self.polytope.zeros] = 0.0
        for group in self.polytope.groups:
            own = group.categories * 2  # the diagonal entry of one category
            if group.kind == "retention":
                low[own] = group.bound
            elif group.kind == "change":
                high[own] = min(high[own], 1 - group.bound)
        present = pi > 0
        for _ in range(PROPAGATIONS):
            high = np.minimum(high, 1 - low.sum(axis=1, keepdims=True) + low)
            low = np.maximum(low, 1 - high.sum(axis=1, keepdims=True) + high)
            # Column v has the mean pi_v; its other entries bound entry u.
            most = (pi - pi @ low + pi[:, None] * low)[present] / pi[present, None]
            least = (pi - pi @ high + pi[:, None] * high)[present] / pi[present, None]
            high[present] = np.minimum(high[present], most)
            low[present] = np.maximum(low[present], least)
            if np.isfinite(ratio):
                high = np.minimum(high, ratio * high.min(axis=0))
                low = np.maximum(low, low.max(axis=0) / ratio)
        return np.maximum(low - 1e-12, 0.0), np.clip(high + 1e-12, 0.0, 1.0)
