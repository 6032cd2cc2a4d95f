"""Figures 3 to 6 of [idp] with competitors with central ε-DP; audit, attacks and noises.

The catalog names the table of each figure. An ε, domain factor or k of 0 does not apply.
"""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator

from deniable.display import look, plain, style

from reproduction.papers.idp import names
from reproduction.study import where

KEY = {"markersize": 4, "linewidth": 1.8}
K_TICKS = (3, 5, 10, 25, 50, 100, 200, 400)
FEW_K_TICKS = (3, 10, 30, 100, 300)
# Colours are safe for colour-blind readers.
_CLUSTERED = {
    "dp_um": look("#e69f00", marker="s"),
    "idp_ls": look("#0072b2", marker="o"),
    "idp_cbls": look("#d55e00", marker="^"),
}
SSE_LINES = {
    "dp": look("#1b1f24"),
    **_CLUSTERED,
    "dp_synthetic": look("#009e73", "--"),
    "dp_median": look("#009e73"),
    "no_data": look("#9aa1a9", "--"),
    "least_dp": look("#cc79a7", ":"),
}
FOREST_LINES = {
    "original": look(style.INK, "--"),
    names.BEST_DP: look("#009e73"),
    "dp": look("#cc79a7"),
    **_CLUSTERED,
}


@style.in_style
def errors(table: pd.DataFrame, dataset: str) -> Figure:
    """Plot the mean SSE of a `table` on a `dataset`, "census" or "wine"."""
    epsilons, factors = _values(table, "epsilon"), _values(table, "domain_factor")

    def panel(axis: Axes, factor: float, epsilon: float) -> None:
        part = where(table, epsilon=epsilon, domain_factor=factor)
        _draw(axis, part, SSE_LINES, "mean_sse", _values(table, "k"))
        axis.set_yscale("log")
        axis.yaxis.set_major_locator(LogLocator(10, numticks=12))
        axis.yaxis.set_minor_locator(NullLocator())
        axis.set_title(f"ε = {epsilon:g}, domain to {factor:g} × maximum", fontsize=9.5)

    rows, columns = dict.fromkeys(factors, "mean SSE (log scale)"), dict.fromkeys(epsilons, "")
    size, share = (2.9, 0.9, 2.75, 1.9), (True, "row")
    figure, _ = style.panel_grid(rows, columns, panel, size, "k", 9.5, share)
    return style.finish(
        figure,
        f"{names.DATASETS[dataset]}: mean SSE of masked records against k",
        "in variances of an attribute: 1 is the error of the overall mean; "
        f"means of {table['replicates'].max():,} replicates, bands: 95 % intervals",
        style.legend_keys(SSE_LINES, names.SSE_TITLES, table["method"], **KEY),
        3 if table["method"].nunique() > 8 else 4,
    )


@style.in_style
def f_measures(table: pd.DataFrame, dataset: str) -> Figure:
    """Plot F-measures of a `table` on a `dataset`, "census" or "wine", in the narrowest domain."""
    epsilons, factor = _values(table, "epsilon"), _values(table, "domain_factor")[0]
    shown = with_best_dp(where(table, domain_factor=(factor, names.NOT_APPLICABLE)))

    def panel(axis: Axes, name: str, epsilon: float) -> None:
        part = where(shown, **{"epsilon": (epsilon, names.NOT_APPLICABLE), "class": name})
        for height in where(part, method="majority")["f_measure"]:
            axis.axhspan(-1, height, color=style.GRID, alpha=0.5, linewidth=0)
        _draw(axis, part, FOREST_LINES, "f_measure", _values(table, "k"), FEW_K_TICKS)
        axis.set_ylim(-0.02, 1.02)

    rows = {name: f"F-measure of\n{name}" for name in dict.fromkeys(table["class"])}
    columns = {epsilon: f"ε = {epsilon:g}" for epsilon in epsilons}
    figure, _ = style.panel_grid(rows, columns, panel, (0, style.COLUMN, 1.95, 2.8), "k")
    last = where(shown, epsilon=epsilons[-1]).groupby("method")["f_measure"].mean()
    found = [f"{last[name]:.2f} by {of}" for name, of in names.IN_TITLE.items() if name in last]
    return style.finish(
        figure,
        f"{names.DATASETS[dataset]}: mean F at ε = {epsilons[-1]:g} is " + ", ".join(found),
        f"domain to {factor:g} × maximum; means of {table['replicates'].max():,} replicates with "
        "95 % intervals; lines without markers do not depend on k",
        [
            *style.legend_keys(FOREST_LINES, names.FOREST_LABELS, shown["method"], **KEY),
            look(style.GRID, linewidth=7, label="no better than the majority class"),
        ],
        2,
    )


