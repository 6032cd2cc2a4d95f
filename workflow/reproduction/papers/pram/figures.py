"""Figures of [pram]: coverage, variances, joint distributions, breaches, designed channels.

Each is drawn from the tables that the catalog names, with their keys there.
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
    """Draw from a `table` how often intervals hold the truth, by channel."""
    covered = table[table["measure"] == "coverage"]
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
            part = covered[(covered["channel"] == channel) & (covered["target"] == target)]
            for shift, (method, look) in zip((-0.16, 0.16), METHODS.items(), strict=True):
                _covered(axis, part[part["method"] == method], row + shift, *look)
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
    style.legend_below(
        figure, [*keys, Line2D([], [], color=style.GRID, linewidth=7, label="94 to 96 %")], 4
    )
    style.heading(
        figure,
        "How often the intervals of estimated proportions hold the truth",
        f"means over categories from {covered['replicates'].max():,} runs; "
        "strokes: each category alone",
    )
    return figure


def _covered(axis: Axes, part: pd.DataFrame, height: float, colour: str, marker: str) -> None:
    single = part[part["intervals"] == "none"]
    each = single[single["category"] != names.EVERY]["mean"]
    axis.plot(each, np.full(len(each), height), "|", color=colour, markersize=8, alpha=0.65)
    mean = single[single["category"] == names.EVERY]["mean"]
    axis.plot(mean, np.full(len(mean), height), marker, color=colour, markersize=6)


@style.in_style
def variance(table: pd.DataFrame) -> Figure:
    """Draw from a `table` each mechanism's variance inflation over the epsilon of its matrix."""
    known = list(dict.fromkeys(table["attribute"]))
    shown = [name for name in SHOWN_ATTRIBUTES if name in known] or known[:4]
    size, around = (2.4 * len(shown) + 0.9, 4.3), (0.75, 0.1, 0.95, 1.15)
    figure, (axes,) = style.panels(1, len(shown), size, around, sharey=True)
    for axis, attribute in zip(axes, shown, strict=True):
        part = table[table["attribute"] == attribute]
        for mechanism, (colour, line) in MECHANISMS.items():
            rows = part[part["mechanism"] == mechanism].sort_values("epsilon")
            x, y = rows["epsilon"], rows["inflation"]
            axis.plot(x, y, color=colour, linestyle=line, linewidth=1.7)
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
    """Draw from a `table` variances claimed for invariant PRAM over true ones, and coverages."""
    shares = table[(table["estimator"] == "shares") & (table["records"] == table["records"].max())]
    shares = shares[shares["p"] == shares["p"].min()]
    attributes = list(dict.fromkeys(shares["attribute"]))
    methods = {k: v for k, v in names.INVARIANT_METHODS.items() if k in set(shares["method"])}
    size = (style.NARROWEST, 0.30 * len(methods) * len(attributes) + 2.2)
    figure, (axes,) = style.panels(1, 2, size, (2.54, 0.14, 0.95, 0.72), (0.05, 0), sharey=True)
    labels: list[str] = []
    for method, called in methods.items():
        for attribute in attributes:
            part = shares[(shares["method"] == method) & (shares["attribute"] == attribute)]
            for claim, (colour, marker) in CLAIMS.items():
                own, mark = part[part["claim"] == claim], {"color": colour, "markersize": 5}
                for axis, measure in zip(axes, ("claimed_to_true", "coverage"), strict=True):
                    means = own["mean"][own["measure"] == measure]
                    axis.plot(means, [len(labels)] * len(means), marker, **mark)
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
    style.legend_below(
        figure, (style.mark_key(*look, names.CLAIMS[k]) for k, look in CLAIMS.items()), 4
    )
    style.heading(
        figure,
        "Shares of reports after invariant PRAM: variance claimed and true",
        f"n = {shares['records'].max():,}, p = {shares['p'].min():g}, "
        f"{shares['replicates'].max():,} runs, a matrix made anew in each",
    )
    return figure


def _nominal(axis: Axes) -> None:
    """Mark where coverage is what it ought to be."""
    axis.axvspan(*names.WITHIN, color=style.GRID, alpha=0.55, linewidth=0)
    axis.axvline(0.95, color=style.INK, linewidth=0.8, linestyle=":")
    axis.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))


