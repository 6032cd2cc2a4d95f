"""What is asked of a channel: requirements that are all linear in its matrix."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from deniable.arrays import Floats
from deniable.design.programs.losses import ordinal_costs
from deniable.errors import DeniableError

LARGEST_EPSILON = 30.0  # exp(30) is 10^13: beyond, nothing would ever be replaced

Floors = float | Sequence[float] | Mapping[int, float]
"""A number for all categories, one for each in order, or numbers for some by position."""


@dataclass(frozen=True, eq=False)
class Cost:
    """What reporting v costs where u is true, and how much of it may be expected.

    Parameters
    ----------
    matrix : array, shape (size, size), optional
        Costs, not negative; those on the diagonal are usually 0.
    power : float, above 0, optional
        Instead of a matrix: categories are in order, and u to v costs |u - v| ** power.
    at_most : float, optional
        The largest expected cost of a record, under the proportions that a channel is designed
        for: a requirement. Without it the costs only serve the loss "distance".

    Raises
    ------
    DeniableError
        If not exactly one of matrix and power is given, or a number is out of range.
    """

    matrix: Sequence[Sequence[float]] | Floats | None = None
    power: float | None = None
    at_most: float | None = None

    def __post_init__(self) -> None:
        if (self.matrix is None) == (self.power is None):
            given = "neither" if self.power is None else "both"
            raise DeniableError(
                f"{given} of matrix and power of the costs given; give a matrix of costs, or the "
                "power of the distance between categories that are in order"
            )
        if self.power is not None and not 0 < self.power <= 10:
            raise DeniableError(
                f"the power of the costs is {self.power}; it must be above 0, at most 10"
            )
        if self.at_most is not None and not 0 <= self.at_most < math.inf:
            raise DeniableError(
                f"the expected cost is to be at most {self.at_most}; it must be a number >= 0"
            )

    def costs(self, size: int) -> Floats:
        """Return the costs of `size` categories, shape (size, size)."""
        if self.power is not None:
            return ordinal_costs(size, self.power)
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
    """What a channel must satisfy; categories are numbered from 0.

    Parameters
    ----------
    epsilon : float in [0, 30], optional
        The channel's exact epsilon is at most this. With 0 reports say nothing of the truth.
    invariant : bool
        The matrix leaves the proportions as they are, P' pi = pi ([pram], (2.1)).
    retention : float, sequence or mapping, in [0, 1], optional
        Floors: category v is retained with at least this probability, P[v, v] >= r_v.
    change : float, sequence or mapping, in [0, 1], optional
        Category v is changed with at least this probability, P[v, v] <= 1 - c_v.
    forbidden : pairs (true, reported)
        Transitions that never happen: exact zeros.
    allowed : mapping from a true category to those that may be reported in its place, optional
        All other reports of that category are exact zeros, except itself: whether a category may
        be retained is only for `forbidden` to deny.
    cost : Cost, optional
        Costs of transitions, and how much of them may be expected.
    categories : sequence of str, optional
        Names of the categories, for messages.

    Raises
    ------
    DeniableError
        If a number is out of range. Whether categories exist is seen when they are known, by
        `deniable.design.design`.
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
        if self.epsilon is not None and not 0 <= self.epsilon <= LARGEST_EPSILON:
            raise DeniableError(
                f"epsilon is to be at most {self.epsilon}; it must be in [0, {LARGEST_EPSILON:g}]"
            )
        for what, given in (("retention", self.retention), ("change", self.change)):
            for value in _numbers(given):
                if not 0 <= value <= 1:
                    raise DeniableError(f"a {what} of {value} is asked for; it must be in [0, 1]")

    def retention_floors(self, size: int) -> Floats:
        """Return r_v for each category, 0 where there is no floor."""
        return _per_category(self.retention, size, "retention")

    def change_floors(self, size: int) -> Floats:
        """Return c_v for each category, 0 where there is no floor."""
        return _per_category(self.change, size, "change")

    def zeros(self, size: int) -> dict[tuple[int, int], str]:
        """Return the transitions that must not happen, each with "forbidden" or "allowed"."""
        found: dict[tuple[int, int], str] = {}
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


def _numbers(given: Floors | None) -> list[float]:
    if given is None:
        return []
    if isinstance(given, Mapping):
        return list(given.values())
    return [float(value) for value in np.atleast_1d(np.asarray(given, dtype=float))]


def _per_category(given: Floors | None, size: int, what: str) -> Floats:
    values = np.zeros(size)
    if isinstance(given, Mapping):
        _refuse_unknown(tuple(given), size, what)
        for category, value in given.items():
            values[category] = value
    elif given is not None:
        array = np.asarray(given, dtype=float)
        if array.shape not in ((), (size,)):
            raise DeniableError(
                f"{what} has {array.size} numbers for {size} categories; give one number for all, "
                "one for each, or a mapping for some"
            )
        values[:] = array
    return values


def _refuse_unknown(categories: Sequence[Any], size: int, what: str) -> None:
    for category in categories:
        whole = isinstance(category, (int, np.integer)) and not isinstance(category, bool)
        if not whole or not 0 <= category < size:
            raise DeniableError(
                f"{what} names the category {category!r}; the {size} categories are numbered "
                f"0 to {size - 1}"
            )
