"""What all figures share: inks, fonts, the banner on surrogate data, whole files."""

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from deniable.files import written_whole

NARROWEST = 9.4
"""Inches: so that a heading and the banner on surrogate data stand side by side."""
INK = "#1b1f24"
GRID = "#d9dde2"
STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",  # ships with matplotlib: the same picture on every machine
    "font.size": 9,
    "svg.hashsalt": "deniable",
    "axes.edgecolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.color": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}


def canvas(width: float, height: float) -> Figure:
    """Return an empty figure of that size, in inches."""
    figure = Figure(figsize=(width, height))
    FigureCanvasAgg(figure)
    return figure


def heading(figure: Figure, title: str, below: str) -> None:
    """Write a title and a line below it, at the top left."""
    height = figure.get_figheight()
    figure.text(0.01, 1 - 0.12 / height, title, ha="left", va="top", fontsize=11, weight="bold")
    figure.text(0.01, 1 - 0.42 / height, below, ha="left", va="top")


def line_with_band(axis: Axes, table: pd.DataFrame, x: str, y: str, **style: Any) -> None:
    """Draw a summary over a column, with its 95 % interval as a band.

    Parameters
    ----------
    table : DataFrame
        Columns x, y, ci_low, ci_high.
    """
    ordered = table.sort_values(x)
    (line,) = axis.plot(ordered[x], ordered[y], **style)
    # With very few runs an interval is the whole line; there is nothing to draw then.
    known = np.isfinite(ordered["ci_low"]) & np.isfinite(ordered["ci_high"])
    axis.fill_between(
        ordered[x],
        ordered["ci_low"].where(known),
        ordered["ci_high"].where(known),
        color=line.get_color(),
        alpha=0.18,
        linewidth=0,
    )


def surrogate_banner(figure: Figure) -> None:
    """Say across a figure that its data are surrogates."""
    figure.text(
        0.99,
        1 - 0.22 / figure.get_figheight(),
        "SURROGATE DATA: not the published file",
        ha="right",
        color="white",
        fontweight="bold",
        bbox={"facecolor": "#b31d28", "edgecolor": "none", "boxstyle": "round,pad=0.4"},
    )


def mark_surrogate(figure: Figure, table: pd.DataFrame) -> None:
    """Put the banner on a figure if a row of its table comes of surrogate data.

    A table without the column ``data_source`` is of no data, but of exact values alone.
    """
    if "data_source" in table and (table["data_source"] == "surrogate").any():
        surrogate_banner(figure)


def save(figure: Figure, svg: Path | str, png: Path | str) -> None:
    """Write a figure as SVG and as PNG; the same figure gives the same bytes."""
    with mpl.rc_context(STYLE):
        with written_whole(svg) as temporary:
            figure.savefig(temporary, format="svg", metadata={"Date": None})
        with written_whole(png) as temporary:
            figure.savefig(temporary, format="png", dpi=160, metadata={"Software": None})
