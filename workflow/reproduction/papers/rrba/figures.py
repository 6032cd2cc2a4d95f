"""Figures of [rrba]: Figures 4 to 7, Tables 3 to 5, equal epsilons, sizes and powers."""

from collections.abc import Mapping
from itertools import product
from textwrap import fill
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MultipleLocator, NullFormatter, NullLocator

from deniable.display import GRID, INK, look, style

from reproduction.papers.rrba import names
from reproduction.papers.rrba.table_results import shown_settings
from reproduction.study import where

# Colours are safe for colour-blind readers.
BLUE, ORANGE, GREEN, GREY = "#0072b2", "#d55e00", "#009e73", "#9aa1a9"
SKY, YELLOW, PINK = "#56b4e9", "#e69f00", "#cc79a7"
CELL_COLOURS = {2: SKY, 4: BLUE, 8: GREEN, 16: YELLOW}
METHOD_STYLE = {"rrba": look(ORANGE), "laplace": look(BLUE), "laplace_honest": look(GREEN)}
TEST_STYLE = {
    "channel_aware": look(BLUE),
    "rrba": look(ORANGE),
    "mcindep": look(GREEN, "--"),
    "laplace": look(GREY, "--"),
}
EQUAL_STYLE = {
    # A table that stays uniform is generalized randomized response: dashes over a wide line.
    "rrba": look(ORANGE),
    "rrba_half_floor": look(YELLOW),
    "rrba_at_truth": look(ORANGE, ":"),
    "rrba_uniform": look(BLUE, linewidth=3.4),
    "randomized_response": look(INK, "--"),
    "projective_geometry": look(PINK),
    "hadamard": look(PINK, ":"),
    "unary_encoding": look(SKY, "--"),
    "laplace_honest": look(GREEN, "--"),
}
HYPOTHESES = {"H0": look(BLUE, "none", "o"), "H1": look(ORANGE, "none", "o")}
SETTING_MARKERS = "os^v<>p"
HOLLOW = look(GREY, "none", "o", "hollow: does not agree", markerfacecolor="white")
PRINTED = look(INK, "none", "D", "printed", markersize=4)
LEVEL = 5.0
NOMINAL = look(INK, ":", label="nominal size, 5 %")
APART = (False, False)


@style.in_style
def fig4(table: pd.DataFrame) -> Figure:
    """Plot epsilon over p, claimed by (6) and exact, from the `table` of `figure_4_table`."""
    figure, ((axis,),) = style.panels(1, 1, (0, 4.6), (0.752, 0.188, 0.736, 0.552))
    groups: Any = table.groupby(["curve", "cells", "floor"], dropna=False, sort=False)
    for (curve, cells, floor), part in groups:
        options = {
            "claimed": look(INK, "--", label="claimed, ln 1 / (1 - p)"),
            "lowest": look(ORANGE, ":", label=f"exact, {cells} cells, floor {floor:g} / {cells}"),
            "uniform": look(CELL_COLOURS.get(cells, INK), label=f"exact, {cells} uniform cells"),
        }[curve]
        axis.plot(part["p"], part["epsilon"], **options)
    axis.set(xlim=(0, 1), xlabel="p, the probability that the first coin gives “Head”")
    axis.set(ylim=(0, 8), ylabel="epsilon of one answer")
    axis.xaxis.set_major_locator(MultipleLocator(0.1))
    axis.grid(color=GRID, linewidth=0.6)
    axis.legend(frameon=False)
    return style.finish(
        figure,
        "Figure 4: the epsilon that Theorem 4.1 claims, and the exact one",
        "one answer about one table; a client answers every combination of its view, and their "
        "epsilons add",
    )


@style.in_style
def fig5(table: pd.DataFrame) -> Figure:
    """Plot answers until convergence in `table` by block size and data set, for the largest p."""
    p = table["p"].max()
    return _convergence(where(table, p=p), "dataset", names.FILES, 5, f"p = {p:g}")


@style.in_style
def fig6(table: pd.DataFrame) -> Figure:
    """Plot the answers until convergence in `table` by block size and p, of the first data set."""
    name = table["dataset"].iloc[0]
    titles = {p: f"p = {p:g}" for p in sorted(set(table["p"]))}
    return _convergence(where(table, dataset=name), "p", titles, 6, names.FILES[name])


