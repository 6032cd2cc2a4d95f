"""The picture of a comparison: error against exact epsilon, a line for each way to spend it."""

import pandas as pd
from matplotlib.figure import Figure

from deniable.display import (
    as_number,
    gridded,
    heading,
    in_style,
    legend_below,
    line_key,
    panels,
    plain_ticks,
)

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#1b1f24", "#7a7a7a")
LINES = ("-", "--", ":", "-.")
AROUND = (0.7, 0.2, 0.9, 1.5)
OF_A_WAY = ["mechanism", "split", "clusters"]
OTHERS = (*OF_A_WAY, "epsilon", "exact_epsilon", "posterior_of_1_percent", "recommended")


@in_style
def draw(table: pd.DataFrame) -> Figure:
    """Draw the table of a `Comparison`: a panel for margins, pairs and each stated table."""
    told = [name for name in table.columns if name not in OTHERS and table[name].notna().any()]
    figure, axes = panels(1, len(told), (3.1 * len(told), 4.6), AROUND, between=(0.3, 0.2))
    keys = []
    for number, (way, rows) in enumerate(table.groupby(OF_A_WAY, sort=False)):
        colour = COLOURS[number % len(COLOURS)]
        line = LINES[number // len(COLOURS) % len(LINES)]
        ordered = rows.sort_values("exact_epsilon")
        for axis, name in zip(axes[0], told, strict=True):
            axis.plot(ordered["exact_epsilon"], ordered[name], line, color=colour, marker=".")
        mechanism, split, clusters = way
        label = f"{mechanism}, {split}" + (f", clusters {clusters}" if clusters else "")
        keys.append(line_key(colour, line, label))
    for axis, name in zip(axes[0], told, strict=True):
        axis.set(title=name, xlabel="exact epsilon of the record", xscale="log", yscale="log")
        plain_ticks(axis.xaxis, sorted(set(table["epsilon"])), as_number)
        gridded(axis)
    axes[0, 0].set_ylabel("root mean squared error")
    heading(figure, "Utility against exact epsilon", "of estimated shares; what randomization adds")
    legend_below(figure, keys, 4)
    return figure
