"""Contents of the report's sections on [multirr], from the tables of a run."""

import math
from functools import partial
from typing import Any

from deniable.display import Tables, rows_of

from reproduction.papers.multirr.names import AT_EPSILON, ESTIMATORS, METHODS, first_clusters
from reproduction.study import PageTable, all_rows, first_of, pivot, where

BASE = "rr_independent"
MARKS = "▾ lowest; * its interval is below the interval of {}."
PANEL = {"mechanism": "clusters", "p": "p", "t_v": "T_v", "t_d": "T_d"}
against_base = partial(pivot, base=BASE, caption=MARKS.format(METHODS[BASE]), text="percent")


def about(tables: Tables) -> dict[str, Any]:
    """Return the example of the glossary from `tables`: an attribute under each interpretation."""
    if "multirr_propagation" not in tables:
        return {"example": None}
    table = tables["multirr_propagation"]
    alone = table[table["attribute"] != "all"]
    sizes = alone.drop_duplicates("attribute").set_index("attribute")["cells"]
    name = str(sizes[sizes > 2].idxmin())
    beside = str(sizes.drop(name).idxmin())
    p, r = float(alone["p"].max()), int(sizes[name])
    readings = where(alone, attribute=name, p=p)
    other = (1 - readings["diagonal_weight"]) / r
    readings = readings.assign(true=readings["diagonal_weight"] + other, other=other)
    cells = r * int(sizes[beside])
    example = {"name": name, "categories": r, "p": p, "readings": rows_of(readings)}
    example |= {"beside": beside, "cells": cells, "asked": math.ceil(0.3 * cells)}
    return {"example": example}


def figure_2(tables: Tables) -> dict[str, PageTable]:
    """Return the medians of absolute and relative errors in Figure 2 from `tables`."""
    table = first_of(tables["multirr_fig2"], "matrix", "p")
    forms = (
        ("absolute_error", "short", "median absolute errors, records"),
        ("relative_error", "percent", "median relative errors, of the count"),
    )
    of = partial(against_base, keys=("sigma",), column="estimator", names=ESTIMATORS)
    return {m: of(where(table, measure=m), label=label, text=text) for m, text, label in forms}


def figure_3(tables: Tables) -> dict[str, PageTable]:
    """Return Figure 3 at the smallest coverage and all best thresholds, from `tables`."""
    table = first_of(tables["multirr_fig3"], "matrix").sort_values(["mechanism", "p"])
    lowest = table[table["sigma"] == table["sigma"].min()]
    label = "median relative errors at the smallest coverage"
    keys = PANEL | {"best": "best thresholds of"}
    return {"lowest": against_base(lowest, keys, "method", label, names=METHODS, intervals=False)}


def attributes(tables: Tables) -> dict[str, PageTable]:
    """Return the errors of queries by the number of their attributes, from `tables`."""
    table = first_of(tables["multirr_attributes"], "dataset", "matrix", "projection", "t_d")
    # With clusters of one attribute, every mechanism is RR-Independent.
    single = table["t_v"] == 1
    table = table[~single | (table["mechanism"] == table.loc[single, "mechanism"].min())]
    clusters = "RR-Clusters, " + table["mechanism"]
    table = table.assign(protocol=clusters.mask(table["t_v"] == 1, METHODS[BASE]))
    label = "median relative errors by number of attributes"
    keys = ("p", "protocol", "t_v")
    return {"errors": pivot(table.sort_values("p"), keys, "attributes", label, text="percent")}


BOUNDS = {
    **{"records": "records", "attributes": "attributes", "added": "attribute added"},
    **{"cells": "cells", "records_a_cell": "records per cell"},
    "relative_error_independent": "bound of RR-Independent",
    "relative_error_joint": "bound of RR-Joint",
    "records_needed_joint": "records that RR-Joint needs for the bound of RR-Independent",
}
FACTORS = {
    **{"reading": "matrix", "p": "p", "propagation_factor": "factor, attribute by attribute"},
    "propagation_factor_joint": "factor, one matrix",
}
ORDER = {
    **{"measure": "measure", "reading": "matrix", "p": "p", "order_kept": "order preserved"},
    **{"rank_correlation": "rank correlation", "largest_reported": "largest in responses"},
    "strongest_kept": "strongest pair preserved",
}
MEASURES = {
    "cramers_v": "Cramér's V",
    "absolute_correlation": "|correlation| of codes",
    "absolute_covariance": "|covariance| of codes",
}


def bounds(tables: Tables) -> dict[str, PageTable]:
    """Return error bounds (2.3, 3.3), propagation factors and orders (4.1) from `tables`."""
    whole = where(tables["multirr_propagation"], attribute="all")
    order = tables["multirr_order"].replace({"measure": MEASURES})
    return {
        "bounds": all_rows(tables["multirr_accuracy"], "error bounds", BOUNDS),
        "records": all_rows(whole, "propagation factors of a whole record", FACTORS),
        "order": all_rows(order, "preserved order of dependences", ORDER),
    }


LETTERS = {"lambda_1": "λ₁", "lambda_2": "λ₂", r"pi-hat\^1": "π̂¹", r"pi-hat\^2": "π̂²"}
"""Patterns of names in Example 1, and the paper's typography of these names."""
LATER = {
    **{"sweep": "sweep t", "share": "proportion of responses 5–6"},
    **{"sweep_times_share": "t × proportion", "gap_value": "farthest from 1/2"},
}


