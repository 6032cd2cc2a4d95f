"""Masked plans of a small file, for tests."""

from typing import Any

import pyarrow as pa
from tests.idp.numeric_files import BOUNDS, METHODS, numeric_file

from deniable.plans import MaskedPlan
from deniable.schema import RecordsFile, Schema, schema_from_dict

CLUSTERED = ["no_epsilon_for_records"]
ACCEPT = {
    "dp_um": CLUSTERED,
    "idp_ls": CLUSTERED,
    "idp_cbls": [*CLUSTERED, "original_values_released"],
}
"""Risks of the methods, with domains from public bounds."""


def schema_of_sizes(kind: str = "arrow", **file: Any) -> Schema:
    typed = {} if kind == "csv" else {"type": "double"}
    numbers = [
        {"name": name, "kind": "numeric", "bounds": list(bounds)} | typed
        for name, bounds in BOUNDS.items()
    ]
    size = {"name": "size", "kind": "categorical", "categories": ["small", "large"]}
    about = {"format": "deniable-schema", "version": 1, "population": "people"}
    return schema_from_dict(about | {"file": {"kind": kind} | file, "columns": [*numbers, size]})


def table_of_sizes(seed: int = 1) -> pa.Table:
    data = numeric_file(seed)
    columns = {name: data.column(name) for name in data.names}
    return pa.table(columns | {"size": [data.classes[code] for code in data.labels]})


def records_of(plan: MaskedPlan, seed: int = 1) -> RecordsFile:
    return RecordsFile.open(table_of_sizes(seed), plan.schema, passed=plan.passed)


def plan_by(method: str, epsilon: float = 1.0, **changes: Any) -> MaskedPlan:
    schema = changes.pop("schema", schema_of_sizes())
    factor = changes.get("domain_factor")
    accept = ACCEPT.get(method, []) + ["largest_values_shown"] * (factor is not None)
    if factor is not None:
        changes["data"] = RecordsFile.open(table_of_sizes(), schema)
    given = {"accept": accept, "class_column": "size"} | METHODS[method] | changes
    return MaskedPlan.from_schema(schema, epsilon, method, **given)  # type: ignore[arg-type]
