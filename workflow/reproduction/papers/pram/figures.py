"""Figures of [pram]: coverage, variances, joint distributions, breaches, optimized channels."""

from itertools import product
from textwrap import fill
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import MultipleLocator, PercentFormatter

from deniable.display import between, look, style

from reproduction.papers.pram import names
from reproduction.study import groups_of, where

OF_ROW = (False, True)  # panels of a row share only the vertical axis
# Colours are safe for colour-blind readers.
TWO = ("#0072b2", "o"), ("#d55e00", "s")
METHODS = {name: look(c, "none", m) for name, (c, m) in zip(("score", "wald"), TWO, strict=True)}
MECHANISMS = {
    "randomized_response": look("#1b1f24"),
    "invariant_two_step_inverted": look("#e69f00", "--"),
    "invariant_two_step": look("#0072b2"),
    "invariant_lazy": look("#009e73", ":"),
    "bound": look("#9aa1a9", "--"),
}
SHOWN_ATTRIBUTES = ("education", "relationship", "race", "income")
CLAIMS = {
    "multinomial": look("#d55e00", "none", "v", markersize=5),
    "fixed_matrix": look("#e69f00", "none", "D", markersize=5),
    "conditional": look("#0072b2", "none", "o", markersize=5),
    "bound": look("#6a737d", "none", "s", markersize=8, fillstyle="none"),
}
JOINT_ESTIMATORS = {
    "joint": look("#56b4e9", linewidth=4),
    "separate": look("#d55e00", linewidth=1.7),
    "separate_inverted": look("#009e73", ":", linewidth=1.7),
    "true": look(style.INK, "--", linewidth=1.3),
}
RATIO_TICKS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000)
SHIFT = {"score": -0.16, "wald": 0.16}  # vertical distance from the line of a channel
FAINTEST = 1e-4  # smaller probabilities have the palest colour; zeros are white


@style.in_style
def coverage(table: pd.DataFrame) -> Figure:
    """Plot the coverage of intervals by channel, from a `table`."""
    covered = where(table, measure="coverage")
    channels = [name for name in names.CHANNELS if name in set(covered["channel"])]
    titles = {
        "population": "95 % intervals of the population\n(sampling and randomization)",
        "file": "95 % intervals of the file\n(only randomization)",
    }

    def panel(axis: Axes, _: str, target: str) -> None:
        _nominal(axis)
        for (row, channel), (method, mark) in product(enumerate(channels), METHODS.items()):
            of = {"channel": channel, "target": target, "method": method, "intervals": "none"}
            single = where(covered, **of)
            every = single["category"] == names.EVERY
            strokes = mark | {"marker": "|", "markersize": 8, "alpha": 0.65}
            dots = mark | {"markersize": 6}
            for values, look_of in (single[~every], strokes), (single[every], dots):
                axis.plot(values["mean"], [row + SHIFT[method]] * len(values), **look_of)
        axis.xaxis.set_major_locator(MultipleLocator(0.01))

    size = (0, 0, 0, 0.52 * len(channels) + 2.2)
    xlabel = "proportion of replicates with\nintervals that contain the true value"
    figure, axes = style.panel_grid({"": ""}, titles, panel, size, xlabel, 9.5, grid="x")
    records = covered.groupby("channel")["records"].max()
    labels = [f"{names.CHANNELS[name]}\nn = {records[name]:,}" for name in channels]
    axes[0, 0].set_yticks(range(len(channels)), labels)
    axes[0, 0].invert_yaxis()
    return style.finish(
        figure,
        "Coverage of the intervals of estimated proportions",
        f"means over categories from {covered['replicates'].max():,} replicates; "
        "strokes: single categories",
        [
            *style.legend_keys(METHODS, names.METHODS),
            look(style.INK, "none", "|", "each category"),
            look(style.GRID, label="94 to 96 %", linewidth=7),
        ],
    )