def _convergence(
    table: pd.DataFrame, column: str, titles: Mapping[Any, str], number: int, shown: str
) -> Figure:
    """Plot a row of panels for each criterion, and one column for each value of a `column`."""
    probabilities = sorted(set(table["probability"]))
    colours = mpl.colormaps["viridis"](np.linspace(0, 0.92, len(probabilities)))
    both = zip(probabilities, colours, strict=True)
    looks = {p: look(ink, "-", "o", f"cell of {p:g}", markersize=4.5) for p, ink in both}
    sizes = sorted(set(table["block_size"]))
    # Once for all panels: a pivot takes as long as a panel.
    keys = ["update", "criterion", column, "probability", "block_size"]
    means: Any = table.pivot_table(index=keys, columns="measure", values="mean").sort_index()

    def panel(axis: Axes, row: tuple[str, str], value: Any) -> None:
        if (*row, value) in means.index:
            axis.plot(sizes, [200 * size for size in sizes], color=GRID, linewidth=5, zorder=0)
            close = f"close: {means.loc[(*row, value), 'within'].mean():.0%}"
            place: Any = {"ha": "right", "va": "bottom", "transform": axis.transAxes}
            axis.text(0.97, 0.05, close, fontsize=8, **place)
        for probability, options in looks.items():
            if (*row, value, probability) in means.index:
                by_size = means.loc[(*row, value, probability)]
                axis.plot(by_size["tuples"], color=options["color"], linewidth=1.1)
                reached = by_size["converged"] == 1
                for rows, filling in ((reached, options["color"]), (~reached, "white")):
                    more = {"linestyle": "none", "markerfacecolor": filling}
                    axis.plot(by_size["tuples"][rows], **(options | more))
        axis.set_yscale("log")
        style.log_scale(axis.xaxis, sizes, "{:g}".format)
        axis.yaxis.set_major_formatter("{x:,.0f}")
        style.gridded(axis, linewidth=0.5)

    rows = {criterion: f"{fill(name, 18)}\nanswers" for criterion, name in names.CRITERIA.items()}
    columns = {value: titles[value] for value in dict.fromkeys(table[column])}
    size, around = (1.75, 1.6, 1.6, 2.3), (1.3, 0.15, 1.15, 1.15)
    figure, _ = style.panel_grid(rows, columns, panel, size, around, (0.08, 0.1), "block size")
    return style.finish(
        figure,
        f"Figure {number}: answers until convergence, {shown}",
        f"means of {table['replicates'].max():,} runs of at most 200 blocks; hollow: runs were "
        "cut off, a lower bound;\nclose: share of runs that end within the 95 % "
        "interval of 500 true answers around the truth",
        [*looks.values(), look(GRID, label="all answers of 200 blocks", linewidth=5)],
        6,
    )


@style.in_style
def table3(table: pd.DataFrame) -> Figure:
    """Plot published and regenerated rejections in the `shown_settings` of `table`, by k."""
    shown = shown_settings(table)
    methods = [name for name in names.TESTS if name in set(shown["method"])]
    by_k = {k: part.drop_duplicates(["n", "effect"]) for k, part in shown.groupby("k")}
    most = max(map(len, by_k.values()))

    def panel(axis: Axes, _: str, k: int) -> None:
        settings = [*by_k[k][["n", "effect"]].itertuples(index=False, name=None)]
        for row in where(shown, k=k).to_dict("records"):
            number, place = settings.index((row["n"], row["effect"])), methods.index(row["method"])
            options = HYPOTHESES[row["hypothesis"]]
            value, colour = row["regenerated"], options["color"]
            axis.errorbar(
                value,
                place + 0.34 * (number + 1) / len(settings) - 0.05,
                xerr=[[value - row["ci_low"]], [row["ci_high"] - value]],
                marker=SETTING_MARKERS[number % len(SETTING_MARKERS)],
                markerfacecolor={"differs": "white", "fitted": GRID}.get(row["verdict"], colour),
                markersize=4.5,
                color=colour,
                linewidth=1.1,
            )
            axis.plot(row["published"], place - 0.24, **(PRINTED | {"markerfacecolor": colour}))
        named = "\n".join(f"n = {n:,}, effect {effect:g}" for n, effect in settings)
        axis.set_title(f"{k}-way\n{named}", fontsize=9)
        axis.axvline(LEVEL, color=INK, linewidth=0.8, linestyle=":")
        axis.set_xlim(-3, 103)
        axis.xaxis.set_major_locator(MultipleLocator(25))
        style.gridded(axis)

    above = 0.68 + 0.17 * (1 + most)
    size, around = (3.1, 1.3, 0, 0.62 * len(methods) + 1.3 + above), (1.6, 0.15, above, 1.25)
    columns, share = dict.fromkeys(by_k, ""), (False, True)
    figure, axes = style.panel_grid(
        {"": ""}, columns, panel, size, around, (0.07, 0.2), "per cent rejected", share=share
    )
    axes[0, 0].set_yticks(range(len(methods)), [fill(names.TESTS[name], 22) for name in methods])
    axes[0, 0].set_ylim(len(methods) - 0.5, -0.5)
    return style.finish(
        figure,
        "Independence rejected, of 100 trials: Table 3 printed and regenerated",
        f"{shown['trials'].max():,} trials with 95 % intervals, "
        f"{shown['sampled_tables'].max():,} sampled tables; n and effect are assumed",
        [
            *style.legend_keys(HYPOTHESES, names.HYPOTHESES),
            PRINTED,
            *(look(INK, "none", SETTING_MARKERS[n], f"setting {n + 1}") for n in range(most)),
            HOLLOW,
            look(GREY, "none", "o", "grey: n, effect fitted", markerfacecolor=GRID),
            NOMINAL,
        ],
    )


