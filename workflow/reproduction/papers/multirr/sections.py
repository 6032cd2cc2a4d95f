"""What the report's sections on [multirr] show: of the tables of a run, what a template takes."""

import math
from collections.abc import Callable, Mapping
from itertools import product
from operator import itemgetter
from typing import Any

import pandas as pd

from deniable.display import Row, Tables, by, first_of, groups_of, rows_of

from reproduction.papers.multirr.names import ASSESSMENTS, ESTIMATORS, METHODS


def _of(tables: Tables, name: str, arrange: Callable[[pd.DataFrame], Any]) -> Any:
    """Return what a function makes of a table; None if the run did not make the table."""
    return arrange(tables[name]) if name in tables else None


# -- what it is about ------------------------------------------------------------------------------


def about(tables: Tables) -> dict[str, Any]:
    """Prepare from `tables` the glossary's example: an attribute under each reading."""
    if not {"multirr_propagation", "multirr_audit"} <= set(tables):
        return {"example": None}
    table, audited = tables["multirr_propagation"], tables["multirr_audit"]
    alone = table[table["attribute"] != "all"]
    sizes = alone.drop_duplicates("attribute").set_index("attribute")["cells"]
    several = sizes[sizes > 2]
    name = str((several if len(several) else sizes).idxmin())
    beside = str(sizes.drop(name).idxmin())
    p, r = float(alone["p"].max()), int(sizes[name])
    audited = audited[(audited["mechanism"] == "rr_independent") & (audited["of"] == name)]
    epsilon = audited[audited["p"] == p].set_index("matrix")["exact_epsilon"]
    readings = []
    for row in rows_of(alone[(alone["attribute"] == name) & (alone["p"] == p)]):
        other = (1 - row["diagonal_weight"]) / r
        chances = {"true": row["diagonal_weight"] + other, "other": other}
        readings.append(row | chances | {"epsilon": epsilon.get(row["reading"])})
    cells = r * int(sizes[beside])
    example = {"name": name, "categories": r, "p": p, "readings": readings}
    return {
        "example": example | {"beside": beside, "cells": cells, "asked": math.ceil(0.3 * cells)}
    }


# -- Figures 1 to 3 --------------------------------------------------------------------------------


def figure_1(tables: Tables) -> dict[str, Any]:
    """Prepare from `tables` what Figure 1 says in numbers: one share, ten, the largest domain."""
    table = tables["multirr_fig1"]
    height = dict(zip(table["categories"], table["root_b"], strict=True))
    powers = [number for number in height if str(number).strip("0") == "1"]
    largest = max(height)
    if "multirr_accuracy" in tables:
        largest = min(height, key=lambda n: abs(n - tables["multirr_accuracy"]["cells"].max()))
    return {
        "low": min(height.items()),
        "ten": (10, height[10]) if 10 in height else None,
        "high": (largest, height[largest]),
        "heights": [(number, height[number]) for number in sorted({*powers, largest})],
    }


def figure_2(tables: Tables) -> dict[str, Any]:
    """Prepare from `tables` Figure 2's medians, and what estimation gains at both ends."""
    table = first_of(tables["multirr_fig2"], "matrix", "p")
    rows = [
        (at["sigma"], by(part, "measure", "estimator"))
        for at, part in groups_of(table.sort_values("sigma", kind="stable"), "sigma")
    ]
    estimators = {name: ESTIMATORS[name] for name in ESTIMATORS if name in set(table["estimator"])}
    gains, peak = [], None
    if {"randomized", "rr_independent"} <= set(estimators):
        ends = rows[:: max(len(rows) - 1, 1)]  # the first and the last, which may be one
        gains = [
            {
                "sigma": sigma,
                "raw": cells["relative_error", "randomized"]["median"],
                "estimated": cells["relative_error", "rr_independent"]["median"],
            }
            for sigma, cells in ends
        ]
        absolute = [cells["absolute_error", "rr_independent"] for _, cells in rows]
        peak = max(absolute, key=itemgetter("median"))
    return {
        "estimators": estimators,
        "measures": {
            "absolute_error": "absolute error, records",
            "relative_error": "relative error",
        },
        "rows": rows,
        "gains": gains,
        "peak": peak,
    }


