"""Contents of the report's section on the audit of individual differential privacy ([idp])."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

from deniable.display import Tables, between, percent, rows_of, short

from reproduction.papers.idp import names
from reproduction.papers.idp.names import CLUSTERED, failing, noted
from reproduction.study import SIGN, PageTable, all_rows, groups_of, pivot, texts, where

HOLDS_WITHIN = 1e-9
BY_METHOD = {"dataset": "data", "method": "method"}
TITLES = {"dataset": names.DATASETS, "method": names.AUDITED}
BESIDE = "microaggregation alone"


def privacy(tables: Tables) -> dict[str, Any]:
    """Return the audit of one centroid, all centroids, and released records, from `tables`."""
    at, table = names.shown(tables), tables["idp_audit"]
    first = where(table, domain_factor=at.factor, domain="public")
    together = (first["unit"] == "attribute") & (first["attribute"] == names.ALL)
    anew = {"reading": names.FIXED_SCALE, "clusters": names.RECLUSTERED}
    narrowest = where(tables["idp_audit_clusters"], domain_factor=at.factor)
    return {
        "at": at,
        "readings": _readings(where(at.at_k(first[~together]), epsilon=at.epsilon)),
        "tightness": _tightness(tables["idp_audit_clusters"]),
        "composition": _by_k(narrowest, _composition, "worst attribute: exact over claimed ε"),
        "records": _records(where(table, unit="record", domain="public", **anew)),
        "noiseless": _by_k(
            where(narrowest, method="idp_cbls"), _without_noise, "clusters released without noise"
        ),
        "certificate": _certificate(at.at_k(where(first, unit="record"))),
        **_protection(tables["idp_protection"]),
    }


def _pivot(table: pd.DataFrame, column: str, label: str, keys: Sequence[str] = ()) -> PageTable:
    """Return the texts ``found`` in a `table` by data set, method and further `keys`."""
    return pivot(table.replace(TITLES), BY_METHOD | {key: key for key in keys}, column, label)


def _by_k(part: pd.DataFrame, found: Callable[[pd.DataFrame], str], label: str) -> PageTable:
    """Return the text of `found` for the rows of each k, one row per data set and method."""
    keys = [*BY_METHOD, "k"]
    rows = [of | {"found": found(own)} for of, own in groups_of(part, *keys)]
    return _pivot(pd.DataFrame(rows, columns=[*keys, "found"]), "k", label)


def _judged(times: float) -> str:
    return f"{short(times)} {SIGN['holds' if times <= 1 + HOLDS_WITHIN else 'fails']}"


def _readings(part: pd.DataFrame) -> PageTable:
    """Return the ε of the same release under each interpretation of Definition 3, by unit."""
    own = where(part, method=CLUSTERED)
    own = own[~noted(own, names.CERTIFICATE) & ~noted(own, names.SHUFFLED)]
    found = texts(own, lambda row: names.found_alone(row, f" of {short(row['claimed_epsilon'])}"))
    own = own.assign(found=found)
    every = names.READINGS.items()
    parts = [where(own, reading=r, clusters=c).assign(fixed=name) for name, (r, c) in every]
    keys, label = {"fixed": "interpretation"} | BY_METHOD, "ε used under each interpretation"
    return pivot(pd.concat(parts).replace(TITLES), keys, "unit", label, names=names.UNITS)


def _tightness(table: pd.DataFrame) -> PageTable:
    """Return the largest change of a centroid over its sensitivity, by method."""
    fixed = table.groupby([*BY_METHOD], sort=False)["tightness_fixed"].agg(["min", "max"])
    anew = table.groupby([*BY_METHOD], sort=False)["tightness_anew"].max()
    largest, ends = fixed["max"].combine(anew, max), [*map(between, fixed["min"], fixed["max"])]
    found = fixed.assign(fixed=ends, anew=anew, found=largest.map(_judged))
    heads = BY_METHOD | {"fixed": "members stay", "anew": "clusters formed again"}
    heads["found"] = "largest"
    return all_rows(found.reset_index().replace(TITLES), "changes over sensitivities", heads)


def _composition(part: pd.DataFrame) -> str:
    """Return exact over claimed ε of the worst attribute, marked if all records exceed it."""
    everyone = " *" if part["records_beyond"].min() == 1 else ""
    return _judged(part["attribute_times_claimed"].max()) + everyone


def _records(public: pd.DataFrame) -> PageTable:
    """Count the releases of records without a finite ε, with a fixed scale."""
    shuffled = noted(public, names.SHUFFLED).map({True: "random", False: "as in the file"})
    groups = public.assign(endless=public["exact_or_lower_bound"] == math.inf).groupby(shuffled)
    found = groups.agg(of=("endless", "size"), endless=("endless", "sum"), delta=("delta", "min"))
    found["delta"] = found["delta"].map(lambda delta: math.floor(1e4 * delta) / 1e4, "ignore")
    heads = {"note": "order of records", "of": "releases", "endless": "without a finite ε"}
    heads["delta"] = "least probability of refuting the neighbour"
    return all_rows(found.reset_index(), "released records, scale frozen", heads)


def _without_noise(part: pd.DataFrame) -> str:
    """Return the proportion of clusters without noise, and the attribute with most such values."""
    worst = rows_of(part.loc[[part["values_without_noise"].idxmax()]])[0]
    values = worst["values_without_noise"]
    beside = f" ({worst['attribute']}: {percent(values)})" if values else ""
    return percent(part["clusters_without_noise"].mean()) + beside


def _certificate(part: pd.DataFrame) -> PageTable:
    """Return the lower bounds on ε from released numbers alone, by claimed ε."""
    own = part[noted(part, names.CERTIFICATE)]
    own = own.assign(
        attributes=own["attribute"].eq(names.ALL).map({True: "all", False: "one"}),
        found=texts(own, lambda row: f"≥ {short(row['exact_or_lower_bound'])}{failing(row)}"),
    )
    return _pivot(own, "epsilon", "lower bound on ε from released numbers", ("attributes",))


def _protection(table: pd.DataFrame) -> dict[str, PageTable]:
    """Return losses between twin clusters, and linked records with microaggregation alone."""
    twins = where(table, dataset="none").drop_duplicates(["method", "epsilon"])
    keys, measures = [*BY_METHOD, "k", "epsilon"], (names.LINKED, names.NEAREST)
    linked, nearest = (where(table, measure=name).set_index(keys) for name in measures)
    beside = texts(nearest, lambda row: f" ({percent(row['value'])})")
    found = texts(linked, lambda row: percent(row["value"]))
    found += beside.reindex(linked.index, fill_value="")
    linked = linked.assign(found=found, **{BESIDE: linked["microaggregation"].map(percent)})
    by_epsilon = _pivot(linked.reset_index(), "epsilon", "correctly linked records", ("k", BESIDE))
    twins, label = twins.replace(TITLES), "loss between two clusters with one mean"
    of_twins = pivot(twins, ["method"], "epsilon", label, value="value")
    return {"twins": of_twins, "linked": by_epsilon}
