"""Plot Figures 1 to 3 of [multirr] and analyses beyond them, from the tables in the catalog."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import PercentFormatter

from deniable.display import first_of, groups_of, style

from reproduction.papers.multirr.names import ASSESSMENTS, AT_EPSILON, ESTIMATORS, METHODS

# Colours are safe for colour-blind readers.
LineStyle = tuple[str, Literal["-", "--", ":"]]
METHOD_STYLE: Mapping[str, LineStyle] = {
    "rr_independent": ("#1b1f24", "-"),
    "rr_clusters": ("#d55e00", "-"),
    "rr_independent_adjustment": ("#0072b2", "--"),
    "rr_clusters_adjustment": ("#009e73", "--"),
}
ESTIMATOR_STYLE: Mapping[str, LineStyle] = {
    "randomized": ("#9aa1a9", "-"),
    "randomized_joint": ("#9aa1a9", ":"),
    "rr_independent": ("#1b1f24", "-"),
    "pair_unbiased": ("#e69f00", "-"),
    "pair_clipped": ("#d55e00", "--"),
    "pair_projected": ("#b14a9c", ":"),
    "pair_likelihood": ("#0072b2", "-"),
    "pair_shrunk": ("#009e73", "-"),
}
EPSILON_STYLE: Mapping[str, LineStyle] = {
    "rr_independent": ("#1b1f24", "-"),
    "rr_independent_adjustment": ("#1b1f24", "--"),
    "rr_clusters_kronecker": ("#0072b2", "-"),
    "rr_clusters_kronecker_adjustment": ("#0072b2", "--"),
    "rr_clusters_joint": ("#d55e00", "-"),
    "rr_clusters_joint_adjustment": ("#d55e00", "--"),
    "rr_joint": ("#009e73", "-"),
    "uniform": ("#9aa1a9", ":"),
}
ESTIMATOR_LETTERS = dict(zip(ESTIMATOR_STYLE, "MRIUCPLS", strict=True))
"""They show the winner without colours."""
ASSESSMENT_STYLE = {
    # colour, marker
    "attributes": ("#1b1f24", "o"),
    "attributes_inverted": ("#0072b2", "s"),
    "pairs_joint": ("#d55e00", "^"),
    "pairs_kronecker": ("#009e73", "v"),
}
PAPER_BEST = {
    "joint": ("*", "best of the four (Figure 3), joint"),
    "kronecker": ("P", "best of the four (Figure 3), kronecker"),
}
ERROR_TICKS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0]
EPSILON_TICKS = [0.5, 1.0, 2.0, 4.0, 8.0, 16.0]
COVERAGE = "coverage $\\sigma$: share of the cells that a query asks for"
ATTRIBUTES = {"all": "all attributes", "few": "few attributes"}


def _lines(
    axis: Axes,
    table: pd.DataFrame,
    column: str,
    styles: Mapping[str, LineStyle],
    x: str,
    width: float,
) -> None:
    """Draw a line with its band for each estimator or method in the column."""
    for name, (colour, line) in styles.items():
        part = table[table[column] == name]
        if len(part):
            look: dict[str, Any] = {"color": colour, "linestyle": line, "linewidth": width}
            style.line_with_band(axis, part, x, "median", **look)
    style.gridded(axis, linewidth=0.7)


def _keys(styles: Mapping[str, LineStyle], names: Mapping[str, str]) -> list[Line2D]:
    """Return the keys of a legend for the lines with `names`."""
    return [style.line_key(*styles[name], names[name]) for name in styles if name in names]


def _percent_scale(axis: Axes, first_tick: float = 0.0) -> None:
    axis.set_yscale("log")
    ticks = [tick for tick in ERROR_TICKS if tick >= first_tick]
    style.plain_ticks(axis.yaxis, ticks, style.as_share)


def _nothing(title: str) -> Figure:
    """Return a figure that says that the config requests nothing for it."""
    figure = style.canvas(style.NARROWEST, 1.2)
    style.heading(figure, title, "nothing to draw: the config asks for none of it")
    return figure


@style.in_style
def figure_1(table: pd.DataFrame) -> Figure:
    """Draw the `table` of sqrt(B) over the number of categories (Figure 1)."""
    figure = style.canvas(7.2, 4.0)
    axis = figure.add_axes((0.08, 0.14, 0.86, 0.66))
    axis.plot(table["categories"], table["root_b"], color="#0072b2", linewidth=1.8)
    axis.set(xscale="log", xlabel="number of categories r", ylabel="$\\sqrt{B}$")
    axis.grid(color=style.GRID, linewidth=0.8)
    for categories, name, offset, side in (
        (16, "education: 16", (6, -22), "left"),
        (1_814_400, "all cells of Adult: 1,814,400", (-8, 4), "right"),
    ):
        for height in table.loc[table["categories"] == categories, "root_b"]:
            axis.plot(categories, height, "o", color=style.INK, markersize=4)
            text, place = f"{name}\n{height:.2f}", (categories, height)
            axis.annotate(text, place, offset, textcoords="offset points", ha=side)
    style.heading(
        figure,
        "Figure 1: how simultaneous errors grow with the number of categories",
        "a bound on the errors of all r proportions at once (95 %) is $\\sqrt{B}$ standard errors",
    )
    return figure


@style.in_style
def figure_2(table: pd.DataFrame) -> Figure:
    """Draw the `table` of absolute and relative errors, estimated and raw (Figure 2)."""
    labels = {
        "absolute_error": "median absolute error, records",
        "relative_error": "median relative error",
    }
    figure, (axes,) = style.panels(
        1, 2, (style.NARROWEST, 4.3), (0.75, 0.09, 0.77, 0.95), (0.22, 0)
    )
    for axis, (measure, label) in zip(axes, labels.items(), strict=True):
        part = table[table["measure"] == measure]
        _lines(axis, part, "estimator", ESTIMATOR_STYLE, "sigma", 2.0)
        axis.set(xlabel=COVERAGE, ylabel=label, ylim=(0, None))
    axes[1].yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0, symbol=" %"))
    named = {name: ESTIMATORS[name] for name in set(table["estimator"])}
    style.legend_below(figure, _keys(ESTIMATOR_STYLE, named), 2)
    style.heading(
        figure,
        f"Figure 2: count queries at p = {table['p'].iloc[0]:g}, with and without estimation",
        f"medians of {table['replicates'].max():,} runs with 95 % bands",
    )
    return figure


@style.in_style
def figure_3(table: pd.DataFrame, best: str) -> Figure:
    """Draw the `table` of Figure 3, a panel a p, at thresholds `best` by "paper" or "ours"."""
    chosen = table[table["best"].isin([best, "both"])]
    whose = "[multirr] found" if best == "paper" else "we found"
    title = f"Figure 3: the four methods, at the thresholds that {whose} best"
    if not len(chosen):
        return _nothing(title)
    mechanisms = list(dict.fromkeys(chosen["mechanism"]))
    probabilities = sorted(chosen["p"].unique())
    shape = (len(mechanisms), len(probabilities))
    size = (2.7 * shape[1] + 0.6, 2.55 * shape[0] + 1.7)
    around = (0.97, 0.1, 0.95, 0.95)
    figure, axes = style.panels(*shape, size, around, (0.07, 0.22), sharex=True, sharey=True)
    for row, mechanism in zip(axes, mechanisms, strict=True):
        for axis, p in zip(row, probabilities, strict=True):
            part = chosen[(chosen["mechanism"] == mechanism) & (chosen["p"] == p)]
            _lines(axis, part, "method", METHOD_STYLE, "sigma", 1.5)
            _percent_scale(axis)
            if len(part):
                t_v, t_d = part["t_v"].iloc[0], part["t_d"].iloc[0]
                axis.set_title(f"p = {p:g}   (T$_v$ = {t_v}, T$_d$ = {t_d:g})", fontsize=9)
        row[0].set_ylabel(f"clusters: {mechanism}\nmedian relative error")
    figure.supxlabel(COVERAGE, y=0.47 / figure.get_figheight(), fontsize=9)
    style.legend_below(figure, _keys(METHOD_STYLE, METHODS), 4)
    style.heading(
        figure,
        title,
        f"medians of {table['replicates'].max():,} runs with 95 % bands; the further left, the "
        "fewer cells a query asks for",
    )
    return figure


@style.in_style
def pairs(table: pd.DataFrame, methods: pd.DataFrame) -> Figure:
    """Draw when the joint distribution of a pair beats the product of marginal distributions.

    Above, the relative errors of the `table` over p at three coverages, with the best of the
    paper's `methods`. Below, the winners.
    """
    table = first_of(table, "matrix")
    relative = table[table["measure"] == "relative_error"]
    sigmas = [sigma for sigma in (0.1, 0.3, 0.5) if sigma in set(relative["sigma"])]
    named = [name for name in ESTIMATOR_STYLE if name in set(relative["estimator"])]
    figure = style.canvas(9.6, 7.9)
    grid = figure.add_gridspec(2, max(len(sigmas), 1), height_ratios=(1.35, 1))
    for number, sigma in enumerate(sigmas):
        axis = figure.add_subplot(grid[0, number])
        part = relative[relative["sigma"] == sigma]
        _lines(axis, part, "estimator", ESTIMATOR_STYLE, "p", 1.4)
        for mechanism, (marker, _) in PAPER_BEST.items():
            own = methods[(methods["sigma"] == sigma) & (methods["mechanism"] == mechanism)]
            best = own.groupby("p")["median"].min()
            axis.plot(best.index, best, marker, color=style.INK, markersize=7, zorder=5)
        _percent_scale(axis)
        axis.margins(x=0.08)
        axis.set_title(f"coverage $\\sigma$ = {sigma:g}", fontsize=10)
        axis.set(xlabel="p", ylabel="" if number else "median relative error")
    _winners(figure.add_subplot(grid[1, :]), relative, named)
    called = {name: f"{ESTIMATORS[name]} ({ESTIMATOR_LETTERS[name]})" for name in named}
    best_keys = [style.mark_key(style.INK, *best) for best in PAPER_BEST.values()]
    style.legend_below(figure, [*_keys(ESTIMATOR_STYLE, called), *best_keys], 3)
    style.heading(
        figure,
        "Beyond [multirr]: the joint distribution of a pair, from RR-Independent data",
        f"pairs: same reports, same queries, same exact epsilon; medians of "
        f"{table['replicates'].max():,} runs with 95 % bands",
    )
    figure.subplots_adjust(left=0.075, right=0.99, top=0.88, bottom=0.17, hspace=0.33, wspace=0.16)
    return figure


def _winners(axis: Axes, relative: pd.DataFrame, named: Sequence[str]) -> None:
    """Colour each p and coverage by the estimator with the lowest median."""
    lowest = relative.loc[relative.groupby(["p", "sigma"])["median"].idxmin()]
    lowest = lowest.assign(code=lowest["estimator"].map(named.index))
    won = lowest.pivot_table(index="sigma", columns="p", values="code")
    axis.imshow(
        won.to_numpy(),
        cmap=ListedColormap([ESTIMATOR_STYLE[name][0] for name in named]),
        vmin=-0.5,
        vmax=len(named) - 0.5,
        origin="lower",
        aspect="auto",
        alpha=0.75,
    )
    base = relative[relative["estimator"] == "rr_independent"]
    told = lowest.merge(base, "left", on=["p", "sigma"], suffixes=("", "_of_base"))
    for row in told.to_dict("records"):
        own = row["estimator"] == "rr_independent"
        share = row["median"] / row["median_of_base"]
        axis.text(
            list(won.columns).index(row["p"]),
            list(won.index).index(row["sigma"]),
            ESTIMATOR_LETTERS[row["estimator"]]
            + ("" if own or np.isnan(share) else f"  {share:.2f}"),
            ha="center",
            va="center",
            color="white" if own else "black",
            weight="bold" if row["ci_high"] < row["ci_low_of_base"] else "normal",
            fontsize=8,
        )
    axis.set_xticks(range(len(won.columns)), [f"{p:g}" for p in won.columns])
    axis.set_yticks(range(len(won.index)), [f"{sigma:g}" for sigma in won.index])
    axis.set(xlabel="p", ylabel="coverage $\\sigma$")
    axis.set_title(
        "who wins, and its error as a share of RR-Independent's (bold: intervals apart)",
        fontsize=10,
    )


@style.in_style
def epsilon(table: pd.DataFrame) -> Figure:
    """Draw the `table`'s errors over the exact epsilon of a record: all attributes, and few."""
    table = first_clusters(table)
    shown = [name for name in ATTRIBUTES if name in set(table["attributes"])]
    around, between = (0.75, 0.1, 0.95, 1.5), (0.1, 0)
    figure, (axes,) = style.panels(1, len(shown), (9.4, 5.2), around, between, sharey=True)
    for axis, name in zip(axes, shown, strict=True):
        part = table[table["attributes"] == name]
        styles = {method: EPSILON_STYLE[method] for method in part["method"].unique()}
        _lines(axis, part, "method", styles, "epsilon", 1.6)
        axis.set(xscale="log", xlabel="exact $\\epsilon$ of a whole record")
        style.plain_ticks(axis.xaxis, EPSILON_TICKS, style.as_number)
        _percent_scale(axis, 0.01)
        axis.set_title(ATTRIBUTES[name], fontsize=10)
    axes[0].set_ylabel("median relative error")
    named = {name: AT_EPSILON[name] for name in set(table["method"])}
    style.legend_below(figure, _keys(EPSILON_STYLE, named), 3)
    style.heading(
        figure,
        "Beyond [multirr]: the methods at a stated epsilon",
        f"medians of {table['replicates'].max():,} runs with 95 % bands; coverage "
        f"$\\sigma$ = {table['sigma'].iloc[0]:g}; [multirr] works at 5 to 21",
    )
    return figure


