"""Figures 3 to 6 of [idp]: mean SSE and F-measures against k, with honest competitors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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

NOT_APPLICABLE = 0
K_TICKS = (3, 5, 10, 25, 50, 100, 200, 400)


@dataclass(frozen=True)
class Line:
    """How a method is drawn: colour (safe for colour-blind readers), line, marker, label."""

    colour: str
    style: Literal["-", "--", ":"]
    marker: str
    label: str


CLAIMED: dict[str, Line] = {
    "dp": Line("#1b1f24", "-", "", "DP: Laplace noise on each value"),
    "dp_um": Line("#e69f00", "-", "s", "DP-UM"),
    "idp_ls": Line("#0072b2", "-", "o", "iDP-LS"),
    "idp_cbls": Line("#d55e00", "-", "^", "iDP-CBLS"),
}
"""The methods of the text."""
SSE_LINES: Mapping[str, Line] = CLAIMED | {
    "dp_synthetic": Line("#009e73", "--", "", "true DP: synthetic records"),
    "dp_median": Line("#009e73", "-", "", "true DP: median of the class"),
    "no_data": Line("#9aa1a9", "--", "", "no data: 0 for every value"),
    "least_dp": Line("#cc79a7", ":", "", "least SSE that true DP allows"),
}
FOREST_LINES: Mapping[str, Line] = {
    "original": Line(INK, "--", "", "original records (upper bound)"),
    "majority": Line("#9aa1a9", "--", "", "majority class always"),
    "dp_rule": Line("#009e73", "-", "", "true DP: threshold rule"),
    "dp_naive_bayes": Line("#56b4e9", "-", "", "true DP: naive Bayes, one attribute"),
    "dp_synthetic": Line("#009e73", ":", "", "true DP: forest on synthetic records"),
    "dp": Line("#cc79a7", "-", "", "DP: Laplace noise on each value"),
    "dp_um": CLAIMED["dp_um"],
    "idp_ls": CLAIMED["idp_ls"],
    "idp_cbls": CLAIMED["idp_cbls"],
}


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
        for row, factor in enumerate(factors):
            for column, epsilon in enumerate(epsilons):
                axis = axes[row, column]
                part = table[(table["epsilon"] == epsilon) & (table["domain_factor"] == factor)]
                _draw(axis, part, SSE_LINES, "mean_sse")
                axis.set_yscale("log")
                axis.yaxis.set_major_locator(LogLocator(10, numticks=12))
                axis.yaxis.set_minor_locator(NullLocator())
                axis.set_title(f"ε = {epsilon:g}, domain to {factor:g} × maximum", fontsize=9.5)
            axes[row, 0].set_ylabel("mean SSE (log scale)")
        _finish(
            figure,
            axes,
            table,
            SSE_LINES,
            title,
            "in variances of an attribute: 1 is the error of everybody's mean; "
            f"means of {table['replicates'].max():,} runs, bands: 95 % intervals",
        )
        return figure


def _forests(table: pd.DataFrame, title: str) -> Figure:
    epsilons = [e for e in _values(table, "epsilon") if e != NOT_APPLICABLE]
    factors = [c for c in _values(table, "domain_factor") if c != NOT_APPLICABLE]
    classes = list(dict.fromkeys(table["class"]))
    with mpl.rc_context(STYLE):
        figure, axes = _panels(len(epsilons), len(factors) * len(classes), 2.65, 2.35)
        for row, epsilon in enumerate(epsilons):
            panels = [(factor, name) for factor in factors for name in classes]
            for column, (factor, name) in enumerate(panels):
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
        _finish(
            figure,
            axes,
            table,
            FOREST_LINES,
            title,
            f"means of {table['replicates'].max():,} runs, bands: 95 % intervals; lines without "
            "markers do not depend on k",
        )
        return figure


def _draw(axis: Axes, part: pd.DataFrame, lines: Mapping[str, Line], value: str) -> None:
    for method, line in lines.items():
        rows = part[part["method"] == method]
        style: dict[str, Any] = {"color": line.colour, "linestyle": line.style, "linewidth": 1.5}
        flat = rows[rows["k"] == NOT_APPLICABLE]
        if len(flat):
            axis.axhline(float(flat[value].iloc[0]), **style)
            low, high = float(flat["ci_low"].iloc[0]), float(flat["ci_high"].iloc[0])
            if np.isfinite(low) and np.isfinite(high) and low < high:
                axis.axhspan(low, high, color=line.colour, alpha=0.10, linewidth=0)
        clustered = rows[rows["k"] != NOT_APPLICABLE]
        if len(clustered):
            line_with_band(
                axis, clustered, "k", value, marker=line.marker or None, markersize=3.5, **style
            )


def _panels(rows: int, columns: int, width: float, height: float) -> tuple[Figure, np.ndarray]:
    figure = canvas(max(width * columns + 0.9, NARROWEST), height * rows + 1.9)
    return figure, figure.subplots(rows, columns, sharex=True, sharey="row", squeeze=False)


def _finish(
    figure: Figure,
    axes: np.ndarray,
    table: pd.DataFrame,
    lines: Mapping[str, Line],
    title: str,
    below: str,
) -> None:
    known = set(table["method"])
    sizes = table.loc[table["k"] != NOT_APPLICABLE, "k"]
    for axis in axes.reshape(-1):
        axis.set_xscale("log")
        _plain_ticks(axis, [tick for tick in K_TICKS if sizes.min() <= tick <= sizes.max()])
        axis.set_xlim(sizes.min() / 1.12, sizes.max() * 1.12)
        axis.grid(color=GRID, linewidth=0.6)
        axis.set_axisbelow(True)
    for axis in axes[-1]:
        axis.set_xlabel("k")
    figure.legend(
        handles=[
            Line2D([], [], color=line.colour, linestyle=line.style, linewidth=1.8,
                   marker=line.marker or None, markersize=4, label=line.label)
            for method, line in lines.items() if method in known
        ],
        loc="lower center", ncols=3 if len(known) > 8 else 4, frameon=False,
    )  # fmt: skip
    heading(figure, title, below)
    width, height = figure.get_figwidth(), figure.get_figheight()
    figure.subplots_adjust(
        left=0.8 / width, right=1 - 0.12 / width, top=1 - 1.1 / height, bottom=1.15 / height,
        wspace=0.08, hspace=0.22,
    )  # fmt: skip
    mark_surrogate(figure, table)


def _plain_ticks(axis: Axes, ticks: Sequence[float]) -> None:
    axis.xaxis.set_major_locator(FixedLocator(list(ticks)))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))


def _values(table: pd.DataFrame, column: str) -> list[float]:
    return sorted(table[column].unique().tolist())
