"""Requirements of a channel, all linear, and the polytope of the channels that meet them.

Points of the polytope are x = (P, h): the entries of the matrix row by row, then, if epsilon is
bounded, a ceiling for each column. With the bound E, h_v >= P[u, v] >= exp(-E) h_v for all u and v
means that entries of a column differ by a factor of at most exp(E).
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy import sparse

from deniable.arrays import Flags, Floats, Sparse
from deniable.channels import MAX_EPSILON
from deniable.errors import DeniableError

if TYPE_CHECKING:
    from deniable.design.programs.linear import Constraints

Floors = float | Sequence[float] | Mapping[int, float]
"""One number for all categories, one for each in order, or numbers for some by position."""


@dataclass(frozen=True, eq=False)
class Cost:
    """Costs of the response v if u is true, and a bound of the expected cost.

    The costs are a `matrix`, shape (size, size), not negative and usually 0 on the diagonal. For
    ordered categories they can be |u - v| ** `power`, with the power in (0, 10]. `at_most` is a
    requirement, the upper bound of the expected cost of a record under the proportions of the
    design. Without it the costs are only used by the loss "distance". Raises `DeniableError` unless
    exactly one of matrix and power is given, and numbers are in range.
    """

    matrix: Sequence[Sequence[float]] | Floats | None = None
    power: float | None = None
    at_most: float | None = None

    def __post_init__(self) -> None:
        if (self.matrix is None) == (self.power is None):
            given = "neither" if self.power is None else "both"
            raise DeniableError(
                f"{given} of matrix and power of the costs given; give a matrix of costs, or a "
                "power of the distance between ordered categories"
            )
        if self.power is not None and not 0 < self.power <= 10:
            raise DeniableError(
                f"the power of the costs is {self.power}; it must be above 0, at most 10"
            )
        if self.at_most is not None and not 0 <= self.at_most < math.inf:
            raise DeniableError(
                f"the bound of the expected cost is {self.at_most}; it must be a number >= 0"
            )

    def costs(self, size: int) -> Floats:
        """Return the costs of `size` categories, shape (size, size)."""
        if self.power is not None:
            places = np.arange(size, dtype=float)
            return np.asarray(np.abs(places[:, None] - places) ** self.power)
        costs = np.asarray(self.matrix, dtype=float)
        if costs.shape != (size, size):
            raise DeniableError(
                f"the matrix of costs has shape {costs.shape}; {size} categories need "
                f"{(size, size)}, a row for each true category"
            )
        if not np.all(np.isfinite(costs)) or np.any(costs < 0):
            u, v = np.argwhere(~(np.isfinite(costs) & (costs >= 0)))[0]
            raise DeniableError(
                f"the cost in row {u}, column {v} is {costs[u, v]}; costs must be numbers >= 0"
            )
        return costs


@dataclass(frozen=True, eq=False)
class Requirements:
    """Requirements of a channel; categories are numbered from 0.

    Raises `DeniableError` if a number is out of range. `deniable.design.design` checks categories.

    Parameters
    ----------
    epsilon : float in [0, 30], optional
        Upper bound of the channel's exact epsilon. If it is 0, responses reveal nothing.
    invariant : bool
        Whether the matrix must keep the proportions, P' pi = pi ([pram], (2.1)).
    retention : float, sequence or mapping, in [0, 1], optional
        Least retention probability of each category: P[v, v] >= r_v.
    change : float, sequence or mapping, in [0, 1], optional
        Least probability of a change of each category: P[v, v] <= 1 - c_v.
    forbidden : pairs (true, reported)
        Transitions that never happen. Their probabilities are exactly 0.
    allowed : mapping from a true category to its allowed responses, optional
        All other responses of that category have the probability 0, except the category itself,
        which only `forbidden` excludes.
    cost : Cost, optional
        Costs of transitions, and the bound of their expectation.
    categories : sequence of str, optional
        Names of the categories, for messages.
    """

    epsilon: float | None = None
    invariant: bool = False
    retention: Floors | None = None
    forbidden: Sequence[tuple[int, int]] = ()
    allowed: Mapping[int, Sequence[int]] | None = None
    cost: Cost | None = None
    change: Floors | None = None
    categories: Sequence[str] | None = None

    def __post_init__(self) -> None:
        if self.epsilon is not None and not 0 <= self.epsilon <= MAX_EPSILON:
            raise DeniableError(
                f"the bound of epsilon is {self.epsilon}; it must be in [0, {MAX_EPSILON:g}]"
            )
        for what, given in (("retention", self.retention), ("change", self.change)):
            values = list(given.values()) if isinstance(given, Mapping) else given
            for value in np.ravel([] if values is None else values).astype(float).tolist():
                if not 0 <= value <= 1:
                    raise DeniableError(
                        f"a {what} of {value} is out of range; it must be in [0, 1]"
                    )

    def floors(self, what: Literal["retention", "change"], size: int) -> Floats:
        """Return the floors `what`, r_v or c_v, of `size` categories; 0 without a floor."""
        given, values = getattr(self, what), np.zeros(size)
        if isinstance(given, Mapping):
            _refuse_unknown(tuple(given), size, what)
            for category, value in given.items():
                values[category] = value
        elif given is not None:
            array = np.asarray(given, dtype=float)
            if array.shape not in ((), (size,)):
                raise DeniableError(
                    f"{what} has {array.size} numbers for {size} categories; give one number for "
                    "all, one per category, or a mapping for some"
                )
            values[:] = array
        return values

    def zeros(self, size: int) -> dict[tuple[int, int], Literal["forbidden", "allowed"]]:
        """Return the excluded transitions, each with "forbidden" or "allowed".

        The transitions are pairs (true, reported) of the `size` categories.
        """
        found: dict[tuple[int, int], Literal["forbidden", "allowed"]] = {}
        for true, listed in (self.allowed or {}).items():
            _refuse_unknown((true, *listed), size, "allowed")
            for reported in set(range(size)) - {true, *listed}:
                found[true, reported] = "allowed"
        for pair in self.forbidden:
            if len(tuple(pair)) != 2:
                raise DeniableError(
                    f"forbidden has {pair!r}; it takes pairs (true category, reported category)"
                )
            _refuse_unknown(pair, size, "forbidden")
            found[pair[0], pair[1]] = "forbidden"
        return found


def _refuse_unknown(categories: Sequence[Any], size: int, what: str) -> None:
    for category in categories:
        whole = isinstance(category, (int, np.integer)) and not isinstance(category, bool)
        if not whole or not 0 <= category < size:
            raise DeniableError(
                f"{what} names the category {category!r}; the {size} categories are numbered "
                f"0 to {size - 1}"
            )


Kind = Literal[
    "rows", "epsilon", "invariance", "cost", "retention", "change", "forbidden", "allowed"
]
"""Kinds of requirements. In a conflict, the last kinds are dropped first."""


@dataclass(frozen=True, eq=False)
class Group:
    """Linear constraints of one requirement.

    The `kind` "rows" means that rows sum to 1, as in any channel. The `categories` are the category
    of a retention or a change, or the pair of a forbidden transition. The `bound` is the required
    epsilon, floor or largest expected cost. `left` @ x, shapes (constraints, variables) and
    (variables,), equals `right` (if `equality`) or is at most `right`.
    """

    kind: Kind
    categories: tuple[int, ...]
    bound: float
    left: Sparse
    right: Floats
    equality: bool = False


@dataclass(frozen=True, eq=False)
class Bounded:
    """The best matrix `P` that was found, and a lower `bound` of the loss of feasible ones."""

    P: Floats
    bound: float


@dataclass(frozen=True, eq=False)
class Polytope:
    """The matrices of `size` categories that meet requirements; no variable is negative.

    The requirements are `groups` of linear constraints. `ratio` is exp(epsilon), or infinity
    without a bound on epsilon; there are then no ceilings.
    """

    size: int
    ratio: float
    groups: tuple[Group, ...]

    @property
    def entries(self) -> int:
        """Number of the matrix's entries, the first variables."""
        return self.size**2

    @property
    def variables(self) -> int:
        """Number of variables."""
        return self.entries + (self.size if math.isfinite(self.ratio) else 0)

    @cached_property
    def constraints(self) -> tuple[Sparse, Floats, Sparse, Floats]:
        """A, b, E and e of A x <= b, E x = e; without x >= 0."""
        found: list[Any] = []
        for equality in (False, True):
            chosen = [group for group in self.groups if group.equality == equality]
            none = sparse.csr_array((0, self.variables))
            found.append(sparse.vstack([none, *(group.left for group in chosen)], format="csr"))
            found.append(np.concatenate([np.zeros(0), *(group.right for group in chosen)]))
        return tuple(found)

    def with_groups(self, groups: Iterable[Group]) -> "Polytope":
        """Return the polytope of other requirements, `groups`, over the same variables."""
        return Polytope(self.size, self.ratio, tuple(groups))

    def without(self, *kinds: Kind) -> "Polytope":
        """Return the polytope of all requirements except some `kinds`, over the same variables."""
        return self.with_groups(group for group in self.groups if group.kind not in kinds)

    def with_ratio(self, ratio: float) -> "Polytope":
        """Return the polytope for another bound on epsilon, the logarithm of `ratio`."""
        bound = Group("epsilon", (), math.log(ratio), *_ratios(self.size, ratio))
        groups = (bound if group.kind == "epsilon" else group for group in self.groups)
        return Polytope(self.size, ratio, tuple(groups))

    @cached_property
    def zeros(self) -> Flags:
        """Flags of entries that are evidently zero in every matrix of the polytope.

        These are excluded transitions, the rest of a row with an entry of 1, and the whole column
        of a zero if epsilon is bounded.
        """
        zero = np.zeros((self.size, self.size), dtype=bool)
        for group in self.groups:
            if group.kind != "epsilon":
                left = group.left[:, : self.entries].toarray()
                idle = (group.right == 0) & np.all(left >= 0, axis=1)
                zero |= np.any(left[idle] > 0, axis=0).reshape(zero.shape)
            if group.kind == "retention" and group.bound == 1:
                zero[group.categories[0], np.arange(self.size) != group.categories[0]] = True
        if any(group.kind == "epsilon" for group in self.groups):
            zero |= zero.any(axis=0)
        return zero

    @property
    def highest(self) -> Floats:
        """Upper bounds of the variables: 0 for evident zeros, otherwise 1."""
        high = np.ones(self.variables)
        high[: self.entries][self.zeros.ravel()] = 0.0
        if any(group.kind == "epsilon" for group in self.groups):
            high[self.entries :] = ~self.zeros.all(axis=0)
        return high

    def contains(self, P: Floats, tolerance: float) -> bool:
        """Return whether `P`, shape (size, size), meets all requirements up to a `tolerance`."""
        if P.min() < -tolerance:
            return False
        for group in self.groups:
            if group.kind == "epsilon":
                if np.any(P.max(axis=0) > self.ratio * P.min(axis=0) * (1 + tolerance)):
                    return False
            else:
                excess = group.left[:, : self.entries] @ P.ravel() - group.right
                if np.max(np.abs(excess) if group.equality else excess) > tolerance:
                    return False
        return True

    def matrix(self, x: Floats) -> Floats:
        """Return the matrix of a point `x`, shape (variables,)."""
        return np.asarray(x[: self.entries].reshape(self.size, self.size))

    def point(self, P: Floats) -> Floats:
        """Return a point of a matrix `P`, which may have another epsilon than the polytope.

        Its ceilings are halfway between their least and largest values.
        """
        if not math.isfinite(self.ratio):
            return np.asarray(P.ravel(), dtype=float)
        lowest, highest = P.max(axis=0), P.min(axis=0) * self.ratio
        ceilings = np.where(highest > lowest, np.sqrt(lowest * highest), lowest)
        return np.concatenate([P.ravel(), ceilings])

    def corner(self, costs: Floats) -> Bounded | None:
        """Return a vertex of least sum of `costs` * P, shape (size, size); None if infeasible."""
        scale = float(np.abs(costs).max()) or 1.0
        objective = np.zeros(self.variables)
        objective[: self.entries] = costs.ravel() / scale
        found = self._above_floors.minimise(self._change.T @ objective, high=self.highest)
        if found is None:
            return None
        x, bound = found
        return Bounded(self.matrix(self._change @ np.maximum(x, 0.0)), bound * scale)

    # The variables of `corner` are the ceilings h_v, and the excess of each entry over the floor of
    # its column, h_v / ratio. So an entry on its floor has an excess of exactly 0, even if
    # exp(-epsilon) is smaller than the solver's tolerance.

    @cached_property
    def _change(self) -> Sparse:
        """The matrix T of x = T y, from these variables to the polytope's."""
        if not math.isfinite(self.ratio):
            return sparse.eye_array(self.entries, format="csr")
        floors = sparse.kron(np.ones((self.size, 1)), sparse.eye_array(self.size)) / self.ratio
        blocks: Any = [
            [sparse.eye_array(self.entries), floors],
            [None, sparse.eye_array(self.size)],
        ]
        return sparse.block_array(blocks, format="csr")

    @cached_property
    def _above_floors(self) -> "Constraints":
        from deniable.design.programs.linear import Constraints  # noqa: PLC0415 - needs an extra

        left, right, equal_left, equal_right = self.without("epsilon").constraints
        left = left @ self._change
        if math.isfinite(self.ratio):
            ceilings = sparse.kron(np.ones((self.size, 1)), sparse.eye_array(self.size))
            below = [sparse.eye_array(self.entries), -(1 - 1 / self.ratio) * ceilings]
            left = sparse.vstack([left, sparse.hstack(below)], format="csr")
            right = np.concatenate([right, np.zeros(self.entries)])
        return Constraints(left, right, equal_left @ self._change, equal_right)


