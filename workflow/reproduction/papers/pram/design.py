"""What channels designed by optimization gain over closed forms, on a data set's attributes.

All channels of a row have the same bound on their exact epsilon and meet the same requirements; a
closed form that cannot is left out. Losses are those of one record: variances without that of
sampling (the target "file"), or shares and costs. The search for a design has a seed of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from deniable.arrays import Floats
from deniable.channels import KeepOrReplace, two_step_with_epsilon
from deniable.design import Cost, Requirements, design, violations
from deniable.design.programs import Estimator, LossName, loss_of
from deniable.pram import margins
from deniable.records import Microdata

FEW = 10
"""Categories up to which the dearest designs are in the table: with more they take seconds each."""
FEASIBLE = 1e-9


@dataclass(frozen=True)
class _Kind:
    """A loss with requirements, as rows of the table have them."""

    loss: LossName  # what is least
    requirements: str  # what is required besides the epsilon, in words
    estimator: Estimator = "inverse"  # of the estimate whose variance is meant
    invariant: bool = False
    cost: Cost | None = None
    floor: float | None = None  # of the retention, as a share of generalized randomized response's
    attributes: tuple[str, ...] = ()  # in the table for these alone; empty: for all
    dear: bool = False  # in the table up to `FEW` categories only

    def asked(self, size: int, epsilon: float) -> Requirements:
        """Return what is required for so many categories."""
        kept = None
        if self.floor is not None:
            kept = self.floor * float(KeepOrReplace.of_epsilon(size, epsilon).matrix()[0, 0])
        return Requirements(
            epsilon=epsilon, invariant=self.invariant, cost=self.cost, retention=kept
        )

    def takes(self, attribute: str, size: int) -> bool:
        """Return whether an attribute of so many categories is in the table."""
        return (size <= FEW or not self.dear) and attribute in (self.attributes or (attribute,))


TRACE = _Kind("trace", "epsilon")
INVARIANT = _Kind("trace", "epsilon, invariant", "reports", invariant=True)
# A cost that grows with the distance, for attributes whose categories are in order.
ORDINAL = _Kind(
    "distance",
    "epsilon, invariant",
    "reports",
    invariant=True,
    cost=Cost(power=1),
    attributes=("education", "income"),
)
KINDS = (
    TRACE,
    _Kind("worst_cell", "epsilon"),
    _Kind("worst_cell", "epsilon, retention floor", floor=0.9, dear=True),
    INVARIANT,
    _Kind("trace", "epsilon, invariant, inverted", invariant=True, dear=True),
    _Kind("changed", "epsilon, invariant", "reports", invariant=True),
    ORDINAL,
)
SHOWN: tuple[tuple[str, float, _Kind, str], ...] = (
    ("marital-status", 0.5, TRACE, "least trace"),
    ("education", 2.0, TRACE, "least trace"),
    ("race", 2.0, INVARIANT, "invariant, least trace of the reports' shares"),
    ("education", 2.0, ORDINAL, "invariant, least ordinal distance"),
)
"""The designs whose matrices are drawn: attribute, epsilon, kind, and that in words."""


def design_table(data: Microdata, epsilons: Sequence[float]) -> pd.DataFrame:
    """Return the losses of designed channels beside those of closed forms.

    They are for the margins of `data`, without categories that no record has, at `epsilons` above
    0, at most 30: a row for each attribute of two or more categories, epsilon and kind.
    ``generalized_rr`` and ``two_step`` (invariant) are the losses of the closed forms of that
    epsilon, ``gain_over_...`` are these divided by the designed one; ``lower_bound``: no channel
    that meets the requirements has less; ``optimality``: global or local; ``exact_epsilon`` and
    ``worst_violation`` are of the designed matrix.
    """
    return pd.DataFrame(
        {"attribute": attribute, "categories": counts.size}
        | _row(kind, np.asarray(counts / counts.sum()), epsilon)
        for attribute, _, counts in margins(data)
        for kind in KINDS
        if kind.takes(attribute, counts.size)
        for epsilon in epsilons
    )


def _row(kind: _Kind, shares: Floats, epsilon: float) -> dict[str, Any]:
    requirements = kind.asked(shares.size, epsilon)
    found = design(shares, requirements, kind.loss, estimator=kind.estimator, target="file")
    costs = None if kind.cost is None else kind.cost.costs(shares.size)
    loss = loss_of(kind.loss, shares, estimator=kind.estimator, target="file", costs=costs)
    closed = {
        "generalized_rr": KeepOrReplace.of_epsilon(shares.size, epsilon).matrix(),
        "two_step": two_step_with_epsilon(shares, epsilon).matrix(),
    }
    losses = {
        name: loss.value(P)
        if max(violations(P, shares, requirements).values()) <= FEASIBLE
        else np.nan
        for name, P in closed.items()
    }
    return {
        "epsilon": epsilon,
        "loss": kind.loss,
        "requirements": kind.requirements,
        "estimator": kind.estimator,
        "designed": found.loss,
        **losses,
        **{f"gain_over_{name}": value / found.loss for name, value in losses.items()},
        "lower_bound": np.nan if found.lower_bound is None else found.lower_bound,
        "optimality": found.optimality,
        "exact_epsilon": found.channel.epsilon,
        "worst_violation": max(found.violations.values()),
    }


def channel_table(data: Microdata) -> pd.DataFrame:
    """Return some designed matrices for `data` by entry; a design is named by what is least."""
    known = {attribute: (names, counts) for attribute, names, counts in margins(data)}
    tables = []
    for attribute, epsilon, kind, words in SHOWN:
        names, counts = known[attribute]
        shares, asked = counts / counts.sum(), kind.asked(counts.size, epsilon)
        found = design(shares, asked, kind.loss, estimator=kind.estimator)
        entries = {
            "design": f"{attribute}, epsilon {epsilon:g}: {words}",
            "true": np.repeat(names, len(names)),
            "reported": np.tile(names, len(names)),
            "probability": found.channel.matrix().ravel(),
        }
        tables.append(pd.DataFrame(entries))
    return pd.concat(tables, ignore_index=True)