@style.in_style
def power(table: pd.DataFrame) -> Figure:
    """Plot rejections in `table` over n, with a column of panels for each k, a row for margins.

    Thick lines show the largest effect, thin ones the size. Shown are the largest epsilon and, if
    there is one, the pattern "pair".
    """
    shown = where(table, measure="rejected")
    shown = where(shown, epsilon=shown["epsilon"].max())
    shown = where(shown, pattern=shown["pattern"].max())  # "pair" comes after "all"
    largest = float(shown["effect"].max())

    def panel(axis: Axes, margins: str, k: int) -> None:
        part = where(shown, k=k, margins=margins)
        for effect, width, size in ((largest, 1.9, 5), (0.0, 0.8, 3)):
            more = {"linewidth": width, "marker": ".", "markersize": size}
            drawn = where(part, effect=effect)
            style.plot_series(axis, drawn, "method", TEST_STYLE, "n", "regenerated", **more)
        axis.axhline(LEVEL, color=INK, linewidth=0.8, linestyle=":")
        style.log_scale(axis.xaxis, sorted(part["n"].unique()), style.as_number)
        axis.set_ylim(-3, 103)
        axis.yaxis.set_major_locator(MultipleLocator(25))
        style.gridded(axis)
        axis.set_title(f"{k} attributes, {margins} margins", fontsize=9.5)

    rows = dict.fromkeys(shown["margins"], "per cent rejected")
    columns, size = dict.fromkeys(sorted(shown["k"].unique()), ""), (2.9, 0.8, 2.1, 1.95)
    around, between = (0.62, 0.15, 0.95, 1.15), (0.07, 0.22)
    figure, _ = style.panel_grid(rows, columns, panel, size, around, between, "records")
    thin = look(INK, linewidth=0.8, label="thin: size (no effect)")
    return style.finish(
        figure,
        f"Tests of independence at equal exact epsilon, {shown['epsilon'].max():g}",
        f"size, and power against an effect of {largest:g}; up to {shown['trials'].max():,} trials "
        "with 95 % intervals; dashed: central methods trust a curator with the true table",
        [*style.legend_keys(TEST_STYLE, names.TESTS, shown["method"], linewidth=2), thin, NOMINAL],
        3,
    )


@style.in_style
def tables(*parts: pd.DataFrame) -> Figure:
    """Plot the distances of Tables 4 and 5, the `parts`: rows by p, columns by measure.

    Published values are diamonds. Ours are points, filled if they agree, for the mean over sets of
    attributes, and bars from the smallest to the largest mean of a set.
    """
    table = pd.concat(parts, ignore_index=True)
    files = [name for name in names.FILES if name in set(table["file"])]
    sizes = sorted(table["k"].unique())
    places = product(enumerate(files), enumerate(sizes))
    centres = {(file, k): (len(sizes) + 0.6) * i + j for (i, file), (j, k) in places}

    def panel(axis: Axes, p: float, metric: str) -> None:
        part = where(table, p=p, metric=metric, reading=names.MAIN_READINGS[metric])
        for row in part.to_dict("records"):
            colour = METHOD_STYLE[row["method"]]["color"]
            beside = 0.24 * (list(METHOD_STYLE).index(row["method"]) - 1)
            x = centres[row["file"], row["k"]] + beside
            ends = [row["subset_min"], row["subset_max"]]
            axis.plot([x, x], ends, color=colour, linewidth=3.5, alpha=0.35, solid_capstyle="butt")
            filled = colour if row["verdict"] == "agrees" else "white"
            options = look(colour, marker="o", markersize=4.5, markerfacecolor=filled)
            axis.plot(x, row["regenerated"], **options)
            if not np.isnan(row["published"]):
                axis.plot(x, row["published"], **PRINTED, zorder=4)
        axis.set_yscale("log")
        axis.yaxis.set_major_formatter("{x:g}")
        axis.yaxis.set_minor_formatter(NullFormatter())
        axis.set_xticks(list(centres.values()), [str(k) for _, k in centres])
        scales: Any = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points"}
        for file in files:
            middle = (centres[file, sizes[0]] + centres[file, sizes[-1]]) / 2, 0
            axis.annotate(names.FILES[file], middle, (0, -20), ha="center", va="top", **scales)
        style.gridded(axis, "y", 0.5)
        claimed = ", ".join(f"{e:g}" for e in sorted(part["epsilon_claimed"].unique()))
        axis.set_title(f"p = {p:g}, printed ε = {claimed}", fontsize=10)
        axis.set_ylabel(names.METRICS[metric])

    rows = dict.fromkeys(sorted(table["p"].unique()), "")
    columns = dict.fromkeys(names.COMPARED, "")
    size, around = (0, 1.5 + 2.9 * len(files), 2.7, 1.9), (0.8, 0.12, 0.95, 1.0)
    figure, _ = style.panel_grid(rows, columns, panel, size, around, (0.2, 0.45), share=APART)
    points = style.legend_keys(METHOD_STYLE, names.METHODS, marker="o", markersize=4.5)
    return style.finish(
        figure,
        "Distances of released tables from the true ones, printed and regenerated",
        "bars: from the smallest to the largest mean of a set of k attributes; the text does not "
        "say which set it took",
        [PRINTED, *points, HOLLOW],
        5,
    )


