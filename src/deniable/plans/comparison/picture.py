"""The picture of a comparison: error against exact epsilon, a line for each way to spend it."""

import numpy as np
import pandas as pd

from deniable.display import (
    INK,
    as_number,
    gridded,
    heading,
    in_style,
    legend_below,
    line_key,
    panels,
    plain_ticks,
)
from deniable.errors import from_extras

with from_extras():
    from matplotlib.figure import Figure

COLOURS = (
    *("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"),
    *("#1b1f24", "#7a7a7a", "#8c510a", "#b2182b", "#5e3c99"),
)
LINES = ("-", "--")  # first columns by themselves, or in the clusters given
AROUND = (0.7, 0.2, 0.9, 1.5)
OF_A_WAY = ["mechanism", "split", "clusters"]
OTHERS = (*OF_A_WAY, "epsilon", "exact_epsilon", "posterior_of_1_percent", "recommended")


@in_style
def draw(table: pd.DataFrame) -> Figure:
    """Draw the `table` of a `Comparison`: a panel for margins, pairs and each stated table."""
    shown = [name for name in table.columns if name not in OTHERS and table[name].notna().any()]
    figure, axes = panels(1, len(shown), (3.1 * len(shown), 4.6), AROUND, between=(0.3, 0.2))
    ways = dict(
        zip(map(tuple, table[OF_A_WAY[:2]].drop_duplicates().to_numpy()), COLOURS, strict=False)
    )
    groups = dict(zip(table["clusters"].unique(), LINES, strict=False))
    for (mechanism, split, clusters), rows in table.groupby(OF_A_WAY, sort=False):
        ordered, colour = rows.sort_values("exact_epsilon"), ways[mechanism, split]
        for axis, name in zip(axes[0], shown, strict=True):
            at = ordered[["exact_epsilon", name]].to_numpy(np.float64).T
            axis.plot(*at, groups[clusters], color=colour, marker=".")
    keys = [line_key(colour, "-", ", ".join(way)) for way, colour in ways.items()]
    if len(groups) > 1:
        keys += [
            line_key(INK, line, f"clusters {clusters}" if clusters else "no clusters")
            for clusters, line in groups.items()
        ]
    for axis, name in zip(axes[0], shown, strict=True):
        axis.set(title=name, xlabel="exact epsilon of the record", xscale="log", yscale="log")
        plain_ticks(axis.xaxis, sorted(set(table["epsilon"])), as_number)
        gridded(axis)
    axes[0, 0].set_ylabel("root mean squared error")
    heading(figure, "Utility against exact epsilon", "of estimated shares; what randomization adds")
    legend_below(figure, keys, 4)
    return figure
