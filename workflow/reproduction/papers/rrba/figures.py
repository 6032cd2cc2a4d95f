"""Figures of [rrba]: Figures 4 to 7, Tables 3 to 5, equal ε, sizes and powers."""

from collections.abc import Mapping
from itertools import product
from textwrap import fill
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import ticker
from matplotlib.axes import Axes
from matplotlib.figure import Figure

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
    # Dashes over a wide line: a table that stays uniform is generalized randomized response.
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
PRINTED = look(INK, "none", "D", "published", markersize=4)
LEVEL = 5.0
NOMINAL = look(INK, ":", label="nominal size, 5 %")
DIAMOND = look(GREY, "none", "D", "published, in the color of its method")
DIAMOND |= {"markersize": 4.5, "markeredgecolor": INK, "markeredgewidth": 0.8}
RANGE = look(GREY, label="smallest to largest mean of a set (no interval)")
RANGE |= {"linewidth": 5, "alpha": 0.3, "solid_capstyle": "butt"}
FIRST, POOLED = ("printed", "first"), ("pooled", "precise")
CRITERIA = {
    FIRST: look(ORANGE, "-", "o", markersize=4.5),
    ("printed", "lasting"): look(INK, ":", "s", markersize=6),
    ("projected", "lasting"): look(SKY, "--", "^", markersize=4.5),
    POOLED: look(BLUE, "-", "D", markersize=4.5),
}
BLOCKS = 200  # largest number of blocks of a replicate in Figures 5 and 6


@style.in_style
def fig4(table: pd.DataFrame) -> Figure:
    """Plot ε over p, claimed by (6) and exact, from the `table` of `figure_4_table`."""
    figure, ((axis,),) = style.panels(1, 1, (0, 4.6))
    groups: Any = table.groupby(["curve", "cells", "floor"], dropna=False, sort=False)
    for (curve, cells, floor), part in groups:
        options = {
            "claimed": look(INK, "--", label="claimed, ln 1 / (1 - p)"),
            "lowest": look(ORANGE, ":", label=f"exact, {cells} cells, floor {floor:g} / {cells}"),
            "uniform": look(CELL_COLOURS.get(cells, INK), label=f"exact, {cells} uniform cells"),
        }[curve]
        axis.plot(part["p"], part["epsilon"], **options)
    axis.set(xlim=(0, 1), xlabel="p, the probability that the first coin gives “Head”")
    axis.set(ylim=(0, 8), ylabel="ε of one answer")
    axis.xaxis.set_major_locator(ticker.MultipleLocator(0.1))
    axis.grid(color=GRID, linewidth=0.6)
    axis.legend(frameon=False)
    return style.finish(
        figure,
        "Figure 4: the ε that Theorem 4.1 claims, and the exact ε",
        "one answer about one table; a client answers every combination of its view, and the ε of "
        "these answers add up",
    )


@style.in_style
def fig5(table: pd.DataFrame) -> Figure:
    """Plot answers until convergence in `table` by data set and block size, for the largest p."""
    p = table["p"].max()
    columns = {name: names.FILES[name] for name in dict.fromkeys(table["dataset"])}
    return _convergence(where(table, p=p), "dataset", columns, "block_size", f"5, p = {p:g}")


@style.in_style
def fig6(table: pd.DataFrame) -> Figure:
    """Plot the answers until convergence in `table` by block size and p, of the first data set."""
    name = table["dataset"].iloc[0]
    columns = {size: f"blocks of {size}" for size in sorted(set(table["block_size"]))}
    shown = where(table, dataset=name)
    return _convergence(shown, "block_size", columns, "p", f"6, {names.FILES[name]}")


def _convergence(
    table: pd.DataFrame, column: str, titles: Mapping[Any, str], x: str, number: str
) -> Figure:
    """Plot answers, and replicates that end accurately, over `x`; a panel per `column` value."""
    # Once for all panels, because a pivot takes as long as a panel.
    keys = ["update", "criterion", column, x, "probability"]
    means: Any = table.pivot_table(index=keys, columns="measure", values="mean").sort_index()
    at = sorted(set(table[x]))

    def panel(axis: Axes, measure: str, value: Any) -> None:
        if measure == "tuples":
            every = [BLOCKS * (size if x == "block_size" else value) for size in at]
            axis.plot(at, every, color=GRID, linewidth=6, zorder=0)
            axis.set_yscale("log")
            axis.yaxis.set_major_formatter("{x:,.0f}")
        else:
            axis.set_ylim(-0.03, 1.03)
            axis.yaxis.set_major_formatter(ticker.PercentFormatter(1, symbol=" %"))
        for criterion, options in CRITERIA.items():
            if (*criterion, value) in means.index:
                _over_cells(axis, means.loc[(*criterion, value)].groupby(x), measure, options)
        if x == "block_size":
            style.log_scale(axis.xaxis, at, "{:g}".format)
        else:
            axis.xaxis.set_major_locator(ticker.MultipleLocator(0.1))
            axis.xaxis.set_major_formatter("{x:g}")

    rows = {"tuples": "answers used", "within": "accurate at the end"}
    size, own = (0, style.COLUMN, 1.75, 2.85), (True, "row")
    figure, _ = style.panel_grid(rows, titles, panel, size, x.replace("_", " "), share=own)
    within = means["within"].groupby(["update", "criterion"]).mean()
    close = [style.as_percent(within[key]) for key in (FIRST, POOLED) if key in within]
    return style.finish(
        figure,
        f"Figure {number}: {close[0]} are accurate by the published rule, {close[-1]} pooled",
        f"{table['replicates'].max():,} replicates; lines: means over "
        f"{table['probability'].nunique()} cells, bands: from the least to the greatest; hollow: "
        "some replicates were cut off at the end",
        [
            *style.legend_keys(CRITERIA, names.CRITERIA),
            look(GRID, label=f"all answers of {BLOCKS} blocks", linewidth=6),
        ],
        2,
    )


