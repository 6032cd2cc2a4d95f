"""Prepare the tables of the report's sections on [rrba] from the tables of a run."""

import re
from typing import Any

import numpy as np
import pandas as pd

from deniable.display import (
    SIGN,
    Row,
    Tables,
    between,
    groups_of,
    nearest,
    percent,
    plain,
    short,
)

from reproduction.papers.rrba import names
from reproduction.papers.rrba.catalog import CONVERGENCE_KEYS
from reproduction.papers.rrba.ratios import (
    EQUAL_KEYS,
    FORM,
    MEASURED,
    adapting,
    named,
    ratios,
    with_interval,
)
from reproduction.study import LOWEST, MISSING, PageTable, all_rows, from_rows, pivot, span, texts

SHOWN_P, SHOWN_FLOOR = 0.5, 0.1
MOSTLY, ALWAYS = 0.5, 1.0
"""Proportions of the replicates that must have converged."""


# -- claims and exact epsilons ---------------------------------------------------------------------


def overview(tables: Tables) -> dict[str, Any]:
    """Prepare from `tables` the claimed and the exact ε of one answer, a view and rounds."""
    table = tables["rrba_epsilon"].fillna({"dataset": ""})
    table = table.assign(found=texts(table, _exact), setting=texts(table, _setting))
    general, views = table[table["dataset"] == ""], table[table["dataset"] != ""]
    answers, views = general[general["unit"] == "answer"], views[views["unit"] == "view"]
    p = nearest((answers if len(answers) else table)["p"], SHOWN_P)
    floor = nearest(table["floor"].dropna(), SHOWN_FLOOR)
    single = answers[answers["floor"].isna() | (answers["floor"] == floor)]
    uniform = general[(general["p"] == p) & (general["table"] == "uniform")]
    again = uniform.sort_values("rounds") if (uniform["unit"] == "rounds").any() else uniform[:0]
    keys = {name: name for name in ("dataset", "p", "answers", "claimed")}
    keys |= {"claimed_composed": "claimed, for each answer"}
    label = "claimed and exact ε of one answer"
    return {
        "p": p,
        "answers": pivot(
            single.sort_values("p"), ["p", "claimed", "setting"], "cells", label, **FORM
        ),
        "views": pivot(named(views), keys, "setting", "exact ε of the views of a client", **FORM),
        "rounds": pivot(again, ["rounds"], "cells", "exact ε over rounds", **FORM),
        "certain": _certain(uniform[uniform["unit"] == "answer"]),
        "adapting": adapting(tables.get("rrba_equal")),
    }


def _exact(row: Row) -> str:
    return f"{short(float(row['exact']))} {SIGN['holds' if row['holds'] else 'fails']}"


def _setting(row: Row) -> str:
    if row["table"] == "uniform":
        return "uniform"
    where = "one cell at the floor" if row["table"] == "lowest" else "at the truth, floor"
    return f"{where} {plain(row['floor'])} / m" if row["floor"] == row["floor"] else where


def _certain(uniform: pd.DataFrame) -> PageTable:
    """Return the probability that a response is true, p + (1 - p) / m if all values have 1 / m."""
    found = uniform[np.isfinite(uniform["exact"])].sort_values("cells")
    rows = [
        (cells, percent(1 / cells), percent(p + (1 - p) / cells))
        for cells, p in zip(found["cells"], found["p"], strict=True)
    ]
    label = "probability that a reported value is the true one"
    return from_rows(label, ("cells", "before the answer", "after the answer"), rows)


# -- Figures 5 and 6 -------------------------------------------------------------------------------

ENDS = {  # labels of measures without a criterion
    **{"invalid": "replicates with an invalid table", "error_last": "error, last table"},
    "error_average": "error, average of the last two",
    "error_pooled": "error, pooled estimate",
}


CONVERGED = (
    *("criterion", "settings", "replicates that converge", "at least half in", "all in"),
    *("answers", "blocks", "close"),
)


def convergence(tables: Tables) -> dict[str, Any]:
    """Prepare from `tables` when runs converge, by criterion, and the tables without stopping."""
    both = pd.concat([tables["rrba_fig5"], tables["rrba_fig6"]], ignore_index=True)
    every = both.drop_duplicates(list(CONVERGENCE_KEYS))
    keys = ["dataset", "p", "probability", "block_size", "title"]
    called = {f"{update} {rule}": title for (update, rule), title in names.CRITERIA.items()}
    every = every.assign(title=(every["update"] + " " + every["criterion"]).map(called))
    # One row for each followed cell, with its measures in columns.
    wide = every.pivot_table(index=keys, columns="measure", values="mean").reset_index()
    parts = {title: part for title in called.values() if len(part := wide[wide["title"] == title])}
    ended = every[every["criterion"] == "none"].groupby(["update", "p", "measure"])["mean"].mean()
    return {
        "replicates": int(every["replicates"].max()),
        "criteria": from_rows(
            "when runs converge, by criterion",
            CONVERGED,
            [(title, *_criterion(part)) for title, part in parts.items()],
        ),
        "updates": pivot(
            ended.reset_index().replace({"update": names.UPDATES}),
            {"update": "next table", "p": "p"},
            "measure",
            "what tables become without stopping",
            value="mean",
            names=ENDS,
        ),
    }