def with_best_dp(table: pd.DataFrame) -> pd.DataFrame:
    """Return the `table` of F-measures with additional rows, the best classifier with central ε-DP.

    It is the best on average over the classes, for each ε, and has the method `BEST_DP`. Intervals
    are cut off at 0 and 1, the limits of F-measures.
    """
    ends = {name: table[name].clip(0, 1) for name in ("ci_low", "ci_high")}
    rivals = where(table, method=names.DP_BASELINES)
    means = rivals.groupby(["epsilon", "method"])["f_measure"].mean()
    best = means[means.groupby("epsilon").transform("max") == means].index
    chosen = rivals.set_index(["epsilon", "method"]).index.isin(best)
    return pd.concat([table, rivals[chosen].assign(method=names.BEST_DP)]).assign(**ends)


def _values(table: pd.DataFrame, column: str) -> list[float]:
    return sorted(set(table[column]) - {names.NOT_APPLICABLE})


def _draw(
    axis: Axes,
    part: pd.DataFrame,
    lines: Mapping[str, style.Look],
    value: str,
    sizes: Sequence[float],
    ticks: Sequence[float] = K_TICKS,
) -> None:
    """Plot a `value` over k, at `sizes`, with `ticks`; methods without k are horizontal lines."""
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
    inside = [tick for tick in ticks if sizes[0] <= tick <= sizes[-1]]
    style.log_scale(axis.xaxis, inside, style.as_number)
    axis.set_xlim(sizes[0] / 1.12, sizes[-1] * 1.12)


METHODS = {
    "dp_um": look("#009e73", marker="s", label=names.AUDITED["dp_um"]),
    "idp_ls": look("#0072b2", marker="D", label=names.AUDITED["idp_ls"]),
    "idp_cbls": look("#d55e00", marker="o", label=names.AUDITED["idp_cbls"]),
    "idp_cbls_prose": look("#9aa1a9", marker="v", label="iDP-CBLS, sensitivity of the text"),
}
PANELS = {
    "centroid": names.UNITS["centroid"],
    "attribute": names.UNITS["attribute"],
    names.ALL: "all centroids of all attributes",
    "record": names.UNITS["record"],
}
READINGS = {
    names.FIXED_SCALE: look(style.INK, label="scale frozen (exact)"),
    names.RECOMPUTED_SCALE: look(style.INK, "--", label="as it runs (lower bound)"),
}
SHIFTS = {"dp_um": 0.94, "idp_ls": 1.0, "idp_cbls": 1.06}


@style.in_style
def audit(table: pd.DataFrame) -> Figure:
    """Plot exact over claimed ε by k, from a `table`, at the largest claim and first domain."""
    largest, factor = table["epsilon"].max(), table["domain_factor"].iloc[0]
    shown = where(table, epsilon=largest, domain_factor=factor, domain="public")
    shown = where(shown, clusters=names.RECLUSTERED)
    shown = shown[~names.noted(shown, names.CERTIFICATE) & ~names.noted(shown, names.SHUFFLED)]
    together = (shown["unit"] == "attribute") & (shown["attribute"] == names.ALL)
    shown = shown.assign(unit=shown["unit"].mask(together, names.ALL))
    finite = shown["times_claimed"][np.isfinite(shown["times_claimed"])]
    infinite = 10 ** (np.ceil(np.log10(finite.max())) + 0.7)

    powers = [10.0**power for power in range(int(np.log10(infinite)) + 1)]

    def text(value: float) -> str:
        return "infinite" if value >= infinite * 0.99 else f"{value:,.0f}"

    def panel(axis: Axes, dataset: str, unit: str) -> None:
        part = where(shown, dataset=dataset, unit=unit)
        axis.axhline(1, color=style.INK, linewidth=1)
        axis.axhspan(infinite / 2.5, infinite * 2.5, color=style.GRID, alpha=0.6, linewidth=0)
        for (method, options), reading in product(METHODS.items(), READINGS):
            # Shifts separate the lines in the band for infinite values.
            endless = infinite * SHIFTS.get(method, 1.12) ** 6
            rows = where(part, method=method, reading=reading).sort_values("k")
            more = options | {"linestyle": READINGS[reading]["linestyle"]}
            more |= {"fillstyle": "full" if reading == names.FIXED_SCALE else "none"}
            heights = rows["times_claimed"].replace(np.inf, endless)
            axis.plot(rows["k"].astype(float), heights, **more, markersize=3.5, linewidth=1.2)
        most = part["k"].dropna().max()
        style.log_scale(axis.xaxis, [k for k in (3, 10, 30, 100, 300) if k <= most], plain)
        style.log_scale(axis.yaxis, [*powers, infinite], text)
        axis.set_ylim(0.2, infinite * 2.5)

    figure = _by_dataset(shown, "exact / claimed ε", PANELS, panel, 2.55, "k")
    return style.finish(
        figure,
        "Exact over claimed ε for a change of one record",
        f"claimed ε = {largest:g}; clusters are formed again for each neighbour; "
        "1 or less: the claim holds",
        [*style.legend_keys(METHODS, markersize=4), *READINGS.values()],
        3,
    )


