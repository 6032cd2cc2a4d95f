"""Figures of [pram]: coverage, variances, joint distributions, breaches."""

from collections.abc import Mapping, Sequence
from typing import Literal

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import (
    FixedLocator,
    FuncFormatter,
    MultipleLocator,
    NullLocator,
    PercentFormatter,
)

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

LineStyle = tuple[str, Literal["-", "--", ":"], str]
EVERY = "every category"
WITHIN = (0.94, 0.96)
METHODS: Mapping[str, tuple[str, str, str]] = {
    # colour (safe for colour-blind readers), marker, label
    "score": ("#0072b2", "o", "score"),
    "wald": ("#d55e00", "s", "Wald"),
}
CHANNELS: Mapping[str, str] = {
    "warner": "Warner, 2 categories",
    "generalized": "generalized RR, 16",
    "ordinal": "ordinal PRAM, 7",
    "product": "product of two, 12 cells",
    "near_singular": "near singular, 7",
    "neighbours": "neighbours only, 16",
}
MECHANISMS: Mapping[str, LineStyle] = {
    # colour, line, label
    "randomized_response": ("#1b1f24", "-", "randomized response, (1.3)"),
    "invariant_two_step_inverted": ("#e69f00", "--", "invariant, two steps, inverted"),
    "invariant_two_step": ("#0072b2", "-", "invariant, two steps, shares"),
    "invariant_lazy": ("#009e73", ":", "invariant, keep or redraw, shares"),
    "bound": ("#9aa1a9", "--", "bound (2.6) of invariant PRAM"),
}
SHOWN_ATTRIBUTES = ("education", "relationship", "race", "income")
CLAIMS: Mapping[str, tuple[str, str, str]] = {
    "multinomial": ("#d55e00", "v", "reports taken for data"),
    "fixed_matrix": ("#e69f00", "D", "(1.3), matrix taken as fixed"),
    "conditional": ("#0072b2", "o", "owner's, (2.4) and sampling"),
    "bound": ("#9aa1a9", "s", "bound (2.6), matrix unknown"),
}
INVARIANT_METHODS: Mapping[str, str] = {
    "two_step": "two steps",
    "lazy": "keep or redraw",
    "resampling": "redraw all",
    "two_step_fixed": "control: fixed matrix",
}
JOINT_ESTIMATORS: Mapping[str, LineStyle] = {
    "joint": ("#56b4e9", "-", "one invariant matrix for the pair"),
    "separate": ("#d55e00", "-", "each attribute made invariant"),
    "separate_inverted": ("#009e73", ":", "the same, inverted with the matrices"),
    "true": (INK, "--", "true"),
}
RATIO_TICKS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000)


def coverage(table: pd.DataFrame) -> Figure:
    """Draw how often intervals hold the truth, by channel.

    Parameters
    ----------
    table : DataFrame
        Columns channel, records, target, method, intervals, category, measure, mean, ci_low,
        ci_high, replicates, data_source.
    """
    covered = table[table["measure"] == "coverage"]
    channels = [name for name in CHANNELS if name in set(covered["channel"])]
    with mpl.rc_context(STYLE):
        figure = canvas(NARROWEST, 0.52 * len(channels) + 2.2)
        axes = figure.subplots(1, 2, sharey=True, sharex=True)
        for axis, (target, title) in zip(
            axes,
            {
                "population": "of the population (sampling and randomization)",
                "file": "of the file (randomization alone)",
            }.items(),
            strict=True,
        ):
            axis.axvspan(*WITHIN, color=GRID, alpha=0.55, linewidth=0)
            axis.axvline(0.95, color=INK, linewidth=0.8, linestyle=":")
            for row, channel in enumerate(channels):
                part = covered[(covered["channel"] == channel) & (covered["target"] == target)]
                for shift, (method, (colour, marker, _)) in zip(
                    (-0.16, 0.16), METHODS.items(), strict=True
                ):
                    _covered(axis, part[part["method"] == method], row + shift, colour, marker)
            axis.set_title(f"95 % intervals {title}", fontsize=9.5)
            axis.set_xlabel("share of runs whose interval holds the truth")
            axis.xaxis.set_major_locator(MultipleLocator(0.01))
            axis.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
            axis.grid(axis="x", color=GRID, linewidth=0.6)
            axis.set_axisbelow(True)
        records = covered.groupby("channel")["records"].max()
        axes[0].set_yticks(
            range(len(channels)),
            [f"{CHANNELS[name]}\nn = {records[name]:,}" for name in channels],
        )
        axes[0].invert_yaxis()
        figure.legend(
            handles=[
                *(
                    Line2D([], [], color=colour, marker=marker, linestyle="none", label=label)
                    for colour, marker, label in METHODS.values()
                ),
                Line2D([], [], color=INK, marker="|", linestyle="none", label="each category"),
                Line2D([], [], color=GRID, linewidth=7, label="94 to 96 %"),
            ],
            loc="lower center",
            ncols=4,
            frameon=False,
        )
        heading(
            figure,
            "How often the intervals of estimated proportions hold the truth",
            f"means over categories from {covered['replicates'].max():,} runs; "
            "strokes: each category alone",
        )
        height = figure.get_figheight()
        figure.subplots_adjust(
            left=0.19, right=0.985, top=1 - 0.95 / height, bottom=0.85 / height, wspace=0.05
        )
        mark_surrogate(figure, table)
        return figure


