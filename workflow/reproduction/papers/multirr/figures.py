"""Plot Figures 1 to 3 of [multirr], its tables, and analyses beyond them."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from deniable.display import look, style

from reproduction.papers.multirr import names
from reproduction.study import first_of, where

# Colours are safe for colour-blind readers.
ESTIMATOR_STYLE = {
    "randomized": look("#9aa1a9"),
    "randomized_joint": look("#9aa1a9", ":"),
    "rr_independent": look("#1b1f24"),
    "pair_unbiased": look("#e69f00"),
    "pair_likelihood": look("#0072b2"),
}
METHOD_STYLE = {
    "rr_independent": look("#1b1f24"),
    "rr_independent_adjustment": look("#1b1f24", "--"),
    "rr_clusters": look("#d55e00"),
    "rr_clusters_adjustment": look("#d55e00", "--"),
    "rr_clusters_kronecker": look("#0072b2"),
    "rr_clusters_kronecker_adjustment": look("#0072b2", "--"),
    "rr_clusters_joint": look("#d55e00"),
    "rr_clusters_joint_adjustment": look("#d55e00", "--"),
    "rr_joint": look("#009e73"),
    "uniform": look("#9aa1a9", ":"),
}
ASSESSMENT_STYLE = {
    "attributes": look("#1b1f24", marker="o"),
    "attributes_inverted": look("#0072b2", marker="s"),
    "pairs_joint": look("#d55e00", marker="^"),
    "pairs_kronecker": look("#009e73", marker="v"),
}
JOINT_STYLE = {
    "rr independent, even": look("#1b1f24"),
    "joint, even": look("#0072b2"),
    "joint, optimal": look("#0072b2", "--"),
    "joint, ask 1": look("#009e73"),
    "joint, ask 2": look("#009e73", "--"),
    "joint, ask pairs": look("#009e73", ":"),
    "joint, clusters 300": look("#d55e00"),
}
SHOWN_ESTIMATORS = ("rr_independent", "pair_unbiased", "pair_likelihood")
_HOLLOW = {"markersize": 6, "markerfacecolor": "white"}
CLUSTERS = {
    "joint": look(style.INK, "none", "s", "RR-Clusters + Adj., joint", **_HOLLOW),
    "kronecker": look(style.INK, "none", "o", "RR-Clusters + Adj., kronecker", **_HOLLOW),
}
SHOWN_SIGMAS = (0.1, 0.3, 0.5)
ERROR_TICKS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0]
ERRORS = ERROR_TICKS, style.as_share
EPSILON_TICKS = [0.5, 1.0, 2.0, 4.0, 8.0, 16.0]
REGENERATED_STYLE = {
    "joint": look("#d55e00", "-", "s", "regenerated, one matrix per cluster (joint)"),
    "kronecker": look("#0072b2", "-", "o", "regenerated, attribute by attribute (kronecker)"),
}
BESIDE = {"joint": -0.055, "kronecker": 0.055}  # distance from the published value
COVERAGE = r"coverage $\sigma$: proportion of cells in a query"


def _runs(table: pd.DataFrame) -> str:
    numbers = sorted({table["replicates"].min(), table["replicates"].max()})
    return f"medians of {' to '.join(f'{each:,}' for each in numbers)} replicates with 95 % bands"


def _nothing(title: str) -> Figure:
    below = "nothing to plot: the config does not request these settings"
    return style.finish(style.canvas(style.NARROWEST, 1.2), title, below)


@style.in_style
def fig1(table: pd.DataFrame) -> Figure:
    """Plot sqrt(B) over the number of categories, from the `table` of Figure 1."""
    figure, ((axis,),) = style.panels(1, 1, (style.COLUMN, 4.0))
    axis.plot(table["categories"], table["root_b"], color="#0072b2", linewidth=1.8)
    axis.set(xscale="log", xlabel="number of categories r", ylabel=r"$\sqrt{B}$")
    axis.grid(color=style.GRID, linewidth=0.8)
    for categories, name, offset, side in (
        (16, "education: 16", (6, -22), "left"),
        (1_814_400, "all cells of Adult: 1,814,400", (-8, 4), "right"),
    ):
        for height in where(table, categories=categories)["root_b"]:
            axis.plot(categories, height, "o", color=style.INK, markersize=4)
            text, place = f"{name}\n{height:.2f}", (categories, height)
            axis.annotate(text, place, offset, textcoords="offset points", ha=side)
    return style.finish(
        figure,
        "Figure 1: growth of simultaneous errors with the number of categories",
        r"a 95 % bound on the errors of all r proportions together is $\sqrt{B}$ standard errors",
    )


@style.in_style
def fig2(table: pd.DataFrame) -> Figure:
    """Plot absolute and relative errors, estimated and raw, from the `table` of Figure 2."""
    labels = {
        "absolute_error": "median absolute error, records",
        "relative_error": "median relative error",
    }

    def panel(axis: Axes, _: str, measure: str) -> None:
        part = where(table, measure=measure)
        style.plot_series(axis, part, "estimator", ESTIMATOR_STYLE, "sigma", "median", linewidth=2)
        axis.set(ylabel=labels[measure], ylim=(0, None))

    columns, size, own = dict.fromkeys(labels, ""), (0, 0, 0, 4.3), (True, False)
    figure, axes = style.panel_grid({"": ""}, columns, panel, size, COVERAGE, share=own)
    axes[0, 1].yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0, symbol=" %"))
    title = f"Figure 2: count queries at p = {table['p'].iloc[0]:g}, with and without estimation"
    keys = style.legend_keys(ESTIMATOR_STYLE, names.ESTIMATORS, table["estimator"], linewidth=2)
    return style.finish(figure, title, _runs(table), keys, 2)


@style.in_style
def fig3(table: pd.DataFrame, best: str) -> Figure:
    """Plot the `table` of Figure 3 at the `best` thresholds by Table 1 of "paper" or "ours"."""
    chosen = where(table, best=(best, "both"))
    whose = "[multirr]" if best == "paper" else "our Table 1"
    title = f"Figure 3: the four methods, at the best thresholds of {whose}"
    if not len(chosen):
        return _nothing(title)

    def panel(axis: Axes, mechanism: str, p: float) -> None:
        part = where(chosen, mechanism=mechanism, p=p)
        style.plot_series(axis, part, "method", METHOD_STYLE, "sigma", "median")
        style.log_scale(axis.yaxis, *ERRORS)
        if len(part):
            t_v, t_d = part["t_v"].iloc[0], part["t_d"].iloc[0]
            axis.set_title(f"p = {p:g}   (T$_v$ = {t_v}, T$_d$ = {t_d:g})", fontsize=9)

    rows = {m: f"clusters: {m}\nmedian relative error" for m in chosen["mechanism"].unique()}
    columns, size = dict.fromkeys(sorted(chosen["p"].unique()), ""), (2.7, 0.6, 2.55, 1.7)
    figure, _ = style.panel_grid(rows, columns, panel, size, COVERAGE.replace(": ", ":\n"))
    below = f"{_runs(table)}; queries have fewer cells on the left"
    keys = style.legend_keys(METHOD_STYLE, names.METHODS, linewidth=2)
    return style.finish(figure, title, below, keys)


@style.in_style
def pairs(table: pd.DataFrame, methods: pd.DataFrame) -> Figure:
    """Plot relative errors of a pair over p, from the `table`, with RR-Clusters from `methods`.

    RR-Clusters has Adjustment and the thresholds that are best in our Table 1. The choice of
    estimators and methods does not depend on the errors in the figure.
    """
    relative = where(first_of(table, "matrix"), measure="relative_error")
    relative = where(relative, estimator=SHOWN_ESTIMATORS)
    sigmas = sorted({*SHOWN_SIGMAS} & {*relative["sigma"]})
    if not sigmas:
        return _nothing("Beyond [multirr]: pairs from RR-Independent data")
    clusters = where(methods, method="rr_clusters_adjustment", best=("ours", "both"))

    def panel(axis: Axes, _: str, sigma: float) -> None:
        part = where(relative, sigma=sigma)
        style.plot_series(axis, part, "estimator", ESTIMATOR_STYLE, "p", "median")
        for mechanism, options in CLUSTERS.items():
            own = where(clusters, sigma=sigma, mechanism=mechanism)
            own = own.loc[np.isfinite(own["ci_low"]) & np.isfinite(own["ci_high"])]
            axis.vlines(own["p"], own["ci_low"], own["ci_high"], color=style.INK, linewidth=1)
            axis.plot(own["p"], own["median"], **options, zorder=5)
        style.log_scale(axis.yaxis, *ERRORS)
        axis.margins(x=0.08)

    rows, size = {"": "median relative error"}, (0, style.COLUMN, 0, 4.7)
    columns = {sigma: rf"coverage $\sigma$ = {sigma:g}" for sigma in sigmas}
    figure, _ = style.panel_grid(rows, columns, panel, size, "p")
    last = where(relative, sigma=sigmas[0], p=relative["p"].max())
    found = dict(zip(last["estimator"], last["median"], strict=True))
    said = [f"{100 * found[k]:.2g} % {of}" for k, of in names.IN_TITLE.items() if k in found]
    shown = relative["estimator"]
    return style.finish(
        figure,
        f"Beyond [multirr]: error at p = {relative['p'].max():g} is " + ", ".join(said),
        f"{_runs(table)}; same responses, queries and exact ε of a record; the title describes the "
        "first panel",
        style.legend_keys(ESTIMATOR_STYLE, names.ESTIMATORS, shown, linewidth=2)
        + style.legend_keys(CLUSTERS),
        2,
    )


@style.in_style
def epsilon(table: pd.DataFrame) -> Figure:
    """Plot errors over the exact ε of a record, from the `table`: all attributes, and few."""
    table = names.first_clusters(table)

    def panel(axis: Axes, _: str, name: str) -> None:
        part = where(table, attributes=name)
        style.plot_series(axis, part, "method", METHOD_STYLE, "epsilon", "median")
        style.log_scale(axis.yaxis, *ERRORS)
        style.log_scale(axis.xaxis, EPSILON_TICKS, style.as_number)

    rows, size = {"": "median relative error"}, (0, 0, 0, 5.2)
    columns = {name: f"{name} attributes" for name in table["attributes"].unique()}
    own, xlabel = (False, True), r"exact $\epsilon$ of a whole record"
    figure, _ = style.panel_grid(rows, columns, panel, size, xlabel, share=own)
    keys = style.legend_keys(METHOD_STYLE, names.AT_EPSILON, table["method"], linewidth=2)
    sigma = table["sigma"].iloc[0]
    below = rf"{_runs(table)}; coverage $\sigma$ = {sigma:g}; $\epsilon$ in [multirr] is 5 to 21"
    return style.finish(figure, "Beyond [multirr]: the methods at a stated ε", below, keys, 3)


@style.in_style
def assessment(table: pd.DataFrame) -> Figure:
    """Plot the agreement of ranks and clusters without a trusted party, from the `table`."""
    drawn = where(table, method=tuple(ASSESSMENT_STYLE))
    title = "Dependences assessed without a trusted party"
    if not len(drawn):
        return _nothing(title)
    lowest = drawn["t_d"].min()  # ranks have no thresholds
    parts = {"ranks of the pairs": where(drawn, measure="spearman")}
    for t_v in sorted(where(drawn, t_d=lowest)["t_v"].unique()):
        parts[f"clusters, T$_v$ = {t_v:.0f}"] = where(drawn, t_d=lowest, t_v=t_v)

    def panel(axis: Axes, matrix: str, name: str) -> None:
        part = where(parts[name], matrix=matrix)
        more = {"markersize": 4, "linewidth": 1.2}
        style.plot_series(axis, part, "method", ASSESSMENT_STYLE, "p", "mean", **more)
        axis.axhline(1, color=style.INK, linewidth=0.7, linestyle=":")
        axis.axhline(0, color=style.GRID, linewidth=0.8)
        axis.set_title(name, fontsize=10)

    rows = {m: f"matrix: {m}\nagreement with original" for m in drawn["matrix"].unique()}
    columns, size = dict.fromkeys(parts, ""), (2.6, 0.6, 2.5, 1.9)
    figure, axes = style.panel_grid(rows, columns, panel, size, "p", grid="y")
    for axis in axes[-1]:
        axis.set_xticks(sorted(drawn["p"].unique()))
    below = (
        "1 is the value of exact tables (4.2, secure sum); means of "
        f"{drawn['replicates'].max():,} replicates with 95 % intervals\nranks: Spearman's "
        "correlation with original ranks; clusters: adjusted Rand index with original clusters at "
        f"T$_d$ = {lowest:g}"
    )
    keys = style.legend_keys(ASSESSMENT_STYLE, names.ASSESSMENTS, markersize=4.5)
    return style.finish(figure, title, below, keys, 2)


@style.in_style
def joint_estimation(table: pd.DataFrame) -> Figure:
    """Plot distances of tables of 2 and 3 columns over ε, from the `table` of joint estimates."""
    series = (table["method"] + ", " + table["design"]).str.replace("_", " ")
    drawn = where(table.assign(series=series), given="epsilon")

    def panel(axis: Axes, measure: str, dataset: str) -> None:
        part = where(drawn, measure=measure, dataset=dataset)
        own = {"marker": "o", "markersize": 3}
        style.plot_series(axis, part, "series", JOINT_STYLE, "value", "median", **own)
        style.log_scale(axis.xaxis, EPSILON_TICKS, style.as_number)

    rows = {f"distance_{k}": f"tables of {k} columns" for k in (2, 3)}
    columns, size = {name: name for name in drawn["dataset"].unique()}, (2.5, 0.6, 2.3, 2.0)
    figure, _ = style.panel_grid(rows, columns, panel, size, "exact ε of a record")
    title = "Joint distributions: total variation distance from the original tables"
    names = {name: name for name in JOINT_STYLE}
    keys = style.legend_keys(JOINT_STYLE, names, drawn["series"].unique())
    return style.finish(figure, title, _runs(table), keys)


@style.in_style
def printed_table(table: pd.DataFrame, title: str) -> Figure:
    """Plot a `table` of relative errors under a `title`: a panel for each p, with T_v and T_d.

    Published values are diamonds. Regenerated medians with intervals are filled if they agree.
    """
    least = ", ".join(f"{t_d:g}" for t_d in sorted(table["t_d"].unique()))
    figure, _ = style.panel_grid(
        {"": "median relative error of a count query"},
        {p: f"p = {p:g}" for p in sorted(table["p"].unique())},
        lambda axis, _, p: _cells(axis, where(table, p=p)),
        (2.6, 1.2, 0, 4.9),
        f"largest cluster T$_v$\n(side by side: T$_d$ = {least})",
        grid="y",
    )
    runs = f"medians of {int(table['replicates'].max())} replicates with 95 % intervals"
    hollow = "hollow: does not agree, or no verdict"
    keys = [
        look(style.INK, "none", "D", "published", markersize=4),
        *style.legend_keys(REGENERATED_STYLE, shown=table["mechanism"], markersize=4.5),
        look("#6a737d", "none", "o", hollow, markerfacecolor="white"),
    ]
    return style.finish(figure, title, f"published values beside {runs}", keys)


def _cells(axis: Axes, cells: pd.DataFrame) -> None:
    sizes, dependences = (sorted(cells[name].unique()) for name in ("t_v", "t_d"))
    style.log_scale(axis.yaxis, *ERRORS)
    axis.set_xticks(range(len(sizes)), [str(size) for size in sizes])
    axis.set_xlim(-0.55, len(sizes) - 0.45)
    for row in cells.to_dict("records"):
        spread = dependences.index(row["t_d"]) - (len(dependences) - 1) / 2
        x = sizes.index(row["t_v"]) + 0.27 * spread
        options = REGENERATED_STYLE[row["mechanism"]]
        value = row["regenerated"]
        reach = np.array([[value - row["ci_low"]], [row["ci_high"] - value]])
        # With very few replicates the interval is the whole line, which is not plotted.
        ends = reach if np.all(np.isfinite(reach)) else np.zeros((2, 1))
        filled = options["color"] if row["verdict"] == "agrees" else "white"
        more = options | {"markersize": 4.2, "markerfacecolor": filled, "linewidth": 1.1}
        axis.errorbar(x + BESIDE[row["mechanism"]], value, yerr=ends, **more)
        if not np.isnan(row["published"]):
            axis.plot(x, row["published"], "D", color=style.INK, markersize=3.6, zorder=4)


@style.in_style
def sweep(table: pd.DataFrame) -> Figure:
    """Plot the errors of a `table` by p and T_v, for each number of records (columns), T_d (rows).

    Dots mark the best T_v for a p, and all others with intervals that overlap its interval. Only
    the first interpretation is plotted.
    """
    settings = ("matrix", "mechanism", "projection")
    drawn = first_of(table, *settings)
    errors = drawn["median_relative_error"]
    shades = LogNorm(errors.min(), errors.max())
    figure, axes = style.panel_grid(
        {t_d: f"T$_d$ = {t_d:g}\nT$_v$" for t_d in sorted(drawn["t_d"].unique())},
        {records: f"{records:,} records" for records in sorted(drawn["records"].unique())},
        lambda axis, t_d, records: _field(axis, where(drawn, t_d=t_d, records=records), shades),
        (2.05, 1.5, 1.35, 1.55),
        "p",
        grid="",
    )
    shown: Any = {"ticks": ERROR_TICKS, "format": "%g", "label": "median relative error"}
    figure.colorbar(axes[-1, -1].images[0], ax=axes, **shown).minorticks_off()
    named = ", ".join(f"{column} {drawn[column].iloc[0]}" for column in settings)
    return style.finish(
        figure,
        "RR-Clusters: relative error of count queries over p, thresholds and records",
        f"medians of {drawn['replicates'].max():,} replicates per setting; {named}\n"
        "dots: the best T$_v$ for that p, and others with 95 % intervals that overlap its interval",
    )


def _field(axis: Axes, here: pd.DataFrame, shades: LogNorm) -> None:
    columns = ("median_relative_error", "ci_low", "ci_high")
    values, low, high = (here.pivot(index="t_v", columns="p", values=each) for each in columns)
    axis.imshow(values, norm=shades, cmap="viridis_r", aspect="auto", origin="lower")
    best = values.to_numpy().argmin(axis=0)
    for column, row in enumerate(best):
        # Equal clusters have equal numbers.
        as_good = np.flatnonzero(low.iloc[:, column] <= high.iloc[row, column])
        inks: Any = {"markeredgecolor": "white", "markerfacecolor": style.INK, "linestyle": "none"}
        axis.plot(np.full(as_good.size, column), as_good, "o", markersize=5, **inks)
    axis.set_xticks(range(len(values.columns)), [f"{p:g}".lstrip("0") for p in values.columns])
    axis.set_yticks(range(len(values.index)), [f"{t_v:g}" for t_v in values.index])
    axis.tick_params(labelsize=7.5, length=2)
