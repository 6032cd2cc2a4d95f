"""Contents of the report's sections on individual differential privacy, except the audit."""

import math
from collections.abc import Callable, Mapping
from operator import itemgetter
from typing import Any

import pandas as pd
import scipy

from deniable.contingency import holm
from deniable.display import Row, Tables, between, joined, percent, plain, rows_of, short
from deniable.estimation import clopper_pearson

from reproduction.papers.idp import names
from reproduction.papers.idp.names import CLUSTERED, DP_BASELINES, MASKED, Shown
from reproduction.study import MISSING, SIGN, PageTable, all_rows, groups_of, pivot, texts, where

SAME_AS_MAJORITY = 0.1
"""A classifier with less than this proportion of the bound's F has not learned the class."""
COMPARED = (
    *(("dp_um", "dp"), ("idp_ls", "dp_um"), ("idp_cbls", "idp_ls"), ("idp_cbls", "dp")),
    *(("idp_cbls", "least_dp"), ("idp_cbls", "dp_median")),
    *((name, "no_data") for name in MASKED),
)  # pairs of methods: the table of ratios divides the SSE of the first by the SSE of the second
NAMES = {
    name: title.split(": ")[-1] for name, title in (names.FOREST_TITLES | names.SSE_TITLES).items()
} | {"dp": "DP", "least_dp": "least SSE of central ε-DP", "no_data": "a file of zeros"}
WORDS = MASKED | {name: NAMES[name] for name in DP_BASELINES} | {"epsilon": "ε"}  # in claims


def _by_dataset(
    tables: Tables, figures: Mapping[str, str], content: Callable[[pd.DataFrame, str], Any]
) -> dict[str, Any]:
    """Return the title and the content of each data set, by the figure with its table."""
    titles = {figure: names.DATASETS[name] for name, figure in figures.items()}
    return {"datasets": {f: (title, content(tables[f], title)) for f, title in titles.items()}}


def sse(tables: Tables) -> dict[str, Any]:
    """Return ratios of the mean SSE of methods, and a test of the simulation, from `tables`."""
    expected = tables.get("idp_expected_sse", pd.DataFrame())
    confirmed = simulation_test(expected) if len(expected) else None
    return _by_dataset(tables, names.SSE_TABLES, _ratios) | {"confirmed": confirmed}


def simulation_test(expected: pd.DataFrame) -> dict[str, Any]:
    """Test that simulated errors have the `expected` means (idp_expected_sse).

    The errors of few replicates are skewed, so scores from their standard errors are not normal. A
    mean is unbiased for any number of replicates. So the relative deviations of the settings of a
    data set and method have a mean of 0. Student's test compares it with their spread over the
    settings, after Hall's transformation for skewness (1992, On the removal of skewness by
    transformation). ``p`` is the least p-value by Holm, and ``apart`` is the largest mean. For
    squares of Laplace noise, 60 settings, 8 groups and a level of 5 %, the test rejects 6 % with 40
    replicates and 7 % with 5. Chi-squared of t-values rejects nearly all with 5.
    """
    relative = expected.assign(off=expected["mean_sse"] / expected["expected_sse"] - 1)
    groups = relative.groupby(["dataset", "method"])["off"].agg(["mean", "sem", "size", "skew"])
    groups = groups[groups["size"] > 1]
    score = (groups["mean"] / groups["sem"]).fillna(0.0)  # 0 / 0 if all deviations are 0
    skew = groups["skew"].fillna(0.0) / groups["size"] ** 0.5
    score += skew * score**2 / 3 + skew**2 * score**3 / 27 + skew / 6
    p_values = 2 * scipy.special.stdtr(groups["size"] - 1, -score.abs())
    found = {"p": float(holm(p_values).min()), "apart": float(groups["mean"].abs().max())}
    return found | {"cells": int(groups["size"].sum()), "groups": len(groups)}


