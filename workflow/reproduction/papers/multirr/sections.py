"""Prepare the tables of the report's sections on [multirr] from the tables of a run."""

import math
from typing import Any

import pandas as pd

from deniable.display import Tables, first_of, groups_of, rows_of

from reproduction.papers.multirr.names import ASSESSMENTS, ESTIMATORS, METHODS
from reproduction.study import PageTable, all_rows, pivot

BASE = "rr_independent"
MARKS = "▾ lowest; * its interval lies below the interval of RR-Independent."
PANEL = {"mechanism": "clusters", "p": "p", "t_v": "T_v", "t_d": "T_d"}
WITH_BEST = PANEL | {"best": "best thresholds of"}
BY_SIGMA = {"sigma": "σ"}


def about(tables: Tables) -> dict[str, Any]:
    """Prepare from `tables` the glossary's example: an attribute under each interpretation."""
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


def figure_1(tables: Tables) -> dict[str, PageTable]:
    """Prepare from `tables` the curve of Figure 1 at powers of ten."""
    table = tables["multirr_fig1"]
    powers = table["categories"].astype(str).str.strip("0") == "1"
    heads = {"categories": "categories", "root_b": "√B"}
    return {"heights": all_rows(table[powers], "the curve in numbers", heads)}


def figure_2(tables: Tables) -> dict[str, PageTable]:
    """Prepare from `tables` the medians of Figure 2, of absolute and of relative errors."""
    table = first_of(tables["multirr_fig2"], "matrix", "p")
    forms = (("absolute_error", "short", "records"), ("relative_error", "percent", "of the count"))
    return {
        measure: pivot(
            table[table["measure"] == measure],
            BY_SIGMA,
            "estimator",
            f"median {measure.replace('_', ' ')}s, {unit}",
            text=text,
            names=ESTIMATORS,
            base=BASE,
            caption=MARKS,
        )
        for measure, text, unit in forms
    }


def figure_3(tables: Tables) -> dict[str, Any]:
    """Prepare Figure 3 from `tables`, at the paper's best thresholds and at ours."""
    table = first_of(tables["multirr_fig3"], "matrix").sort_values(["mechanism", "p"])
    lowest = table[table["sigma"] == table["sigma"].min()]
    label = "median relative errors at the smallest coverage"
    found = {
        "lowest": _of_methods(lowest, WITH_BEST, label, intervals=False),
        "every": _of_methods(table, WITH_BEST | BY_SIGMA, "the four methods at all coverages"),
    }
    if "multirr_projections" in tables:
        other = first_of(tables["multirr_projections"], "matrix")
        other = other[other["sigma"] == other["sigma"].min()]
        keys = {"projection": "projection"} | WITH_BEST
        found["projections"] = _of_methods(other, keys, "the smallest coverage by projection")
    return found


def _of_methods(
    table: pd.DataFrame, keys: dict[str, str], label: str, intervals: bool = True
) -> PageTable:
    form: dict[str, Any] = {"text": "percent", "names": METHODS, "base": BASE, "caption": MARKS}
    return pivot(table, keys, "method", label, intervals=intervals, **form)


def attributes(tables: Tables) -> dict[str, PageTable]:
    """Prepare from `tables` the errors of queries by the number of their attributes."""
    table = first_of(tables["multirr_attributes"], "dataset", "matrix", "projection", "t_d")
    # Clusters of one attribute are RR-Independent, whatever the mechanism is called.
    single = table["t_v"] == 1
    table = table[~single | (table["mechanism"] == table.loc[single, "mechanism"].min())]
    clusters = "RR-Clusters, " + table["mechanism"]
    table = table.assign(protocol=clusters.mask(table["t_v"] == 1, METHODS[BASE]))
    keys = {"p": "p", "protocol": "protocol", "t_v": "T_v"}
    label = "median relative errors by number of attributes"
    return {"errors": pivot(table.sort_values("p"), keys, "attributes", label, text="percent")}


