"""The report's section about the audit of individual differential privacy ([idp])."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import pandas as pd

from deniable.display import Row, Tables, groups_of, rows_of
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
    FROZEN,
    LINKED,
    MASKED,
    SHUFFLED,
    SSE_TABLES,
    Attack,
)
from deniable.papers.idp.sections.utility import SHOWN_K, common, shown_epsilons

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
    names = (*with_k, *SSE_TABLES.values(), *FOREST_TABLES.values())
    clustered = [where(tables[name], method=CLUSTERED) for name in names if name in tables]
    return Shown(
        common(clustered, "k", SHOWN_K),
        audit["domain_factor"].min(),
        shown_epsilons(audit["epsilon"].unique()),
    )


def where(table: pd.DataFrame | None, **values: Any) -> pd.DataFrame:
    """Return the rows that have a value in each column, or one of several; none without a table."""
    if table is None:
        return pd.DataFrame()
    for column, value in values.items():
        found = table[column].isin(value) if isinstance(value, tuple) else table[column] == value
        table = table[found]
    return table


def at_k(table: pd.DataFrame, at: Shown) -> pd.DataFrame:
    """Return the rows of the k that is shown, and of plain noise, which has none."""
    return table[(table["method"] == "dp") | (table["k"] == at.k)]


def of_attack(table: pd.DataFrame, kind: Attack) -> pd.DataFrame:
    """Return the rows of one kind of attack."""
    part = where(table, attack=kind.attack, reading=kind.reading)
    return part[part["neighbour"].str.contains(kind.neighbour, regex=False)]


def judged(row: Row) -> Row:
    """Return a row with its verdict in words: a lower bound within the claim decides nothing."""
    holds = row["holds"]
    undecided = bool(pd.isna(holds))
    return row | {"verdict": "undecided" if undecided else "holds" if holds else "fails"}


def data_driven(audit: pd.DataFrame, at: Shown) -> Row | None:
    """Count the methods without a finite epsilon if the domain is made from the data."""
    part = where(audit, domain="from the data", epsilon=at.epsilon, domain_factor=at.factor)
    if not len(part):
        return None
    endless = part[part["exact_or_lower_bound"].map(math.isinf)]
    of, at_all = (
        [title for name, title in MASKED.items() if name in set(each["method"])]
        for each in (part, endless)
    )
    return {"methods": of, "all": len(endless) == len(part), "endless": at_all}


def noted(table: pd.DataFrame, note: str) -> pd.Series:
    """Return which rows of the audit have some words in their note."""
    return table["note"].fillna("").astype(str).str.contains(note, regex=False)


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
        "noiseless": _by_k(own, _without_noise, "dataset"),
        "certificate": _certificate(first, at),
        "attacks": _attacks(tables.get("idp_attacks"), at),
        "protection": _protection(tables.get("idp_protection")),
    }


def _by_k(
    part: pd.DataFrame, cell: Callable[[pd.DataFrame], Row], *of: str
) -> dict[str, Any] | None:
    """Return a cell for each k, a row a method of a data set, or a row for what else it is of."""
    if not len(part):
        return None
    rows = [
        named | {"cells": {k: cell(at_it) for k, at_it in own.groupby("k")}}
        for named, own in groups_of(part, *(of or ("dataset", "method")))
    ]
    return {"rows": rows, "sizes": sorted(part["k"].unique())}


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
    """Return how often one centroid spends its claim as it runs, over epsilons.

    It holds if it does at every epsilon.
    """
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
    part = at_k(where(first[noted(first, CERTIFICATE)], unit="record"), at)
    if not len(part):
        return None
    rows = [
        of
        | {
            "cells": {
                (row["epsilon"], "all" if row["attribute"] == ALL else "one"): judged(row)
                for row in rows_of(own)
            }
        }
        for of, own in groups_of(part, "dataset", "method")
    ]
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
                for row in rows_of(of_attack(own, kind))
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
    return {
        "epsilons": sorted(table["epsilon"].dropna().unique()),
        "twins": [
            of | {"cells": {row["epsilon"]: row for row in rows_of(own)}}
            for of, own in groups_of(twins, "method")
        ],
        "certain": rows_of(where(table, measure=CERTAIN)),
        "linked": [
            of
            | {"cells": {(row["method"], row["epsilon"]): row for row in rows_of(own)}}
            | {"alone": float(own["microaggregation"].iloc[0])}
            for of, own in groups_of(linked, "dataset", "k")
        ],
        "linked_methods": [name for name in MASKED if name in set(linked["method"])],
    }