def _ratios(table: pd.DataFrame, dataset: str) -> PageTable:
    """Return the range of ratios between methods by ε, and the number of ratios below 1."""
    at = ["epsilon", "domain_factor", "k"]
    errors = table.pivot(index=at, columns="method", values="mean_sse")
    first = errors[errors.index.get_level_values("k") == table["k"].min()]
    rows = []
    for one, other in COMPARED:
        if {one, other} <= set(errors):
            with_k = errors if {one, other} & {*CLUSTERED} else first
            ratios = (with_k[one] / with_k[other]).dropna()
            for epsilon, part in ratios.groupby(level="epsilon"):
                found = f"{between(part.min(), part.max())}, {(part < 1).sum()} of {len(part)}"
                rows.append((f"{NAMES[one]} / {NAMES[other]}", epsilon, found))
    ratio, label = "ratio of SSE", f"ratios of SSE, {dataset}"
    caption = "The range over domains and k, and the number of settings with a ratio below 1."
    shown = pd.DataFrame(rows, columns=[ratio, "epsilon", "found"])
    return pivot(shown, [ratio], "epsilon", label, caption=caption)


def forests(tables: Tables) -> dict[str, Any]:
    """Return the best classifiers on each data set from `tables`, and classes not learned."""
    return _by_dataset(
        tables,
        names.FOREST_TABLES,
        lambda *of: {"best": _best(*of), "unlearned": _unlearned(*of)},
    )


def _best(table: pd.DataFrame, dataset: str) -> PageTable:
    """Return the largest mean F of iDP-CBLS over k, and of the classifiers with central ε-DP."""
    factor = table.loc[table["domain_factor"] > 0, "domain_factor"].min()
    groups = where(table, domain_factor=factor).groupby(["method", "epsilon", "k"], sort=False)
    means = groups["f_measure"].mean().reset_index()
    kinds = {"idp_cbls": "iDP-CBLS"} | dict.fromkeys(DP_BASELINES, "central ε-DP")
    part = where(means, method=(*kinds,))
    part = part.assign(kind=part["method"].map(kinds)).replace({"method": NAMES})
    best = part.loc[part.groupby(["epsilon", "kind"])["f_measure"].idxmax()]
    best = best.assign(k=best["k"].map(lambda k: plain(k) if k else MISSING))
    best = best.rename(columns={"f_measure": "largest mean F"})
    heads = ("epsilon", "kind", "method", "k", "largest mean F")
    caption = "The largest mean F of both classes over k."
    return all_rows(best, f"best classifiers, {dataset}", heads, caption)


def _unlearned(table: pd.DataFrame, dataset: str) -> PageTable | None:
    """Count the settings where the rarer class is rarely recognized, by method."""
    both = (where(table, method=name) for name in ("majority", "original"))
    majority, original = (part.set_index("class")["f_measure"] for part in both)
    if len(majority) != 2 or not len(original):
        return None
    rare = str(majority.idxmin())
    own = where(table, method=(*MASKED, *DP_BASELINES), **{"class": rare})
    below = own["f_measure"] < SAME_AS_MAJORITY * original[rare]
    counts = below.groupby(own["method"].map(NAMES), sort=False).agg(["sum", "size"])
    heads = {"method": "method", "sum": "settings", "size": "of"}
    caption = f"Settings with an F of the class “{rare}” below a tenth of the bound."
    return all_rows(counts.reset_index(), f"classes not learned, {dataset}", heads, caption)


ROWS = {name: NAMES[name] for name in (*MASKED, *DP_BASELINES)} | {
    "microaggregation": "microaggregation alone",
    **{"original": "the original records", "majority": "no data: 0, majority class"},
}  # The rows of the overview. "majority" also has the errors of "no_data".


