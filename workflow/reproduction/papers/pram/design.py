"""Compare the losses of optimized matrices with closed forms, on the attributes of a data set.

All matrices of a row have the same bound on their exact ε and meet the same requirements. A closed
form that does not is left out. Losses are for one record: variances without the variance of
sampling (the target "file"), or proportions and costs. The search has a fixed seed.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from deniable.arrays import Floats
from deniable.channels import KeepOrReplace, two_step_with_epsilon
from deniable.design import Cost, Requirements, design, violations
from deniable.design.programs import EstimatorName, LossName, loss_of
from deniable.pram import margins
from deniable.records import Microdata

FEW = 10  # largest number of categories for kinds that take seconds each with more categories
FLOOR = 0.9  # least retention, relative to generalized randomized response
ORDERED = ("education", "income")  # attributes with categories in order
FEASIBLE = 1e-9


class _Kind(NamedTuple):
    """A `loss` to minimize, and requirements besides ε (`needs`), for several rows of the table.

    The requirements are "invariant", "retention floor" (a lower bound on the retention), and
    "inverted" (the estimate inverts the matrix although it is invariant).
    """

    loss: LossName
    needs: tuple[str, ...] = ()

    @property
    def estimator(self) -> EstimatorName:
        """The estimator: proportions of randomized values if invariant and not inverted."""
        return "reports" if self.needs == ("invariant",) else "inverse"

    def asked(self, size: int, epsilon: float) -> Requirements:
        """Return the requirements; the cost "distance" is between ordered categories."""
        kept = None
        if "retention floor" in self.needs:
            kept = FLOOR * float(KeepOrReplace.of_epsilon(size, epsilon).matrix()[0, 0])
        cost = Cost(power=1) if self.loss == "distance" else None
        invariant = "invariant" in self.needs
        return Requirements(epsilon=epsilon, invariant=invariant, cost=cost, retention=kept)


TRACE = _Kind("trace")
INVARIANT = _Kind("trace", ("invariant",))
ORDINAL = _Kind("distance", ("invariant",))
KINDS = (
    TRACE,
    _Kind("worst_cell"),
    _Kind("worst_cell", ("retention floor",)),
    INVARIANT,
    _Kind("trace", ("invariant", "inverted")),
    _Kind("changed", ("invariant",)),
    ORDINAL,
)
SHOWN: tuple[tuple[str, float, _Kind, str], ...] = (
    ("marital-status", 0.5, TRACE, "least trace"),
    ("education", 2.0, TRACE, "least trace"),
    ("race", 2.0, INVARIANT, "invariant, least trace of the responses' proportions"),
    ("education", 2.0, ORDINAL, "invariant, least ordinal distance"),
)  # the optimized matrices of the figure: attribute, epsilon, kind, and the kind in words


def design_table(data: Microdata, epsilons: Sequence[float]) -> pd.DataFrame:
    """Return the losses of optimized matrices and of closed forms.

    There is one row per attribute of `data` with two or more categories, ε and kind. Matrices are
    for the original proportions without empty categories, and for `epsilons` in (0, 30].
    ``generalized_rr`` and ``two_step`` (invariant) are the losses of the closed forms with that ε,
    and ``gain_over_...`` are their ratios to the optimized loss. ``lower_bound`` is a lower bound
    on the loss of all matrices that meet the requirements. ``optimality`` is "global" or "local".
    ``exact_epsilon`` and ``worst_violation`` belong to the optimized matrix.
    """
    return pd.DataFrame(
        {"attribute": attribute, "categories": counts.size}
        | _row(kind, np.asarray(counts / counts.sum()), epsilon)
        for attribute, _, counts in margins(data)
        for kind in KINDS
        if counts.size <= FEW or not {"retention floor", "inverted"} & {*kind.needs}
        if kind.loss != "distance" or attribute in ORDERED
        for epsilon in epsilons
    )


def _row(kind: _Kind, shares: Floats, epsilon: float) -> dict[str, Any]:
    requirements = kind.asked(shares.size, epsilon)
    found = design(shares, requirements, kind.loss, estimator=kind.estimator, target="file")
    costs = None if requirements.cost is None else requirements.cost.costs(shares.size)
    loss = loss_of(kind.loss, shares, estimator=kind.estimator, target="file", costs=costs)
    closed = {
        "generalized_rr": KeepOrReplace.of_epsilon(shares.size, epsilon).matrix(),
        "two_step": two_step_with_epsilon(shares, epsilon).matrix(),
    }
    losses = dict.fromkeys(closed, np.nan)
    for name, P in closed.items():
        if max(violations(P, shares, requirements).values()) <= FEASIBLE:
            losses[name] = loss.value(P)
    return {
        "epsilon": epsilon,
        "loss": kind.loss,
        "requirements": ", ".join(("epsilon", *kind.needs)),
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
