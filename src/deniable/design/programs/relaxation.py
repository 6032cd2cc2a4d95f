"""The best of all channels with any number of reports: a convex program, and a bound.

**Staircases** are columns of two values, what every channel of bounded epsilon is made of. Let r =
exp(E) bound the ratio of two entries of a column. The column p_v of report v, P[u, v] over u, with
smallest entry m lies in the box [m, r m]^size. The box's vertices are m s with s in {1, r}^size, so
p_v = sum over s of theta[s, v] s with theta >= 0: reports are mixtures of staircases s.

**What n reports tell** of the proportions is n J, with J = sum over v of p_v p_v' / (pi' p_v): by
the formula of Sherman and Morrison the covariance of the estimate by inversion, (1.3) of [pram], is
(J^-1 - pi pi') / n. A symmetric matrix is written here as the vector y of its upper triangle, row
by row, entries off the diagonal times the root of 2: inner products are equal to the inner products
of matrices.

**The program.** The function f(p) = p p' / (pi' p) of a column is homogeneous and convex in the
order of symmetric matrices, because x' f(p) x = (x' p)^2 / (pi' p) is for every x. So f(p_v) is at
most the sum over s of theta[s, v] f(s): splitting a report into its staircases is no less
informative. It also leaves every requirement as it is, since all are linear in P and P is linear in
theta. Hence no channel that meets the requirements loses less than

    minimise  the trace, or the largest diagonal entry, of J^-1  (less pi_u or pi_u^2 each)
    with      J = sum over s and v of theta[s, v] s s' / (pi' s),  theta >= 0,
              P[u, v] = sum over s of theta[s, v] s_u meeting the requirements,

which is convex: theta has an entry for every staircase and report, as if a channel had so many
reports.

**The bound** does not rest on how well that is solved. For any symmetric Y and weights w >= 0 (all
1 for the trace, of sum 1 for the largest), from e' J^-1 e >= 2 e' Y e - e' Y J Y e,

    sum of w_u (J^-1)_uu  >=  2 tr(W Y) - tr(Z J),   Z = Y W Y.

Let the requirements be <A_j, P> <= b_j or = b_j, and k_j numbers, k_j >= 0 for inequalities, such
that no staircase gains more than it pays for any report:

    s' Z s / (pi' s)  <=  n_v' s  for all s and v,   n_v = sum over j of k_j A_j[:, v].

Then tr(Z J) <= sum over v of n_v' p_v = sum over j of k_j <A_j, P> <= k' b for every channel that
meets them. With Y = t C the best t gives the bound tr(W C)^2 / k' b, for any C. Here C is J^-1 of
the program's last iterate and k its multipliers. The multipliers of "row u sums to 1" are shifted
alike until no staircase gains: all are looked at, so that nothing is left to trust but rounding.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from deniable.arrays import Flags, Floats, Positions
from deniable.design.programs.losses import InverseVariance
from deniable.design.programs.requirements import Polytope

MAX_ENUMERATED = 16  # categories up to which all staircases are looked at: 65,536, in some 20 ms


@lru_cache(maxsize=2)
def members(size: int) -> Flags:
    """Return which entries of each staircase are high, shape (2 ** size, size): binary digits."""
    return np.asarray((np.arange(2**size)[:, None] >> np.arange(size)) & 1 == 1)


def decomposition(column: Floats, ratio: float) -> dict[int, float]:
    """Return a positive `column`, with no entry over `ratio` times another, as staircases.

    The result has an amount for each staircase by number: one for each drop in the sorted column,
    high above it. The constant rest is shared by the staircases that are high in one category.
    """
    size = column.size
    order = np.argsort(-column, kind="stable")
    drops = -np.diff(column[order]) / (ratio - 1)
    rest = max(float(column.min() - drops.sum()), 0.0) / (size + ratio - 1)
    found = {1 << u: rest for u in range(size)}
    code = 0
    for u, drop in zip(order[:-1].tolist(), drops.tolist(), strict=True):
        code |= 1 << u
        if drop > 0:
            found[code] = found.get(code, 0.0) + drop
    return found


def information(staircases: Floats, proportions: Floats) -> Floats:
    """Return s s' / (pi' s) for each of the `staircases`, a column of y each; pi: `proportions`."""
    i, j, scale = _triangle(proportions.size)
    shares = staircases @ proportions
    return np.asarray((staircases[:, i] * staircases[:, j] * scale / shares[:, None]).T)


def inverse_information(y: Floats, size: int) -> Floats:
    """Return C = J^-1, of shape (`size`, `size`), with J written as the vector `y`."""
    i, j, scale = _triangle(size)
    J = np.empty((size, size))
    J[i, j] = J[j, i] = y / scale
    return np.asarray(np.linalg.inv(J))


def cell_gradients(C: Floats) -> Floats:
    """Return the gradient of each entry C_uu of `C` over y, shape (size, features)."""
    i, j, scale = _triangle(len(C))
    return -C[:, i] * C[:, j] * scale


def weighted_hessian(C: Floats, weights: Floats) -> Floats:
    """Return the Hessian of the sum of `weights`[u] `C`_uu over y.

    The second derivative along X is 2 tr(Z X C X) with Z = C W C.
    """
    i, j, scale = _triangle(len(C))
    Z = (C * weights) @ C
    terms = C[np.ix_(j, i)] * Z[np.ix_(i, j)]
    terms += C[np.ix_(j, j)] * Z[np.ix_(i, i)]
    terms += C[np.ix_(i, i)] * Z[np.ix_(j, j)]
    terms += C[np.ix_(i, j)] * Z[np.ix_(j, i)]
    terms *= (scale / 4)[:, None] * scale
    return np.asarray(terms + terms.T)


@lru_cache(maxsize=4)
def _triangle(size: int) -> tuple[Positions, Positions, Floats]:
    i, j = np.triu_indices(size)
    return i, j, np.where(i == j, 1.0, np.sqrt(2.0))


@dataclass(frozen=True, eq=False)
class Program:
    """The convex program's data: the `loss`, the `ratio` exp(E), finite, and the requirements.

    `left` holds the A_j, of shape (requirements, size, size), `right`, (requirements,), the b_j.
    `inequality` marks those that are not equations. `merged` is true if no requirement
    distinguishes reports: then one report represents all.
    """

    loss: InverseVariance
    ratio: float
    left: Floats
    right: Floats
    inequality: Flags
    merged: bool

    @classmethod
    def of(cls, loss: InverseVariance, polytope: Polytope) -> "Program":
        """Return the program of a `loss` for the requirements, with epsilon, of a `polytope`."""
        size = polytope.size
        groups = polytope.without("epsilon").groups
        left = np.concatenate([group.left[:, : size**2].toarray() for group in groups])
        right = np.concatenate([group.right for group in groups])
        inequality = np.repeat(
            [not group.equality for group in groups], [len(group.right) for group in groups]
        )
        if any(group.kind == "invariance" for group in groups):
            # The last of these equations follows from the others and from the sums of the rows.
            kept = np.arange(len(right)) != 2 * size - 1
            left, right, inequality = left[kept], right[kept], inequality[kept]
        merged = all(group.kind == "rows" for group in groups)
        return cls(loss, polytope.ratio, left.reshape(-1, size, size), right, inequality, merged)

    @property
    def size(self) -> int:
        """Number of categories."""
        return self.loss.proportions.size