@style.in_style
def variance(table: pd.DataFrame) -> Figure:
    """Plot the variance inflation of each mechanism over its ε, from a `table`."""
    shown = [name for name in SHOWN_ATTRIBUTES if name in set(table["attribute"])]

    def panel(axis: Axes, _: str, attribute: str) -> None:
        part = where(table, attribute=attribute)
        more = {"linewidth": 1.7}
        style.plot_series(axis, part, "mechanism", MECHANISMS, "epsilon", "inflation", **more)
        axis.set_title(f"{attribute}, {part['categories'].iloc[0]} categories", fontsize=10)
        style.log_scale(axis.yaxis, RATIO_TICKS, style.as_number)

    rows, columns = {"": "variance / sampling variance"}, dict.fromkeys(shown, "")
    size, xlabel = (2.4, 0.9, 0, 4.3), "ε of the matrix"
    figure, _ = style.panel_grid(rows, columns, panel, size, xlabel, share=OF_ROW)
    return style.finish(
        figure,
        "Variance inflation of randomized response and of invariant PRAM",
        "invariant matrices are computed from the file: their ε is conditional on the "
        "matrix and does not protect the file's proportions",
        style.legend_keys(MECHANISMS, names.MECHANISMS, linewidth=2),
        3,
    )


@style.in_style
def invariant(table: pd.DataFrame) -> Figure:
    """Plot claimed over true variances of invariant PRAM, and coverage, from a `table`."""
    shares = where(table, estimator="shares", records=table["records"].max())
    shares = where(shares, p=shares["p"].min())
    attributes = list(dict.fromkeys(shares["attribute"]))
    methods = [name for name in names.INVARIANT_METHODS if name in set(shares["method"])]
    # The name of each method has a line of its own above its attributes.
    lines = [(method, of) for method in methods for of in ("", *attributes)]

    def panel(axis: Axes, _: str, measure: str) -> None:
        for place, (method, attribute) in enumerate(lines):
            part = where(shares, method=method, attribute=attribute, measure=measure)
            for claim, options in CLAIMS.items():
                means = where(part, claim=claim)["mean"]
                axis.plot(means, [place] * len(means), **options)
            if not attribute:
                axis.axhline(place - 0.5, color=style.INK, linewidth=0.5)
        if measure == "coverage":
            _nominal(axis)
            axis.xaxis.set_major_locator(MultipleLocator(0.05))
        else:
            style.log_scale(axis.xaxis, RATIO_TICKS[::3], style.as_number)
            axis.axvline(1, color=style.INK, linewidth=0.8, linestyle=":")

    columns = {
        "claimed_to_true": "claimed variance / true variance",
        "coverage": "coverage of 95 % intervals",
    }
    size = (0, style.COLUMN, 0, 0.19 * len(lines) + 2.05)
    figure, axes = style.panel_grid({"": ""}, columns, panel, size, share=OF_ROW)
    labels = [attribute or names.INVARIANT_METHODS[method] for method, attribute in lines]
    axes[0, 0].set_yticks(range(len(labels)), labels)
    for label, (_, attribute) in zip(axes[0, 0].get_yticklabels(), lines, strict=True):
        label.set_weight("normal" if attribute else "bold")
    axes[0, 0].set_ylim(len(labels) - 0.5, -0.5)
    covered: Any = where(shares, measure="coverage", claim="multinomial")
    covered = covered[covered["method"] != "two_step_fixed"]["mean"]
    return style.finish(
        figure,
        "Invariant PRAM: coverage of 95 % intervals that ignore randomization is "
        + between(covered.min(), covered.max(), style.as_percent),
        f"proportions of responses, n = {shares['records'].max():,}, p = {shares['p'].min():g}; "
        f"{shares['replicates'].max():,} replicates, each with a new matrix",
        style.legend_keys(CLAIMS, names.CLAIMS),
        2,
    )


def _nominal(axis: Axes) -> None:
    axis.axvspan(*names.WITHIN, color=style.GRID, alpha=0.55, linewidth=0)
    axis.axvline(0.95, color=style.INK, linewidth=0.8, linestyle=":")
    axis.xaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=" %"))


