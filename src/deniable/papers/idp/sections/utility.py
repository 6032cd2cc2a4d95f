"""The report's sections about individual differential privacy ([idp]): figures and claims."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from deniable.display import MINUS, Row, Tables, groups_of, rows_of
from deniable.study import FALSE_ALARMS

DATASETS = {"census": "Census", "wine": "White wine"}
SSE_TABLES = {"census": "idp_fig3", "wine": "idp_fig4"}
FOREST_TABLES = {"census": "idp_fig5", "wine": "idp_fig6"}
MASKED = {"dp": "DP", "dp_um": "DP-UM", "idp_ls": "iDP-LS", "idp_cbls": "iDP-CBLS"}
"""The methods of the text."""
CLUSTERED = tuple(MASKED)[1:]
SSE_TITLES = {
    "dp": "DP: Laplace noise on each value",
    "dp_um": "DP-UM",
    "idp_ls": "iDP-LS",
    "idp_cbls": "iDP-CBLS",
    "dp_synthetic": "true DP: synthetic records",
    "dp_median": "true DP: median of the class",
    "no_data": "no data: 0 for every value",
    "least_dp": "least SSE that true DP allows",
}
FOREST_TITLES = {
    "original": "original records (upper bound)",
    "majority": "majority class always",
    "dp_rule": "true DP: threshold rule",
    "dp_naive_bayes": "true DP: naive Bayes, one attribute",
    "dp_synthetic": "true DP: forest on synthetic records",
    "dp": "DP: Laplace noise on each value",
    "dp_um": "DP-UM",
    "idp_ls": "iDP-LS",
    "idp_cbls": "iDP-CBLS",
}
HONEST = ("dp_median", "dp_synthetic", "dp_naive_bayes", "dp_rule")
"""Competitors with true epsilon-differential privacy."""
NOT_APPLICABLE = 0
SHOWN_K, SHOWN_EPSILONS = 10.0, (0.1, 1.0)
NEARLY_FLAT = 0.2
SAME_AS_MAJORITY = 0.1
"""A classifier that has less than this share of the bound's F has not learned the rarer class."""

Key = tuple[float, float, float]


# -- which settings are shown ----------------------------------------------------------------------


def nearest(values: Iterable[float], target: float) -> float | None:
    """Return the positive value that is nearest to a target as a ratio; None if there is none.

    Examples
    --------
    >>> nearest([3, 9, 100], 10), nearest([0], 10)
    (9, None)
    """
    found = [value for value in values if value > 0]
    return min(found, key=lambda value: abs(math.log(value / target)), default=None)


def common(tables: Tables, names: Sequence[str], column: str, target: float) -> float | None:
    """Return the value that stands in most of some tables; of several the nearest to a target."""
    columns = [set(tables[name][column].dropna()) for name in names if name in tables]
    values = set().union(*columns)
    most = max((sum(value in each for each in columns) for value in values if value), default=0)
    return nearest((v for v in values if sum(v in each for each in columns) == most), target)


def shown_epsilons(values: Iterable[float]) -> list[float]:
    """Return the epsilons nearest to `SHOWN_EPSILONS`, in order."""
    every = list(values)
    found = {nearest(every, target) for target in SHOWN_EPSILONS}
    return sorted(each for each in found if each is not None)


def positive(values: Iterable[float]) -> list[float]:
    """Return the values that apply, in order."""
    return sorted({value for value in values if value != NOT_APPLICABLE})


# -- Figures 3 and 4 -------------------------------------------------------------------------------


def sse(tables: Tables) -> dict[str, Any]:
    """Prepare the mean SSE of both data sets: what the figures say, and tables of them."""
    found = {name: _sse_of(tables[table]) for name, table in SSE_TABLES.items() if table in tables}
    return {"datasets": found, "names": DATASETS, "titles": SSE_TITLES, "figures": SSE_TABLES}


def _sse_of(table: pd.DataFrame) -> dict[str, Any]:
    errors = {
        (r["method"], r["epsilon"], r["domain_factor"], r["k"]): r | {"mean": r["mean_sse"]}
        for r in rows_of(table)
    }
    settings: list[Key] = sorted({key[1:] for key in errors})
    epsilons, factors, sizes = (sorted({key[i] for key in settings}) for i in range(3))
    return {
        "cells": errors,
        "methods": [name for name in SSE_TITLES if name in set(table["method"])],
        "epsilons": epsilons,
        "factors": factors,
        "sizes": sizes,
        "k": nearest(sizes, SHOWN_K),
        "runs": int(table["replicates"].max()),
        "ordered": _ordered(errors, settings),
        "gains": _gains(errors, epsilons),
        "below_least": _lower(errors, settings, "idp_cbls", "least_dp"),
        "beats_median": _lower(errors, settings, "idp_cbls", "dp_median"),
        "useless": _useless(errors, settings),
        "flat": _flat(errors, epsilons, factors, sizes),
        "widening": _widening(errors, epsilons, factors, sizes),
    }


