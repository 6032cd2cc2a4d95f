"""Plans as JSON documents: written, read, and verified."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from deniable.errors import DataError, DeniableError, shown
from deniable.files import write_json
from deniable.plans.fields import fields_to_json
from deniable.plans.interface import Plan
from deniable.plans.kinds import plan_class
from deniable.texts import read_given_json

FORMAT, VERSION = "deniable-plan", 2
RELEASE = "release"
"""The block of a release in its public plan.json; no part of the plan."""
FAULTS = (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, IndexError)


def plan_to_json(plan: Plan) -> dict[str, Any]:
    """Return the JSON document of a `plan`, as plain values."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "kind": plan.kind,
        **fields_to_json(plan),
        plan.kind: plan.to_json(),
        "schema": plan.schema.to_json(),
    }


def plan_from_json(values: Any, where: str = "the plan") -> Plan:
    """Rebuild a plan from its JSON document and compare it with everything that this states.

    Parameters
    ----------
    values : dict
        As `plan_to_json` returned them. A block ``release`` is ignored.
    where : str
        The place that messages begin with.

    Raises
    ------
    DataError
        If the document is not a plan, has unknown fields, or states other epsilons, guarantees or
        risks than follow from its channels and its schema.
    """
    if not isinstance(values, dict) or values.get("format") != FORMAT:
        raise DataError(f"{where}: not a plan; deniable plan makes one")
    if values.get("version") == 1:
        raise DataError(f"{where}: made by an earlier deniable; make the plan again")
    if values.get("version") != VERSION:
        raise DataError(
            f"{where}: a plan of version {shown(values.get('version'))}; this deniable reads "
            f"version {VERSION}"
        )
    given = {name: value for name, value in values.items() if name != RELEASE}
    try:
        plan = plan_class(given.get("kind")).from_json(given)
        stated = plan_to_json(plan)
    except DataError as error:
        raise DataError(f"{where}: {error}") from None
    except FAULTS as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise DataError(f"{where}: damaged or edited ({reason}); make the plan again") from None
    except DeniableError as error:
        raise DataError(f"{where}: {error}") from None
    for difference in _differences(stated, given, ""):
        raise DataError(f"{where}: {difference}; make the plan again")
    return plan


def _differences(stated: Any, given: Any, place: str) -> Iterator[str]:
    """Yield each difference between a rebuilt plan and the document that is read."""
    if isinstance(stated, dict) and isinstance(given, dict):
        for name in (*stated, *given):
            at = f"{place}.{name}".strip(".")
            if name not in stated:
                yield f"unknown field {shown(at)}"
            elif name not in given:
                yield f"the field {shown(at)} is missing"
            else:
                yield from _differences(stated[name], given[name], at)
    elif isinstance(stated, list) and isinstance(given, list) and len(stated) == len(given):
        for number, (own, other) in enumerate(zip(stated, given, strict=True)):
            yield from _differences(own, other, f"{place}[{number}]")
    elif type(stated) is not type(given) or stated != given:
        yield (
            f"{place} is {shown(given)}, but {shown(stated)} follows from the plan's channels and "
            "schema"
        )


def read_plan(path: Path | str) -> Plan:
    """Read the plan at a `path`, and compare it with everything that it states.

    Raises
    ------
    DataError
        As `plan_from_json`, or if the file cannot be read.
    """
    return plan_from_json(read_given_json(path), str(path))


def write_plan(path: Path | str, plan: Plan) -> None:
    """Write a `plan` to a file at a `path`, whole or not at all."""
    write_json(Path(path), plan_to_json(plan))


def verify_plan(path: Path | str) -> pd.DataFrame:
    """Compute the epsilons of the plan at a `path` independently; see `Plan.audit`.

    Raises
    ------
    DataError
        As `read_plan`.
    """
    return read_plan(path).audit()
