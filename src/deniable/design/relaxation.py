"""The relaxation behind bounds and starts: what channels with any number of reports could do.

Let E bound epsilon, r = exp(E), and let p_v be the column of report v: P[u, v] over u. It lies in
the cone of vectors none of whose entries is over r times another. That cone is spanned by the
staircases s in {1, r}^size: a column with smallest entry m lies in the box [m, r m]^size, whose
vertices are m s, so p_v = sum over s of theta[s, v] s with theta >= 0.

Two functions of a column are convex and homogeneous, f(c p) = c f(p), hence at most
sum over s of theta[s, v] f(s):

- f(p) = p p' / (pi' p), in the order of symmetric matrices, since x' f(p) x = (x' p)^2 / (pi' p)
  for every x. Its sum over v is J, the information of a report: by the formula of Sherman and
  Morrison the covariance of the estimate by inversion, (1.3) of text 001, is (J^-1 - pi pi') / n.
- f_v(p) = pi_v (sum over u of pi_u p_u^2) / (pi' p). For an invariant matrix pi' p_v = pi_v, so
  that it is the sum over u of pi_u P[u, v]^2, which (2.4) of text 001 subtracts.

Splitting every report into its staircases never raises a loss and meets the same requirements,
which are linear in theta. What remains is convex: to minimise, over theta >= 0 and the
requirements, the trace or largest diagonal entry of J(theta)^-1, or the sum or largest of
pi_v - sum over s of theta[s, v] f_v(s). No channel of `size` reports has a smaller loss.

It is solved by an interior-point method that starts from few staircases and takes in others as
prices ask for them. `Certificate` makes a bound of prices that does not rest on how well it went.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy import linalg

from deniable.channel.base import Floats
from deniable.design.barrier import Indices, to_boundary
from deniable.design.losses import InverseVariance, ReportsVariance, Variance, epigraph
from deniable.design.polytope import Polytope

LARGEST_ENUMERATED = 16
"""Categories up to which all 2^size staircases are priced: 65,536, some 20 ms at a time."""
MOST_ROUNDS = 60
ADDED = 96  # staircases that a round takes in, at most
GAP = 2e-8  # between a bound and the relaxation's value, relative, at which it is solved


@dataclass(frozen=True, eq=False)
class Prices:
    """Weights of the cells, and what a unit of each staircase gains under them.

    Attributes
    ----------
    weights : array, shape (size,)
        w: the loss is at least the sum of w times the cells' variances.
    gains : array, shape (staircases, 1) or (staircases, size)
        By report if it depends on the report.
    unit : float
        tr(W J^-1), for the estimate by inversion.
    """

    weights: Floats
    gains: Floats
    unit: float = 0.0


class Terms(ABC):
    """The part of the relaxation that depends on the loss: a convex function of y = B theta."""

    loss: Variance

    @abstractmethod
    def features(self, staircases: Floats, reports: Indices) -> Floats:
        """Return the columns of B, shape (features, staircases)."""

    @abstractmethod
    def at(self, y: Floats, weight: float) -> tuple[float, Floats, Floats]:
        """Return the loss, its smoothed gradient, and a root L of its Hessian, L L'."""

    @abstractmethod
    def prices(self, y: Floats, weight: float, staircases: Floats) -> Prices:
        """Return the prices of staircases."""

    @abstractmethod
    def bound(self, prices: Prices, paid: float) -> float:
        """Return a lower bound of the loss.

        Parameters
        ----------
        prices : Prices
        paid : float
            What no channel's gains can exceed, in total.
        """

