"""Fields of a plan's JSON document that all kinds of plans have."""

import math
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from deniable.errors import DataError, shown
from deniable.plans.interface import Part, Plan
from deniable.schema import schema_from_dict

INFINITY = "infinity"
"""The text of an infinite epsilon, which JSON numbers cannot express."""
FRACTION = re.compile(r"-?[0-9]{1,400}(/[1-9][0-9]{0,399})?")


def epsilon_to_json(epsilon: float) -> float | str:
    """Return an `epsilon` as a JSON value; `float` reads both forms."""
    return epsilon if math.isfinite(epsilon) else INFINITY


def exact_text(number: float) -> str:
    """Return a finite `number` as an exact fraction, such as "3/2"; `number_from_text` reads it."""
    return str(Fraction(number))


def number_from_text(text: Any) -> float:
    """Return the number of a `text` that a document contains as an exact fraction.

    Raises
    ------
    DataError
        If the text is not a fraction of whole numbers with at most 400 digits each.

    Examples
    --------
    >>> number_from_text(exact_text(0.1)) == 0.1
    True
    """
    if not isinstance(text, str) or not FRACTION.fullmatch(text):
        raise DataError(f"{shown(text)} is not a fraction, such as '3/2'; make the plan again")
    return float(Fraction(text))


def fields_to_json(plan: Plan) -> dict[str, Any]:
    """Return the fields of a `plan` that all kinds have, without its kind and its schema."""
    by_attribute = plan.epsilon_by_changed_attribute()
    return {
        "made_by": plan.made_by,
        "part": None
        if plan.part is None
        else {"of": plan.part.of, "take": plan.part.take, "seed": plan.part.seed},
        "unit": plan.unit,
        "epsilon": {
            "target": epsilon_to_json(plan.target),
            "record": epsilon_to_json(plan.epsilon),
            "by_changed_attribute": {n: epsilon_to_json(e) for n, e in by_attribute.items()},
        },
        "guarantees": [
            {
                "epsilon": epsilon_to_json(each.epsilon),
                "unit": each.unit,
                "conditions": list(each.conditions),
            }
            for each in plan.guarantees
        ],
        "chosen_from": plan.chosen_from,
        "accept": list(plan.accept),
        "risks": dict(plan.risks),
        "not_covered": list(plan.not_covered),
        "order": plan.order,
    }


def fields_from_json(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that the constructors of all plans take, from a document's `values`.

    Returns
    -------
    dict
        ``schema``, ``target``, ``chosen_from``, ``accept``, ``order``, ``made_by``, ``part``.
    """
    part = values["part"]
    return {
        "schema": schema_from_dict(values["schema"], "schema"),
        "target": float(values["epsilon"]["target"]),
        "chosen_from": values["chosen_from"],
        "accept": tuple(values["accept"]),
        "order": values["order"],
        "made_by": str(values["made_by"]),
        "part": None if part is None else Part(part["of"], part["take"], part["seed"]),
    }
