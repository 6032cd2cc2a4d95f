"""Printed values beside regenerated ones: Tables 1 and 2 of [multirr]."""

from collections.abc import Mapping

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, NullLocator, PercentFormatter

from deniable.display import GRID, INK, STYLE, mark_surrogate

MECHANISM_STYLE: Mapping[str, tuple[str, str, str]] = {
    # colour (safe for colour-blind readers), marker, label
    "joint": ("#d55e00", "s", "regenerated, one matrix a cluster (joint)"),
    "kronecker": ("#0072b2", "o", "regenerated, attribute by attribute (kronecker)"),
}


def printed_against_regenerated(table: pd.DataFrame, title: str) -> Figure:
    """Draw a table of relative errors: a panel for each p, T_v across, T_d side by side.

    Printed values are diamonds; regenerated medians have their 95 % intervals and are filled where
    the verdict is "agrees", hollow otherwise.

    Parameters
    ----------
    table : DataFrame
        Columns p, t_d, t_v, mechanism, published, regenerated, ci_low, ci_high, verdict,
        replicates, data_source.
    title : str
    """
    with mpl.rc_context(STYLE):
        probabilities = sorted(table["p"].unique())
        figure = Figure(figsize=(2.6 * len(probabilities) + 1.2, 4.9))
        FigureCanvasAgg(figure)
        axes = figure.subplots(1, len(probabilities), sharey=True, squeeze=False)[0]
        for axis, p in zip(axes, probabilities, strict=True):
            _panel(axis, table[table["p"] == p], f"p = {p:g}")
        axes[0].set_ylabel("median relative error of a count query")
        least = ", ".join(f"{t_d:g}" for t_d in sorted(table["t_d"].unique()))
        figure.supxlabel(f"largest cluster T$_v$ (side by side: T$_d$ = {least})", y=0.115)
        replicates = int(table["replicates"].max())
        figure.suptitle(f"{title}\n", x=0.01, ha="left", fontweight="bold")
        figure.text(
            0.01,
            0.925,
            f"printed values beside medians of {replicates} runs with 95 % intervals",
            ha="left",
        )
        figure.legend(handles=_legend(table), loc="lower center", ncols=4, frameon=False)
        figure.subplots_adjust(left=0.075, right=0.99, top=0.84, bottom=0.22, wspace=0.08)
        mark_surrogate(figure, table)
        return figure


def _panel(axis: Axes, cells: pd.DataFrame, heading: str) -> None:
    sizes = sorted(cells["t_v"].unique())
    dependences = sorted(cells["t_d"].unique())
    axis.set_title(heading, fontsize=10)
    axis.set_yscale("log")
    axis.yaxis.set_major_locator(FixedLocator([0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0]))
    axis.yaxis.set_minor_locator(NullLocator())
    axis.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    axis.grid(axis="y", color=GRID, linewidth=0.8)
    axis.set_axisbelow(True)
    axis.set_xticks(range(len(sizes)), [str(size) for size in sizes])
    axis.set_xlim(-0.55, len(sizes) - 0.45)
    for row in cells.to_dict("records"):
        spread = dependences.index(row["t_d"]) - (len(dependences) - 1) / 2
        x = sizes.index(row["t_v"]) + 0.27 * spread
        colour, marker, _ = MECHANISM_STYLE[row["mechanism"]]
        beside = x + (0.055 if row["mechanism"] == "kronecker" else -0.055)
        value = row["regenerated"]
        reach = np.array([[value - row["ci_low"]], [row["ci_high"] - value]])
        # With very few runs the interval is the whole line; there is nothing to draw then.
        reach = reach if np.all(np.isfinite(reach)) else np.zeros((2, 1))
        axis.errorbar(
            beside,
            value,
            yerr=reach,
            color=colour,
            marker=marker,
            markersize=4.2,
            markerfacecolor=colour if row["verdict"] == "agrees" else "white",
            linewidth=1.1,
        )
        if not np.isnan(row["published"]):
            axis.plot(x, row["published"], "D", color=INK, markersize=3.6, zorder=4)


def _legend(table: pd.DataFrame) -> list[Line2D]:
    handles = [Line2D([], [], color=INK, marker="D", linestyle="", markersize=4, label="printed")]
    for mechanism, (colour, marker, label) in MECHANISM_STYLE.items():
        if (table["mechanism"] == mechanism).any():
            handles.append(Line2D([], [], color=colour, marker=marker, markersize=4.5, label=label))
    handles.append(
        Line2D(
            [],
            [],
            color="#6a737d",
            marker="o",
            linestyle="",
            markerfacecolor="white",
            label=(
                "hollow: no verdict on surrogate data"
                if (table["verdict"] == "surrogate").any()
                else "hollow: does not agree"
            ),
        )
    )
    return handles
