"""The report's section about the audit of individual differential privacy ([idp])."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pandas as pd

from deniable.display import Row, Tables, groups_of, rows_of
from deniable.papers.idp.sections.utility import (
    CLUSTERED,
    DATASETS,
    FOREST_TABLES,
    MASKED,
    SHOWN_K,
    SSE_TABLES,
    common,
    shown_epsilons,
)

FROZEN, AS_IT_RUNS = "scale frozen", "as it runs"
ANEW, ALL = "formed anew", "all attributes"
CERTIFICATE, SHUFFLED = "released numbers", "random order"
AUDITED = MASKED | {"idp_cbls_prose": "iDP-CBLS as in the prose"}
RANDOM = "random record"
ATTACKS = {
    "frozen": ("likelihood", FROZEN, "all attributes", "centroids, scale frozen"),
    "runs": ("likelihood", AS_IT_RUNS, "all attributes", "centroids, as it runs"),
    "partition": ("partition", AS_IT_RUNS, RANDOM, "records, a random change"),
}
"""Attack, reading, part of what is changed, and what the page calls it."""
HOLDS_WITHIN = 1e-9


# -- what this section and the page of all methods share -------------------------------------------


@dataclass(frozen=True)
class Shown:
    """The settings that one page has room for.

    Attributes
    ----------
    k, factor : float, optional
    epsilons : list of float
        The last one is that at which delivery is shown.
    """

    k: float | None
    factor: float | None
    epsilons: list[float]

    @property
    def epsilon(self) -> float | None:
        """The epsilon at which delivery is shown."""
        return self.epsilons[-1] if self.epsilons else None


def shown(tables: Tables) -> Shown:
    """Return the k that most tables have, the narrowest domain and the epsilons of one page."""
    audit = tables["idp_audit"]
    with_k = ("idp_audit", "idp_attacks", "idp_protection")
    clustered = {
        name: table[table["method"].isin(CLUSTERED)]
        for name in (*with_k, *SSE_TABLES.values(), *FOREST_TABLES.values())
        if (table := tables.get(name)) is not None
    }
    return Shown(
        common(clustered, list(clustered), "k", SHOWN_K),
        audit["domain_factor"].min(),
        shown_epsilons(audit["epsilon"].unique()),
    )


def judged(row: Row) -> Row:
    """Return a row with its verdict in words: a lower bound within the claim decides nothing."""
    holds = row["holds"]
    undecided = bool(pd.isna(holds))
    return row | {"verdict": "undecided" if undecided else "holds" if holds else "fails"}


def data_driven(audit: pd.DataFrame, at: Shown) -> Row | None:
    """Count the methods without a finite epsilon if the domain is made from the data."""
    part = audit[(audit["domain"] == "from the data") & (audit["epsilon"] == at.epsilon)]
    part = part[part["domain_factor"] == at.factor]
    if not len(part):
        return None
    endless = part[part["exact_or_lower_bound"].map(math.isinf)]
    methods = [name for name in MASKED if name in set(part["method"])]
    return {
        "methods": [MASKED[name] for name in methods],
        "all": len(endless) == len(part),
        "endless": [MASKED[name] for name in methods if name in set(endless["method"])],
    }


def noted(table: pd.DataFrame, note: str) -> pd.Series:
    """Return which rows of the audit have some words in their note."""
    return table["note"].fillna("").astype(str).str.contains(note, regex=False)


# -- the audit -------------------------------------------------------------------------------------


def audit(tables: Tables) -> dict[str, Any]:
    """Prepare the audit in detail: one centroid, all of them, records, as it runs, attacks."""
    at, table = shown(tables), tables["idp_audit"]
    first = table[(table["domain_factor"] == at.factor) & (table["domain"] == "public")]
    return {
        "at": at,
        "names": DATASETS,
        "methods": AUDITED,
        "tightness": _tightness(tables.get("idp_audit_clusters")),
        "composition": _composition(tables.get("idp_audit_clusters"), at),
        "together": _together(first, at),
        "records": _records(table),
        "runs": _as_it_runs(first),
        "domain": data_driven(table, at),
        "noiseless": _noiseless(tables.get("idp_audit_clusters"), at),
        "certificate": _certificate(first, at),
        "attacks": _attacks(tables.get("idp_attacks"), at),
        "protection": _protection(tables.get("idp_protection")),
    }


def _ends(values: Iterable[float]) -> tuple[float, float]:
    found = [float(value) for value in values]
    return min(found), max(found)


def _tightness(table: pd.DataFrame | None) -> list[Row] | None:
    """Return the largest change of a centroid over its sensitivity: a row a method."""
    if table is None or not len(table):
        return None
    rows = []
    for of, part in groups_of(table, "dataset", "method"):
        anew = float(part["tightness_anew"].max())
        fixed = _ends(part["tightness_fixed"])
        holds = max(anew, fixed[1]) <= 1 + HOLDS_WITHIN
        rows.append(judged(of | {"fixed": fixed, "anew": anew, "holds": holds}))
    return rows


def _composition(table: pd.DataFrame | None, at: Shown) -> dict[str, Any] | None:
    """Return how often the worst attribute spends its claim: a row a method, a column a k."""
    part = None if table is None else table[table["domain_factor"] == at.factor]
    if part is None or not len(part):
        return None
    rows = []
    for of, own in groups_of(part, "dataset", "method"):
        by_k = own.groupby("k")["attribute_times_claimed"].max()
        every = own.groupby("k")["records_beyond"].min()
        cells = {
            k: judged({"value": value, "holds": value <= 1 + HOLDS_WITHIN})
            for k, value in by_k.items()
        }
        rows.append(of | {"cells": cells, "everyone": bool((every == 1).all())})
    verdicts = {
        name: {
            cell["verdict"]
            for row in rows
            if row["method"] == name
            for cell in row["cells"].values()
        }
        for name in CLUSTERED
    }
    return {
        "rows": rows,
        "sizes": sorted(part["k"].unique()),
        "fails": any("fails" in found for found in verdicts.values()),
        "kept": verdicts["dp_um"] == {"holds"},
    }


def _together(first: pd.DataFrame, at: Shown) -> dict[str, Any] | None:
    """Return what all attributes together spend with the scale frozen, by k."""
    part = first[
        (first["unit"] == "attribute")
        & (first["attribute"] == ALL)
        & (first["reading"] == FROZEN)
        & (first["clusters"] == ANEW)
        & (first["epsilon"] == at.epsilon)
    ]
    if not len(part):
        return None
    rows = [
        of | {"cells": {row["k"]: judged(row) for row in rows_of(own)}}
        for of, own in groups_of(part, "dataset", "method")
    ]
    return {"rows": rows, "sizes": sorted(part["k"].unique())}


def _records(table: pd.DataFrame) -> Row | None:
    """Count the releases of records that no finite epsilon describes, scale frozen."""
    part = table[
        (table["unit"] == "record")
        & (table["reading"] == FROZEN)
        & (table["clusters"] == ANEW)
        & (table["domain"] == "public")
    ]
    shuffled = part[noted(part, SHUFFLED)]
    kept = part[~noted(part, SHUFFLED)]
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


def _as_it_runs(first: pd.DataFrame) -> dict[str, Any] | None:
    """Return how often one centroid spends its claim as it runs, over epsilons, by k."""
    part = first[
        (first["unit"] == "centroid")
        & (first["reading"] == AS_IT_RUNS)
        & first["method"].isin(CLUSTERED)
    ]
    if not len(part):
        return None
    rows = [
        of | {"cells": {k: _over_epsilons(at_k) for k, at_k in own.groupby("k")}}
        for of, own in groups_of(part, "dataset", "method")
    ]
    return {"rows": rows, "sizes": sorted(part["k"].unique())}


def _over_epsilons(part: pd.DataFrame) -> Row:
    """Return the range of the factors over the claim; it holds if it does at every epsilon."""
    verdicts = {judged(row)["verdict"] for row in rows_of(part)}
    low, high = _ends(part["times_claimed"])
    verdict = next(each for each in ("fails", "undecided", "holds") if each in verdicts)
    return {"low": low, "high": high, "verdict": verdict}


def _noiseless(table: pd.DataFrame | None, at: Shown) -> dict[str, Any] | None:
    """Return the clusters of iDP-CBLS that are released without noise, by k."""
    part = None if table is None else table[table["domain_factor"] == at.factor]
    if part is None or "idp_cbls" not in set(part["method"]):
        return None
    part = part[part["method"] == "idp_cbls"]
    rows = []
    for of, own in groups_of(part, "dataset"):
        cells = {
            k: {
                "mean": float(at_k["clusters_without_noise"].mean()),
                "worst": rows_of(at_k.loc[[at_k["values_without_noise"].idxmax()]])[0],
            }
            for k, at_k in own.groupby("k")
        }
        rows.append(of | {"cells": cells})
    return {"rows": rows, "sizes": sorted(part["k"].unique())}


def _certificate(first: pd.DataFrame, at: Shown) -> dict[str, Any] | None:
    """Return what the released numbers alone prove of each method, by epsilon."""
    part = first[noted(first, CERTIFICATE) & (first["unit"] == "record")]
    part = part[(part["method"] == "dp") | (part["k"] == at.k)]
    if not len(part):
        return None
    rows = []
    for of, own in groups_of(part, "dataset", "method"):
        cells = {
            (row["epsilon"], "all" if row["attribute"] == ALL else "one"): judged(row)
            for row in rows_of(own)
        }
        rows.append(of | {"cells": cells})
    return {"rows": rows, "epsilons": sorted(part["epsilon"].unique())}


def _attacks(table: pd.DataFrame | None, at: Shown) -> dict[str, Any] | None:
    """Return how often attacks are right at the k that is shown, by kind and epsilon."""
    if table is None or not len(table):
        return None
    epsilons = sorted(table["claimed_epsilon"].unique())
    part = table[(table["k"] == at.k) | table["k"].isna()]
    rows = []
    for of, own in groups_of(part, "dataset", "method"):
        cells: dict[tuple[str, float], Row] = {}
        for kind, (attack, reading, neighbour, _) in ATTACKS.items():
            which = own[(own["attack"] == attack) & (own["reading"] == reading)]
            which = which[which["neighbour"].str.contains(neighbour, regex=False)]
            cells |= {(kind, row["claimed_epsilon"]): judged(row) for row in rows_of(which)}
        rows.append(of | {"cells": cells})
    allowed = table.drop_duplicates("claimed_epsilon").set_index("claimed_epsilon")["allowed"]
    return {
        "rows": rows,
        "epsilons": epsilons,
        "kinds": {name: kind[-1] for name, kind in ATTACKS.items()},
        "allowed": allowed.to_dict(),
        "all": [judged(row) for row in rows_of(table)],
    }


def _protection(table: pd.DataFrame | None) -> dict[str, Any] | None:
    """Return what noise protects beside microaggregation alone: twins, certain values, links."""
    if table is None or not len(table):
        return None
    twins = table[table["dataset"] == "none"].drop_duplicates(["method", "epsilon"])
    linked = table[table["measure"] == "records linked"]
    certain = table[table["measure"] == "values known for certain"]
    return {
        "epsilons": sorted(table["epsilon"].dropna().unique()),
        "twins": [
            of | {"cells": {row["epsilon"]: row for row in rows_of(own)}}
            for of, own in groups_of(twins, "method")
        ],
        "certain": rows_of(certain),
        "linked": [
            of
            | {"cells": {(row["method"], row["epsilon"]): row for row in rows_of(own)}}
            | {"alone": float(own["microaggregation"].iloc[0])}
            for of, own in groups_of(linked, "dataset", "k")
        ],
        "linked_methods": [name for name in MASKED if name in set(linked["method"])],
    }
