"""Figure and section on noises for numbers on a public grid."""

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from deniable.display import Row, Tables, between, joined, percent, rows_of, style
from deniable.estimation import clopper_pearson

from reproduction.study import MISSING, SIGN, PageTable, all_rows, groups_of, where

# Colours that are safe for colour-blind readers.
COLOURS = {
    "square wave": "#0072b2",
    "staircase": "#009e73",
    "Laplace": "#d55e00",
    "generalized randomized response": "#1b1f24",
}
CALLED = {
    "EMS": "smoothed EM",
    "EM, stopped early": "EM, stopped early",
    "maximum likelihood": "maximum likelihood",
}
LINES = {"EMS": "-", "maximum likelihood": "--"}
"""The estimators in the figure, and their lines."""
NOMINAL = 0.95  # coverage of the bootstrap intervals
EPSILON_TICKS = [0.25, 0.5, 1.0, 2.0, 4.0, 8.0]
ERROR_TICKS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2]


@style.in_style
def drawn(table: pd.DataFrame) -> Figure:
    """Plot from a `table` the distance to the true distribution and the error of its mean."""
    lines = {
        (noise, estimator): style.look(colour, line, linewidth=1.6)
        for noise, colour in COLOURS.items()
        for estimator, line in LINES.items()
    }

    def panel(axis: Axes, _: str, column: str) -> None:
        for (noise, estimator), options in lines.items():
            part = where(table, noise=noise, estimator=estimator)
            shown = part if column == "wasserstein" else part.drop(columns="ci_low")
            style.line_with_band(axis, shown, "exact_epsilon", column, **options)
        style.log_scale(axis.xaxis, EPSILON_TICKS, style.as_number)
        style.log_scale(axis.yaxis, ERROR_TICKS, style.as_share)
        style.gridded(axis)

    rows, xlabel = {"": "of the range of the grid"}, r"exact $\epsilon$ of a report"
    columns = {
        "wasserstein": "Wasserstein distance",
        "rmse": "root mean squared error of the mean",
    }
    size, around = (0, 9.4, 0, 4.4), (0.75, 0.1, 0.95, 1.1)
    figure, _ = style.panel_grid(
        rows, columns, panel, size, around, (0.22, 0), xlabel, share=(False, False)
    )
    looks = {noise: style.look(colour, label=noise) for noise, colour in COLOURS.items()}
    for name, line in LINES.items():
        looks[name] = style.look(style.INK, line, label=CALLED[name])
    return style.finish(
        figure,
        "Beyond [idp]: noises for ages on a public grid, without a curator",
        f"{table['cells'].iloc[0]} cells, {table['n'].iloc[0]:,} records; means of "
        f"{table['replicates'].iloc[0]} runs, bands: 95 % intervals",
        style.legend_keys(looks, linewidth=2),
        3,
    )


LEAST = {
    **{"epsilon": "ε", "estimator": "estimator", "noise": "least distance"},
    **{"wasserstein": "distance", "undecided": "undecided"},
}
COVERED = ("noise", "statistic", "covered", "limits", "intervals")


def noises(tables: Tables) -> dict[str, Any]:
    """Prepare from `tables` the noises with the least error at each epsilon, and coverages."""
    table = tables["idp_noises"].sort_values("epsilon", kind="stable")
    table = table.replace({"estimator": CALLED})
    return {
        "least": _least(where(table, estimator=tuple(CALLED[name] for name in LINES))),
        "smoothing": _smoothing(table),
        "covered": _covered(table[table["intervals"] > 0]),
        "below": bool((table["exact_epsilon"] <= table["epsilon"]).all()),
        "cells": table["cells"].iloc[0],
        "n": table["n"].iloc[0],
    }


def _least(table: pd.DataFrame) -> PageTable:
    """Return the noises with the least distance, and those with intervals that meet its own."""
    rows = []
    for of, part in groups_of(table, "epsilon", "estimator"):
        lowest, *others = rows_of(part.sort_values("wasserstein", kind="stable"))
        meeting = [row["noise"] for row in others if row["ci_low"] <= lowest["ci_high"]]
        rows.append(of | lowest | {"undecided": joined(meeting) or MISSING})
    return all_rows(pd.DataFrame(rows), "noises with the least distance", LEAST)


def _smoothing(table: pd.DataFrame) -> Row:
    """Count the settings in which smoothed EM is nearer than maximum likelihood, and farther."""
    ends = table.pivot(index=["noise", "epsilon"], columns="estimator")
    low, high = ends["ci_low"], ends["ci_high"]
    smoothed, likelihood = (CALLED[name] for name in LINES)
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
    return all_rows(
        pd.DataFrame(rows),
        "coverage of bootstrap intervals, all ε together",
        COVERED,
        "The limits (Clopper and Pearson) hold together with 95 % confidence.",
    )
