"""The methods of [multirr] at stated exact epsilons: a figure, and what the page says of it."""

from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from deniable.display import Tables, first_of, groups_of, style

from reproduction.papers.multirr.names import AT_EPSILON
from reproduction.study import PageTable, all_rows, pivot

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


def epsilon(tables: Tables) -> dict[str, PageTable]:
    """Prepare from `tables` the errors of the methods at each epsilon."""
    table = _first_drawn(tables["multirr_epsilon"]).sort_values(["attributes", "epsilon"])
    form: dict[str, Any] = {"text": "percent", "names": AT_EPSILON, "base": "uniform"}
    spent = {"attributes": "attributes", "epsilon": "ε of a record", "method": "method", "p": "p"}
    spent |= {"attribute_epsilon": "ε of one attribute", "record_epsilon": "exact ε of a record"}
    called = table[table["method"] != "uniform"].replace({"method": AT_EPSILON})
    return {
        "errors": pivot(
            table,
            {"attributes": "attributes", "epsilon": "ε of a record"},
            "method",
            "median relative errors at stated ε",
            caption="▾ lowest; * its interval lies below the interval of no data.",
            **form,
        ),
        "spent": all_rows(called, "p and exact ε of each method", spent),
    }