@style.in_style
def joint_loss(table: pd.DataFrame) -> Figure:
    """Plot the remaining dependence between attributes after invariant PRAM, from a `table`."""
    pairs = dict.fromkeys(zip(table["first"], table["second"], strict=True))
    rows = {"cramers_v": "Cramér's V", "distance": "distance from the original"}

    def panel(axis: Axes, measure: str, pair: tuple[str, str]) -> None:
        part = where(table, first=pair[0], second=pair[1], measure=measure)
        style.plot_series(axis, part, "estimator", JOINT_ESTIMATORS, "epsilon", "mean")

    columns = {pair: "\n× ".join(pair) for pair in pairs}
    size, own, xlabel = (0, style.COLUMN, 0, 6.0), (True, "row"), "ε of the pair"
    figure, axes = style.panel_grid(rows, columns, panel, size, xlabel, share=own)
    axes[0, 0].set_ylim(0, 1)
    style.log_scale(axes[1, 0].yaxis, (0.001, 0.01, 0.1, 1, 10, 100), style.as_number)
    least = table["epsilon"].min()
    left: Any = where(table, measure="cramers_v", epsilon=least)
    left = left.pivot_table("mean", ["first", "second"], "estimator")
    left = left["separate"] / left["true"]
    kept = between(left.min(), left.max(), style.as_percent)
    return style.finish(
        figure,
        f"Invariant PRAM of single attributes keeps {kept} of Cramér's V at ε = {least:g}",
        f"means of {table['replicates'].max():,} replicates; distance: total variation, above 1 "
        "if an estimated table has negative cells",
        style.legend_keys(JOINT_ESTIMATORS, names.JOINT_ESTIMATORS | {"true": "original table"}),
        2,
    )


