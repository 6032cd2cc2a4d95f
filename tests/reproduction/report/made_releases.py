"""Small test releases of every kind of plan, with estimates and checks."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from deniable.analysis import Released, as_result
from deniable.files import write_json, write_table
from deniable.plans import Plan, PlanInputs, settings_from
from deniable.records.categorical import Microdata
from deniable.release import protect_test
from deniable.responses import protected_file
from deniable.schema import RecordsFile, Schema, schema_from_dict

# Tables of so many columns are so long that a page leaves them to files of their own.
NUMBERS = tuple(f"{name}_{n}" for name in ("width", "height", "depth", "weight") for n in range(6))
UNSOUND = ("no_epsilon_for_records", "original_values_released")
RELEASES: Mapping[str, Mapping[str, Any]] = {
    "tried": {
        **{"kind": "columns", "columns": ["colour", "smokes", "region", "owner"], "epsilon": 4},
        **{"joint": [["colour", "smokes"]], "mechanism": "generalized-rr"},
        "part": {"of": 2, "take": 1, "seed": "public"},
    },
    "by_owner": {
        **{"kind": "strata", "columns": ["colour", "smokes", "owner"], "strata": ["owner"]},
        **{"retention": 0.5, "joint": [["colour", "smokes"]]},
    },
    "histograms": {"kind": "masked", "method": "histograms", "epsilon": 1.0, "bins": 5},
    "paper_idp": {"kind": "masked", "method": "idp_cbls", "epsilon": 1.0, "k": 10},
    "asked": {
        **{"kind": "questionnaire", "columns": ["colour", "smokes", "region"], "epsilon": 2},
        "ask": 2,
    },
    "collected": {"kind": "collected", "p": 0.5, "block": 200},
    "mixed": {
        "kind": "mixed",
        "numbers": {"kind": "masked", "method": "histograms", "epsilon": 1.0, "bins": 5},
        "categories": {"kind": "columns", "columns": ["smokes"], "epsilon": 1.0},
    },
}
"""Settings of plans by the names of their releases."""
ACCEPTED = {"paper_idp": UNSOUND}
"""Risks that the data owner accepts, by release."""


def write_releases(folder: Path, data: Microdata) -> list[Path]:
    """Write releases, estimates and checks of `data` and made-up numbers; return public folders."""
    drawn = np.random.default_rng(3).gamma(3, 1, (len(data), len(NUMBERS))).round(1)
    numbers = pd.DataFrame(np.clip(drawn, 0, 20), columns=list(NUMBERS))
    records = folder / "records.parquet"
    records.parent.mkdir(parents=True, exist_ok=True)
    texts = pd.DataFrame(
        {
            attribute.name: np.array(attribute.categories)[codes]
            for attribute, codes in zip(data.domain.attributes, data.columns, strict=True)
        }
    )
    pd.concat([texts, numbers], axis=1).to_parquet(records)
    publics = []
    for name, settings in RELEASES.items():
        schema = schema_of(data, settings["kind"])
        plan = settings_from(settings).plan(PlanInputs(schema, accept=ACCEPTED.get(name, ())))
        protect_test(
            records, plan, folder / "releases" / name, 1, name=name, data_source="published"
        )
        publics.append(folder / "releases" / name / "public")
        write_estimates(folder, name, plan, records)
    return publics


def schema_of(data: Microdata, kind: str) -> Schema:
    """Return the schema of the records, with the columns that a `kind` of plan randomizes."""
    numeric = kind in ("masked", "mixed")
    columns: list[dict[str, Any]] = [
        {"name": each.name, "kind": "categorical", "categories": list(each.categories)}
        for each in data.domain.attributes
    ]
    columns += [
        {"name": name, "kind": "numeric", "type": "double", "bounds": [0, 20]}
        if numeric
        else {"name": name, "kind": "left_out"}
        for name in NUMBERS
    ]
    if kind == "masked":
        columns = [
            {"name": each["name"], "kind": "left_out"} if each["kind"] == "categorical" else each
            for each in columns
        ]
    about = {"format": "deniable-schema", "version": 1, "population": "people"}
    return schema_from_dict(about | {"file": {"kind": "parquet"}, "columns": columns})


def write_estimates(folder: Path, name: str, plan: Plan, records: Path) -> None:
    """Write the estimates of a release and its check, as the scripts of the workflow do."""
    public = folder / "releases" / name / "public"
    released, how = Released(public), {"target": "both", "by_stratum": True}
    found = {
        "margins": as_result(public, released.margins, **how),
        "pairs": as_result(public, released.pairs, None, **how),
        "numbers": as_result(public, released.numbers, target="both"),
        "consistent": as_result(public, released.consistent, part="tables"),
        "disagreement": as_result(public, released.consistent, part="disagreement"),
        "two_step": as_result(public, released.two_step, None),
        "independence": as_result(public, released.independence_of_pairs, None),
        "weights": as_result(public, released.adjusted_weights),
    }
    for file, table in found.items():
        write_table(folder / "estimates" / name / f"{file}.csv", table)
    write_json(folder / "estimates" / name / "joint.json", {"note": "pages only link to it"})
    synthetic = as_result(public, released.synthetic)
    synthetic.to_parquet(folder / "estimates" / name / "synthetic.parquet", index=False)
    responses = plan.responses(protected_file(public, plan.protected_name))
    original = plan.original_records(
        RecordsFile.open(records, plan.schema, passed=plan.passed).portions()
    )
    estimates = {each: found[each] for each in found if each not in ("numbers", "disagreement")}
    estimates["synthetic"] = synthetic
    compared = (responses, original, estimates, np.random.default_rng(1))
    checked = as_result(public, plan.compare_with_original, *compared)
    write_table(folder / "checks" / f"{name}.csv", checked)