def _covered(axis: Axes, part: pd.DataFrame, height: float, colour: str, marker: str) -> None:
    single = part[part["intervals"] == "none"]
    each = single[single["category"] != EVERY]["mean"]
    axis.plot(each, np.full(len(each), height), "|", color=colour, markersize=8, alpha=0.65)
    mean = single[single["category"] == EVERY]["mean"]
    axis.plot(mean, np.full(len(mean), height), marker, color=colour, markersize=6)


def variance(table: pd.DataFrame) -> Figure:
    """Draw the variance inflation of each mechanism over the epsilon of its matrix.

    Parameters
    ----------
    table : DataFrame
        Columns attribute, categories, epsilon, mechanism, inflation, data_source.
    """
    known = list(dict.fromkeys(table["attribute"]))
    shown = [name for name in SHOWN_ATTRIBUTES if name in known] or known[:4]
    with mpl.rc_context(STYLE):
        figure = canvas(max(2.4 * len(shown) + 0.9, NARROWEST), 4.3)
        axes = figure.subplots(1, len(shown), sharey=True, squeeze=False)[0]
        for axis, attribute in zip(axes, shown, strict=True):
            part = table[table["attribute"] == attribute]
            for mechanism, (colour, line, _) in MECHANISMS.items():
                rows = part[part["mechanism"] == mechanism].sort_values("epsilon")
                axis.plot(
                    rows["epsilon"], rows["inflation"], color=colour, linestyle=line, linewidth=1.7
                )
            axis.set_title(f"{attribute}, {part['categories'].iloc[0]} categories", fontsize=10)
            axis.set_xlabel("epsilon of the matrix")
            _ratio_scale(axis)
        axes[0].set_ylabel("variance, in units of sampling's")
        figure.legend(handles=_lines(MECHANISMS), loc="lower center", ncols=3, frameon=False)
        heading(
            figure,
            "Variance inflation of randomized response and of invariant PRAM",
            "invariant matrices are made from the file: their epsilon is conditional on the "
            "matrix, and does not protect the file's margin",
        )
        height = figure.get_figheight()
        width = figure.get_figwidth()
        figure.subplots_adjust(
            left=0.75 / width, right=0.99, top=1 - 0.95 / height, bottom=1.15 / height, wspace=0.06
        )
        mark_surrogate(figure, table)
        return figure


