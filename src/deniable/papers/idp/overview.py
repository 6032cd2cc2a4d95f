"""The report's page on individual differential privacy: promised, delivered, protected."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import pandas as pd

from deniable.display import Row, Tables, rows_of
from deniable.papers.idp.names import (
    ALL,
    AS_IT_RUNS,
    ATTACKS,
    CERTAIN,
    CERTIFICATE,
    CLUSTERED,
    DATASETS,
    FOREST_TABLES,
    FOREST_TITLES,
    HONEST,
    LINKED,
    MASKED,
    SSE_TABLES,
    SSE_TITLES,
    UNITS,
    Shown,
    data_driven,
    judged,
    noted,
    shown,
    where,
)
from deniable.papers.idp.sections import forests_of, line_at

NAMES = {name: title.split(": ")[-1] for name, title in (FOREST_TITLES | SSE_TITLES).items()}


def overview(tables: Tables) -> dict[str, Any]:
    """Prepare the page: for each data set a row a method, and what is said of it in words."""
    at = shown(tables)
    audit = tables["idp_audit"]
    names = [name for name in DATASETS if name in set(audit["dataset"])]
    found = _deliveries(audit, at)
    pages = {name: _Page(tables, name, at, found) for name in names}
    datasets = {name: page.whole() for name, page in pages.items()}
    every = (page["by"][name] for page in datasets.values() for name in CLUSTERED)
    delivered = [row["delivered"]["record"] for row in every if row["delivered"]["record"]]
    centroids = [page["by"]["dp_um"]["delivered"]["attribute"] for page in datasets.values()]
    return {
        "at": at,
        "datasets": datasets,
        "names": DATASETS,
        "methods": MASKED,
        "units": UNITS,
        "records": len(delivered),
        "endless": sum(math.isinf(row["exact_or_lower_bound"]) for row in delivered),
        # on all data sets, as far as it was audited
        "centroids_keep": all(row and row["verdict"] == "holds" for row in centroids),
        "domain": data_driven(audit, at),
        "other_epsilons": [
            {"dataset": name, "epsilon": e, "cells": {m: page.delivered(m, e) for m in MASKED}}
            for (name, page), e in product(pages.items(), sorted(audit["epsilon"].unique()))
        ],
        "allowed": None if at.epsilon is None else 1 / (1 + math.exp(-at.epsilon)),
    }


def _deliveries(audit: pd.DataFrame, at: Shown) -> dict[tuple[str, str, float, str], Row]:
    """Return by data set, method, epsilon and unit what the algorithm spends as it runs.

    In a public domain; of attributes the worst one.
    """
    part = at.at_k(where(audit, reading=AS_IT_RUNS, domain="public", domain_factor=at.factor))
    together = (part["unit"] == "attribute") & (part["attribute"] == ALL)
    rows = [judged(row) for row in rows_of(part[~together & ~noted(part, CERTIFICATE)])]
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
            for name, title in MASKED.items()
        ]
        honest = [{"method": name, "name": NAMES[name]} | self.useful(name) for name in HONEST]
        return {
            "rows": rows,
            "by": {row["method"]: row for row in rows},
            "honest": [row for row in honest if row["sse"] or row["f"]],
            "classes": self.forests["classes"] if self.forests else [],
            "microaggregation": {
                "linked": _first(self.protection(LINKED, "idp_cbls"), "microaggregation"),
                "certain": _first(self.protection(CERTAIN, "idp_cbls"), "microaggregation"),
            },
            "original": self.useful("original"),
            "no_data": {"f": self.useful("majority")["f"], "sse": self.sse("no_data")},
            "best": self._best_honest(honest),
        }

    def delivered(self, method: str, epsilon: float | None) -> dict[str, Row | None]:
        """Return by unit what was found at an epsilon."""
        at = (self.dataset, method, epsilon)
        return {unit: self.deliveries.get((*at, unit)) for unit in UNITS}

    def protection(self, measure: str, method: str) -> pd.DataFrame:
        """Return what a measure says of a method at the k that is shown."""
        table = self.tables.get("idp_protection")
        return where(table, dataset=self.dataset, measure=measure, method=method, k=self.at.k)

    def linked(self, method: str, epsilon: float) -> float | None:
        """Return the share of records that the intruder links to their own released record."""
        part = self.protection(LINKED, method)
        return _first(where(part, epsilon=epsilon), "value") if len(part) else None

    def certain(self, method: str) -> float | None:
        """Return the share of values that a release gives away for certain."""
        if method == "dp":  # every value has noise of its own
            return 0.0
        found = _first(self.protection(CERTAIN, method), "value")
        if found is not None:
            return found
        at = {"k": self.at.k, "domain_factor": self.at.factor}
        clusters = self.tables.get("idp_audit_clusters")
        own = where(clusters, dataset=self.dataset, method=method, **at)
        return 0.0 if len(own) and (own["clusters_without_noise"] == 0).all() else None

    def told(self, method: str) -> Row | None:
        """Return how often an intruder tells the file from a neighbour, by released records."""
        kind = ATTACKS["frozen" if method == "dp" else "partition"]
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
        part = where(self.tables.get(SSE_TABLES[self.dataset]), method=method, **at)
        return dict(zip(part["epsilon"], part["mean_sse"], strict=True)) if len(part) else {}

    @cached_property
    def forests(self) -> dict[str, Any]:
        """The F-measures, at the k that is shown; nothing without a table of them."""
        table = self.tables.get(FOREST_TABLES[self.dataset])
        return {} if table is None else forests_of(table) | {"k": self.at.k}

    def _best_honest(self, honest: Sequence[Row]) -> dict[float, Row]:
        """Return by epsilon which classifier with true DP has the largest mean F."""
        every = {
            e: [row["f"][e] | row for row in honest if e in row["f"]] for e in self.at.epsilons
        }
        return {e: max(own, key=lambda line: line["mean"]) for e, own in every.items() if own}


def _first(part: pd.DataFrame, column: str) -> float | None:
    return float(part[column].iloc[0]) if len(part) else None
