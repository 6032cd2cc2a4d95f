"""RR-Adjustment: weights of randomized records that meet estimated marginals ([multirr], 5).

Algorithm 2 is raking (iterative proportional fitting) of records. One compiled pass applies the
factor of one attribute and sums the weights by the next attribute.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.arrays import Codes, Floats
from deniable.errors import DeniableError, named_types
from deniable.estimation import rescaled
from deniable.records import Domain, refuse_foreign_codes

TOLERANCE = 1e-6
MAX_SWEEPS = 1000


@dataclass(frozen=True, eq=False)
class Adjustment:
    """Weights of randomized records, and their distance from the targets.

    The `weights`, shape (records,), are at least 0 and sum to 1. They are the estimated joint
    distribution on the records' cells. `sweeps` is the number of passes through all attributes. The
    `gap` is the largest distance between a weighted marginal and its target. Positive targets that
    no record can meet are `unreachable`: positions of attribute and category from 0, and target.
    They are left out, and the other targets of the attribute are rescaled to sum 1.
    """

    weights: Floats
    sweeps: int
    gap: float
    unreachable: tuple[tuple[int, int, float], ...]


@named_types
def adjust(
    columns: Sequence[Codes],
    targets: Sequence[npt.ArrayLike],
    *,
    tolerance: float = TOLERANCE,
    most_sweeps: int = MAX_SWEEPS,
    domains: Sequence[Domain] | None = None,
) -> Adjustment:
    """Weight records so that their marginals meet targets ([multirr], Algorithm 2).

    The weights converge to a distribution on the records' cells, if one with these marginals
    exists. Among such distributions it is the closest to the randomized values in relative entropy.

    `columns`, each of shape (records,), are codes of each attribute, or of the joint cells of each
    cluster. `targets` has for each column an estimated distribution over its categories, on the
    simplex. The sweeps end if no weighted marginal is further than `tolerance`, above 0, from its
    target. After `most_sweeps`, at least 1, they end with a `RuntimeWarning`. With `domains`, the
    attributes of each column, warnings name categories.

    Raises `DeniableError` if columns and targets do not fit, a target is not a distribution, or
    every record has a category with target 0. An unreachable target (see `Adjustment`) gives a
    `RuntimeWarning`.
    """
    from deniable.randomized_response.compiled import rake  # noqa: PLC0415 - numba is slow to import

    codes, wanted = _checked(columns, targets)
    if not tolerance > 0 or most_sweeps < 1:
        raise DeniableError(
            f"tolerance must be above 0 and most_sweeps at least 1, not {tolerance} and "
            f"{most_sweeps}"
        )
    if domains is not None and [d.size for d in domains] != [target.size for target in wanted]:
        raise DeniableError(
            f"domains of {[d.size for d in domains]} cells, but targets for "
            f"{[target.size for target in wanted]}; give the attributes of each column"
        )
    unreachable = _leave_out_unreachable(codes, wanted)
    for number, category, target in unreachable:
        warnings.warn(
            f"{_place(number, category, domains)}: the estimate is {target:.3g}, but no randomized "
            "record with a positive weight has this category; its target is left out and the "
            "others are rescaled",
            RuntimeWarning,
            stacklevel=3,
        )
    most = max(target.size for target in wanted)
    padded = np.stack([np.pad(target, (0, most - target.size)) for target in wanted])
    weights, sweeps, gap = rake(codes, padded, tolerance, most_sweeps)
    weights /= weights.sum()  # for rounding errors only: the last adjustment left the sum 1
    if gap > tolerance:
        warnings.warn(
            f"RR-Adjustment stopped after {sweeps} sweeps, {gap:.2g} away from the target of "
            f"{_farthest(codes, wanted, weights, domains)}: perhaps no weights of these records "
            "meet all targets; allow more sweeps or a larger tolerance",
            RuntimeWarning,
            stacklevel=3,
        )
    return Adjustment(weights, int(sweeps), float(gap), tuple(unreachable))


def weighted_pairs(
    columns: Sequence[Codes], weights: Floats | None, shape: tuple[int, ...]
) -> list[Any]:
    """Return the two-way tables of weighted records, or their counts without `weights`.

    The `columns` are codes of attributes with `shape` categories; `weights` have the shape
    (records,). Pairs are in the order of `itertools.combinations`.
    """
    for number, (column, size) in enumerate(zip(columns, shape, strict=True)):
        refuse_foreign_codes(column, size, f"attribute {number}")
    codes, tables = [column.astype(np.intp) for column in columns], []
    for i, j in combinations(range(len(shape)), 2):
        cells = codes[i] * shape[j] + codes[j]
        counts = np.bincount(cells, weights, minlength=shape[i] * shape[j])
        tables.append(counts.reshape(shape[i], shape[j]))
    return tables


def _checked(
    columns: Sequence[Codes], targets: Sequence[npt.ArrayLike]
) -> tuple[Codes, list[Floats]]:
    if not columns or len(columns) != len(targets):
        problem = f"{len(columns)} columns of codes, but {len(targets)} targets; give one for each"
        raise DeniableError(problem)
    if not (records := len(columns[0])):
        raise DeniableError("there are no records to weight; give at least one")
    wanted = []
    for number, (column, target) in enumerate(zip(columns, targets, strict=True)):
        if np.ndim(column) != 1 or np.ndim(target) != 1:
            raise DeniableError(
                f"column {number} is of shape {np.shape(column)}, its targets of shape "
                f"{np.shape(target)}; give one code per record, and one target per category"
            )
        if len(column) != records:
            raise DeniableError(
                f"column {number} has {len(column)} records, the first {records}; give the same "
                "number"
            )
        wanted.append(rescaled(target, f"the targets of column {number}"))
        refuse_foreign_codes(np.asarray(column), wanted[-1].size, f"column {number}")
    code_type = np.min_scalar_type(max(target.size for target in wanted) - 1)
    return np.stack([np.asarray(column, dtype=code_type) for column in columns]), wanted


def _leave_out_unreachable(codes: Codes, wanted: list[Floats]) -> list[tuple[int, int, float]]:
    """Set targets without records to 0, rescale the others, and return the ones left out.

    A record with a target of 0 in one attribute ends with weight 0, so it cannot meet other
    targets. One pass is enough, because a target without records removes no record from the others.
    """
    dead = np.zeros(codes.shape[1], dtype=bool)
    for column, target in zip(codes, wanted, strict=True):
        if target.min() == 0:
            dead |= target[column] == 0
    if dead.all():
        raise DeniableError(
            "no record can meet the targets: every record has, in some attribute, a category with "
            "estimate 0; estimate from more records, or with less randomization"
        )
    live = codes[:, ~dead] if dead.any() else codes
    left_out = []
    for number, (column, target) in enumerate(zip(live, wanted, strict=True)):
        empty = np.bincount(column, minlength=target.size) == 0
        unmet = np.flatnonzero((target > 0) & empty).tolist()
        left_out += [(number, code, float(target[code])) for code in unmet]
        if unmet:
            target[unmet] = 0.0
            wanted[number] /= target.sum()
    return left_out


def _farthest(
    codes: Codes, wanted: Sequence[Floats], weights: Floats, domains: Sequence[Domain] | None
) -> str:
    """Name the category with the largest distance from its target."""
    gaps = [
        np.abs(np.bincount(column, weights, minlength=target.size) - target)
        for column, target in zip(codes, wanted, strict=True)
    ]
    column = int(np.argmax([gap.max() for gap in gaps]))
    return _place(column, int(gaps[column].argmax()), domains)


def _place(column: int, category: int, domains: Sequence[Domain] | None) -> str:
    if domains is None:
        return f"column {column}, category {category}"
    domain = domains[column]
    return f"{' x '.join(domain.names)}, category {domain.cell_labels()[category]!r}"