@dataclass(frozen=True, eq=False)
class InformationTerms(Terms):
    """y is J, upper triangle row by row; entries off the diagonal times the root of 2.

    For any symmetric Y and weights w >= 0, from e' J^-1 e >= 2 e' Y e - e' Y J Y e,

        sum of w_u (J^-1)_uu >= 2 tr(W Y) - tr(Z J),   Z = Y W Y.

    If no staircase gains more than it pays, s' Z s / (pi' s) <= n_v' s for all s and v, with n_v
    made of multipliers of the requirements, then tr(Z J) is at most what the requirements pay. Of
    the multiples of Y = C = J0^-1, with J0 the relaxation's own J, the best gives tr(W C)^2 / paid.
    """

    loss: InverseVariance

    def features(self, staircases: Floats, reports: Indices) -> Floats:
        """Return s s' / (pi' s), triangle by triangle."""
        i, j, scale = _triangle(staircases.shape[1])
        shares = staircases @ self.loss.proportions
        return np.asarray((staircases[:, i] * staircases[:, j] * scale / shares[:, None]).T)

    def _inverse(self, y: Floats) -> Floats:
        size = self.loss.proportions.size
        i, j, scale = _triangle(size)
        J = np.empty((size, size))
        J[i, j] = J[j, i] = y / scale
        return np.asarray(np.linalg.inv(J))

    def at(self, y: Floats, weight: float) -> tuple[float, Floats, Floats]:
        """Return value, gradient and a root of the Hessian."""
        C = self._inverse(y)
        i, j, scale = _triangle(len(C))
        value, weights = _weighted(self.loss, np.diagonal(C) - self.loss.own, weight)
        Z = (C * weights) @ C
        # The coefficient of X_ij X_kl in tr(Z X C X), for X symmetric, in terms of y.
        terms = C[np.ix_(j, i)] * Z[np.ix_(i, j)] + C[np.ix_(j, j)] * Z[np.ix_(i, i)]
        terms += C[np.ix_(i, i)] * Z[np.ix_(j, j)] + C[np.ix_(i, j)] * Z[np.ix_(j, i)]
        terms *= scale[:, None] * scale / 4
        hessian = terms + terms.T
        if self.loss.worst:
            each = -C[:, i] * C[:, j] * scale
            hessian += _curvature(each, weights, weight)
        return value, -Z[i, j] * scale, _root(hessian)

    def prices(self, y: Floats, weight: float, staircases: Floats) -> Prices:
        """Return s' Z s / (pi' s) for each staircase."""
        C = self._inverse(y)
        _, weights = _weighted(self.loss, np.diagonal(C) - self.loss.own, weight)
        Z = (C * weights) @ C
        gains = np.einsum("su,su->s", staircases @ Z, staircases)
        gains /= staircases @ self.loss.proportions
        return Prices(weights, gains[:, None], float(weights @ np.diagonal(C)))

    def bound(self, prices: Prices, paid: float) -> float:
        """Return tr(W C)^2 / paid, less what is subtracted from J^-1."""
        if paid <= 0:
            return -np.inf
        return float(prices.unit**2 / paid - prices.weights @ self.loss.own)


@dataclass(frozen=True, eq=False)
class ConcentrationTerms(Terms):
    """y_v is the sum over s of theta[s, v] f_v(s): the variance of cell v is pi_v - y_v."""

    loss: ReportsVariance

    def features(self, staircases: Floats, reports: Indices) -> Floats:
        """Return f_v(s) in the row of report v."""
        rows = np.zeros((self.loss.proportions.size, len(reports)))
        rows[reports, np.arange(len(reports))] = self._gain(staircases) * self.loss.proportions[reports]
        return rows

    def _gain(self, staircases: Floats) -> Floats:
        pi = self.loss.proportions
        return np.asarray((staircases**2 @ pi) / (staircases @ pi))

    def at(self, y: Floats, weight: float) -> tuple[float, Floats, Floats]:
        """Return value, gradient and a root of the Hessian."""
        value, weights = _weighted(self.loss, self._cells(y), weight)
        if not self.loss.worst:
            return value, -weights, np.zeros((y.size, 0))
        return value, -weights, _root(_curvature(-np.eye(y.size), weights, weight))

    def _cells(self, y: Floats) -> Floats:
        return self.loss.proportions + self.loss.sampling - y

    def prices(self, y: Floats, weight: float, staircases: Floats) -> Prices:
        """Return w_v f_v(s) for each staircase and report."""
        _, weights = _weighted(self.loss, self._cells(y), weight)
        return Prices(weights, self._gain(staircases)[:, None] * weights * self.loss.proportions)

    def bound(self, prices: Prices, paid: float) -> float:
        """Return the weighted variances of a matrix whose reports say nothing, less what is paid."""
        return float(prices.weights @ (self.loss.proportions + self.loss.sampling) - paid)


def _weighted(loss: Variance, cells: Floats, weight: float) -> tuple[float, Floats]:
    """Return the loss of cells' variances, and the weights of the cells in its smoothed gradient."""
    if not loss.worst:
        return float(cells.sum()), np.ones(cells.size)
    weights = weight / (epigraph(cells, weight) - cells)
    return float(cells.max()), weights / weights.sum()


