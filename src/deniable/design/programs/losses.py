"""Losses that a design can minimize, for one record.

All are n times a variance, or a proportion of records, so they do not depend on the number of
records. With P[u, v] = Pr(response v | true u), lambda = P' pi and M the inverse of P:

- estimate by inversion, (1.2) of [pram]: the variance of cell u is sum_v lambda_v M[v, u]^2 -
  pi_u^2 in a population and sum_v lambda_v M[v, u]^2 - pi_u in a file, the diagonals of (1.3) and
  of its last term. It is not convex in P: relabelling the responses does not change it, and the
  mean of all relabellings is singular.
- the responses' own proportions, for an invariant matrix: lambda_v - sum_u pi_u P[u, v]^2 in a
  file, the diagonal of (2.4), and pi_v (1 - pi_v) more in a population, (2.5). It is concave in P,
  and least at one of many vertices of the feasible set.
- proportions of changed records and expected costs: linear in P.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from deniable.arrays import Floats
from deniable.channels import Target

LossName = Literal["trace", "changed", "worst_cell", "distance"]
EstimatorName = Literal["inverse", "reports"]
MAX_CONDITION = 1e12
"""With a larger condition number a matrix is singular, as for `deniable.channels.DenseChannel`."""


@dataclass(frozen=True, eq=False)
class Expansion:
    """A smooth loss near a matrix: its `gradient`, shape (size, size), and `hessian`.

    The Hessian has the entries of P in the order of `P.ravel()`, shape (size * size, size * size).
    Its sum with the `concave` matrix has no negative eigenvalue. If the loss is a smoothed maximum
    of cells, their gradients are the `slopes`, shape (cells, size * size). `above`, shape (cells,),
    has the distance of the ceiling above each cell. `stiffness`, shape (cells,), is the change of a
    cell's weight by a change of the cell relative to the others.
    """

    gradient: Floats
    hessian: Floats
    concave: Floats
    slopes: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    above: Floats = field(default_factory=lambda: np.zeros(0))
    stiffness: Floats = field(default_factory=lambda: np.zeros(0))


@dataclass(frozen=True, eq=False)
class Linear:
    """An expected cost, the sum over u and v of pi_u P[u, v] cost[u, v].

    The `weights` are pi_u cost[u, v]; for the proportion of changed records, pi_u off the diagonal.
    """

    weights: Floats

    def value(self, P: Floats) -> float:
        """Return the expected cost under a matrix `P`, of shape (size, size)."""
        return float(np.sum(self.weights * P))


@dataclass(frozen=True, eq=False)
class Variance(ABC):
    """The variances of the cells' estimates: their sum, or the largest if `worst`.

    The true or expected `proportions`, shape (size,), sum to 1. Sampling adds to the variances if
    `target` is "population", but not if it is "file".
    """

    proportions: Floats
    target: Target
    worst: bool

    @abstractmethod
    def cells(self, P: Floats) -> Floats:
        """Return n times the variance of each cell's estimate under `P`, infinite if singular."""

    def value(self, P: Floats) -> float:
        """Return the trace or the largest variance at `P`; infinite if estimates are impossible."""
        cells = self.cells(P)
        return float(cells.max() if self.worst else cells.sum())


@dataclass(frozen=True, eq=False)
class ReportsVariance(Variance):
    """Variances of the responses' own proportions under an invariant matrix ([pram], (2.4), (2.5)).

    The `proportions`, the `target` and `worst` are as in `Variance`.
    """

    def cells(self, P: Floats) -> Floats:
        pi = self.proportions
        return np.asarray(pi @ P - pi @ P**2 + self.sampling)

    @property
    def sampling(self) -> Floats:
        """The variance from sampling, 0 if the target is the file."""
        pi = self.proportions
        return np.asarray(pi * (1 - pi) if self.target == "population" else np.zeros(pi.size))


