"""Figures of [rrba] about released tables: Tables 4 and 5, Figure 7, equal epsilons."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

from deniable.display import (
    INK,
    gridded,
    heading,
    in_style,
    legend_below,
    line_with_band,
    mark_key,
    panels,
    plain_ticks,
)
from deniable.papers.rrba.names import FILES

METHOD_STYLE: Mapping[str, tuple[str, str]] = {
    # colour (safe for colour-blind readers), label
    "rrba": ("#d55e00", "RRBA"),
    "laplace": ("#0072b2", "Laplace, scale as printed, 2|T|/ε"),
    "laplace_honest": ("#009e73", "Laplace, honest scale, 2/ε"),
}
EQUAL_STYLE: Mapping[str, tuple[str, Literal["-", "--", ":"], str]] = {
    # A table that stays uniform is generalized randomized response: dashes over a wide line.
    "rrba": ("#d55e00", "-", "RRBA, floor .1 / m"),
    "rrba_half_floor": ("#e69f00", "-", "RRBA, floor .5 / m"),
    "rrba_at_truth": ("#d55e00", ":", "RRBA, the p that the true table allows"),
    "rrba_uniform": ("#0072b2", "-", "table stays uniform"),
    "randomized_response": (INK, "--", "generalized randomized response"),
    "laplace_honest": ("#009e73", "--", "Laplace, 2/ε (trusted curator)"),
}
METRICS: Mapping[str, tuple[str, str]] = {
    # label, reading that the printed numbers are taken from
    "l2": ("l2, records", "noisy"),
    "jensen_shannon": ("Jensen-Shannon distance", "projected"),
}
PLACES = list(FILES)
APART = 0.24
FEW_DECADES = 2.6
"""Below so many, a logarithmic scale has ticks at 3, 30, too."""


@in_style
def tables_4_and_5(*tables: pd.DataFrame) -> Figure:
    """Draw the distances of one p or several: a row each p, columns of measures.

    Printed values are diamonds. Ours: the mean over sets of attributes as a point, filled where the
    verdict is "agrees", and a bar from the smallest to the largest mean of a set.

    Parameters
    ----------
    *tables : DataFrame
        `deniable.papers.rrba.table_results.TABLE_COLUMNS`.
    """
    table = pd.concat(tables, ignore_index=True)
    values = sorted(table["p"].unique())
    files = [name for name in FILES if name in set(table["file"])]
    size = 1.5 + 2.9 * len(files), 1.9 + 2.7 * len(values)
    around = (0.8, 0.12, 0.95, 1.0)
    figure, axes = panels(len(values), len(METRICS), size, around, (0.2, 0.45))
    for row, p in zip(axes, values, strict=True):
        for axis, (metric, (label, reading)) in zip(row, METRICS.items(), strict=True):
            part = _rows(table, p=p, metric=metric, reading=reading)
            _cells(axis, part, files)
            axis.set_ylabel(label)
            claimed = ", ".join(f"{e:g}" for e in sorted(part["epsilon_claimed"].unique()))
            axis.set_title(f"p = {p:g}, printed ε = {claimed}", fontsize=10)
    heading(
        figure,
        "Distances of released tables from the true ones, printed and regenerated",
        "bars: from the smallest to the largest mean of a set of k attributes; the text does not "
        "say which set it took",
    )
    printed = mark_key(INK, "D", "printed", markersize=4)
    methods = [
        Line2D([], [], color=colour, marker="o", markersize=4.5, label=label)
        for colour, label in METHOD_STYLE.values()
    ]
    hollow = mark_key("#6a737d", "o", "hollow: does not agree", markerfacecolor="white")
    legend_below(figure, [printed, *methods, hollow], 5)
    return figure


def _rows(table: pd.DataFrame, **where: Any) -> pd.DataFrame:
    for column, value in where.items():
        table = table[table[column] == value]
    return table


def _cells(axis: Axes, part: pd.DataFrame, files: Sequence[str]) -> None:
    sizes = sorted(part["k"].unique())
    centres = {
        (file, k): (len(sizes) + 0.6) * i + j
        for i, file in enumerate(files)
        for j, k in enumerate(sizes)
    }
    for row in part.to_dict("records"):
        if (row["file"], row["k"]) in centres:
            _cell(axis, row, centres[row["file"], row["k"]])
    axis.set_yscale("log")
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.yaxis.set_minor_formatter(NullFormatter())
    axis.set_xticks(list(centres.values()), [str(k) for _, k in centres])
    for i, file in enumerate(files):
        middle = (len(sizes) + 0.6) * i + (len(sizes) - 1) / 2
        axis.annotate(
            FILES[file],
            (middle, 0),
            (0, -20),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            ha="center",
            va="top",
        )
    gridded(axis, "y", 0.5)


def _cell(axis: Axes, row: Mapping[Any, Any], centre: float) -> None:
    colour, _ = METHOD_STYLE[row["method"]]
    x = centre + APART * (list(METHOD_STYLE).index(row["method"]) - 1)
    ends = [row["subset_min"], row["subset_max"]]
    axis.plot([x, x], ends, color=colour, linewidth=3.5, alpha=0.35, solid_capstyle="butt")
    filled = colour if row["verdict"] == "agrees" else "white"
    axis.plot(x, row["regenerated"], "o", color=colour, markersize=4.5, markerfacecolor=filled)
    if not np.isnan(row["published"]):
        axis.plot(x, row["published"], "D", color=INK, markersize=3.6, zorder=4)


@in_style
def figure_7(table: pd.DataFrame) -> Figure:
    """Draw the histograms of distances over trials and sets of attributes.

    Parameters
    ----------
    table : DataFrame
        `deniable.papers.rrba.table_results.FIGURE_7_COLUMNS`. Vertical lines are the printed
        averages.
    """
    columns = ["file", "p", "epsilon_claimed", "metric"]
    shown = list(dict.fromkeys(table[columns].itertuples(index=False, name=None)))
    # By file and p, both measures below each other.
    shown.sort(key=lambda panel: (PLACES.index(panel[0]), panel[1], panel[3] != "l2"))
    sizes = sorted(table["k"].unique())
    around = (1.1, 0.15, 0.95, 0.85)
    figure, axes = panels(len(shown), len(sizes), (0, 1.7 + 1.5 * len(shown)), around, (0.2, 0.62))
    for row, (file, p, epsilon, metric) in zip(axes, shown, strict=True):
        for axis, k in zip(row, sizes, strict=True):
            _histograms(axis, _rows(table, file=file, p=p, metric=metric, k=k))
            axis.set_xlabel(METRICS[metric][0], labelpad=1)
        row[0].set_ylabel(f"{FILES[file]}\np = {p:g}, ε = {epsilon:g}\nshare")
    for axis, k in zip(axes[0], sizes, strict=True):
        axis.set_title(f"{k}-way tables", fontsize=10)
    heading(
        figure,
        "Figure 7: distances of released tables from the true ones",
        f"{table['trials'].max():,} trials of each set of k attributes; bins of equal width on the "
        "logarithmic scale; dashed: printed averages",
    )
    methods = [
        Line2D([], [], color=colour, linewidth=5, alpha=0.6, label=label)
        for colour, label in METHOD_STYLE.values()
    ]
    printed = Line2D([], [], color=INK, linestyle="--", label="printed average")
    legend_below(figure, [*methods, printed], 4)
    return figure


def _histograms(axis: Axes, part: pd.DataFrame) -> None:
    for method, (colour, _) in METHOD_STYLE.items():
        bins = part[part["method"] == method]
        axis.bar(
            bins["bin_low"],
            bins["share"],
            bins["bin_high"] - bins["bin_low"],
            align="edge",
            color=colour,
            alpha=0.6,
            linewidth=0,
        )
        for published in bins["published"].dropna().unique():
            axis.axvline(published, color=colour, linestyle="--", linewidth=1.4)
    axis.set_xscale("log")
    decades = np.log10(part["bin_high"].max() / part["bin_low"].min())
    axis.xaxis.set_major_locator(LogLocator(subs=(1.0, 3.0) if decades < FEW_DECADES else (1.0,)))
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.set_ylim(bottom=0)


@in_style
def equal_epsilon(table: pd.DataFrame) -> Figure:
    """Draw the distances at equal exact epsilon: a row a measure, a column a file and k.

    Parameters
    ----------
    table : DataFrame
        `deniable.papers.rrba.table_results.EQUAL_COLUMNS`; projected tables are drawn.
    """
    shown = table[table["reading"] == "projected"]
    cells = list(dict.fromkeys(shown[["file", "k"]].itertuples(index=False, name=None)))
    cells.sort(key=lambda cell: (PLACES.index(cell[0]), cell[1]))
    size, around = (1.5 * len(cells) + 1.2, 6.2), (0.85, 0.12, 0.95, 1.1)
    figure, axes = panels(
        len(METRICS), len(cells), size, around, (0.08, 0.1), sharex=True, sharey="row"
    )
    for row, (metric, (label, _)) in zip(axes, METRICS.items(), strict=True):
        for axis, (file, k) in zip(row, cells, strict=True):
            _curves(axis, _rows(shown, metric=metric, file=file, k=k))
            plain_ticks(axis.xaxis, sorted(shown["epsilon"].unique()), "{:g}".format)
        row[0].set_ylabel(label)
    for axis, (file, k) in zip(axes[0], cells, strict=True):
        axis.set_title(f"{FILES[file]}, {k}-way", fontsize=10)
    for axis in axes[-1]:
        axis.set_xlabel("exact ε")
    heading(
        figure,
        "Distances at equal exact epsilon of one answer",
        "means over sets of k attributes of tables projected on n records; Laplace noise needs a "
        "trusted curator, the others none",
    )
    keys = [
        Line2D([], [], color=colour, linestyle=line, label=label, linewidth=_width(method))
        for method, (colour, line, label) in EQUAL_STYLE.items()
    ]
    legend_below(figure, keys, 3)
    return figure


def _width(method: str) -> float:
    return 3.4 if method == "rrba_uniform" else 1.3


def _curves(axis: Axes, part: pd.DataFrame) -> None:
    for method, (colour, line, _) in EQUAL_STYLE.items():
        own = part[part["method"] == method]
        if len(own):
            style = {"color": colour, "linestyle": line, "linewidth": _width(method)}
            line_with_band(axis, own, "epsilon", "mean", marker="o", markersize=3, **style)
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    gridded(axis, linewidth=0.5)
