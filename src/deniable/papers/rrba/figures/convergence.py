"""Figures of [rrba]: the claimed epsilon beside the exact one, and when RRBA has converged."""

from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, MultipleLocator, NullLocator

from deniable.display import GRID, INK, NARROWEST, STYLE, canvas, heading, mark_surrogate

CELL_COLOURS = {2: "#56b4e9", 4: "#0072b2", 8: "#009e73", 16: "#e69f00"}
CRITERIA = (
    # update, criterion, what it is
    ("printed", "first", "as printed,\nfirst time"),
    ("printed", "lasting", "as printed,\nfor good"),
    ("pooled", "precise", "pooled, as precise\nas 500 true answers"),
)
DATASETS = {"survey": "Survey", "alarm": "Alarm", "child": "Child"}
MOSTLY = 0.5
"""Share of the runs that must have converged for a point to count as convergence."""


def figure_4(table: pd.DataFrame) -> Figure:
    """Draw epsilon over p, claimed by (6) and exact.

    Parameters
    ----------
    table : DataFrame
        Columns curve, cells, floor, p, epsilon.
    """
    with mpl.rc_context(STYLE):
        figure = canvas(NARROWEST, 4.6)
        axis = figure.subplots()
        for _, part in table.groupby(["curve", "cells", "floor"], dropna=False, sort=False):
            kind = part.iloc[0]
            style = _curve(str(kind["curve"]), int(kind["cells"]), float(kind["floor"]))
            axis.plot(part["p"], part["epsilon"], **style)
        axis.set_xlim(0, 1)
        axis.set_ylim(0, 8)
        axis.set_xlabel("p, the probability that the first coin gives “Head”")
        axis.set_ylabel("epsilon of one answer")
        axis.xaxis.set_major_locator(MultipleLocator(0.1))
        axis.grid(color=GRID, linewidth=0.6)
        handles, labels = axis.get_legend_handles_labels()
        order = np.argsort([_rank(label) for label in labels], kind="stable")
        axis.legend([handles[i] for i in order], [labels[i] for i in order], frameon=False)
        heading(
            figure,
            "Figure 4: the epsilon that Theorem 4.1 claims, and the exact one",
            "one answer about one table; a client answers every combination of its view, and their "
            "epsilons add",
        )
        figure.subplots_adjust(left=0.08, right=0.98, top=0.84, bottom=0.12)
        mark_surrogate(figure, table)
        return figure


def _curve(curve: str, cells: int, floor: float) -> dict[str, Any]:
    if curve == "claimed":
        return {"color": INK, "linestyle": "--", "label": "claimed, ln 1 / (1 - p)"}
    if curve == "lowest":
        label = f"exact, {cells} cells, one at the floor {floor:g} / {cells}"
        return {"color": "#d55e00", "linestyle": ":", "linewidth": 1.7, "label": label}
    label = f"exact, uniform table of {cells} cells"
    return {"color": CELL_COLOURS.get(cells, INK), "linewidth": 1.7, "label": label}


def _rank(label: str) -> int:
    return 2 if label.startswith("claimed") else 0 if "floor" in label else 1


def figure_5(table: pd.DataFrame) -> Figure:
    """Draw the answers until convergence over the block size, by data set.

    Parameters
    ----------
    table : DataFrame
        Columns dataset, probability, block_size, p, update, criterion, measure, mean, ci_low,
        ci_high, replicates, data_source. Of several p the largest is drawn.
    """
    shown = table[table["p"] == table["p"].max()]
    names = list(dict.fromkeys(shown["dataset"]))
    return _convergence(
        shown,
        "dataset",
        names,
        [DATASETS.get(name, name) for name in names],
        f"Figure 5: answers until convergence, p = {shown['p'].iloc[0]:g}",
    )


def figure_6(table: pd.DataFrame) -> Figure:
    """Draw the answers until convergence over the block size, by p.

    Parameters
    ----------
    table : DataFrame
        As for `figure_5`; of several data sets the first is drawn.
    """
    shown = table[table["dataset"] == table["dataset"].iloc[0]]
    values = sorted(set(shown["p"]))
    name = str(shown["dataset"].iloc[0])
    return _convergence(
        shown,
        "p",
        values,
        [f"p = {value:g}" for value in values],
        f"Figure 6: answers until convergence, {DATASETS.get(name, name)}",
    )


