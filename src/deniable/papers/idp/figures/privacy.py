"""Figures of the audit of [idp]: claimed against exact epsilon, and attacks."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, NullLocator

from deniable.display import GRID, INK, NARROWEST, STYLE, canvas, heading, mark_surrogate
from deniable.papers.idp.names import (
    ALL,
    ANEW,
    AS_IT_RUNS,
    ATTACKS as KINDS,
    AUDITED,
    CERTIFICATE,
    FROZEN,
    SHUFFLED,
    UNITS,
)

METHODS: Mapping[str, tuple[str, str, str]] = {
    # colour (safe for colour-blind readers), marker, label
    "dp_um": ("#009e73", "s", AUDITED["dp_um"]),
    "idp_ls": ("#0072b2", "D", AUDITED["idp_ls"]),
    "idp_cbls": ("#d55e00", "o", AUDITED["idp_cbls"]),
    "idp_cbls_prose": ("#9aa1a9", "v", "iDP-CBLS, sensitivity as in the prose"),
}
PANELS: Sequence[tuple[str, str, str]] = (
    # unit, of which attributes, title
    ("centroid", "one", UNITS["centroid"]),
    ("attribute", "one", UNITS["attribute"]),
    ("attribute", ALL, "all centroids of all attributes"),
    ("record", "one", UNITS["record"]),
)
READINGS: Mapping[str, str] = {FROZEN: "-", AS_IT_RUNS: "--"}
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
    largest = table["epsilon"].max()
    shown = table[
        (table["epsilon"] == largest)
        & (table["domain_factor"] == table["domain_factor"].iloc[0])
        & (table["domain"] == "public")
        & (table["clusters"] == ANEW)
        & ~table["note"].fillna("").str.contains(f"{CERTIFICATE}|{SHUFFLED}")
    ]
    finite = shown["times_claimed"][np.isfinite(shown["times_claimed"])]
    infinite = 10 ** (np.ceil(np.log10(finite.max())) + 0.7)
    with mpl.rc_context(STYLE):
        figure = canvas(NARROWEST + 1.6, 2.55 * shown["dataset"].nunique() + 1.9)
        titles = [title for *_, title in PANELS]
        for own, line in _panels(figure, shown, titles, "k", "exact / claimed epsilon"):
            for axis, (unit, of, _) in zip(line, PANELS, strict=True):
                part = own[own["unit"] == unit]
                if unit == "attribute":
                    part = part[(part["attribute"] == ALL) == (of == ALL)]
                _ratios(axis, part, infinite)
        handles = [
            *_markers(METHODS.values(), markersize=4),
            Line2D([], [], color=INK, linestyle="-", label="scale frozen (exact)"),
            Line2D([], [], color=INK, linestyle="--", label="as it runs (at least)"),
        ]
        figure.legend(handles=handles, loc="lower center", ncols=3, frameon=False)
        heading(
            figure,
            "What is claimed, and what one record's change really spends",
            f"factor over the claim at epsilon {largest:g}; clusters formed anew for each "
            "neighbour; 1 or less: the claim holds",
        )
        _fit(figure, top=1.0, bottom=1.05)
        mark_surrogate(figure, table)
        return figure


def _panels(
    figure: Figure, table: pd.DataFrame, titles: Sequence[str], x: str, y: str
) -> Iterator[tuple[pd.DataFrame, Sequence[Axes]]]:
    """Yield the rows of each data set with a line of panels for them, labelled at the margins."""
    datasets = list(dict.fromkeys(table["dataset"]))
    axes = figure.subplots(len(datasets), len(titles), sharey=True, squeeze=False)
    for dataset, line in zip(datasets, axes, strict=True):
        yield table[table["dataset"] == dataset], line
        line[0].set_ylabel(f"{dataset}\n{y}")
    for first, last, title in zip(axes[0], axes[-1], titles, strict=True):
        first.set_title(title, fontsize=9.5)
        last.set_xlabel(x)


def _markers(styles: Iterable[tuple[str, str, str]], **more: Any) -> list[Line2D]:
    return [Line2D([], [], color=c, marker=m, label=label, **more) for c, m, label in styles]


def _fit(figure: Figure, top: float, bottom: float) -> None:
    height = figure.get_figheight()
    figure.subplots_adjust(
        left=0.12, right=0.985, top=1 - top / height, bottom=bottom / height, wspace=0.06
    )


def _ratios(axis: Axes, part: pd.DataFrame, infinite: float) -> None:
    axis.axhline(1, color=INK, linewidth=1)
    axis.axhspan(infinite / 2.5, infinite * 2.5, color=GRID, alpha=0.6, linewidth=0)
    for method, (colour, marker, _) in METHODS.items():
        # Lines that lie on each other, in the band of the infinite, are set apart a little.
        endless = infinite * SHIFTS.get(method, 1.12) ** 6
        for reading, line in READINGS.items():
            rows = part[(part["method"] == method) & (part["reading"] == reading)].sort_values("k")
            axis.plot(
                rows["k"].astype(float),
                rows["times_claimed"].replace(np.inf, endless),
                color=colour,
                linestyle=line,
                marker=marker,
                markersize=3.5,
                linewidth=1.2,
                fillstyle="full" if line == "-" else "none",
            )
    axis.set_yscale("log")
    axis.set_ylim(0.2, infinite * 2.5)
    ks = part["k"].dropna().astype(float)
    _plain_scale(axis, [k for k in K_TICKS if k <= ks.max()] if len(ks) else [])
    axis.set_yticks([*(10.0**power for power in range(int(np.log10(infinite)) + 1)), infinite])
    axis.yaxis.set_major_formatter(
        FuncFormatter(lambda value, _: "infinite" if value >= infinite * 0.99 else f"{value:,.0f}")
    )
    axis.yaxis.set_minor_locator(NullLocator())


def _plain_scale(axis: Axes, ticks: Sequence[float]) -> None:
    """Give an axis a log scale with plain numbers, and lines across at its ticks of heights."""
    axis.set_xscale("log")
    axis.set_xticks(ticks)
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.grid(axis="y", color=GRID, linewidth=0.5)
    axis.set_axisbelow(True)


ATTACKS: Mapping[str, str] = {
    "frozen": "likelihood of centroids,\nscale frozen",
    "runs": "likelihood of centroids,\nas it runs",
    "partition": "records with equal values,\na random change",
}
"""The kinds of attacks and their panels' titles."""
LAPLACE = ("#1b1f24", "^", "Laplace DP")


