"""Figures of the audit of [idp]: claimed against exact epsilon, and attacks."""

from collections.abc import Mapping, Sequence

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, NullLocator

from deniable.display import GRID, INK, NARROWEST, STYLE, canvas, heading, mark_surrogate

METHODS: Mapping[str, tuple[str, str, str]] = {
    # colour (safe for colour-blind readers), marker, label
    "dp_um": ("#009e73", "s", "DP-UM"),
    "idp_ls": ("#0072b2", "D", "iDP-LS"),
    "idp_cbls": ("#d55e00", "o", "iDP-CBLS"),
    "idp_cbls_prose": ("#9aa1a9", "v", "iDP-CBLS, sensitivity as in the prose"),
}
UNITS: Sequence[tuple[str, str, str]] = (
    ("centroid", "one", "one centroid"),
    ("attribute", "one", "all centroids of an attribute"),
    ("attribute", "all attributes", "all centroids of all attributes"),
    ("record", "one", "the released records"),
)
READINGS: Mapping[str, str] = {"scale frozen": "-", "as it runs": "--"}
K_TICKS = (3, 10, 30, 100, 300)
SHIFTS: Mapping[str, float] = {"dp_um": 0.94, "idp_ls": 1.0, "idp_cbls": 1.06}


def claimed_and_exact(table: pd.DataFrame) -> Figure:
    """Draw by which factor each unit exceeds the epsilon that is claimed for it, over k.

    Parameters
    ----------
    table : DataFrame
        Columns dataset, method, reading, unit, k, epsilon, domain_factor, domain, clusters,
        attribute, times_claimed, note, data_source; at its largest epsilon and first factor.
    """
    shown = table[
        (table["epsilon"] == table["epsilon"].max())
        & (table["domain_factor"] == table["domain_factor"].iloc[0])
        & (table["domain"] == "public")
        & (table["clusters"] == "formed anew")
        & ~table["note"].fillna("").str.contains("released numbers|random order")
    ]
    datasets = list(dict.fromkeys(shown["dataset"]))
    with mpl.rc_context(STYLE):
        figure = canvas(NARROWEST + 1.6, 2.55 * len(datasets) + 1.9)
        axes = figure.subplots(len(datasets), len(UNITS), sharey=True, squeeze=False)
        finite = shown["times_claimed"][np.isfinite(shown["times_claimed"])]
        infinite = 10 ** (np.ceil(np.log10(finite.max())) + 0.7)
        for place, (line, dataset) in enumerate(zip(axes, datasets, strict=True)):
            own = shown[shown["dataset"] == dataset]
            for axis, (unit, of, title) in zip(line, UNITS, strict=True):
                part = own[own["unit"] == unit]
                if unit == "attribute":
                    part = part[(part["attribute"] == "all attributes") == (of != "one")]
                _ratios(axis, part, infinite)
                if place == 0:
                    axis.set_title(title, fontsize=9.5)
                if place == len(datasets) - 1:
                    axis.set_xlabel("k")
            line[0].set_ylabel(f"{dataset}\nexact / claimed epsilon")
        figure.legend(handles=_method_lines(), loc="lower center", ncols=3, frameon=False)
        largest = shown["epsilon"].max()
        heading(
            figure,
            "What is claimed, and what one record's change really spends",
            f"factor over the claim at epsilon {largest:g}; clusters formed anew for each "
            "neighbour; 1 or less: the claim holds",
        )
        height = figure.get_figheight()
        figure.subplots_adjust(
            left=0.12, right=0.985, top=1 - 1.0 / height, bottom=1.05 / height, wspace=0.06
        )
        mark_surrogate(figure, table)
        return figure


def _method_lines() -> list[Line2D]:
    return [
        *(
            Line2D([], [], color=colour, marker=marker, markersize=4, label=label)
            for colour, marker, label in METHODS.values()
        ),
        Line2D([], [], color=INK, linestyle="-", label="scale frozen (exact)"),
        Line2D([], [], color=INK, linestyle="--", label="as it runs (at least)"),
    ]


def _ratios(axis: Axes, part: pd.DataFrame, infinite: float) -> None:
    axis.axhline(1, color=INK, linewidth=1)
    axis.axhspan(infinite / 2.5, infinite * 2.5, color=GRID, alpha=0.6, linewidth=0)
    for method, (colour, marker, _) in METHODS.items():
        for reading, line in READINGS.items():
            rows = part[(part["method"] == method) & (part["reading"] == reading)]
            rows = rows.sort_values("k")
            # Lines that lie on each other, in the band of the infinite, are set apart a little.
            heights = rows["times_claimed"].replace(
                np.inf, infinite * SHIFTS.get(method, 1.12) ** 6
            )
            axis.plot(
                rows["k"].astype(float),
                heights,
                color=colour,
                linestyle=line,
                marker=marker,
                markersize=3.5,
                linewidth=1.2,
                fillstyle="full" if line == "-" else "none",
            )
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_ylim(0.2, infinite * 2.5)
    ks = part["k"].dropna().astype(float)
    axis.set_xticks([k for k in K_TICKS if k <= ks.max()] if len(ks) else [])
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.xaxis.set_minor_locator(NullLocator())
    ticks = [10.0**power for power in range(int(np.log10(infinite)) + 1)]
    axis.set_yticks([*ticks, infinite])
    axis.yaxis.set_major_formatter(
        FuncFormatter(lambda value, _: "infinite" if value >= infinite * 0.99 else f"{value:,.0f}")
    )
    axis.yaxis.set_minor_locator(NullLocator())
    axis.grid(axis="y", color=GRID, linewidth=0.5)
    axis.set_axisbelow(True)


