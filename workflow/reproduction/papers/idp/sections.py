"""Prepare the report's sections on individual differential privacy ([idp]), except the audit."""

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd
import scipy

from deniable.display import SIGN, Row, Tables, between, nearest, percent, plain, short

from reproduction.papers.idp import names
from reproduction.papers.idp.names import (
    CLUSTERED,
    DP_BASELINES,
    MASKED,
    Shown,
    common,
    data_driven,
    deliveries,
    failing,
    forests_at,
    found_alone,
    found_and_claimed,
    shown,
    verdicts,
    where,
)
from reproduction.study import MISSING, PageTable, all_rows, pivot, texts

SAME_AS_MAJORITY = 0.1
"""A classifier that has less than this part of the bound's F has not learned the rarer class."""
AT = {"method": "method", "domain_factor": "domain, × maximum", "epsilon": "ε"}
COMPARED = (
    *(("dp_um", "dp"), ("idp_ls", "dp_um"), ("idp_cbls", "idp_ls"), ("idp_cbls", "dp")),
    *(("idp_cbls", "least_dp"), ("idp_cbls", "dp_median")),
    *((name, "no_data") for name in MASKED),
)
"""Methods whose SSE is divided by that of another."""
NAMES = {
    name: title.split(": ")[-1] for name, title in (names.FOREST_TITLES | names.SSE_TITLES).items()
} | {"dp": "DP", "least_dp": "least SSE of true DP", "no_data": "a file of zeros"}


def _by_dataset(
    tables: Tables, figures: Mapping[str, str], shown: Callable[[pd.DataFrame, str], Any]
) -> dict[str, Any]:
    """Return what is `shown` of the table of each data set, with its name and its figure."""
    found = {name: figure for name, figure in figures.items() if figure in tables}
    return {
        "datasets": {name: shown(tables[found[name]], names.DATASETS[name]) for name in found},
        "names": names.DATASETS,
        "figures": figures,
    }


# -- Figures 3 and 4 -------------------------------------------------------------------------------


def sse(tables: Tables) -> dict[str, Any]:
    """Prepare from `tables` the mean SSE of both data sets, and ratios between methods."""
    return {
        **_by_dataset(tables, names.SSE_TABLES, _sse_of),
        "confirmed": _confirmed(tables.get("idp_expected_sse")),
    }


def _confirmed(table: pd.DataFrame | None) -> Row | None:
    """Return how well simulated errors agree with the expected ones, over all settings at once."""
    if table is None or not len(table):
        return None
    total = float((table["standardized"] ** 2).sum())
    return {"cells": len(table), "sum": total, "p": float(scipy.special.chdtrc(len(table), total))}


def _sse_of(table: pd.DataFrame, dataset: str) -> dict[str, PageTable]:
    titled = table.replace({"method": names.SSE_TITLES})
    k = nearest(set(table["k"]), names.SHOWN_K)
    form: dict[str, Any] = {
        "value": "mean_sse",
        "caption": f"Means of {table['replicates'].max()} replicates with 95 % intervals.",
    }
    keys = {name: AT[name] for name in ("domain_factor", "method")}
    at_k = titled[titled["k"] == k].sort_values("domain_factor", kind="stable")
    return {
        "shown": pivot(at_k, keys, "epsilon", f"mean SSE at k = {k}, {dataset}", **form),
        "ratios": _ratios(table, dataset),
        "every": pivot(titled, AT, "k", f"mean SSE at all k, {dataset}", **form),
    }


def _ratios(table: pd.DataFrame, dataset: str) -> PageTable:
    """Return by epsilon the range of ratios between methods, and how many are below 1."""
    at = ["epsilon", "domain_factor", "k"]
    errors = table.pivot(index=at, columns="method", values="mean_sse")
    first = errors[errors.index.get_level_values("k") == table["k"].min()]
    rows = []
    for one, other in COMPARED:
        if {one, other} <= set(errors):
            with_k = errors if {one, other} & {*CLUSTERED} else first
            ratios = (with_k[one] / with_k[other]).dropna()
            rows += [
                (f"{NAMES[one]} / {NAMES[other]}", epsilon, f"{span}, {below} of {len(part)}")
                for epsilon, part in ratios.groupby(level="epsilon")
                for span, below in [(between(part.min(), part.max()), (part < 1).sum())]
            ]
    return pivot(
        pd.DataFrame(rows, columns=["ratio", "epsilon", "found"]),
        {"ratio": "SSE of one over SSE of another"},
        "epsilon",
        f"ratios of SSE, {dataset}",
        value="found",
        text="text",
        caption="The range over domains and k, and the number of settings with a ratio below 1.",
    )


# -- Figures 5 and 6 -------------------------------------------------------------------------------


def forests(tables: Tables) -> dict[str, Any]:
    """Prepare from `tables` the F-measures of both data sets."""
    return _by_dataset(tables, names.FOREST_TABLES, forests_of)


