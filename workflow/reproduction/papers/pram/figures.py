"""Figures of [pram]: coverage, variances, joint distributions, breaches, optimized channels.

The catalog names the tables of each figure.
"""

from collections.abc import Mapping
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator, MultipleLocator, PercentFormatter

from deniable.display import style

from reproduction.papers.pram import names
from reproduction.study import where

# Colours (safe for colour-blind readers), with markers or lines.
TWO = (("#0072b2", "o"), ("#d55e00", "s"))
METHODS = dict(zip(("score", "wald"), TWO, strict=True))
MECHANISMS = {
    "randomized_response": ("#1b1f24", "-"),
    "invariant_two_step_inverted": ("#e69f00", "--"),
    "invariant_two_step": ("#0072b2", "-"),
    "invariant_lazy": ("#009e73", ":"),
    "bound": ("#9aa1a9", "--"),
}
SHOWN_ATTRIBUTES = ("education", "relationship", "race", "income")
CLAIMS = {
    "multinomial": ("#d55e00", "v"),
    "fixed_matrix": ("#e69f00", "D"),
    "conditional": ("#0072b2", "o"),
    "bound": ("#9aa1a9", "s"),
}
JOINT_ESTIMATORS = {
    "joint": ("#56b4e9", "-"),
    "separate": ("#d55e00", "-"),
    "separate_inverted": ("#009e73", ":"),
    "true": (style.INK, "--"),
}
RATIO_TICKS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000)
RIVALS = {  # marker, label
    "generalized_rr": ("o", "generalized randomized response"),
    "two_step": ("s", "two-step invariant"),
}
FAINTEST = 1e-4  # probabilities below this share the palest ink; zeros stay white


@style.in_style
def coverage(table: pd.DataFrame) -> Figure:
    """Plot from a `table` how often intervals contain the truth, by channel."""
    covered = where(table, measure="coverage")
    channels = [name for name in names.CHANNELS if name in set(covered["channel"])]
    titles = {
        "population": "of the population (sampling and randomization)",
        "file": "of the file (randomization alone)",
    }
    size, around = (style.NARROWEST, 0.52 * len(channels) + 2.2), (1.79, 0.14, 0.95, 0.85)
    figure, (axes,) = style.panels(1, 2, size, around, (0.05, 0), sharex=True, sharey=True)
    for axis, (target, title) in zip(axes, titles.items(), strict=True):
        _nominal(axis)
        for row, channel in enumerate(channels):
            for shift, (method, look) in zip((-0.16, 0.16), METHODS.items(), strict=True):
                part = where(covered, channel=channel, target=target, method=method)
                _covered(axis, part, row + shift, *look)
        axis.set_title(f"95 % intervals {title}", fontsize=9.5)
        axis.set_xlabel("share of runs whose interval holds the truth")
        axis.xaxis.set_major_locator(MultipleLocator(0.01))
        style.gridded(axis, "x")
    records = covered.groupby("channel")["records"].max()
    axes[0].set_yticks(
        range(len(channels)),
        [f"{names.CHANNELS[name]}\nn = {records[name]:,}" for name in channels],
    )
    axes[0].invert_yaxis()
    keys = [style.mark_key(*look, names.METHODS[name]) for name, look in METHODS.items()]
    keys.append(style.mark_key(style.INK, "|", "each category"))
    keys.append(Line2D([], [], color=style.GRID, linewidth=7, label="94 to 96 %"))
    style.legend_below(figure, keys, 4)
    style.heading(
        figure,
        "How often the intervals of estimated proportions hold the truth",
        f"means over categories from {covered['replicates'].max():,} runs; "
        "strokes: each category alone",
    )
    return figure


def _covered(axis: Axes, part: pd.DataFrame, height: float, colour: str, marker: str) -> None:
    single = where(part, intervals="none").set_index("category")["mean"]
    each = single.drop(names.EVERY, errors="ignore")
    axis.plot(each, np.full(len(each), height), "|", color=colour, markersize=8, alpha=0.65)
    mean = single[single.index == names.EVERY]
    axis.plot(mean, np.full(len(mean), height), marker, color=colour, markersize=6)


