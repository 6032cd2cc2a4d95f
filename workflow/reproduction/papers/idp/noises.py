"""Noises for numbers on a public grid: a figure, and what the page says of them."""

from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from deniable.display import (
    SIGN,
    Row,
    Tables,
    between,
    groups_of,
    joined,
    percent,
    rows_of,
    style,
    thousands,
)
from deniable.estimation import clopper_pearson

from reproduction.study import MISSING, PageTable, all_rows

# Colours that are safe for colour-blind readers, kinds of lines.
COLOURS = {
    "square wave": "#0072b2",
    "staircase": "#009e73",
    "Laplace": "#d55e00",
    "generalized randomized response": "#1b1f24",
}
DRAWN = {"EMS": "-", "maximum likelihood": "--"}
CALLED = {
    "EMS": "smoothed EM",
    "EM, stopped early": "EM, stopped early",
    "maximum likelihood": "maximum likelihood",
}
ASKED = ("mean", "median")
AIMED_AT = 0.95  # by the bootstrap intervals
EPSILON_TICKS = [0.25, 0.5, 1.0, 2.0, 4.0, 8.0]
ERROR_TICKS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2]


@style.in_style
def drawn(table: pd.DataFrame) -> Figure:
    """Draw from a `table` the distance to the true distribution and the error of its mean."""
    figure, (axes,) = style.panels(1, 2, (9.4, 4.4), (0.75, 0.1, 0.95, 1.1), (0.22, 0))
    for (noise, colour), (estimator, line) in (
        (each, kind) for each in COLOURS.items() for kind in DRAWN.items()
    ):
        part = table[(table["noise"] == noise) & (table["estimator"] == estimator)]
        look = {"color": colour, "linestyle": line, "linewidth": 1.6}
        style.line_with_band(axes[0], part, "exact_epsilon", "wasserstein", **look)
        axes[1].plot(part["exact_epsilon"].to_numpy(), part["rmse"].to_numpy(), **look)
    for axis, title in zip(
        axes, ("Wasserstein distance", "root mean squared error of the mean"), strict=True
    ):
        axis.set(xscale="log", yscale="log", xlabel="exact $\\epsilon$ of a report")
        axis.set_title(title, fontsize=10)
        style.plain_ticks(axis.xaxis, EPSILON_TICKS, style.as_number)
        style.plain_ticks(axis.yaxis, ERROR_TICKS, style.as_share)
        style.gridded(axis)
    axes[0].set_ylabel("of the range of the grid")
    keys = [style.line_key(colour, "-", noise) for noise, colour in COLOURS.items()]
    keys += [style.line_key(style.INK, line, CALLED[name]) for name, line in DRAWN.items()]
    style.legend_below(figure, keys, 3)
    style.heading(
        figure,
        "Beyond [idp]: noises for ages on a public grid, without a curator",
        f"{table['cells'].iloc[0]} cells, {table['n'].iloc[0]:,} records; means of "
        f"{table['replicates'].iloc[0]} runs, bands: 95 % intervals",
    )
    return figure


ERRORS = {
    **{"epsilon": "target ε", "noise": "noise", "exact_epsilon": "exact ε"},
    **{"estimator": "estimator", "wasserstein": "Wasserstein distance"},
    **{"rmse": "RMSE of the mean", "sd_root_n": "SD of the mean × √n"},
}


def noises(tables: Tables) -> dict[str, Any]:
    """Prepare errors by noise in `tables`, the least at each epsilon, and coverages."""
    table = (
        tables["idp_noises"].sort_values("epsilon", kind="stable").replace({"estimator": CALLED})
    )
    first = table.iloc[0]
    caption = (
        f"Means of {thousands(first['replicates'])} replicates, all as proportions of the range of "
        "the grid. The interval belongs to the distance."
    )
    return {
        "least": _least(table),
        "smoothing": _smoothing(table),
        "covered": _covered(table[table["intervals"] > 0]),
        "errors": all_rows(table, "errors of noises on a public grid", ERRORS, caption),
        "below": bool((table["exact_epsilon"] <= table["epsilon"]).all()),
        "cells": first["cells"],
        "n": first["n"],
    }


def _least(table: pd.DataFrame) -> PageTable:
    """Return the noises with the least distance, and those with intervals that meet its own."""
    rows = []
    estimators = [CALLED[name] for name in DRAWN]
    for of, part in groups_of(table[table["estimator"].isin(estimators)], "epsilon", "estimator"):
        lowest, *others = rows_of(part.sort_values("wasserstein", kind="stable"))
        meeting = [row["noise"] for row in others if row["ci_low"] <= lowest["ci_high"]]
        rows.append(of | lowest | {"undecided": joined(meeting) or MISSING})
    heads = {"epsilon": "ε", "estimator": "estimator", "noise": "least distance"}
    heads |= {"wasserstein": "distance", "undecided": "undecided"}
    return all_rows(pd.DataFrame(rows), "noises with the least distance", heads)


def _smoothing(table: pd.DataFrame) -> Row:
    """Count where smoothed EM is nearer than maximum likelihood, and where farther."""
    low, high = (
        table.pivot(index=["noise", "epsilon"], columns="estimator", values=end)
        for end in ("ci_low", "ci_high")
    )
    smoothed, likelihood = (CALLED[name] for name in DRAWN)
    nearer, farther = high[smoothed] < low[likelihood], low[smoothed] > high[likelihood]
    return {"nearer": int(nearer.sum()), "farther": int(farther.sum()), "of": len(nearer)}


def _covered(table: pd.DataFrame) -> PageTable:
    """Return how many intervals of each noise cover, with limits that hold together."""
    rows = []
    parts = groups_of(table, "noise")
    confidence = 1 - (1 - AIMED_AT) / (len(parts) * len(ASKED))
    for of, part in parts:
        made = int(part["intervals"].sum())
        for name in ASKED:
            held = int((part[f"coverage_{name}"] * part["intervals"]).round().sum())
            low, high = map(float, clopper_pearson(held, made, confidence))
            sign = f" {SIGN['fails']}" if high < AIMED_AT else ""
            found = {"statistic": name, "covered": percent(held / made) + sign}
            rows.append(of | found | {"limits": between(low, high, percent), "intervals": made})
    return all_rows(
        pd.DataFrame(rows),
        "coverage of bootstrap intervals, all ε together",
        {name: name for name in ("noise", "statistic", "covered", "limits", "intervals")},
        "The limits (Clopper and Pearson) hold together with 95 % confidence.",
    )