def forests_of(table: pd.DataFrame, dataset: str) -> dict[str, PageTable | None]:
    """Prepare the F-measures of one `dataset` from its `table`."""
    k = common([where(table, method=CLUSTERED)], "k", names.SHOWN_K)
    factor = table.loc[table["domain_factor"] > 0, "domain_factor"].min()
    epsilons = sorted(set(table["epsilon"]))
    at = Shown(k, factor, epsilons)
    of_class = {"class": "class", "method": "trained on"}
    heads = {e: f"ε = {plain(e)}" if e else "no ε" for e in epsilons}
    part = forests_at(table, at).sort_values("class", kind="stable")
    form: dict[str, Any] = {
        "value": "f_measure",
        "caption": f"Means of {table['replicates'].max()} replicates with 95 % intervals.",
    }
    keys = ["method", "epsilon", "domain_factor", "k"]
    means = table.groupby(keys, sort=False)["f_measure"].mean().reset_index()
    every = pd.concat([table, means.assign(**{"class": "mean"})]).replace(
        {"method": names.FOREST_TITLES}
    )
    for name in keys[1:]:
        every[name] = every[name].map(lambda value: plain(value) if value else MISSING)
    classes = {each: str(each) for each in every["class"].unique()}
    label = f"F-measures, {dataset}, k = {plain(k or 0)}, domain to {plain(factor)} × maximum"
    return {
        "shown": pivot(
            part.replace({"method": names.FOREST_TITLES}),
            of_class,
            "epsilon",
            label,
            names=heads,
            **form,
        ),
        "best": _best(where(means, domain_factor=factor), dataset),
        "unlearned": _unlearned(table, dataset),
        "every": pivot(
            every,
            {"method": "trained on"} | {name: AT.get(name, name) for name in keys[1:]},
            "class",
            f"F-measures, {dataset}, all k and domains",
            names=classes,
            **form,
        ),
    }


def _best(means: pd.DataFrame, dataset: str) -> PageTable:
    """Return the largest mean F of iDP-CBLS over k, and of the classifiers with true DP."""
    kinds = {"idp_cbls": "iDP-CBLS"} | dict.fromkeys(DP_BASELINES, "true DP")
    part = where(means, method=(*kinds,))
    part = part.assign(kind=part["method"].map(kinds)).replace({"method": NAMES})
    best = part.loc[part.groupby(["epsilon", "kind"])["f_measure"].idxmax()]
    best = best.assign(k=best["k"].map(lambda k: plain(k) if k else MISSING))
    heads = {"epsilon": "ε", "kind": "kind", "method": "method", "k": "k"}
    heads["f_measure"] = "largest mean F"
    caption = "The largest mean F of both classes over k."
    return all_rows(best, f"best classifiers, {dataset}", heads, caption)


def _unlearned(table: pd.DataFrame, dataset: str) -> PageTable | None:
    """Count by method the settings in which the rarer class is hardly ever recognized."""
    majority, original = (
        where(table, method=name).set_index("class")["f_measure"]
        for name in ("majority", "original")
    )
    if len(majority) != 2 or not len(original):
        return None
    rare = str(majority.idxmin())
    own = table[(table["class"] == rare) & table["method"].isin((*MASKED, *DP_BASELINES))]
    below = own["f_measure"] < SAME_AS_MAJORITY * original[rare]
    counts = below.groupby(own["method"].map(NAMES), sort=False).agg(["sum", "size"])
    heads = {"method": "method", "sum": "settings", "size": "of"}
    caption = f"Settings with an F of the class “{rare}” below a tenth of the bound."
    return all_rows(counts.reset_index(), f"classes not learned, {dataset}", heads, caption)


def in_words(text: str) -> str:
    """Return `text` with methods called as the page calls them.

    >>> in_words("idp_ls over dp_um at epsilon 1, dp_rule")
    'iDP-LS over DP-UM at ε 1, threshold rule'
    """
    short_names = {
        name: names.FOREST_TITLES.get(name, "").partition(": ")[2] for name in DP_BASELINES
    }
    words = MASKED | short_names | {"epsilon": "ε", "dp_median": "median of the class"}
    words["dp_synthetic"] = "synthetic records"
    return re.sub(r"\b[a-z_]+\b", lambda word: words.get(word[0], word[0]), str(text))


# -- promised, delivered, protected ----------------------------------------------------------------

ROWS = {name: NAMES[name] for name in (*MASKED, *DP_BASELINES)} | {
    "microaggregation": "microaggregation alone",
    **{"original": "the original records", "majority": "no data: 0, majority class"},
}
"""The rows of the overview; "majority" also has the errors of "no_data"."""


