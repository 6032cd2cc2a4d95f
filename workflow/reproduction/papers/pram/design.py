"""Gains of optimized channels over closed forms, on the attributes of a data set.

All channels of a row have the same bound on their exact epsilon and meet the same requirements. A
closed form that does not is left out. Losses are for one record: variances without the variance of
sampling (the target "file"), or proportions and costs. The search has a fixed seed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from deniable.arrays import Floats
from deniable.channels import KeepOrReplace, two_step_with_epsilon
from deniable.design import Cost, Requirements, design, violations
from deniable.design.programs import EstimatorName, LossName, loss_of
from deniable.pram import margins
from deniable.records import Microdata

FEW = 10
"""The largest number of categories for designs that take seconds each beyond it."""
FEASIBLE = 1e-9


@dataclass(frozen=True)
class _Kind:
    """A loss with requirements, of several rows of the table."""

    loss: LossName  # to be minimized
    requirements: str  # in words
    estimator: EstimatorName = "inverse"
    invariant: bool = False
    cost: Cost | None = None
    floor: float | None = None  # of the retention, relative to generalized randomized response
    attributes: tuple[str, ...] = ()  # the only ones in the table; empty: all
    dear: bool = False  # in the table up to `FEW` categories only

    def asked(self, size: int, epsilon: float) -> Requirements:
        """Return the requirements for a number of categories."""
        kept = float(KeepOrReplace.of_epsilon(size, epsilon).matrix()[0, 0])
        floor = None if self.floor is None else self.floor * kept
        invariant, cost = self.invariant, self.cost
        return Requirements(epsilon=epsilon, invariant=invariant, cost=cost, retention=floor)


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
"""The optimized matrices of the figure: attribute, epsilon, kind, and the kind in words."""


def design_table(data: Microdata, epsilons: Sequence[float]) -> pd.DataFrame:
    """Return the losses of optimized channels beside closed forms.

    There is one row per attribute of `data` with two or more categories, epsilon and kind, for the
    true margin without empty categories and `epsilons` above 0, at most 30. ``generalized_rr`` and
    ``two_step`` (invariant) are the losses of the closed forms of that epsilon, ``gain_over_...``
    their ratios to the optimized loss. No channel that meets the requirements has a loss below
    ``lower_bound``. ``optimality`` is global or local. ``exact_epsilon`` and ``worst_violation``
    belong to the optimized matrix.
    """
    return pd.DataFrame(
        {"attribute": attribute, "categories": counts.size}
        | _row(kind, np.asarray(counts / counts.sum()), epsilon)
        for attribute, _, counts in margins(data)
        for kind in KINDS
        if counts.size <= FEW or not kind.dear
        if attribute in (kind.attributes or (attribute,))
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
    """Return the entries of the optimized matrices in `SHOWN`, for `data`."""
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
