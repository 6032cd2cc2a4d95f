"""Figure of a comparison: ± points against exact epsilon, one line per mechanism and allocation."""

import math

import numpy as np
import pandas as pd

from deniable.arrays import Floats
from deniable.display import style
from deniable.errors import from_extras

with from_extras():
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = (
    *("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"),
    *("#1b1f24", "#7a7a7a", "#8c510a", "#b2182b", "#5e3c99", "#a6d854", "#01665e", "#f781bf"),
    *("#80cdc1", "#b8860b", "#4d9221"),
)
LINES = ("-", "--")  # first for columns alone, or in the given clusters
PER_LINE, WIDTH, HEIGHT = 4, 2.7, 2.1  # panels in a line of the figure, and inches of each
MAX_POINTS, MAX_TICKS, MAX_TITLE = 300, 6, 30
OF_A_WAY = ["mechanism", "split", "clusters"]


@style.in_style
def draw(table: pd.DataFrame, errors: pd.DataFrame) -> Figure:
    """Plot the `table` of a `MechanismComparison`, with one panel per column and stated table.

    A grey line is the guess in its `errors`. Errors above 300 points are not shown.
    """
    guesses = errors.drop_duplicates("columns").set_index("columns")["guess"]
    guesses = guesses[guesses > 0]  # a column of one category has no error
    wide, ways = min(PER_LINE, len(guesses)), table[OF_A_WAY[:2]].drop_duplicates()
    lines = math.ceil(len(guesses) / wide)
    colours = dict(zip(ways.itertuples(index=False, name=None), COLOURS, strict=False))
    groups = dict(zip(table["clusters"].unique(), LINES, strict=False))
    figure, axes = style.panels(lines, wide, (WIDTH * wide + 1, HEIGHT * lines + 2.75))
    for number, axis in enumerate(axes.flat):
        axis.set_visible(number < len(guesses))
    for axis, (label, guess) in zip(axes.flat, guesses.items(), strict=False):
        name = f"points {label}"
        for (mechanism, split, clusters), rows in table.groupby(OF_A_WAY, sort=False):
            options = style.look(colours[mechanism, split], groups[clusters], ".")
            style.line_with_band(axis, rows, "exact_epsilon", name, **options)
        axis.axhline(guess, color="#9aa0a6", linewidth=3, zorder=0)
        _scaled(axis, np.append(table[name], guess), sorted(set(table["epsilon"])))
        axis.set_title(_short(str(label), MAX_TITLE), fontsize=10)
    for axis in axes[:, 0]:
        axis.set_ylabel("± points")
    for axis in axes.flat[max(len(guesses) - wide, 0) : len(guesses)]:
        axis.set_xlabel("exact epsilon of the record")
    looks = [style.look(colour, label=", ".join(way)) for way, colour in colours.items()]
    if len(groups) > 1:
        labels = {
            each: _short(f"clusters {each}", 60) if each else "no clusters" for each in groups
        }
        looks += [style.look(style.INK, groups[each], label=labels[each]) for each in groups]
    looks.append(style.look("#9aa0a6", label="guess without any data", linewidth=3))
    keys = [{"linewidth": 2} | each for each in looks]
    below = "half-width of 95 % intervals of estimated proportions, in percentage points"
    return style.finish(figure, "Errors against exact epsilon", below, keys, 3)


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _scaled(axis: Axes, points: Floats, epsilons: list[float]) -> None:
    """Set logarithmic scales of an `axis`, with few ticks, for errors in `points`."""
    shown = points[np.isfinite(points) & (points > 0)]
    low, high = shown.min() / 1.3, min(shown.max() * 1.3, max(MAX_POINTS, shown.min() * 4))
    start = math.floor(math.log10(low))
    numbers = (float(f"{n}e{power}") for power in range(start, start + 7) for n in (1, 2, 5))
    ticks = [tick for tick in numbers if low <= tick <= high]
    every = math.ceil(len(ticks) / MAX_TICKS)
    style.log_scale(axis.yaxis, ticks[::every], style.as_number)
    axis.set_ylim(low, high)
    apart = [each for each in epsilons if each == epsilons[-1] or each < epsilons[-1] / 1.4]
    style.log_scale(axis.xaxis, apart[:: math.ceil(len(apart) / MAX_TICKS)], style.as_number)
    style.gridded(axis)
