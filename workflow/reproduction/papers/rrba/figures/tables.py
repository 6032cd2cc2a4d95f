"""Tables of [rrba] as figures: Tables 3 to 5, Figure 7; powers of tests, equal epsilon."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, MultipleLocator, NullFormatter, NullLocator

from deniable.display import (
    GRID,
    INK,
    NARROWEST,
    as_number,
    gridded,
    heading,
    in_style,
    legend_below,
    line_key,
    line_with_band,
    mark_key,
    panels,
    plain_ticks,
)

from reproduction.papers.rrba.names import FILES
from reproduction.papers.rrba.table_results import shown_settings
from reproduction.study import where

TEST_STYLE: Mapping[str, tuple[str, Literal["-", "--"], str]] = {
    # colour (safe for colour-blind readers), line, label
    "channel_aware": ("#0072b2", "-", "channel-aware, local"),
    "rrba": ("#d55e00", "-", "RRBA as printed, local"),
    "mcindep": ("#009e73", "--", "MCIndep, central"),
    "laplace": ("#9aa1a9", "--", "Laplace, chi-squared limit, central"),
}
TABLE_3_NAMES: Mapping[str, str] = {
    "rrba": "RRBA,\nuniform table",
    "channel_aware": "channel-aware",
    "mcindep": "MCIndep",
    "laplace": "Laplace",
    "laplace_printed_scale": "Laplace,\nprinted scale",
    "laplace_true_limit": "Laplace,\ntrue limit",
    "laplace_true_limit_printed_scale": "Laplace, true limit,\nprinted scale",
}
HYPOTHESIS_COLOURS = {"H0": "#0072b2", "H1": "#d55e00"}
SETTING_MARKERS = ("o", "s", "^", "v", "<", ">", "p")
LEVEL = 5.0
NOMINAL: Mapping[str, Any] = {"color": INK, "linestyle": ":", "label": "nominal size, 5 %"}
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
    "projective_geometry": ("#cc79a7", "-", "projective geometry"),
    "hadamard": ("#cc79a7", ":", "Hadamard response"),
    "unary_encoding": ("#56b4e9", "--", "unary encoding"),
    "laplace_honest": ("#009e73", "--", "Laplace, 2/ε (trusted curator)"),
}
METRICS: Mapping[str, tuple[str, str]] = {
    # label, reading that the printed numbers are taken from
    "l2": ("l2, records", "noisy"),
    "jensen_shannon": ("Jensen-Shannon distance", "projected"),
}
APART = 0.24
FEW_DECADES = 2.6
"""Shorter logarithmic scales have ticks at 3 and 30, too."""


@in_style
def table_3(table: pd.DataFrame) -> Figure:
    """Plot published and regenerated rejections in the `shown_settings` of `table`, by k."""
    shown = shown_settings(table)
    sizes = sorted(shown["k"].unique())
    methods = [name for name in TABLE_3_NAMES if name in set(shown["method"])]
    settings = shown.groupby("k")[["n", "effect"]].apply(lambda part: len(part.drop_duplicates()))
    above = 0.68 + 0.17 * (1 + int(settings.max()))
    size = max(3.1 * len(sizes) + 1.3, NARROWEST), 0.62 * len(methods) + 1.3 + above
    around = (1.5, 0.015 * size[0], above, 1.25)
    figure, (axes,) = panels(1, len(sizes), size, around, (0.07, 0.2), sharey=True)
    for axis, k in zip(axes, sizes, strict=True):
        _table_3_panel(axis, shown[shown["k"] == k], methods)
    axes[0].set_yticks(range(len(methods)), [TABLE_3_NAMES[name] for name in methods])
    axes[0].set_ylim(len(methods) - 0.5, -0.5)
    legend_below(figure, _table_3_legend(int(settings.max())), 4)
    heading(
        figure,
        "Independence rejected, of 100 trials: Table 3 printed and regenerated",
        f"{shown['trials'].max():,} trials with 95 % intervals, "
        f"{shown['sampled_tables'].max():,} sampled tables; n and effect are assumed",
    )
    return figure


def _table_3_panel(axis: Axes, part: pd.DataFrame, methods: list[str]) -> None:
    settings = list(dict.fromkeys(zip(part["n"], part["effect"], strict=True)))
    for row in part.to_dict("records"):
        number = settings.index((row["n"], row["effect"]))
        height = methods.index(row["method"]) + 0.34 * (number + 1) / len(settings) - 0.05
        colour = HYPOTHESIS_COLOURS[row["hypothesis"]]
        value = row["regenerated"]
        reach = [[value - row["ci_low"]], [row["ci_high"] - value]]
        marker = SETTING_MARKERS[number % len(SETTING_MARKERS)]
        filled = {"differs": "white", "fitted": GRID}.get(row["verdict"], colour)
        style: Any = {"marker": marker, "markersize": 4.5, "markerfacecolor": filled}
        axis.errorbar(value, height, xerr=reach, color=colour, linewidth=1.1, **style)
        if not np.isnan(row["published"]):
            place = row["published"], methods.index(row["method"]) - 0.24
            axis.plot(*place, "D", color=colour, markersize=4.2, markeredgecolor=INK)
    named = "\n".join(f"n = {n:,}, effect {effect:g}" for n, effect in settings)
    axis.set_title(f"{part['k'].iloc[0]}-way\n{named}", fontsize=9)
    axis.axvline(LEVEL, color=INK, linewidth=0.8, linestyle=":")
    axis.set_xlim(-3, 103)
    axis.xaxis.set_major_locator(MultipleLocator(25))
    axis.set_xlabel("per cent rejected")
    gridded(axis)


def _table_3_legend(settings: int) -> list[Line2D]:
    kinds = ("independent (H0)", "dependent (H1)")
    names = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh")[:settings]
    return [
        *(mark_key(c, "o", k) for k, c in zip(kinds, HYPOTHESIS_COLOURS.values(), strict=True)),
        mark_key("white", "D", "printed (diamonds)", markeredgecolor=INK, markersize=4.2),
        *(mark_key(INK, m, f"{name} n") for name, m in zip(names, SETTING_MARKERS, strict=False)),
        mark_key("#6a737d", "o", "hollow: does not agree", markerfacecolor="white"),
        mark_key("#6a737d", "o", "grey: n, effect fitted", markerfacecolor=GRID),
        Line2D([], [], **NOMINAL),
    ]


@in_style
def power(table: pd.DataFrame) -> Figure:
    """Plot rejections in `table` over n, with a column of panels for each k, a row for margins.

    Thick lines show the largest effect, thin ones the size. Shown are the largest epsilon and, if
    there is one, the pattern "pair".
    """
    shown = where(table, measure="rejected")
    shown = where(shown, epsilon=shown["epsilon"].max())
    if (shown["pattern"] == "pair").any():
        shown = where(shown, pattern="pair")
    largest = float(shown["effect"].max())
    sizes, kinds = sorted(shown["k"].unique()), list(dict.fromkeys(shown["margins"]))
    methods = [name for name in TEST_STYLE if name in set(shown["method"])]
    size = max(2.9 * len(sizes) + 0.8, NARROWEST), 2.1 * len(kinds) + 1.95
    around = (0.62, 0.015 * size[0], 0.95, 1.15)
    figure, axes = panels(
        len(kinds), len(sizes), size, around, (0.07, 0.22), sharex=True, sharey=True
    )
    for row, margins in zip(axes, kinds, strict=True):
        for axis, k in zip(row, sizes, strict=True):
            _power_panel(axis, where(shown, k=k, margins=margins), methods, largest)
            axis.set_title(f"{k} attributes, {margins} margins", fontsize=9.5)
        row[0].set_ylabel("per cent rejected")
    for axis in axes[-1]:
        axis.set_xlabel("records")
    thin = Line2D([], [], color=INK, linewidth=0.8, label="thin: size (no effect)")
    lines = [line_key(*TEST_STYLE[name]) for name in methods]
    legend_below(figure, [*lines, thin, Line2D([], [], **NOMINAL)], 3)
    heading(
        figure,
        f"Tests of independence at equal exact epsilon, {shown['epsilon'].max():g}",
        f"size, and power against an effect of {largest:g}; up to {shown['trials'].max():,} trials "
        "with 95 % intervals; central methods trust a curator with the true table",
    )
    return figure


def _power_panel(axis: Axes, part: pd.DataFrame, methods: list[str], largest: float) -> None:
    for name in methods:
        colour, line, _ = TEST_STYLE[name]
        for effect, width in ((largest, 1.9), (0.0, 0.8)):
            drawn = where(part, method=name, effect=effect)
            if len(drawn):
                style = {"color": colour, "linestyle": line, "linewidth": width, "marker": "."}
                size = 5 if width > 1 else 3
                line_with_band(axis, drawn, "n", "regenerated", markersize=size, **style)
    axis.axhline(LEVEL, color=INK, linewidth=0.8, linestyle=":")
    axis.set_xscale("log")
    plain_ticks(axis.xaxis, sorted(part["n"].unique()), as_number)
    axis.set_ylim(-3, 103)
    axis.yaxis.set_major_locator(MultipleLocator(25))
    gridded(axis)


@in_style
def tables_4_and_5(*tables: pd.DataFrame) -> Figure:
    """Plot the distances of the `tables`, with a row for each p and a column for each measure.

    Published values are diamonds. Ours are points, filled if they agree, for the mean over sets of
    attributes, and bars from the smallest to the largest mean of a set.
    """
    table = pd.concat(tables, ignore_index=True)
    values = sorted(table["p"].unique())
    files = [name for name in FILES if name in set(table["file"])]
    size = 1.5 + 2.9 * len(files), 1.9 + 2.7 * len(values)
    around = (0.8, 0.12, 0.95, 1.0)
    figure, axes = panels(len(values), len(METRICS), size, around, (0.2, 0.45))
    for row, p in zip(axes, values, strict=True):
        for axis, (metric, (label, reading)) in zip(row, METRICS.items(), strict=True):
            part = where(table, p=p, metric=metric, reading=reading)
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
    axis.yaxis.set_major_formatter("{x:g}")
    axis.yaxis.set_minor_formatter(NullFormatter())
    axis.set_xticks(list(centres.values()), [str(k) for _, k in centres])
    for i, file in enumerate(files):
        below = (len(sizes) + 0.6) * i + (len(sizes) - 1) / 2, 0
        scales: Any = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points"}
        axis.annotate(FILES[file], below, (0, -20), ha="center", va="top", **scales)
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
    """Plot the histograms of distances in `table`, over trials and sets, and published averages."""
    columns = ["file", "p", "epsilon_claimed", "metric"]
    shown = list(dict.fromkeys(table[columns].itertuples(index=False, name=None)))
    # By file and p, both measures below each other.
    shown.sort(key=lambda panel: (list(FILES).index(panel[0]), panel[1], panel[3] != "l2"))
    sizes = sorted(table["k"].unique())
    around = (1.1, 0.15, 0.95, 0.85)
    figure, axes = panels(len(shown), len(sizes), (0, 1.7 + 1.5 * len(shown)), around, (0.2, 0.62))
    for row, (file, p, epsilon, metric) in zip(axes, shown, strict=True):
        for axis, k in zip(row, sizes, strict=True):
            _histograms(axis, where(table, file=file, p=p, metric=metric, k=k))
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
        low, width = bins["bin_low"], bins["bin_high"] - bins["bin_low"]
        axis.bar(low, bins["share"], width, align="edge", color=colour, alpha=0.6, linewidth=0)
        for published in bins["published"].dropna().unique():
            axis.axvline(published, color=colour, linestyle="--", linewidth=1.4)
    axis.set_xscale("log")
    decades = np.log10(part["bin_high"].max() / part["bin_low"].min())
    axis.xaxis.set_major_locator(LogLocator(subs=(1.0, 3.0) if decades < FEW_DECADES else (1.0,)))
    axis.xaxis.set_major_formatter("{x:g}")
    axis.xaxis.set_minor_locator(NullLocator())
    axis.set_ylim(bottom=0)


@in_style
def equal_epsilon(table: pd.DataFrame) -> Figure:
    """Plot distances in `table` of projected tables at equal exact epsilon, by measure, file, k."""
    shown = table[table["reading"] == "projected"]
    cells = list(dict.fromkeys(shown[["file", "k"]].itertuples(index=False, name=None)))
    cells.sort(key=lambda cell: (list(FILES).index(cell[0]), cell[1]))
    size, around = (1.5 * len(cells) + 1.2, 6.2), (0.85, 0.12, 0.95, 1.1)
    figure, axes = panels(
        len(METRICS), len(cells), size, around, (0.08, 0.1), sharex=True, sharey="row"
    )
    for row, (metric, (label, _)) in zip(axes, METRICS.items(), strict=True):
        for axis, (file, k) in zip(row, cells, strict=True):
            _curves(axis, where(shown, metric=metric, file=file, k=k))
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
    axis.yaxis.set_major_formatter("{x:g}")
    gridded(axis, linewidth=0.5)
