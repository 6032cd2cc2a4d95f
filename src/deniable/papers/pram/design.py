"""What channels designed by optimization gain over closed forms, on a data set's attributes.

All channels of a row have the same bound on their exact epsilon, and meet the same requirements; a
closed form that cannot is left out. Losses are those of one record: variances without that of
sampling (the target "file"), or shares and costs of a record. They depend on nothing random, and
the search for a design has a seed of its own: the same data give the same table.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from deniable.arrays import Floats
from deniable.channels import two_step_with_epsilon
from deniable.design import Cost, Design, Requirements, design, violations
from deniable.design.programs import Estimator, LossName, loss_of
from deniable.pram import channel_of_epsilon
from deniable.records import Microdata
from deniable.study import Given

COLUMNS = (
    "attribute",
    "categories",
    "epsilon",
    "loss",
    "requirements",
    "estimator",
    "designed",
    "generalized_rr",
    "two_step",
    "gain_over_generalized_rr",
    "gain_over_two_step",
    "lower_bound",
    "optimality",
    "exact_epsilon",
    "worst_violation",
)
DEFAULT_EPSILONS = (0.5, 1.0, 2.0, 4.0)
ORDINAL = ("education", "income")
"""Attributes whose categories are in order, for costs that grow with the distance."""
FLOOR = 0.9
"""Retention floors, as a share of the retention of generalized randomized response."""
FEW = 10
"""Categories up to which the dearest designs are in the table: with more they take seconds each."""
FEASIBLE = 1e-9


@dataclass(frozen=True)
class Kind:
    """A loss with requirements, as rows of the table have them.

    Attributes
    ----------
    loss : str
    requirements : str
        In words.
    asked : callable
        From the attribute's shares and epsilon to the requirements.
    estimator : str
        Of the estimate whose variance is meant.
    takes : callable
        From the attribute's name and number of categories to whether it is in the table.
    """

    loss: LossName
    requirements: str
    asked: Callable[[Floats, float], Requirements]
    estimator: Estimator = "inverse"
    takes: Callable[[str, int], bool] = lambda _, __: True


def _floor(shares: Floats, epsilon: float) -> Requirements:
    retention = float(channel_of_epsilon(shares.size, epsilon).matrix()[0, 0])
    return Requirements(epsilon=epsilon, retention=FLOOR * retention)


def _alone(shares: Floats, epsilon: float) -> Requirements:
    return Requirements(epsilon=epsilon)


def _invariant(shares: Floats, epsilon: float) -> Requirements:
    return Requirements(epsilon=epsilon, invariant=True)


def _ordinal(shares: Floats, epsilon: float) -> Requirements:
    return Requirements(epsilon=epsilon, invariant=True, cost=Cost(power=1))


KINDS = (
    Kind("trace", "epsilon", _alone),
    Kind("worst_cell", "epsilon", _alone),
    Kind("worst_cell", "epsilon, retention floor", _floor, takes=lambda _, size: size <= FEW),
    Kind("trace", "epsilon, invariant", _invariant, "reports"),
    Kind(
        "trace",
        "epsilon, invariant, inverted",
        _invariant,
        takes=lambda _, size: size <= FEW,
    ),
    Kind("changed", "epsilon, invariant", _invariant, "reports"),
    Kind(
        "distance",
        "epsilon, invariant",
        _ordinal,
        "reports",
        takes=lambda attribute, _: attribute in ORDINAL,
    ),
)


def design_table(data: Microdata, epsilons: Sequence[float] = DEFAULT_EPSILONS) -> pd.DataFrame:
    """Return the losses of designed channels beside those of closed forms.

    Parameters
    ----------
    data : Microdata
        Whose margins are designed for; categories without records are left out.
    epsilons : sequence of float, above 0, at most 30

    Returns
    -------
    DataFrame
        A row for each attribute of two or more categories, epsilon and kind: ``attribute``,
        ``categories``, ``epsilon``, ``loss``, ``requirements``, ``estimator``; the losses
        ``designed``, ``generalized_rr`` (generalized randomized response of that epsilon),
        ``two_step`` (the invariant two-step matrix of that epsilon); ``gain_over_generalized_rr``
        and ``gain_over_two_step`` (their loss divided by the designed one); ``lower_bound`` (no
        channel that meets the requirements has less), ``optimality`` (global or local),
        ``exact_epsilon`` and ``worst_violation`` of the designed matrix.
    """
    rows: list[dict[str, Any]] = []
    for attribute, _, shares in _margins(data):
        for kind in KINDS:
            if kind.takes(attribute, shares.size):
                for epsilon in epsilons:
                    which = {"attribute": attribute, "categories": shares.size}
                    rows.append(which | _row(kind, shares, epsilon))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _row(kind: Kind, shares: Floats, epsilon: float) -> dict[str, Any]:
    requirements = kind.asked(shares, epsilon)
    found = design(shares, requirements, kind.loss, estimator=kind.estimator, target="file")
    costs = None if requirements.cost is None else requirements.cost.costs(shares.size)
    loss = loss_of(kind.loss, shares, estimator=kind.estimator, target="file", costs=costs)
    closed = {
        "generalized_rr": channel_of_epsilon(shares.size, epsilon).matrix(),
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


@dataclass(frozen=True)
class Shown:
    """A design whose matrix is drawn."""

    attribute: str
    epsilon: float
    kind: int
    title: str


SHOWN = (
    Shown("marital-status", 0.5, 0, "least trace"),
    Shown("education", 2.0, 0, "least trace"),
    Shown("race", 2.0, 3, "invariant, least trace of the reports' shares"),
    Shown("education", 2.0, 6, "invariant, least ordinal distance"),
)


def channel_table(data: Microdata) -> pd.DataFrame:
    """Return some designed matrices, entry by entry.

    Returns
    -------
    DataFrame
        ``design`` (attribute, epsilon and what is least), ``true``, ``reported``, ``probability``.
    """
    margins = {attribute: (names, shares) for attribute, names, shares in _margins(data)}
    tables = []
    for shown in SHOWN:
        if shown.attribute in margins:
            names, shares = margins[shown.attribute]
            kind = KINDS[shown.kind]
            requirements = kind.asked(shares, shown.epsilon)
            found = design(shares, requirements, kind.loss, estimator=kind.estimator)
            title = f"{shown.attribute}, epsilon {shown.epsilon:g}: {shown.title}"
            tables.append(_entries(title, names, found))
    columns = ["design", "true", "reported", "probability"]
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=columns)


def _entries(title: str, names: Sequence[str], found: Design) -> pd.DataFrame:
    size = len(names)
    return pd.DataFrame(
        {
            "design": title,
            "true": np.repeat(names, size),
            "reported": np.tile(names, size),
            "probability": found.channel.matrix().ravel(),
        }
    )


def _margins(data: Microdata) -> Iterator[tuple[str, list[str], Floats]]:
    """Yield each attribute with two or more categories that occur: name, categories, shares."""
    for attribute in data.domain.attributes:
        counts = data.counts((attribute.name,)).reshape(-1)
        present = np.flatnonzero(counts)
        if present.size >= 2:
            names = [attribute.categories[int(v)] for v in present]
            yield attribute.name, names, np.asarray(counts[present] / counts.sum())


def designed(given: Given) -> dict[str, pd.DataFrame]:
    """Design channels by convex optimization for attributes of Adult."""
    data = given.data["adult"]
    source = data.marks["data_source"]
    return {
        "pram_design": design_table(data, given.settings["epsilons"]).assign(data_source=source),
        "pram_channels": channel_table(data).assign(data_source=source),
    }