@style.in_style
def variance(table: pd.DataFrame) -> Figure:
    """Plot from a `table` the variance inflation of each mechanism over its epsilon."""
    known = list(dict.fromkeys(table["attribute"]))
    shown = [name for name in SHOWN_ATTRIBUTES if name in known] or known[:4]
    size, around = (2.4 * len(shown) + 0.9, 4.3), (0.75, 0.1, 0.95, 1.15)
    figure, (axes,) = style.panels(1, len(shown), size, around, sharey=True)
    for axis, attribute in zip(axes, shown, strict=True):
        part = where(table, attribute=attribute)
        for mechanism, (colour, line) in MECHANISMS.items():
            rows = where(part, mechanism=mechanism).sort_values("epsilon")
            look = {"color": colour, "linestyle": line, "linewidth": 1.7}
            axis.plot(rows["epsilon"], rows["inflation"], **look)
        axis.set_title(f"{attribute}, {part['categories'].iloc[0]} categories", fontsize=10)
        axis.set(xlabel="epsilon of the matrix", yscale="log")
        style.plain_ticks(axis.yaxis, RATIO_TICKS, style.as_number)
        style.gridded(axis)
    axes[0].set_ylabel("variance, in units of sampling's")
    keys = [style.line_key(*look, names.MECHANISMS[name]) for name, look in MECHANISMS.items()]
    style.legend_below(figure, keys, 3)
    style.heading(
        figure,
        "Variance inflation of randomized response and of invariant PRAM",
        "invariant matrices are made from the file: their epsilon is conditional on the "
        "matrix, and does not protect the file's margin",
    )
    return figure


@style.in_style
def invariant(table: pd.DataFrame) -> Figure:
    """Plot from a `table` variances claimed for invariant PRAM over true ones, and coverages."""
    shares = where(table, estimator="shares", records=table["records"].max())
    shares = where(shares, p=shares["p"].min())
    attributes = list(dict.fromkeys(shares["attribute"]))
    methods = {k: v for k, v in names.INVARIANT_METHODS.items() if k in set(shares["method"])}
    size = (style.NARROWEST, 0.30 * len(methods) * len(attributes) + 2.2)
    figure, (axes,) = style.panels(1, 2, size, (2.54, 0.14, 0.95, 0.72), (0.05, 0), sharey=True)
    labels: list[str] = []
    for method, called in methods.items():
        for attribute in attributes:
            part = where(shares, method=method, attribute=attribute)
            for claim, (colour, marker) in CLAIMS.items():
                for axis, measure in zip(axes, ("claimed_to_true", "coverage"), strict=True):
                    means = where(part, claim=claim, measure=measure)["mean"]
                    place = [len(labels)] * len(means)
                    axis.plot(means, place, marker, color=colour, markersize=5)
            labels.append(f"{attribute}  ({called})")
    axes[0].set_xscale("log")
    style.plain_ticks(axes[0].xaxis, RATIO_TICKS, style.as_number)
    axes[0].axvline(1, color=style.INK, linewidth=0.8, linestyle=":")
    axes[0].set_title("claimed over true variance", fontsize=10)
    _nominal(axes[1])
    axes[1].set_title("coverage of nominal 95 % intervals", fontsize=10)
    for axis in axes:
        style.gridded(axis, linewidth=0.5)
        for edge in range(len(attributes), len(labels), len(attributes)):
            axis.axhline(edge - 0.5, color=style.INK, linewidth=0.5)
    axes[0].set_yticks(range(len(labels)), labels)
    axes[0].set_ylim(len(labels) - 0.5, -0.5)
    keys = [style.mark_key(*look, names.CLAIMS[k]) for k, look in CLAIMS.items()]
    style.legend_below(figure, keys, 4)
    style.heading(
        figure,
        "Shares of reports after invariant PRAM: variance claimed and true",
        f"n = {shares['records'].max():,}, p = {shares['p'].min():g}, "
        f"{shares['replicates'].max():,} runs, a matrix made anew in each",
    )
    return figure


def _nominal(axis: Axes) -> None:
    """Mark the nominal coverage."""
    axis.axvspan(*names.WITHIN, color=style.GRID, alpha=0.55, linewidth=0)
    axis.axvline(0.95, color=style.INK, linewidth=0.8, linestyle=":")
    axis.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))