def _over_cells(axis: Axes, cells: Any, measure: str, options: style.Look) -> None:
    low, mean, high = (getattr(cells[measure], of)() for of in ("min", "mean", "max"))
    if measure == "tuples":
        axis.fill_between(mean.index, low, high, color=options["color"], alpha=0.2, linewidth=0)
    axis.plot(mean, **(options | {"marker": ""}))
    reached = cells["converged"].min() == 1
    for rows, filling in ((reached, options["color"]), (~reached, "white")):
        axis.plot(mean[rows], **(options | {"linestyle": "none", "markerfacecolor": filling}))


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
            filled = {"differs": "white", "fitted": GRID}.get(row["verdict"], colour)
            marker = SETTING_MARKERS[number % len(SETTING_MARKERS)]
            more = look(colour, "-", marker, markerfacecolor=filled, markersize=4.5, linewidth=1.1)
            reach = [[value - row["ci_low"]], [row["ci_high"] - value]]
            height = place + 0.34 * (number + 1) / len(settings) - 0.05
            axis.errorbar(value, height, xerr=reach, **more)
            axis.plot(row["published"], place - 0.24, **(PRINTED | {"markerfacecolor": colour}))
        named = "\n".join(f"n = {n:,}, effect {effect:g}" for n, effect in settings)
        axis.set_title(f"{k}-way\n{named}", fontsize=9)
        axis.axvline(LEVEL, color=INK, linewidth=0.8, linestyle=":")
        axis.set_xlim(-3, 103)
        axis.xaxis.set_major_locator(ticker.MultipleLocator(25))

    size, own = (3.1, 1.3, 0, 0.62 * len(methods) + 0.17 * most + 2.15), (False, True)
    columns, xlabel = dict.fromkeys(by_k, ""), "per cent rejected"
    figure, axes = style.panel_grid({"": ""}, columns, panel, size, xlabel, share=own)
    axes[0, 0].set_yticks(range(len(methods)), [fill(names.TESTS[name], 22) for name in methods])
    axes[0, 0].set_ylim(len(methods) - 0.5, -0.5)
    return style.finish(
        figure,
        "Rejections of independence per 100 trials: Table 3, published and regenerated",
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
    """Plot rejections in `table` over n, with a column of panels per k, a row per `margins`.

    Thick lines are the power against the largest effect, thin lines the size. The figure has the
    largest ε and, if it exists, the pattern "pair".
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
        axis.yaxis.set_major_locator(ticker.MultipleLocator(25))
        axis.set_title(f"{k} attributes, {margins} marginals", fontsize=9.5)

    rows = dict.fromkeys(shown["margins"], "per cent rejected")
    columns, size = dict.fromkeys(sorted(shown["k"].unique()), ""), (2.9, 0.8, 2.1, 1.95)
    figure, _ = style.panel_grid(rows, columns, panel, size, "records")
    thin = look(INK, linewidth=0.8, label="thin: size (no effect)")
    return style.finish(
        figure,
        f"Tests of independence at equal exact ε, {shown['epsilon'].max():g}",
        f"size, and power against an effect of {largest:g}; up to {shown['trials'].max():,} trials "
        "with 95 % intervals; dashed: central methods trust a curator with the original table",
        [*style.legend_keys(TEST_STYLE, names.TESTS, shown["method"], linewidth=2), thin, NOMINAL],
        3,
    )


@style.in_style
def tables(*parts: pd.DataFrame) -> Figure:
    """Plot the distances of Tables 4 and 5, the `parts`: a panel for each p and measure.

    Published values are diamonds. Ours are points, filled if they agree, for the mean over sets of
    attributes, with 95 % intervals. Wide bars have another meaning: they reach from the smallest to
    the largest mean of a set.
    """
    table = pd.concat(parts, ignore_index=True)
    table = table[table["reading"] == table["metric"].map(names.MAIN_READINGS)]
    files = [name for name in names.FILES if name in set(table["file"])]
    sizes = sorted(table["k"].unique())
    places = product(enumerate(files), enumerate(sizes))
    centres = {(file, k): (len(sizes) + 0.6) * i + j for (i, file), (j, k) in places}
    rows = dict.fromkeys(product(sorted(table["p"].unique()), names.COMPARED), "")

    def panel(axis: Axes, row: tuple[float, str], _: str) -> None:
        part = where(table, p=row[0], metric=row[1])
        for of in part.to_dict("records"):
            beside = 0.27 * (list(METHOD_STYLE).index(of["method"]) - 1)
            _distance(axis, centres[of["file"], of["k"]] + beside, of)
        axis.set_yscale("log")
        axis.yaxis.set_major_formatter("{x:,g}")
        axis.yaxis.set_minor_formatter(ticker.NullFormatter())
        axis.set_xticks(list(centres.values()), [str(k) for _, k in centres])
        if row == [*rows][-1]:
            scales: Any = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points"}
            for file in files:
                middle = (centres[file, sizes[0]] + centres[file, sizes[-1]]) / 2, 0
                named = names.FILES[file].replace(", ", ",\n")
                axis.annotate(named, middle, (0, -18), ha="center", va="top", **scales)
        claimed = ", ".join(f"{e:g}" for e in sorted(part["epsilon_claimed"].unique()))
        axis.set_title(f"p = {row[0]:g}, published ε = {claimed}", fontsize=9.5)
        axis.set_ylabel(fill(names.METRICS[row[1]], 15))

    size, own = (0, style.COLUMN, 1.75, 2.5), (True, False)
    figure, _ = style.panel_grid(rows, {"": ""}, panel, size, share=own, grid="y")
    # A data set with two interpretations counts once, with the better one.
    once = table.dropna(subset="published").sort_values("verdict")
    once = once.drop_duplicates(["metric", "dataset", "k", "method", "p"])
    points = style.legend_keys(METHOD_STYLE, names.METHODS, marker="o", markersize=4.5)
    return style.finish(
        figure,
        f"Tables 4 and 5: {(once['verdict'] == 'agrees').sum()} of {len(once)} published distances "
        "agree with our means over sets",
        "tables of k = 2, 3 and 4 attributes; means over sets of k attributes with 95 % intervals; "
        "the text does not specify the set",
        [*points, DIAMOND, HOLLOW, RANGE],
        2,
    )


def _distance(axis: Axes, x: float, of: Mapping[Any, Any]) -> None:
    colour = METHOD_STYLE[of["method"]]["color"]
    axis.plot([x, x], [of["subset_min"], of["subset_max"]], **(RANGE | {"color": colour}))
    filled = colour if of["verdict"] == "agrees" else "white"
    point = look(colour, "none", "o", markersize=4.5, markerfacecolor=filled)
    axis.plot(x, of["regenerated"], **point)
    axis.vlines(x, of["ci_low"], of["ci_high"], color=colour, linewidth=1, zorder=1)
    if not np.isnan(of["published"]):
        axis.plot(x, of["published"], **(DIAMOND | {"markerfacecolor": colour}), zorder=4)


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
        few = part["bin_high"].max() < 400 * part["bin_low"].min()  # then also ticks at 3, 30
        axis.xaxis.set_major_locator(ticker.LogLocator(subs=(1.0, 3.0) if few else (1.0,)))
        axis.xaxis.set_major_formatter("{x:g}")
        axis.xaxis.set_minor_locator(ticker.NullLocator())
        axis.set_ylim(bottom=0)
        axis.set_xlabel(names.METRICS[row[-1]], labelpad=1)

    rows = {
        key: f"{names.FILES[key[0]]}\np = {key[1]:g}, ε = {key[2]:g}\nproportion" for key in shown
    }
    sizes = {k: f"{k}-way tables" for k in sorted(table["k"].unique())}
    size, own = (0, 0, 1.5, 1.7), (False, False)
    figure, _ = style.panel_grid(rows, sizes, panel, size, share=own, grid="")
    bars = style.legend_keys(METHOD_STYLE, names.METHODS, linewidth=5, alpha=0.6)
    return style.finish(
        figure,
        "Figure 7: distances of released tables from the original tables",
        f"{table['trials'].max():,} trials of each set of k attributes; bins of equal width on the "
        "logarithmic scale; dashed: published averages",
        [*bars, look(INK, "--", label="published average")],
    )


@style.in_style
def equal(table: pd.DataFrame) -> Figure:
    """Plot distances in `table` of projected tables at equal exact ε, by measure, file and k."""
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

    rows = {metric: names.METRICS[metric] for metric in names.COMPARED}
    columns = {(file, k): f"{names.FILES[file]}, {k}-way" for file, k in cells}
    size, own = (1.5, 1.2, 0, 6.2), (True, "row")
    figure, _ = style.panel_grid(rows, columns, panel, size, "exact ε", share=own)
    return style.finish(
        figure,
        "Distances at equal exact ε of one answer",
        "means over sets of k attributes of tables projected on n records; only Laplace noise "
        "needs a trusted curator",
        style.legend_keys(EQUAL_STYLE, names.EQUAL_METHODS),
        3,
    )
