"""Plot the CPU time of a run by study and by rule."""

from collections.abc import Mapping
from typing import Any

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from deniable.display import INK, NARROWEST, STYLE, finish, gridded, panels

PART_STYLE: Mapping[str, tuple[str, str]] = {
    # colour (safe for colour-blind readers), label
    "multirr": ("#0072b2", "Multi-Dimensional Randomized Response"),
    "pram": ("#009e73", "PRAM and the theory of channels"),
    "idp": ("#d55e00", "individual differential privacy"),
    "rrba": ("#b14a9c", "randomized response block aggregation"),
    "release": ("#e69f00", "releases"),
    "shared": ("#9aa1a9", "data, audits, report"),
}
MOST_BARS = 24


def where_the_time_goes(table: pd.DataFrame, below: str) -> Figure:
    """Plot CPU time by study and rule, the most expensive first; one bar has all others.

    Parameters
    ----------
    table : DataFrame
        Columns part, what, jobs, cpu_seconds.
    below : str
        The line below the title.
    """
    ordered = table.sort_values(["cpu_seconds", "what"], ascending=[False, True])
    shown, rest = ordered.iloc[:MOST_BARS], ordered.iloc[MOST_BARS:]
    bars = len(shown) + (1 if len(rest) else 0)
    with mpl.rc_context(STYLE):
        height = 0.235 * bars + 1.5
        figure, ((axis,),) = panels(1, 1, (NARROWEST, height))
        unit, seconds = ("min", 60.0) if ordered["cpu_seconds"].max() > 120 else ("s", 1.0)
        for place, row in enumerate(shown.to_dict("records")):
            colour = PART_STYLE[row["part"]][0]
            _bar(axis, place, row["cpu_seconds"] / seconds, row["jobs"], color=colour)
        labels = list(shown["what"])
        if len(rest):
            hatched = {"color": "white", "edgecolor": INK, "hatch": "////"}
            length, jobs = rest["cpu_seconds"].sum() / seconds, int(rest["jobs"].sum())
            _bar(axis, bars - 1, length, jobs, **hatched)
            labels.append(f"{len(rest)} others")
        axis.set_yticks(range(bars), labels)
        axis.set_ylim(bars - 0.4, -0.6)
        axis.margins(x=0.12)
        axis.set_xlabel(f"CPU time ({unit})")
        gridded(axis, "x")
        _legend(axis, ordered)
        return finish(figure, "Where the time goes", below)


def _bar(axis: Axes, place: int, length: float, jobs: int, **style: Any) -> None:
    axis.barh(place, length, height=0.72, **style)
    text = f" {length:.1f}, {jobs} jobs" if jobs > 1 else f" {length:.1f}"
    axis.text(length, place, text, va="center", fontsize=7.5)


def _legend(axis: Axes, table: pd.DataFrame) -> None:
    shares = table.groupby("part")["cpu_seconds"].sum() / table["cpu_seconds"].sum()
    handles = [
        Patch(color=colour, label=f"{label}: {shares[part]:.0%}")
        for part, (colour, label) in PART_STYLE.items()
        if part in shares
    ]
    axis.legend(handles=handles, loc="center right", frameon=False)
