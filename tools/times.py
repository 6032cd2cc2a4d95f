"""Where the time of a run goes: CPU time by study and by rule."""

from collections.abc import Mapping

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from deniable.display import GRID, INK, NARROWEST, STYLE, canvas, heading

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
    """Draw CPU time by study and rule, the dearest first; what is left in one bar.

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
        width, height = NARROWEST, 0.235 * bars + 1.5
        figure = canvas(width, height)
        axis = figure.subplots()
        unit, seconds = ("min", 60.0) if ordered["cpu_seconds"].max() > 120 else ("s", 1.0)
        labels = []
        for place, row in enumerate(shown.to_dict("records")):
            length = row["cpu_seconds"] / seconds
            axis.barh(place, length, color=PART_STYLE[row["part"]][0], height=0.72)
            _say(axis, place, length, row["jobs"])
            labels.append(row["what"])
        if len(rest):
            length = rest["cpu_seconds"].sum() / seconds
            axis.barh(bars - 1, length, color="white", edgecolor=INK, height=0.72, hatch="////")
            _say(axis, bars - 1, length, int(rest["jobs"].sum()))
            labels.append(f"{len(rest)} others")
        axis.set_yticks(range(bars), labels)
        axis.set_ylim(bars - 0.4, -0.6)
        axis.margins(x=0.12)
        axis.set_xlabel(f"CPU time ({unit})")
        axis.grid(axis="x", color=GRID, linewidth=0.6)
        axis.set_axisbelow(True)
        heading(figure, "Where the time goes", below)
        _legend(axis, ordered)
        figure.subplots_adjust(
            left=2.35 / width, right=1 - 0.25 / width, top=1 - 0.85 / height, bottom=0.5 / height
        )
        return figure


def _say(axis: Axes, place: int, length: float, jobs: int) -> None:
    text = f" {length:.1f}, {jobs} jobs" if jobs > 1 else f" {length:.1f}"
    axis.text(length, place, text, va="center", fontsize=7.5)


def _legend(axis: Axes, table: pd.DataFrame) -> None:
    shares = table.groupby("part")["cpu_seconds"].sum() / table["cpu_seconds"].sum()
    handles = [
        Patch(color=colour, label=f"{label}: {shares[part]:.0%}")
        for part, (colour, label) in PART_STYLE.items()
        if part in shares
    ]
    axis.legend(handles=handles, loc="lower right", frameon=False)
