"""The style of all figures: colors, fonts, the banner on surrogate data, and image files."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from textwrap import fill
from typing import Any, ParamSpec

import numpy as np
import pandas as pd

from deniable.errors import from_extras
from deniable.files import written_whole

with from_extras():
    import matplotlib as mpl
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

Drawing = ParamSpec("Drawing")
Look = dict[str, Any]  # options of a line in matplotlib: color, linestyle, marker, label ...
NARROWEST = 9.4  # inches: a heading and the banner on surrogate data then fit side by side
COLUMN = 7.0  # inches: the width of text on paper, at which `finish` wraps long headings
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


def in_style(draw: Callable[Drawing, Figure]) -> Callable[Drawing, Figure]:
    """Apply the figure style to `draw`, and mark figures if the first table has surrogate data."""

    @wraps(draw)
    def styled(*args: Drawing.args, **options: Drawing.kwargs) -> Figure:
        with mpl.rc_context(STYLE):
            figure = draw(*args, **options)
            mark_surrogate(figure, next(each for each in args if isinstance(each, pd.DataFrame)))
            return figure

    return styled


def canvas(width: float, height: float) -> Figure:
    """Return an empty figure of a `width` and `height` in inches."""
    figure = Figure(figsize=(width, height))
    FigureCanvasAgg(figure)
    return figure


def panels(rows: int, columns: int, size: tuple[float, float], **shared: Any) -> tuple[Figure, Any]:
    """Return a figure with panels, and their axes as an array, shape (`rows`, `columns`).

    The `size` is width (`COLUMN`, or at least `NARROWEST`) and height in inches. Matplotlib makes
    room for titles, labels and legends. `shared` options (``sharex`` ...) are as in
    `Figure.subplots`.
    """
    figure = canvas(size[0] if size[0] == COLUMN else max(size[0], NARROWEST), size[1])
    figure.set_layout_engine("constrained", w_pad=0.06, h_pad=0.06)
    return figure, figure.subplots(rows, columns, squeeze=False, **shared)


def panel_grid(
    rows: Mapping[Any, str],
    columns: Mapping[Any, str],
    draw: Callable[[Axes, Any, Any], object],
    size: tuple[float, float, float, float],
    xlabel: str = "",
    titlesize: float = 10,
    share: tuple[Any, Any] = (True, True),
    grid: str = "both",
) -> tuple[Figure, Any]:
    """Return a figure with a panel for each row and column, and its axes.

    `draw` plots a panel; it is called with an axis and the keys of `rows` and `columns`. The values
    are the texts left of the rows and, in `titlesize` points, above the columns. `xlabel` is below
    each column. `size` has four lengths in inches: width for each column and for the rest, height
    for each row and for the rest. `share` has the options ``sharex`` and ``sharey`` of
    `Figure.subplots`. Panels are `gridded` along `grid`: "x", "y", "both", or "" for no grid.
    """
    inches = (size[0] * len(columns) + size[1], size[2] * len(rows) + size[3])
    figure, axes = panels(len(rows), len(columns), inches, sharex=share[0], sharey=share[1])
    for axis, title in zip(axes[0], columns.values(), strict=True):
        axis.set_title(title, fontsize=titlesize)
    for axis in axes[-1]:
        axis.set_xlabel(xlabel)
    for line, (row, label) in zip(axes, rows.items(), strict=True):
        line[0].set_ylabel(label)
        for axis, column in zip(line, columns, strict=True):
            draw(axis, row, column)
            if grid:
                gridded(axis, grid)
    return figure, axes


def gridded(axis: Axes, along: Any = "both") -> None:
    """Show a grid behind an `axis`, `along` x, y or both."""
    axis.grid(axis=along, color=GRID, linewidth=0.6)
    axis.set_axisbelow(True)


def log_scale(axis: Axis, ticks: Iterable[float], text: Callable[[float], str]) -> None:
    """Set a logarithmic scale of an `axis` with only the `ticks`, formatted by `text`."""
    axes = axis.axes
    (axes.set_xscale if axis is axes.xaxis else axes.set_yscale)("log")
    axis.set_major_locator(FixedLocator(list(ticks)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: text(value)))


def as_number(value: float) -> str:
    """Return a `value` as text on an axis."""
    return f"{value:,g}"


def as_share(value: float) -> str:
    """Return a `value`, a proportion, as text on an axis, in percent."""
    return f"{100 * value:g} %"


def as_percent(value: float) -> str:
    """Return a `value`, a proportion, as text in a title, in whole percent."""
    return f"{100 * value:.0f} %"


def look(colour: str, line: str = "-", marker: str = "", label: str = "", **more: Any) -> Look:
    """Return the options of a plotted line and of its entry in a legend, the `label`.

    The line has a `colour`, a style `line`, a `marker`, and `more` options of Matplotlib.
    """
    return {"color": colour, "linestyle": line, "marker": marker, "label": label, **more}


def legend_keys(
    looks: Mapping[Any, Look],
    names: Mapping[Any, str] | None = None,
    shown: Iterable[Any] | None = None,
    **more: Any,
) -> list[Look]:
    """Return a legend's entry for each of the `looks`, with `more` options.

    Labels come from `names`, by default from the looks. `shown` restricts the legend to its keys.
    """
    wanted = set(looks if shown is None else shown)
    keys = [key for key in looks if key in wanted]
    if names is None:
        return [looks[key] | more for key in keys]
    return [looks[key] | {"label": names[key]} | more for key in keys if key in names]


def finish(
    figure: Figure, title: str, below: str, keys: Sequence[Look] = (), columns: int = 4
) -> Figure:
    """Add a `title` and a line `below` it at the top left, and a legend of `keys` at the bottom.

    The legend has `columns`. In figures narrower than `NARROWEST` both texts wrap. Return `figure`.
    """
    width, height = figure.get_size_inches()
    if width < NARROWEST:
        title, below = _wrapped(title, 42), _wrapped(below, 98)
    lower = 0.42 + 0.18 * title.count("\n")
    figure.text(0.01, 1 - 0.12 / height, title, ha="left", va="top", fontsize=11, weight="bold")
    figure.text(0.01, 1 - lower / height, below, ha="left", va="top")
    if engine := figure.get_layout_engine():
        texts = lower + 0.15 * (1 + below.count("\n")) + 0.04
        engine.set(rect=(0, 0, 1, 1 - texts / height))  # type: ignore[call-arg]
    if keys:
        handles = [Line2D([], [], **key) for key in keys]
        figure.legend(handles=handles, loc="outside lower center", ncols=columns, frameon=False)
    return figure


def _wrapped(text: str, most: int) -> str:
    return fill(text.replace(" %", "\N{NO-BREAK SPACE}%"), most, break_on_hyphens=False)


def plot_series(
    axis: Axes, table: pd.DataFrame, by: str, looks: Mapping[Any, Look], x: str, y: str, **more: Any
) -> None:
    """Plot `y` of a `table` over `x`: a `line_with_band` for each value in column `by` with a look.

    The lines are on the `axis` and have the `looks` of their values, and `more` options.
    """
    for value, options in looks.items():
        if len(part := table[table[by] == value]):
            line_with_band(axis, part, x, y, **(options | more))


def line_with_band(axis: Axes, table: pd.DataFrame, x: str, y: str, **style: Any) -> None:
    """Plot `y` of a `table` over its column `x`, in a `style`, on an `axis`.

    If the `table` has a 95 % interval (ci_low, ci_high), it is shown as a band.
    """
    ordered = table.sort_values(x)
    # As arrays, which matplotlib does not convert again.
    at, value = ordered[[x, y]].to_numpy(np.float64).T
    (line,) = axis.plot(at, value, **style)
    if "ci_low" not in table:
        return
    low, high = ordered[["ci_low", "ci_high"]].to_numpy(np.float64).T
    # With very few replicates an interval can be infinite. It is not shown then.
    known = np.isfinite(low) & np.isfinite(high)
    axis.fill_between(at, low, high, where=known, color=line.get_color(), alpha=0.18, linewidth=0)


def mark_surrogate(figure: Figure, table: pd.DataFrame) -> None:
    """Add the banner to a `figure` if its `table`, which may be empty, has surrogate data."""
    if "data_source" in table and (table["data_source"] == "surrogate").any():
        figure.text(
            0.99,
            1 - 0.22 / figure.get_figheight(),
            "SURROGATE DATA: not the published file",
            ha="right",
            color="white",
            fontsize=9 if figure.get_figwidth() >= NARROWEST else 7,
            fontweight="bold",
            bbox={"facecolor": "#b31d28", "edgecolor": "none", "boxstyle": "round,pad=0.4"},
        )


def save(figure: Figure, svg: Path | str, png: Path | str) -> None:
    """Write a `figure` as `svg` and as `png`; the same figure gives the same bytes."""
    with mpl.rc_context(STYLE):
        with written_whole(svg) as temporary:
            figure.savefig(temporary, format="svg", metadata={"Date": None})
        with written_whole(png) as temporary:
            figure.savefig(temporary, format="png", dpi=160, metadata={"Software": None})