def overview(tables: Tables) -> dict[str, Any]:
    """Prepare from `tables` one table of methods for each data set, and what holds on all."""
    at, audit = shown(tables), tables["idp_audit"]
    delivered = deliveries(audit, at)
    delivered = delivered.assign(
        found=texts(delivered, found_and_claimed), short=texts(delivered, found_alone)
    )
    datasets = [name for name in names.DATASETS if name in set(audit["dataset"])]
    records = where(delivered, unit="record", epsilon=at.epsilon, method=CLUSTERED)
    centroids = where(delivered, unit="attribute", epsilon=at.epsilon, method="dp_um")
    of_data = {"dataset": names.DATASETS, "method": names.AUDITED}
    return {
        "at": at,
        "datasets": {
            names.DATASETS[name]: _methods(tables, name, at, where(delivered, dataset=name))
            for name in datasets
        },
        "broken": len(records) > 0 and bool((records["exact_or_lower_bound"] == math.inf).all()),
        # on all data sets, as far as it was audited
        "centroids_keep": len(centroids) == len(datasets)
        and bool((verdicts(centroids) == "holds").all()),
        "domain": data_driven(audit, at),
        "allowed": None if at.epsilon is None else 1 / (1 + math.exp(-at.epsilon)),
        "delivered": pivot(
            delivered.replace(of_data),
            {"dataset": "data", "epsilon": "ε promised", "method": "method"},
            "unit",
            "what is delivered at each ε",
            value="found",
            text="text",
            names=names.UNITS,
        ),
    }


def _methods(tables: Tables, dataset: str, at: Shown, delivered: pd.DataFrame) -> PageTable:
    """Return what each method delivers and protects on a `dataset`, and how useful it is."""
    spent = where(delivered, epsilon=at.epsilon)
    protection = where(tables.get("idp_protection"), dataset=dataset, k=at.k)
    linked, certain = (where(protection, measure=name) for name in (names.LINKED, names.CERTAIN))
    errors = where(tables.get(names.SSE_TABLES[dataset]), domain_factor=at.factor, k=at.k)
    errors = errors.replace({"method": {"no_data": "majority"}})
    units = {}
    for unit, title in names.UNITS.items():
        part = where(spent, unit=unit)
        claims = f", of {short(part['claimed_epsilon'].max())}" if len(part) else ""
        units[f"{title}{claims}"] = _by_method(part, "short")
    found = dict(units)
    for e in at.epsilons:
        found[f"linked, ε = {plain(e)}"] = _beside(where(linked, epsilon=e))
    values = _beside(certain)
    clusters = where(tables.get("idp_audit_clusters"), dataset=dataset, domain_factor=at.factor)
    for name in MASKED:  # noise in every cluster: plain noise has none
        own = where(clusters, method=name, k=at.k)
        noisy = len(own) > 0 and (own["clusters_without_noise"] == 0).all()
        if name not in values and (name == "dp" or noisy):
            values[name] = percent(0.0)
    found["values known for certain"] = values
    found["a change is noticed in"] = _noticed(tables.get("idp_attacks"), dataset, at)
    for e in at.epsilons:
        found[f"SSE, ε = {plain(e)}"] = _by_method(where(errors, epsilon=e), "mean_sse")
    forests = forests_at(tables.get(names.FOREST_TABLES[dataset]), at)
    classes = " · ".join(map(str, forests["class"].unique())) if len(forests) else MISSING
    for e in at.epsilons:
        found[f"F, ε = {plain(e)}"] = _measures(where(forests, epsilon=(e, 0)))
    table = pd.DataFrame(found, index=list(ROWS), dtype=object)
    table.loc[[*DP_BASELINES], [*units]] = f"by proof {SIGN['holds']}"
    table = table.loc[table.notna().any(axis=1)]
    rows = table.assign(method=table.index.map(ROWS))
    heads = {"method": "method"} | {name: name for name in found}
    label = f"promised, delivered, protected: {names.DATASETS[dataset]}"
    return all_rows(rows, label, heads, f"F of the classes {classes}.")


def _by_method(part: pd.DataFrame, column: str) -> pd.Series:
    return part.set_index("method")[column] if len(part) else pd.Series(dtype=object)


def _beside(part: pd.DataFrame) -> pd.Series:
    """Return a proportion by method, that of microaggregation alone among them, as text."""
    values = _by_method(part, "value").map(percent).astype(object)
    if len(part):
        values["microaggregation"] = percent(part["microaggregation"].iloc[0])
    return values


def _noticed(table: pd.DataFrame | None, dataset: str, at: Shown) -> pd.Series:
    """Return how often an intruder distinguishes the file from one that differs in a record."""
    if table is None:
        return pd.Series(dtype=object)
    part = at.at_k(where(table, dataset=dataset, claimed_epsilon=at.epsilon))
    kinds = {"frozen": ("dp",), "partition": CLUSTERED}
    own = pd.concat(
        [names.ATTACKS[kind].rows_of(where(part, method=of)) for kind, of in kinds.items()]
    )
    return texts(own, lambda row: percent(row["accuracy"]) + failing(row)).set_axis(own["method"])


def _measures(part: pd.DataFrame) -> pd.Series:
    """Return the F-measures of all classes by method, as text."""
    if not len(part):
        return pd.Series(dtype=object)
    texts = part["f_measure"].map(lambda value: f"{value:.3f}")
    return texts.groupby(part["method"]).agg(" · ".join)