def _convergence(
    table: pd.DataFrame, column: str, values: Sequence[Any], titles: Sequence[str], title: str
) -> Figure:
    probabilities = sorted(set(table["probability"]))
    colours = mpl.colormaps["viridis"](np.linspace(0, 0.92, len(probabilities)))
    sizes = sorted(set(table["block_size"]))
    with mpl.rc_context(STYLE):
        figure = canvas(max(NARROWEST, 1.75 * len(values) + 1.6), 7.2)
        axes = figure.subplots(len(CRITERIA), len(values), sharex=True, sharey=True, squeeze=False)
        for row, (update, criterion, label) in zip(axes, CRITERIA, strict=True):
            ours = table[(table["update"] == update) & (table["criterion"] == criterion)]
            for axis, value in zip(row, values, strict=True):
                part = ours[ours[column] == value]
                _all_answers(axis, part, sizes)
                for probability, colour in zip(probabilities, colours, strict=True):
                    _answers(axis, part[part["probability"] == probability], colour)
                _say_how_close(axis, part)
            row[0].set_ylabel(f"{label}\nanswers")
        for axis, text in zip(axes[0], titles, strict=True):
            axis.set_title(text, fontsize=10)
        _scales(axes, sizes)
        figure.legend(
            handles=_legend(probabilities, colours), loc="lower center", ncols=6, frameon=False
        )
        heading(
            figure,
            title,
            f"means of {table['replicates'].max():,} runs of at most 200 blocks; hollow: fewer "
            "than half of the runs converge;\nclose: share of runs that end within the 95 % "
            "interval of 500 true answers around the truth",
        )
        height = figure.get_figheight()
        width = figure.get_figwidth()
        figure.subplots_adjust(
            left=1.3 / width,
            right=0.985,
            top=1 - 1.15 / height,
            bottom=1.15 / height,
            wspace=0.08,
            hspace=0.1,
        )
        mark_surrogate(figure, table)
        return figure


def _answers(axis: Axes, part: pd.DataFrame, colour: Any) -> None:
    by_size = part.pivot_table(index="block_size", columns="measure", values="mean").sort_index()
    if by_size.empty:
        return
    reached = by_size["converged"] >= MOSTLY
    tuples = by_size["tuples"]
    axis.plot(tuples.index, tuples, color=colour, linewidth=1.1)
    axis.plot(tuples.index[reached], tuples[reached], "o", color=colour, markersize=4.5)
    axis.plot(
        tuples.index[~reached],
        tuples[~reached],
        "o",
        color=colour,
        markerfacecolor="white",
        markersize=4.5,
    )


def _say_how_close(axis: Axes, part: pd.DataFrame) -> None:
    close = part[part["measure"] == "within"]["mean"]
    if len(close):
        text = f"close: {close.mean():.0%}"
        axis.text(0.97, 0.05, text, ha="right", va="bottom", transform=axis.transAxes, fontsize=8)


def _all_answers(axis: Axes, part: pd.DataFrame, sizes: Sequence[int]) -> None:
    if len(part):
        axis.plot(sizes, [200 * size for size in sizes], color=GRID, linewidth=5, zorder=0)


def _scales(axes: Any, sizes: Sequence[int]) -> None:
    for axis in axes.flat:
        axis.set_yscale("log")
        axis.set_xscale("log")
        axis.xaxis.set_major_locator(FixedLocator(sizes))
        axis.xaxis.set_minor_locator(NullLocator())
        axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        axis.grid(color=GRID, linewidth=0.5)
        axis.set_axisbelow(True)
    for axis in axes[-1]:
        axis.set_xlabel("block size")


def _legend(probabilities: Sequence[float], colours: Any) -> list[Line2D]:
    lines = [
        Line2D([], [], color=colour, marker="o", markersize=4.5, label=f"cell of {probability:g}")
        for probability, colour in zip(probabilities, colours, strict=True)
    ]
    return [*lines, Line2D([], [], color=GRID, linewidth=5, label="all answers of 200 blocks")]
