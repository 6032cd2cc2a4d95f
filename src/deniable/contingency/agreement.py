"""Find the closest tables that agree on all shared marginal distributions, for many tables at once.

Tables agree if and only if certain sums of cells are equal in them. Each sum fixes the categories
of a set of attributes that several tables have. The last category of each attribute is left out.
With the totals, these sums are linearly independent in each table. They are sparse constraints on
the cells, with one variable for each shared sum:

    minimize sum of w_t (p_t - y_t)^2  subject to  A p = B s + b,  p >= 0.

Without the last condition `deniable.contingency.consistency` has a closed form. With it, CLARABEL
finds the cells that are zero. Newton's method then starts from its solution and solves the
Karush-Kuhn-Tucker conditions

    p = max(0, y + A' m / w),  A p = B s + b,  B' m = 0,

It ends when these conditions hold, except for rounding, which proves the optimum.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from deniable.arrays import Counts, Floats
from deniable.contingency.two_step import subsets

Names = tuple[str, ...]
Tables = Mapping[Names, Floats]
Constraints = tuple[sparse.csr_array, sparse.csr_array, Floats]
"""The matrices A and B and the vector b; see `Agreement.constraints`."""

NEWTON_STEPS = 10
CONVERGED, MAX_VIOLATION = 1e-13, 1e-9
"""Largest violations of the optimality conditions, in proportions. The first ends the steps. The
second is accepted as optimal after the last step."""
RIDGE = 1e-9
"""Keeps the equations solvable if all cells of a sum are zero. It does not move the solution."""


@dataclass(frozen=True, eq=False)
class Agreement:
    """Conditions under which several tables agree on the attributes that they share.

    `shapes` maps the attributes of each table to their numbers of categories.
    """

    shapes: Mapping[Names, tuple[int, ...]]

    @cached_property
    def shared(self) -> frozenset[Names]:
        """Sets of attributes, in alphabetical order, that several tables have; none is empty."""
        times = Counter(subset for names in self.shapes for subset in subsets(sorted(names)))
        return frozenset(subset for subset, number in times.items() if number > 1)

    def averaged(self, tables: Tables, precisions: Mapping[Names, float]) -> dict[Names, Floats]:
        """Return the closest tables of total 1 that agree; cells can be negative.

        `tables` are noisy proportions with one axis per attribute. `precisions` are one over the
        variance of a cell of each table, up to a common factor.
        """
        sums: dict[Names, Floats] = {}
        weights: dict[Names, float] = defaultdict(float)
        for names, cells in tables.items():
            for subset in self._own(names):
                effect = _effect(names, cells, subset)
                weight = precisions[names] * effect.size / cells.size
                sums[subset] = sums.get(subset, 0.0) + weight * effect
                weights[subset] += weight
        found = {}
        for names, cells in tables.items():
            moved = cells + (1 - cells.sum()) / cells.size
            for subset in self._own(names):
                change = sums[subset] / weights[subset] - _effect(names, cells, subset)
                own = np.transpose(change, np.argsort([names.index(name) for name in subset]))
                rest = tuple(axis for axis, name in enumerate(names) if name not in subset)
                moved += np.expand_dims(own, rest) * (change.size / cells.size)
            found[names] = moved
        return found

    def _own(self, names: Names) -> list[Names]:
        return [subset for subset in subsets(sorted(names)) if subset in self.shared]

    @cached_property
    def constraints(self) -> Constraints:
        """The matrices A, over the cells of all tables, and B, over shared sums, and the vector b.

        Tables agree, and have the total 1, if A p = B s + b for some s.
        """
        sizes = dict(
            pair for names, shape in self.shapes.items() for pair in zip(names, shape, strict=True)
        )
        numbers = numbered(sorted(self.shared), sizes)
        sums, numbered_sums = [], []
        for names, shape in self.shapes.items():
            rows, own = [sparse.csr_array(np.ones((1, math.prod(shape))))], [np.array([-1])]
            for subset in self._own(names):
                summed: list[Any] = [
                    sparse.eye_array(size - 1, size) if name in subset else np.ones((1, size))
                    for name, size in zip(names, shape, strict=True)
                ]
                at = in_order(numbers, [name for name in names if name in subset])
                rows.append(reduce(sparse.kron, summed).tocsr()[np.argsort(at)])
                own.append(np.sort(at))
            sums.append(sparse.vstack(rows))
            numbered_sums += own
        found = np.concatenate(numbered_sums)
        linked = np.flatnonzero(found >= 0)
        ones = np.ones(linked.size), (linked, found[linked])
        # Tables without common attributes get one shared sum without constraints.
        links = sparse.csr_array(ones, shape=(found.size, max(found.max() + 1, 1)))
        return sparse.block_diag(sums, format="csr"), links, (found < 0).astype(float)


def numbered(sets: Iterable[Names], sizes: Mapping[str, int]) -> dict[Names, Counts]:
    """Number the categories of `sets` of attributes consecutively, without each last category.

    `sizes` has the number of categories of each attribute. Arrays have one axis per attribute.
    """
    found, first = {}, 0
    for names in sets:
        shape = [sizes[name] - 1 for name in names]
        found[names] = first + np.arange(math.prod(shape)).reshape(shape)
        first += found[names].size
    return found


def in_order(numbers: Mapping[Names, Counts], names: Sequence[str]) -> Counts:
    """Return the `numbers` of the set of these `names`, flat; the last name varies fastest."""
    known = tuple(sorted(names))
    return np.asarray(marginal(known, numbers[known], names).reshape(-1))


def marginal(names: Names, cells: Any, subset: Sequence[str]) -> Any:
    """Return the marginal of a table (`names`, `cells`) over a `subset`, with axes in its order."""
    order = [names.index(name) for name in subset]
    others = tuple(axis for axis in range(cells.ndim) if axis not in order)
    kept = sorted(order)
    return np.transpose(cells.sum(axis=others), [kept.index(axis) for axis in order])


def _effect(names: Names, cells: Floats, subset: Names) -> Floats:
    """Return the effect of a subset: its marginal distribution without smaller effects."""
    effect = marginal(names, cells, subset)
    for axis in range(effect.ndim):
        effect = effect - effect.mean(axis=axis, keepdims=True)
    return np.asarray(effect)


def nearest_agreeing(tables: Tables, precisions: Mapping[Names, float]) -> dict[Names, Floats]:
    """Return the closest distributions that agree.

    `tables` and `precisions` are as in `Agreement.averaged`.
    """
    agreement = Agreement({names: cells.shape for names, cells in tables.items()})
    found = agreement.averaged(tables, precisions)
    if min(float(cells.min()) for cells in found.values()) >= 0:
        return found
    observed = np.concatenate([cells.reshape(-1) for cells in tables.values()])
    sizes = [cells.size for cells in tables.values()]
    weights = np.repeat([precisions[names] for names in tables], sizes)
    weights = weights / weights.mean()
    from deniable.contingency import programs  # noqa: PLC0415 - cvxpy takes a second

    start = programs.nearest_cells(observed, weights, agreement.constraints)
    solved = _newton(observed, weights, agreement.constraints, *start)
    pairs = zip(tables.items(), np.split(solved, np.cumsum(sizes)[:-1]), strict=True)
    whole = {names: part.reshape(cells.shape) for (names, cells), part in pairs}
    return _without_negatives(agreement.averaged(whole, precisions))


def _newton(
    observed: Floats,
    weights: Floats,
    constraints: Constraints,
    cells: Floats,
    multipliers: Floats,
    shared: Floats,
) -> Floats:
    """Return optimal cells near a solver's `cells`, or `cells` if no step converges to 1e-9."""
    sums, links, values = constraints
    rows, across = values.size, links.T.tocsr()
    rest, least = -RIDGE * sparse.eye_array(shared.size), MAX_VIOLATION
    for _ in range(NEWTON_STEPS):
        # Cells that are not zero are linear in the multipliers. If all cells of a sum are zero, the
        # equations leave unknowns open; these stay near the previous step.
        zero = observed + (sums.T @ multipliers) / weights <= 0
        scaled = sums * np.where(zero, 0.0, 1 / weights)[None, :]
        inner = scaled @ sums.T + RIDGE * sparse.eye_array(rows)
        system = sparse.block_array([[inner, -links], [-across, rest]]).tocsc()
        aim = values - sums @ np.where(zero, 0.0, observed) + RIDGE * multipliers
        aim = np.concatenate([aim, -RIDGE * shared])
        symmetric = {"SymmetricMode": True}
        factors = splu(system, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.1, options=symmetric)
        solution = factors.solve(aim)
        solution += factors.solve(aim - system @ solution)  # refined once
        multipliers, shared = solution[:rows], solution[rows:]
        found = np.maximum(observed + (sums.T @ multipliers) / weights, 0.0)
        violations = sums @ found - links @ shared - values, across @ multipliers
        violation = max(float(np.abs(each).max()) for each in violations)
        if violation < least:
            cells, least = found, violation
        if least <= CONVERGED:
            break
    return cells


def _without_negatives(tables: dict[Names, Floats]) -> dict[Names, Floats]:
    """Mix all tables with even ones in one proportion, so that they agree and none is negative."""
    share = 0.0
    for cells in tables.values():
        short, even = -float(cells.min()), 1 / cells.size
        if short > 0:
            share = max(share, short / (short + even) * (1 + 1e-9))
    mixed = {names: (1 - share) * cells + share / cells.size for names, cells in tables.items()}
    return {names: np.maximum(cells, 0.0) for names, cells in mixed.items()}