# -- error bounds (2.3, 3.3) and the order of dependences (4.1) ------------------------------------

MEASURES = {
    "cramers_v": "Cramér's V",
    "absolute_correlation": "|correlation| of codes",
    "absolute_covariance": "|covariance| of codes",
}


def bounds(tables: Tables) -> dict[str, Any]:
    """Prepare from `tables` the error bounds, propagation factors and the order of dependences."""
    heads = {
        **{"records": "records", "attributes": "attributes", "added": "with", "cells": "cells"},
        "records_a_cell": "records per cell",
        "relative_error_independent": "bound of RR-Independent",
        "relative_error_joint": "bound of RR-Joint",
        "records_needed_joint": "records that RR-Joint needs for the bound of RR-Independent",
    }
    found = {"bounds": all_rows(tables["multirr_accuracy"], "error bounds", heads)}
    if "multirr_propagation" in tables:
        table = tables["multirr_propagation"]
        whole, form = table[table["attribute"] == "all"], {"reading": "matrix", "p": "p"}
        heads = form | {
            "propagation_factor": "attribute by attribute",
            "propagation_factor_joint": "one matrix",
        }
        found["records"] = all_rows(whole, "propagation factors of a whole record", heads)
        found["attributes"] = pivot(
            table[table["attribute"] != "all"],
            {"attribute": "attribute", "cells": "categories", "reading": "matrix"},
            "p",
            "propagation factors by attribute",
            value="propagation_factor",
        )
    if "multirr_order" in tables:
        table = tables["multirr_order"].replace({"measure": MEASURES})
        heads = {"measure": "measure", "reading": "matrix", "p": "p", "order_kept": "order kept"}
        heads |= {
            "rank_correlation": "rank correlation",
            "largest_reported": "largest that is left",
        }
        heads |= {"strongest_kept": "of the strongest pair"}
        found["order"] = all_rows(table, "the order of dependences that is kept", heads)
    return found


# -- RR-Adjustment (5) -----------------------------------------------------------------------------

LETTERS = {"lambda_1": "λ₁", "lambda_2": "λ₂", "pi-hat^1": "π̂¹", "pi-hat^2": "π̂²"}
"""The paper's names in Example 1, as the paper sets them."""

STEPS_SHOWN = 2  # sweeps of Example 1; the later ones change little
LATER_STEPS = 10


def adjustment(tables: Tables) -> dict[str, Any]:
    """Prepare from `tables` the steps of Example 1, and the work of RR-Adjustment in Figure 3."""
    table = tables["multirr_example1"].fillna({"published": "", "regenerated": "", "note": ""})
    for plain, letter in LETTERS.items():
        for column in ("published", "regenerated", "note"):
            table[column] = table[column].str.replace(plain, letter, regex=False)
    steps = table[table["sweep"].notna()].astype({"sweep": int})
    last = steps["sweep"].max()
    first = steps["sweep"] <= STEPS_SHOWN
    apart = (steps["sweep"] % LATER_STEPS == 0) | (steps["sweep"] == last)
    later = steps[~first & apart & (steps["adjusted"] == "2")]
    heads = {"sweep": "sweep t", "share": "proportion of responses 5–6"}
    heads |= {"sweep_times_share": "t × proportion", "gap_value": "farthest from 1/2"}
    found: dict[str, Any] = {
        "steps": rows_of(steps[first]),
        "ends": rows_of(table[table["sweep"].isna()]),
        "later": all_rows(later, "later sweeps", heads) if len(later) else None,
    }
    if "multirr_adjustment" in tables:
        work = tables["multirr_adjustment"].replace({"method": METHODS})
        keys = {"projection": "projection"} | PANEL | {"method": "method"}
        label = "sweeps, gaps and left-out targets of RR-Adjustment: medians"
        found["work"] = pivot(work, keys, "measure", label)
    return found


# -- dependences without a trusted party (4.1 to 4.3) ----------------------------------------------