def invariant(table: pd.DataFrame) -> Figure:
    """Draw claimed over true variances of shares under invariant PRAM, and coverages.

    Parameters
    ----------
    table : DataFrame
        Columns attribute, records, method, p, estimator, claim, measure, mean, ci_low, ci_high,
        replicates, data_source.
    """
    shares = table[(table["estimator"] == "shares") & (table["records"] == table["records"].max())]
    shares = shares[shares["p"] == shares["p"].min()]
    attributes = list(dict.fromkeys(shares["attribute"]))
    methods = [name for name in INVARIANT_METHODS if name in set(shares["method"])]
    with mpl.rc_context(STYLE):
        figure = canvas(NARROWEST, 0.30 * len(methods) * len(attributes) + 2.2)
        axes = figure.subplots(1, 2, sharey=True)
        labels: list[str] = []
        for method in methods:
            for attribute in attributes:
                part = shares[(shares["method"] == method) & (shares["attribute"] == attribute)]
                for axis, measure in zip(axes, ("claimed_to_true", "coverage"), strict=True):
                    _claimed(axis, part[part["measure"] == measure], len(labels))
                labels.append(f"{attribute}  ({INVARIANT_METHODS[method]})")
        axes[0].set_xscale("log")
        _plain_ticks(axes[0].xaxis, RATIO_TICKS)
        axes[0].axvline(1, color=INK, linewidth=0.8, linestyle=":")
        axes[0].set_title("claimed over true variance", fontsize=10)
        axes[1].axvspan(*WITHIN, color=GRID, alpha=0.55, linewidth=0)
        axes[1].axvline(0.95, color=INK, linewidth=0.8, linestyle=":")
        axes[1].xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
        axes[1].set_title("coverage of nominal 95 % intervals", fontsize=10)
        for axis in axes:
            axis.grid(color=GRID, linewidth=0.5)
            axis.set_axisbelow(True)
            for edge in range(len(attributes), len(labels), len(attributes)):
                axis.axhline(edge - 0.5, color=INK, linewidth=0.5)
        axes[0].set_yticks(range(len(labels)), labels)
        axes[0].set_ylim(len(labels) - 0.5, -0.5)
        figure.legend(
            handles=[
                Line2D([], [], color=colour, marker=marker, linestyle="none", label=label)
                for colour, marker, label in CLAIMS.values()
            ],
            loc="lower center",
            ncols=4,
            frameon=False,
        )
        heading(
            figure,
            "Shares of reports after invariant PRAM: variance claimed and true",
            f"n = {shares['records'].max():,}, p = {shares['p'].min():g}, "
            f"{shares['replicates'].max():,} runs, a matrix made anew in each",
        )
        height = figure.get_figheight()
        figure.subplots_adjust(
            left=0.27, right=0.985, top=1 - 0.95 / height, bottom=0.72 / height, wspace=0.05
        )
        mark_surrogate(figure, table)
        return figure


def _claimed(axis: Axes, part: pd.DataFrame, height: int) -> None:
    for claim, (colour, marker, _) in CLAIMS.items():
        rows = part[part["claim"] == claim]
        axis.plot(rows["mean"], [height] * len(rows), marker, color=colour, markersize=5)


def joint_loss(table: pd.DataFrame) -> Figure:
    """Draw what is left of the dependence of pairs whose attributes are made invariant.

    Parameters
    ----------
    table : DataFrame
        Columns first, second, epsilon, estimator, measure, mean, ci_low, ci_high, replicates,
        data_source.
    """
    pairs = list(dict.fromkeys(zip(table["first"], table["second"], strict=True)))
    rows = {"cramers_v": "Cramér's V", "distance": "distance from the true table"}
    with mpl.rc_context(STYLE):
        width = max(2.5 * len(pairs) + 0.9, NARROWEST)
        figure = canvas(width, 5.9)
        axes = figure.subplots(2, len(pairs), sharex=True, sharey="row", squeeze=False)
        for column, (first, second) in enumerate(pairs):
            part = table[(table["first"] == first) & (table["second"] == second)]
            for axis, measure in zip(axes[:, column], rows, strict=True):
                for estimator, (colour, line, _) in JOINT_ESTIMATORS.items():
                    drawn = part[(part["estimator"] == estimator) & (part["measure"] == measure)]
                    if len(drawn):
                        line_with_band(
                            axis, drawn, "epsilon", "mean", color=colour, linestyle=line,
                            linewidth=1.7,
                        )  # fmt: skip
                axis.grid(color=GRID, linewidth=0.6)
                axis.set_axisbelow(True)
            axes[0, column].set_title(f"{first} × {second}", fontsize=10)
            axes[1, column].set_xlabel("epsilon of the pair's matrices")
        axes[0, 0].set_ylim(0, 1)
        axes[1, 0].set_yscale("log")
        _plain_ticks(axes[1, 0].yaxis, (0.001, 0.01, 0.1, 1, 10, 100))
        for axis, label in zip(axes[:, 0], rows.values(), strict=True):
            axis.set_ylabel(label)
        figure.legend(handles=_lines(JOINT_ESTIMATORS), loc="lower center", ncols=2, frameon=False)
        heading(
            figure,
            "Attributes made invariant one by one lose their dependence",
            f"means of {table['replicates'].max():,} runs; distance: total variation between the "
            "estimated and the true table",
        )
        height = figure.get_figheight()
        figure.subplots_adjust(
            left=0.72 / width, right=0.985, top=1 - 0.95 / height, bottom=1.0 / height,
            wspace=0.07, hspace=0.1,
        )  # fmt: skip
        mark_surrogate(figure, table)
        return figure


