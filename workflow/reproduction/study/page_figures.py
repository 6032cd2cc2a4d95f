"""A line plot for tables that have no figure code of their own."""

import pandas as pd

from deniable.display import NARROWEST, gridded, in_style, panels
from deniable.errors import from_extras

with from_extras():
    from matplotlib.figure import Figure


@in_style
def lines(table: pd.DataFrame, x: str, y: str, by: str = "") -> Figure:
    """Plot a column `y` of a `table` over a column `x`, a line for each value of a column `by`."""
    figure, ((axis,),) = panels(1, 1, (NARROWEST, 4.0))
    for name, part in table.groupby(by, sort=False) if by else (("", table),):
        axis.plot(part[x], part[y], "o-", label=f"{by} = {name}")
    axis.set(xlabel=x, ylabel=y)
    gridded(axis)
    if by:
        axis.legend(frameon=False)
    return figure