def _ordered(errors: Mapping[Any, Row], settings: Sequence[Key]) -> tuple[int, int] | None:
    """Count the settings in which the four methods stand as the text says, DP highest."""
    rows = [[errors.get((name, *at)) for name in MASKED] for at in settings]
    found = [[cell["mean"] for cell in row if cell] for row in rows if all(row)]
    return (sum(row == sorted(row, reverse=True) for row in found), len(found)) if found else None


def _gains(errors: Mapping[Any, Row], epsilons: Sequence[float]) -> list[Row]:
    """Return by epsilon how many times the SSE of iDP-CBLS that of plain noise is."""
    rows = []
    for epsilon in epsilons:
        times = [
            errors["dp", *key[1:]]["mean"] / cell["mean"]
            for key, cell in errors.items()
            if key[0] == "idp_cbls" and key[1] == epsilon and ("dp", *key[1:]) in errors
        ]
        if times:
            rows.append({"epsilon": epsilon, "low": min(times), "high": max(times)})
    return rows


def _lower(
    errors: Mapping[Any, Row], settings: Sequence[Key], one: str, other: str
) -> tuple[int, int] | None:
    """Count the settings in which one method's SSE is below another's."""
    pairs = [
        (errors[one, *at]["mean"], errors[other, *at]["mean"])
        for at in settings
        if (one, *at) in errors and (other, *at) in errors
    ]
    return (sum(first < second for first, second in pairs), len(pairs)) if pairs else None


def _useless(errors: Mapping[Any, Row], settings: Sequence[Key]) -> list[Row]:
    """Count for each method of the text the settings in which 0 for every value does better."""
    found = [(name, _lower(errors, settings, "no_data", name)) for name in MASKED]
    return [{"method": name, "worse": c[0], "of": c[1]} for name, c in found if c and c[0]]


def _flat(
    errors: Mapping[Any, Row],
    epsilons: Sequence[float],
    factors: Sequence[float],
    sizes: Sequence[float],
) -> Row | None:
    """Return what the largest epsilon saves of the SSE of plain noise at the smallest."""
    first, last = (("dp", end, factors[0], sizes[0]) for end in (epsilons[0], epsilons[-1]))
    if first == last or first not in errors or last not in errors:
        return None
    share = 1 - errors[last]["mean"] / errors[first]["mean"]
    nearly = abs(share) < NEARLY_FLAT
    return {"low": epsilons[0], "high": epsilons[-1], "saved": share, "nearly": nearly}


def _widening(
    errors: Mapping[Any, Row],
    epsilons: Sequence[float],
    factors: Sequence[float],
    sizes: Sequence[float],
) -> list[Row]:
    """Return by epsilon how iDP-CBLS's SSE grows from the narrowest to the widest domain."""
    rows = []
    for epsilon in epsilons if len(factors) > 1 else ():
        ends = [
            [errors.get(("idp_cbls", epsilon, factor, k)) for factor in (factors[0], factors[-1])]
            for k in sizes
        ]
        times = [wide["mean"] / narrow["mean"] for narrow, wide in ends if narrow and wide]
        if times:
            rows.append({"epsilon": epsilon, "low": min(times), "high": max(times)})
    return rows


# -- Figures 5 and 6 -------------------------------------------------------------------------------


def forests(tables: Tables) -> dict[str, Any]:
    """Prepare the F-measures of both data sets, and what always answering one class reaches."""
    found = {
        name: forests_of(tables[table]) for name, table in FOREST_TABLES.items() if table in tables
    }
    return {
        "datasets": found,
        "names": DATASETS,
        "titles": FOREST_TITLES,
        "figures": FOREST_TABLES,
        "at": line_at,
        "three": _three,
    }


def _three(value: float) -> str:
    return f"{value:.3f}".replace("-", MINUS)


