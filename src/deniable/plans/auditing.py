"""The audit of plans: compare stated epsilons with independently computed ones."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import pandas as pd

from deniable.channels import Channel, product_of_ratios
from deniable.privacy import (
    FLOAT_TOLERANCE,
    cells_differing_in_one_attribute,
    column_epsilon,
    epsilon_of_ratio,
    largest_ratio,
    whole_weights,
)

if TYPE_CHECKING:
    from deniable.plans.interface import Plan
    from deniable.pram import Stratum
    from deniable.privacy import Requirement
    from deniable.randomized_response import Protocol

MAX_CELLS_BY_ENTRY = 2**16
"""Entries of a matrix up to which each ratio is computed in fractions; that takes seconds."""
MAX_DENSE = 1 << 24  # entries of a matrix up to which its floats are audited too
EVERY_ENTRY, CLOSED_FORM = "every entry", "closed form of the channel"
AUDIT_COLUMNS = (
    *("unit", "of", "claimed_epsilon", "exact_epsilon", "shipped_epsilon"),
    *("kind", "shown_by", "holds"),
)


def audit_row(
    unit: str, of: str, claimed: float, exact: float, shipped: float, shown_by: str
) -> dict[str, object]:
    """Return the row of a claim, in the columns `AUDIT_COLUMNS`.

    The claim holds if the exact epsilon is not above it. The shipped epsilon, of floats, may be
    above it by rounding.

    The claim is about the `unit` of privacy and the column, block or record `of`. Its epsilons are
    the stated one (`claimed`), the `exact` one, which the method in `shown_by` computed, and the
    one of the floats in use (`shipped`).
    """
    slack = claimed * (1 + FLOAT_TOLERANCE) + FLOAT_TOLERANCE
    holds = exact <= claimed and shipped <= slack
    values = (unit, of, claimed, exact, shipped, "exact", shown_by, holds)
    return dict(zip(AUDIT_COLUMNS, values, strict=True))


@dataclass(frozen=True)
class Ratios:
    """The largest `ratio` of probabilities of some randomized values; None if one is 0.

    `shipped` is the logarithm of the largest ratio of the floats, and `shown_by` the method.
    """

    ratio: Fraction | None
    shipped: float
    shown_by: str

    @cached_property
    def exact(self) -> float:
        """The exact epsilon, rounded up."""
        return epsilon_of_ratio(self.ratio)

    def composed(self, other: "Ratios") -> "Ratios":
        """Return the largest ratio of these and `other`, independent values together."""
        ways = dict.fromkeys([*self.shown_by.split(" and "), *other.shown_by.split(" and ")])
        ratio = product_of_ratios([self.ratio, other.ratio])
        return Ratios(ratio, self.shipped + other.shipped, " and ".join(ways))

    def row(self, unit: str, of: str, claimed: float) -> dict[str, object]:
        """Return the row of a claim; `unit`, `of` and `claimed` as in `audit_row`."""
        return audit_row(unit, of, claimed, self.exact, self.shipped, self.shown_by)

    def required_row(self, unit: str, of: str, required: "Requirement") -> dict[str, object]:
        """Return the row of a requirement, `required`; `unit` and `of` as in `audit_row`."""
        found = self.row(f"{unit}, {required.label}", of, required.epsilon)
        return found | {"holds": required.allows(self.ratio)}


def audit_protocols(plan: "Plan", protocols: "Mapping[Stratum, Protocol]") -> pd.DataFrame:
    """Audit the stated epsilons of a `plan` with these `protocols`, one per stratum.

    Ratios of probabilities are taken over all entries of a channel's columns, in fractions, without
    the channel's own epsilon; for a matrix of over 65,536 entries by the closed form of its kind.
    Independent randomized values compose exactly: ratios are multiplied, and the logarithm is
    rounded up once.

    There is one row per claim, in the columns `AUDIT_COLUMNS`. ``unit`` is "block", "attribute" (a
    change of one column, also of one that is released unchanged), "record" or "record, target" (the
    requested epsilon). A requirement has rows with its name, and is compared with the ratios in
    fractions.
    """
    required, by_attribute = plan.requirement, plan.epsilon_by_changed_attribute()
    rows: list[dict[str, object]] = []
    worst: dict[str | None, Ratios] = {}
    for stratum, protocol in protocols.items():
        found: dict[str | None, Ratios] = {}
        for cluster, channel in zip(protocol.clusters, protocol.channels, strict=True):
            shape = protocol.domain.project(cluster).shape
            of = " x ".join(cluster) + (f" in {' x '.join(stratum)}" if stratum else "")
            for changed, own in _ratios(cluster, channel, shape):
                if changed is None:
                    rows.append(own.row("block", of, channel.epsilon))
                    if required is not None and required.of == "column":
                        rows.append(own.required_row("block", of, required))
                found[changed] = found[changed].composed(own) if changed in found else own
        for changed, own in found.items():
            worst[changed] = max(worst.get(changed, own), own, key=lambda each: each.exact)
    for name in sorted(by_attribute, key=lambda each: each not in worst):
        own = worst.get(name, Ratios(None, math.inf, "released unchanged"))
        rows.append(own.row("attribute", name, by_attribute[name]))
    rows.append(worst[None].row("record", "all attributes", plan.epsilon))
    rows.append(worst[None].row("record, target", "all attributes", plan.target))
    if required is not None and required.of == "record":
        rows.append(worst[None].required_row("record", "all attributes", required))
    return pd.DataFrame(rows, columns=list(AUDIT_COLUMNS))


def _ratios(
    cluster: tuple[str, ...], channel: Channel, shape: tuple[int, ...]
) -> Iterator[tuple[str | None, Ratios]]:
    """Yield the ratios of a change of all columns of a cluster (None), and of each one alone."""
    entries = channel.size * channel.reports
    weights = whole_weights(channel) if entries <= MAX_CELLS_BY_ENTRY else None
    matrix = channel.matrix() if entries <= MAX_DENSE else None
    way = EVERY_ENTRY if weights is not None else CLOSED_FORM
    for position, changed in enumerate((None, *cluster), start=-1):
        classes = None if changed is None else cells_differing_in_one_attribute(shape, position)
        if (cells := channel.possible_cells) is not None:
            classes = [cells.tolist()]  # a column may change only together with another one
        if weights is not None:
            ratio = largest_ratio(weights, classes)
        elif changed is None:
            ratio = channel.exact_parity
        else:
            ratio = channel.parity_of_attribute(shape, position)
        shipped = epsilon_of_ratio(ratio) if matrix is None else column_epsilon(matrix, classes)
        yield changed, Ratios(ratio, shipped, way)