def _by_dataset(
    table: pd.DataFrame, ylabel: str, columns: Any, draw: Any, height: float, xlabel: str
) -> Figure:
    """Return a figure with a row of panels, of a `height`, for each data set of a `table`."""
    shown = dict.fromkeys(table["dataset"])
    rows = {name: f"{names.DATASETS.get(name, name)}\n{ylabel}" for name in shown}
    size, share = (0, style.NARROWEST + 1.6, height, 1.9), (False, True)
    return style.panel_grid(rows, columns, draw, size, xlabel, 9.5, share, "y")[0]


LAPLACE = look("#1b1f24", "none", "^", label="Laplace DP")
ATTACKS = {  # neighbour and interpretation in each panel
    (names.WHOLE_RECORD, names.FIXED_SCALE): "likelihood of centroids,\nscale frozen",
    (names.WHOLE_RECORD, names.RECOMPUTED_SCALE): "likelihood of centroids,\nas it runs",
    (names.RANDOM_CHANGE, names.RECOMPUTED_SCALE): "records with equal values,\nrandom change",
}


@style.in_style
def attacks(table: pd.DataFrame) -> Figure:
    """Plot the accuracy of an intruder who distinguishes neighbours, from a `table`."""
    k = table["k"].max()
    shown = table[(table["k"] == k) | table["k"].isna()]

    grid, looks = np.geomspace(0.006, 1.7, 80), {"dp": LAPLACE, **METHODS}

    def panel(axis: Axes, dataset: str, attack: tuple[str, str]) -> None:
        neighbour, reading = attack
        part = where(shown, dataset=dataset, neighbour=neighbour)
        part = part[(part["reading"] == reading) | (part["method"] == "dp")]
        axis.plot(grid, 1 / (1 + np.exp(-grid)), color=style.INK, linewidth=1)
        shifts = np.geomspace(0.88, 1.14, len(looks))
        for shift, (method, options) in zip(shifts, looks.items(), strict=True):
            rows = where(part, method=method).drop_duplicates("claimed_epsilon")
            errors = np.abs(rows[["ci_low", "ci_high"]].sub(rows["accuracy"], axis=0).to_numpy().T)
            more = options | {"linestyle": "none", "markersize": 5, "linewidth": 1}
            at, known = rows["claimed_epsilon"] * shift, errors if len(rows) else None
            axis.errorbar(at, rows["accuracy"], yerr=known, **more)
        axis.set_ylim(0.44, 1.03)
        style.log_scale(axis.xaxis, [0.01, 0.1, 1.0], plain)

    ylabel, xlabel = "proportion of right answers", "claimed ε"
    return style.finish(
        _by_dataset(shown, ylabel, ATTACKS, panel, 2.5, xlabel),
        "Attacks that distinguish a file from its neighbour by one release",
        f"k = {k:g}; half of the releases are from each file; 95 % intervals",
        [
            *style.legend_keys(METHODS, shown=table["method"], linestyle="none"),
            LAPLACE,
            look(style.INK, label="limit for the claimed ε"),
        ],
        5,
    )


NOISES = {
    "square wave": "#0072b2",
    "staircase": "#009e73",
    "Laplace": "#d55e00",
    "generalized randomized response": "#1b1f24",
}


@style.in_style
def noises(table: pd.DataFrame) -> Figure:
    """Plot the distance to the original distribution and the error of its mean, from a `table`."""
    every = product(NOISES.items(), names.SHOWN_ESTIMATORS.items())
    lines = {(n, e): style.look(colour, line, linewidth=1.6) for (n, colour), (e, line) in every}

    def panel(axis: Axes, _: str, column: str) -> None:
        for (noise, estimator), options in lines.items():
            part = where(table, noise=noise, estimator=estimator)
            shown = part if column == "wasserstein" else part.drop(columns="ci_low")
            style.line_with_band(axis, shown, "exact_epsilon", column, **options)
        style.log_scale(axis.xaxis, [0.25, 0.5, 1.0, 2.0, 4.0, 8.0], style.as_number)
        ticks = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2]
        style.log_scale(axis.yaxis, ticks, style.as_share)

    rows, xlabel = {"": "of the range of the grid"}, r"exact $\epsilon$ of a response"
    columns = {"wasserstein": "Wasserstein distance", "rmse": "root mean squared error of the mean"}
    size, apart = (0, 9.4, 0, 4.4), (False, False)
    figure, _ = style.panel_grid(rows, columns, panel, size, xlabel, share=apart)
    looks = {noise: style.look(colour, label=noise) for noise, colour in NOISES.items()}
    for name, line in names.SHOWN_ESTIMATORS.items():
        looks[name] = style.look(style.INK, line, label=names.ESTIMATORS[name])
    return style.finish(
        figure,
        "Beyond [idp]: noises for ages on a public grid, without a curator",
        f"{table['cells'].iloc[0]} cells, {table['n'].iloc[0]:,} records; means of "
        f"{table['replicates'].iloc[0]} replicates, bands: 95 % intervals",
        style.legend_keys(looks, linewidth=2),
        3,
    )
