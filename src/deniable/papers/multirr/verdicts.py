"""What of [multirr] comes out again, on the page: printed numbers, claims in words."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import Any

import pandas as pd

from deniable.display import Row, Tables, groups_of, rows_of
from deniable.papers.multirr.catalog import CLUSTER_QUERY_KEYS
from deniable.papers.multirr.names import METHODS
from deniable.papers.multirr.sections import by
from deniable.study import FALSE_ALARMS, SIMILAR

# -- printed numbers -------------------------------------------------------------------------------


def printed_table(tables: Tables, name: str) -> dict[str, Any]:
    """Arrange a table as the paper does: a row for each p and T_d, columns by T_v.

    Returns
    -------
    dict
        ``name``, ``sizes`` (the T_v), ``mechanisms``; ``rows``: p, t_d, whether it is the ``first``
        of its p, and for each T_v the ``cells``, one a mechanism; ``keys`` of a cell.
    """
    table = tables[name]
    cells = by(table, "p", "t_d", "t_v", "mechanism")
    sizes = sorted(table["t_v"].unique())
    mechanisms = list(dict.fromkeys(table["mechanism"]))
    rows = [
        {
            "p": p,
            "t_d": t_d,
            "first": t_d == table["t_d"].min(),
            "cells": [[cells.get((p, t_d, t_v, m)) for m in mechanisms] for t_v in sizes],
        }
        for p, t_d in product(sorted(table["p"].unique()), sorted(table["t_d"].unique()))
    ]
    found = {"sizes": sizes, "mechanisms": mechanisms, "rows": rows}
    return found | {"name": name, "keys": CLUSTER_QUERY_KEYS}


def readings(tables: Tables) -> dict[str, Any]:
    """Prepare what agrees under the other readings of the matrix, and other projections."""
    found = tables["multirr_agreement"]
    return {"rows": found[~is_as_printed(found)], "keys": CLUSTER_QUERY_KEYS}


def is_as_printed(agreement: pd.DataFrame) -> "pd.Series[bool]":
    """Return which rows have the matrix and the projection that the paper prints."""
    printed: pd.Series[bool] = agreement["matrix"] == "printed"
    return printed & (agreement["projection"] == "clip")


def clusters(tables: Tables) -> dict[str, Any]:
    """Prepare the clusters of Algorithm 1 and the trend that the text reads over T_d."""
    trend = tables.get("multirr_threshold_trend", pd.DataFrame())
    if len(trend):
        trend = trend[trend["mechanism"] == trend["mechanism"].iloc[-1]]
    rows = [
        row | {"clusters": rows_of(part[part["attributes"] > 1])}
        for row, part in groups_of(tables["multirr_clusters"], "t_v", "t_d")
    ]
    return {"rows": rows, "trend": trend}


# -- claims in words -------------------------------------------------------------------------------

OVERALL = {
    "holds": "{} hold under every reading",
    "fails": "{} fail under every reading",
    "depends": "{} depend on the reading",
    "undecided": "{} the runs cannot decide under any",
    "surrogate": "{} have no verdict on surrogate data",
}


def overall(verdicts: Iterable[str]) -> str:
    """Return what the verdicts of a claim under all readings come to.

    Examples
    --------
    >>> overall(["holds", "holds"]), overall(["holds", "undecided"]), overall(["surrogate"])
    ('holds', 'depends', 'surrogate')
    """
    found = set(verdicts)
    if "surrogate" in found:
        return "surrogate"
    return found.pop() if len(found) == 1 else "depends"


def in_words(figure: str) -> str:
    """Return what is said of a claim with the methods' names as a reader knows them.

    Examples
    --------
    >>> in_words("rr_clusters_adjustment: 0.2, sigma = .1, T_v = 50")
    'RR-Clusters + Adjustment: 0.2, σ = .1, T_v = 50'
    """
    for name in sorted(METHODS, key=len, reverse=True):  # one name begins another
        figure = figure.replace(name, METHODS[name])
    return figure.replace("sigma", "σ").replace(">=", "≥")


def claims(tables: Tables) -> dict[str, Any]:
    """Arrange the claims of the text: a row a claim, columns by projection and mechanism.

    Returns
    -------
    dict
        ``projections``, ``mechanisms`` (ways to randomize clusters); ``claims``: each with section,
        printed, test (in words), its ``rows``, overall verdict and ``cells``. A cell spans what
        makes no difference to its claim; it has ``span``, and, unless nothing was decided there,
        ``verdict``, ``figure``, ``support``, ``contradict``, ``comparisons``. Then how many hold
        (``said``), and by what rules (``false_alarms``, ``similar``).
    """
    table = tables["multirr_claims"]
    projections, mechanisms = (
        [name for name in dict.fromkeys(table[column]) if name != "any"]
        for column in ("projection", "mechanism")
    )
    texts = ("section", "printed", "test")
    shown = table.assign(**{name: table[name].map(in_words) for name in (*texts, "figure")})
    found = []
    for claim, part in groups_of(shown, "claim", *texts):
        cells = by(part, "projection", "mechanism")
        found.append(
            claim
            | {"rows": rows_of(part), "overall": overall(part["verdict"])}
            | {"cells": list(_spanned(cells, projections, mechanisms))}
        )
    return {
        "projections": projections,
        "mechanisms": mechanisms,
        "claims": found,
        "said": [OVERALL[name].format(n) for name, n in tally(tables).items()],
        "false_alarms": FALSE_ALARMS,
        "similar": SIMILAR,
    }


def _spanned(
    cells: Mapping[tuple[str, str], Row], projections: list[str], mechanisms: list[str]
) -> Iterator[Row]:
    wide = max(len(mechanisms), 1)
    if ("any", "any") in cells:
        yield cells["any", "any"] | {"span": wide * max(len(projections), 1)}
        return
    for projection in projections:
        if (projection, "any") in cells:
            yield cells[projection, "any"] | {"span": wide}
        else:
            yield from (cells.get((projection, name), {}) | {"span": 1} for name in mechanisms)


def tally(tables: Tables) -> dict[str, int]:
    """Count the claims by what their verdicts come to; nothing without the table."""
    if not len(tables.get("multirr_claims", ())):
        return {}
    verdicts = tables["multirr_claims"].groupby("claim", sort=False)["verdict"]
    counts = verdicts.agg(overall).value_counts()
    return {name: int(counts[name]) for name in OVERALL if name in counts}