def _criterion(cells: pd.DataFrame) -> tuple[Any, ...]:
    """Return in how many settings runs converge, when, and how often they end close."""
    always = cells[cells["converged"] >= ALWAYS]
    return (
        len(cells),
        percent(cells["converged"].mean()),
        int((cells["converged"] >= MOSTLY).sum()),
        len(always),
        span(always["tuples"].round()),
        span((always["tuples"] / always["block_size"]).round()),
        f"{percent(cells['within'].mean())} (by setting {span(cells['within'])})",
    )


# -- equal epsilon ---------------------------------------------------------------------------------


def equal(tables: Tables) -> dict[str, Any]:
    """Prepare from `tables` the distances at the same exact ε, and the gain by adapting."""
    every = tables["rrba_equal"]
    table = every[(every["reading"] == "projected") & every["metric"].isin(MEASURED)]

    def cell(row: Row) -> str:
        best = row["trust"] == "local" and row["verdict"] == "unbeaten"
        return with_interval(row, "mean", f" {LOWEST}" if best else "")

    base = "rrba_uniform"
    rows = [
        (names.EQUAL_METHODS[method], found["lower"], found["of"], span(found["ratios"]))
        for method in names.EQUAL_METHODS
        if method != base and (found := ratios(table, method, base, EQUAL_KEYS))
    ]
    heads = ("method", "nearer to the truth in", "of", "distance over the uniform table's")
    titled = named(table.assign(found=texts(table, cell)), method=names.EQUAL_METHODS)
    keys = {"file": "data", "k": "k", "method": "method"}
    return {
        "replicates": int(every["replicates"].max()),
        "ratios": from_rows("distances over those under a uniform table", heads, rows),
        "distances": [
            pivot(part, keys, "epsilon", f"{of['metric']} at equal exact ε", **FORM)
            for of, part in groups_of(titled, "metric")
        ],
    }


# -- consistency, worked cases ---------------------------------------------------------------------

VIEWS = {
    **{"file": "data", "records": "n", "p": "p", "seen": "views", "tables": "tables"},
    **{"printed_feasible": "printed program is feasible", "closed_form": "closed form suffices"},
    **{"negative_before": "cells below 0 before", "disagreement_before": "disagree by before"},
    "distance_before": "distance before",
}
AGREE_WITHIN = 1e-9


def consistency(tables: Tables) -> dict[str, Any]:
    """Prepare views that disagree, before and after, and the worked cases, from `tables`."""
    table = tables["rrba_consistency"]
    shown = table.assign(
        found=texts(table, _after),
        seen=texts(table, lambda row: f"{row['views']} of {row['views_of']}-way"),
        # The columns before consistency are the same for all methods.
        **{name: table[name].map(short) for name in ("disagreement_before", "distance_before")},
        **{
            name: table[name].map(lambda part: MISSING if pd.isna(part) else percent(part))
            for name in ("printed_feasible", "closed_form", "negative_before")
        },
    )
    observed = table[table["tables"] == "observed"]
    gains = [
        (
            names.CONSISTENCY_METHODS[of["method"]],
            *(int((own["ci_high"] < 0).sum()), int((own["ci_low"] > 0).sum()), len(own)),
            span(own["distance_after"] / own["distance_before"]),
        )
        for of, own in groups_of(observed, "method")
    ]
    heads = ("method", "nearer to the truth in", "farther in", "of", "distance over that before")
    label = "views before and after they are made consistent"
    methods = names.CONSISTENCY_METHODS
    titled = named(shown, tables=names.KINDS)
    return {
        "replicates": int(table["replicates"].max()),
        "views": pivot(titled, VIEWS, "method", label, names=methods, **FORM),
        "gains": from_rows("distances from the truth", heads, gains),
        "cases": _cases(tables["rrba_examples"]),
    }


def _after(row: Row) -> str:
    """Return the distance after, the interval of its change, and the remaining disagreement."""
    left = row["disagreement_after"]
    distance = short(float(row["distance_after"]))
    change: str = "" if pd.isna(row["change"]) else f" ({between(row['ci_low'], row['ci_high'])})"
    return f"{distance}{change}; {'< 10⁻⁹' if left < AGREE_WITHIN else short(float(left))}"


def _cases(table: pd.DataFrame) -> PageTable:
    table = table.assign(
        verdict=texts(table, lambda row: f"{SIGN[row['verdict']]} {row['verdict']}"),
        **{
            name: table[name].astype(str).map(lambda text: re.sub(r"-(?=\d)", "−", text))
            for name in ("quantity", "exact")
        },
    )
    heads = {"case": "case", "place": "place", "quantity": "quantity", "exact": "exact"}
    heads |= {"printed": "published", "verdict": "verdict"}
    return all_rows(table, "worked cases in fractions", heads)
