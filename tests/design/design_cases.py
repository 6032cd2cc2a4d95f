"""What designs are held against: losses and requirements from their definitions, closed forms.

Nothing here comes from `deniable.design` but the names of requirements.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from deniable.channels import DenseChannel, KeepOrReplace
from deniable.channels.invariant import lazy_resampling_with_epsilon, two_step_with_epsilon
from deniable.design import Design, Requirements

LOSSES = ("trace", "worst_cell", "changed", "distance")


def _shares(*counts: int) -> np.ndarray:
    return np.array(counts) / sum(counts)


# Adult's attributes by size, some 32,000 records.
MARGINS = {
    "sex": _shares(21790, 10771),
    "race": _shares(27816, 3124, 1039, 311, 271),
    "marital-status": _shares(14976, 10683, 4443, 1025, 993, 418, 23),
    "workclass": _shares(22696, 2541, 2093, 1836, 1298, 1116, 960, 14),
    "education": _shares(
        51, 168, 333, 646, 514, 933, 1175, 433, 10501, 7291, 1382, 1067, 5355, 1723, 576, 413
    ),
}


def distances(size: int, power: float = 1.0) -> np.ndarray:
    """|u - v| ** power."""
    return np.array([[abs(u - v) ** power for v in range(size)] for u in range(size)])


def loss_by_definition(P, pi, loss, *, estimator="inverse", target="population", costs=None):
    """Variances of one record, of [pram], (1.3) or (2.4), or an expected share or cost."""
    if loss in ("changed", "distance"):
        charged = 1 - np.eye(len(pi)) if loss == "changed" else costs
        return float(np.sum(pi[:, None] * P * charged))
    if estimator == "reports":
        cells = pi @ P - pi @ P**2
        if target == "population":
            cells = cells + pi * (1 - pi)
    else:
        if np.linalg.cond(P) > 1e12:
            return math.inf
        M = np.linalg.inv(P)
        reported = pi @ P
        cells = np.diagonal(M.T @ (np.diag(reported) - np.outer(reported, reported)) @ M)
        if target == "file":  # less the variance of sampling
            cells = cells - pi * (1 - pi)
    return float(np.sum(cells) if loss == "trace" else np.max(cells))


def loss_of_design(P, pi, found: Design, requirements: Requirements) -> float:
    """The loss that a design minimised, of any matrix."""
    costs = None if requirements.cost is None else requirements.cost.costs(len(pi))
    return loss_by_definition(
        P, pi, found.loss_name, estimator=found.estimator, target=found.target, costs=costs
    )


def exact_rows(P) -> list[list[Fraction]]:
    """The probabilities that are drawn: entries in proportion to the sum of their row."""
    rows = [[Fraction(float(entry)) for entry in row] for row in P]
    return [[entry / sum(row) for entry in row] for row in rows]


def epsilon_is_at_most(P, epsilon: float) -> bool:
    """Whether no two entries of a column differ by more than exp(epsilon), to 60 digits."""
    with localcontext() as context:
        context.prec = 60
        ratio = Fraction(Decimal(epsilon).exp())
    columns = zip(*exact_rows(P), strict=True)
    return all(max(column) <= ratio * min(column) for column in columns)


def misses(P, pi, asked: Requirements) -> dict[str, float]:
    """By how much each requirement is missed; those without tolerance by 1."""
    size = len(P)
    pi = np.asarray(pi, dtype=float)
    found = {
        "rows": float(np.max(np.abs(P.sum(axis=1) - 1))),
        "negative": float(max(-P.min(), 0.0)),
    }
    if asked.epsilon is not None:
        found["epsilon"] = 0.0 if epsilon_is_at_most(P, asked.epsilon) else 1.0
    if asked.invariant:
        found["invariance"] = float(np.max(np.abs(P.T @ pi - pi)))
    for v, floor in _by_category(asked.retention, size):
        found[f"retention {v}"] = max(floor - P[v, v], 0.0)
    for v, floor in _by_category(asked.change, size):
        found[f"change {v}"] = max(P[v, v] - (1 - floor), 0.0)
    for u, v in asked.forbidden:
        found[f"forbidden {u} {v}"] = 0.0 if P[u, v] == 0 else 1.0
    for u, listed in (asked.allowed or {}).items():
        others = [v for v in range(size) if v != u and v not in listed]
        found[f"allowed {u}"] = 0.0 if not np.any(P[u, others]) else 1.0
    cost = asked.cost
    if cost is not None and cost.at_most is not None:
        charged = distances(size, cost.power) if cost.power else np.asarray(cost.matrix)
        found["cost"] = max(float(np.sum(pi[:, None] * P * charged)) - cost.at_most, 0.0)
    return found


def _by_category(floors, size: int):
    if floors is None:
        return []
    if isinstance(floors, dict):
        return list(floors.items())
    return list(enumerate(np.broadcast_to(floors, (size,)).tolist()))


def check(found: Design, pi, asked: Requirements) -> None:
    """What holds of every design."""
    P = found.channel.matrix()
    missed = misses(P, pi, asked)
    assert max(missed.values()) <= 1e-9, missed
    assert max(found.violations.values()) <= 1e-9
    if asked.epsilon is not None:
        assert found.channel.epsilon <= asked.epsilon
        assert found.channel.epsilon == DenseChannel(P).epsilon
    again = loss_of_design(P, np.asarray(pi), found, asked)
    assert found.loss == pytest.approx(again, rel=1e-7, abs=1e-12)
    if found.lower_bound is not None:
        assert found.lower_bound <= found.loss
        close = found.loss - found.lower_bound <= 1e-6 * abs(found.loss) + 1e-12
        assert (found.optimality == "global") == close
    else:
        assert found.optimality == "local"


def closed_forms(pi, epsilon: float) -> Iterator[tuple[str, np.ndarray]]:
    """Matrices of that epsilon."""
    yield "generalized", KeepOrReplace.of_epsilon(len(pi), epsilon).matrix()
    yield "two-step", two_step_with_epsilon(pi, epsilon).matrix()
    yield "proportions", np.tile(pi, (len(pi), 1))
    if min(pi) > 0:
        yield "lazy", lazy_resampling_with_epsilon(pi, epsilon).matrix()


def check_not_worse(found: Design, pi, asked: Requirements) -> int:
    """Hold a design against the closed forms that meet what is asked; return how many did.

    These may miss them by a rounding, no more: at large epsilon 1e-9 is as much as a loss.
    """
    compared = 0
    nearly = replace(asked, epsilon=min(asked.epsilon + 1e-12, 30.0))
    for name, P in closed_forms(pi, asked.epsilon):
        if max(misses(P, pi, nearly).values()) <= 1e-12:
            compared += 1
            other = loss_of_design(P, pi, found, asked)
            assert found.loss <= other * (1 + 1e-6), (name, found.loss, other)
    return compared