def _curvature(each: Floats, weights: Floats, weight: float) -> Floats:
    """Return the Hessian that smoothing the largest adds, from the gradient of each cell in rows."""
    pull = weights**2 @ each
    outer = (each.T * weights**2) @ each - np.outer(pull, pull) / np.sum(weights**2)
    return np.asarray(outer / weight)


def _root(hessian: Floats) -> Floats:
    values, vectors = linalg.eigh(hessian, check_finite=False)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


@lru_cache(maxsize=4)
def _triangle(size: int) -> tuple[Indices, Indices, Floats]:
    i, j = np.triu_indices(size)
    return i, j, np.where(i == j, 1.0, np.sqrt(2.0))


@lru_cache(maxsize=2)
def _members(size: int) -> npt.NDArray[np.bool_]:
    """Return which entries of each staircase are high, shape (2 ** size, size)."""
    codes = np.arange(2**size)
    return (codes[:, None] >> np.arange(size)) & 1 == 1


@dataclass(frozen=True, eq=False)
class Certificate:
    """A lower bound of the loss of every channel that meets the requirements."""
    bound: float


@dataclass(frozen=True, eq=False)
class Relaxation:
    """What the relaxation came to.

    Attributes
    ----------
    bound : float
        A lower bound of the loss of every channel that meets the requirements.
    value : float
        The relaxation's own loss, which is above the bound by what is left to solve.
    columns : array, shape (size, reports)
        Its reports: the columns of a channel with more reports than categories.
    reports : array of int, shape (reports,)
        Which report of a channel of `size` reports each is split off from; all 0 if there are no
        requirements that tell reports apart.
    """

    bound: float
    value: float
    columns: Floats
    reports: Indices


class _Path:
    """The interior-point method's state."""

    def __init__(self, terms, left, right, equality, ratio, merged, centre, starts):
        self.terms, self.ratio, self.merged = terms, ratio, merged
        self.left, self.right, self.equality = left, right, equality
        size = left.shape[1]
        self.size = size
        self.members = _members(size)
        self.staircases = 1 + (ratio - 1) * self.members
        self.labels = np.arange(1 if merged else size)
        self.slack_rows = np.flatnonzero(~equality)
        self.codes = np.zeros(0, dtype=np.intp); self.reports = np.zeros(0, dtype=np.intp)
        self.theta = np.zeros(0)
        shares = {}
        cols = [(0, centre.sum(1))] if merged else list(enumerate(centre.T))
        for v, p in cols:
            for code, amount in decomposition(p, ratio): shares[code, v] = shares.get((code, v), 0) + amount
        mean = np.mean(list(shares.values()))
        for P in starts:
            for v, p in enumerate(P.T):
                for code, amount in decomposition(p, ratio):
                    shares.setdefault((code, 0 if merged else v), 0.0)
        keys = list(shares)
        self.take(np.array([k[0] for k in keys]), np.array([k[1] for k in keys]), np.array([shares[k] for k in keys]) + 1e-3 * mean)
        room = right[self.slack_rows] - (left[self.slack_rows] * centre).sum((1, 2))
        self.slack = np.maximum(room, 1e-9)

    def take(self, codes, reports, theta):
        self.codes = np.append(self.codes, codes); self.reports = np.append(self.reports, reports)
        self.theta = np.append(self.theta, theta)
        S = self.staircases[self.codes]
        self.B = self.terms.features(S, self.reports)
        self.G = np.einsum('jun,nu->jn', self.left[:, :, self.reports], S)

def decomposition(p, ratio):
    size = len(p); order = np.argsort(-p, kind='stable')
    drops = (p[order][:-1] - p[order][1:]) / (ratio - 1)
    code = 0; out = []
    for u, d in zip(order[:-1], drops):
        code |= 1 << int(u)
        if d > 0: out.append((code, d))
    rest = p.min() - drops.sum()
    out += [(1 << u, rest / (size + ratio - 1)) for u in range(size)]
    return out


