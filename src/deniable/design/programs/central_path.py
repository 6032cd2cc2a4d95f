"""Solve the program of `deniable.design.programs.relaxation` by an interior-point method.

The method stores few staircases, adds others by their prices, and reduces the barrier's weight at
the same time. So there is one path to the optimum, not one for each set of staircases. The
information J has size (size + 1) / 2 entries, so a Newton step over thousands of staircases needs
one factorisation of that size (Woodbury's formula).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from deniable.arrays import Floats, Positions
from deniable.design.programs import relaxation
from deniable.design.programs.interior_point import to_boundary
from deniable.design.programs.losses import InverseVariance, excesses
from deniable.design.programs.relaxation import Program, decomposition, information, members
from deniable.design.programs.requirements import Bounded, Polytope

NEWTON_STEPS = 6  # largest number at one weight and one set of staircases
TAKEN_IN = 256  # staircases added at a time
FIRST_WEIGHT = 0.1  # this proportion of the loss, divided by the number of staircases
DECREASE = 0.15
DUAL_SAFEGUARD = 1e6
MAX_ROUNDS = 60
MAX_PRICES = 26_000_000  # largest number of checked staircases times responses
SOLVED = 2e-7  # relative distance of the bound from the program's value
ROUNDING = 1e-11  # the barrier's proportion of the value at which rounding dominates
NEARLY = 1e-5  # below this proportion, the method ends after
IDLE_ROUNDS = 3  # rounds without a better bound


@dataclass
class _Pairs:
    """Numbers that must stay positive, with their duals; the products are near the weight."""

    primal: Floats
    dual: Floats

    @property
    def ratio(self) -> Floats:
        """Dual divided by primal, the curvature of the barrier."""
        return np.asarray(self.dual / self.primal)

    def answer(self, change: Floats, weight: float) -> Floats:
        """Return the change of the duals for a change of the numbers."""
        return np.asarray(weight / self.primal - self.dual - self.ratio * change)

    def move(self, change: Floats, answer: Floats, weight: float) -> None:
        """Add `change` to the numbers and `answer` to the duals, near the path at `weight`."""
        self.primal = self.primal + change
        central = weight / self.primal
        self.dual = np.clip(self.dual + answer, central / DUAL_SAFEGUARD, central * DUAL_SAFEGUARD)


class CentralPath:
    """Iterates of a `program`: `amounts` theta of the stored staircases, `slacks` b_j - <A_j, P>.

    For the largest cell there are also the `distances` of each cell's variance below a ceiling;
    their duals are the weights w. `weight` is the weight of the barrier. For each amount, `codes`
    has the row of its staircase in `staircases`, and `reports` its response.
    """

    def __init__(
        self,
        program: Program,
        staircases: Floats,
        codes: Positions,
        reports: Positions,
        amounts: Floats,
        slacks: Floats,
    ) -> None:
        self.program, self.codes, self.reports = program, codes, reports
        self._staircases = staircases
        self._features = information(self._staircases[codes], program.loss.proportions)
        self._used = self._requirements(codes, reports)
        cells = self._cells_of(self._features @ amounts)
        loss = float(cells.max() if program.loss.worst else cells.sum())
        self.weight = FIRST_WEIGHT * loss / (amounts.size + slacks.size)
        self.amounts = _Pairs(amounts, self.weight / amounts)
        self.slacks = _Pairs(slacks, self.weight / slacks)
        above = excesses(cells, self.weight) if program.loss.worst else np.zeros(0)
        self._ceiling = float(cells[0] + above[0]) if program.loss.worst else 0.0
        self.distances = _Pairs(above, self.weight / above)
        self._multipliers = np.zeros(len(program.right))

    @classmethod
    def started(cls, program: Program, centre: Floats, others: Sequence[Floats]) -> "CentralPath":
        """Return the start of the path: a decomposed interior matrix, and staircases of others.

        The matrix, `centre`, is in the interior of the `program`; `others` are further matrices.
        """
        found: dict[tuple[int, int], float] = {}
        for v, column in enumerate([centre.sum(axis=1)] if program.merged else centre.T):
            for code, amount in decomposition(column, program.ratio).items():
                found[code, v] = amount
        few = 1e-3 * float(np.mean(list(found.values())))
        for P in others:
            for v, column in enumerate(P.T):
                for code in decomposition(column, program.ratio):
                    found.setdefault((code, 0 if program.merged else v), 0.0)
        codes, reports = (np.array(each, dtype=np.intp) for each in zip(*found, strict=True))
        amounts = np.array(list(found.values())) + few
        inequality = program.inequality
        used = (program.left[inequality] * centre).sum(axis=(1, 2))
        slacks = np.maximum(program.right[inequality] - used, 1e-9)
        staircases = np.where(members(program.size), program.ratio, 1.0)
        return cls(program, staircases, codes, reports, amounts, slacks)

    @classmethod
    def among(cls, program: Program, columns: Floats) -> "CentralPath":
        """Return the path to the best amounts of given `columns`, staircases or not.

        They have the shape (size, columns), and are responses of the `program`.
        """
        lows = columns.min(axis=0)
        amounts = np.maximum(lows, 1e-3 * lows.mean())
        own = np.arange(lows.size)
        return cls(program, (columns / lows).T, own, np.zeros_like(own), amounts, np.zeros(0))

    def value(self) -> float:
        """Return the loss of the iterate, which may violate a requirement by rounding."""
        cells = self._cells_of(self._features @ self.amounts.primal)
        return float(cells.max() if self.program.loss.worst else cells.sum())

    def columns(self) -> Floats:
        """Return the responses of the iterate, shape (size, staircases in use)."""
        codes, places = np.unique(self.codes, return_inverse=True)
        amounts = np.bincount(places, self.amounts.primal)
        return np.asarray((self._staircases[codes] * amounts[:, None]).T)

    def approach(self) -> bool:
        """Take Newton steps until one is (nearly) whole; return False if rounding prevents it."""
        try:
            for _ in range(NEWTON_STEPS):
                if self._step() > 0.9:
                    break
        except np.linalg.LinAlgError:
            return False
        return True

    # For the largest cell the program is "minimise a ceiling t with c_u + d_u = t, d >= 0". These
    # are more rows besides the requirements, and their multipliers are the weights of the cells.

    def _step(self) -> float:
        weight, theta = self.weight, self.amounts
        pull, root, slopes, rises = self._near(self._features @ theta.primal)
        if not np.all(theta.ratio > 0):
            raise np.linalg.LinAlgError("the duals are not numbers")
        half = 1 / np.sqrt(theta.ratio)
        scaled = root.T @ self._features * half
        factor = linalg.cho_factor(np.eye(len(scaled)) + scaled @ scaled.T, check_finite=False)

        def solved(right: Floats) -> Floats:
            own = right * half[:, None]
            own -= scaled.T @ linalg.cho_solve(factor, scaled @ own, check_finite=False)
            return np.asarray(own * half[:, None])

        rows = np.vstack([self._used, slopes])
        answers = solved(np.column_stack([pull, rows.T]))
        multipliers, ceiling = self._multiplied(rows @ answers, rises)
        change = answers[:, 0] - answers[:, 1:] @ multipliers
        self._multipliers = multipliers[: len(self._used)]
        if not np.all(np.isfinite(change)):
            raise np.linalg.LinAlgError("the step has no finite solution")
        changes = [(theta, change)]
        bound = self._multipliers[self.program.inequality], multipliers[len(self._used) :]
        for pairs, own in zip((self.slacks, self.distances), bound, strict=True):
            changes.append((pairs, (weight / pairs.primal - own) / pairs.ratio))
        steps = [(pairs, move, pairs.answer(move, weight)) for pairs, move in changes]
        primal = min(to_boundary(pairs.primal, move) for pairs, move, _ in steps)
        dual = min(to_boundary(pairs.dual, answer) for pairs, _, answer in steps)
        for pairs, move, answer in steps:
            pairs.move(primal * move, dual * answer, weight)
        self._ceiling += primal * ceiling
        return min(primal, dual)

    def _near(self, y: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Return the right side for theta, a root of the Hessian, rows and gaps of cells."""
        loss, barrier = self.program.loss, self.weight / self.amounts.primal
        C = relaxation.inverse_information(y, self.program.size)
        slopes = relaxation.cell_gradients(C)
        if loss.worst:
            gaps = self.distances.primal + np.diagonal(C) - loss.own - self._ceiling
            root = _root(relaxation.weighted_hessian(C, self.distances.dual))
            return barrier, root, slopes @ self._features, gaps
        pull = barrier - self._features.T @ slopes.sum(axis=0)
        root = _root(relaxation.weighted_hessian(C, np.ones(len(C))))
        return pull, root, np.zeros((0, self.codes.size)), np.zeros(0)

    def _multiplied(self, known: Floats, gaps: Floats) -> tuple[Floats, float]:
        """Return the multipliers of requirements and cells, and the change of the ceiling.

        `known`, shape (rows, 1 + rows), has the values of the rows for the step without
        multipliers, and for each multiplier.
        """
        program = self.program
        count = len(program.right)
        missed = np.concatenate([program.right - self._used @ self.amounts.primal, -gaps])
        missed[:count][program.inequality] -= self.slacks.primal
        bound = np.append(np.flatnonzero(program.inequality), np.arange(count, len(known)))
        pairs = (self.slacks, self.distances)
        matrix, right = known[:, 1:].copy(), known[:, 0] - missed
        matrix[bound, bound] += np.concatenate([1 / each.ratio for each in pairs])
        right[bound] += self.weight / np.concatenate([each.dual for each in pairs])
        if not gaps.size:
            return np.linalg.solve(matrix, right), 0.0
        ones = np.zeros(len(right))
        ones[count:] = 1
        bordered = np.block([[matrix, ones[:, None]], [ones, 0.0]])
        solution = np.linalg.solve(bordered, np.append(right, 1.0))
        return solution[:-1], float(solution[-1])

    def _cells_of(self, y: Floats) -> Floats:
        C = relaxation.inverse_information(y, self.program.size)
        return np.asarray(np.diagonal(C) - self.program.loss.own)

    def _requirements(self, codes: Positions, reports: Positions) -> Floats:
        left, s = self.program.left[:, :, reports], self._staircases[codes]
        return np.asarray(np.einsum("jun,nu->jn", left, s, optimize=True))

    def priced(self) -> tuple[float, Floats]:
        """Return the lower bound, and the gain of each staircase minus its price.

        The latter, shape (reports, 2 ** size), is -inf for constant, uninformative staircases.
        """
        program, loss = self.program, self.program.loss
        C = relaxation.inverse_information(self._features @ self.amounts.primal, program.size)
        dual = self.distances.dual
        weights = dual / dual.sum() if loss.worst else np.ones(len(C))
        k = self._multipliers.copy()
        k[program.inequality] = np.maximum(k[program.inequality], 0.0)
        reports = 1 if program.merged else program.size
        prices = np.einsum("j,jun->nu", k, program.left[:, :, :reports])
        s = self._staircases
        gains = np.einsum("su,su->s", s @ ((C * weights) @ C), s) / (s @ loss.proportions)
        excess = gains - prices @ s.T
        excess[:, [0, -1]] = -np.inf
        paid, most = float(k @ program.right), excess.max(axis=0)
        return relaxation.bound_of_prices(loss, C, weights, paid, most, s), excess

    def advance(self, excess: Floats) -> None:
        """Add staircases by their `excess`, from `priced`; reduce the weight if it is small."""
        taken = self._take_in(excess)
        if not taken or excess.max() < 10 * self.weight / self.amounts.primal.max():
            self.weight *= DECREASE

    def _take_in(self, excess: Floats) -> int:
        kept = np.zeros(excess.shape, dtype=bool)
        kept[self.reports, self.codes] = True
        gains = np.where(kept, -np.inf, excess)
        count, staircases = gains.shape
        most = min(max(8, TAKEN_IN // count), staircases - 1)
        codes = np.sort(np.argpartition(gains, staircases - most, axis=1)[:, -most:], axis=1)
        reports = np.broadcast_to(np.arange(count)[:, None], codes.shape)
        gain = gains[reports, codes]
        chosen = gain > 1e-9 * self.amounts.dual.max()
        codes, reports, gain = codes[chosen], reports[chosen], gain[chosen]
        if codes.size:
            amounts = np.minimum(self.weight / gain, np.median(self.amounts.primal))
            self.codes = np.append(self.codes, codes)
            self.reports = np.append(self.reports, reports)
            added = information(self._staircases[codes], self.program.loss.proportions)
            self._features = np.hstack([self._features, added])
            self._used = np.hstack([self._used, self._requirements(codes, reports)])
            self.amounts = _Pairs(
                np.append(self.amounts.primal, amounts),
                np.append(self.amounts.dual, self.weight / amounts),
            )
        return int(codes.size)


def _root(hessian: Floats) -> Floats:
    """Return L with L L' near a matrix that is positive definite up to rounding."""
    ridge = 1e-13 * float(np.trace(hessian)) / len(hessian)
    for _ in range(12):
        try:
            return np.asarray(np.linalg.cholesky(hessian + ridge * np.eye(len(hessian))))
        except np.linalg.LinAlgError:
            ridge *= 10
    return np.diag(np.sqrt(np.maximum(np.diagonal(hessian), 0.0)))


def relax(
    loss: InverseVariance, polytope: Polytope, centre: Floats, others: Sequence[Floats] = ()
) -> Bounded | None:
    """Solve the convex program, and bound the `loss` of every channel in a `polytope`.

    Its epsilon is bounded, and `centre` is a matrix in its interior. The staircases of `others` are
    included first. Returns the best channel found with any number of responses, shape (size,
    reports), and the bound, or None if there are over 16 categories.
    """
    if polytope.size > relaxation.MAX_ENUMERATED:
        return None
    program = Program.of(loss, polytope)
    path = CentralPath.started(program, centre, others)
    best, idle = -np.inf, 0
    prices = 2**polytope.size * (1 if program.merged else polytope.size)
    for _ in range(min(MAX_ROUNDS, max(MAX_PRICES // prices, 1))):
        if not path.approach():
            break
        bound, excess = path.priced()
        idle = 0 if bound > best + SOLVED * abs(best) else idle + 1
        best = max(best, bound)
        value = path.value()
        left = path.weight * path.codes.size / abs(value)
        if abs(value - best) <= SOLVED * abs(value):  # if below, rows do not sum to 1 yet
            break
        if left <= ROUNDING or (left <= NEARLY and idle >= IDLE_ROUNDS):
            break
        path.advance(excess)
    return Bounded(path.columns(), best)
