"""Tables of [rrba] as figures: Tables 3 to 5, Figure 7; powers of tests, equal epsilon."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MultipleLocator, NullFormatter, NullLocator

from deniable.display import GRID, INK, look, style

from reproduction.papers.rrba.names import FILES
from reproduction.papers.rrba.table_results import shown_settings
from reproduction.study import where

# Colours are safe for colour-blind readers.
TEST_STYLE = {
    "channel_aware": look("#0072b2", label="channel-aware, local"),
    "rrba": look("#d55e00", label="RRBA as printed, local"),
    "mcindep": look("#009e73", "--", label="MCIndep, central"),
    "laplace": look("#9aa1a9", "--", label="Laplace, chi-squared limit, central"),
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
NOMINAL = look(INK, ":", label="nominal size, 5 %")
METHOD_STYLE = {
    "rrba": look("#d55e00", label="RRBA"),
    "laplace": look("#0072b2", label="Laplace, scale as printed, 2|T|/ε"),
    "laplace_honest": look("#009e73", label="Laplace, honest scale, 2/ε"),
}
HOLLOW = look("#6a737d", "none", "o", "hollow: does not agree", markerfacecolor="white")
THIN, WIDE = 1.3, 3.4
EQUAL_STYLE = {
    # A table that stays uniform is generalized randomized response: dashes over a wide line.
    "rrba": look("#d55e00", label="RRBA, floor .1 / m", linewidth=THIN),
    "rrba_half_floor": look("#e69f00", label="RRBA, floor .5 / m", linewidth=THIN),
    "rrba_at_truth": look(
        "#d55e00", ":", label="RRBA, the p that the true table allows", linewidth=THIN
    ),
    "rrba_uniform": look("#0072b2", label="table stays uniform", linewidth=WIDE),
    "randomized_response": look(INK, "--", label="generalized randomized response", linewidth=THIN),
    "projective_geometry": look("#cc79a7", label="projective geometry", linewidth=THIN),
    "hadamard": look("#cc79a7", ":", label="Hadamard response", linewidth=THIN),
    "unary_encoding": look("#56b4e9", "--", label="unary encoding", linewidth=THIN),
    "laplace_honest": look("#009e73", "--", label="Laplace, 2/ε (trusted curator)", linewidth=THIN),
}
METRICS: Mapping[str, tuple[str, str]] = {
    # label, reading that the printed numbers are taken from
    "l2": ("l2, records", "noisy"),
    "jensen_shannon": ("Jensen-Shannon distance", "projected"),
}
BESIDE = 0.24
APART = (False, False)
FEW_DECADES = 2.6
"""Shorter logarithmic scales have ticks at 3 and 30, too."""


@style.in_style
def table_3(table: pd.DataFrame) -> Figure:
    """Plot published and regenerated rejections in the `shown_settings` of `table`, by k."""
    shown = shown_settings(table)
    columns = dict.fromkeys(sorted(shown["k"].unique()), "")
    names = {name: text for name, text in TABLE_3_NAMES.items() if name in set(shown["method"])}
    of_k = shown.groupby("k")[["n", "effect"]].apply(lambda part: len(part.drop_duplicates()))
    settings = int(of_k.max())
    above = 0.68 + 0.17 * (1 + settings)
    size, xlabel = (3.1, 1.3, 0, 0.62 * len(names) + 1.3 + above), "per cent rejected"
    figure, axes = style.panel_grid(
        {"": ""},
        columns,
        lambda axis, _, k: _table_3_panel(axis, where(shown, k=k), [*names]),
        size,
        (1.5, 0, above, 1.25),
        (0.07, 0.2),
        xlabel,
        share=(False, True),
    )
    figure.subplots_adjust(right=0.985)
    axes[0, 0].set_yticks(range(len(names)), names.values())
    axes[0, 0].set_ylim(len(names) - 0.5, -0.5)
    return style.finish(
        figure,
        "Independence rejected, of 100 trials: Table 3 printed and regenerated",
        f"{shown['trials'].max():,} trials with 95 % intervals, "
        f"{shown['sampled_tables'].max():,} sampled tables; n and effect are assumed",
        _table_3_legend(settings),
    )


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
        options = look(colour, marker=marker, markersize=4.5, markerfacecolor=filled)
        axis.errorbar(value, height, xerr=reach, **options, linewidth=1.1)
        if not np.isnan(row["published"]):
            place = row["published"], methods.index(row["method"]) - 0.24
            axis.plot(*place, "D", color=colour, markersize=4.2, markeredgecolor=INK)
    named = "\n".join(f"n = {n:,}, effect {effect:g}" for n, effect in settings)
    axis.set_title(f"{part['k'].iloc[0]}-way\n{named}", fontsize=9)
    axis.axvline(LEVEL, color=INK, linewidth=0.8, linestyle=":")
    axis.set_xlim(-3, 103)
    axis.xaxis.set_major_locator(MultipleLocator(25))
    style.gridded(axis)


def _table_3_legend(settings: int) -> list[style.Look]:
    kinds = dict(zip(HYPOTHESIS_COLOURS, ("independent (H0)", "dependent (H1)"), strict=True))
    ordinals = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh")
    names = [f"{ordinal} n" for ordinal in ordinals[:settings]]
    return [
        *(look(HYPOTHESIS_COLOURS[key], "none", "o", kind) for key, kind in kinds.items()),
        look("white", "none", "D", "printed (diamonds)", markeredgecolor=INK, markersize=4.2),
        *(look(INK, "none", *each) for each in zip(SETTING_MARKERS, names, strict=False)),
        HOLLOW,
        look("#6a737d", "none", "o", "grey: n, effect fitted", markerfacecolor=GRID),
        NOMINAL,
    ]


@style.in_style
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
    rows = dict.fromkeys(shown["margins"], "per cent rejected")

    def panel(axis: Axes, margins: str, k: int) -> None:
        part = where(shown, k=k, margins=margins)
        for method, options in TEST_STYLE.items():
            for effect, width, size in ((largest, 1.9, 5), (0.0, 0.8, 3)):
                more = options | {"linewidth": width, "marker": ".", "markersize": size}
                drawn = where(part, effect=effect)
                style.plot_series(axis, drawn, "method", {method: more}, "n", "regenerated")
        axis.axhline(LEVEL, color=INK, linewidth=0.8, linestyle=":")
        style.log_scale(axis.xaxis, sorted(part["n"].unique()), style.as_number)
        axis.set_ylim(-3, 103)
        axis.yaxis.set_major_locator(MultipleLocator(25))
        style.gridded(axis)
        axis.set_title(f"{k} attributes, {margins} margins", fontsize=9.5)

    columns, size = dict.fromkeys(sorted(shown["k"].unique()), ""), (2.9, 0.8, 2.1, 1.95)
    around, between = (0.62, 0, 0.95, 1.15), (0.07, 0.22)
    figure, _ = style.panel_grid(rows, columns, panel, size, around, between, "records")
    figure.subplots_adjust(right=0.985)
    thin = look(INK, linewidth=0.8, label="thin: size (no effect)")
    return style.finish(
        figure,
        f"Tests of independence at equal exact epsilon, {shown['epsilon'].max():g}",
        f"size, and power against an effect of {largest:g}; up to {shown['trials'].max():,} trials "
        "with 95 % intervals; central methods trust a curator with the true table",
        [*style.legend_keys(TEST_STYLE, shown=shown["method"], linewidth=2), thin, NOMINAL],
        3,
    )


@style.in_style
def tables_4_and_5(*tables: pd.DataFrame) -> Figure:
    """Plot the distances of the `tables`, with a row for each p and a column for each measure.

    Published values are diamonds. Ours are points, filled if they agree, for the mean over sets of
    attributes, and bars from the smallest to the largest mean of a set.
    """
    table = pd.concat(tables, ignore_index=True)
    files = [name for name in FILES if name in set(table["file"])]

    def panel(axis: Axes, p: float, metric: str) -> None:
        label, reading = METRICS[metric]
        part = where(table, p=p, metric=metric, reading=reading)
        _cells(axis, part, files)
        claimed = ", ".join(f"{e:g}" for e in sorted(part["epsilon_claimed"].unique()))
        axis.set_title(f"p = {p:g}, printed ε = {claimed}", fontsize=10)
        axis.set_ylabel(label)

    rows, columns = dict.fromkeys(sorted(table["p"].unique()), ""), dict.fromkeys(METRICS, "")
    printed = look(INK, "none", "D", "printed", markersize=4)
    size, around = (0, 1.5 + 2.9 * len(files), 2.7, 1.9), (0.8, 0.12, 0.95, 1.0)
    figure, _ = style.panel_grid(rows, columns, panel, size, around, (0.2, 0.45), share=APART)
    return style.finish(
        figure,
        "Distances of released tables from the true ones, printed and regenerated",
        "bars: from the smallest to the largest mean of a set of k attributes; the text does not "
        "say which set it took",
        [printed, *style.legend_keys(METHOD_STYLE, marker="o", markersize=4.5), HOLLOW],
        5,
    )


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
    style.gridded(axis, "y", 0.5)


def _cell(axis: Axes, row: Mapping[Any, Any], centre: float) -> None:
    colour = METHOD_STYLE[row["method"]]["color"]
    x = centre + BESIDE * (list(METHOD_STYLE).index(row["method"]) - 1)
    ends = [row["subset_min"], row["subset_max"]]
    axis.plot([x, x], ends, color=colour, linewidth=3.5, alpha=0.35, solid_capstyle="butt")
    filled = colour if row["verdict"] == "agrees" else "white"
    axis.plot(x, row["regenerated"], "o", color=colour, markersize=4.5, markerfacecolor=filled)
    if not np.isnan(row["published"]):
        axis.plot(x, row["published"], "D", color=INK, markersize=3.6, zorder=4)


@style.in_style
def figure_7(table: pd.DataFrame) -> Figure:
    """Plot the histograms of distances in `table`, over trials and sets, and published averages."""
    columns = ["file", "p", "epsilon_claimed", "metric"]
    shown = list(dict.fromkeys(table[columns].itertuples(index=False, name=None)))
    # By file and p, both measures below each other.
    shown.sort(key=lambda panel: (list(FILES).index(panel[0]), panel[1], panel[3] != "l2"))

    def panel(axis: Axes, row: tuple[Any, ...], k: int) -> None:
        _histograms(axis, where(table, k=k, **dict(zip(columns, row, strict=True))))
        axis.set_xlabel(METRICS[row[-1]][0], labelpad=1)

    rows = {
        (file, p, epsilon, metric): f"{FILES[file]}\np = {p:g}, ε = {epsilon:g}\nshare"
        for file, p, epsilon, metric in shown
    }
    sizes = {k: f"{k}-way tables" for k in sorted(table["k"].unique())}
    size, around = (0, 0, 1.5, 1.7), (1.1, 0.15, 0.95, 0.85)
    figure, _ = style.panel_grid(rows, sizes, panel, size, around, (0.2, 0.62), share=APART)
    printed = look(INK, "--", label="printed average")
    return style.finish(
        figure,
        "Figure 7: distances of released tables from the true ones",
        f"{table['trials'].max():,} trials of each set of k attributes; bins of equal width on the "
        "logarithmic scale; dashed: printed averages",
        [*style.legend_keys(METHOD_STYLE, linewidth=5, alpha=0.6), printed],
    )


def _histograms(axis: Axes, part: pd.DataFrame) -> None:
    for method, options in METHOD_STYLE.items():
        bins, colour = where(part, method=method), options["color"]
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


@style.in_style
def equal_epsilon(table: pd.DataFrame) -> Figure:
    """Plot distances in `table` of projected tables at equal exact epsilon, by measure, file, k."""
    shown = where(table, reading="projected")
    cells = list(dict.fromkeys(shown[["file", "k"]].itertuples(index=False, name=None)))
    cells.sort(key=lambda cell: (list(FILES).index(cell[0]), cell[1]))
    ticks = sorted(shown["epsilon"].unique())

    def panel(axis: Axes, metric: str, cell: tuple[str, int]) -> None:
        part = where(shown, metric=metric, file=cell[0], k=cell[1])
        more = {"marker": "o", "markersize": 3}
        style.plot_series(axis, part, "method", EQUAL_STYLE, "epsilon", "mean", **more)
        style.log_scale(axis.xaxis, ticks, "{:g}".format)
        axis.set_yscale("log")
        axis.yaxis.set_major_formatter("{x:g}")
        style.gridded(axis, linewidth=0.5)

    rows = {metric: label for metric, (label, _) in METRICS.items()}
    columns = {(file, k): f"{FILES[file]}, {k}-way" for file, k in cells}
    size, around = (1.5, 1.2, 0, 6.2), (0.85, 0.12, 0.95, 1.1)
    figure, _ = style.panel_grid(
        rows, columns, panel, size, around, (0.08, 0.1), "exact ε", share=(True, "row")
    )
    return style.finish(
        figure,
        "Distances at equal exact epsilon of one answer",
        "means over sets of k attributes of tables projected on n records; Laplace noise needs a "
        "trusted curator, the others none",
        style.legend_keys(EQUAL_STYLE),
        3,
    )
