"""Plot the largest posterior probability about a respondent, for a prior probability of 1 %."""

import math

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from deniable.display import GRID, STYLE, canvas, finish
from deniable.privacy import largest_posterior

PRIOR, EPSILONS = 0.01, (0.5, 1, 2, 4, 8)
SIDE = 10  # squares, of 1 % each
FILLED = "#d55e00"


def largest(epsilon: float) -> float:
    """Return the largest posterior probability after a release of a record at `epsilon`."""
    return float(largest_posterior(PRIOR, math.exp(epsilon)))


def rounded_up(bound: float) -> str:
    """Return an upper `bound` in percent with one decimal, rounded up."""
    return f"{math.ceil(10 * bound) / 10:.1f}"


def picture() -> Figure:
    """Plot 100 squares for the prior probability, and 100 for each epsilon."""
    chances = {"prior": PRIOR} | {f"epsilon {each:g}": largest(each) for each in EPSILONS}
    with mpl.rc_context(STYLE):
        # Small, so that it can be read on a telephone.
        figure = canvas(5.2, 4.5)
        figure.subplots_adjust(0.04, 0.02, 0.96, 0.76, hspace=0.35)
        axes = figure.subplots(2, 3)
        for axis, (name, chance) in zip(axes.flat, chances.items(), strict=True):
            _squares(axis, chance)
            axis.set_title(f"{name}\n{rounded_up(100 * chance)} %")
        return finish(
            figure,
            "Largest posterior probability",
            "of a statement about one respondent, after the release",
        )


def _squares(axis: Axes, chance: float) -> None:
    """Fill `chance` of 100 squares, row by row from below, and the last one in part."""
    axis.set_axis_off()
    axis.set_aspect("equal")
    places = np.arange(SIDE * SIDE)
    filled = np.clip(100 * chance - places, 0, 1)
    for colour, widths in ((GRID, np.full(SIDE * SIDE, 0.9)), (FILLED, 0.9 * filled)):
        axis.bar(places % SIDE, 0.9, widths, places // SIDE, align="edge", color=colour)