def first_clusters(table: pd.DataFrame) -> pd.DataFrame:
    """Return the first projection and coverage of a `table`, and each method's first clusters."""
    table = first_of(table, "projection", "sigma")
    parts = (part for _, part in groups_of(table, "attributes", "method"))
    return pd.concat([first_of(part, "t_v", "t_d") for part in parts])


@style.in_style
def assessment(table: pd.DataFrame) -> Figure:
    """Draw the `table` of how dependences without a trusted party keep ranks and clusters."""
    drawn = table[table["method"].isin(list(ASSESSMENT_STYLE))]
    title = "Dependences assessed without a trusted party"
    if not len(drawn):
        return _nothing(title)
    matrices = list(dict.fromkeys(drawn["matrix"]))
    lowest = drawn["t_d"].min()  # ranks have no thresholds
    clusters = drawn[drawn["t_d"] == lowest].groupby("t_v")
    parts = {"ranks of the pairs": drawn[drawn["measure"] == "spearman"]}
    parts |= {f"clusters, T$_v$ = {int(t_v)}": part for t_v, part in clusters}
    shape = (len(matrices), len(parts))
    size = (2.6 * shape[1] + 0.6, 2.5 * shape[0] + 1.9)
    figure, axes = style.panels(*shape, size, (0.88, 0.1, 1.15, 1.05), sharex=True, sharey=True)
    for row, matrix in zip(axes, matrices, strict=True):
        for axis, (name, part) in zip(row, parts.items(), strict=True):
            _assessed(axis, part[part["matrix"] == matrix])
            axis.set_title(name, fontsize=10)
        row[0].set_ylabel(f"matrix: {matrix}\nagreement with the truth")
    for axis in axes[-1]:
        axis.set(xlabel="p", xticks=sorted(drawn["p"].unique()))
    keys = [
        Line2D([], [], color=colour, marker=marker, markersize=4.5, label=ASSESSMENTS[name])
        for name, (colour, marker) in ASSESSMENT_STYLE.items()
    ]
    style.legend_below(figure, keys, 2)
    style.heading(
        figure,
        title,
        "1 is what exact tables (4.2, secure sum) give; means of "
        f"{drawn['replicates'].max():,} runs with 95 % intervals\nranks: Spearman's "
        "correlation with the true ones; clusters: adjusted Rand index with the true ones at "
        f"T$_d$ = {lowest:g}",
    )
    return figure


def _assessed(axis: Axes, part: pd.DataFrame) -> None:
    for method, (colour, marker) in ASSESSMENT_STYLE.items():
        rows = part[part["method"] == method].sort_values("p")
        low, high = (rows["mean"] - rows["ci_low"]), (rows["ci_high"] - rows["mean"])
        axis.errorbar(
            rows["p"],
            rows["mean"],
            yerr=np.array([low, high]) if np.isfinite(low).all() else None,
            color=colour,
            marker=marker,
            markersize=4,
            linewidth=1.2,
        )
    axis.axhline(1, color=style.INK, linewidth=0.7, linestyle=":")
    axis.axhline(0, color=style.GRID, linewidth=0.8)
    style.gridded(axis, "y")
