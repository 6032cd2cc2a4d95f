"""The report's sections on individual differential privacy ([idp]): figures, claims, overview."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import pandas as pd
import scipy

from deniable.display import MINUS, Row, Tables, groups_of, nearest, rows_of

from reproduction.papers.idp import names
from reproduction.papers.idp.names import Shown, common, data_driven, judged, noted, shown, where

NEARLY_FLAT = 0.2
SAME_AS_MAJORITY = 0.1
"""A classifier that has less than this share of the bound's F has not learned the rarer class."""

Count = tuple[int, int]  # in how many settings something is so, and of how many
NAMES = {
    name: title.split(": ")[-1] for name, title in (names.FOREST_TITLES | names.SSE_TITLES).items()
}


def _axes(table: pd.DataFrame, titles: Mapping[str, str]) -> dict[str, Any]:
    """Return the methods of a table, the settings that apply to them, in order, and the runs."""
    columns = {"epsilons": "epsilon", "factors": "domain_factor", "sizes": "k"}
    none = {names.NOT_APPLICABLE}
    return {
        "methods": [name for name in titles if name in set(table["method"])],
        "runs": int(table["replicates"].max()),
    } | {name: sorted(set(table[column]) - none) for name, column in columns.items()}


# -- Figures 3 and 4 -------------------------------------------------------------------------------