SUMS = {
    **{"pair": "pair", "parties": "parties n", "cells": "cells", "share_messages": "shares sent"},
    **{"broadcasts": "broadcasts", "messages": "messages", "formula_in_all": "cells × n × n"},
    "equals_direct_counts": "counts are exact",
}
FAULTS = {
    **{"fault": "fault", "detected": "detected, proportion", "by_what": "by"},
    **{"party_named": "culprit named, proportion", "remedy_or_limit": "remedy, or limit"},
}
LINKED = {
    **{"attribute": "attribute", "category": "category that one party alone has"},
    **{"share_of_samples": "proportion of samples in which it links"},
    **{"share_of_parties_exposed": "proportion of parties exposed"},
    **{"attributes_rebuilt": "attributes rebuilt", "equals_true_record": "equals the record"},
}


def assessment(tables: Tables) -> dict[str, Any]:
    """Prepare from `tables` the accuracy, cost and leaks of ways to assess dependences."""
    sums = tables["multirr_secure_sum"]
    every = sums["pair"].str.startswith("all ")
    few = sums[every | (sums["parties"] == sums["parties"].max())]
    found = {
        "sums": all_rows(few, "messages of the secure sum", SUMS),
        "pairs": all_rows(sums[~every], "messages of the secure sum by pair", SUMS),
    }
    if "multirr_risk" in tables:
        table = first_of(tables["multirr_risk"], "matrix")
        table = table.drop_duplicates(["p", "assessment"])
        found["costs"] = pivot(
            table[table["assessment"] != "none"].sort_values("p"),
            {"p": "p", "release_epsilon": "release alone"},
            "assessment",
            "ε of a whole record for assessing dependences",
            value="assessment_epsilon",
        )
    if "multirr_assessment" in tables:
        table = tables["multirr_assessment"].replace({"method": ASSESSMENTS})
        label = "ranks and clusters kept: all means"
        found["quality"] = all_rows(table.drop(columns="data_source"), label)
    if "multirr_secure_sum_faults" in tables:
        found["faults"] = all_rows(tables["multirr_secure_sum_faults"], "faults staged", FAULTS)
    if "multirr_linkage" in tables:
        table = tables["multirr_linkage"]
        found["linked"] = all_rows(table, "records that exact tables rebuild", LINKED)
    return found


# -- beyond the paper ------------------------------------------------------------------------------


def pairs(tables: Tables) -> dict[str, Any]:
    """Prepare from `tables` the errors of estimators of a pair, by p and coverage."""
    table = first_of(tables["multirr_pairs"], "matrix")
    table = table[table["measure"] == "relative_error"].sort_values(["p", "sigma"])
    keys = {"p": "p", "record_epsilon": "ε of a record"} | BY_SIGMA
    form: dict[str, Any] = {"text": "percent", "names": ESTIMATORS, "base": BASE, "caption": MARKS}
    lowest = table[table["sigma"] == table["sigma"].min()]
    label = "estimators of a pair at the smallest coverage"
    every = "estimators of a pair at all coverages"
    return {
        "estimators": {k: v for k, v in ESTIMATORS.items() if k in set(table["estimator"])},
        "lowest": pivot(lowest, keys, "estimator", label, intervals=False, **form),
        "every": pivot(table, keys, "estimator", every, **form),
    }


def sweep(tables: Tables) -> dict[str, Any]:
    """Prepare from `tables` the sweep: the best thresholds at each p and number of records."""
    drawn = ("matrix", "mechanism", "projection")
    table = first_of(tables["multirr_sweep"], *drawn).sort_values(["records", "p", "t_d", "t_v"])
    groups = groups_of(table, "records", "p")
    best = [part.loc[[part["median_relative_error"].idxmin()]] for _, part in groups]
    heads = {
        **{"records": "records", "p": "p", "t_v": "T_v", "t_d": "T_d"},
        "median_relative_error": "least median relative error",
    }
    label = "the best thresholds by records and p"
    return {
        "best": all_rows(pd.concat(best), label, heads),
        **{name: table[name].iloc[0] for name in drawn},
    }
