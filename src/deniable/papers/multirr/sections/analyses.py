"""The report's sections about [multirr] beside its evaluation: bounds, dependences, adjustment."""

import math
from typing import Any

import pandas as pd

from deniable.display import Row, Tables, first_of, groups_of, rows_of
from deniable.papers.multirr.names import ASSESSMENTS, ESTIMATORS, METHODS
from deniable.papers.multirr.sections.tables import lines_of

MEASURES = {
    "cramers_v": "Cramér's V",
    "absolute_correlation": "|correlation| of codes",
    "absolute_covariance": "|covariance| of codes",
}
LETTERS = {"lambda_1": "λ₁", "lambda_2": "λ₂", "pi-hat^1": "π̂¹", "pi-hat^2": "π̂²"}
"""The paper's names in Example 1, as the paper sets them."""

STEPS_SHOWN = 2  # sweeps of Example 1; the later ones only creep on
LATER_STEPS = 10


# -- error bounds (2.3, 3.3) and the order of dependences (4.1) ------------------------------------


def bounds(tables: Tables) -> dict[str, Any]:
    """Prepare the error bounds of RR-Independent and RR-Joint as attributes join one by one."""
    table = tables["multirr_accuracy"]
    records = sorted(table["records"].unique())
    rows = []
    for _, part in groups_of(table.sort_values("attributes"), "attributes"):
        by_records = {row["records"]: row for row in rows_of(part)}
        rows.append(by_records[records[0]] | {"by_records": by_records})
    found: dict[str, Any] = {"records": records, "rows": rows, "whole": rows[-1]}
    found["enough"] = [row for row in rows if row["enough_records"]]
    found["propagation"] = _propagation(tables) if "multirr_propagation" in tables else None
    found["order"] = _order(tables["multirr_order"]) if "multirr_order" in tables else None
    return found


def _propagation(tables: Tables) -> dict[str, Any]:
    """Arrange the propagation factors: a row a matrix for whole records, one an attribute."""
    table = tables["multirr_propagation"]
    probabilities = sorted(table["p"].unique())
    cells = {(row["attribute"], row["reading"], row["p"]): row for row in rows_of(table)}
    names = list(dict.fromkeys(table["attribute"]))
    readings = list(dict.fromkeys(table["reading"]))
    lines = {
        (name, reading): [cells.get((name, reading, p)) for p in probabilities]
        for name in names
        for reading in readings
    }
    return {
        "probabilities": probabilities,
        "record": [(reading, lines["all", reading]) for reading in readings],
        "attributes": [
            (name, lines[name, r], r) for name in names if name != "all" for r in readings
        ],
        "sizes": {row["attribute"]: row["cells"] for row in rows_of(table)},
    }


def _order(table: pd.DataFrame) -> dict[str, Any]:
    """Arrange how the order of dependences survives: a row a measure and matrix, columns by p."""
    rows = [
        row | {"cells": rows_of(part.sort_values("p"))}
        for row, part in groups_of(table, "measure", "reading")
    ]
    for row in rows:
        kept = [cell["order_kept"] for cell in row["cells"]]
        row["low"], row["high"] = min(kept), max(kept)
    return {
        "probabilities": sorted(table["p"].unique()),
        "pairs": int(table["pairs"].max()),
        "rows": rows,
        "by": {(row["measure"], row["reading"]): row for row in rows},
        "measures": MEASURES,
    }


# -- RR-Adjustment (5) -----------------------------------------------------------------------------


def adjustment(tables: Tables) -> dict[str, Any]:
    """Prepare Example 1 step by step, and how RR-Adjustment fared in the runs of Figure 3."""
    table = tables["multirr_example1"].fillna({"published": "", "regenerated": "", "note": ""})
    for plain, letter in LETTERS.items():
        for column in ("published", "regenerated", "note"):
            table[column] = table[column].str.replace(plain, letter, regex=False)
    steps = table[table["sweep"].notna()].astype({"sweep": int})
    last = int(steps["sweep"].max())
    first = steps["sweep"] <= STEPS_SHOWN
    apart = (steps["sweep"] % LATER_STEPS == 0) | (steps["sweep"] == last)
    return {
        "steps": rows_of(steps[first]),
        "later": rows_of(steps[~first & apart & (steps["adjusted"] == "2")]),
        "ends": rows_of(table[table["sweep"].isna()]),
        "last": last,
        "work": _work(tables["multirr_adjustment"]) if "multirr_adjustment" in tables else None,
    }


def _work(table: pd.DataFrame) -> dict[str, Any]:
    """Arrange sweeps, gaps and left-out targets: a row for each panel of Figure 3."""
    methods = [name for name in METHODS if name in set(table["method"])]
    extremes = {
        str(of["measure"]): (part["median"].min(), part["median"].max())
        for of, part in groups_of(table, "measure")
    }
    rows = [
        row | {"cells": {(cell["method"], cell["measure"]): cell for cell in rows_of(part)}}
        for row, part in groups_of(table, "projection", "mechanism", "p", "t_v", "t_d")
    ]
    rows.sort(key=lambda row: (row["projection"], row["mechanism"], row["p"], row["t_v"]))
    first = table["projection"].iloc[0]
    return {
        "methods": {name: METHODS[name] for name in methods},
        "extremes": extremes,
        "first": first,
        "rows": [row for row in rows if row["projection"] == first],
        "others": [row for row in rows if row["projection"] != first],
    }