def breaches(bounds: pd.DataFrame, approach: pd.DataFrame) -> Figure:
    """Draw how far a report can move a probability, and priors that come close to the bound.

    Parameters
    ----------
    bounds : DataFrame
        Columns rho_1, epsilon, smallest_posterior, largest_posterior.
    approach : DataFrame
        Columns channel, side, mass, gap, bound.
    """
    with mpl.rc_context(STYLE):
        figure = canvas(NARROWEST, 4.7)
        left, right = figure.subplots(1, 2)
        epsilons = sorted(bounds["epsilon"].unique())
        colours = mpl.colormaps["viridis"](np.linspace(0.85, 0.05, len(epsilons)))
        grid = np.linspace(0, 1, 201)
        for epsilon, colour in zip(epsilons, colours, strict=True):
            part = bounds[bounds["epsilon"] == epsilon]
            eta = float(part["parity"].iloc[0])
            left.plot(grid, eta * grid / (1 + (eta - 1) * grid), color=colour, linewidth=1.2)
            left.plot(grid, grid / (eta - (eta - 1) * grid), color=colour, linewidth=1.2)
            for side in ("largest_posterior", "smallest_posterior"):
                left.plot(part["rho_1"], part[side], "o", color=colour, markersize=3.2)
            left.plot([], [], color=colour, label=f"ε = {epsilon:g}")
        left.plot([0, 1], [0, 1], color=INK, linewidth=0.7, linestyle=":")
        left.set_xlabel("probability before the report")
        left.set_ylabel("largest and smallest probability after it")
        left.set_title("bounds for any set, any prior, any report", fontsize=10)
        for number, (channel, part) in enumerate(approach.groupby("channel", sort=False)):
            for side, line in (("largest", "-"), ("smallest", "--")):
                rows = part[part["side"] == side]
                right.plot(
                    1 - rows["mass"], rows["gap"], marker="os"[number % 2], markersize=4,
                    linestyle=line, color=("#0072b2", "#d55e00")[number % 2], linewidth=1.2,
                    label=f"{channel}: {side}",
                )  # fmt: skip
        right.set_xscale("log")
        right.set_yscale("log")
        right.invert_xaxis()
        right.set_xlabel("what the prior (3.12) leaves to the other categories")
        right.set_ylabel("gap of posterior / prior to its bound, as a share")
        right.set_title("priors that come as close as one likes", fontsize=10)
        figure.legend(
            *right.get_legend_handles_labels(), loc="lower right", ncols=2, frameon=False,
            fontsize=8, columnspacing=1.0, handlelength=1.6,
        )  # fmt: skip
        figure.legend(
            *left.get_legend_handles_labels(), loc="lower left", ncols=len(epsilons),
            frameon=False, fontsize=8, columnspacing=1.0, handlelength=1.2,
        )  # fmt: skip
        for axis in (left, right):
            axis.grid(color=GRID, linewidth=0.6)
            axis.set_axisbelow(True)
        heading(
            figure,
            "What one report can tell an intruder: the bounds of section 3 are tight",
            "the same for every channel of that epsilon, ln of the parity",
        )
        figure.subplots_adjust(left=0.075, right=0.985, top=0.81, bottom=0.21, wspace=0.24)
        return figure


def _ratio_scale(axis: Axes) -> None:
    axis.set_yscale("log")
    _plain_ticks(axis.yaxis, RATIO_TICKS)
    axis.grid(color=GRID, linewidth=0.6)
    axis.set_axisbelow(True)


def _plain_ticks(axis: mpl.axis.Axis, ticks: Sequence[float]) -> None:
    axis.set_major_locator(FixedLocator(list(ticks)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))


def _lines(styles: Mapping[str, LineStyle]) -> list[Line2D]:
    return [
        Line2D([], [], color=colour, linestyle=line, linewidth=2, label=label)
        for colour, line, label in styles.values()
    ]
