"""Figure of a comparison: error against exact epsilon, one line per mechanism and allocation."""

import pandas as pd

from deniable.display import style
from deniable.errors import from_extras

with from_extras():
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = (
    *("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"),
    *("#1b1f24", "#7a7a7a", "#8c510a", "#b2182b", "#5e3c99"),
    *("#80cdc1", "#b8860b", "#4d9221"),
)
LINES = ("-", "--")  # first for columns alone, or in the given clusters
AROUND = (0.7, 0.2, 0.9, 1.5)
OF_A_WAY = ["mechanism", "split", "clusters"]
OTHERS = (*OF_A_WAY, "epsilon", "exact_epsilon", "posterior_of_1_percent", "recommended")


@style.in_style
def draw(table: pd.DataFrame) -> Figure:
    """Plot the `table` of a `MechanismComparison`, with one panel per column of errors."""
    shown = [name for name in table.columns if name not in OTHERS and table[name].notna().any()]
    ways = table[OF_A_WAY[:2]].drop_duplicates().itertuples(index=False, name=None)
    colours = dict(zip(ways, COLOURS, strict=False))
    groups = dict(zip(table["clusters"].unique(), LINES, strict=False))

    def panel(axis: Axes, _: str, name: str) -> None:
        for (mechanism, split, clusters), rows in table.groupby(OF_A_WAY, sort=False):
            options = style.look(colours[mechanism, split], groups[clusters], ".")
            style.line_with_band(axis, rows, "exact_epsilon", name, **options)
        axis.set_yscale("log")
        style.log_scale(axis.xaxis, sorted(set(table["epsilon"])), style.as_number)
        style.gridded(axis)

    rows, columns = {"": "root mean squared error"}, {name: name for name in shown}
    size, xlabel = (3.1, 0, 0, 4.6), "exact epsilon of the record"
    figure, _ = style.panel_grid(
        rows, columns, panel, size, AROUND, (0.3, 0.2), xlabel, 10.8, (False, False)
    )
    looks = [style.look(colour, label=", ".join(way)) for way, colour in colours.items()]
    if len(groups) > 1:
        looks += [
            style.look(style.INK, line, label=f"clusters {clusters}" if clusters else "no clusters")
            for clusters, line in groups.items()
        ]
    keys = [each | {"linewidth": 2} for each in looks]
    title, below = "Utility against exact epsilon", "of estimated proportions, by randomization"
    return style.finish(figure, title, below, keys)
