"""Explain infeasible requirements by a smallest conflicting set, and by changes that help."""

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from deniable.arrays import Floats
from deniable.channels import MAX_EPSILON
from deniable.design.programs import (
    Constraints,
    Group,
    Kind,
    Polytope,
    Requirements,
    polytope,
)
from deniable.errors import NoAnswerError

DIGITS = 4  # digits of the values that a message proposes
SHOWN = 6  # a message names at most so many requirements
PRECISION = 1e-10  # relative precision of proposed values; solvers distinguish no closer ones


class InfeasibleError(NoAnswerError):
    """Requirements that no channel meets together.

    The `message` contains the `conflict` and the `remedies`. The conflict is a set of requirements
    that contradict each other, and the set without any one of them is feasible. Each remedy is a
    change of a single requirement that makes all requirements feasible.
    """

    def __init__(
        self, message: str, conflict: Sequence[str] = (), remedies: Sequence[str] = ()
    ) -> None:
        super().__init__(message)
        self.conflict, self.remedies = tuple(conflict), tuple(remedies)


def refuse_conflicts(proportions: Floats, requirements: Requirements, names: Sequence[str]) -> None:
    """Raise `InfeasibleError` for `requirements` that no channel meets, with their remedies.

    The `proportions`, shape (size,), belong to categories with these `names`.
    """
    case = _Case(proportions, requirements, names, polytope(proportions, requirements))
    conflict = _smallest_conflict(case.wanted)
    words = _described(conflict, names)
    remedies = [remedy for remedy in map(case.remedy, case.distinct(conflict)) if remedy]
    verb = "conflict" if len(conflict) > 1 else "cannot be met"
    advice = "no change of one of them is enough, so that others conflict too"
    if remedies:
        advice = f"any of these changes is enough: {_joined(remedies, 'or')}"
    message = f"no channel meets the requirements: {_joined(words, 'and')} {verb}; {advice}"
    raise InfeasibleError(message, words, remedies)


def _smallest_conflict(wanted: Polytope) -> list[Group]:
    """Return infeasible requirements that are feasible without any one of them.

    The last requirement of the shortest infeasible beginning of a list takes part in the conflict.
    """
    rigid = [group for group in wanted.groups if group.kind == "rows"]
    rest = [group for group in reversed(wanted.groups) if group.kind != "rows"]
    rest.sort(key=lambda group: get_args(Kind).index(group.kind))
    found: list[Group] = []

    def conflicts(count: int) -> bool:
        return not _is_feasible(wanted.with_groups([*rigid, *found, *rest[:count]]))

    while rest and not conflicts(0):
        count = bisect_left(range(len(rest)), True, key=conflicts)
        found.append(rest[count - 1])
        rest = rest[: count - 1]
    return found


def _is_feasible(wanted: Polytope) -> bool:
    program = Constraints(*wanted.constraints)
    return program.minimise(np.zeros(wanted.variables), high=wanted.highest) is not None


def _described(groups: Iterable[Group], names: Sequence[str]) -> list[str]:
    """Return requirements in words; equal floors of several categories are one item."""
    found: dict[tuple[Kind, float, int], list[Group]] = {}
    for number, group in enumerate(groups):
        alone = -1 if group.kind in ("retention", "change") else number
        found.setdefault((group.kind, group.bound, alone), []).append(group)
    return [_words(alike, names) for alike in reversed(found.values())]


def _words(alike: Sequence[Group], names: Sequence[str]) -> str:
    group = alike[0]
    match group.kind:
        case "epsilon":
            return f"epsilon <= {group.bound:g}"
        case "retention" | "change":
            of = _joined([names[each.categories[0]] for each in alike], "and")
            return f"{group.kind} of {of} >= {group.bound:g}"
        case "forbidden" | "allowed":
            true, reported = (names[category] for category in group.categories)
            if group.kind == "forbidden":
                return f"forbidden {true} -> {reported}"
            return f"{true} -> {reported} (not among those allowed)"
        case "cost":
            return f"expected cost <= {group.bound:g}"
    return "invariance"


def _joined(words: Sequence[str], last: str) -> str:
    if len(words) > SHOWN:
        words = [*words[: SHOWN - 1], f"{len(words) - SHOWN + 1} more"]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}"


