"""A sweep of RR-Clusters over p, both thresholds and the number of records, in one picture."""

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from deniable.display import INK, NARROWEST, STYLE, canvas, heading, mark_surrogate

VALUE = "median_relative_error"
SETTINGS = ("matrix", "mechanism", "projection")
PALETTE = "viridis_r"
TICKS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0]


def thresholds(table: pd.DataFrame) -> Figure:
    """Draw a field of cells, p by T_v, for each number of records (columns) and T_d (rows).

    A dot marks the best T_v for a p, and every other one whose interval meets that one's. Of
    several matrices, mechanisms or projections the table's first is drawn.

    Parameters
    ----------
    table : DataFrame
        Columns records, matrix, mechanism, projection, p, t_v, t_d, median_relative_error, ci_low,
        ci_high, replicates, data_source.
    """
    drawn = table
    for column in SETTINGS:
        drawn = drawn[drawn[column] == table[column].iloc[0]]
    sizes, rows = sorted(drawn["records"].unique()), sorted(drawn["t_d"].unique())
    shades = LogNorm(drawn[VALUE].min(), drawn[VALUE].max())
    with mpl.rc_context(STYLE):
        width = max(2.05 * len(sizes) + 1.5, NARROWEST)
        height = 1.35 * len(rows) + 1.55
        figure = canvas(width, height)
        axes = figure.subplots(len(rows), len(sizes), sharex=True, sharey=True, squeeze=False)
        for line, t_d in zip(axes, rows, strict=True):
            for axis, records in zip(line, sizes, strict=True):
                here = drawn[(drawn["t_d"] == t_d) & (drawn["records"] == records)]
                image = _field(axis, here, shades)
            line[0].set_ylabel(f"T$_d$ = {t_d:g}\nT$_v$")
        for axis, records in zip(axes[0], sizes, strict=True):
            axis.set_title(f"{records:,} records", fontsize=10)
        for axis in axes[-1]:
            axis.set_xlabel("p")
        named = ", ".join(f"{column} {drawn[column].iloc[0]}" for column in SETTINGS)
        heading(
            figure,
            "RR-Clusters: relative error of count queries over p, thresholds and records",
            f"medians of {drawn['replicates'].max():,} runs a cell; {named}\n"
            "dots: the best T$_v$ for that p, and those whose 95 % intervals meet the best one's",
        )
        figure.subplots_adjust(
            left=0.75 / width, right=1 - 1.2 / width, top=1 - 1.05 / height, bottom=0.5 / height,
            wspace=0.06, hspace=0.12,
        )  # fmt: skip
        _legend(figure, image, width, height)
        mark_surrogate(figure, table)
        return figure


def _field(axis: Axes, here: pd.DataFrame, shades: LogNorm) -> AxesImage:
    values = here.pivot(index="t_v", columns="p", values=VALUE)
    low = here.pivot(index="t_v", columns="p", values="ci_low").to_numpy()
    high = here.pivot(index="t_v", columns="p", values="ci_high").to_numpy()
    image = axis.imshow(values, norm=shades, cmap=PALETTE, aspect="auto", origin="lower")
    best = values.to_numpy().argmin(axis=0)
    for column, row in enumerate(best):
        # An equal number comes of equal clusters: as good.
        as_good = np.flatnonzero(low[:, column] <= high[row, column])
        axis.plot(
            np.full(as_good.size, column), as_good, "o", markersize=5, markeredgecolor="white",
            markerfacecolor=INK, linestyle="none",
        )  # fmt: skip
    axis.set_xticks(range(len(values.columns)), [f"{p:g}".lstrip("0") for p in values.columns])
    axis.set_yticks(range(len(values.index)), [f"{t_v:g}" for t_v in values.index])
    axis.tick_params(labelsize=7.5, length=2)
    return image


def _legend(figure: Figure, image: AxesImage, width: float, height: float) -> None:
    place = figure.add_axes((1 - 1.05 / width, 0.5 / height, 0.16 / width, 1 - 1.55 / height))
    bar = figure.colorbar(image, cax=place)
    lowest, highest = bar.ax.get_ylim()
    ticks = [tick for tick in TICKS if lowest <= tick <= highest]
    bar.set_ticks(ticks, labels=[f"{tick:g}" for tick in ticks])
    bar.set_label("median relative error")
    bar.ax.minorticks_off()
    bar.outline.set_visible(False)
