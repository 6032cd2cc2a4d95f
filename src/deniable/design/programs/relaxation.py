"""The best channel with any number of responses: a convex program, and a lower bound.

**Staircases** are columns of two values. Every channel of bounded epsilon consists of them. Let r =
exp(E) bound the ratio of two entries of a column. The column p_v of response v, P[u, v] over u,
with smallest entry m is in the box [m, r m]^size. The box's vertices are m s with s in {1, r}^size,
so p_v = sum over s of theta[s, v] s with theta >= 0: responses are mixtures of staircases s.

**The information** of n responses about the proportions is n J, with J = sum over v of p_v p_v' /
(pi' p_v). By the formula of Sherman and Morrison the covariance of the estimate by inversion, (1.3)
of [pram], is (J^-1 - pi pi') / n. Here the vector y of a symmetric matrix is its upper triangle,
row by row, with off-diagonal entries times the root of 2. So inner products of vectors are the
inner products of matrices.

**The program.** The function f(p) = p p' / (pi' p) of a column is homogeneous and convex in the
order of symmetric matrices: so is x' f(p) x = (x' p)^2 / (pi' p) for every x. So f(p_v) is at most
the sum over s of theta[s, v] f(s): splitting a response into its staircases does not reduce the
information. It also changes no requirement, because all are linear in P and P is linear in theta.
Hence the loss of every channel that meets the requirements is at least the minimum of

    the trace, or the largest diagonal entry, of J^-1  (less pi_u or pi_u^2 each);
    with J = sum over s and v of theta[s, v] s s' / (pi' s),  theta >= 0;
    and P[u, v] = sum over s of theta[s, v] s_u meeting the requirements.

This program is convex. theta has an entry for every pair of a staircase and a response.

**The bound** does not depend on the quality of the solution. For any symmetric Y and weights w >= 0
(all 1 for the trace, of sum 1 for the largest), from e' J^-1 e >= 2 e' Y e - e' Y J Y e,

    sum of w_u (J^-1)_uu  >=  2 tr(W Y) - tr(Z J),   Z = Y W Y.

Let the requirements be <A_j, P> <= b_j or = b_j. Let k_j be numbers, k_j >= 0 for inequalities,
such that no staircase gains more than it pays, for any response:

    s' Z s / (pi' s)  <=  n_v' s  for all s and v,   n_v = sum over j of k_j A_j[:, v].

Then tr(Z J) <= sum over v of n_v' p_v = sum over j of k_j <A_j, P> <= k' b for every channel that
meets them. With Y = t C the best t gives the bound tr(W C)^2 / k' b, for any C. Here C is J^-1 of
the program's last iterate and k its multipliers. The multipliers of "row u sums to 1" are shifted
equally until no staircase gains. All are checked, so the bound is valid up to rounding.

**The bound from a channel.** With epsilon alone, a staircase pays n' s for any response, with the
prices n of the rows. With C = J^-1 of a channel, it gains the sum over u of w_u (C_u' s)^2 / (pi'
s), which is linear in w. For this C the best bound is therefore a linear program:

    maximise  sum of w_u (2 C_uu - own_u) - sum of n_u
    with      no staircase gaining more than it pays,  w >= 0 of sum 1,  or all w = 1 for the trace.

If the channel's loss is near the least, so is the bound. Staircases are added by their prices. In
the end all are checked, and the largest remaining gain is added to the prices.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import sparse

from deniable.arrays import Flags, Floats, Positions
from deniable.design.programs.linear import Constraints
from deniable.design.programs.losses import InverseVariance, inverse_of_information
from deniable.design.programs.requirements import Polytope
from deniable.errors import DeniableError

MAX_ENUMERATED = 16  # most categories for checking all staircases: 65,536, in some 20 ms
ROUNDS = 30  # of `certified`
STAIRCASES_ADDED = 64  # per round
FAR = 1e6  # times the largest C_uu: the lower bound of prices is minus this
NO_GAIN = 1e-9  # times the largest gain: the error of solvers


@lru_cache(maxsize=2)
def members(size: int) -> Flags:
    """Mark the high entries of each staircase, shape (2 ** size, size), by binary digits."""
    return np.asarray((np.arange(2**size)[:, None] >> np.arange(size)) & 1 == 1)


def decomposition(column: Floats, ratio: float) -> dict[int, float]:
    """Decompose a positive `column`, with no entry over `ratio` times another, into staircases.

    The result maps numbers of staircases to amounts. Each drop in the sorted column gives a
    staircase that is high above it. The constant rest is divided among the staircases high in one
    category.
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
    """Return s s' / (pi' s) for each of the `staircases`, as columns y, with pi = `proportions`."""
    i, j, scale = _triangle(proportions.size)
    shares = staircases @ proportions
    return np.asarray((staircases[:, i] * staircases[:, j] * scale / shares[:, None]).T)


def inverse_information(y: Floats, size: int) -> Floats:
    """Return C = J^-1, shape (`size`, `size`), with J given as the vector `y`."""
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


def bound_of_prices(
    loss: InverseVariance,
    C: Floats,
    weights: Floats,
    paid: float,
    excess: Floats,
    staircases: Floats,
) -> float:
    """Return tr(W C)^2 / k' b for the `weights`, less their own part of the `loss`.

    First the prices of all rows of `C` rise equally until no staircase gains more than it pays.
    `excess` is the gain less the price of each of the `staircases`, and `paid` is k' b before.
    """
    paid += float(np.max(excess / staircases.sum(axis=1))) * len(C)
    if paid <= 0:
        return -np.inf
    return float(weights @ np.diagonal(C)) ** 2 / paid - float(weights @ loss.own)


@lru_cache(maxsize=4)
def _triangle(size: int) -> tuple[Positions, Positions, Floats]:
    i, j = np.triu_indices(size)
    return i, j, np.where(i == j, 1.0, np.sqrt(2.0))


@dataclass(frozen=True, eq=False)
class Program:
    """The convex program's data: the `loss`, the finite `ratio` exp(E), and the requirements.

    `left` has the A_j, shape (requirements, size, size), and `right`, (requirements,), the b_j.
    `inequality` marks the inequalities. `merged` is true if no requirement distinguishes responses;
    then one response represents all.
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
        further = np.argsort(-excess)[:STAIRCASES_ADDED]
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
    x, _ = found
    if not loss.worst:
        return unit * x, np.ones(size)
    weights = np.maximum(x[size:], 0.0)
    return unit * x[:size], weights / weights.sum()
