"""The report's section about the audit of individual differential privacy ([idp])."""

import math
from collections.abc import Callable, Hashable
from typing import Any

import pandas as pd

from deniable.display import Row, Tables, groups_of, rows_of

from reproduction.papers.idp import names
from reproduction.papers.idp.names import Shown, data_driven, judged, noted, shown, where

HOLDS_WITHIN = 1e-9
CHARITABLE = next(iter(names.READINGS))


def audit(tables: Tables) -> dict[str, Any]:
    """Prepare the audit from `tables`: one centroid, all of them, records, as it runs, attacks."""
    at, table = shown(tables), tables["idp_audit"]
    first = where(table, domain_factor=at.factor, domain="public")
    clusters = tables.get("idp_audit_clusters")
    narrowest = where(clusters, domain_factor=at.factor)
    together = where(
        first,
        unit="attribute",
        attribute=names.ALL,
        reading=names.FROZEN,
        clusters=names.ANEW,
        epsilon=at.epsilon,
    )
    alone = where(first, unit="centroid", reading=names.AS_IT_RUNS, method=names.CLUSTERED)
    own = where(narrowest, method="idp_cbls") if len(narrowest) else narrowest
    return {
        "at": at,
        "names": names.DATASETS,
        "methods": names.AUDITED,
        "readings": _readings(where(at.at_k(table), domain_factor=at.factor, epsilon=at.epsilon)),
        "units": names.UNITS,
        "tightness": _tightness(clusters),
        "composition": _composition(narrowest),
        "together": _by_k(together, lambda cell: judged(rows_of(cell)[-1])),
        "records": _records(where(table, unit="record", reading=names.FROZEN, clusters=names.ANEW)),
        "runs": _by_k(alone, _over_epsilons),
        "domain": data_driven(table, at),
        "noiseless": _by_k(own, _without_noise),
        "certificate": _certificate(first, at),
        "attacks": _attacks(tables.get("idp_attacks"), at),
        "protection": _protection(tables.get("idp_protection")),
    }


def _readings(part: pd.DataFrame) -> dict[str, Any] | None:
    """Return what the same release spends under each reading: a row a method, a column a unit."""
    own = where(part, domain="public", method=names.CLUSTERED)
    of_method = ~((own["unit"] == "attribute") & (own["attribute"] == names.ALL))
    own = own[of_method & ~noted(own, names.CERTIFICATE) & ~noted(own, names.SHUFFLED)]
    called = {how: name for name, how in names.READINGS.items()}
    rows = _celled(
        own,
        lambda row: (called.get((row["reading"], row["clusters"])), row["unit"]),
        *("dataset", "method"),
        cell=judged,
    )
    found = [
        name for name in names.READINGS if any((name, "record") in row["cells"] for row in rows)
    ]
    verdicts = {
        row["cells"][name, unit]["verdict"]
        for row in rows
        for name, unit in row["cells"]
        if name == CHARITABLE
    }
    return {"rows": rows, "names": found, "kept": verdicts == {"holds"}} if found else None


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
    verdicts: dict[str, set[str]] = {name: set() for name in names.AUDITED}
    for row in found["rows"]:
        row["everyone"] = all(cell["everyone"] for cell in row["cells"].values())
        verdicts[row["method"]] |= {cell["verdict"] for cell in row["cells"].values()}
    fails = any("fails" in verdicts[name] for name in names.CLUSTERED)
    return found | {"fails": fails, "kept": verdicts["dp_um"] == {"holds"}}


def _records(part: pd.DataFrame) -> Row | None:
    """Count the releases of records that no finite epsilon describes, scale frozen."""
    public = where(part, domain="public")
    in_order = ~noted(public, names.SHUFFLED)
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
    part = at.at_k(where(first[noted(first, names.CERTIFICATE)], unit="record"))
    if not len(part):
        return None

    def key(row: Row) -> Hashable:
        return row["epsilon"], "all" if row["attribute"] == names.ALL else "one"

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
                for name, kind in names.ATTACKS.items()
                for row in rows_of(kind.rows_of(own))
            }
        }
        for of, own in groups_of(part, "dataset", "method")
    ]
    return {
        "rows": rows,
        "epsilons": sorted(table["claimed_epsilon"].unique()),
        "kinds": {name: kind.title for name, kind in names.ATTACKS.items()},
        "allowed": dict(zip(table["claimed_epsilon"], table["allowed"], strict=True)),
        "all": [judged(row) for row in rows_of(table)],
    }


def _protection(table: pd.DataFrame | None) -> dict[str, Any] | None:
    """Return what noise protects beside microaggregation alone: twins, certain values, links."""
    if table is None or not len(table):
        return None
    twins = where(table, dataset="none").drop_duplicates(["method", "epsilon"])
    linked = where(table, measure=names.LINKED)
    by_method = _celled(linked, lambda row: (row["method"], row["epsilon"]), "dataset", "k")
    return {
        "epsilons": sorted(table["epsilon"].dropna().unique()),
        "twins": _celled(twins, lambda row: row["epsilon"], "method"),
        "certain": rows_of(where(table, measure=names.CERTAIN)),
        "linked": [
            row | {"alone": float(next(iter(row["cells"].values()))["microaggregation"])}
            for row in by_method
        ],
        "nearest": {
            tuple(row[name] for name in ("dataset", "k", "method", "epsilon")): row["value"]
            for row in rows_of(where(table, measure=names.NEAREST))
        },
        "linked_methods": [name for name in names.MASKED if name in set(linked["method"])],
    }
