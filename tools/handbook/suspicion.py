"""What epsilon means for a respondent, as a picture: how far a suspicion of 1 in 100 can rise."""

import math
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from deniable.display import GRID, STYLE, canvas, finish
from deniable.files import written_whole
from deniable.privacy import largest_posterior

BEFORE, EPSILONS = 0.01, (0.5, 1, 2, 4, 8)
SIDE = 10  # squares, of 1 % each
RISEN = "#d55e00"


def risen(epsilon: float) -> float:
    """Return to what the suspicion can rise at most, by all that is published of a record."""
    return float(largest_posterior(BEFORE, math.exp(epsilon)))


def picture() -> Figure:
    """Draw 100 squares for the suspicion before, and 100 for each epsilon."""
    chances = {"before": BEFORE} | {f"epsilon {each:g}": risen(each) for each in EPSILONS}
    with mpl.rc_context(STYLE):
        # Small, so that it can be read on a telephone.
        figure = canvas(5.2, 4.5)
        figure.subplots_adjust(0.04, 0.02, 0.96, 0.76, hspace=0.35)
        axes = figure.subplots(2, 3)
        for axis, (name, chance) in zip(axes.flat, chances.items(), strict=True):
            _squares(axis, chance)
            axis.set_title(f"{name}\n{100 * chance:.2g} %")
        return finish(
            figure,
            "How sure one can get of a respondent",
            "chances out of 100, at most, by all that is published of the record",
        )


def _squares(axis: Axes, chance: float) -> None:
    """Fill as many squares of a hundred, row by row from below; the last one in part."""
    axis.set_axis_off()
    axis.set_aspect("equal")
    places = np.arange(SIDE * SIDE)
    filled = np.clip(100 * chance - places, 0, 1)
    for colour, widths in ((GRID, np.full(SIDE * SIDE, 0.9)), (RISEN, 0.9 * filled)):
        axis.bar(places % SIDE, 0.9, widths, places // SIDE, align="edge", color=colour)


def save(file: Path) -> None:
    """Write the picture; always the same bytes."""
    with written_whole(file) as temporary:
        picture().savefig(temporary, format="png", dpi=160, metadata={"Software": None})
