"""The report's sections about individual differential privacy ([idp]): figures, audit, claims."""

import math
import re
from collections.abc import Callable, Hashable, Mapping
from typing import Any

import pandas as pd

from deniable.display import MINUS, Row, Tables, groups_of, nearest, rows_of
from deniable.papers.idp.names import (
    ALL,
    ANEW,
    AS_IT_RUNS,
    ATTACKS,
    AUDITED,
    CERTAIN,
    CERTIFICATE,
    CLUSTERED,
    DATASETS,
    FOREST_TABLES,
    FOREST_TITLES,
    FROZEN,
    HONEST,
    LINKED,
    MASKED,
    NOT_APPLICABLE,
    SHOWN_K,
    SHUFFLED,
    SSE_TABLES,
    SSE_TITLES,
    Shown,
    common,
    data_driven,
    judged,
    noted,
    shown,
    where,
)

HOLDS_WITHIN = 1e-9
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
    found = {name: _sse_of(tables[table]) for name, table in SSE_TABLES.items() if table in tables}
    return {"datasets": found, "names": DATASETS, "titles": SSE_TITLES, "figures": SSE_TABLES}


def _sse_of(table: pd.DataFrame) -> dict[str, Any]:
    axes, at = _axes(table, SSE_TITLES), ["epsilon", "domain_factor", "k"]
    errors = table.pivot(index=at, columns="method", values="mean_sse")
    errors = errors.reindex(columns=list(SSE_TITLES))
    own, factors = errors["idp_cbls"], axes["factors"]
    narrow, wide = (own.xs(end, level="domain_factor") for end in (factors[0], factors[-1]))
    steps = errors[list(MASKED)].dropna().diff(axis=1).iloc[:, 1:]
    worse = {name: _lower(errors, "no_data", name) for name in MASKED}
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


# -- the audit -------------------------------------------------------------------------------------


def audit(tables: Tables) -> dict[str, Any]:
    """Prepare the audit in detail: one centroid, all of them, records, as it runs, attacks."""
    at, table = shown(tables), tables["idp_audit"]
    first = where(table, domain_factor=at.factor, domain="public")
    clusters = tables.get("idp_audit_clusters")
    narrowest = where(clusters, domain_factor=at.factor)
    together = where(
        first, unit="attribute", attribute=ALL, reading=FROZEN, clusters=ANEW, epsilon=at.epsilon
    )
    alone = where(first, unit="centroid", reading=AS_IT_RUNS, method=CLUSTERED)
    own = where(narrowest, method="idp_cbls") if len(narrowest) else narrowest
    return {
        "at": at,
        "names": DATASETS,
        "methods": AUDITED,
        "tightness": _tightness(clusters),
        "composition": _composition(narrowest),
        "together": _by_k(together, lambda cell: judged(rows_of(cell)[-1])),
        "records": _records(where(table, unit="record", reading=FROZEN, clusters=ANEW)),
        "runs": _by_k(alone, _over_epsilons),
        "domain": data_driven(table, at),
        "noiseless": _by_k(own, _without_noise),
        "certificate": _certificate(first, at),
        "attacks": _attacks(tables.get("idp_attacks"), at),
        "protection": _protection(tables.get("idp_protection")),
    }


def _by_k(part: pd.DataFrame, cell: Callable[[pd.DataFrame], Row]) -> dict[str, Any] | None:
    """Return a cell for each k, a row a method of a data set."""
    if not len(part):
        return None
    rows = [
        named | {"cells": {k: cell(at_it) for k, at_it in own.groupby("k")}}
        for named, own in groups_of(part, "dataset", "method")
    ]
    return {"rows": rows, "sizes": sorted(part["k"].unique())}


def _celled(
    part: pd.DataFrame, key: Callable[[Row], Hashable], *of: str, cell: Callable[[Row], Row] = dict
) -> list[Row]:
    """Return a row for each value of some columns, with a cell for each row, by a key."""
    return [
        named | {"cells": {key(row): cell(row) for row in rows_of(own)}}
        for named, own in groups_of(part, *of)
    ]


def _ends(values: pd.Series) -> tuple[float, float]:
    return float(values.min()), float(values.max())


def _tightness(table: pd.DataFrame | None) -> list[Row] | None:
    """Return the largest change of a centroid over its sensitivity: a row a method."""
    if table is None or not len(table):
        return None
    rows = []
    for of, part in groups_of(table, "dataset", "method"):
        anew, (low, high) = part["tightness_anew"].max(), _ends(part["tightness_fixed"])
        holds = max(anew, high) <= 1 + HOLDS_WITHIN
        rows.append(judged(of | {"fixed": (low, high), "anew": anew, "holds": holds}))
    return rows