def forests_of(table: pd.DataFrame) -> dict[str, Any]:
    """Prepare the F-measures of one data set.

    Returns
    -------
    dict
        ``lines``: by (method, epsilon, domain factor, k), 0 where they do not apply, the row of
        each class; ``mean`` has their mean. ``common`` and ``rare`` are the class that the majority
        line answers, and the other; None without that line.
    """
    classes = list(dict.fromkeys(table["class"]))
    lines: dict[tuple[str, float, float, float], Row] = {}
    for row in rows_of(table):
        of = {name: row[name] for name in ("method", "epsilon", "domain_factor", "k")}
        line = lines.setdefault(tuple(of.values()), of | {"classes": {}})
        line["classes"][row["class"]] = row | {"mean": row["f_measure"]}
    for line in lines.values():
        values = [cell["mean"] for cell in line["classes"].values()]
        line["mean"] = sum(values) / len(values)
    majority, original = (lines.get((n, 0.0, 0.0, 0)) for n in ("majority", "original"))
    common_class = rare = None
    if majority and len(majority["classes"]) == 2 and len(classes) == 2:
        rare, common_class = sorted(classes, key=lambda c: majority["classes"][c]["mean"])
    epsilons = positive(table["epsilon"])
    factors = positive(table["domain_factor"])
    sizes = positive(table["k"])
    k = common({"t": table[table["method"].isin(CLUSTERED)]}, ["t"], "k", SHOWN_K)
    return {
        "lines": lines,
        "classes": classes,
        "methods": [name for name in FOREST_TITLES if name in set(table["method"])],
        "epsilons": epsilons,
        "factors": factors,
        "sizes": sizes,
        "k": k,
        "runs": int(table["replicates"].max()),
        "common": common_class,
        "rare": rare,
        "majority": majority,
        "original": original,
        "unlearned": _unlearned(lines, original, rare),
        "best": {e: _best(lines, e, factors[0]) for e in epsilons} if factors else {},
    }


def _unlearned(
    lines: Mapping[Any, Row], original: Row | None, rare: str | None
) -> dict[str, tuple[int, int]]:
    """Count by method the settings in which the rarer class is hardly ever recognized."""
    if original is None or rare is None:
        return {}
    least = SAME_AS_MAJORITY * original["classes"][rare]["mean"]
    found = {}
    for name in (*MASKED, *HONEST):
        values = [
            line["classes"][rare]["mean"]
            for key, line in lines.items()
            if key[0] == name and rare in line["classes"]
        ]
        if values:
            found[name] = (sum(value < least for value in values), len(values))
    return found


def _best(lines: Mapping[Any, Row], epsilon: float, factor: float) -> dict[str, Row]:
    """Return the largest mean F of iDP-CBLS over k, and of the classifiers with true DP."""
    found = {}
    for name, methods in (("idp_cbls", ("idp_cbls",)), ("honest", HONEST)):
        rows = [
            line
            for key, line in lines.items()
            if key[0] in methods and key[1:3] == (epsilon, factor)
        ]
        if rows:
            found[name] = max(rows, key=lambda row: row["mean"])
    return found


def line_at(found: Mapping[str, Any], method: str, epsilon: float, factor: float) -> Row | None:
    """Return the F-measures of a method at the k that is shown, or where k does not apply."""
    lines: Mapping[Any, Row] = found["lines"]
    keys = ((epsilon, factor, found["k"]), (epsilon, factor, 0), (0, 0, 0))
    return next((lines[method, *key] for key in keys if (method, *key) in lines), None)


# -- claims ----------------------------------------------------------------------------------------


def claims(tables: Tables) -> dict[str, Any]:
    """Prepare the claims of the text: a row a claim, a cell a data set, and how many hold."""
    table = tables["idp_claims"]
    datasets = [name for name in DATASETS if name in set(table["dataset"])]
    found = []
    for of, part in groups_of(table, "claim"):
        rows = [row | {"figure": in_words(row["figure"])} for row in rows_of(part)]
        found.append(
            of
            | {name: in_words(rows[0][name]) for name in ("section", "printed", "test")}
            | {"rows": rows, "cells": {row["dataset"]: row for row in rows}}
        )
    return {
        "claims": found,
        "datasets": datasets,
        "names": DATASETS,
        "tally": {
            name: table[table["dataset"] == name]["verdict"].value_counts().to_dict()
            for name in datasets
        },
        "false_alarms": FALSE_ALARMS,
    }


def in_words(text: str) -> str:
    """Return text with methods called as the page calls them.

    Examples
    --------
    >>> in_words("idp_ls over dp_um at epsilon 1, dp_rule")
    'iDP-LS over DP-UM at ε 1, threshold rule'
    """
    short = {name: FOREST_TITLES.get(name, "").partition(": ")[2] for name in HONEST}
    words = MASKED | short | {"epsilon": "ε", "dp_median": "median of the class"}
    words["dp_synthetic"] = "synthetic records"
    return re.sub(r"\b[a-z_]+\b", lambda word: words.get(word[0], word[0]), str(text))