def polytope(proportions: Floats, requirements: Requirements) -> Polytope:
    """Return the polytope of the channels that meet the `requirements`.

    Invariant matrices keep the `proportions`, shape (size,), and expected costs are under them.
    Raises `DeniableError` for unknown categories, or costs of another size.
    """
    epsilon = requirements.epsilon
    ratio = math.inf if epsilon is None else math.exp(epsilon)
    return Polytope(proportions.size, ratio, tuple(_groups(proportions, requirements, ratio)))


def _groups(pi: Floats, requirements: Requirements, ratio: float) -> Iterator[Group]:
    size, epsilon = pi.size, requirements.epsilon
    variables = size**2 + (0 if epsilon is None else size)
    entry = sparse.eye_array(size**2, variables, format="csr")
    rows = sparse.kron(sparse.eye_array(size), np.ones((1, size)), format="csr")
    yield Group("rows", (), 1.0, padded(rows, variables), np.ones(size), equality=True)
    if epsilon is not None:
        yield Group("epsilon", (), epsilon, *_ratios(size, ratio))
    if requirements.invariant:
        columns = sparse.kron(pi[None, :], sparse.eye_array(size), format="csr")
        yield Group("invariance", (), 0.0, padded(columns, variables), pi, equality=True)
    for v, floor in enumerate(requirements.floors("retention", size).tolist()):
        if floor > 0:
            yield Group("retention", (v,), floor, -entry[[v * size + v]], np.array([-floor]))
    for v, floor in enumerate(requirements.floors("change", size).tolist()):
        if floor > 0:
            yield Group("change", (v,), floor, entry[[v * size + v]], np.array([1 - floor]))
    for (u, v), kind in sorted(requirements.zeros(size).items()):
        yield Group(kind, (u, v), 0.0, entry[[u * size + v]], np.zeros(1))
    if requirements.cost is not None and requirements.cost.at_most is not None:
        expected = (pi[:, None] * requirements.cost.costs(size)).reshape(1, -1)
        bound = requirements.cost.at_most
        left = padded(sparse.csr_array(expected), variables)
        yield Group("cost", (), bound, left, np.array([bound]))


def padded(left: Sparse, variables: int) -> Sparse:
    """Return constraints `left` on the first variables as constraints on all `variables`."""
    shape = (left.shape[0], variables)
    return sparse.csr_array((left.data, left.indices, left.indptr), shape=shape)


def _ratios(size: int, ratio: float) -> tuple[Sparse, Floats]:
    """Return the constraints P[u, v] <= h_v and h_v / ratio <= P[u, v]."""
    ceiling = sparse.kron(np.ones((size, 1)), sparse.eye_array(size))
    entry = sparse.eye_array(size**2)
    below = sparse.hstack([entry, -ceiling])
    above = sparse.hstack([-entry, ceiling / ratio])
    return sparse.vstack([below, above], format="csr"), np.zeros(2 * size**2)