def compared(cells: Mapping[str, Row], base: str = "rr_independent") -> Row:
    """Say of `cells` which is ``lowest``, its ``share`` of the `base`, if these are ``apart``.

    It is by medians; apart are those whose intervals do not meet.
    """
    lowest = min(cells, key=lambda name: float(cells[name]["median"]))
    least, other = cells[lowest], cells.get(base)
    return {
        "methods": cells,
        "lowest": lowest,
        "apart": other is not None and bool(least["ci_high"] < other["ci_low"]),
        "share": least["median"] / other["median"] if other else math.nan,
    }


def lines_of(table: pd.DataFrame, column: str) -> list[Row]:
    """Return for each coverage of a `table` what `compared` says of what a `column` names."""
    coverages = groups_of(table.sort_values("sigma", kind="stable"), "sigma")
    return [at | compared(by(part, column)) for at, part in coverages]


BEST = {"both": "the paper's and ours", "paper": "the paper's", "ours": "ours"}


def panels(table: pd.DataFrame) -> list[Row]:
    """Return Figure 3's panels, of a `table`: by coverage, ``lines`` has what `compared` says.

    ``best`` says in words whose thresholds these are.
    """
    groups = groups_of(first_of(table, "matrix"), "mechanism", "p", "best", "t_v", "t_d")
    found = [panel | {"lines": lines_of(part, "method")} for panel, part in groups]
    order = list(BEST)
    found.sort(key=lambda panel: (panel["mechanism"], panel["p"], order.index(panel["best"])))
    return [panel | {"best": BEST[panel["best"]]} for panel in found]


def figure_3(tables: Tables) -> dict[str, Any]:
    """Prepare Figure 3 from `tables`, at the paper's best thresholds and at ours."""
    every = panels(tables["multirr_fig3"])
    weakest = max(panel["p"] for panel in every)
    said = [each for each in every if each["p"] == weakest and each["best"] != BEST["ours"]]
    projections = []
    if "multirr_projections" in tables:
        for projection, part in groups_of(tables["multirr_projections"], "projection"):
            projections += [panel | projection for panel in panels(part)]
    return {
        "panels": every,
        "methods": METHODS,
        "said": [panel | panel["lines"][0] for panel in said],
        "projections": projections,
    }


def attributes(tables: Tables) -> dict[str, Any]:
    """Prepare from `tables` the errors of queries of several attributes: a row a p and protocol."""
    table = first_of(tables["multirr_attributes"], "dataset", "matrix", "projection", "t_d")
    # Clusters of one attribute are randomized alike, whatever the mechanism is called.
    single = table.loc[table["t_v"] == 1, "mechanism"].min()
    table = table[(table["t_v"] > 1) | (table["mechanism"] == single)]
    rows = []
    for row, part in groups_of(table, "p", "t_v", "mechanism"):
        alone = row["t_v"] == 1
        protocol = METHODS["rr_independent"] if alone else f"RR-Clusters, {row['mechanism']}"
        rows.append(row | {"protocol": protocol, "cells": by(part, "attributes")})
    return {
        "numbers_of": sorted(table["attributes"].unique()),
        "rows": sorted(rows, key=itemgetter("p")),
        "projection": table["projection"].iloc[0],
    }


# -- error bounds (2.3, 3.3) and the order of dependences (4.1) ------------------------------------

MEASURES = {
    "cramers_v": "Cramér's V",
    "absolute_correlation": "|correlation| of codes",
    "absolute_covariance": "|covariance| of codes",
}


def bounds(tables: Tables) -> dict[str, Any]:
    """Prepare from `tables` error bounds of RR-Independent and RR-Joint as attributes join."""
    table = tables["multirr_accuracy"].sort_values(["attributes", "records"])
    rows = []
    for _, part in groups_of(table, "attributes"):
        by_records = by(part, "records")
        rows.append(next(iter(by_records.values())) | {"by_records": by_records})
    return {
        "records": list(rows[0]["by_records"]),
        "rows": rows,
        "whole": rows[-1],
        "enough": [row for row in rows if row["enough_records"]],
        "propagation": _of(tables, "multirr_propagation", _propagation),
        "order": _of(tables, "multirr_order", _order),
    }