@style.in_style
def breaches(bounds: pd.DataFrame, approach: pd.DataFrame) -> Figure:
    """Plot the `bounds` on probabilities after a response, and priors that `approach` them."""
    figure, ((left, right),) = style.panels(1, 2, (style.NARROWEST, 4.7))
    epsilons, grid = sorted(bounds["epsilon"].unique()), np.linspace(0, 1, 201)
    inks = mpl.colormaps["viridis"](np.linspace(0.85, 0.05, len(epsilons)))
    for epsilon, ink in zip(epsilons, inks, strict=True):
        part, eta = where(bounds, epsilon=epsilon), np.exp(epsilon)
        drawn = look(ink, label=f"ε = {epsilon:g}", linewidth=1.2)
        left.plot(grid, eta * grid / (1 + (eta - 1) * grid), **drawn)
        left.plot(grid, grid / (eta - (eta - 1) * grid), color=ink, linewidth=1.2)
        ends = part[["largest_posterior", "smallest_posterior"]]
        left.plot(part["rho_1"], ends, "o", color=ink, markersize=3.2)
    left.plot([0, 1], [0, 1], color=style.INK, linewidth=0.7, linestyle=":")
    left.set(xlabel="probability before a response")
    left.set(ylabel="largest and smallest probability after it")
    left.set_title("bounds for any set, prior and response", fontsize=10)
    more = {"linewidth": 1.2, "markersize": 4}
    for (of, part), (ink, marker) in zip(groups_of(approach, "channel"), TWO, strict=True):
        for side, line in (("largest", "-"), ("smallest", "--")):
            rows, label = where(part, side=side), f"{of['channel']}: {side}"
            right.plot(1 - rows["mass"], rows["gap"], **look(ink, line, marker, label, **more))
    right.set(xscale="log", xlabel="prior probability of the other categories in (3.12)")
    right.set(yscale="log", ylabel="relative gap of posterior / prior to its bound")
    right.invert_xaxis()
    right.set_title("priors that approach the bound", fontsize=10)
    form: dict[str, Any] = {"frameon": False, "fontsize": 8, "columnspacing": 1.0}
    of_sides = (left, "left", -(-len(inks) // 2), 1.2), (right, "right", 2, 1.6)
    for axis, side, columns, length in of_sides:
        form |= {"loc": f"outside lower {side}", "ncols": columns, "handlelength": length}
        figure.legend(*axis.get_legend_handles_labels(), **form)
        style.gridded(axis)
    title = "Information in one response: the bounds of section 3 are tight"
    below = "the same for every channel with that ε, the logarithm of the parity"
    return style.finish(figure, title, below)


@style.in_style
def design(table: pd.DataFrame) -> Figure:
    """Plot the loss of optimized matrices over the least loss of closed forms, from a `table`."""
    attributes, epsilons = (list(dict.fromkeys(table[of])) for of in ("attribute", "epsilon"))
    proportion = table["designed"] / table[["generalized_rr", "two_step"]].min(axis=1)
    kinds = groups_of(table.assign(proportion=proportion), "loss", "requirements")
    lines = -(-len(kinds) // 4)
    size = style.COLUMN, lines * (0.24 * len(attributes) + 0.7) + 1.55
    figure, axes = _wrapped(len(kinds), 4, size, sharex=True, sharey=True)
    for axis, (kind, part) in zip(axes, kinds, strict=True):
        values = part.pivot(index="attribute", columns="epsilon", values="proportion")
        values = values.reindex(index=attributes, columns=epsilons)
        axis.imshow(values, cmap="Blues_r", vmin=0, vmax=1.3, aspect="auto")
        for (row, column), value in np.ndenumerate(values.to_numpy()):
            if np.isfinite(value):
                ink = "white" if value < 0.6 else style.INK
                text = {"color": ink, "ha": "center", "va": "center", "fontsize": 8}
                axis.text(column, row, f"{100 * value:.0f}", **text)
        axis.set_title(names.DESIGNS.get((*kind.values(),), " ".join(kind.values())), fontsize=8.5)
        axis.set_xticks(range(len(epsilons)), [f"{epsilon:g}" for epsilon in epsilons])
        axis.tick_params(labelbottom=True, length=0)  # panels below may be missing
        axis.set_xlabel("exact ε", labelpad=1)
        axis.spines[:].set_visible(False)
    axes[0].set_yticks(range(len(attributes)), attributes)
    saved = np.floor(100 * (1 - proportion.min()))
    return style.finish(
        figure,
        f"Optimized matrices reduce the loss of the best closed form by up to {saved:.0f} %",
        "loss in percent of the better closed form that meets the requirements (generalized RR "
        "or two-step invariant PRAM), at equal exact ε; empty: no such case",
    )


def _wrapped(count: int, most: int, size: tuple[float, float], **shared: Any) -> tuple[Figure, Any]:
    """Return a figure of a `size` with `count` panels, at most `most` in a row, and its axes."""
    figure, axes = style.panels(-(-count // most), min(most, count), size, **shared)
    for axis in axes.flat[count:]:
        axis.set_visible(False)
    return figure, axes.flat[:count]


@style.in_style
def channels(table: pd.DataFrame) -> Figure:
    """Plot a heat map of each optimized matrix of a `table`."""
    designs = groups_of(table, "design")
    inches = 5.1 * min(2, len(designs)) + 0.6, 5.2 * -(-len(designs) // 2) + 1.0
    figure, axes = _wrapped(len(designs), 2, inches)
    for axis, (of, part) in zip(axes, designs, strict=True):
        categories = list(dict.fromkeys(part["true"]))
        matrix = part.pivot(index="true", columns="reported", values="probability")
        values = matrix.loc[categories, categories].to_numpy()
        shown = np.where(values > 0, np.maximum(values, FAINTEST), np.nan)
        axis.imshow(shown, cmap="Blues", norm=LogNorm(FAINTEST, 1))
        size, least = (8, FAINTEST) if len(categories) <= 8 else (5, 0.01)
        for (u, v), value in np.ndenumerate(values):
            if value >= least:
                text = f"{100 * value:.0f}" if value >= 0.095 else f"{100 * value:.1g}"
                ink = "white" if value > 0.03 else style.INK
                axis.text(v, u, text, ha="center", va="center", fontsize=size, color=ink)
        axis.set_xticks(range(len(categories)), categories, rotation=60, ha="right", fontsize=7)
        axis.set_yticks(range(len(categories)), categories, fontsize=7)
        axis.set(xlabel="randomized", ylabel="original")
        axis.spines[:].set_visible(False)
        axis.set_title(fill(of["design"], 44), fontsize=9.5)
    figure.colorbar(axes[0].images[0], ax=list(axes), shrink=0.5, aspect=40)
    below = "logarithmic colours; white: probability 0; numbers in percent"
    title = "Optimized matrices: probabilities of responses by answer"
    return style.finish(figure, title, below)
