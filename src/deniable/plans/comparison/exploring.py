"""The consequences of each epsilon for persons and for estimates, from the schema alone."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd

from deniable.arrays import Floats
from deniable.channels import Channel
from deniable.errors import DeniableError
from deniable.plans.allocation import Split
from deniable.plans.columns import ColumnsPlan
from deniable.plans.comparison.expected import expected_errors
from deniable.plans.making import make_plan
from deniable.privacy import (
    default_delta,
    epsilon_of_unit,
    largest_posterior,
    shuffled_epsilon,
    smallest_posterior,
)
from deniable.schema import Schema

EPSILONS = tuple(
    twentieths / 20
    for twentieths in (*range(2, 10), *range(10, 20, 2), *range(20, 100, 5), *range(100, 201, 10))
)
"""40 round numbers from .1 to 10."""
SPLITS: tuple[Split, ...] = ("even", "optimal")
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
            same = math.ceil(100 / (1 + math.exp(-channel.epsilon)) - SLACK)
            return cls(answers, channel.epsilon, same, 100 - same, False)
        same, other = round(100 * float(kept + replaced[0])), round(100 * float(replaced[0]))
        return cls(answers, channel.epsilon, same, other, True)


@dataclass(frozen=True, eq=False)
class ExploredPlan:
    """A `plan` for a requested `epsilon` of a record and a budget allocation, `split`.

    `errors` are the `expected_errors` of the plan for so many `records`.
    """

    epsilon: float
    split: Split
    records: int
    plan: ColumnsPlan
    errors: pd.DataFrame

    def moved(self, prior: float) -> tuple[int, int]:
        """Return bounds of a guess after the release, in percent and rounded outwards.

        The guess is a `prior` probability in [0, 1] of anything about the answers of a person. See
        `deniable.privacy.largest_posterior`.
        """
        parity = math.exp(self.plan.epsilon)
        low, high = smallest_posterior(prior, parity), largest_posterior(prior, parity)
        return max(math.floor(100 * low - SLACK), 0), min(math.ceil(100 * high + SLACK), 100)

    @cached_property
    def file(self) -> tuple[float, float] | None:
        """(epsilon, delta) of the shuffled file; None without one below the epsilon of a row."""
        plan, n, delta = self.plan, self.records, default_delta(self.records)
        found = None if plan.against_shuffling else shuffled_epsilon(plan.epsilon, n, delta)
        if found is None:
            return None
        epsilon, delta = epsilon_of_unit(found, delta, plan.records_per_unit)
        return float(epsilon), delta

    @property
    def odds(self) -> dict[str, AnswerOdds]:
        """The odds of each column or cluster."""
        part_of, channels = self.plan.protocol.domain.project, self.plan.channels().items()
        return {
            name: AnswerOdds.of(part_of(block).cell_labels(), channel)
            for (name, channel), block in zip(channels, self.plan.blocks, strict=True)
        }


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

    No record is read: the plans are for columns of the `schema` and so many `records`, at least 2.
    `tables`, `prior` and further `options` are as in `deniable.plans.make_plan`. The function
    `progress` receives each of the `epsilons`, above 0, before its plans are made. Raises
    `DeniableError` if a plan is impossible, a number is out of range, or a risk is not accepted.
    """
    if not epsilons:
        raise DeniableError("no epsilon to explore; give at least one")
    plan_of, found = partial(make_plan, schema, tables=tables, prior=prior, **options), []
    for epsilon in sorted(set(epsilons)):
        progress(epsilon)
        for split in SPLITS:
            plan = plan_of(epsilon, split=split)
            errors = expected_errors(plan, records, tables, prior=prior).drop_duplicates("columns")
            found.append(ExploredPlan(epsilon, split, records, plan, errors))
    return tuple(found)
