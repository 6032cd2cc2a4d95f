"""Plot Tables 1 and 2 of [multirr], and a sweep beyond them, from the tables in the catalog."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D

from deniable.display import first_of, style

REGENERATED_STYLE = {
    # colour, marker, label, where beside the printed value
    "joint": ("#d55e00", "s", "regenerated, one matrix a cluster (joint)", -0.055),
    "kronecker": ("#0072b2", "o", "regenerated, attribute by attribute (kronecker)", 0.055),
}
PRINTED_TICKS = [0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0]
SWEEP_TICKS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0]


@style.in_style
def printed_against_regenerated(table: pd.DataFrame, title: str) -> Figure:
    """Draw a `table` of relative errors under a `title`: a panel for each p, T_v by T_d.

    Printed values are diamonds. Regenerated medians, with intervals, are filled if they agree.
    """
    probabilities = sorted(table["p"].unique())
    size = (2.6 * len(probabilities) + 1.2, 4.9)
    around = (0.87, 0.12, 0.92, 1.08)
    figure, (axes,) = style.panels(1, len(probabilities), size, around, (0.08, 0), sharey=True)
    for axis, p in zip(axes, probabilities, strict=True):
        _cells(axis, table[table["p"] == p])
        axis.set_title(f"p = {p:g}", fontsize=10)
    axes[0].set_ylabel("median relative error of a count query")
    least = ", ".join(f"{t_d:g}" for t_d in sorted(table["t_d"].unique()))
    figure.supxlabel(f"largest cluster T$_v$ (side by side: T$_d$ = {least})", y=0.115)
    runs = f"medians of {int(table['replicates'].max())} runs with 95 % intervals"
    style.heading(figure, title, f"printed values beside {runs}")
    keys = [
        Line2D([], [], color=colour, marker=marker, markersize=4.5, label=label)
        for mechanism, (colour, marker, label, _) in REGENERATED_STYLE.items()
        if (table["mechanism"] == mechanism).any()
    ]
    surrogate = (table["verdict"] == "surrogate").any()
    hollow = f"hollow: {'no verdict on surrogate data' if surrogate else 'does not agree'}"
    printed = style.mark_key(style.INK, "D", "printed", markersize=4)
    other = style.mark_key("#6a737d", "o", hollow, markerfacecolor="white")
    style.legend_below(figure, [printed, *keys, other], 4)
    return figure


def _cells(axis: Axes, cells: pd.DataFrame) -> None:
    """Draw the cells of one p."""
    sizes = sorted(cells["t_v"].unique())
    dependences = sorted(cells["t_d"].unique())
    axis.set_yscale("log")
    style.plain_ticks(axis.yaxis, PRINTED_TICKS, lambda share: f"{100 * share:.0f}%")
    style.gridded(axis, "y", 0.8)
    axis.set_xticks(range(len(sizes)), [str(size) for size in sizes])
    axis.set_xlim(-0.55, len(sizes) - 0.45)
    for row in cells.to_dict("records"):
        spread = dependences.index(row["t_d"]) - (len(dependences) - 1) / 2
        x = sizes.index(row["t_v"]) + 0.27 * spread
        colour, marker, _, beside = REGENERATED_STYLE[row["mechanism"]]
        value = row["regenerated"]
        reach = np.array([[value - row["ci_low"]], [row["ci_high"] - value]])
        axis.errorbar(
            x + beside,
            value,
            # With very few runs the interval is the whole line; there is nothing to draw then.
            yerr=reach if np.all(np.isfinite(reach)) else np.zeros((2, 1)),
            color=colour,
            marker=marker,
            markersize=4.2,
            markerfacecolor=colour if row["verdict"] == "agrees" else "white",
            linewidth=1.1,
        )
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
    sizes, rows = sorted(drawn["records"].unique()), sorted(drawn["t_d"].unique())
    shades = LogNorm(drawn["median_relative_error"].min(), drawn["median_relative_error"].max())
    size = (2.05 * len(sizes) + 1.5, 1.35 * len(rows) + 1.55)
    around = (0.75, 1.2, 1.05, 0.5)
    figure, axes = style.panels(
        len(rows), len(sizes), size, around, (0.06, 0.12), sharex=True, sharey=True
    )
    for line, t_d in zip(axes, rows, strict=True):
        for axis, records in zip(line, sizes, strict=True):
            here = drawn[(drawn["t_d"] == t_d) & (drawn["records"] == records)]
            image = _field(axis, here, shades)
        line[0].set_ylabel(f"T$_d$ = {t_d:g}\nT$_v$")
    for axis, records in zip(axes[0], sizes, strict=True):
        axis.set_title(f"{records:,} records", fontsize=10)
    for axis in axes[-1]:
        axis.set_xlabel("p")
    named = ", ".join(f"{column} {drawn[column].iloc[0]}" for column in settings)
    style.heading(
        figure,
        "RR-Clusters: relative error of count queries over p, thresholds and records",
        f"medians of {drawn['replicates'].max():,} runs a cell; {named}\n"
        "dots: the best T$_v$ for that p, and those whose 95 % intervals meet the best one's",
    )
    _shades(figure, image)
    return figure


def _field(axis: Axes, here: pd.DataFrame, shades: LogNorm) -> AxesImage:
    values, low, high = (
        here.pivot(index="t_v", columns="p", values=column)
        for column in ("median_relative_error", "ci_low", "ci_high")
    )
    image = axis.imshow(values, norm=shades, cmap="viridis_r", aspect="auto", origin="lower")
    best = values.to_numpy().argmin(axis=0)
    for column, row in enumerate(best):
        # Equal numbers come from equal clusters.
        as_good = np.flatnonzero(low.iloc[:, column] <= high.iloc[row, column])
        inks: Any = {"markeredgecolor": "white", "markerfacecolor": style.INK, "linestyle": "none"}
        axis.plot(np.full(as_good.size, column), as_good, "o", markersize=5, **inks)
    axis.set_xticks(range(len(values.columns)), [f"{p:g}".lstrip("0") for p in values.columns])
    axis.set_yticks(range(len(values.index)), [f"{t_v:g}" for t_v in values.index])
    axis.tick_params(labelsize=7.5, length=2)
    return image


def _shades(figure: Figure, image: AxesImage) -> None:
    """Draw the scale of the fields' shades on the right."""
    width, height = figure.get_size_inches()
    place = figure.add_axes((1 - 1.05 / width, 0.5 / height, 0.16 / width, 1 - 1.55 / height))
    bar = figure.colorbar(image, cax=place)
    lowest, highest = bar.ax.get_ylim()
    ticks = [tick for tick in SWEEP_TICKS if lowest <= tick <= highest]
    bar.set_ticks(ticks, labels=[f"{tick:g}" for tick in ticks])
    bar.set_label("median relative error")
    bar.ax.minorticks_off()
    bar.outline.set_visible(False)
