"""Plot the price of privacy for one release: interval of an analyst, certainty of an intruder."""

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from deniable.channels import KeepOrReplace
from deniable.display import INK, STYLE, canvas, finish, gridded
from handbook.posterior import PRIOR, largest, rounded_up

RESPONDENTS, SMOKERS = 10_000, 0.2
EPSILONS = np.arange(0.25, 4.01, 0.05)
EXAMPLES = (1, 2, 3)
ANALYST, INTRUDER = "#0072b2", "#d55e00"


def half_width(epsilon: float) -> float:
    """Return half of the 95 % interval of the proportion of smokers, at the expected responses."""
    channel = KeepOrReplace.of_epsilon(2, epsilon)
    true = np.array([SMOKERS, 1 - SMOKERS])
    counts = RESPONDENTS * channel.reported(true)
    return float(1.96 * channel.standard_errors(counts)[0])


def picture() -> Figure:
    """Plot both panels against epsilon."""
    with mpl.rc_context(STYLE):
        figure = canvas(9.4, 3.7)
        figure.subplots_adjust(0.07, 0.14, 0.98, 0.69, wspace=0.2)
        left, right = figure.subplots(1, 2)
        half = np.array([half_width(each) for each in EPSILONS])
        left.fill_between(
            EPSILONS,
            100 * (SMOKERS - half),
            100 * (SMOKERS + half),
            color=ANALYST,
            alpha=0.25,
            linewidth=0,
        )
        left.axhline(100 * SMOKERS, color=INK, linewidth=1)
        left.set_ylim(10, 30)
        left.set_title(
            "An analyst: 95 % interval of the proportion\nthat smokes (true value: 20 %)"
        )
        right.plot(EPSILONS, [100 * largest(each) for each in EPSILONS], color=INTRUDER)
        right.axhline(100 * PRIOR, color=INK, linewidth=1, linestyle="--")
        right.text(4, 100 * PRIOR + 0.8, "before the release: 1 %", ha="right")
        right.set_ylim(0, 40)
        right.set_title("An intruder: highest possible probability\nthat one respondent smokes")
        for axis in (left, right):
            gridded(axis)
            axis.set_xlim(0, 4.05)
            axis.set_xlabel("ε of the release (smaller is more private)")
            axis.yaxis.set_major_formatter(lambda value, _: f"{value:g} %")
        for each in EXAMPLES:
            width, chance = 100 * half_width(each), 100 * largest(each)
            left.errorbar(each, 100 * SMOKERS, width, color=ANALYST, capsize=4)
            left.annotate(
                f"± {rounded_up(width)}",
                (each, 100 * SMOKERS + width),
                (0, 5),
                ha="center",
                textcoords="offset points",
            )
            right.plot(each, chance, "o", color=INTRUDER)
            right.annotate(
                f"{rounded_up(chance)} %",
                (each, chance),
                (-6, 5),
                ha="right",
                textcoords="offset points",
            )
        return finish(
            figure,
            "Privacy has a price: Deniable states both sides of it before a release",
            f"{RESPONDENTS:,} respondents, one yes/no question, protected by randomized response",
        )