def overview(tables: Tables) -> dict[str, Any]:
    """Return one table of methods for each data set from `tables`, and the common findings."""
    at, audit = names.shown(tables), tables["idp_audit"]
    delivered = names.deliveries(audit, at)
    delivered = delivered.assign(found=texts(delivered, names.found_alone))
    datasets = [name for name in names.DATASETS if name in set(audit["dataset"])]
    records = where(delivered, unit="record", epsilon=at.epsilon, method=CLUSTERED)
    centroids = where(delivered, unit="attribute", epsilon=at.epsilon, method="dp_um")
    own = where(audit, domain="from the data", epsilon=at.epsilon, domain_factor=at.factor)
    return {
        "at": at,
        "datasets": {
            names.DATASETS[name]: _methods(tables, name, at, where(delivered, dataset=name))
            for name in datasets
        },
        "broken": len(records) > 0 and bool((records["exact_or_lower_bound"] == math.inf).all()),
        "centroids_keep": len(centroids) == len(datasets)
        and bool(centroids["holds"].isin([True]).all()),
        "domain": {"of": len(own), "endless": int((own["exact_or_lower_bound"] == math.inf).sum())},
        "allowed": 1 / (1 + math.exp(-at.epsilon)),
    }


def _methods(tables: Tables, dataset: str, at: Shown, delivered: pd.DataFrame) -> PageTable:
    """Return the ε, the protection and the utility of each method on a `dataset`."""
    found: dict[str, pd.Series] = {}
    for unit, title in names.UNITS.items():
        part = where(delivered, unit=unit, epsilon=at.epsilon)
        claims = f", of {short(part['claimed_epsilon'].max())}" if len(part) else ""
        found[f"{title}{claims}"] = _by_method(part, itemgetter("found"))
    units = [*found]
    protection = where(tables.get("idp_protection"), dataset=dataset, k=at.k)
    for e in at.epsilons:
        linked = where(protection, measure=names.LINKED, epsilon=e)
        found[f"linked, ε = {plain(e)}"] = _beside(linked)
    values = _beside(where(protection, measure=names.CERTAIN))
    clusters = where(tables.get("idp_audit_clusters"), dataset=dataset, domain_factor=at.factor)
    for name in MASKED:  # plain noise has no clusters
        own = where(clusters, method=name, k=at.k)
        noisy = len(own) > 0 and (own["clusters_without_noise"] == 0).all()
        if name not in values and (name == "dp" or noisy):
            values[name] = percent(0.0)
    found["values known for certain"] = values
    found["change detected"] = _noticed(tables.get("idp_attacks"), dataset, at)
    errors = where(tables.get(names.SSE_TABLES[dataset]), domain_factor=at.factor, k=at.k)
    errors = errors.replace({"method": {"no_data": "majority"}})
    for e in at.epsilons:
        sse_of = where(errors, epsilon=e)
        found[f"SSE, ε = {plain(e)}"] = _by_method(sse_of, itemgetter("mean_sse"))
    forests = names.forests_at(tables.get(names.FOREST_TABLES[dataset]), at)
    classes = " · ".join(map(str, forests["class"].unique())) if len(forests) else MISSING
    for e in at.epsilons:
        of_classes = _by_method(
            where(forests, epsilon=(e, 0)), lambda row: f"{row['f_measure']:.3f}"
        )
        found[f"F, ε = {plain(e)}"] = of_classes.groupby(level=0).agg(" · ".join)
    table = pd.DataFrame(found, index=list(ROWS), dtype=object)
    table.loc[[*DP_BASELINES], units] = f"by proof {SIGN['holds']}"
    table = table.loc[table.notna().any(axis=1)]
    rows = table.assign(method=table.index.map(ROWS))
    label = f"promise, exact ε and protection: {names.DATASETS[dataset]}"
    return all_rows(rows, label, ("method", *found), f"F of the classes {classes}.")


def _by_method(part: pd.DataFrame, text: Callable[[Row], Any]) -> pd.Series:
    return texts(part, text).set_axis(part["method"]) if len(part) else pd.Series(dtype=object)


