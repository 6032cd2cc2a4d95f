"""The report's sections about individual differential privacy ([idp]): figures and claims."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from deniable.display import MINUS, Row, Tables, groups_of, nearest, rows_of
from deniable.papers.idp.names import (
    CLUSTERED,
    DATASETS,
    FOREST_TABLES,
    FOREST_TITLES,
    HONEST,
    MASKED,
    NOT_APPLICABLE,
    SSE_TABLES,
    SSE_TITLES,
)
from deniable.study import FALSE_ALARMS

SHOWN_K, SHOWN_EPSILONS = 10.0, (0.1, 1.0)
NEARLY_FLAT = 0.2
SAME_AS_MAJORITY = 0.1
"""A classifier that has less than this share of the bound's F has not learned the rarer class."""

Count = tuple[int, int]
"""In how many settings something is so, and of how many."""


# -- which settings are shown ----------------------------------------------------------------------


def common(tables: Iterable[pd.DataFrame], column: str, target: float) -> float | None:
    """Return the value that stands in most of some tables; of several the nearest to a target."""
    columns = [set(table[column].dropna()) for table in tables]
    values = set().union(*columns)
    most = max((sum(value in each for each in columns) for value in values if value), default=0)
    return nearest((v for v in values if sum(v in each for each in columns) == most), target)


def shown_epsilons(values: Iterable[float]) -> list[float]:
    """Return the epsilons nearest to `SHOWN_EPSILONS`, in order."""
    every = list(values)
    found = {nearest(every, target) for target in SHOWN_EPSILONS}
    return sorted(each for each in found if each is not None)


def _axes(table: pd.DataFrame, titles: Mapping[str, str]) -> dict[str, Any]:
    """Return the methods of a table, the settings that apply to them, in order, and the runs."""
    columns = {"epsilons": "epsilon", "factors": "domain_factor", "sizes": "k"}
    return {
        "methods": [name for name in titles if name in set(table["method"])],
        "runs": int(table["replicates"].max()),
    } | {name: sorted(set(table[column]) - {NOT_APPLICABLE}) for name, column in columns.items()}


# -- Figures 3 and 4 -------------------------------------------------------------------------------


def sse(tables: Tables) -> dict[str, Any]:
    """Prepare the mean SSE of both data sets: what the figures say, and tables of them."""
    found = {name: _sse_of(tables[table]) for name, table in SSE_TABLES.items() if table in tables}
    return {"datasets": found, "names": DATASETS, "titles": SSE_TITLES, "figures": SSE_TABLES}


def _sse_of(table: pd.DataFrame) -> dict[str, Any]:
    axes = _axes(table, SSE_TITLES)
    errors = table.pivot(
        index=["epsilon", "domain_factor", "k"], columns="method", values="mean_sse"
    ).reindex(columns=list(SSE_TITLES))
    own = errors["idp_cbls"]
    return axes | {
        "cells": {
            (r["method"], r["epsilon"], r["domain_factor"], r["k"]): r | {"mean": r["mean_sse"]}
            for r in rows_of(table)
        },
        "k": nearest(axes["sizes"], SHOWN_K),
        "ordered": _ordered(errors),
        "gains": _ranges(errors["dp"] / own),
        "below_least": _lower(errors, "idp_cbls", "least_dp"),
        "beats_median": _lower(errors, "idp_cbls", "dp_median"),
        "useless": [
            {"method": name, "worse": count[0], "of": count[1]}
            for name in MASKED
            if (count := _lower(errors, "no_data", name)) and count[0]
        ],
        "flat": _flat(errors["dp"].dropna(), axes),
        "widening": _ranges(_widened(own, axes["factors"])),
    }


def _ordered(errors: pd.DataFrame) -> Count | None:
    """Count the settings in which the four methods stand as the text says, DP highest."""
    steps = errors[list(MASKED)].dropna().diff(axis=1).iloc[:, 1:]
    return (int((steps <= 0).all(axis=1).sum()), len(steps)) if len(steps) else None


def _lower(errors: pd.DataFrame, one: str, other: str) -> Count | None:
    """Count the settings in which one method's SSE is below another's."""
    pairs = errors[[one, other]].dropna()
    return (int((pairs[one] < pairs[other]).sum()), len(pairs)) if len(pairs) else None


def _ranges(ratios: pd.Series) -> list[Row]:
    """Return the range of ratios by epsilon."""
    by_epsilon = ratios.dropna().groupby(level="epsilon").agg(low="min", high="max")
    return rows_of(by_epsilon.reset_index())


def _widened(errors: pd.Series, factors: list[float]) -> pd.Series:
    """Return the SSE in the widest domain over that in the narrowest."""
    narrow, wide = (errors.xs(end, level="domain_factor") for end in (factors[0], factors[-1]))
    return wide / narrow if len(factors) > 1 else narrow.iloc[:0]


