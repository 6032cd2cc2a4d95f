"""Plans as JSON documents: write, read and verify them."""

import math
import re
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from deniable import privacy
from deniable.errors import DataError, DeniableError, named_types, shown
from deniable.files import write_json
from deniable.plans.interface import Plan
from deniable.plans.settings import plan_class
from deniable.schema import Part, schema_from_dict
from deniable.texts import MAX_BYTES, read_given_json, text_of

FORMAT, VERSION = "deniable-plan", 2
RELEASE = "release"  # the block of a release in its public plan.json; not a part of the plan
SCHEMA = re.compile(r"^format\s*:\s*[\"']?deniable-schema\b", re.MULTILINE)
"""A line of a schema in YAML."""
DAMAGES = (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, IndexError)


def epsilon_to_json(epsilon: float) -> float | str:
    """Return an `epsilon` as a JSON value, "infinity" if infinite; `float` reads both forms."""
    return epsilon if math.isfinite(epsilon) else "infinity"


def plan_to_json(plan: Plan) -> dict[str, Any]:
    """Return the JSON document of a `plan`, as plain values."""
    by_attribute = plan.epsilon_by_changed_attribute()
    required, unit = plan.requirement, plan.guarantees[0]
    of_unit = {"unit": epsilon_to_json(unit.epsilon)} if plan.schema.unit else {}
    return {
        "format": FORMAT,
        "version": VERSION,
        "kind": plan.kind,
        "made_by": plan.made_by,
        **({} if plan.author is None else {"author": plan.author}),
        "part": None if plan.part is None else asdict(plan.part),
        "unit": unit.unit,
        "epsilon": {
            "target": epsilon_to_json(plan.target),
            **of_unit,
            "record": epsilon_to_json(plan.epsilon),
            "by_changed_attribute": {n: epsilon_to_json(e) for n, e in by_attribute.items()},
        },
        **({} if required is None else {"requirement": required.to_json()}),
        "guarantees": [
            asdict(own) | {"epsilon": epsilon_to_json(own.epsilon), "conditions": [*own.conditions]}
            for own in plan.guarantees
        ],
        "chosen_from": plan.chosen_from,
        "accept": list(plan.accept),
        "risks": dict(plan.risks),
        "not_covered": list(plan.not_covered),
        "order": plan.order,
        plan.kind: plan.to_json(),
        "schema": plan.schema.to_json(),
    }


def plan_from_json(values: Any, where: str = "the plan") -> Plan:
    """Rebuild a plan from its JSON document, and compare the plan with all statements in it.

    `plan_to_json` returns such `values`; a block ``release`` is ignored. Raises `DataError` if the
    document is not a plan, has unknown fields, or states other epsilons, guarantees or risks than
    follow from its channels and schema. Messages begin with the place, `where`.
    """
    if not isinstance(values, dict) or values.get("format") != FORMAT:
        other = isinstance(values, dict) and values.get("format") == "deniable-schema"
        what = "this is a schema, and a plan is needed" if other else f"not a plan, format {FORMAT}"
        raise DataError(f"{where}: {what}; deniable plan makes one")
    if values.get("version") != VERSION:
        raise DataError(
            f"{where}: a plan of version {shown(values.get('version'))}; this deniable reads "
            f"version {VERSION}, so make the plan again"
        )
    given = {name: value for name, value in values.items() if name != RELEASE}
    try:
        kind = plan_class(given.get("kind"))
        part = given["part"]
        fields = {
            "schema": schema_from_dict(given["schema"], "schema"),
            "target": float(given["epsilon"]["target"]),
            "chosen_from": given["chosen_from"],
            "accept": tuple(given["accept"]),
            "order": given["order"],
            "part": None if part is None else Part(part["of"], part["take"], part["seed"]),
            "made_by": str(given["made_by"]),
            "author": given.get("author"),
        }
        if "requirement" in given:
            fields["requirement"] = privacy.Requirement.from_json(given["requirement"])
        plan = kind.from_json(given[kind.kind], fields)
        stated = plan_to_json(plan)
    except DeniableError as error:
        raise DataError(f"{where}: {error}") from None
    except DAMAGES as error:
        reason = f" ({error} is missing)" if isinstance(error, KeyError) else f" ({error})"
        reason = "" if isinstance(error, TypeError) else reason
        raise DataError(f"{where}: damaged or edited{reason}; make the plan again") from None
    for difference in _differences(stated, given, ""):
        raise DataError(f"{where}: {difference}; make the plan again")
    return plan


def _differences(stated: Any, given: Any, place: str) -> Iterator[str]:
    """Yield each difference between a rebuilt plan and the document."""
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


@named_types
def read_plan(path: Path | str) -> Plan:
    """Read the plan at a `path`; errors as in `plan_from_json`."""
    try:
        values = read_given_json(path)
    except DataError:
        if not SCHEMA.search(text_of(path, 100 * MAX_BYTES)):
            raise
        values = {"format": "deniable-schema"}
    return plan_from_json(values, str(path))


@named_types
def write_plan(path: Path | str, plan: Plan) -> None:
    """Write a `plan` to a `path`; if matrices are kept back, only the owner can read the file."""
    write_json(Path(path), plan_to_json(plan), closed=plan.published is not plan)


@named_types
def verify_plan(path: Path | str) -> pd.DataFrame:
    """Compute the epsilons of the plan at a `path` independently; see `Plan.audit`."""
    return read_plan(path).audit()