def _beside(part: pd.DataFrame) -> pd.Series:
    """Return a proportion by method, also under microaggregation alone, as text."""
    values = _by_method(part, lambda row: percent(row["value"]))
    if len(part):
        values["microaggregation"] = percent(part["microaggregation"].iloc[0])
    return values


def _noticed(table: pd.DataFrame | None, dataset: str, at: Shown) -> pd.Series:
    """Return the accuracy of an intruder who distinguishes neighbouring files, by method."""
    if table is None:
        return pd.Series(dtype=object)
    part = at.at_k(where(table, dataset=dataset, claimed_epsilon=at.epsilon))
    clustered = where(part, method=CLUSTERED, neighbour=names.RANDOM_CHANGE)
    own = pd.concat([where(part, method="dp"), clustered])
    return _by_method(own, lambda row: percent(row["accuracy"]) + names.failing(row))


SHOWN = tuple(names.ESTIMATORS[name] for name in names.SHOWN_ESTIMATORS)
NOMINAL = 0.95  # coverage of the bootstrap intervals
LEAST = {
    **{"epsilon": "ε", "estimator": "estimator", "noise": "least distance"},
    **{"wasserstein": "distance", "undecided": "undecided"},
}
COVERED = ("noise", "statistic", "covered", "limits", "intervals")


def noises(tables: Tables) -> dict[str, Any]:
    """Return the noises with the least error at each ε, and coverages, from `tables`."""
    table = tables["idp_noises"].sort_values("epsilon", kind="stable")
    table = table.replace({"estimator": names.ESTIMATORS})
    return {
        "least": _least(where(table, estimator=SHOWN)),
        "smoothing": _smoothing(table),
        "covered": _covered(table[table["intervals"] > 0]),
        "below": bool((table["exact_epsilon"] <= table["epsilon"]).all()),
        "cells": table["cells"].iloc[0],
        "n": table["n"].iloc[0],
    }


def _least(table: pd.DataFrame) -> PageTable:
    """Return the noises with the least distance, and others with overlapping intervals."""
    rows = []
    for of, part in groups_of(table, "epsilon", "estimator"):
        lowest, *others = rows_of(part.sort_values("wasserstein", kind="stable"))
        meeting = [row["noise"] for row in others if row["ci_low"] <= lowest["ci_high"]]
        rows.append(of | lowest | {"undecided": joined(meeting) or MISSING})
    return all_rows(pd.DataFrame(rows), "noises with the least distance", LEAST)


def _smoothing(table: pd.DataFrame) -> Row:
    """Count the settings where smoothed EM is nearer than maximum likelihood, or farther."""
    ends = table.pivot(index=["noise", "epsilon"], columns="estimator")
    low, high = ends["ci_low"], ends["ci_high"]
    smoothed, likelihood = SHOWN
    nearer, farther = high[smoothed] < low[likelihood], low[smoothed] > high[likelihood]
    return {"nearer": int(nearer.sum()), "farther": int(farther.sum()), "of": len(nearer)}


def _covered(table: pd.DataFrame) -> PageTable:
    """Return the coverage of the intervals of each noise, with simultaneous limits."""
    rows, parts = [], groups_of(table, "noise")
    confidence = 1 - (1 - NOMINAL) / (len(parts) * 2)  # for both statistics
    for of, part in parts:
        made = int(part["intervals"].sum())
        for name in ("mean", "median"):
            held = int((part[f"coverage_{name}"] * part["intervals"]).round().sum())
            low, high = map(float, clopper_pearson(held, made, confidence))
            sign = f" {SIGN['fails']}" if high < NOMINAL else ""
            found = {"statistic": name, "covered": percent(held / made) + sign}
            found["limits"] = between(low, high, percent)
            rows.append(of | found | {"intervals": made})
    label = "coverage of bootstrap intervals, all ε together"
    caption = "The limits (Clopper and Pearson) hold together with 95 % confidence."
    return all_rows(pd.DataFrame(rows), label, COVERED, caption)