def attacks(table: pd.DataFrame) -> Figure:
    """Draw how often an intruder tells the file from a neighbour, over the claimed epsilon.

    Parameters
    ----------
    table : DataFrame
        Columns dataset, attack, neighbour, method, reading, k, claimed_epsilon, accuracy, ci_low,
        ci_high, allowed, replicates, data_source.
    """
    k = table["k"].max()
    shown = table[(table["k"] == k) | table["k"].isna()]
    with mpl.rc_context(STYLE):
        figure = canvas(NARROWEST, 2.5 * table["dataset"].nunique() + 1.9)
        titles, y = list(ATTACKS.values()), "share of right answers"
        for own, line in _panels(figure, shown, titles, "claimed epsilon", y):
            for axis, kind in zip(line, (KINDS[name] for name in ATTACKS), strict=True):
                part = own[
                    (own["attack"] == kind.attack)
                    & own["neighbour"].str.contains(kind.neighbour)
                    & ((own["reading"] == kind.reading) | (own["method"] == "dp"))
                ]
                _accuracies(axis, part)
        styles = [style for name, style in METHODS.items() if name in set(table["method"])]
        handles = [
            *_markers([*styles, LAPLACE], linestyle="none"),
            Line2D([], [], color=INK, label="most that the claimed epsilon allows"),
        ]
        figure.legend(handles=handles, loc="lower center", ncols=5, frameon=False)
        heading(
            figure,
            "Telling a file from its neighbour by one release",
            f"k = {k:g}; half of the releases are of each; 95 % intervals",
        )
        _fit(figure, top=1.1, bottom=0.95)
        mark_surrogate(figure, table)
        return figure


def _accuracies(axis: Axes, part: pd.DataFrame) -> None:
    grid = np.geomspace(0.006, 1.7, 80)
    axis.plot(grid, 1 / (1 + np.exp(-grid)), color=INK, linewidth=1)
    styles = {"dp": LAPLACE} | dict(METHODS)
    shifts = np.geomspace(0.88, 1.14, len(styles))
    for shift, (method, (colour, marker, _)) in zip(shifts, styles.items(), strict=True):
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
    axis.set_ylim(0.44, 1.03)
    _plain_scale(axis, [0.01, 0.1, 1.0])
