"""Figures 3 to 6 of [idp] with competitors under true DP, and figures of the audit and attacks.

The catalog names the table of each figure. An epsilon, domain factor or k of 0 does not apply.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullLocator

from deniable.display import plain, style

from reproduction.papers.idp import names
from reproduction.study import where

# -- Figures 3 to 6: mean SSE and F-measures against k ---------------------------------------------

K_TICKS = (3, 5, 10, 25, 50, 100, 200, 400)


def _line(colour: str, line: str = "-", marker: str | None = None) -> dict[str, Any]:
    """Return the line of a method, in a colour that is safe for colour-blind readers."""
    return {"color": colour, "linestyle": line, "marker": marker}


_CLUSTERED = {
    "dp_um": _line("#e69f00", marker="s"),
    "idp_ls": _line("#0072b2", marker="o"),
    "idp_cbls": _line("#d55e00", marker="^"),
}
SSE_LINES: Mapping[str, dict[str, Any]] = {
    "dp": _line("#1b1f24"),
    **_CLUSTERED,
    "dp_synthetic": _line("#009e73", "--"),
    "dp_median": _line("#009e73"),
    "no_data": _line("#9aa1a9", "--"),
    "least_dp": _line("#cc79a7", ":"),
}
FOREST_LINES: Mapping[str, dict[str, Any]] = {
    "original": _line(style.INK, "--"),
    "majority": _line("#9aa1a9", "--"),
    "dp_rule": _line("#009e73"),
    "dp_naive_bayes": _line("#56b4e9"),
    "dp_synthetic": _line("#009e73", ":"),
    "dp": _line("#cc79a7"),
    **_CLUSTERED,
}


@style.in_style
def errors(table: pd.DataFrame, dataset: str) -> Figure:
    """Plot the mean SSE of a `table` on a `dataset`, "census" or "wine"."""
    epsilons, factors = _values(table, "epsilon"), _values(table, "domain_factor")
    figure, axes = _over_k(table, len(factors), len(epsilons), 2.9, 2.75)
    for axis, (factor, epsilon) in zip(axes.flat, product(factors, epsilons), strict=True):
        part = where(table, epsilon=epsilon, domain_factor=factor)
        _draw(axis, part, SSE_LINES, "mean_sse")
        axis.set_yscale("log")
        axis.yaxis.set_major_locator(LogLocator(10, numticks=12))
        axis.yaxis.set_minor_locator(NullLocator())
        axis.set_title(f"ε = {epsilon:g}, domain to {factor:g} × maximum", fontsize=9.5)
    for axis in axes[:, 0]:
        axis.set_ylabel("mean SSE (log scale)")
    _legend(figure, table, SSE_LINES, names.SSE_TITLES)
    style.heading(
        figure,
        f"{names.DATASETS[dataset]}: mean SSE of masked records against k",
        "in variances of an attribute: 1 is the error of everybody's mean; "
        f"means of {table['replicates'].max():,} runs, bands: 95 % intervals",
    )
    return figure


@style.in_style
def f_measures(table: pd.DataFrame, dataset: str) -> Figure:
    """Plot the F-measures of a `table` on a `dataset`, "census" or "wine"."""
    epsilons, factors = _values(table, "epsilon"), _values(table, "domain_factor")
    columns = list(product(factors, dict.fromkeys(table["class"])))
    figure, axes = _over_k(table, len(epsilons), len(columns), 2.65, 2.35)
    for axis, (epsilon, (factor, name)) in zip(axes.flat, product(epsilons, columns), strict=True):
        at = {"epsilon": (epsilon, names.NOT_APPLICABLE), "class": name}
        part = where(table, domain_factor=(factor, names.NOT_APPLICABLE), **at)
        _draw(axis, part, FOREST_LINES, "f_measure")
        axis.set_ylim(-0.02, 1.02)
    for axis, (factor, name) in zip(axes[0], columns, strict=True):
        axis.set_title(f"{name}\ndomain to {factor:g} × maximum", fontsize=9.5)
    for axis, epsilon in zip(axes[:, 0], epsilons, strict=True):
        axis.set_ylabel(f"ε = {epsilon:g}\nF-measure")
    _legend(figure, table, FOREST_LINES, names.FOREST_TITLES)
    style.heading(
        figure,
        f"{names.DATASETS[dataset]}: F-measures of classifiers trained on protected records",
        f"means of {table['replicates'].max():,} runs, bands: 95 % intervals; lines without "
        "markers do not depend on k",
    )
    return figure


def _values(table: pd.DataFrame, column: str) -> list[float]:
    return sorted(set(table[column]) - {names.NOT_APPLICABLE})


def _over_k(
    table: pd.DataFrame, rows: int, columns: int, width: float, height: float
) -> tuple[Figure, Any]:
    """Return panels over k, each of a `width` and a `height` in inches."""
    size, around = (width * columns + 0.9, height * rows + 1.9), (0.8, 0.12, 1.1, 1.15)
    shared = {"sharex": True, "sharey": "row"}
    figure, axes = style.panels(rows, columns, size, around, (0.08, 0.22), **shared)
    sizes = _values(table, "k")
    for axis in axes.flat:
        axis.set_xscale("log")
        ticks = [tick for tick in K_TICKS if sizes[0] <= tick <= sizes[-1]]
        style.plain_ticks(axis.xaxis, ticks, style.as_number)
        axis.set_xlim(sizes[0] / 1.12, sizes[-1] * 1.12)
        style.gridded(axis)
    for axis in axes[-1]:
        axis.set_xlabel("k")
    return figure, axes


def _draw(axis: Axes, part: pd.DataFrame, lines: Mapping[str, dict[str, Any]], value: str) -> None:
    for method, line in lines.items():
        rows = where(part, method=method)
        flat = where(rows, k=names.NOT_APPLICABLE)
        if len(flat):
            height, low, high = flat[[value, "ci_low", "ci_high"]].iloc[0].tolist()
            axis.axhline(height, **line, linewidth=1.5)
            if np.isfinite(low) and np.isfinite(high) and low < high:
                axis.axhspan(low, high, color=line["color"], alpha=0.10, linewidth=0)
        clustered = rows[rows["k"] != names.NOT_APPLICABLE]
        if len(clustered):
            style.line_with_band(axis, clustered, "k", value, markersize=3.5, linewidth=1.5, **line)


def _legend(
    figure: Figure,
    table: pd.DataFrame,
    lines: Mapping[str, dict[str, Any]],
    titles: Mapping[str, str],
) -> None:
    keys = [
        Line2D([], [], label=titles[method], **line, markersize=4, linewidth=1.8)
        for method, line in lines.items()
        if method in set(table["method"])
    ]
    style.legend_below(figure, keys, 3 if len(keys) > 8 else 4)


# -- the audit -------------------------------------------------------------------------------------

METHODS: Mapping[str, tuple[str, str, str]] = {
    # colour (safe for colour-blind readers), marker, label
    "dp_um": ("#009e73", "s", names.AUDITED["dp_um"]),
    "idp_ls": ("#0072b2", "D", names.AUDITED["idp_ls"]),
    "idp_cbls": ("#d55e00", "o", names.AUDITED["idp_cbls"]),
    "idp_cbls_prose": ("#9aa1a9", "v", "iDP-CBLS, sensitivity as in the prose"),
}
PANELS: Sequence[tuple[str, bool, str]] = (
    # unit, all attributes, title
    ("centroid", False, names.UNITS["centroid"]),
    ("attribute", False, names.UNITS["attribute"]),
    ("attribute", True, "all centroids of all attributes"),
    ("record", False, names.UNITS["record"]),
)
READINGS: Mapping[str, str] = {names.FIXED_SCALE: "-", names.RECOMPUTED_SCALE: "--"}
AUDITED_K_TICKS = (3, 10, 30, 100, 300)
SHIFTS: Mapping[str, float] = {"dp_um": 0.94, "idp_ls": 1.0, "idp_cbls": 1.06}


@style.in_style
def claimed_and_exact(table: pd.DataFrame) -> Figure:
    """Plot over k by which factor units of a `table` exceed the largest claim, first domain."""
    largest, factor = table["epsilon"].max(), table["domain_factor"].iloc[0]
    shown = where(table, epsilon=largest, domain_factor=factor, domain="public")
    shown = where(shown, clusters=names.RECLUSTERED)
    shown = shown[~names.noted(shown, names.CERTIFICATE) & ~names.noted(shown, names.SHUFFLED)]
    finite = shown["times_claimed"][np.isfinite(shown["times_claimed"])]
    infinite = 10 ** (np.ceil(np.log10(finite.max())) + 0.7)
    size = style.NARROWEST + 1.6, 2.55 * shown["dataset"].nunique() + 1.9
    titles, y = [title for *_, title in PANELS], "exact / claimed epsilon"
    figure, lines = _by_dataset(shown, titles, ("k", y), size, (1.0, 1.05))
    for own, line in lines:
        for axis, (unit, together, _) in zip(line, PANELS, strict=True):
            part = where(own, unit=unit)
            if unit == "attribute":
                part = part[(part["attribute"] == names.ALL) == together]
            _ratios(axis, part, infinite)
    keys = [
        Line2D([], [], color=colour, marker=marker, label=label, markersize=4)
        for colour, marker, label in METHODS.values()
    ]
    keys += [
        Line2D([], [], color=style.INK, linestyle="-", label="scale frozen (exact)"),
        Line2D([], [], color=style.INK, linestyle="--", label="as it runs (at least)"),
    ]
    style.legend_below(figure, keys, 3)
    style.heading(
        figure,
        "What is claimed, and what one record's change really spends",
        f"factor over the claim at epsilon {largest:g}; clusters formed anew for each "
        "neighbour; 1 or less: the claim holds",
    )
    return figure


def _by_dataset(
    table: pd.DataFrame,
    titles: Sequence[str],
    labels: tuple[str, str],
    size: tuple[float, float],
    above_and_below: tuple[float, float],
) -> tuple[Figure, Iterator[tuple[pd.DataFrame, Any]]]:
    """Return the rows of each data set with a line of panels that have titles and labels."""
    datasets = list(dict.fromkeys(table["dataset"]))
    around = (0.0, 0.0, *above_and_below)
    figure, axes = style.panels(len(datasets), len(titles), size, around, (0.06, 0.2), sharey=True)
    figure.subplots_adjust(left=0.12, right=0.985)  # proportions of the figure's width
    for line, dataset in zip(axes, datasets, strict=True):
        line[0].set_ylabel(f"{dataset}\n{labels[1]}")
    for first, last, title in zip(axes[0], axes[-1], titles, strict=True):
        first.set_title(title, fontsize=9.5)
        last.set_xlabel(labels[0])
    rows = (where(table, dataset=dataset) for dataset in datasets)
    return figure, zip(rows, axes, strict=True)


def _ratios(axis: Axes, part: pd.DataFrame, infinite: float) -> None:
    axis.axhline(1, color=style.INK, linewidth=1)
    axis.axhspan(infinite / 2.5, infinite * 2.5, color=style.GRID, alpha=0.6, linewidth=0)
    looks = product(METHODS.items(), READINGS.items())
    for (method, (colour, marker, _)), (reading, line) in looks:
        # Shifts separate the lines in the band of the infinite.
        endless = infinite * SHIFTS.get(method, 1.12) ** 6
        rows = where(part, method=method, reading=reading).sort_values("k")
        axis.plot(
            rows["k"].astype(float),
            rows["times_claimed"].replace(np.inf, endless),
            color=colour,
            linestyle=line,
            marker=marker,
            markersize=3.5,
            linewidth=1.2,
            fillstyle="full" if line == "-" else "none",
        )
    axis.set_yscale("log")
    axis.set_ylim(0.2, infinite * 2.5)
    ks = part["k"].dropna().astype(float)
    _log_scale(axis, [k for k in AUDITED_K_TICKS if k <= ks.max()] if len(ks) else [])
    powers = (10.0**power for power in range(int(np.log10(infinite)) + 1))
    style.plain_ticks(
        axis.yaxis,
        [*powers, infinite],
        lambda value: "infinite" if value >= infinite * 0.99 else f"{value:,.0f}",
    )


def _log_scale(axis: Axes, ticks: Sequence[float]) -> None:
    """Give an `axis` a log scale with plain numbers and horizontal grid lines."""
    axis.set_xscale("log")
    style.plain_ticks(axis.xaxis, ticks, plain)
    style.gridded(axis, "y", 0.5)


LAPLACE = ("#1b1f24", "^", "Laplace DP")


@style.in_style
def attacks(table: pd.DataFrame) -> Figure:
    """Plot from a `table` how often an intruder distinguishes neighbours, over claimed epsilon."""
    k = table["k"].max()
    shown = table[(table["k"] == k) | table["k"].isna()]
    size = style.NARROWEST, 2.5 * table["dataset"].nunique() + 1.9
    labels = "claimed epsilon", "share of right answers"
    titles = [kind.title for kind in names.ATTACKS.values()]
    figure, lines = _by_dataset(shown, titles, labels, size, (1.1, 0.95))
    for own, line in lines:
        for axis, kind in zip(line, names.ATTACKS.values(), strict=True):
            part = own[(own["reading"] == kind.reading) | (own["method"] == "dp")]
            part = where(part, attack=kind.attack)
            _accuracies(axis, part[part["neighbour"].str.contains(kind.neighbour)])
    looks = [look for name, look in METHODS.items() if name in set(table["method"])]
    keys = [style.mark_key(*look) for look in (*looks, LAPLACE)]
    keys.append(Line2D([], [], color=style.INK, label="most that the claimed epsilon allows"))
    style.legend_below(figure, keys, 5)
    style.heading(
        figure,
        "Telling a file from its neighbour by one release",
        f"k = {k:g}; half of the releases are of each; 95 % intervals",
    )
    return figure


def _accuracies(axis: Axes, part: pd.DataFrame) -> None:
    grid = np.geomspace(0.006, 1.7, 80)
    axis.plot(grid, 1 / (1 + np.exp(-grid)), color=style.INK, linewidth=1)
    looks = {"dp": LAPLACE, **METHODS}
    shifts = np.geomspace(0.88, 1.14, len(looks))
    for shift, (method, (colour, marker, _)) in zip(shifts, looks.items(), strict=True):
        rows = where(part, method=method).drop_duplicates("claimed_epsilon")
        errors = np.abs(rows[["ci_low", "ci_high"]].sub(rows["accuracy"], axis=0).to_numpy().T)
        axis.errorbar(
            rows["claimed_epsilon"] * shift,
            rows["accuracy"],
            yerr=errors if len(rows) else None,
            color=colour,
            marker=marker,
            linestyle="none",
            markersize=5,
            linewidth=1,
        )
    axis.set_ylim(0.44, 1.03)
    _log_scale(axis, [0.01, 0.1, 1.0])