@style.in_style
def joint_loss(table: pd.DataFrame) -> Figure:
    """Draw from a `table` what dependence is left of pairs whose attributes are made invariant."""
    pairs = list(dict.fromkeys(zip(table["first"], table["second"], strict=True)))
    rows = {"cramers_v": "Cramér's V", "distance": "distance from the true table"}
    size, around = (2.5 * len(pairs) + 0.9, 5.9), (0.72, 0.14, 0.95, 1.0)
    figure, axes = style.panels(2, len(pairs), size, around, (0.07, 0.1), sharex=True, sharey="row")
    for column, (first, second) in enumerate(pairs):
        part = table[(table["first"] == first) & (table["second"] == second)]
        for axis, measure in zip(axes[:, column], rows, strict=True):
            for estimator, (colour, line) in JOINT_ESTIMATORS.items():
                drawn = part[(part["estimator"] == estimator) & (part["measure"] == measure)]
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
    """Draw how far a report can move a probability, `bounds`, and how priors `approach` them."""
    figure, ((left, right),) = style.panels(
        1, 2, (style.NARROWEST, 4.7), (0.7, 0.14, 0.89, 0.99), (0.24, 0)
    )
    epsilons = sorted(bounds["epsilon"].unique())
    colours = mpl.colormaps["viridis"](np.linspace(0.85, 0.05, len(epsilons)))
    grid = np.linspace(0, 1, 201)
    for epsilon, colour in zip(epsilons, colours, strict=True):
        part = bounds[bounds["epsilon"] == epsilon]
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
            rows, label = part[part["side"] == side], f"{channel}: {side}"
            line_style = {"color": colour, "linestyle": line, "linewidth": 1.2, "label": label}
            right.plot(1 - rows["mass"], rows["gap"], marker=marker, markersize=4, **line_style)
    right.set(xscale="log", yscale="log")
    right.invert_xaxis()
    right.set_xlabel("what the prior (3.12) leaves to the other categories")
    right.set_ylabel("gap of posterior / prior to its bound, as a share")
    right.set_title("priors that come as close as one likes", fontsize=10)
    look: Any = {"frameon": False, "fontsize": 8, "columnspacing": 1.0}
    keys = right.get_legend_handles_labels()
    figure.legend(*keys, loc="lower right", ncols=2, handlelength=1.6, **look)
    keys = left.get_legend_handles_labels()
    figure.legend(*keys, loc="lower left", ncols=-(-len(epsilons) // 2), handlelength=1.2, **look)
    for axis in (left, right):
        style.gridded(axis)
    style.heading(
        figure,
        "What one report can tell an intruder: the bounds of section 3 are tight",
        "the same for every channel of that epsilon, ln of the parity",
    )
    return figure


@style.in_style
def design(table: pd.DataFrame) -> Figure:
    """Draw from a `table` designed channels' loss as a share of closed forms' at equal epsilon."""
    kinds = list(dict.fromkeys(zip(table["loss"], table["requirements"], strict=True)))
    attributes = list(dict.fromkeys(table["attribute"]))
    epsilons = sorted(table["epsilon"].unique())
    columns = min(3, len(kinds))
    rows = -(-len(kinds) // columns)
    size = (3.2 * columns + 1.0, (0.27 * len(attributes) + 0.75) * rows + 2.0)
    figure, axes = style.panels(
        rows, columns, size, (1.15, 0.15, 0.95, 0.95), (0.06, 0.32), sharex=True, sharey=True
    )
    colours = mpl.colormaps["viridis"](np.linspace(0.85, 0.1, len(epsilons)))
    inks = dict(zip(epsilons, colours, strict=True))
    for axis, (loss, requirements) in zip(axes.flat, kinds, strict=False):
        part = table[(table["loss"] == loss) & (table["requirements"] == requirements)]
        _shares(axis, part, attributes, inks)
        axis.set_title(f"{loss}: {requirements}", fontsize=8.5)
    for axis in axes.flat[len(kinds) :]:
        axis.set_visible(False)
    axes[0, 0].set_yticks(range(len(attributes)), attributes)
    axes[0, 0].set_ylim(len(attributes) - 0.5, -0.5)
    keys = [style.mark_key(colour, "D", f"ε = {e:g}") for e, colour in inks.items()]
    for marker, label in RIVALS.values():
        keys.append(style.mark_key(style.INK, marker, f"over {label}", fillstyle="none"))
    style.legend_below(figure, [*keys, style.mark_key(style.INK, "|", "lower bound")], 4)
    style.heading(
        figure,
        "What designed channels save: loss as a share of a closed form's",
        "at equal exact epsilon, true frequencies of Adult; the further left, the better",
    )
    return figure


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
    """Draw the designed matrices of a `table` with their categories, a heat map each."""
    designs = list(dict.fromkeys(table["design"]))
    columns = min(2, len(designs))
    rows = -(-len(designs) // columns)
    size = (5.6 * columns + 0.6, 5.2 * rows + 1.0)
    figure, axes = style.panels(rows, columns, size, (1.35, 0.75, 0.95, 1.25), (0.42, 0.45))
    for axis, name in zip(axes.flat, designs, strict=False):
        image = _heat_map(axis, table[table["design"] == name])
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