def sse(tables: Tables) -> dict[str, Any]:
    """Prepare the mean SSE in `tables`, of both data sets: what figures say, and tables of them."""
    expected = tables.get("idp_expected_sse")
    found = {
        name: _sse_of(tables[table], where(expected, dataset=name))
        for name, table in names.SSE_TABLES.items()
        if table in tables
    }
    return {
        "datasets": found,
        "names": names.DATASETS,
        "titles": names.SSE_TITLES,
        "figures": names.SSE_TABLES,
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
    places = table[keys].assign(k=table["k"].where(table["method"] != "dp", names.NOT_APPLICABLE))
    known = expected.set_index(keys)["expected_sse"].reindex(pd.MultiIndex.from_frame(places))
    return known.set_axis(table.index).fillna(table["mean_sse"])


def _sse_of(table: pd.DataFrame, expected: pd.DataFrame) -> dict[str, Any]:
    axes, at = _axes(table, names.SSE_TITLES), ["epsilon", "domain_factor", "k"]
    means = table.assign(mean_sse=_known(table, expected))
    errors = means.pivot(index=at, columns="method", values="mean_sse")
    errors = errors.reindex(columns=list(names.SSE_TITLES))
    own, factors = errors["idp_cbls"], axes["factors"]
    narrow, wide = (own.xs(end, level="domain_factor") for end in (factors[0], factors[-1]))
    steps = errors[list(names.MASKED)].dropna().diff(axis=1).iloc[:, 1:]
    once = errors[errors.index.get_level_values("k") == axes["sizes"][0]]  # whatever k: plain noise
    worse = {n: _lower(once if n == "dp" else errors, "no_data", n) for n in names.MASKED}
    return axes | {
        "cells": {
            (r["method"], r["epsilon"], r["domain_factor"], r["k"]): r | {"mean": r["mean_sse"]}
            for r in rows_of(table)
        },
        "k": nearest(axes["sizes"], names.SHOWN_K),
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
    """Prepare the F-measures in `tables`, and what always answering one class reaches."""
    found = {
        n: forests_of(tables[table]) for n, table in names.FOREST_TABLES.items() if table in tables
    }
    return {
        "datasets": found,
        "names": names.DATASETS,
        "titles": names.FOREST_TITLES,
        "figures": names.FOREST_TABLES,
        "at": line_at,
        "three": lambda value: f"{value:.3f}".replace("-", MINUS),
    }


def forests_of(table: pd.DataFrame) -> dict[str, Any]:
    """Prepare the F-measures of one data set from its `table`.

    ``lines`` has, by (method, epsilon, domain factor, k), 0 where they do not apply, the row of
    each class, and ``mean`` their mean; ``common`` is the class that the majority line answers,
    ``rare`` the other; ``unlearned`` counts by method the settings in which that is hardly ever
    recognized.
    """
    axes, classes = _axes(table, names.FOREST_TITLES), list(dict.fromkeys(table["class"]))
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
        for name in (*names.MASKED, *names.HONEST):
            every = [line["classes"] for key, line in lines.items() if key[0] == name]
            values = pd.Series([each[rare]["mean"] for each in every if rare in each], dtype=float)
            unlearned |= {name: count} if (count := _count(values < least)) else {}
    return axes | {
        "lines": lines,
        "classes": classes,
        "k": common([table[table["method"].isin(names.CLUSTERED)]], "k", names.SHOWN_K),
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
    of = {"idp_cbls": ("idp_cbls",), "honest": names.HONEST}
    found = {name: [line for line in at if line["method"] in of[name]] for name in of}
    return {name: max(own, key=lambda line: line["mean"]) for name, own in found.items() if own}


def line_at(found: Mapping[str, Any], method: str, epsilon: float, factor: float) -> Row | None:
    """Return the F-measures of a `method` at the k that is shown, or where k does not apply.

    `found` comes from `forests_of`; a method has its line at an `epsilon` and a domain `factor`.
    """
    lines: Mapping[Any, Row] = found["lines"]
    keys = ((epsilon, factor, found["k"]), (epsilon, factor, 0), (0, 0, 0))
    return next((lines[method, *key] for key in keys if (method, *key) in lines), None)


def in_words(text: str) -> str:
    """Return `text` with methods called as the page calls them.

    >>> in_words("idp_ls over dp_um at epsilon 1, dp_rule")
    'iDP-LS over DP-UM at ε 1, threshold rule'
    """
    short = {name: names.FOREST_TITLES.get(name, "").partition(": ")[2] for name in names.HONEST}
    words = names.MASKED | short | {"epsilon": "ε", "dp_median": "median of the class"}
    words["dp_synthetic"] = "synthetic records"
    return re.sub(r"\b[a-z_]+\b", lambda word: words.get(word[0], word[0]), str(text))


# -- promised, delivered, protected ----------------------------------------------------------------


def overview(tables: Tables) -> dict[str, Any]:
    """Prepare the page from `tables`: for each data set a row a method, and what is said of it."""
    at = shown(tables)
    audit = tables["idp_audit"]
    audited, found = set(audit["dataset"]), _deliveries(audit, at)
    pages = {n: _Page(tables, n, at, found) for n in names.DATASETS if n in audited}
    datasets = {name: page.whole() for name, page in pages.items()}
    every = (page["by"][name] for page in datasets.values() for name in names.CLUSTERED)
    delivered = [row["delivered"]["record"] for row in every if row["delivered"]["record"]]
    centroids = [page["by"]["dp_um"]["delivered"]["attribute"] for page in datasets.values()]
    return {
        "at": at,
        "datasets": datasets,
        "names": names.DATASETS,
        "methods": names.MASKED,
        "units": names.UNITS,
        "records": len(delivered),
        "endless": sum(math.isinf(row["exact_or_lower_bound"]) for row in delivered),
        # on all data sets, as far as it was audited
        "centroids_keep": all(row and row["verdict"] == "holds" for row in centroids),
        "domain": data_driven(audit, at),
        "other_epsilons": [
            {"dataset": name, "epsilon": e}
            | {"cells": {method: page.delivered(method, e) for method in names.MASKED}}
            for (name, page), e in product(pages.items(), sorted(audit["epsilon"].unique()))
        ],
        "allowed": None if at.epsilon is None else 1 / (1 + math.exp(-at.epsilon)),
    }


def _deliveries(audit: pd.DataFrame, at: Shown) -> dict[tuple[str, str, float, str], Row]:
    """Return by data set, method, epsilon and unit what is spent as it runs, in a public domain."""
    part = at.at_k(where(audit, reading=names.AS_IT_RUNS, domain="public", domain_factor=at.factor))
    together = (part["unit"] == "attribute") & (part["attribute"] == names.ALL)
    rows = [judged(row) for row in rows_of(part[~together & ~noted(part, names.CERTIFICATE)])]
    return {(row["dataset"], row["method"], row["epsilon"], row["unit"]): row for row in rows}


@dataclass(frozen=True)
class _Page:
    """What the page shows of one data set."""

    tables: Tables
    dataset: str
    at: Shown
    deliveries: Mapping[tuple[Any, ...], Row]

    def whole(self) -> dict[str, Any]:
        rows = [
            {
                "method": name,
                "name": title,
                "delivered": self.delivered(name, self.at.epsilon),
                "linked": {e: self.linked(name, e) for e in self.at.epsilons},
                "certain": self.certain(name),
                "told": self.told(name),
            }
            | self.useful(name)
            for name, title in names.MASKED.items()
        ]
        honest = [
            {"method": name, "name": NAMES[name]} | self.useful(name) for name in names.HONEST
        ]
        return {
            "rows": rows,
            "by": {row["method"]: row for row in rows},
            "honest": [row for row in honest if row["sse"] or row["f"]],
            "classes": self.forests["classes"] if self.forests else [],
            "microaggregation": {
                "linked": _first(self.protection(names.LINKED, "idp_cbls"), "microaggregation"),
                "certain": _first(self.protection(names.CERTAIN, "idp_cbls"), "microaggregation"),
            },
            "original": self.useful("original"),
            "no_data": {"f": self.useful("majority")["f"], "sse": self.sse("no_data")},
            "best": self._best_honest(honest),
        }

    def delivered(self, method: str, epsilon: float | None) -> dict[str, Row | None]:
        """Return by unit what was found at an epsilon."""
        at = (self.dataset, method, epsilon)
        return {unit: self.deliveries.get((*at, unit)) for unit in names.UNITS}

    def protection(self, measure: str, method: str) -> pd.DataFrame:
        """Return what a measure says of a method at the k that is shown."""
        table = self.tables.get("idp_protection")
        return where(table, dataset=self.dataset, measure=measure, method=method, k=self.at.k)

    def linked(self, method: str, epsilon: float) -> float | None:
        """Return the share of records that the intruder links to their own released record."""
        part = self.protection(names.LINKED, method)
        return _first(where(part, epsilon=epsilon), "value") if len(part) else None

    def certain(self, method: str) -> float | None:
        """Return the share of values that a release gives away for certain."""
        if method == "dp":  # every value has noise of its own
            return 0.0
        found = _first(self.protection(names.CERTAIN, method), "value")
        if found is not None:
            return found
        at = {"k": self.at.k, "domain_factor": self.at.factor}
        clusters = self.tables.get("idp_audit_clusters")
        own = where(clusters, dataset=self.dataset, method=method, **at)
        return 0.0 if len(own) and (own["clusters_without_noise"] == 0).all() else None

    def told(self, method: str) -> Row | None:
        """Return how often an intruder tells the file from a neighbour, by released records."""
        kind = names.ATTACKS["frozen" if method == "dp" else "partition"]
        own = {"dataset": self.dataset, "method": method, "claimed_epsilon": self.at.epsilon}
        part = where(self.tables.get("idp_attacks"), **own)
        part = kind.rows_of(self.at.at_k(part)) if len(part) else part
        return judged(rows_of(part)[0]) if len(part) else None

    def useful(self, method: str) -> Row:
        """Return the mean SSE and the F-measures of a method, by epsilon."""
        epsilons, factor = self.at.epsilons if self.forests else [], self.at.factor or 0
        lines = {each: line_at(self.forests, method, each, factor) for each in epsilons}
        return {"sse": self.sse(method), "f": {e: line for e, line in lines.items() if line}}

    def sse(self, method: str) -> dict[float, float]:
        """Return the mean SSE of a method, by epsilon."""
        at = {"domain_factor": self.at.factor, "k": self.at.k, "epsilon": (*self.at.epsilons,)}
        part = where(self.tables.get(names.SSE_TABLES[self.dataset]), method=method, **at)
        return dict(zip(part["epsilon"], part["mean_sse"], strict=True)) if len(part) else {}

    @cached_property
    def forests(self) -> dict[str, Any]:
        """The F-measures, at the k that is shown; nothing without a table of them."""
        table = self.tables.get(names.FOREST_TABLES[self.dataset])
        return {} if table is None else forests_of(table) | {"k": self.at.k}

    def _best_honest(self, honest: Sequence[Row]) -> dict[float, Row]:
        """Return by epsilon which classifier with true DP has the largest mean F."""
        every = {
            e: [row["f"][e] | row for row in honest if e in row["f"]] for e in self.at.epsilons
        }
        return {e: max(own, key=lambda line: line["mean"]) for e, own in every.items() if own}


def _first(part: pd.DataFrame, column: str) -> float | None:
    return float(part[column].iloc[0]) if len(part) else None