def _composition(part: pd.DataFrame) -> dict[str, Any] | None:
    """Return how often the worst attribute spends its claim: a row a method, a column a k."""

    def worst(cell: pd.DataFrame) -> Row:
        value = cell["attribute_times_claimed"].max()
        everyone = bool(cell["records_beyond"].min() == 1)
        return judged({"value": value, "holds": value <= 1 + HOLDS_WITHIN, "everyone": everyone})

    found = _by_k(part, worst)
    if found is None:
        return None
    verdicts: dict[str, set[str]] = {name: set() for name in AUDITED}
    for row in found["rows"]:
        row["everyone"] = all(cell["everyone"] for cell in row["cells"].values())
        verdicts[row["method"]] |= {cell["verdict"] for cell in row["cells"].values()}
    fails = any("fails" in verdicts[name] for name in CLUSTERED)
    return found | {"fails": fails, "kept": verdicts["dp_um"] == {"holds"}}


def _records(part: pd.DataFrame) -> Row | None:
    """Count the releases of records that no finite epsilon describes, scale frozen."""
    public = where(part, domain="public")
    in_order = ~noted(public, SHUFFLED)
    kept, shuffled = public[in_order], public[~in_order]
    if not len(kept):
        return None
    delta = float(kept["delta"].min())
    return {
        "of": len(kept),
        "endless": int(kept["exact_or_lower_bound"].map(math.isinf).sum()),
        "delta": math.floor(1e4 * delta) / 1e4 if delta > 0 else None,
        "shuffled_of": len(shuffled),
        "shuffled": int(shuffled["exact_or_lower_bound"].map(math.isinf).sum()),
    }


def _over_epsilons(part: pd.DataFrame) -> Row:
    """Return how often one centroid spends its claim as it runs: kept if it is at every epsilon."""
    verdicts = {judged(row)["verdict"] for row in rows_of(part)}
    low, high = _ends(part["times_claimed"])
    verdict = next(each for each in ("fails", "undecided", "holds") if each in verdicts)
    return {"low": low, "high": high, "verdict": verdict}


def _without_noise(part: pd.DataFrame) -> Row:
    """Return the clusters that are released without noise, and the attribute with most of them."""
    worst = part.loc[[part["values_without_noise"].idxmax()]]
    return {"mean": float(part["clusters_without_noise"].mean()), "worst": rows_of(worst)[0]}


def _certificate(first: pd.DataFrame, at: Shown) -> dict[str, Any] | None:
    """Return what the released numbers alone prove of each method, by epsilon."""
    part = at.at_k(where(first[noted(first, CERTIFICATE)], unit="record"))
    if not len(part):
        return None

    def key(row: Row) -> Hashable:
        return row["epsilon"], "all" if row["attribute"] == ALL else "one"

    rows = _celled(part, key, "dataset", "method", cell=judged)
    return {"rows": rows, "epsilons": sorted(part["epsilon"].unique())}


def _attacks(table: pd.DataFrame | None, at: Shown) -> dict[str, Any] | None:
    """Return how often attacks are right at the k that is shown, by kind and epsilon."""
    if table is None or not len(table):
        return None
    part = table[(table["k"] == at.k) | table["k"].isna()]
    rows = [
        of
        | {
            "cells": {
                (name, row["claimed_epsilon"]): judged(row)
                for name, kind in ATTACKS.items()
                for row in rows_of(kind.rows_of(own))
            }
        }
        for of, own in groups_of(part, "dataset", "method")
    ]
    return {
        "rows": rows,
        "epsilons": sorted(table["claimed_epsilon"].unique()),
        "kinds": {name: kind.title for name, kind in ATTACKS.items()},
        "allowed": dict(zip(table["claimed_epsilon"], table["allowed"], strict=True)),
        "all": [judged(row) for row in rows_of(table)],
    }


def _protection(table: pd.DataFrame | None) -> dict[str, Any] | None:
    """Return what noise protects beside microaggregation alone: twins, certain values, links."""
    if table is None or not len(table):
        return None
    twins = where(table, dataset="none").drop_duplicates(["method", "epsilon"])
    linked = where(table, measure=LINKED)
    by_method = _celled(linked, lambda row: (row["method"], row["epsilon"]), "dataset", "k")
    return {
        "epsilons": sorted(table["epsilon"].dropna().unique()),
        "twins": _celled(twins, lambda row: row["epsilon"], "method"),
        "certain": rows_of(where(table, measure=CERTAIN)),
        "linked": [
            row | {"alone": float(next(iter(row["cells"].values()))["microaggregation"])}
            for row in by_method
        ],
        "linked_methods": [name for name in MASKED if name in set(linked["method"])],
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