# -- dependences without a trusted party (4.1 to 4.3) ----------------------------------------------


def assessment(tables: Tables) -> dict[str, Any]:
    """Prepare what each way to assess dependences keeps, what it costs, and what it gives away."""
    sums = tables["multirr_secure_sum"]
    every = sums[sums["pair"].str.startswith("all ")]
    single = sums[sums["parties"] == sums["parties"].max()]
    linkage = tables.get("multirr_linkage", pd.DataFrame(columns=["attribute"]))
    faults = tables.get("multirr_secure_sum_faults")
    return {
        "quality": _quality(tables.get("multirr_assessment")),
        "costs": _costs(tables.get("multirr_risk")),
        "single": rows_of(single)[0],
        "every": rows_of(every)[0] if len(every) else None,
        "pairs": sums.drop(every.index),
        "equal": bool(sums["equals_direct_counts"].all()),
        "faults": None if faults is None else rows_of(faults),
        "linked": rows_of(linkage[linkage["attribute"] != "any"]),
        "any_linked": next(iter(rows_of(linkage[linkage["attribute"] == "any"])), None),
    }


def _quality(table: pd.DataFrame | None) -> dict[str, Any] | None:
    """Arrange how ranks and clusters survive: a row a matrix, method and p."""
    if table is None:
        return None
    least = table["t_d"].min()
    sizes = sorted(table["t_v"].dropna().unique())
    rows = []
    for row, part in groups_of(table, "matrix", "method", "p"):
        rand = {cell["t_v"]: cell for cell in rows_of(part[part["t_d"] == least])}
        ranks = rows_of(part[part["measure"] == "spearman"])
        name = ASSESSMENTS[row["method"]]
        rows.append(row | {"name": name, "rand": rand, "spearman": ranks[0]})
    order = list(ASSESSMENTS)
    rows.sort(key=lambda row: (row["matrix"], order.index(row["method"]), row["p"]))
    return {
        "least": least,
        "sizes": sizes,
        "rows": rows,
        "said": [
            (
                matrix,
                [row for row in rows if (row["matrix"], row["method"]) == (matrix, "attributes")],
            )
            for matrix in dict.fromkeys(table["matrix"][table["method"] == "attributes"])
        ],
        "runs": int(table["replicates"].max()),
    }


def _costs(table: pd.DataFrame | None) -> dict[str, Any] | None:
    """Arrange what assessing costs a whole record, under the matrix as printed: a row a p."""
    if table is None:
        return None
    part = first_of(table, "matrix")
    part = part[part["assessment"] != "none"].drop_duplicates(["p", "assessment"])
    rows = [
        row
        | {"release": at["release_epsilon"].iloc[0]}
        | {cell["assessment"]: cell["assessment_epsilon"] for cell in rows_of(at)}
        for row, at in groups_of(part.sort_values("p", kind="stable"), "p")
    ]
    return {"matrix": part["matrix"].iloc[0], "rows": rows}


# -- beyond the paper ------------------------------------------------------------------------------


def pairs(tables: Tables) -> dict[str, Any]:
    """Prepare which estimator of a pair wins, at each p."""
    table = first_of(tables["multirr_pairs"], "matrix")
    relative = table[table["measure"] == "relative_error"].sort_values("p", kind="stable")
    methods = tables.get("multirr_fig3", pd.DataFrame(columns=["p", "sigma", "median"]))
    epsilon = _record_epsilons(tables, str(table["matrix"].iloc[0]))
    rows: list[Row] = []
    for row, part in groups_of(relative, "p"):
        lines = lines_of(part, "estimator")
        won = [line for line in lines if line["lowest"].startswith("pair_")]
        there = (methods["p"] == row["p"]) & (methods["sigma"] == lines[0]["sigma"])
        rows.append(
            row
            | {"lines": lines, "won": len(won), "surely": sum(line["apart"] for line in won)}
            | {"epsilon": epsilon.get(row["p"]), "paper": _lowest_of(methods[there])}
        )
    return {
        "rows": rows,
        "estimators": {k: v for k, v in ESTIMATORS.items() if k in set(table["estimator"])},
        "sigma": rows[0]["lines"][0]["sigma"],
        "sigmas": len(rows[0]["lines"]),
        "all_won": [row["p"] for row in rows if row["surely"] == len(row["lines"])],
        "none_won": [row["p"] for row in rows if not row["surely"]],
        "matrix": table["matrix"].iloc[0],
    }


def _lowest_of(methods: pd.DataFrame) -> Row | None:
    if not len(methods):
        return None
    lowest = rows_of(methods.loc[[methods["median"].idxmin()]])[0]
    return lowest | {"name": METHODS[lowest["method"]]}


def _record_epsilons(tables: Tables, matrix: str) -> dict[float, float]:
    """Return the exact epsilon of a record under RR-Independent, by p."""
    if "privacy" not in tables:
        return {}
    table = tables["privacy"]
    table = table[(table["unit"] == "record") & (table["mechanism"] == "rr_independent")]
    part = table[table["matrix"] == matrix]
    found = dict(zip(part["p"], part["exact_epsilon"], strict=True))
    return {p: value for p, value in found.items() if not math.isnan(value)}