def _flat(errors: pd.Series, axes: Mapping[str, Any]) -> Row | None:
    """Return what the largest epsilon saves of the SSE of plain noise at the smallest."""
    low, high = axes["epsilons"][0], axes["epsilons"][-1]
    first, last = (errors.get((end, axes["factors"][0], axes["sizes"][0])) for end in (low, high))
    if low == high or first is None or last is None:
        return None
    share = 1 - last / first
    return {"low": low, "high": high, "saved": share, "nearly": abs(share) < NEARLY_FLAT}


# -- Figures 5 and 6 -------------------------------------------------------------------------------


def forests(tables: Tables) -> dict[str, Any]:
    """Prepare the F-measures of both data sets, and what always answering one class reaches."""
    return {
        "datasets": {
            name: forests_of(tables[table])
            for name, table in FOREST_TABLES.items()
            if table in tables
        },
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
    axes, classes = _axes(table, FOREST_TITLES), list(dict.fromkeys(table["class"]))
    lines: dict[tuple[Any, ...], Row] = {}
    for of, part in groups_of(table, "method", "epsilon", "domain_factor", "k"):
        own = {row["class"]: row | {"mean": row["f_measure"]} for row in rows_of(part)}
        mean = sum(part["f_measure"].tolist()) / len(own)
        lines[tuple(of.values())] = of | {"classes": own, "mean": mean}
    majority, original = (lines.get((n, 0.0, 0.0, 0)) for n in ("majority", "original"))
    common_class = rare = None
    if majority and len(majority["classes"]) == 2 and len(classes) == 2:
        rare, common_class = sorted(classes, key=lambda c: majority["classes"][c]["mean"])
    narrowest = axes["factors"][:1]
    return axes | {
        "lines": lines,
        "classes": classes,
        "k": common([table[table["method"].isin(CLUSTERED)]], "k", SHOWN_K),
        "common": common_class,
        "rare": rare,
        "majority": majority,
        "original": original,
        "unlearned": _unlearned(lines, original, rare),
        "best": {e: _best(lines, e, factor) for factor in narrowest for e in axes["epsilons"]},
    }


def _unlearned(
    lines: Mapping[Any, Row], original: Row | None, rare: str | None
) -> dict[str, Count]:
    """Count by method the settings in which the rarer class is hardly ever recognized."""
    if original is None or rare is None:
        return {}
    least = SAME_AS_MAJORITY * original["classes"][rare]["mean"]
    found = {}
    for name in (*MASKED, *HONEST):
        own = [line["classes"] for key, line in lines.items() if key[0] == name]
        values = [classes[rare]["mean"] for classes in own if rare in classes]
        if values:
            found[name] = (sum(value < least for value in values), len(values))
    return found


def _best(lines: Mapping[Any, Row], epsilon: float, factor: float) -> dict[str, Row]:
    """Return the largest mean F of iDP-CBLS over k, and of the classifiers with true DP."""
    at = [line for key, line in lines.items() if key[1:3] == (epsilon, factor)]
    found = {
        name: [line for line in at if line["method"] in methods]
        for name, methods in (("idp_cbls", ("idp_cbls",)), ("honest", HONEST))
    }
    return {name: max(own, key=lambda line: line["mean"]) for name, own in found.items() if own}


def line_at(found: Mapping[str, Any], method: str, epsilon: float, factor: float) -> Row | None:
    """Return the F-measures of a method at the k that is shown, or where k does not apply."""
    lines: Mapping[Any, Row] = found["lines"]
    keys = ((epsilon, factor, found["k"]), (epsilon, factor, 0), (0, 0, 0))
    return next((lines[method, *key] for key in keys if (method, *key) in lines), None)


# -- claims ----------------------------------------------------------------------------------------


def claims(tables: Tables) -> dict[str, Any]:
    """Prepare the claims of the text: a row a claim, a cell a data set, and how many hold."""
    table = tables["idp_claims"]
    words = ["section", "printed", "test", "figure"]
    said = table.assign(**{name: table[name].map(in_words) for name in words})
    verdicts = {name: table.loc[table["dataset"] == name, "verdict"] for name in DATASETS}
    return {
        "claims": [
            rows[0] | {"rows": rows, "cells": {row["dataset"]: row for row in rows}}
            for _, part in groups_of(said, "claim")
            if (rows := rows_of(part))
        ],
        "datasets": [name for name, own in verdicts.items() if len(own)],
        "names": DATASETS,
        "tally": {n: own.value_counts().to_dict() for n, own in verdicts.items() if len(own)},
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
