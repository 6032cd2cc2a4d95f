"""The methods of [multirr] at stated exact epsilons: a figure, and what the page says of it."""

from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from deniable.display import Row, Tables, by, first_of, groups_of, style

from reproduction.papers.multirr.names import AT_EPSILON

# Colour and kind of line; safe for colour-blind readers.
STYLE = {
    "rr_independent": ("#1b1f24", "-"),
    "rr_independent_adjustment": ("#1b1f24", "--"),
    "rr_clusters_kronecker": ("#0072b2", "-"),
    "rr_clusters_kronecker_adjustment": ("#0072b2", "--"),
    "rr_clusters_joint": ("#d55e00", "-"),
    "rr_clusters_joint_adjustment": ("#d55e00", "--"),
    "rr_joint": ("#009e73", "-"),
    "uniform": ("#9aa1a9", ":"),
}
ASKED = {"all": "all attributes", "few": "few attributes"}
EPSILON_TICKS = [0.5, 1.0, 2.0, 4.0, 8.0, 16.0]
ERROR_TICKS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0]
USERS_END = 4.0  # of the epsilons that users work in; what is above it is the paper's range


def _first_drawn(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the first projection and coverage, and of each method's first clusters."""
    table = first_of(table, "projection", "sigma")
    parts = (part for _, part in groups_of(table, "attributes", "method"))
    return pd.concat([first_of(part, "t_v", "t_d") for part in parts])


@style.in_style
def drawn(table: pd.DataFrame) -> Figure:
    """Draw the `table`'s errors over the exact epsilon of a record: all attributes, and few."""
    table = _first_drawn(table)
    asked = [name for name in ASKED if name in set(table["attributes"])]
    figure, (axes,) = style.panels(
        1, len(asked), (9.4, 5.2), (0.75, 0.1, 0.95, 1.5), (0.1, 0), sharey=True
    )
    for axis, name in zip(axes, asked, strict=True):
        for method, part in table[table["attributes"] == name].groupby("method", sort=False):
            colour, line = STYLE[str(method)]
            style.line_with_band(
                axis, part, "epsilon", "median", color=colour, linestyle=line, linewidth=1.6
            )
        axis.set(xscale="log", yscale="log", xlabel="exact $\\epsilon$ of a whole record")
        style.plain_ticks(axis.xaxis, EPSILON_TICKS, style.as_number)
        style.plain_ticks(axis.yaxis, ERROR_TICKS, style.as_share)
        style.gridded(axis, linewidth=0.7)
        axis.set_title(ASKED[name], fontsize=10)
    axes[0].set_ylabel("median relative error")
    methods = [name for name in STYLE if name in set(table["method"])]
    keys = (style.line_key(*STYLE[name], AT_EPSILON[name]) for name in methods)
    style.legend_below(figure, keys, 3)
    style.heading(
        figure,
        "Beyond [multirr]: the methods at a stated epsilon",
        f"medians of {table['replicates'].max():,} runs with 95 % bands; coverage "
        f"$\\sigma$ = {table['sigma'].iloc[0]:g}; [multirr] works at 5 to 21",
    )
    return figure


def _least(cells: dict[str, Row]) -> Row:
    """Return the method with the ``lowest`` median, and ``others`` whose intervals meet its own."""
    lowest = min(cells, key=lambda name: float(cells[name]["median"]))
    end = cells[lowest]["ci_high"]
    others = [name for name in cells if name != lowest and cells[name]["ci_low"] <= end]
    return {"methods": cells, "lowest": lowest, "others": others}


def epsilon(tables: Tables) -> dict[str, Any]:
    """Prepare from `tables` the errors at each epsilon, and which is least beyond its interval."""
    table = _first_drawn(tables["multirr_epsilon"])
    rows = []
    for row, part in groups_of(
        table.sort_values("epsilon", kind="stable"), "attributes", "epsilon"
    ):
        cells = by(part, "method")
        told = [each for name, each in cells.items() if name != "uniform"]
        spent = [each["attribute_epsilon"] for each in told]
        found = {"p": told[0]["p"], "one": (min(spent), max(spent))}
        rows.append(row | found | _least(cells))
    order = list(ASKED)
    rows.sort(key=lambda row: (order.index(row["attributes"]), row["epsilon"]))
    return {
        "rows": rows,
        "users": [row for row in rows if row["epsilon"] <= USERS_END],
        "methods": {k: v for k, v in AT_EPSILON.items() if k in set(table["method"])},
        "asked": ASKED,
        "sigma": table["sigma"].iloc[0],
        "projection": table["projection"].iloc[0],
        "runs": int(table["replicates"].max()),
    }