@style.in_style
def joint_loss(table: pd.DataFrame) -> Figure:
    """Plot from a `table` the dependence left between attributes that are made invariant."""
    pairs = list(dict.fromkeys(zip(table["first"], table["second"], strict=True)))
    rows = {"cramers_v": "Cramér's V", "distance": "distance from the true table"}
    size, around = (2.5 * len(pairs) + 0.9, 5.9), (0.72, 0.14, 0.95, 1.0)
    figure, axes = style.panels(2, len(pairs), size, around, (0.07, 0.1), sharex=True, sharey="row")
    for column, (first, second) in enumerate(pairs):
        part = where(table, first=first, second=second)
        for axis, measure in zip(axes[:, column], rows, strict=True):
            for estimator, (colour, line) in JOINT_ESTIMATORS.items():
                drawn = where(part, estimator=estimator, measure=measure)
                look = {"color": colour, "linestyle": line, "linewidth": 1.7}
                if len(drawn):
                    style.line_with_band(axis, drawn, "epsilon", "mean", **look)
            style.gridded(axis)
        axes[0, column].set_title(f"{first} × {second}", fontsize=10)
        axes[1, column].set_xlabel("epsilon of the pair's matrices")
    axes[0, 0].set_ylim(0, 1)
    axes[1, 0].set_yscale("log")
    style.plain_ticks(axes[1, 0].yaxis, (0.001, 0.01, 0.1, 1, 10, 100), style.as_number)
    for axis, label in zip(axes[:, 0], rows.values(), strict=True):
        axis.set_ylabel(label)
    called = names.JOINT_ESTIMATORS | {"true": "true"}
    keys = [style.line_key(*look, called[name]) for name, look in JOINT_ESTIMATORS.items()]
    style.legend_below(figure, keys, 2)
    style.heading(
        figure,
        "Attributes made invariant one by one lose their dependence",
        f"means of {table['replicates'].max():,} runs; distance: total variation between the "
        "estimated and the true table",
    )
    return figure