def adjustment(tables: Tables) -> dict[str, Any]:
    """Return the steps of Example 1, and sweeps and gaps of RR-Adjustment, from `tables`."""
    table = tables["multirr_example1"].fillna({"published": "", "regenerated": "", "note": ""})
    table = table.replace(dict.fromkeys(("published", "regenerated", "note"), LETTERS), regex=True)
    steps = table[table["sweep"].notna()].astype({"sweep": int})
    last = steps["sweep"].max()
    # Show the first two sweeps step by step, then every tenth one and the last.
    first = steps["sweep"] <= 2
    apart = (steps["sweep"] % 10 == 0) | (steps["sweep"] == last)
    later = steps[~first & apart & (steps["adjusted"] == "2")]
    found: dict[str, Any] = {
        "steps": rows_of(steps[first]),
        "ends": rows_of(table[table["sweep"].isna()]),
        "later": all_rows(later, "later sweeps", LATER),
    }
    if "multirr_adjustment" in tables:
        work = tables["multirr_adjustment"].replace({"method": METHODS})
        keys = {"projection": "projection"} | PANEL | {"method": "method"}
        label = "sweeps, gaps and left-out targets of RR-Adjustment: medians"
        found["work"] = pivot(work, keys, "measure", label)
    return found


SUMS = {
    **{"pair": "pair", "parties": "parties n", "cells": "cells", "share_messages": "shares sent"},
    **{"broadcasts": "broadcasts", "messages": "messages", "formula_in_all": "cells × n × n"},
    "equals_direct_counts": "counts are exact",
}
FAULTS = {
    **{"fault": "deviation", "detected": "detected, proportion", "by_what": "detected by"},
    **{"party_named": "culprit named, proportion", "remedy_or_limit": "remedy or limit"},
}
LINKED = {
    **{"attribute": "attribute", "category": "category of a single party"},
    "share_of_samples": "samples with a linked record, proportion",
    "share_of_parties_exposed": "parties exposed, proportion",
    **{"attributes_rebuilt": "attributes rebuilt", "equals_true_record": "equals the record"},
}


def assessment(tables: Tables) -> dict[str, PageTable]:
    """Return messages, deviations and leaks of the secure sum (4.2, 4.3) from `tables`."""
    sums, faults = tables["multirr_secure_sum"], tables["multirr_secure_sum_faults"]
    few = sums["pair"].str.startswith("all ") | (sums["parties"] == sums["parties"].max())
    linked = tables["multirr_linkage"]
    return {
        "sums": all_rows(sums[few], "messages of the secure sum", SUMS),
        "faults": all_rows(faults, "simulated deviations", FAULTS),
        "linked": all_rows(linked, "records reconstructed from exact tables", LINKED),
    }


def pairs(tables: Tables) -> dict[str, Any]:
    """Return the errors of all estimators of a pair from `tables`."""
    table = first_of(tables["multirr_pairs"], "matrix")
    table = where(table, measure="relative_error").sort_values(["p", "sigma"])
    keys, label = ("p", "record_epsilon", "sigma"), "median relative errors of all estimators"
    return {
        "estimators": {k: v for k, v in ESTIMATORS.items() if k in set(table["estimator"])},
        "errors": against_base(table, keys, "estimator", label, names=ESTIMATORS),
    }


def epsilon(tables: Tables) -> dict[str, PageTable]:
    """Return the errors of the methods at each ε from `tables`."""
    table = first_clusters(tables["multirr_epsilon"]).sort_values(["attributes", "epsilon"])
    spent = {"attributes": "attributes", "epsilon": "ε stated", "method": "method", "p": "p"}
    spent |= {"attribute_epsilon": "ε of one attribute", "record_epsilon": "exact ε of a record"}
    called = table[table["method"] != "uniform"].replace({"method": AT_EPSILON})
    called = called.drop(columns=["ci_low", "ci_high"])
    keys, label = ("attributes", "epsilon"), "median relative errors at stated ε"
    form: dict[str, Any] = {"base": "uniform", "caption": MARKS.format("no data")}
    return {
        "errors": against_base(table, keys, "method", label, names=AT_EPSILON, **form),
        "spent": all_rows(called, "p and exact ε of each method", spent),
    }


def joint_estimation(tables: Tables) -> dict[str, PageTable]:
    """Return distances by method, and ratios to the even split by design, from `tables`."""
    table = tables["joint_estimation"].sort_values(["dataset", "given", "value"])
    keys = ("dataset", "given", "value", "record_epsilon", "attribute_epsilon", "design")
    measures = [f"distance_{k}" for k in (2, 3, "2_to_6")] + ["relative_error"]
    errors = where(table, measure=tuple(measures))
    ratios = where(table, method="joint", measure=("distance_2_ratio", "relative_error_ratio"))
    form: dict[str, Any] = {"value": "median"}
    return {
        "errors": pivot(errors, (*keys, "method"), "measure", "errors by method", **form),
        "ratios": pivot(ratios, (*keys, "against"), "measure", "ratios of joint", **form),
    }


def sweep(tables: Tables) -> dict[str, Any]:
    """Return the best thresholds of the sweep for each p and number of records from `tables`."""
    drawn = ("matrix", "mechanism", "projection")
    table = first_of(tables["multirr_sweep"], *drawn).sort_values(["records", "p", "t_d", "t_v"])
    best = table.groupby(["records", "p"], sort=False)["median_relative_error"].idxmin()
    heads = ("records", "p", "t_v", "t_d", "median_relative_error")
    return {
        "best": all_rows(table.loc[best], "the best thresholds by records and p", heads),
        **{name: table[name].iloc[0] for name in drawn},
    }
