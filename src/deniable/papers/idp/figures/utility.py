"""Figures 3 to 6 of [idp]: mean SSE and F-measures against k, with honest competitors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

from deniable.display import (
    GRID,
    INK,
    NARROWEST,
    STYLE,
    canvas,
    heading,
    line_with_band,
    mark_surrogate,
)
from deniable.papers.idp.names import FOREST_TITLES, NOT_APPLICABLE, SSE_TITLES

K_TICKS = (3, 5, 10, 25, 50, 100, 200, 400)


@dataclass(frozen=True)
class Line:
    """How a method is drawn: colour (safe for colour-blind readers), line, marker."""

    colour: str
    style: Literal["-", "--", ":"] = "-"
    marker: str = ""

    def drawn(self, markersize: float, **more: Any) -> dict[str, Any]:
        """Return it as matplotlib takes it."""
        style = {"color": self.colour, "linestyle": self.style, "marker": self.marker or None}
        return style | {"markersize": markersize} | more


_CLUSTERED = {
    "dp_um": Line("#e69f00", marker="s"),
    "idp_ls": Line("#0072b2", marker="o"),
    "idp_cbls": Line("#d55e00", marker="^"),
}
SSE_LINES: Mapping[str, Line] = (
    {"dp": Line("#1b1f24")}
    | _CLUSTERED
    | {
        "dp_synthetic": Line("#009e73", "--"),
        "dp_median": Line("#009e73"),
        "no_data": Line("#9aa1a9", "--"),
        "least_dp": Line("#cc79a7", ":"),
    }
)
FOREST_LINES: Mapping[str, Line] = {
    "original": Line(INK, "--"),
    "majority": Line("#9aa1a9", "--"),
    "dp_rule": Line("#009e73"),
    "dp_naive_bayes": Line("#56b4e9"),
    "dp_synthetic": Line("#009e73", ":"),
    "dp": Line("#cc79a7"),
} | _CLUSTERED


def fig3(table: pd.DataFrame) -> Figure:
    """Draw the mean SSE on Census.

    Parameters
    ----------
    table : DataFrame
        Columns method, epsilon, domain_factor, k, mean_sse, ci_low, ci_high, replicates,
        data_source.
    """
    return _sse(table, "Census: mean SSE of masked records against k")


def fig4(table: pd.DataFrame) -> Figure:
    """Draw the mean SSE on Wine; the columns are those of `fig3`."""
    return _sse(table, "White wine: mean SSE of masked records against k")


def fig5(table: pd.DataFrame) -> Figure:
    """Draw the F-measures on Census.

    Parameters
    ----------
    table : DataFrame
        Columns method, epsilon, domain_factor, k, class, f_measure, ci_low, ci_high, replicates,
        data_source; epsilon, domain_factor and k are 0 where they do not apply.
    """
    return _forests(table, "Census: F-measures of classifiers trained on protected records")


def fig6(table: pd.DataFrame) -> Figure:
    """Draw the F-measures on Wine; the columns are those of `fig5`."""
    return _forests(table, "White wine: F-measures of classifiers trained on protected records")


def _sse(table: pd.DataFrame, title: str) -> Figure:
    epsilons, factors = _values(table, "epsilon"), _values(table, "domain_factor")
    with mpl.rc_context(STYLE):
        figure, axes = _panels(len(factors), len(epsilons), 2.9, 2.75)
        for (row, factor), (column, epsilon) in product(enumerate(factors), enumerate(epsilons)):
            axis = axes[row, column]
            part = table[(table["epsilon"] == epsilon) & (table["domain_factor"] == factor)]
            _draw(axis, part, SSE_LINES, "mean_sse")
            axis.set_yscale("log")
            axis.yaxis.set_major_locator(LogLocator(10, numticks=12))
            axis.yaxis.set_minor_locator(NullLocator())
            axis.set_title(f"ε = {epsilon:g}, domain to {factor:g} × maximum", fontsize=9.5)
            axes[row, 0].set_ylabel("mean SSE (log scale)")
        below = (
            "in variances of an attribute: 1 is the error of everybody's mean; "
            f"means of {table['replicates'].max():,} runs, bands: 95 % intervals"
        )
        _finish(figure, axes, table, _handles(table, SSE_LINES, SSE_TITLES), title, below)
        return figure


def _forests(table: pd.DataFrame, title: str) -> Figure:
    epsilons, factors = _values(table, "epsilon"), _values(table, "domain_factor")
    panels = list(product(factors, dict.fromkeys(table["class"])))
    with mpl.rc_context(STYLE):
        figure, axes = _panels(len(epsilons), len(panels), 2.65, 2.35)
        for (row, epsilon), (column, (factor, name)) in product(
            enumerate(epsilons), enumerate(panels)
        ):
            axis = axes[row, column]
            part = table[
                table["epsilon"].isin([epsilon, NOT_APPLICABLE])
                & table["domain_factor"].isin([factor, NOT_APPLICABLE])
                & (table["class"] == name)
            ]
            _draw(axis, part, FOREST_LINES, "f_measure")
            axis.set_ylim(-0.02, 1.02)
            if row == 0:
                axis.set_title(f"{name}\ndomain to {factor:g} × maximum", fontsize=9.5)
            axes[row, 0].set_ylabel(f"ε = {epsilon:g}\nF-measure")
        below = (
            f"means of {table['replicates'].max():,} runs, bands: 95 % intervals; lines without "
            "markers do not depend on k"
        )
        _finish(figure, axes, table, _handles(table, FOREST_LINES, FOREST_TITLES), title, below)
        return figure


def _draw(axis: Axes, part: pd.DataFrame, lines: Mapping[str, Line], value: str) -> None:
    for method, line in lines.items():
        rows = part[part["method"] == method]
        flat = rows[rows["k"] == NOT_APPLICABLE]
        if len(flat):
            axis.axhline(
                float(flat[value].iloc[0]), color=line.colour, linestyle=line.style, linewidth=1.5
            )
            low, high = float(flat["ci_low"].iloc[0]), float(flat["ci_high"].iloc[0])
            if np.isfinite(low) and np.isfinite(high) and low < high:
                axis.axhspan(low, high, color=line.colour, alpha=0.10, linewidth=0)
        clustered = rows[rows["k"] != NOT_APPLICABLE]
        if len(clustered):
            line_with_band(axis, clustered, "k", value, **line.drawn(3.5, linewidth=1.5))


def _panels(rows: int, columns: int, width: float, height: float) -> tuple[Figure, np.ndarray]:
    figure = canvas(max(width * columns + 0.9, NARROWEST), height * rows + 1.9)
    return figure, figure.subplots(rows, columns, sharex=True, sharey="row", squeeze=False)


def _handles(
    table: pd.DataFrame, lines: Mapping[str, Line], titles: Mapping[str, str]
) -> list[Line2D]:
    known = set(table["method"])
    return [
        Line2D([], [], label=titles[method], **line.drawn(4, linewidth=1.8))
        for method, line in lines.items()
        if method in known
    ]


def _finish(
    figure: Figure,
    axes: np.ndarray,
    table: pd.DataFrame,
    handles: Sequence[Line2D],
    title: str,
    below: str,
) -> None:
    sizes = table.loc[table["k"] != NOT_APPLICABLE, "k"]
    for axis in axes.reshape(-1):
        axis.set_xscale("log")
        ticks = [tick for tick in K_TICKS if sizes.min() <= tick <= sizes.max()]
        axis.xaxis.set_major_locator(FixedLocator(ticks))
        axis.xaxis.set_minor_locator(NullLocator())
        axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
        axis.set_xlim(sizes.min() / 1.12, sizes.max() * 1.12)
        axis.grid(color=GRID, linewidth=0.6)
        axis.set_axisbelow(True)
    for axis in axes[-1]:
        axis.set_xlabel("k")
    columns = 3 if len(handles) > 8 else 4
    figure.legend(handles=handles, loc="lower center", ncols=columns, frameon=False)
    heading(figure, title, below)
    width, height = figure.get_figwidth(), figure.get_figheight()
    margins = {"left": 0.8 / width, "right": 1 - 0.12 / width}
    margins |= {"top": 1 - 1.1 / height, "bottom": 1.15 / height}
    figure.subplots_adjust(**margins, wspace=0.08, hspace=0.22)
    mark_surrogate(figure, table)


def _values(table: pd.DataFrame, column: str) -> list[float]:
    return sorted(set(table[column]) - {NOT_APPLICABLE})