def _propagation(table: pd.DataFrame) -> dict[str, Any]:
    """Arrange the propagation factors: a row a matrix for whole records, one an attribute."""
    probabilities = sorted(table["p"].unique())
    cells = by(table, "attribute", "reading", "p")
    lines = [
        (name, reading, [cells.get((name, reading, p)) for p in probabilities])
        for name, reading in product(table["attribute"].unique(), table["reading"].unique())
    ]
    return {
        "probabilities": probabilities,
        "record": [line for line in lines if line[0] == "all"],
        "attributes": [line for line in lines if line[0] != "all"],
        "sizes": {row["attribute"]: row["cells"] for row in rows_of(table)},
    }


def _order(table: pd.DataFrame) -> dict[str, Any]:
    """Arrange how the order of dependences survives: a row a measure and matrix, columns by p."""
    rows = []
    for row, part in groups_of(table, "measure", "reading"):
        kept = part["order_kept"]
        ends = {"low": kept.min(), "high": kept.max()}
        rows.append(row | {"cells": rows_of(part.sort_values("p"))} | ends)
    return {
        "probabilities": sorted(table["p"].unique()),
        "pairs": int(table["pairs"].max()),
        "rows": rows,
        "by": {(row["measure"], row["reading"]): row for row in rows},
        "measures": MEASURES,
    }


# -- RR-Adjustment (5) -----------------------------------------------------------------------------

LETTERS = {"lambda_1": "λ₁", "lambda_2": "λ₂", "pi-hat^1": "π̂¹", "pi-hat^2": "π̂²"}
"""The paper's names in Example 1, as the paper sets them."""

STEPS_SHOWN = 2  # sweeps of Example 1; the later ones only creep on
LATER_STEPS = 10


def adjustment(tables: Tables) -> dict[str, Any]:
    """Prepare from `tables` the steps of Example 1, and how RR-Adjustment fared in Figure 3."""
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
        "work": _of(tables, "multirr_adjustment", _work),
    }


def _work(table: pd.DataFrame) -> dict[str, Any]:
    """Arrange sweeps, gaps and left-out targets: a row for each panel of Figure 3."""
    first = table["projection"].iloc[0]
    medians = table.groupby("measure")["median"]
    order = ["projection", "mechanism", "p", "t_v"]
    rows = [
        row | {"cells": by(part, "method", "measure")}
        for row, part in groups_of(table.sort_values(order, kind="stable"), *order, "t_d")
    ]
    return {
        "methods": {name: METHODS[name] for name in METHODS if name in set(table["method"])},
        "extremes": {measure: (part.min(), part.max()) for measure, part in medians},
        "first": first,
        "rows": [row for row in rows if row["projection"] == first],
        "others": [row for row in rows if row["projection"] != first],
    }


# -- dependences without a trusted party (4.1 to 4.3) ----------------------------------------------


def assessment(tables: Tables) -> dict[str, Any]:
    """Prepare from `tables` what ways to assess dependences keep, what they cost and give away."""
    sums = tables["multirr_secure_sum"]
    every = sums[sums["pair"].str.startswith("all ")]
    single = sums[sums["parties"] == sums["parties"].max()]
    linkage = tables.get("multirr_linkage", pd.DataFrame(columns=["attribute"]))
    any_party = linkage["attribute"] == "any"
    return {
        "quality": _of(tables, "multirr_assessment", _quality),
        "costs": _of(tables, "multirr_risk", _costs),
        "single": rows_of(single)[0],
        "every": rows_of(every)[0] if len(every) else None,
        "pairs": sums.drop(every.index),
        "equal": bool(sums["equals_direct_counts"].all()),
        "faults": _of(tables, "multirr_secure_sum_faults", rows_of),
        "linked": rows_of(linkage[~any_party]),
        "any_linked": next(iter(rows_of(linkage[any_party])), None),
    }


