"""Guarantees of plans, and their risks, which the data owner must accept by name."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType
from typing import Literal

from deniable.channels import rounded_up
from deniable.errors import DeniableError, shown
from deniable.records import shortened
from deniable.schema import Schema

Origin = Literal[
    "no data",
    "a public prior",
    "randomized answers",
    "the data, by a curator",
    "the data, by a secure sum",
]
"""The information by which a plan was chosen."""
BY_CURATOR: Origin = "the data, by a curator"
BY_SUM: Origin = "the data, by a secure sum"
BY_DATA = (BY_CURATOR, BY_SUM)
RISKS: Mapping[str, str] = MappingProxyType(
    {
        "drafted": "categories or bounds were drafted from the records; no epsilon covers this",
        "chosen_by_data": "channels or clusters were chosen by the original records; no epsilon "
        "covers this choice",
        "bounds_from_refusals": "bounds or categories were changed after a refusal by the original "
        "records; no epsilon covers this choice",
        "epsilon_from_test": "epsilon was chosen after a test release of the original records; no "
        "epsilon covers this choice",
        "records_dropped": "records with missing values are left out, so their number is revealed",
        "identifiers_released": "identifiers are released unchanged, so each record shows to which "
        "respondent it belongs",
        "weights_released": "weights are released unchanged; a rare weight can re-identify its "
        "record",
        "no_epsilon_for_records": "no finite epsilon holds for the records: all records of a "
        "cluster have one value, and another value of one record changes the clusters",
        "no_floor": "no finite epsilon holds: fake answers follow from earlier answers without a "
        "floor, and a cell that is never a fake answer reveals the original one",
        "original_values_released": "clusters of equal values are released without noise, so their "
        "original values are published",
        "largest_values_shown": "the ends of the domains reveal the largest value of each column",
    }
)
"""All risks that a plan can have, by name, with their reasons."""
SHOWN_BY_SUM = (
    "clusters were chosen by the exact tables of a secure sum, which all who have the partial sums "
    "can see; no epsilon covers these tables"
)
CLASSES_RISK = (
    "weights are released as the values of public classes, which all estimates use; a class with "
    "few records can help to re-identify them"
)
KEPT_BACK_RISK = (
    "the matrices were computed from the original frequencies, and the data owner keeps them back; "
    "the original frequencies of a block in a stratum are still published within randomization "
    "error, as those of the randomized values; no finite epsilon holds for the choice of the "
    "matrices, so keep the plan with the matrices confidential"
)
INVARIANT_RISK = (
    "the matrices were computed from the original frequencies and disclose them: the frequencies "
    "of a block in a stratum are the stationary distribution of its matrix, so they are published "
    "with it, exactly; an intruder with all other records of the stratum can infer the last one; "
    "no finite epsilon holds for the matrices"
)
BY_OWNER = ("bounds_from_refusals", "epsilon_from_test")
"""Choices by the data that only the owner knows; they hold if they are accepted."""
RELEASED_KINDS = {"identifier": "identifiers_released", "weight": "weights_released"}
"""Kinds of columns that are released unchanged if the risk is accepted."""


@dataclass(frozen=True)
class Guarantee:
    """An exact `epsilon` of a `unit` of privacy, and the `conditions` under which it holds.

    `epsilon` is rounded up, and infinite if no finite one is proved. Conditions are sentences.
    """

    epsilon: float
    unit: str
    conditions: tuple[str, ...] = ()


def sum_of_epsilons(epsilons: Iterable[float | Fraction], times: int = 1) -> float:
    """Return `times` the sum of `epsilons`, rounded up; infinite if one of them is."""
    if math.inf in (known := [*epsilons]):
        return math.inf
    return rounded_up(sum((Fraction(each) for each in known), Fraction()) * times)


def guarantee_of_unit(record: Guarantee, schema: Schema, strata: Sequence[str]) -> Guarantee:
    """Return the guarantee of a unit of the `schema`, from the one of a `record`.

    Its epsilon is the sum over the records of the unit, rounded up. It is exact, because these are
    randomized independently. The columns `strata` are released unchanged.
    """
    most, name = schema.records_per_unit, schema.unit.name if schema.unit else "respondent"
    total = sum_of_epsilons([record.epsilon], most)
    stay = f", that stay in their strata of {' and '.join(strata)}" if strata else ""
    return replace(record, epsilon=total, unit=f"all records of one {name}, at most {most}{stay}")


def schema_risks(schema: Schema, chosen_from: Origin, accept: Sequence[str]) -> dict[str, str]:
    """Return the risks of a file by name, each with its reason.

    They follow from its `schema`, from the information by which channels were chosen
    (`chosen_from`), and from columns that are released because `accept` has the name of the risk.
    """
    holds = {
        "drafted": bool(schema.drafted),
        "chosen_by_data": chosen_from in BY_DATA,
        "records_dropped": any(each.missing.policy == "drop" for each in schema.randomized),
        **{name: name in accept for name in (*BY_OWNER, *RELEASED_KINDS.values())},
    }
    own = {"chosen_by_data": SHOWN_BY_SUM} if chosen_from == BY_SUM else {}
    weights = [each for each in schema.columns if each.kind == "weight"]
    if weights and all(each.classes for each in weights):
        own["weights_released"] = CLASSES_RISK
    return {name: own.get(name, RISKS[name]) for name, so in holds.items() if so}


def invariant_risks(weight: str | None, *, kept_back: bool) -> dict[str, str]:
    """Return the risks of invariant matrices, which are published unless `kept_back`.

    They keep the frequencies weighted by a column `weight`, if one is given.
    """
    risk = KEPT_BACK_RISK if kept_back else INVARIANT_RISK
    if weight is not None:
        risk += f"; here these are the frequencies weighted by {shown(weight)}"
    return {"chosen_by_data": risk}


def released_columns(schema: Schema, accept: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of a `schema` that are released unchanged, by the risks in `accept`."""
    columns = schema.columns
    return tuple(each.name for each in columns if RELEASED_KINDS.get(each.kind, "") in accept)


def refuse_unaccepted(risks: Mapping[str, str], accept: Sequence[str], schema: Schema) -> None:
    """Raise `DeniableError` if a name in `risks` is not accepted, or a name in `accept` is unknown.

    The message names the columns of the `schema` that have a risk.
    """
    for name in accept:
        if name not in RISKS:
            raise DeniableError(f"accept: {name!r} is not a risk; allowed: {', '.join(RISKS)}")
    if not (missing := [name for name in risks if name not in accept]):
        return
    dropped = [each.name for each in schema.randomized if each.missing.policy == "drop"]
    remedies = {
        "drafted": ". Declare categories and bounds without the records, and write status: "
        f"declared; drafted columns: {shortened(', '.join(schema.drafted))}",
        "records_dropped": f". Columns with policy drop: {shortened(', '.join(dropped))}",
    }
    reasons = "; ".join(f"{name} ({risks[name]})" for name in missing)
    more = "".join(remedies.get(name, "") for name in missing)
    raise DeniableError(
        f"{reasons}{more}. Change the schema or the mechanism, or accept as the data owner: "
        f"--accept {' '.join(missing)}"
    )