@dataclass(frozen=True, eq=False)
class InverseVariance(Variance):
    """Variances of the estimate by inversion ([pram], (1.2) and (1.3)), of one record.

    The `proportions`, the `target` and `worst` are as in `Variance`.
    """

    def cells(self, P: Floats) -> Floats:
        if P.shape[0] != P.shape[1]:  # by the left inverse of least variance
            return np.asarray(np.diagonal(inverse_of_information(P, self.proportions)) - self.own)
        if (M := inverse(P)) is None:
            return np.full(len(P), np.inf)
        return np.asarray((self.proportions @ P) @ M**2 - self.own)

    @property
    def own(self) -> Floats:
        """The numbers subtracted from the diagonal of J^-1 = P'^-1 diag(lambda) P^-1."""
        pi = self.proportions
        return np.asarray(pi**2 if self.target == "population" else pi)

    def scale(self, P: Floats) -> float:
        """Return the part of the loss from randomization by `P`, as a scale of differences."""
        return replace(self, target="file").value(P)

    def smooth(self, P: Floats, sharpness: float) -> float:
        """Return the trace under `P`, or the smoothed largest variance, which is slightly larger.

        The smaller the `sharpness`, above 0, the smaller is the difference.
        """
        cells = self.cells(P)
        if not np.all(np.isfinite(cells)):
            return np.inf
        if not self.worst:
            return float(cells.sum())
        above = excesses(cells, sharpness)
        return float(cells.max() + above.min() - sharpness * np.sum(np.log(above)))

    def expansion(self, P: Floats, sharpness: float, weights: Floats | None = None) -> Expansion:
        """Return gradient and Hessian of the smooth loss at `P`, a matrix that is not singular.

        The `sharpness` is as in `smooth`. `weights` are the cells' weights in the Hessian of a
        smoothed maximum, by default the weights in its gradient.
        """
        if not self.worst:
            return Expansion(*self._weighted(P, np.ones(len(P))))
        above = excesses(self.cells(P), sharpness)
        own = sharpness / above if weights is None else weights
        _, hessian, concave = self._weighted(P, own)
        slopes = self._gradients(P)
        stiffness = own / above
        pull = stiffness @ slopes
        hessian += (slopes.T * stiffness) @ slopes - np.outer(pull, pull) / stiffness.sum()
        gradient = ((sharpness / above) @ slopes).reshape(P.shape)
        return Expansion(gradient, hessian, concave, slopes, above, stiffness)

    # Along P + t D the inverse is M - t M D M + t^2 M D M D M - ..., and lambda is linear in t.
    # The coefficients of t and t^2 of sum_v lambda_v M_v W M_v', with W the diagonal of weights,
    # are the gradient and half the Hessian.

    # The loss is a convex function of the information J, and J is a convex function of P (see
    # `programs.relaxation`). The concave part comes from the second derivative of J.

    def _weighted(self, P: Floats, weights: Floats) -> tuple[Floats, Floats, Floats]:
        """Return gradient, Hessian and its concave part of the sum of weights[u] * cells[u]."""
        pi, size, M = self.proportions, len(P), np.linalg.inv(P)
        scaled = M * weights
        moments = M.T @ ((pi @ P)[:, None] * M)
        products = scaled @ M.T
        squares = np.diagonal(products)
        crossed = moments @ scaled.T
        gradient = np.outer(pi, squares) - 2 * crossed
        # Axes u, v, a, b: the coefficient of D[u, v] D[a, b].
        by_report = M[:, :, None] * products[:, None, :]
        terms = np.multiply.outer(-2 * pi, by_report)
        terms += moments[:, None, :, None] * products[None, :, None, :]
        terms += (2 * M)[None, :, :, None] * crossed[:, None, None, :]
        half = terms.reshape(size * size, size * size)
        return gradient, half + half.T, self._concave(P, (moments * weights) @ moments)

    def _concave(self, P: Floats, Z: Floats) -> Floats:
        pi, size = self.proportions, len(P)
        shares = pi @ P
        # Along a change d of column p: 2 e' Z e / (pi' p) with e = d - p (pi' d) / (pi' p).
        A = np.eye(size) - (P / shares).T[:, :, None] * pi
        blocks = 2 * A.transpose(0, 2, 1) @ Z @ A / shares[:, None, None]
        concave = np.zeros((size, size, size, size))
        reports = np.arange(size)
        concave[:, reports, :, reports] = blocks
        return concave.reshape(size * size, size * size)

    def _gradients(self, P: Floats) -> Floats:
        """Return the gradient of each cell, shape (size, size * size)."""
        pi, M = self.proportions, np.linalg.inv(P)
        moments = M.T @ ((pi @ P)[:, None] * M)
        each = pi[None, :, None] * (M.T**2)[:, None, :]
        each -= 2 * moments[:, :, None] * M.T[:, None, :]
        return np.asarray(each.reshape(len(P), -1))


def excesses(cells: Floats, sharpness: float) -> Floats:
    """Return t - c_u > 0 for numbers c_u, the `cells`: the sum of `sharpness` / (t - c_u) is 1.

    This t minimizes t - sharpness * sum log(t - c_u), and the minimum is the smoothed maximum. It
    is the barrier of "minimize t with c_u <= t" in an interior-point method. The terms of the sum
    are the weights of the c_u in its gradient.
    """
    gaps = cells.max() - cells
    step = sharpness * cells.size
    for _ in range(100):  # Newton on 1 / sum, which is concave and increasing
        above = gaps + step
        total = np.sum(sharpness / above)
        if abs(total - 1) <= 1e-14:
            break
        move = (1 - 1 / total) * total**2 / np.sum(sharpness / above**2)
        step = max(step + move, sharpness)
    return np.asarray(gaps + step)


def inverse_of_information(P: Floats, proportions: Floats) -> Floats:
    """Return J^-1, with J the sum of p_v p_v' / (pi' p_v) over columns; infinite if singular.

    `P` has the columns p_v, and the `proportions` are pi. Orthogonal factors of P' with scaled rows
    do not square the condition number.
    """
    shares = proportions @ P
    _, R = np.linalg.qr((P[:, shares > 0] / np.sqrt(shares[shares > 0])).T)
    M = inverse(R) if R.shape[0] == R.shape[1] else None
    return np.full((len(P), len(P)), np.inf) if M is None else np.asarray(M @ M.T)


Loss = Linear | InverseVariance | ReportsVariance


def inverse(P: Floats) -> Floats | None:
    """Return the inverse of a square matrix `P`, or None if it is singular up to rounding."""
    try:
        M = np.linalg.inv(P)
    except np.linalg.LinAlgError:
        return None
    condition = np.abs(M).sum(axis=0).max() * np.abs(P).sum(axis=0).max()
    return np.asarray(M) if condition <= MAX_CONDITION else None


def loss_of(
    name: LossName,
    proportions: Floats,
    *,
    estimator: EstimatorName = "inverse",
    target: Target = "population",
    costs: Floats | Sequence[Sequence[float]] | None = None,
) -> Loss:
    """Return a loss by its `name`: "trace", "changed", "worst_cell" or "distance".

    The `proportions` have the shape (size,). The `estimator` and the `target` are for "trace" and
    "worst_cell". "distance" has `costs` of the response v if u is true, shape (size, size).
    """
    pi = proportions
    if name == "changed":
        return Linear(pi[:, None] * (1 - np.eye(pi.size)))
    if name == "distance":
        return Linear(pi[:, None] * np.asarray(costs, dtype=float))
    kind = InverseVariance if estimator == "inverse" else ReportsVariance
    return kind(pi, target, name == "worst_cell")