@dataclass(frozen=True, eq=False)
class _Case:
    proportions: Floats
    requirements: Requirements
    names: Sequence[str]
    wanted: Polytope

    def distinct(self, conflict: Sequence[Group]) -> list[Group]:
        """Return the requirements to change on trial; a common floor of all categories is one."""
        chosen: list[Group] = []
        for group in reversed(conflict):
            if not (self._is_common(group) and group.kind in {each.kind for each in chosen}):
                chosen.append(group)
        return chosen[: 2 * SHOWN]

    def remedy(self, group: Group) -> str | None:
        """Return, in words, the change of one requirement that makes all feasible, or None."""
        others = self.wanted.with_groups(each for each in self.wanted.groups if each is not group)
        without = f"to do without {_described([group], self.names)[0]}"
        match group.kind:
            case "epsilon" if _is_feasible(others):
                found = self._nearest(group, MAX_EPSILON)
                return without if found is None else f"epsilon <= {_rounded(found, up=True)}"
            case "retention" | "change":
                found = self._nearest(group, 0.0)
                if found is None or found <= 10.0**-DIGITS:
                    return None
                of = "every category" if self._is_common(group) else self.names[group.categories[0]]
                return f"{group.kind} of {of} >= {_rounded(found, up=False)}"
            case "cost" if _is_feasible(others):
                found = self._nearest(group, float(group.left.sum()))
                return None if found is None else f"expected cost <= {_rounded(found, up=True)}"
        return without if _is_feasible(others) else None

    def _nearest(self, group: Group, feasible: float) -> float | None:
        """Return the feasible bound nearest to the group's, or None if there is none."""
        if not _is_feasible(self._with_bound(group, feasible)):
            return None
        infeasible = group.bound
        while abs(feasible - infeasible) > PRECISION * max(feasible, infeasible):
            middle = (feasible + infeasible) / 2
            if _is_feasible(self._with_bound(group, middle)):
                feasible = middle
            else:
                infeasible = middle
        return feasible

    def _with_bound(self, group: Group, bound: float) -> Polytope:
        asked, kind = self.requirements, group.kind
        changed: Any = bound
        if kind == "cost" and asked.cost is not None:
            changed = replace(asked.cost, at_most=bound)
        elif kind in ("retention", "change") and not self._is_common(group):
            changed = asked.floors(kind, self.proportions.size)
            changed[group.categories[0]] = bound
        return polytope(self.proportions, replace(asked, **{kind: changed}))

    def _is_common(self, group: Group) -> bool:
        """Return whether a floor is the same number for all categories."""
        floors = {"retention": self.requirements.retention, "change": self.requirements.change}
        return isinstance(floors.get(group.kind), (int, float))


def _rounded(value: float, *, up: bool) -> str:
    """Return a value with few digits, rounded to the feasible side."""
    if value == 0:
        return "0"
    unit = 10.0 ** (math.floor(math.log10(abs(value))) - DIGITS + 1)
    direction: Callable[[float], int] = math.ceil if up else math.floor
    near = value * (1 - 10 * PRECISION if up else 1 + 10 * PRECISION)
    return f"{direction(near / unit) * unit:.{DIGITS}g}"


def refuse_unestimable(
    wanted: Polytope, requirements: Requirements, names: Sequence[str], least_epsilon: float
) -> None:
    """Raise `InfeasibleError` if `requirements` evidently allow only singular matrices.

    Below `least_epsilon`, rounding errors exceed the information in estimates. `wanted` is the
    polytope of the requirements, and `names` are the names of the categories.
    """
    way_out = "then nothing can be estimated by inversion; minimise 'changed' or 'distance' instead"
    if requirements.epsilon is not None and requirements.epsilon < least_epsilon:
        raise InfeasibleError(
            f"epsilon <= {requirements.epsilon:g} makes all rows of the matrix (nearly) equal: "
            f"{way_out}, or allow an epsilon of {least_epsilon:g} or more",
            [f"epsilon <= {requirements.epsilon:g}"],
        )
    if csgraph.structural_rank(sparse.csr_array(~wanted.zeros)) == wanted.size:
        return
    zeros = [
        group
        for group in wanted.groups
        if group.kind in ("forbidden", "allowed") or (group.kind == "change" and group.bound == 1)
    ]
    silent = np.flatnonzero(wanted.zeros.all(axis=0))
    lost, reason = "do not leave each category a response of its own", ""
    if silent.size:
        lost = f"exclude the response {names[int(silent[0])]}"
        zeros = [group for group in zeros if group.categories[-1] == silent[0]]
        bounded = [group for group in wanted.groups if group.kind == "epsilon"]
        if zeros and bounded:  # a zero in a column makes all of it zero
            zeros = [zeros[0], *bounded]
            reason = ", because epsilon is infinite if only some categories can give a response"
    remedy = ""
    if any(group.kind in ("forbidden", "allowed") for group in zeros):
        remedy = ", or allow one of the transitions"
    elif zeros:
        remedy = ", or require a change below 1"
    words = _described(zeros, names) or ["invariance"]
    raise InfeasibleError(
        f"{_joined(words, 'and')} {lost}, so that the matrix is singular{reason}: "
        f"{way_out}{remedy}",
        words,
    )
