"""Figures of [rrba] about released tables: Tables 4 and 5, Figure 7, equal epsilons."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator

from deniable.display import (
    GRID,
    INK,
    NARROWEST,
    STYLE,
    canvas,
    heading,
    line_with_band,
    mark_surrogate,
)

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
FILES: Mapping[str, str] = {
    "survey_8000": "Survey",
    "survey_8000_resampled": "Survey, resampled",
    "alarm_8000": "Alarm",
    "child_8000": "Child",
}
APART = 0.24
FEW_DECADES = 2.6
"""Below so many, a logarithmic scale has ticks at 3, 30, too."""
WIDE = 3.4


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
    with mpl.rc_context(STYLE):
        figure = canvas(max(NARROWEST, 1.5 + 2.9 * len(files)), 1.9 + 2.7 * len(values))
        axes = figure.subplots(len(values), len(METRICS), squeeze=False)
        for row, p in zip(axes, values, strict=True):
            for axis, (metric, (label, reading)) in zip(row, METRICS.items(), strict=True):
                part = table[
                    (table["p"] == p) & (table["metric"] == metric) & (table["reading"] == reading)
                ]
                _cells(axis, part, files)
                axis.set_ylabel(label)
                claimed = ", ".join(f"{e:g}" for e in sorted(part["epsilon_claimed"].unique()))
                axis.set_title(f"p = {p:g}, printed ε = {claimed}", fontsize=10)
        height, width = figure.get_figheight(), figure.get_figwidth()
        heading(
            figure,
            "Distances of released tables from the true ones, printed and regenerated",
            "bars: from the smallest to the largest mean of a set of k attributes; the text does "
            "not say which set it took",
        )
        figure.legend(handles=_legend(), loc="lower center", ncols=5, frameon=False)
        figure.subplots_adjust(
            left=0.8 / width,
            right=1 - 0.12 / width,
            top=1 - 0.95 / height,
            bottom=1.0 / height,
            hspace=0.45,
            wspace=0.2,
        )
        mark_surrogate(figure, table)
        return figure


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
    axis.xaxis.set_major_locator(FixedLocator(list(centres.values())))
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
    axis.grid(axis="y", color=GRID, linewidth=0.5)
    axis.set_axisbelow(True)


def _cell(axis: Axes, row: Mapping[Any, Any], centre: float) -> None:
    colour, _ = METHOD_STYLE[row["method"]]
    x = centre + APART * (list(METHOD_STYLE).index(row["method"]) - 1)
    axis.plot([x, x], [row["subset_min"], row["subset_max"]], color=colour, linewidth=3.5,
              alpha=0.35, solid_capstyle="butt")  # fmt: skip
    filled = colour if row["verdict"] == "agrees" else "white"
    axis.plot(x, row["regenerated"], "o", color=colour, markersize=4.5, markerfacecolor=filled)
    if not np.isnan(row["published"]):
        axis.plot(x, row["published"], "D", color=INK, markersize=3.6, zorder=4)


def _legend() -> list[Line2D]:
    handles = [Line2D([], [], color=INK, marker="D", linestyle="", markersize=4, label="printed")]
    handles += [
        Line2D([], [], color=colour, marker="o", markersize=4.5, label=label)
        for colour, label in METHOD_STYLE.values()
    ]
    grey = Line2D([], [], color="#6a737d", marker="o", linestyle="", markerfacecolor="white",
                  label="hollow: does not agree")  # fmt: skip
    return [*handles, grey]


def figure_7(table: pd.DataFrame) -> Figure:
    """Draw the histograms of distances over trials and sets of attributes.

    Parameters
    ----------
    table : DataFrame
        `deniable.papers.rrba.table_results.FIGURE_7_COLUMNS`. Vertical lines are the printed
        averages.
    """
    panels = list(
        dict.fromkeys(
            table[["file", "p", "epsilon_claimed", "metric"]].itertuples(index=False, name=None)
        )
    )
    sizes = sorted(table["k"].unique())
    # By file and p, both measures below each other.
    panels.sort(key=lambda panel: (list(FILES).index(panel[0]), panel[1], panel[3] != "l2"))
    with mpl.rc_context(STYLE):
        figure = canvas(NARROWEST, 1.7 + 1.5 * len(panels))
        axes = figure.subplots(len(panels), len(sizes), squeeze=False)
        for row, (file, p, epsilon, metric) in zip(axes, panels, strict=True):
            for axis, k in zip(row, sizes, strict=True):
                part = table[
                    (table["file"] == file)
                    & (table["p"] == p)
                    & (table["metric"] == metric)
                    & (table["k"] == k)
                ]
                _histograms(axis, part)
                axis.set_xlabel(METRICS[metric][0], labelpad=1)
            row[0].set_ylabel(f"{FILES[file]}\np = {p:g}, ε = {epsilon:g}\nshare")
        for axis, k in zip(axes[0], sizes, strict=True):
            axis.set_title(f"{k}-way tables", fontsize=10)
        height, width = figure.get_figheight(), figure.get_figwidth()
        heading(
            figure,
            "Figure 7: distances of released tables from the true ones",
            f"{table['trials'].max():,} trials of each set of k attributes; bins of equal width "
            "on the logarithmic scale; dashed: printed averages",
        )
        _legend_7(figure)
        figure.subplots_adjust(
            left=1.1 / width,
            right=1 - 0.15 / width,
            top=1 - 0.95 / height,
            bottom=0.85 / height,
            hspace=0.62,
            wspace=0.2,
        )
        mark_surrogate(figure, table)
        return figure


def _legend_7(figure: Figure) -> None:
    handles = [
        Line2D([], [], color=colour, linewidth=5, alpha=0.6, label=label)
        for colour, label in METHOD_STYLE.values()
    ]
    handles.append(Line2D([], [], color=INK, linestyle="--", label="printed average"))
    figure.legend(handles=handles, loc="lower center", ncols=4, frameon=False)


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


def equal_epsilon(table: pd.DataFrame) -> Figure:
    """Draw the distances at equal exact epsilon: a row a measure, a column a file and k.

    Parameters
    ----------
    table : DataFrame
        `deniable.papers.rrba.table_results.EQUAL_COLUMNS`; projected tables are drawn.
    """
    shown = table[table["reading"] == "projected"]
    cells = list(dict.fromkeys(shown[["file", "k"]].itertuples(index=False, name=None)))
    cells.sort(key=lambda cell: (list(FILES).index(cell[0]), cell[1]))
    epsilons = sorted(shown["epsilon"].unique())
    with mpl.rc_context(STYLE):
        figure = canvas(max(NARROWEST, 1.5 * len(cells) + 1.2), 6.2)
        axes = figure.subplots(len(METRICS), len(cells), sharex=True, sharey="row", squeeze=False)
        for row, (metric, (label, _)) in zip(axes, METRICS.items(), strict=True):
            for axis, (file, k) in zip(row, cells, strict=True):
                part = shown[
                    (shown["metric"] == metric) & (shown["file"] == file) & (shown["k"] == k)
                ]
                _curves(axis, part, epsilons)
            row[0].set_ylabel(label)
        for axis, (file, k) in zip(axes[0], cells, strict=True):
            axis.set_title(f"{FILES[file]}, {k}-way", fontsize=10)
        for axis in axes[-1]:
            axis.set_xlabel("exact ε")
        height, width = figure.get_figheight(), figure.get_figwidth()
        heading(
            figure,
            "Distances at equal exact epsilon of one answer",
            "means over sets of k attributes of tables projected on n records; Laplace noise needs "
            "a trusted curator, the others none",
        )
        _legend_equal(figure)
        figure.subplots_adjust(
            left=0.85 / width,
            right=1 - 0.12 / width,
            top=1 - 0.95 / height,
            bottom=1.1 / height,
            hspace=0.1,
            wspace=0.08,
        )
        mark_surrogate(figure, table)
        return figure


def _legend_equal(figure: Figure) -> None:
    handles = [
        Line2D([], [], color=colour, linestyle=line, label=label,
               linewidth=WIDE if method == "rrba_uniform" else 1.3)
        for method, (colour, line, label) in EQUAL_STYLE.items()
    ]  # fmt: skip
    figure.legend(handles=handles, loc="lower center", ncols=3, frameon=False)


def _curves(axis: Axes, part: pd.DataFrame, epsilons: Sequence[float]) -> None:
    for method, (colour, line, _) in EQUAL_STYLE.items():
        own = part[part["method"] == method]
        if len(own):
            line_with_band(axis, own, "epsilon", "mean", color=colour, linestyle=line,
                           marker="o", markersize=3,
                           linewidth=WIDE if method == "rrba_uniform" else 1.3)  # fmt: skip
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.xaxis.set_major_locator(FixedLocator(epsilons))
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.grid(color=GRID, linewidth=0.5)
    axis.set_axisbelow(True)