def _quality(table: pd.DataFrame) -> dict[str, Any]:
    """Arrange how ranks and clusters survive: a row a matrix, method and p."""
    least = table["t_d"].min()
    rows = []
    for row, part in groups_of(table, "matrix", "method", "p"):
        ranks = rows_of(part[part["measure"] == "spearman"])
        rand = by(part[part["t_d"] == least], "t_v")
        rows.append(row | {"name": ASSESSMENTS[row["method"]], "rand": rand, "spearman": ranks[0]})
    order = list(ASSESSMENTS)
    rows.sort(key=lambda row: (row["matrix"], order.index(row["method"]), row["p"]))
    plain = table[(table["method"] == "attributes") & (table["measure"] == "spearman")]
    return {
        "least": least,
        "sizes": sorted(table["t_v"].dropna().unique()),
        "rows": rows,
        "said": [
            (of["matrix"], rows_of(part.sort_values("p")))
            for of, part in groups_of(plain, "matrix")
        ],
        "runs": int(table["replicates"].max()),
    }


def _costs(table: pd.DataFrame) -> dict[str, Any]:
    """Arrange what assessing costs a whole record, under the matrix as printed: a row a p."""
    part = first_of(table, "matrix")
    part = part[part["assessment"] != "none"].drop_duplicates(["p", "assessment"])
    rows = [
        row
        | {"release": at["release_epsilon"].iloc[0]}
        | dict(zip(at["assessment"], at["assessment_epsilon"], strict=True))
        for row, at in groups_of(part.sort_values("p", kind="stable"), "p")
    ]
    return {"matrix": part["matrix"].iloc[0], "rows": rows}


def pairs(tables: Tables) -> dict[str, Any]:
    """Prepare from `tables` which estimator of a pair wins, at each p."""
    table = first_of(tables["multirr_pairs"], "matrix")
    matrix = str(table["matrix"].iloc[0])
    relative = table[table["measure"] == "relative_error"].sort_values("p", kind="stable")
    methods = tables.get("multirr_fig3", pd.DataFrame(columns=["p", "sigma", "median"]))
    epsilon = {}  # of a record under RR-Independent, exact
    if "multirr_audit" in tables:
        records = tables["multirr_audit"].query(
            "unit == 'record' and mechanism == 'rr_independent'"
        )
        known = records[records["matrix"] == matrix].dropna(subset="exact_epsilon")
        epsilon = dict(zip(known["p"], known["exact_epsilon"], strict=True))
    rows: list[Row] = []
    for row, part in groups_of(relative, "p"):
        lines = lines_of(part, "estimator")
        won = [line for line in lines if line["lowest"].startswith("pair_")]
        here = methods[(methods["p"] == row["p"]) & (methods["sigma"] == lines[0]["sigma"])]
        best = rows_of(here.loc[[here["median"].idxmin()]])[0] if len(here) else None
        rows.append(
            row
            | {"lines": lines, "won": len(won), "surely": sum(line["apart"] for line in won)}
            | {"epsilon": epsilon.get(row["p"])}
            | {"paper": best and best | {"name": METHODS[best["method"]]}}
        )
    return {
        "rows": rows,
        "estimators": {k: v for k, v in ESTIMATORS.items() if k in set(table["estimator"])},
        "sigma": rows[0]["lines"][0]["sigma"],
        "all_won": [row["p"] for row in rows if row["surely"] == len(row["lines"])],
        "none_won": [row["p"] for row in rows if not row["surely"]],
        "matrix": matrix,
    }


def sweep(tables: Tables) -> dict[str, Any]:
    """Prepare from `tables` the sweep: the best thresholds at each p and number of records."""
    whole = tables["multirr_sweep"]
    drawn = ("matrix", "mechanism", "projection")
    table = first_of(whole, *drawn).sort_values(["records", "t_d", "t_v"])
    probabilities = sorted(table["p"].unique())
    rows = []
    for row, part in groups_of(table, "records"):
        best = by(part.loc[part.groupby("p")["median_relative_error"].idxmin()], "p")
        rows.append(row | {"best": [best.get(p) for p in probabilities]})
    return {
        "cells": len(whole),
        "sizes": [row["records"] for row in rows],
        "probabilities": probabilities,
        "rows": rows,
        **{name: table[name].iloc[0] for name in drawn},
    }
