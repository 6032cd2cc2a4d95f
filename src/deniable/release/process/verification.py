"""Verify a public folder as an auditor does: without a key, a ledger or original records."""

import math
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd

from deniable.errors import DataError, DeniableError
from deniable.files import read_json
from deniable.plans import Plan, read_plan
from deniable.release.contents import PLAN, README, epsilon_line
from deniable.release.counting import counted_epsilon, epsilon_text
from deniable.release.receipts import refuse_other_files, sums_of
from deniable.release.shuffled import shuffled_file, statement_of_file
from deniable.responses import protected_file

NOT_SHOWN = (
    "that the records were drawn from the original ones, once, and by a key that nobody has",
    "that the ledger is complete, and that no other release of the same people exists",
    "that categories, bounds and epsilon were chosen without the records, unless a risk says so",
    "who approved the plan, and that the key was removed",
)
"""Facts that no public folder can show."""


def verify_release(public: Path | str) -> pd.DataFrame:
    """Verify the `public` folder of a release from its files alone.

    There is one row per check: ``check`` (files, plan, epsilon, records, ledger, shuffled, readme),
    ``holds`` (True or False) and ``about``, with the result or the error. `NOT_SHOWN` lists facts
    that such a folder cannot show. Raises `DataError` if the folder has no plan.
    """
    folder = Path(public)
    if not (folder / PLAN).is_file():
        raise DataError(f"{folder}: no {PLAN}, so not the public folder of a release; name one")
    checks: dict[str, Callable[[], str]] = {"files": lambda: _files(folder)}
    try:
        plan = read_plan(folder / PLAN)
        block = read_json(folder / PLAN)["release"]
        mode, records, whole = block["mode"], block["records"], block.get("shuffled")
    except (DeniableError, ValueError, LookupError, TypeError, AttributeError) as error:
        reason = str(error) if isinstance(error, DeniableError) else "no facts of a release"
        checks["plan"] = lambda: _refuse(reason)
    else:
        checks |= {
            "plan": lambda: "epsilons, guarantees and risks follow from mechanisms and schema",
            "epsilon": lambda: _epsilon(plan),
            "records": lambda: _records(plan, folder, records),
            "ledger": lambda: _ledger(plan, mode, block.get("ledger")),
            "shuffled": lambda: _shuffled(plan, mode, records, whole),
            "readme": lambda: _readme(plan, folder, whole),
        }
    rows = []
    for name, verified in checks.items():
        try:
            rows.append((name, True, verified()))
        except DeniableError as error:
            rows.append((name, False, "; ".join(str(error).splitlines())))
    return pd.DataFrame(rows, columns=["check", "holds", "about"])


def _refuse(reason: str) -> str:
    raise DeniableError(reason)


def _files(folder: Path) -> str:
    refuse_other_files(folder)
    return f"{len(sums_of(folder))} files have the SHA-256 in the list, and no other file is there"


def _epsilon(plan: Plan) -> str:
    audit = plan.audit()
    audit = audit[~audit["of"].isin(plan.unverifiable)]
    failing = audit.loc[audit["holds"].astype(str) == "False", "of"]
    if len(failing) and not plan.refuted:
        raise DeniableError(
            f"{len(failing)} claims fail the audit, the first for {failing.iloc[0]}"
        )
    text = f"{len(audit) - len(failing)} claims hold, computed independently from the plan"
    if len(failing):
        text += f"; {len(failing)} do not, as the plan itself states"
    kept_back = ", ".join(plan.unverifiable)
    return text + (f"; not verifiable, because kept back: {kept_back}" if kept_back else "")


def _records(plan: Plan, folder: Path, stated: Any) -> str:
    responses = plan.responses(protected_file(folder, plan.protected_name))
    if responses.has_randomized_records:
        for _ in responses.batches([each.name for each in plan.schema_of_tables.randomized]):
            pass  # reading refuses a value that no channel of the plan returns
    if responses.records != stated:
        raise DeniableError(f"{responses.records:,} records; {PLAN} states {stated}")
    return f"{stated:,} records, with values that the mechanisms of the plan return"


def _ledger(plan: Plan, mode: str, facts: Any) -> str:
    if mode == "test":
        raise DeniableError("a test release, which protects nobody and which no ledger counts")
    if mode == "clients":
        return "no entry, because clients randomized their answers themselves"
    own = epsilon_text(counted_epsilon(plan.epsilon_in_ledger))
    try:
        number, total = facts["entry"], facts["total"]
        consistent = number >= 1 and re.fullmatch("[0-9a-f]{64}", facts["head"])
        enough = total == own if number == 1 else _value(total) >= _value(own)
    except (LookupError, TypeError, ValueError):
        consistent = enough = False
    if not (consistent and enough):
        raise DeniableError(f"the ledger's entry in {PLAN} contradicts the epsilon {own}")
    return (
        f"entry {number} of its population, total epsilon {total}, of which this release has {own}"
    )


def _value(text: str) -> Fraction | float:
    return math.inf if text == "infinite" else Fraction(text)


def _shuffled(plan: Plan, mode: str, records: int, stated: Any) -> str:
    if stated is None:
        return "no epsilon of the whole file is stated"
    try:
        smallest = stated["within"]["records"] if "within" in stated else None
        found = shuffled_file(plan, records, smallest, test=mode == "test")
    except (LookupError, TypeError, ValueError):
        found = {}
    if stated != found:
        raise DeniableError(f"{PLAN} states another epsilon of the whole file than follows")
    of = "" if smallest is None else f", for a smallest group of {smallest:,} records as stated"
    return f"epsilon and delta of the whole file, or the reasons against them, follow{of}"


def _readme(plan: Plan, folder: Path, shuffled: Any) -> str:
    try:
        text = " ".join((folder / README).read_text("utf-8").split())
        lines = [*map(epsilon_line, plan.guarantees), statement_of_file(plan, shuffled)]
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        raise DeniableError(f"{README} or the facts in {PLAN} cannot be read") from None
    for line in lines:
        if " ".join(line.split()) not in text:
            raise DeniableError(f"{README} lacks the statement: {line}")
    return "states the epsilon of each guarantee in the plan"
