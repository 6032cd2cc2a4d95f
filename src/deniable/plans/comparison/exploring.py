"""The consequences of each epsilon for persons and for estimates, from the schema alone."""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from deniable.arrays import Floats
from deniable.channels import Channel
from deniable.errors import DeniableError
from deniable.plans.allocation import Split
from deniable.plans.blocks import can_be_clusters
from deniable.plans.categorical import CategoricalPlan
from deniable.plans.comparison.expected import expected_errors
from deniable.plans.making import make_plan
from deniable.plans.questionnaire import make_questionnaire
from deniable.privacy import largest_posterior, smallest_posterior
from deniable.schema import Schema

EPSILONS = tuple(
    twentieths / 20
    for twentieths in (*range(2, 10), *range(10, 20, 2), *range(20, 100, 5), *range(100, 201, 10))
)
"""40 round numbers from .1 to 10."""
SLACK = 1e-9  # above the rounding error of floats, so that bounds are rounded outwards


@dataclass(frozen=True)
class AnswerOdds:
    """The randomized values of 100 people with each answer to a column or cluster.

    Of 100 people with one of the `answers`, `same` are recorded with it, and `other` of 100 people
    with another answer. If `exact`, these are the rounded probabilities of the channel. Otherwise
    they are bounds: the odds of a yes-or-no answer with this `epsilon`, which attains the
    inequalities that the two errors of a test between any two answers satisfy.
    """

    answers: Sequence[str]
    epsilon: float
    same: int
    other: int
    exact: bool

    @classmethod
    def of(cls, answers: Sequence[str], channel: Channel) -> "AnswerOdds":
        """Return the odds of a `channel` for these `answers`, its categories."""
        kept, replaced = channel.weight_and_replacement or (0.0, np.arange(2.0))
        if np.ptp(replaced):
            return cls.bound(answers, channel.epsilon)
        same, other = round(100 * float(kept + replaced[0])), round(100 * float(replaced[0]))
        return cls(answers, channel.epsilon, same, other, True)

    @classmethod
    def bound(cls, answers: Sequence[str], epsilon: float) -> "AnswerOdds":
        """Return bounds on the odds of `answers` that are protected by an `epsilon`."""
        same = math.ceil(100 / (1 + math.exp(-epsilon)) - SLACK)
        return cls(answers, epsilon, same, 100 - same, False)


@dataclass(frozen=True, eq=False)
class ExploredPlan:
    """A `plan` for a requested `epsilon` of a record and an `allocation` of it to columns.

    The allocation is an option of ``deniable plan``, such as ``--split even``. ``--split joint`` is
    the optimal one with the stated tables as clusters. `errors` are the `expected_errors` of the
    plan for so many `records`.
    """

    epsilon: float
    allocation: str
    records: int
    plan: CategoricalPlan[Any]
    errors: pd.DataFrame

    def moved(self, prior: float) -> tuple[int, int]:
        """Return bounds of a guess after the release, in percent and rounded outwards.

        The guess is a `prior` probability in [0, 1] of anything about the answers of a person. See
        `deniable.privacy.largest_posterior`.
        """
        parity = math.exp(self.plan.guarantees[0].epsilon)
        low, high = smallest_posterior(prior, parity), largest_posterior(prior, parity)
        return max(math.floor(100 * low - SLACK), 0), min(math.ceil(100 * high + SLACK), 100)

    @property
    def odds(self) -> dict[str, AnswerOdds]:
        """The odds of each column and cluster, at its largest epsilon."""
        found = dict[str, AnswerOdds]()
        for protocol in self.plan.protocols.values():
            for names, channel in zip(protocol.clusters, protocol.channels, strict=True):
                own = AnswerOdds.of(protocol.domain.project(names).cell_labels(), channel)
                if own.epsilon >= found.get(name := " x ".join(names), own).epsilon:
                    found[name] = own
        for name, epsilon in self.plan.epsilon_by_changed_attribute().items():
            labels = self.plan.schema.domain()[name].categories
            found.setdefault(name, AnswerOdds.bound(labels, epsilon))
        return found


def explore(
    schema: Schema,
    records: int,
    epsilons: Sequence[float] = EPSILONS,
    tables: Sequence[Sequence[str]] = (),
    *,
    prior: Mapping[str, Floats] | None = None,
    progress: Callable[[float], None] = lambda epsilon: None,
    **options: Any,
) -> tuple[ExploredPlan, ...]:
    """Return plans with their expected errors, for each epsilon and budget allocation.

    If tables are stated, the optimal allocation is first, otherwise the even one. There is also
    ``--split joint``, if the tables can be clusters.

    No record is read: the plans are for columns of the `schema` and so many `records`, at least 2.
    `tables`, `prior` and further `options` are as in `deniable.plans.make_plan`. There is also a
    split questionnaire, if it is possible, with as many columns as the largest table. The function
    `progress` receives each of the `epsilons`, above 0, before its plans are made. Raises
    `DeniableError` if a plan is impossible, a number is out of range, or a risk is not accepted.
    """
    if not epsilons:
        raise DeniableError("no epsilon to explore; give at least one")
    size = max((len(table) for table in tables), default=1)
    ask: Any = "pairs" if size == 2 else size
    options |= {"tables": tables, "prior": prior}
    splits: tuple[Split, ...] = ("optimal", "even") if tables else ("even", "optimal")
    ways: dict[str, Callable[..., CategoricalPlan[Any]]] = {
        f"--split {split}": partial(make_plan, schema, split=split, **options) for split in splits
    }
    if not options.get("clusters") and can_be_clusters(schema, tables):
        joint = options | {"clusters": tables}
        ways["--split joint"] = partial(make_plan, schema, split="optimal", **joint)
    asked = partial(make_questionnaire, schema, ask=ask, **options)
    with suppress(DeniableError):  # a questionnaire needs more columns than it asks
        asked(epsilon=max(epsilons))
        ways[f"--ask {ask}"] = asked
    found = []
    for epsilon in sorted(set(epsilons)):
        progress(epsilon)
        for allocation, make in ways.items():
            plan = make(epsilon=epsilon)
            errors = expected_errors(plan, records, tables, prior=prior).drop_duplicates("columns")
            found.append(ExploredPlan(epsilon, allocation, records, plan, errors))
    return tuple(found)