@style.in_style
def fig7(table: pd.DataFrame) -> Figure:
    """Plot the histograms of distances in `table`, over trials and sets, and published averages."""
    columns = ["file", "p", "epsilon_claimed", "metric"]
    shown = list(dict.fromkeys(table[columns].itertuples(index=False, name=None)))

    def panel(axis: Axes, row: tuple[Any, ...], k: int) -> None:
        part = where(table, k=k, **dict(zip(columns, row, strict=True)))
        for method, options in METHOD_STYLE.items():
            bins, colour = where(part, method=method), options["color"]
            low, width = bins["bin_low"], bins["bin_high"] - bins["bin_low"]
            axis.bar(low, bins["share"], width, align="edge", color=colour, alpha=0.6, linewidth=0)
            for published in bins["published"].dropna().unique():
                axis.axvline(published, color=colour, linestyle="--", linewidth=1.4)
        axis.set_xscale("log")
        few = part["bin_high"].max() < 400 * part["bin_low"].min()  # decades: ticks at 3, 30, too
        axis.xaxis.set_major_locator(LogLocator(subs=(1.0, 3.0) if few else (1.0,)))
        axis.xaxis.set_major_formatter("{x:g}")
        axis.xaxis.set_minor_locator(NullLocator())
        axis.set_ylim(bottom=0)
        axis.set_xlabel(names.METRICS[row[-1]], labelpad=1)

    rows = {key: f"{names.FILES[key[0]]}\np = {key[1]:g}, ε = {key[2]:g}\nshare" for key in shown}
    sizes = {k: f"{k}-way tables" for k in sorted(table["k"].unique())}
    size, around = (0, 0, 1.5, 1.7), (1.1, 0.15, 0.95, 0.85)
    figure, _ = style.panel_grid(rows, sizes, panel, size, around, (0.2, 0.62), share=APART)
    bars = style.legend_keys(METHOD_STYLE, names.METHODS, linewidth=5, alpha=0.6)
    return style.finish(
        figure,
        "Figure 7: distances of released tables from the true ones",
        f"{table['trials'].max():,} trials of each set of k attributes; bins of equal width on the "
        "logarithmic scale; dashed: printed averages",
        [*bars, look(INK, "--", label="printed average")],
    )


@style.in_style
def equal(table: pd.DataFrame) -> Figure:
    """Plot distances in `table` of projected tables at equal exact epsilon, by measure, file, k."""
    shown = where(table, reading="projected")
    cells = dict.fromkeys(shown[["file", "k"]].itertuples(index=False, name=None))
    ticks = sorted(shown["epsilon"].unique())

    def panel(axis: Axes, metric: str, cell: tuple[str, int]) -> None:
        part = where(shown, metric=metric, file=cell[0], k=cell[1])
        more = {"marker": "o", "markersize": 3}
        style.plot_series(axis, part, "method", EQUAL_STYLE, "epsilon", "mean", **more)
        style.log_scale(axis.xaxis, ticks, "{:g}".format)
        axis.set_yscale("log")
        axis.yaxis.set_major_formatter("{x:g}")
        style.gridded(axis, linewidth=0.5)

    rows = {metric: names.METRICS[metric] for metric in names.COMPARED}
    columns = {(file, k): f"{names.FILES[file]}, {k}-way" for file, k in cells}
    size, around, gaps = (1.5, 1.2, 0, 6.2), (0.85, 0.12, 0.95, 1.1), (0.08, 0.1)
    share = (True, "row")
    figure, _ = style.panel_grid(rows, columns, panel, size, around, gaps, "exact ε", share=share)
    return style.finish(
        figure,
        "Distances at equal exact epsilon of one answer",
        "means over sets of k attributes of tables projected on n records; Laplace noise needs a "
        "trusted curator, the others none",
        style.legend_keys(EQUAL_STYLE, names.EQUAL_METHODS),
        3,
    )
