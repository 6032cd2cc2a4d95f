"""The channels that meet stated requirements: a polytope, since every requirement is linear.

Its points are x = (P, h): the entries of the matrix row by row, then, if epsilon is bounded, a
ceiling for each column. With E the bound, h_v >= P[u, v] >= exp(-E) h_v for all u and v says that
no two entries of a column differ by a factor of more than exp(E).
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from scipy import sparse

from deniable.arrays import Flags, Floats, Sparse
from deniable.design.programs.requirements import Requirements

Kind = Literal[
    "rows", "epsilon", "invariance", "cost", "retention", "change", "forbidden", "allowed"
]
"""Requirements by what they are: those last that are done without first where they conflict."""


@dataclass(frozen=True, eq=False)
class Group:
    """Linear constraints that one requirement amounts to.

    Attributes
    ----------
    kind : str
        "rows" is what makes a matrix a channel: its rows sum to 1.
    categories : tuple of int
        The category of a retention or a change, the pair of a transition that must not happen.
    bound : float
        What is asked for: the epsilon, a floor, the largest expected cost.
    left : sparse array, shape (constraints, variables)
    right : array, shape (constraints,)
    equality : bool
        Whether left @ x equals right, or is at most that.
    """

    kind: Kind
    categories: tuple[int, ...]
    bound: float
    left: Sparse
    right: Floats
    equality: bool = False


@dataclass(frozen=True, eq=False)
class Polytope:
    """The matrices that meet some requirements; besides, no variable is negative.

    Attributes
    ----------
    size : int
        Number of categories.
    ratio : float
        exp(epsilon), or infinity if epsilon is not bounded; there are then no ceilings.
    groups : tuple of Group
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
    def inequalities(self) -> tuple[Sparse, Floats]:
        """A and b of A x <= b, without x >= 0."""
        return self._stacked(equality=False)

    @cached_property
    def equalities(self) -> tuple[Sparse, Floats]:
        """A and b of A x = b."""
        return self._stacked(equality=True)

    def _stacked(self, *, equality: bool) -> tuple[Sparse, Floats]:
        chosen = [group for group in self.groups if group.equality == equality]
        if not chosen:
            return sparse.csr_array((0, self.variables)), np.zeros(0)
        left = sparse.vstack([group.left for group in chosen], format="csr")
        return left, np.concatenate([group.right for group in chosen])

    def with_groups(self, groups: Sequence[Group]) -> "Polytope":
        """Return the polytope of other requirements over the same variables."""
        return Polytope(self.size, self.ratio, tuple(groups))

    def with_ratio(self, ratio: float) -> "Polytope":
        """Return the polytope for another bound on epsilon, the logarithm of `ratio`."""
        groups = tuple(
            Group("epsilon", (), math.log(ratio), *_ratios(self.size, ratio))
            if group.kind == "epsilon"
            else group
            for group in self.groups
        )
        return Polytope(self.size, ratio, groups)

    @cached_property
    def zeros(self) -> Flags:
        """Which entries are zero in every matrix of the polytope, for a reason that can be seen.

        What must be zero by itself, all else in a row of which one entry must be 1, and all reports
        of a category of which one is zero if epsilon is bounded.
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
        """Upper bounds of the variables: 0 for what must be zero, else 1."""
        high = np.ones(self.variables)
        high[: self.entries][self.zeros.ravel()] = 0.0
        if any(group.kind == "epsilon" for group in self.groups):
            high[self.entries :] = ~self.zeros.all(axis=0)
        return high

    def contains(self, P: Floats, tolerance: float) -> bool:
        """Return whether a matrix meets the requirements to a tolerance."""
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
        """Return the matrix of a point."""
        return np.asarray(x[: self.entries].reshape(self.size, self.size))

    def point(self, P: Floats) -> Floats:
        """Return a point of a matrix, its ceilings half way between what they must and may be.

        Parameters
        ----------
        P : array, shape (size, size)
            Of an epsilon that need not be the polytope's.
        """
        if not math.isfinite(self.ratio):
            return np.asarray(P.ravel(), dtype=float)
        lowest, highest = P.max(axis=0), P.min(axis=0) * self.ratio
        ceilings = np.where(highest > lowest, np.sqrt(lowest * highest), lowest)
        return np.concatenate([P.ravel(), ceilings])


def polytope(proportions: Floats, requirements: Requirements) -> Polytope:
    """Return the polytope of the channels that meet the requirements.

    Parameters
    ----------
    proportions : array, shape (size,)
    requirements : Requirements

    Raises
    ------
    DeniableError
        If the requirements name categories that do not exist, or costs of another size.
    """
    size = proportions.size
    bounded = requirements.epsilon is not None
    ratio = math.exp(requirements.epsilon) if requirements.epsilon is not None else math.inf
    builder = _Builder(proportions, size**2 + (size if bounded else 0))
    return Polytope(size, ratio, tuple(builder.groups(requirements, ratio)))


@dataclass(frozen=True, eq=False)
class _Builder:
    proportions: Floats
    variables: int

    @property
    def size(self) -> int:
        return self.proportions.size

    def groups(self, requirements: Requirements, ratio: float) -> Iterator[Group]:
        size, pi = self.size, self.proportions
        entry = sparse.eye_array(size**2, self.variables, format="csr")
        rows = sparse.kron(sparse.eye_array(size), np.ones((1, size)), format="csr")
        yield Group("rows", (), 1.0, padded(rows, self.variables), np.ones(size), equality=True)
        if requirements.epsilon is not None:
            yield Group("epsilon", (), requirements.epsilon, *_ratios(size, ratio))
        if requirements.invariant:
            columns = sparse.kron(pi[None, :], sparse.eye_array(size), format="csr")
            yield Group("invariance", (), 0.0, padded(columns, self.variables), pi, equality=True)
        for v, floor in enumerate(requirements.retention_floors(size).tolist()):
            if floor > 0:
                own = entry[[v * size + v]]
                yield Group("retention", (v,), floor, -own, np.array([-floor]))
        for v, floor in enumerate(requirements.change_floors(size).tolist()):
            if floor > 0:
                own = entry[[v * size + v]]
                yield Group("change", (v,), floor, own, np.array([1 - floor]))
        for (u, v), kind in sorted(requirements.zeros(size).items()):
            which: Kind = "forbidden" if kind == "forbidden" else "allowed"
            yield Group(which, (u, v), 0.0, entry[[u * size + v]], np.zeros(1))
        if requirements.cost is not None and requirements.cost.at_most is not None:
            expected = (pi[:, None] * requirements.cost.costs(size)).reshape(1, -1)
            bound = requirements.cost.at_most
            left = padded(sparse.csr_array(expected), self.variables)
            yield Group("cost", (), bound, left, np.array([bound]))


def padded(left: Sparse, variables: int) -> Sparse:
    """Return constraints on the first variables as constraints on that many, the others free."""
    shape = (left.shape[0], variables)
    return sparse.csr_array((left.data, left.indices, left.indptr), shape=shape)


def _ratios(size: int, ratio: float) -> tuple[Sparse, Floats]:
    """Return P[u, v] <= h_v and h_v / ratio <= P[u, v]."""
    ceiling = sparse.kron(np.ones((size, 1)), sparse.eye_array(size))
    entry = sparse.eye_array(size**2)
    below = sparse.hstack([entry, -ceiling])
    above = sparse.hstack([-entry, ceiling / ratio])
    return sparse.vstack([below, above], format="csr"), np.zeros(2 * size**2)
