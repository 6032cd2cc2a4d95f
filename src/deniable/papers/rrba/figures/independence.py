"""Figures of the tests of independence: Table 3 of [rrba] beside ours, sizes and powers."""

from collections.abc import Mapping
from typing import Literal

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, MultipleLocator, NullLocator

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
    with mpl.rc_context(STYLE):
        figure = canvas(max(3.1 * len(sizes) + 1, NARROWEST), 0.62 * len(methods) + 2.3)
        axes = figure.subplots(1, len(sizes), sharey=True, squeeze=False)[0]
        for axis, k in zip(axes, sizes, strict=True):
            _table_3_panel(axis, shown[shown["k"] == k], methods)
        axes[0].set_yticks(range(len(methods)), [TABLE_3_NAMES[name] for name in methods])
        axes[0].set_ylim(len(methods) - 0.5, -0.5)
        figure.legend(handles=_table_3_legend(shown), loc="lower center", ncols=4, frameon=False)
        heading(
            figure,
            "Independence rejected, of 100 trials: Table 3 printed and regenerated",
            f"{shown['trials'].max():,} trials with 95 % intervals, "
            f"{shown['sampled_tables'].max():,} sampled tables; n and effect are assumed",
        )
        height, width = figure.get_figheight(), figure.get_figwidth()
        figure.subplots_adjust(
            left=1.15 / width, right=0.985, top=1 - 1.15 / height, bottom=1.02 / height, wspace=0.07
        )
        mark_surrogate(figure, table)
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
            axis.plot(
                row["published"], methods.index(row["method"]) - 0.24, "D", color=colour,
                markersize=4.2, markeredgecolor=INK,
            )  # fmt: skip
    named = "\n".join(f"n = {n:,}, effect {effect:g}" for n, effect in settings)
    axis.set_title(f"{part['k'].iloc[0]}-way\n{named}", fontsize=9)
    axis.axvline(LEVEL, color=INK, linewidth=0.8, linestyle=":")
    axis.set_xlim(-3, 103)
    axis.xaxis.set_major_locator(MultipleLocator(25))
    axis.set_xlabel("per cent rejected")
    axis.grid(color=GRID, linewidth=0.6)
    axis.set_axisbelow(True)


def _table_3_legend(shown: pd.DataFrame) -> list[Line2D]:
    settings = shown.groupby("k")[["n", "effect"]].apply(lambda part: len(part.drop_duplicates()))
    names = ("first", "second", "third", "fourth")
    handles = [
        Line2D([], [], color=colour, marker="o", linestyle="none", label=label)
        for label, colour in zip(
            ("independent (H0)", "dependent (H1)"), HYPOTHESIS_COLOURS.values(), strict=True
        )
    ]
    handles.append(
        Line2D([], [], color="white", marker="D", markeredgecolor=INK, linestyle="none",
               markersize=4.2, label="printed (diamonds)")
    )  # fmt: skip
    handles += [
        Line2D([], [], color=INK, marker=marker, linestyle="none", label=f"{name} n")
        for name, marker, _ in zip(names, SETTING_MARKERS, range(int(settings.max())), strict=False)
    ]
    handles.append(
        Line2D([], [], color="#6a737d", marker="o", markerfacecolor="white", linestyle="none",
               label="hollow: does not agree")
    )  # fmt: skip
    handles.append(Line2D([], [], color=INK, linestyle=":", label="nominal size, 5 %"))
    return handles


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
    with mpl.rc_context(STYLE):
        figure = canvas(max(2.9 * len(sizes) + 0.8, NARROWEST), 2.1 * len(kinds) + 1.95)
        axes = figure.subplots(len(kinds), len(sizes), sharex=True, sharey=True, squeeze=False)
        for row, margins in enumerate(kinds):
            for column, k in enumerate(sizes):
                part = shown[(shown["k"] == k) & (shown["margins"] == margins)]
                _power_panel(axes[row, column], part, methods, largest)
                axes[row, column].set_title(f"{k} attributes, {margins} margins", fontsize=9.5)
            axes[row, 0].set_ylabel("per cent rejected")
        for axis in axes[-1]:
            axis.set_xlabel("records")
        handles = [
            Line2D([], [], color=colour, linestyle=line, linewidth=2, label=label)
            for colour, line, label in (TEST_STYLE[name] for name in methods)
        ]
        handles.append(Line2D([], [], color=INK, linewidth=0.8, label="thin: size (no effect)"))
        handles.append(Line2D([], [], color=INK, linestyle=":", label="nominal size, 5 %"))
        figure.legend(handles=handles, loc="lower center", ncols=3, frameon=False)
        heading(
            figure,
            f"Tests of independence at equal exact epsilon, {shown['epsilon'].max():g}",
            f"size, and power against an effect of {largest:g}; {shown['trials'].max():,} trials "
            "with 95 % intervals; central methods trust a curator with the true table",
        )
        height, width = figure.get_figheight(), figure.get_figwidth()
        figure.subplots_adjust(
            left=0.62 / width, right=0.985, top=1 - 0.95 / height, bottom=1.15 / height,
            wspace=0.07, hspace=0.22,
        )  # fmt: skip
        mark_surrogate(figure, table)
        return figure


def _power_panel(axis: Axes, part: pd.DataFrame, methods: list[str], largest: float) -> None:
    for name in methods:
        colour, line, _ = TEST_STYLE[name]
        own = part[part["method"] == name]
        for effect, width in ((largest, 1.9), (0.0, 0.8)):
            drawn = own[own["effect"] == effect]
            if len(drawn):
                line_with_band(
                    axis, drawn, "n", "regenerated", color=colour, linestyle=line, linewidth=width,
                    marker=".", markersize=5 if width > 1 else 3,
                )  # fmt: skip
    axis.axhline(LEVEL, color=INK, linewidth=0.8, linestyle=":")
    axis.set_xscale("log")
    axis.xaxis.set_major_locator(FixedLocator(sorted(part["n"].unique())))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axis.set_ylim(-3, 103)
    axis.yaxis.set_major_locator(MultipleLocator(25))
    axis.grid(color=GRID, linewidth=0.6)
    axis.set_axisbelow(True)
