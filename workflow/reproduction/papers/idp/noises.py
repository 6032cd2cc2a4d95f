"""Noises for numbers on a public grid: a figure, and what the page says of them."""

from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from deniable.display import Row, Tables, by, groups_of, rows_of, style
from deniable.estimation import clopper_pearson

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


def noises(tables: Tables) -> dict[str, Any]:
    """Prepare errors by noise in `tables`, the least at each epsilon, what intervals covered."""
    table = tables["idp_noises"].sort_values("epsilon", kind="stable")
    first = table.iloc[0]
    return {
        "rows": [
            of | {"by": by(part, "estimator")} for of, part in groups_of(table, "epsilon", "noise")
        ],
        "least": [
            of | _least(part)
            for of, part in groups_of(table, "epsilon", "estimator")
            if of["estimator"] in DRAWN
        ],
        "smoothing": _smoothing(table),
        "covered": _covered(table[table["intervals"] > 0]),
        "called": CALLED,
        "asked": ASKED,
        "below": bool((table["exact_epsilon"] <= table["epsilon"]).all()),
        "cells": first["cells"],
        "n": first["n"],
        "runs": first["replicates"],
    }


def _least(part: pd.DataFrame) -> Row:
    """Return the noise with the least distance, and ``others`` whose intervals meet its own."""
    lowest, *others = rows_of(part.sort_values("wasserstein", kind="stable"))
    meeting = [row["noise"] for row in others if row["ci_low"] <= lowest["ci_high"]]
    return {"noise": lowest["noise"], "distance": lowest["wasserstein"], "others": meeting}


def _smoothing(table: pd.DataFrame) -> Row:
    """Count where smoothed EM is nearer than maximum likelihood, and where farther."""
    low, high = (
        table.pivot(index=["noise", "epsilon"], columns="estimator", values=end)
        for end in ("ci_low", "ci_high")
    )
    nearer = high["EMS"] < low["maximum likelihood"]
    farther = low["EMS"] > high["maximum likelihood"]
    return {"nearer": int(nearer.sum()), "farther": int(farther.sum()), "of": len(nearer)}


def _covered(table: pd.DataFrame) -> list[Row]:
    """Return how many intervals of each noise cover, with limits that hold together."""
    rows = []
    parts = list(groups_of(table, "noise"))
    confidence = 1 - (1 - AIMED_AT) / (len(parts) * len(ASKED))
    for of, part in parts:
        made = int(part["intervals"].sum())
        for name in ASKED:
            held = int((part[f"coverage_{name}"] * part["intervals"]).round().sum())
            low, high = map(float, clopper_pearson(held, made, confidence))
            found = {"asked": name, "share": held / made, "of": made, "low": low, "high": high}
            rows.append(of | found | {"too_few": high < AIMED_AT})
    return rows
