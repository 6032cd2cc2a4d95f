"""The report's page on individual differential privacy: promised, delivered, protected."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from deniable.display import Row, Tables, rows_of
from deniable.papers.idp.sections.privacy import (
    ALL,
    AS_IT_RUNS,
    ATTACKS,
    CERTIFICATE,
    Shown,
    data_driven,
    judged,
    noted,
    shown,
)
from deniable.papers.idp.sections.utility import (
    CLUSTERED,
    DATASETS,
    FOREST_TABLES,
    FOREST_TITLES,
    HONEST,
    MASKED,
    SSE_TABLES,
    SSE_TITLES,
    forests_of,
    line_at,
)

NAMES = {name: title.split(": ")[-1] for name, title in (FOREST_TITLES | SSE_TITLES).items()}
UNITS = {
    "centroid": "one centroid",
    "attribute": "all centroids of an attribute",
    "record": "the released records",
}


def overview(tables: Tables) -> dict[str, Any]:
    """Prepare the page: for each data set a row a method, and what is said of it in words."""
    at = shown(tables)
    audit = tables["idp_audit"]
    names = [name for name in DATASETS if name in set(audit["dataset"])]
    found = _deliveries(audit, at)
    pages = {name: _Page(tables, name, at, found) for name in names}
    datasets = {name: page.whole() for name, page in pages.items()}
    delivered = [
        row["delivered"]["record"]
        for page in datasets.values()
        for row in page["rows"]
        if row["method"] in CLUSTERED and row["delivered"]["record"]
    ]
    return {
        "at": at,
        "datasets": datasets,
        "names": DATASETS,
        "methods": MASKED,
        "units": UNITS,
        "records": len(delivered),
        "endless": sum(math.isinf(row["exact_or_lower_bound"]) for row in delivered),
        "centroids_keep": _all_hold(datasets, "dp_um", "attribute"),
        "helps": _noise_helps(datasets),
        "domain": data_driven(audit, at),
        "other_epsilons": _by_epsilon(pages, sorted(audit["epsilon"].unique())),
        "allowed": _allowed(at),
    }


def _all_hold(datasets: Mapping[str, Any], method: str, unit: str) -> bool:
    """Return whether a promise is kept on all data sets, as far as it was audited."""
    found = [page["by"][method]["delivered"][unit] for page in datasets.values()]
    return all(row is not None and row["verdict"] == "holds" for row in found)


def _noise_helps(datasets: Mapping[str, Any]) -> bool:
    """Return whether iDP-CBLS always leaves fewer records linked than microaggregation alone."""
    pairs = [
        (share, page["microaggregation"]["linked"])
        for page in datasets.values()
        for share in page["by"]["idp_cbls"]["linked"].values()
        if share is not None
    ]
    return bool(pairs) and all(share < alone for share, alone in pairs)


def _allowed(at: Shown) -> float | None:
    """Return how often an intruder may be right at the epsilon that is shown."""
    return None if at.epsilon is None else 1 / (1 + math.exp(-at.epsilon))


def _deliveries(audit: pd.DataFrame, at: Shown) -> dict[tuple[str, str, float, str], Row]:
    """Return by data set, method, epsilon and unit what the algorithm spends as it runs.

    In a public domain; of attributes the worst one.
    """
    part = audit[
        (audit["reading"] == AS_IT_RUNS)
        & (audit["domain"] == "public")
        & (audit["domain_factor"] == at.factor)
        & ((audit["method"] == "dp") | (audit["k"] == at.k))
        & ((audit["unit"] != "attribute") | (audit["attribute"] != ALL))
        & ~noted(audit, CERTIFICATE)
    ]
    rows = [judged(row) for row in rows_of(part)]
    return {(row["dataset"], row["method"], row["epsilon"], row["unit"]): row for row in rows}


def _by_epsilon(pages: Mapping[str, "_Page"], epsilons: Sequence[float]) -> list[Row]:
    """Return what is delivered at every epsilon."""
    rows = []
    for (name, page), epsilon in itertools.product(pages.items(), epsilons):
        at_it = replace(page, at=replace(page.at, epsilons=[epsilon]))
        cells = {method: at_it.delivered(method) for method in MASKED}
        rows.append({"dataset": name, "epsilon": epsilon, "cells": cells})
    return rows


@dataclass(frozen=True)
class _Page:
    """What the page shows of one data set."""

    tables: Tables
    dataset: str
    at: Shown
    deliveries: Mapping[tuple[Any, ...], Row]

    def whole(self) -> dict[str, Any]:
        forests = self._forests()
        rows = [
            {
                "method": name,
                "name": title,
                "delivered": self.delivered(name),
                "linked": {e: self.linked(name, e) for e in self.at.epsilons},
                "certain": self.certain(name),
                "told": self.told(name),
            }
            | self.useful(name, forests)
            for name, title in MASKED.items()
        ]
        honest = [
            {"method": name, "name": NAMES[name]} | self.useful(name, forests) for name in HONEST
        ]
        return {
            "rows": rows,
            "by": {row["method"]: row for row in rows},
            "honest": [row for row in honest if row["sse"] or row["f"]],
            "classes": forests["classes"] if forests else [],
            "microaggregation": self.microaggregation(),
            "original": self._ends("original", forests),
            "no_data": self._ends("majority", forests) | {"sse": self.sse("no_data")},
            "best": self._best_honest(honest),
        }

    def delivered(self, method: str) -> dict[str, Row | None]:
        """Return by unit what was found at the epsilon that is shown."""
        at = (self.dataset, method, self.at.epsilon)
        return {unit: self.deliveries.get((*at, unit)) for unit in UNITS}

    def linked(self, method: str, epsilon: float) -> float | None:
        """Return the share of records that are linked to their own released record."""
        part = self._protection("records linked", method)
        part = part[part["epsilon"] == epsilon]
        return float(part["value"].iloc[0]) if len(part) else None

    def certain(self, method: str) -> float | None:
        """Return the share of values that a release gives away for certain."""
        if method == "dp":  # every value has noise of its own
            return 0.0
        part = self._protection("values known for certain", method)
        if len(part):
            return float(part["value"].iloc[0])
        clusters = self.tables.get("idp_audit_clusters")
        if clusters is None:
            return None
        own = clusters[(clusters["dataset"] == self.dataset) & (clusters["method"] == method)]
        own = own[(own["k"] == self.at.k) & (own["domain_factor"] == self.at.factor)]
        return 0.0 if len(own) and (own["clusters_without_noise"] == 0).all() else None

    def told(self, method: str) -> Row | None:
        """Return how often an intruder tells the file from a neighbour, by released records."""
        attacks = self.tables.get("idp_attacks")
        if attacks is None:
            return None
        kind = ATTACKS["frozen" if method == "dp" else "partition"]
        part = attacks[
            (attacks["dataset"] == self.dataset)
            & (attacks["method"] == method)
            & (attacks["attack"] == kind[0])
            & (attacks["reading"] == kind[1])
            & attacks["neighbour"].str.contains(kind[2], regex=False)
            & (attacks["claimed_epsilon"] == self.at.epsilon)
        ]
        if method != "dp":
            part = part[part["k"] == self.at.k]
        return judged(rows_of(part)[0]) if len(part) else None

    def microaggregation(self) -> Row:
        """Return what microaggregation alone protects."""
        found: Row = {}
        measures = {"linked": "records linked", "certain": "values known for certain"}
        for name, measure in measures.items():
            part = self._protection(measure, "idp_cbls")
            found[name] = float(part["microaggregation"].iloc[0]) if len(part) else None
        return found

    def useful(self, method: str, forests: Mapping[str, Any] | None) -> Row:
        """Return the mean SSE and the F-measures of a method, by epsilon."""
        lines = {} if forests is None else {
            epsilon: line_at(forests, method, epsilon, self.at.factor or 0)
            for epsilon in self.at.epsilons
        }  # fmt: skip
        return {"sse": self.sse(method), "f": {e: line for e, line in lines.items() if line}}

    def sse(self, method: str) -> dict[float, float]:
        """Return the mean SSE of a method, by epsilon."""
        table = self.tables.get(SSE_TABLES[self.dataset])
        if table is None:
            return {}
        part = table[(table["method"] == method) & (table["domain_factor"] == self.at.factor)]
        part = part[(part["k"] == self.at.k) & part["epsilon"].isin(self.at.epsilons)]
        return dict(zip(part["epsilon"], part["mean_sse"], strict=True))

    def _forests(self) -> dict[str, Any] | None:
        table = self.tables.get(FOREST_TABLES[self.dataset])
        return None if table is None else forests_of(table) | {"k": self.at.k}

    def _ends(self, method: str, forests: Mapping[str, Any] | None) -> Row:
        """Return the line that has no epsilon, at each of those that are shown."""
        return {"f": self.useful(method, forests)["f"]}

    def _best_honest(self, honest: Sequence[Row]) -> dict[float, Row]:
        """Return by epsilon which classifier with true DP has the largest mean F."""
        found = {}
        for epsilon in self.at.epsilons:
            lines = [row["f"][epsilon] | row for row in honest if epsilon in row["f"]]
            if lines:
                found[epsilon] = max(lines, key=lambda line: line["mean"])
        return found

    def _protection(self, measure: str, method: str) -> pd.DataFrame:
        table = self.tables.get("idp_protection")
        if table is None:
            return pd.DataFrame({"value": [], "microaggregation": [], "epsilon": []})
        return table[
            (table["dataset"] == self.dataset)
            & (table["measure"] == measure)
            & (table["method"] == method)
            & (table["k"] == self.at.k)
        ]