@style.in_style
def breaches(bounds: pd.DataFrame, approach: pd.DataFrame) -> Figure:
    """Plot the `bounds` on probabilities after a report, and how priors `approach` them."""
    figure, ((left, right),) = style.panels(
        1, 2, (style.NARROWEST, 4.7), (0.7, 0.14, 0.89, 0.99), (0.24, 0)
    )
    inks, grid = _inks(bounds["epsilon"], 0.05), np.linspace(0, 1, 201)
    for epsilon, colour in inks.items():
        part = where(bounds, epsilon=epsilon)
        eta = float(part["parity"].iloc[0])
        left.plot(grid, eta * grid / (1 + (eta - 1) * grid), color=colour, linewidth=1.2)
        left.plot(grid, grid / (eta - (eta - 1) * grid), color=colour, linewidth=1.2)
        ends = part[["largest_posterior", "smallest_posterior"]]
        left.plot(part["rho_1"], ends, "o", color=colour, markersize=3.2)
        left.plot([], [], color=colour, label=f"ε = {epsilon:g}")
    left.plot([0, 1], [0, 1], color=style.INK, linewidth=0.7, linestyle=":")
    left.set_xlabel("probability before the report")
    left.set_ylabel("largest and smallest probability after it")
    left.set_title("bounds for any set, any prior, any report", fontsize=10)
    channels = approach.groupby("channel", sort=False)
    for (channel, part), (colour, marker) in zip(channels, TWO, strict=True):
        for side, line in (("largest", "-"), ("smallest", "--")):
            rows, label = where(part, side=side), f"{channel}: {side}"
            look = {"color": colour, "linestyle": line, "linewidth": 1.2, "label": label}
            right.plot(1 - rows["mass"], rows["gap"], marker=marker, markersize=4, **look)
    right.set(xscale="log", yscale="log")
    right.invert_xaxis()
    right.set_xlabel("what the prior (3.12) leaves to the other categories")
    right.set_ylabel("gap of posterior / prior to its bound, as a share")
    right.set_title("priors that come as close as one likes", fontsize=10)
    look = {"frameon": False, "fontsize": 8, "columnspacing": 1.0}
    keys = right.get_legend_handles_labels()
    figure.legend(*keys, loc="lower right", ncols=2, handlelength=1.6, **look)
    keys = left.get_legend_handles_labels()
    figure.legend(*keys, loc="lower left", ncols=-(-len(inks) // 2), handlelength=1.2, **look)
    style.gridded(left)
    style.gridded(right)
    style.heading(
        figure,
        "What one report can tell an intruder: the bounds of section 3 are tight",
        "the same for every channel of that epsilon, ln of the parity",
    )
    return figure


@style.in_style
def design(table: pd.DataFrame) -> Figure:
    """Plot from a `table` the loss of optimized channels over the loss of closed forms."""
    kinds = list(dict.fromkeys(zip(table["loss"], table["requirements"], strict=True)))
    attributes = list(dict.fromkeys(table["attribute"]))
    inks = _inks(table["epsilon"], 0.1)
    columns = min(3, len(kinds))
    rows = -(-len(kinds) // columns)
    size = (3.2 * columns + 1.0, (0.27 * len(attributes) + 0.75) * rows + 2.0)
    figure, axes = style.panels(
        rows, columns, size, (1.15, 0.15, 0.95, 0.95), (0.06, 0.32), sharex=True, sharey=True
    )
    for axis, (loss, requirements) in zip(axes.flat, kinds, strict=False):
        _shares(axis, where(table, loss=loss, requirements=requirements), attributes, inks)
        axis.set_title(f"{loss}: {requirements}", fontsize=8.5)
    for axis in axes.flat[len(kinds) :]:
        axis.set_visible(False)
    axes[0, 0].set_yticks(range(len(attributes)), attributes)
    axes[0, 0].set_ylim(len(attributes) - 0.5, -0.5)
    keys = [style.mark_key(colour, "D", f"ε = {e:g}") for e, colour in inks.items()]
    for marker, label in RIVALS.values():
        keys.append(style.mark_key(style.INK, marker, f"over {label}", fillstyle="none"))
    keys.append(style.mark_key(style.INK, "|", "lower bound"))
    style.legend_below(figure, keys, 4)
    style.heading(
        figure,
        "What designed channels save: loss as a share of a closed form's",
        "at equal exact epsilon, true frequencies of Adult; the further left, the better",
    )
    return figure


def _inks(epsilons: pd.Series, last: float) -> dict[float, Any]:
    """Return a colour for each epsilon, ending at `last` in the palette."""
    every = sorted(epsilons.unique())
    colours = mpl.colormaps["viridis"](np.linspace(0.85, last, len(every)))
    return dict(zip(every, colours, strict=True))


def _shares(
    axis: Axes, part: pd.DataFrame, attributes: list[str], colours: Mapping[float, object]
) -> None:
    hollow = {"markersize": 5, "fillstyle": "none", "markeredgewidth": 1.3}
    marks: list[tuple[Any, str, dict[str, Any]]] = [
        (part["designed"] / part[rival], marker, hollow) for rival, (marker, _) in RIVALS.items()
    ]
    marks.append((part["lower_bound"] / part["generalized_rr"], "|", {"markersize": 9}))
    for shares, marker, look in marks:
        places = zip(part["attribute"], part["epsilon"], shares, strict=True)
        for attribute, epsilon, share in places:
            if np.isfinite(share):
                place, colour = attributes.index(attribute), colours[epsilon]
                axis.plot(share, place, marker, color=colour, **look)
    axis.axvline(1, color=style.INK, linewidth=0.8, linestyle=":")
    style.gridded(axis, linewidth=0.5)
    axis.set_xlim(0, 1.06)
    axis.tick_params(labelbottom=True)  # panels below may be missing
    axis.xaxis.set_major_locator(MaxNLocator(5))
    axis.xaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:.0f} %"))


@style.in_style
def channels(table: pd.DataFrame) -> Figure:
    """Plot a heat map of each optimized matrix of a `table`."""
    designs = list(dict.fromkeys(table["design"]))
    columns = min(2, len(designs))
    rows = -(-len(designs) // columns)
    size = (5.6 * columns + 0.6, 5.2 * rows + 1.0)
    figure, axes = style.panels(rows, columns, size, (1.35, 0.75, 0.95, 1.25), (0.42, 0.45))
    for axis, name in zip(axes.flat, designs, strict=False):
        image = _heat_map(axis, where(table, design=name))
        axis.set_title(name, fontsize=9.5)
    for axis in axes.flat[len(designs) :]:
        axis.set_visible(False)
    style.heading(
        figure,
        "Designed channels: how likely each report is, given the truth",
        "logarithmic ink; white: never reported; figures in percent",
    )
    width = figure.get_figwidth()
    figure.colorbar(image, cax=figure.add_axes((1 - 0.55 / width, 0.3, 0.12 / width, 0.4)))
    return figure


def _heat_map(axis: Axes, part: pd.DataFrame) -> mpl.image.AxesImage:
    categories = list(dict.fromkeys(part["true"]))
    matrix = part.pivot_table(index="true", columns="reported", values="probability", sort=False)
    values = matrix.loc[categories, categories].to_numpy()
    shown = np.where(values > 0, np.maximum(values, FAINTEST), np.nan)
    image = axis.imshow(shown, cmap="Blues", norm=LogNorm(FAINTEST, 1))
    size = 8 if len(categories) <= 8 else 5
    for (u, v), value in np.ndenumerate(values):
        if value >= (0.0 if len(categories) <= 8 else 0.01) and value > 0:
            text = f"{100 * value:.0f}" if value >= 0.095 else f"{100 * value:.1g}"
            ink = "white" if value > 0.03 else style.INK
            axis.text(v, u, text, ha="center", va="center", fontsize=size, color=ink)
    axis.set_xticks(range(len(categories)), categories, rotation=60, ha="right", fontsize=7)
    axis.set_yticks(range(len(categories)), categories, fontsize=7)
    axis.set(xlabel="reported", ylabel="true")
    axis.spines[:].set_visible(False)
    return image
