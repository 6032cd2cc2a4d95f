"""State epsilon and delta of the file of a release with rows in a random and secret order."""

import math
from collections.abc import Mapping
from typing import Any

from deniable.plans import Plan
from deniable.privacy import shuffled_guarantee
from deniable.release.counting import Ledger, epsilon_text, shuffled_total

SEED_IS_KNOWN = "the seed of this test release gives the order of the rows"
NOT_BELOW = "for so few records the bound is not below the epsilon of a row"
TOO_MANY = "for so few records and units of so many, the bound has no use"
GROUPS = "{} is released unchanged, so a row is hidden only within its group"
STATEMENT = (
    "Statement of {}, for somebody who has only this folder and cannot see which row is yours. "
    "Replacing {} changes the probability of any result by at most a factor of {} (epsilon = "
    "{:.9g}), apart from a probability of at most one in {:,} (delta = {:.3g}). It does not hold "
    "against the data owner or anybody with the original file, its order or the key."
)
MAX_WRITTEN = 30.0  # epsilons above it have their factor as a power of ten


def shuffled_file(
    plan: Plan, records: int, smallest: int | None = None, *, test: bool = False
) -> dict[str, Any]:
    """Return epsilon and delta of a shuffled file by a `plan`, null with the reasons if none holds.

    The file has so many `records`. If columns with groups of records are released unchanged, the
    guarantee holds ``within`` groups: it follows from the number of records of the `smallest` one.
    For a `test` release nothing holds.
    """
    reasons = [SEED_IS_KNOWN] if test else list(plan.against_shuffling)
    columns = list(plan.unchanged_groups)
    if not reasons and not columns:
        return _amplified(plan, records)
    found = {} if reasons or not smallest else _amplified(plan, smallest)
    reasons += [GROUPS.format(name) for name in columns]
    within = {"within": {"columns": columns, **found}} if found else {}
    return {"epsilon": None, "delta": None, "records": records, "reasons": reasons, **within}


def _amplified(plan: Plan, records: int) -> dict[str, Any]:
    own = {"records": records}
    found = shuffled_guarantee(plan.epsilon, records, unit := plan.schema.records_per_unit)
    if found is None:
        reason = NOT_BELOW if unit == 1 else TOO_MANY
        return {"epsilon": None, "delta": None, **own, "reasons": [reason]}
    return {"epsilon": float(found[0]), "delta": found[1], **own, "reasons": []}


def statement_of_file(plan: Plan, shuffled: Mapping[str, Any] | None) -> str:
    """Return the sentences on the file of a release by a `plan`, for readers.

    `shuffled` is a result of `shuffled_file`; None gives no sentence.
    """
    if shuffled is None:
        return ""
    own, of = shuffled.get("within", shuffled), "the whole file"
    of += f" of part {plan.part.take} of {plan.part.of}" if plan.part else ""
    if own["epsilon"] is None:
        reasons = "; ".join(own["reasons"] or shuffled["reasons"])
        return f"No other statement holds for the whole file: {reasons}."
    unit, epsilon, delta = plan.schema.records_per_unit, own["epsilon"], own["delta"]
    changed = "your whole record" if unit == 1 else f"all of your records, at most {unit:,},"
    if own is not shuffled:
        groups = " and ".join(own["columns"])
        of = f"the file within groups by {groups}, of at least {own['records']:,} records"
        changed += f" except {groups}"
    return STATEMENT.format(of, changed, fold_text(epsilon), epsilon, int(1 / delta), delta)


def fold_text(epsilon: float) -> str:
    """Return exp(`epsilon`), a finite number of at least 0, rounded up to three digits."""
    if epsilon > MAX_WRITTEN:
        return f"10^{math.ceil(epsilon / math.log(10))}"
    factor = math.exp(epsilon)
    digits = 2 - math.floor(math.log10(factor))
    return f"{math.ceil(factor * 10.0**digits) / 10.0**digits:,.{max(digits, 0)}f}"


def folders_alone(ledger: Ledger, population: str) -> str:
    """Return the total of a `population` in a `ledger` for somebody who has its folders alone.

    The text is empty if it is the total of the ledger.
    """
    epsilon, delta = shuffled_total(ledger.entries(population))
    if not delta or math.isinf(epsilon):
        return ""
    return (
        f"total of population {population}, for somebody who has its public folders alone: epsilon "
        f"{epsilon_text(epsilon)}, delta {float(delta):.3g}"
    )
