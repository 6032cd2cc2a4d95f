"""A schema with a unit, impossible combinations and a skip pattern, and records that fit it."""

from typing import Any

import numpy as np
import pandas as pd

from deniable.schema import Schema, schema_from_dict

AGES, MARITAL = ["0-14", "15-39", "40+"], ["single", "married", "divorced"]
COLUMNS: list[dict[str, Any]] = [
    {"name": "age", "kind": "categorical", "categories": AGES, "ordered": True},
    {"name": "sex", "kind": "categorical", "categories": ["f", "m"]},
    {"name": "marital", "kind": "categorical", "categories": MARITAL},
    {"name": "smoker", "kind": "categorical", "categories": ["yes", "no"]},
    {
        "name": "a day",
        "kind": "numeric",
        "bounds": [0, 3],
        "step": 1,
        "asked_if": {"smoker": ["yes"]},
    },
]
COLUMNS[-1]["asked_if"] = {"smoker": ["yes"]}
RULE = {"age": ["0-14"], "marital": ["married", "divorced"]}


def schema(*, form: str = "csv", unit: dict[str, Any] | None = None, **changes: Any) -> Schema:
    """Return the schema; `unit` has options of a column "home", and `changes` other fields."""
    home = [{"name": "home", "kind": "unit", **unit}] if unit else []
    about = {"format": "deniable-schema", "version": 1, "population": "people"}
    fields = {"file": {"kind": form}, "columns": [*home, *COLUMNS], "impossible": [RULE]}
    return schema_from_dict(about | fields | changes)


def records(number: int = 600, seed: int = 1) -> pd.DataFrame:
    """Return records of homes of 1 to 3 people; nothing is asked of who does not smoke."""
    generator = np.random.default_rng(seed)
    age = generator.choice(AGES, number, p=[0.25, 0.4, 0.35])
    married = generator.choice(MARITAL, number, p=[0.4, 0.4, 0.2])
    smoker = generator.choice(["yes", "no"], number, p=[0.4, 0.6])
    sizes = generator.integers(1, 4, number)
    columns = {
        "home": [f"h{home}" for home in np.repeat(np.arange(number), sizes)[:number]],
        "age": age,
        "sex": generator.choice(["f", "m"], number),
        "marital": np.where(age == "0-14", "single", married),
        "smoker": smoker,
        "a day": np.where(smoker == "yes", generator.integers(0, 4, number).astype(str), ""),
    }
    return pd.DataFrame(columns)
