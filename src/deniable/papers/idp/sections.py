"""The report's sections about individual differential privacy ([idp]): figures and claims."""

import re
from collections.abc import Mapping
from typing import Any

import pandas as pd
import scipy

from deniable.display import MINUS, Row, Tables, groups_of, nearest, rows_of
from deniable.papers.idp.names import (
    CLUSTERED,
    DATASETS,
    FOREST_TABLES,
    FOREST_TITLES,
    HONEST,
    MASKED,
    NOT_APPLICABLE,
    SHOWN_K,
    SSE_TABLES,
    SSE_TITLES,
    common,
    where,
)

NEARLY_FLAT = 0.2
SAME_AS_MAJORITY = 0.1
"""A classifier that has less than this share of the bound's F has not learned the rarer class."""

Count = tuple[int, int]
"""In how many settings something is so, and of how many."""


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
    expected = tables.get("idp_expected_sse")
    found = {
        name: _sse_of(tables[table], where(expected, dataset=name))
        for name, table in SSE_TABLES.items()
        if table in tables
    }
    return {
        "datasets": found,
        "names": DATASETS,
        "titles": SSE_TITLES,
        "figures": SSE_TABLES,
        "confirmed": _confirmed(expected),
    }


def _confirmed(table: pd.DataFrame | None) -> Row | None:
    """Return how well simulated errors agree with the expected ones, over all cells at once."""
    if table is None or not len(table):
        return None
    total = float((table["standardized"] ** 2).sum())
    return {"cells": len(table), "sum": total, "p": float(scipy.special.chdtrc(len(table), total))}


def _known(table: pd.DataFrame, expected: pd.DataFrame) -> pd.Series:
    """Return the mean SSE that is expected where that is known, else the simulated one."""
    if not len(expected):
        return table["mean_sse"]
    keys = ["method", "epsilon", "domain_factor", "k"]
    places = table[keys].assign(k=table["k"].where(table["method"] != "dp", NOT_APPLICABLE))
    known = expected.set_index(keys)["expected_sse"].reindex(pd.MultiIndex.from_frame(places))
    return known.set_axis(table.index).fillna(table["mean_sse"])


def _sse_of(table: pd.DataFrame, expected: pd.DataFrame) -> dict[str, Any]:
    axes, at = _axes(table, SSE_TITLES), ["epsilon", "domain_factor", "k"]
    means = table.assign(mean_sse=_known(table, expected))
    errors = means.pivot(index=at, columns="method", values="mean_sse")
    errors = errors.reindex(columns=list(SSE_TITLES))
    own, factors = errors["idp_cbls"], axes["factors"]
    narrow, wide = (own.xs(end, level="domain_factor") for end in (factors[0], factors[-1]))
    steps = errors[list(MASKED)].dropna().diff(axis=1).iloc[:, 1:]
    once = errors[errors.index.get_level_values("k") == axes["sizes"][0]]  # whatever k: plain noise
    worse = {n: _lower(once if n == "dp" else errors, "no_data", n) for n in MASKED}
    return axes | {
        "cells": {
            (r["method"], r["epsilon"], r["domain_factor"], r["k"]): r | {"mean": r["mean_sse"]}
            for r in rows_of(table)
        },
        "k": nearest(axes["sizes"], SHOWN_K),
        # DP highest, as the text says
        "ordered": _count((steps <= 0).all(axis=1)),
        "gains": _ranges(errors["dp"] / own),
        "below_least": _lower(errors, "idp_cbls", "least_dp"),
        "beats_median": _lower(errors, "idp_cbls", "dp_median"),
        "useless": {name: count for name, count in worse.items() if count and count[0]},
        "flat": _flat(errors["dp"].dropna(), axes),
        "widening": _ranges(wide / narrow) if len(factors) > 1 else [],
    }


def _count(cases: "pd.Series[bool]") -> Count | None:
    return (int(cases.sum()), len(cases)) if len(cases) else None


def _lower(errors: pd.DataFrame, one: str, other: str) -> Count | None:
    """Count the settings in which one method's SSE is below another's."""
    pairs = errors[[one, other]].dropna()
    return _count(pairs[one] < pairs[other])


def _ranges(ratios: pd.Series) -> list[Row]:
    """Return the range of ratios by epsilon."""
    by_epsilon = ratios.dropna().groupby(level="epsilon").agg(low="min", high="max")
    return rows_of(by_epsilon.reset_index())


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
    found = {n: forests_of(tables[table]) for n, table in FOREST_TABLES.items() if table in tables}
    return {
        "datasets": found,
        "names": DATASETS,
        "titles": FOREST_TITLES,
        "figures": FOREST_TABLES,
        "at": line_at,
        "three": lambda value: f"{value:.3f}".replace("-", MINUS),
    }


def forests_of(table: pd.DataFrame) -> dict[str, Any]:
    """Prepare the F-measures of one data set.

    ``lines`` has, by (method, epsilon, domain factor, k), 0 where they do not apply, the row of
    each class, and ``mean`` their mean; ``common`` and ``rare`` are the class that the majority
    line answers, and the other, None without that line; ``unlearned`` counts by method the
    settings in which the rarer class is hardly ever recognized.
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
    narrowest, unlearned = axes["factors"][:1], dict[str, Count]()
    if original and rare is not None:
        least = SAME_AS_MAJORITY * original["classes"][rare]["mean"]
        for name in (*MASKED, *HONEST):
            every = [line["classes"] for key, line in lines.items() if key[0] == name]
            values = pd.Series([each[rare]["mean"] for each in every if rare in each], dtype=float)
            unlearned |= {name: count} if (count := _count(values < least)) else {}
    return axes | {
        "lines": lines,
        "classes": classes,
        "k": common([table[table["method"].isin(CLUSTERED)]], "k", SHOWN_K),
        "common": common_class,
        "rare": rare,
        "majority": majority,
        "original": original,
        "unlearned": unlearned,
        "best": {e: _best(lines, e, factor) for factor in narrowest for e in axes["epsilons"]},
    }


def _best(lines: Mapping[Any, Row], epsilon: float, factor: float) -> dict[str, Row]:
    """Return the largest mean F of iDP-CBLS over k, and of the classifiers with true DP."""
    at = [line for key, line in lines.items() if key[1:3] == (epsilon, factor)]
    of = {"idp_cbls": ("idp_cbls",), "honest": HONEST}
    found = {name: [line for line in at if line["method"] in of[name]] for name in of}
    return {name: max(own, key=lambda line: line["mean"]) for name, own in found.items() if own}


def line_at(found: Mapping[str, Any], method: str, epsilon: float, factor: float) -> Row | None:
    """Return the F-measures of a method at the k that is shown, or where k does not apply."""
    lines: Mapping[Any, Row] = found["lines"]
    keys = ((epsilon, factor, found["k"]), (epsilon, factor, 0), (0, 0, 0))
    return next((lines[method, *key] for key in keys if (method, *key) in lines), None)


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
