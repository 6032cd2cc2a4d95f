"""Turn a solver's matrix into one that meets its requirements exactly, or up to rounding.

A solver meets constraints to some 1e-9. Here the binding constraints are found in its matrix and
then solved as equations. Entries on the floor and the ceiling of a column then differ by exactly
the ratio, zeros are exactly 0.0, and rows sum to 1 to about the last digit. Epsilon and the floors
of retention are claimed without a tolerance. They are checked in exact fractions on the matrix that
is drawn. A reserve of a few units of rounding grows until the claim holds. If the requirements
leave no room for it, epsilon has priority, and a floor is missed by rounding.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from deniable.arrays import Floats, Positions
from deniable.channels import DenseChannel
from deniable.design.programs import Polytope, Requirements, polytope
from deniable.errors import DeniableError

BINDING = (1e-6, 1e-5, 1e-7, 1e-4, 1e-8)
"""Relative slacks below which a constraint counts as binding; they are tried in turn."""
ABSOLUTE = 1e-10  # solvers' error of an entry that is on its floor
SOLVED = 1e-12
MARGINS = (0.0, *(4.0**power * 1e-15 for power in range(12)))
BEYOND_MARGINS = 1e-11  # larger violations are not due to rounding
MAX_VIOLATION = 1e-9


@dataclass(frozen=True, eq=False)
class Exact:
    """A matrix `P` that was made exact, and its `violations` (see the function `violations`)."""

    P: Floats
    violations: Mapping[str, float]

    @property
    def worst(self) -> float:
        """The largest violation."""
        return max(self.violations.values())

    @property
    def rank(self) -> tuple[bool, float]:
        """Sort key of matrices: first those with valid claims, then by small violations."""
        missed = any(self.violations.get(claim, 0.0) > 0 for claim in ("epsilon", "retention"))
        return missed, self.worst


def exact_matrix(P: Floats, proportions: Floats, requirements: Requirements) -> Exact:
    """Return an exact matrix near a solver's matrix, which meets the requirements to some 1e-7.

    The solver's matrix is `P`, shape (size, size), for `requirements` at `proportions`, shape
    (size,). Raises `DeniableError` if no matrix near it meets them to 1e-9.
    """
    best: Exact | None = None
    wanted = polytope(proportions, requirements)
    for binding in BINDING:
        for margin in MARGINS:
            if (repaired := _solved(P, wanted, binding, margin)) is None:
                break
            found = Exact(repaired, violations(repaired, proportions, requirements))
            if best is None or found.rank < best.rank:
                best = found
            if found.rank <= (False, SOLVED):
                return found
            if found.worst > BEYOND_MARGINS:
                break
    if best is not None and best.violations.get("epsilon", 0.0) > 0:
        best = _with_smaller_epsilon(best.P, proportions, requirements)
    if best is None or best.worst > MAX_VIOLATION:
        raise DeniableError(
            "no matrix near the solver's meets the requirements within "
            f"{MAX_VIOLATION:g}; give them with fewer digits, or relax one by 1e-6"
        )
    return best


def exact_reports(P: Floats, proportions: Floats, requirements: Requirements) -> Exact:
    """Return a channel with exact epsilon near a solver's, with any number of responses.

    `P`, shape (size, reports), is positive and has rows of sum 1 to some 1e-9. The `requirements`
    are an epsilon alone, and the `proportions` have the shape (size,). Each column keeps its shape;
    its floor and its ceiling then differ by exactly the ratio. The least change of the columns'
    amounts makes rows sum to 1. Raises `DeniableError` if no channel near it meets the epsilon.
    """
    ratio = math.exp(requirements.epsilon or 0.0)
    lows = P.min(axis=0)
    for margin in MARGINS:
        ceiling = ratio * (1 - margin)
        shapes = np.minimum(P / lows, ceiling)
        shapes[shapes >= ceiling * (1 - BINDING[0])] = ceiling
        shapes[shapes <= 1 + BINDING[0]] = 1.0
        amounts = lows.copy()
        for _ in range(3):
            step, *_ = np.linalg.lstsq(shapes * amounts, 1 - shapes @ amounts, rcond=1e-14)
            amounts *= 1 + step
        if not np.all(amounts > 0):
            break
        made = shapes * amounts
        made /= made.sum(axis=1, keepdims=True)
        found = Exact(made, violations(made, proportions, requirements))
        if found.rank <= (False, SOLVED):
            return found
    raise DeniableError(
        "no channel near the solver's has the required epsilon; request a square channel"
    )


def _with_smaller_epsilon(
    P: Floats, proportions: Floats, requirements: Requirements
) -> Exact | None:
    """Return P mixed with the least proportion of its mean row for which epsilon holds.

    A floor of retention, or a bound of costs, is then missed by that proportion at most.
    """
    idle = np.tile(proportions @ P, (len(P), 1))
    for share in MARGINS[1:]:
        mixed = (1 - share) * P + share * idle
        mixed = mixed / mixed.sum(axis=1, keepdims=True)
        found = Exact(mixed, violations(mixed, proportions, requirements))
        if found.violations["epsilon"] == 0:
            return found
    return None


def violations(P: Floats, proportions: Floats, requirements: Requirements) -> dict[str, float]:
    """Return the violation of each requirement, from the matrix alone.

    The solver and its constraints are not used. Epsilon is exact for the matrix that is drawn; the
    rest follows from the definitions. The matrix `P` has the shape (size, size) or (size, reports).
    The `proportions`, (size,), and the `requirements` are the ones of the design. The result has
    ``rows`` (difference of their sums from 1) and, if required, ``epsilon``, ``invariance``,
    ``retention``, ``change``, ``forbidden``, ``allowed``, ``cost``; 0 if met.
    """
    size, own = len(P), np.diagonal(P)
    found = {"rows": float(np.max(np.abs(P.sum(axis=1) - 1)))}
    if requirements.epsilon is not None:
        found["epsilon"] = max(DenseChannel(P).epsilon - requirements.epsilon, 0.0)
    if requirements.invariant:
        found["invariance"] = float(np.max(np.abs(proportions @ P - proportions)))
    if (floors := requirements.floors("retention", size)).any():
        found["retention"] = max(_shortfall(P[v], v, floors[v]) for v in range(size))
    if (changes := requirements.floors("change", size)).any():
        found["change"] = float(np.max(np.maximum(changes - (1 - own), 0.0)))
    for (u, v), kind in requirements.zeros(size).items():
        found[kind] = max(found.get(kind, 0.0), float(P[u, v]))
    cost = requirements.cost
    if cost is not None and cost.at_most is not None:
        expected = float(proportions @ np.sum(P * cost.costs(size), axis=1))
        found["cost"] = max(expected - cost.at_most, 0.0)
    return found


def _shortfall(row: Floats, category: int, floor: float) -> float:
    """Return the amount by which a row, drawn in its exact proportions, misses a floor."""
    if row[category] > floor + 1e-12 or floor == 0:
        return 0.0
    total = sum(map(Fraction, row.tolist()), Fraction())
    return max(float(Fraction(floor) - Fraction(float(row[category])) / total), 0.0)


def _solved(P: Floats, wanted: Polytope, binding: float, margin: float) -> Floats | None:
    """Return the matrix with binding constraints solved as equations, or None."""
    unknown, factors = _pattern(P, wanted, binding, margin)
    own = np.flatnonzero(unknown >= 0)
    place = np.zeros((P.size, int(unknown.max()) + 1))
    place[own, unknown[own]] = factors[own]
    lefts, rights = [], []
    for group in wanted.without("epsilon", "forbidden", "allowed").groups:
        A, b = group.left[:, : P.size].toarray(), group.right
        if not group.equality:
            A, b = A[b - A @ P.ravel() <= binding], b[b - A @ P.ravel() <= binding] - margin
        lefts.append(A @ place)
        rights.append(b)
    left, right = np.vstack(lefts), np.concatenate(rights)
    y = np.zeros(left.shape[1])  # the largest of the entries that share an unknown
    np.maximum.at(y, unknown[own], P.ravel()[own])
    for _ in range(3):  # twice more to refine the last digits
        missing = right - left @ y
        scale = np.maximum(y, 1e-12)
        # The least relative change, so that unknowns of very different size keep their digits.
        step, *_ = np.linalg.lstsq(left * scale, missing, rcond=1e-12)
        y = y + scale * step
    if np.max(np.abs(right - left @ y)) > 1e-10 or y.min(initial=0.0) < 0:
        return None
    exact = np.where(unknown >= 0, factors * y[unknown], 0.0).reshape(P.shape)
    return np.asarray(exact / exact.sum(axis=1, keepdims=True))


def _pattern(
    P: Floats, wanted: Polytope, binding: float, margin: float
) -> tuple[Positions, Floats]:
    """Return the unknown and the factor of each entry: P.ravel() = factors * y[unknown].

    The unknown is -1 for zeros. A factor is 1, or 1 / ratio for entries on the floor of a column if
    the unknown is its ceiling.
    """
    size = len(P)
    unknown = np.arange(size**2).reshape(size, size)
    factors = np.ones((size, size))
    zero = wanted.zeros.copy()
    if math.isfinite(wanted.ratio):
        ratio = max(wanted.ratio * (1 - margin), 1.0)
        high, low = P.max(axis=0), P.min(axis=0)
        zero |= high < ABSOLUTE**2
        near = binding * math.log(wanted.ratio)  # of the way from floor to ceiling, in logs
        tight = high * (1 + near) + ABSOLUTE >= low * wanted.ratio
        tight |= low <= ABSOLUTE
        upper = tight & (P * (1 + near) >= high)
        lower = tight & ~upper & (high / wanted.ratio * (1 + near) + ABSOLUTE >= P)
        if wanted.ratio == 1:
            upper, lower = np.ones_like(upper), np.zeros_like(lower)
        unknown = np.where(upper | lower, size**2 + np.arange(size), unknown)
        factors = np.where(lower, 1 / ratio, factors)
    else:
        zero |= binding * 1e-2 > P
    compact = np.full((size, size), -1, dtype=np.intp)
    compact[~zero] = np.unique(unknown[~zero], return_inverse=True)[1]
    return compact.ravel(), factors.ravel()