ATTACKS: Sequence[tuple[str, str, str, str]] = (
    # attack, reading, part of the neighbour's description, title
    ("likelihood", "scale frozen", "all attributes", "likelihood of centroids,\nscale frozen"),
    ("likelihood", "as it runs", "all attributes", "likelihood of centroids,\nas it runs"),
    ("partition", "as it runs", "random", "records with equal values,\na random change"),
)
LAPLACE = ("dp", "#1b1f24", "^", "Laplace DP")


def attacks(table: pd.DataFrame) -> Figure:
    """Draw how often an intruder tells the file from a neighbour, over the claimed epsilon.

    Parameters
    ----------
    table : DataFrame
        Columns dataset, attack, neighbour, method, reading, k, claimed_epsilon, accuracy, ci_low,
        ci_high, allowed, replicates, data_source.
    """
    datasets = list(dict.fromkeys(table["dataset"]))
    k = table["k"].max()
    with mpl.rc_context(STYLE):
        figure = canvas(NARROWEST, 2.5 * len(datasets) + 1.9)
        axes = figure.subplots(len(datasets), len(ATTACKS), sharey=True, squeeze=False)
        for place, (line, dataset) in enumerate(zip(axes, datasets, strict=True)):
            own = table[(table["dataset"] == dataset) & ((table["k"] == k) | table["k"].isna())]
            for axis, (attack, reading, neighbour, title) in zip(line, ATTACKS, strict=True):
                part = own[(own["attack"] == attack) & own["neighbour"].str.contains(neighbour)]
                plain = part[part["method"] == "dp"]
                _accuracies(axis, pd.concat([part[part["reading"] == reading], plain]))
                if place == 0:
                    axis.set_title(title, fontsize=9.5)
                if place == len(datasets) - 1:
                    axis.set_xlabel("claimed epsilon")
            line[0].set_ylabel(f"{dataset}\nshare of right answers")
        figure.legend(
            handles=[
                *(
                    Line2D([], [], color=c, marker=m, linestyle="none", label=label)
                    for name, (c, m, label) in METHODS.items()
                    if name in set(table["method"])
                ),
                Line2D([], [], color=LAPLACE[1], marker=LAPLACE[2], linestyle="none",
                       label=LAPLACE[3]),
                Line2D([], [], color=INK, label="most that the claimed epsilon allows"),
            ],
            loc="lower center",
            ncols=5,
            frameon=False,
        )  # fmt: skip
        heading(
            figure,
            "Telling a file from its neighbour by one release",
            f"k = {k:g}; half of the releases are of each; 95 % intervals",
        )
        height = figure.get_figheight()
        figure.subplots_adjust(
            left=0.12, right=0.985, top=1 - 1.1 / height, bottom=0.95 / height, wspace=0.06
        )
        mark_surrogate(figure, table)
        return figure


def _accuracies(axis: Axes, part: pd.DataFrame) -> None:
    grid = np.geomspace(0.006, 1.7, 80)
    axis.plot(grid, 1 / (1 + np.exp(-grid)), color=INK, linewidth=1)
    styles = {"dp": LAPLACE[1:3]} | {name: style[:2] for name, style in METHODS.items()}
    shifts = np.geomspace(0.88, 1.14, len(styles))
    for shift, (method, (colour, marker)) in zip(shifts, styles.items(), strict=True):
        rows = part[part["method"] == method].drop_duplicates("claimed_epsilon")
        errors = np.abs(rows[["ci_low", "ci_high"]].sub(rows["accuracy"], axis=0).to_numpy().T)
        axis.errorbar(
            rows["claimed_epsilon"] * shift,
            rows["accuracy"],
            yerr=errors if len(rows) else None,
            color=colour,
            marker=marker,
            linestyle="none",
            markersize=5,
            linewidth=1,
        )
    axis.set_xscale("log")
    axis.set_ylim(0.44, 1.03)
    axis.set_xticks([0.01, 0.1, 1.0])
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.grid(axis="y", color=GRID, linewidth=0.5)
    axis.set_axisbelow(True)