def relax(terms, polytope, centre, starts, verbose=False):
    import time
    t0 = time.time()
    size = polytope.size
    groups = [g for g in polytope.groups if g.kind != "epsilon"]
    merged = all(g.kind == "rows" for g in groups)
    left = np.concatenate([g.left[:, : size**2].toarray().reshape(-1, size, size) for g in groups])
    right = np.concatenate([g.right for g in groups])
    equality = np.concatenate([np.full(len(g.right), g.equality) for g in groups])
    if any(g.kind == "invariance" for g in groups):
        # one follows from the others
        j = size + size - 1
        left, right, equality = np.delete(left, j, 0), np.delete(right, j), np.delete(equality, j)
    path = _Path(terms, left, right, equality, polytope.ratio, merged, centre, starts)
    y = path.B @ path.theta
    value, _, _ = terms.at(y, 1.0) if not terms.loss.worst else terms.at(y, 1e-3)
    weight = 0.1 * abs(value) / (len(path.theta))
    z = weight / path.theta; zs = weight / path.slack
    best = -np.inf
    rows = path.slack_rows
    newton = 0
    for round_ in range(MOST_ROUNDS):
        for inner in range(6):
            newton += 1
            y = path.B @ path.theta
            value, g, L = terms.at(y, weight)
            D = path.theta / z; Ds = path.slack / zs
            BL = L.T @ path.B
            def solve_(v):
                out = D[:, None] * v if v.ndim == 2 else D * v
                return out - (D * BL).T @ linalg.cho_solve(K, BL @ out) if v.ndim == 1 else out - (D[:, None] * BL.T) @ linalg.cho_solve(K, BL @ out)
            K = linalg.cho_factor(np.eye(L.shape[1]) + (BL * D) @ BL.T)
            r1 = -(path.B.T @ g) + weight / path.theta
            X = solve_(np.column_stack([r1, path.G.T]))
            residual = right - path.G @ path.theta
            residual[rows] -= path.slack
            Sm = path.G @ X[:, 1:]
            rhs = path.G @ X[:, 0] - residual
            Sm[rows, rows] += Ds
            rhs[rows] += Ds * (weight / path.slack)
            kappa = linalg.solve(Sm, rhs, assume_a='pos')
            d = X[:, 0] - X[:, 1:] @ kappa
            ds = Ds * (weight / path.slack - kappa[rows])
            dz = weight / path.theta - z - z / path.theta * d
            dzs = weight / path.slack - zs - zs / path.slack * ds
            a = min(to_boundary(path.theta, d), to_boundary(path.slack, ds) if len(ds) else 1)
            b = min(to_boundary(z, dz), to_boundary(zs, dzs) if len(ds) else 1)
            path.theta = path.theta + a * d; path.slack = path.slack + a * ds
            z = z + b * dz; zs = zs + b * dzs
            z = np.clip(z, weight / (1e6 * path.theta), 1e6 * weight / path.theta)
            if a > .9 and b > .9: break
        kappa[rows] = np.maximum(kappa[rows], 0)
        y = path.B @ path.theta
        value = terms.at(y, weight)[0]
        prices = terms.prices(y, weight, path.staircases[1:-1])
        n = np.einsum('j,juv->uv', kappa, left)[:, path.labels]
        pays = path.staircases[1:-1] @ n
        total = path.staircases[1:-1].sum(1)
        excess = prices.gains - pays
        shift = (excess / total[:, None]).max()
        paid = kappa @ right + shift * size
        bound = terms.bound(prices, paid); best = max(best, bound)
        tol = weight / np.median(path.theta) * .0
        worst = excess.max()
        if verbose: print(round_, len(path.theta), 'w %.2e' % weight, 'value %.6f bound %.6f' % (value, best), 'worst %.2e' % worst, 'newton', newton, round(time.time() - t0, 3))
        if value - best <= GAP * abs(value): break
        # columns
        new = []
        relative = excess / pays.mean()
        for c, v in enumerate(path.labels):
            cand = np.flatnonzero(excess[:, c] > 1e-9 * abs(pays).max())
            cand = cand[np.argsort(-excess[cand, c], kind='stable')][: max(8, ADDED // len(path.labels))]
            new += [(int(code) + 1, int(v)) for code in cand]
        have = set(zip(path.codes.tolist(), path.reports.tolist()))
        new = [x for x in new if x not in have]
        if new:
            th = np.full(len(new), weight / max(np.median(z), 1e-300)) * .1
            th = np.array([weight / max(excess[c - 1, 0 if merged else v], 1e-300) for c, v in new])
            th = np.minimum(th, np.median(path.theta))
            path.take(np.array([x[0] for x in new]), np.array([x[1] for x in new]), th)
            z = np.append(z, weight / th)
        if not new or worst < 10 * weight / path.theta.max() :
            weight *= .15
        # drop
    return Relaxation(best, value, path.staircases[path.codes].T * path.theta, path.reports)
