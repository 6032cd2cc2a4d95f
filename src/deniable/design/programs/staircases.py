"""Columns of two values: what every channel of bounded epsilon is made of, and what they tell.

Let r = exp(E) bound the ratio of two entries of a column. The column p_v of report v, P[u, v] over
u, with smallest entry m lies in the box [m, r m]^size. The box's vertices are m s with s in
{1, r}^size, so p_v = sum over s of theta[s, v] s with theta >= 0: reports are mixtures of
staircases s.

What n reports tell of the proportions is n J, with J = sum over v of p_v p_v' / (pi' p_v): by the
formula of Sherman and Morrison the covariance of the estimate by inversion, (1.3) of [pram], is
(J^-1 - pi pi') / n. A symmetric matrix is written here as the vector y of its upper triangle, row
by row, entries off the diagonal times the root of 2: inner products are those of matrices.
"""

from functools import lru_cache

import numpy as np

from deniable.arrays import Flags, Floats, Positions

LARGEST_ENUMERATED = 16
"""Categories up to which all staircases are looked at: 65,536, in some 20 ms."""


@lru_cache(maxsize=2)
def members(size: int) -> Flags:
    """Return which entries of each staircase are high, shape (2 ** size, size): binary digits."""
    codes = np.arange(2**size)
    return np.asarray((codes[:, None] >> np.arange(size)) & 1 == 1)


def decomposition(column: Floats, ratio: float) -> dict[int, float]:
    """Return a column as a mixture of staircases, by their numbers.

    A staircase for each drop in the sorted column, high above it; what is then left is the same
    for all entries, and is shared by the staircases that are high in one.

    Parameters
    ----------
    column : array, shape (size,), positive, no entry over `ratio` times another
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
    """Return s s' / (pi' s) for each staircase, a column of y each."""
    i, j, scale = _triangle(proportions.size)
    shares = staircases @ proportions
    return np.asarray((staircases[:, i] * staircases[:, j] * scale / shares[:, None]).T)


def inverse_information(y: Floats, size: int) -> Floats:
    """Return C = J^-1."""
    i, j, scale = _triangle(size)
    J = np.empty((size, size))
    J[i, j] = J[j, i] = y / scale
    return np.asarray(np.linalg.inv(J))


def cell_gradients(C: Floats) -> Floats:
    """Return the gradient of each C_uu over y, shape (size, features)."""
    i, j, scale = _triangle(len(C))
    return -C[:, i] * C[:, j] * scale


def weighted_hessian(C: Floats, weights: Floats) -> Floats:
    """Return the Hessian of the sum of weights[u] C_uu over y.

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
