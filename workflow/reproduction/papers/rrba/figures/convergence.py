"""Figures of [rrba]: the claimed epsilon beside the exact one, and when RRBA has converged."""

from collections.abc import Mapping
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MultipleLocator

from deniable.display import GRID, INK, look, style

from reproduction.papers.rrba.names import DATASETS
from reproduction.study import where

CELL_COLOURS = {2: "#56b4e9", 4: "#0072b2", 8: "#009e73", 16: "#e69f00"}
CRITERIA = {
    ("printed", "first"): "as printed,\nfirst time",
    ("printed", "lasting"): "as printed,\nfor good",
    ("projected", "lasting"): "projected,\nfor good",
    ("pooled", "precise"): "pooled, as precise\nas 500 true answers",
}
"""By update and criterion."""


@style.in_style
def figure_4(table: pd.DataFrame) -> Figure:
    """Plot epsilon over p, claimed by (6) and exact, from the `table` of `figure_4_table`."""
    figure, ((axis,),) = style.panels(1, 1, (0, 4.6), (0.752, 0.188, 0.736, 0.552))
    for _, part in table.groupby(["curve", "cells", "floor"], dropna=False, sort=False):
        kind = part.iloc[0]
        options = _curve(str(kind["curve"]), int(kind["cells"]), float(kind["floor"]))
        axis.plot(part["p"], part["epsilon"], **options)
    axis.set(xlim=(0, 1), xlabel="p, the probability that the first coin gives “Head”")
    axis.set(ylim=(0, 8), ylabel="epsilon of one answer")
    axis.xaxis.set_major_locator(MultipleLocator(0.1))
    axis.grid(color=GRID, linewidth=0.6)
    claimed, *exact = axis.get_lines()
    axis.legend(handles=[*exact, claimed], frameon=False)
    return style.finish(
        figure,
        "Figure 4: the epsilon that Theorem 4.1 claims, and the exact one",
        "one answer about one table; a client answers every combination of its view, and their "
        "epsilons add",
    )


def _curve(curve: str, cells: int, floor: float) -> dict[str, Any]:
    if curve == "claimed":
        return look(INK, "--", label="claimed, ln 1 / (1 - p)")
    if curve == "lowest":
        label = f"exact, {cells} cells, one at the floor {floor:g} / {cells}"
        return look("#d55e00", ":", label=label, linewidth=1.7)
    label = f"exact, uniform table of {cells} cells"
    return look(CELL_COLOURS.get(cells, INK), label=label, linewidth=1.7)


@style.in_style
def figure_5(table: pd.DataFrame) -> Figure:
    """Plot answers until convergence in `table` by block size and data set, for the largest p."""
    shown = table[table["p"] == table["p"].max()]
    titles = {name: DATASETS.get(name, name) for name in dict.fromkeys(shown["dataset"])}
    title = f"Figure 5: answers until convergence, p = {shown['p'].iloc[0]:g}"
    return _convergence(shown, "dataset", titles, title)


@style.in_style
def figure_6(table: pd.DataFrame) -> Figure:
    """Plot the answers until convergence in `table` by block size and p, of the first data set."""
    shown = table[table["dataset"] == table["dataset"].iloc[0]]
    name = str(shown["dataset"].iloc[0])
    title = f"Figure 6: answers until convergence, {DATASETS.get(name, name)}"
    return _convergence(shown, "p", {p: f"p = {p:g}" for p in sorted(set(shown["p"]))}, title)


def _convergence(table: pd.DataFrame, column: str, titles: Mapping[Any, str], title: str) -> Figure:
    """Plot a row of panels for each criterion, with a column for each value with a title."""
    probabilities = sorted(set(table["probability"]))
    colours = mpl.colormaps["viridis"](np.linspace(0, 0.92, len(probabilities)))
    looks = {
        probability: look(colour, marker="o", label=f"cell of {probability:g}")
        for probability, colour in zip(probabilities, colours, strict=True)
    }
    sizes = sorted(set(table["block_size"]))
    # Once for all panels: a pivot takes as long as a panel.
    keys = ["update", "criterion", column, "probability", "block_size"]
    means: Any = table.pivot_table(index=keys, columns="measure", values="mean").sort_index()

    def panel(axis: Axes, row: tuple[str, str], value: Any) -> None:
        part = where(table, update=row[0], criterion=row[1], **{column: value})
        if len(part):
            axis.plot(sizes, [200 * blocks for blocks in sizes], color=GRID, linewidth=5, zorder=0)
        for probability in probabilities:
            key = *row, value, probability
            if key in means.index:
                _answers(axis, means.loc[key], looks[probability]["color"])
        close = where(part, measure="within")
        if len(close):
            place: Any = {"ha": "right", "va": "bottom", "transform": axis.transAxes}
            axis.text(0.97, 0.05, f"close: {close['mean'].mean():.0%}", fontsize=8, **place)
        axis.set_yscale("log")
        style.log_scale(axis.xaxis, sizes, "{:g}".format)
        axis.yaxis.set_major_formatter("{x:,.0f}")
        style.gridded(axis, linewidth=0.5)

    rows = {criterion: f"{label}\nanswers" for criterion, label in CRITERIA.items()}
    size, around = (1.75, 1.6, 1.6, 2.3), (1.3, 0, 1.15, 1.15)
    figure, _ = style.panel_grid(rows, titles, panel, size, around, (0.08, 0.1), "block size")
    figure.subplots_adjust(right=0.985)
    return style.finish(
        figure,
        title,
        f"means of {table['replicates'].max():,} runs of at most 200 blocks; hollow: runs were "
        "cut off, a lower bound;\nclose: share of runs that end within the 95 % "
        "interval of 500 true answers around the truth",
        [
            *style.legend_keys(looks, markersize=4.5),
            look(GRID, label="all answers of 200 blocks", linewidth=5),
        ],
        6,
    )


def _answers(axis: Axes, by_size: pd.DataFrame, colour: Any) -> None:
    sizes, answers = by_size.index.to_numpy(), by_size["tuples"].to_numpy()
    reached = by_size["converged"].to_numpy() == 1
    axis.plot(sizes, answers, color=colour, linewidth=1.1)
    for shown, filling in ((reached, colour), (~reached, "white")):
        options = look(colour, "none", "o", markerfacecolor=filling, markersize=4.5)
        axis.plot(sizes[shown], answers[shown], **options)
