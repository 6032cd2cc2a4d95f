"""Plot Tables 1 and 2 of [multirr], and a sweep beyond them, from the tables in the catalog."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from deniable.display import look, style

from reproduction.study import first_of, where

REGENERATED_STYLE = {
    "joint": look("#d55e00", marker="s", label="regenerated, one matrix a cluster (joint)"),
    "kronecker": look(
        "#0072b2", marker="o", label="regenerated, attribute by attribute (kronecker)"
    ),
}
BESIDE = {"joint": -0.055, "kronecker": 0.055}
"""The places of regenerated values beside the published one."""
PRINTED_TICKS = [0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0]
SWEEP_TICKS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0]


@style.in_style
def printed_against_regenerated(table: pd.DataFrame, title: str) -> Figure:
    """Draw a `table` of relative errors under a `title`: a panel for each p, T_v by T_d.

    Printed values are diamonds. Regenerated medians, with intervals, are filled if they agree.
    """
    columns = {p: f"p = {p:g}" for p in sorted(table["p"].unique())}
    figure, _ = style.panel_grid(
        {"": "median relative error of a count query"},
        columns,
        lambda axis, _, p: _cells(axis, where(table, p=p)),
        (2.6, 1.2, 0, 4.9),
        (0.87, 0.12, 0.92, 1.08),
        (0.08, 0),
    )
    least = ", ".join(f"{t_d:g}" for t_d in sorted(table["t_d"].unique()))
    figure.supxlabel(f"largest cluster T$_v$ (side by side: T$_d$ = {least})", y=0.115)
    runs = f"medians of {int(table['replicates'].max())} runs with 95 % intervals"
    hollow = "hollow: does not agree, or has no verdict"
    keys = [
        look(style.INK, "none", "D", "printed", markersize=4),
        *style.legend_keys(REGENERATED_STYLE, shown=table["mechanism"], markersize=4.5),
        look("#6a737d", "none", "o", hollow, markerfacecolor="white"),
    ]
    return style.finish(figure, title, f"printed values beside {runs}", keys)


def _cells(axis: Axes, cells: pd.DataFrame) -> None:
    """Draw the cells of one p."""
    sizes = sorted(cells["t_v"].unique())
    dependences = sorted(cells["t_d"].unique())
    style.log_scale(axis.yaxis, PRINTED_TICKS, lambda share: f"{100 * share:.0f}%")
    style.gridded(axis, "y", 0.8)
    axis.set_xticks(range(len(sizes)), [str(size) for size in sizes])
    axis.set_xlim(-0.55, len(sizes) - 0.45)
    for row in cells.to_dict("records"):
        spread = dependences.index(row["t_d"]) - (len(dependences) - 1) / 2
        x = sizes.index(row["t_v"]) + 0.27 * spread
        options = REGENERATED_STYLE[row["mechanism"]]
        value = row["regenerated"]
        reach = np.array([[value - row["ci_low"]], [row["ci_high"] - value]])
        # With very few runs the interval is the whole line; there is nothing to draw then.
        ends = reach if np.all(np.isfinite(reach)) else np.zeros((2, 1))
        filled = options["color"] if row["verdict"] == "agrees" else "white"
        more = options | {"markersize": 4.2, "markerfacecolor": filled, "linewidth": 1.1}
        axis.errorbar(x + BESIDE[row["mechanism"]], value, yerr=ends, **more)
        if not np.isnan(row["published"]):
            axis.plot(x, row["published"], "D", color=style.INK, markersize=3.6, zorder=4)


@style.in_style
def thresholds(table: pd.DataFrame) -> Figure:
    """Draw the `table`, p by T_v, in a field for each number of records (across) and T_d (down).

    Dots mark the best T_v for a p, and others with an interval that meets its interval. Only the
    first interpretation is drawn.
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
        (0.75, 1.2, 1.05, 0.5),
        (0.06, 0.12),
        xlabel="p",
    )
    width, height = figure.get_size_inches()
    place = figure.add_axes((1 - 1.05 / width, 0.5 / height, 0.16 / width, 1 - 1.55 / height))
    shown: Any = {"ticks": SWEEP_TICKS, "format": "%g", "label": "median relative error"}
    figure.colorbar(axes[-1, -1].images[0], cax=place, **shown).minorticks_off()
    named = ", ".join(f"{column} {drawn[column].iloc[0]}" for column in settings)
    return style.finish(
        figure,
        "RR-Clusters: relative error of count queries over p, thresholds and records",
        f"medians of {drawn['replicates'].max():,} runs a cell; {named}\n"
        "dots: the best T$_v$ for that p, and those whose 95 % intervals meet the best one's",
    )


def _field(axis: Axes, here: pd.DataFrame, shades: LogNorm) -> None:
    values, low, high = (
        here.pivot(index="t_v", columns="p", values=column)
        for column in ("median_relative_error", "ci_low", "ci_high")
    )
    axis.imshow(values, norm=shades, cmap="viridis_r", aspect="auto", origin="lower")
    best = values.to_numpy().argmin(axis=0)
    for column, row in enumerate(best):
        # Equal numbers come from equal clusters.
        as_good = np.flatnonzero(low.iloc[:, column] <= high.iloc[row, column])
        inks: Any = {"markeredgecolor": "white", "markerfacecolor": style.INK, "linestyle": "none"}
        axis.plot(np.full(as_good.size, column), as_good, "o", markersize=5, **inks)
    axis.set_xticks(range(len(values.columns)), [f"{p:g}".lstrip("0") for p in values.columns])
    axis.set_yticks(range(len(values.index)), [f"{t_v:g}" for t_v in values.index])
    axis.tick_params(labelsize=7.5, length=2)
