"""Figures of the tests of independence: Table 3 of [rrba] beside ours, sizes and powers."""

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MultipleLocator

from deniable.display import (
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

TEST_STYLE: Mapping[str, tuple[str, Literal["-", "--"], str]] = {
    # colour (safe for colour-blind readers), line, label
    "channel_aware": ("#0072b2", "-", "channel-aware, local"),
    "rrba": ("#d55e00", "-", "RRBA as printed, local"),
    "mcindep": ("#009e73", "--", "MCIndep, central"),
    "laplace": ("#9aa1a9", "--", "Laplace, chi-squared limit, central"),
}
TABLE_3_NAMES: Mapping[str, str] = {
    "rrba": "RRBA",
    "channel_aware": "channel-aware",
    "mcindep": "MCIndep",
    "laplace": "Laplace",
    "laplace_printed_scale": "Laplace,\nprinted scale",
}
HYPOTHESIS_COLOURS = {"H0": "#0072b2", "H1": "#d55e00"}
SETTING_MARKERS = ("o", "s", "^", "v")
LEVEL = 5.0
NOMINAL: Mapping[str, Any] = {"color": INK, "linestyle": ":", "label": "nominal size, 5 %"}


@in_style
def table_3(table: pd.DataFrame) -> Figure:
    """Draw printed and regenerated rejections, a panel for each k.

    Of the settings with the most sampled tables and without the rule of five; if there are none,
    of the first rule.

    Parameters
    ----------
    table : DataFrame
        Columns method, k, n, effect, hypothesis, published, regenerated, ci_low, ci_high, trials,
        sampled_tables, small_cells, verdict, data_source.
    """
    rules = list(dict.fromkeys(table["small_cells"]))
    rule = "ignore" if "ignore" in rules else rules[0]
    shown = table[table["small_cells"] == rule]
    shown = shown[shown["sampled_tables"] == shown["sampled_tables"].max()]
    sizes = sorted(shown["k"].unique())
    methods = [name for name in TABLE_3_NAMES if name in set(shown["method"])]
    size = max(3.1 * len(sizes) + 1, NARROWEST), 0.62 * len(methods) + 2.3
    around = (1.15, 0.015 * size[0], 1.15, 1.02)
    figure, (axes,) = panels(1, len(sizes), size, around, (0.07, 0.2), sharey=True)
    for axis, k in zip(axes, sizes, strict=True):
        _table_3_panel(axis, shown[shown["k"] == k], methods)
    axes[0].set_yticks(range(len(methods)), [TABLE_3_NAMES[name] for name in methods])
    axes[0].set_ylim(len(methods) - 0.5, -0.5)
    legend_below(figure, _table_3_legend(shown), 4)
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
        axis.errorbar(
            value,
            height,
            xerr=reach,
            color=colour,
            marker=SETTING_MARKERS[number % len(SETTING_MARKERS)],
            markersize=4.5,
            markerfacecolor="white" if row["verdict"] == "differs" else colour,
            linewidth=1.1,
        )
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


def _table_3_legend(shown: pd.DataFrame) -> list[Line2D]:
    settings = shown.groupby("k")[["n", "effect"]].apply(lambda part: len(part.drop_duplicates()))
    kinds = ("independent (H0)", "dependent (H1)")
    names = ("first", "second", "third", "fourth")[: int(settings.max())]
    return [
        *(mark_key(c, "o", k) for k, c in zip(kinds, HYPOTHESIS_COLOURS.values(), strict=True)),
        mark_key("white", "D", "printed (diamonds)", markeredgecolor=INK, markersize=4.2),
        *(mark_key(INK, m, f"{name} n") for name, m in zip(names, SETTING_MARKERS, strict=False)),
        mark_key("#6a737d", "o", "hollow: does not agree", markerfacecolor="white"),
        Line2D([], [], **NOMINAL),
    ]


@in_style
def power(table: pd.DataFrame) -> Figure:
    """Draw rejections over n, a column of panels for each k and a row for each kind of margins.

    Thick: the largest effect; thin: no effect, the size. Of the pattern "pair" if there is one, and
    of the largest epsilon.

    Parameters
    ----------
    table : DataFrame
        Columns method, k, margins, pattern, n, effect, epsilon, measure, regenerated, ci_low,
        ci_high, trials, data_source.
    """
    shown = table[table["measure"] == "rejected"]
    shown = shown[shown["epsilon"] == shown["epsilon"].max()]
    if (shown["pattern"] == "pair").any():
        shown = shown[shown["pattern"] == "pair"]
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
            part = shown[(shown["k"] == k) & (shown["margins"] == margins)]
            _power_panel(axis, part, methods, largest)
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
        f"size, and power against an effect of {largest:g}; {shown['trials'].max():,} trials "
        "with 95 % intervals; central methods trust a curator with the true table",
    )
    return figure


def _power_panel(axis: Axes, part: pd.DataFrame, methods: list[str], largest: float) -> None:
    for name in methods:
        colour, line, _ = TEST_STYLE[name]
        own = part[part["method"] == name]
        for effect, width in ((largest, 1.9), (0.0, 0.8)):
            drawn = own[own["effect"] == effect]
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
