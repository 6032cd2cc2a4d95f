"""What of [multirr] comes out again: printed numbers, claims in words; as the page shows it."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from deniable.display import Row, Tables, groups_of, rows_of
from deniable.estimation import Z_95
from deniable.papers.multirr.catalog import CLUSTER_QUERY_KEYS, PRINTED_RUNS
from deniable.papers.multirr.names import METHODS
from deniable.papers.multirr.sections import by
from deniable.study import FALSE_ALARMS, SIMILAR, Given, agreement

# -- which printed numbers hold, and whether they have a trend over T_d ----------------------------

TREND_COLUMNS = (
    *("dataset", "mechanism", "p", "t_v", "clusterings", "printed_low", "printed_high"),
    *("statistic", "degrees_of_freedom", "p_value"),
)


def agreement_by_reading(given: Given) -> dict[str, pd.DataFrame]:
    """Count which printed numbers hold under each reading, mechanism and projection."""
    names = ("dataset", "matrix", "mechanism", "projection")
    return {"multirr_agreement": agreement(pd.concat(given.tables.values()), names)}


def trend(given: Given) -> dict[str, pd.DataFrame]:
    """Test the trend over T_d in the printed tables that this run regenerates."""
    printed = [table for name, table in given.tables.items() if name != "multirr_clusters"]
    found = threshold_trend(pd.concat(printed), given.tables["multirr_clusters"])
    return {"multirr_threshold_trend": found}


def threshold_trend(results: pd.DataFrame, clusters: pd.DataFrame) -> pd.DataFrame:
    """Test, for each p and T_v, that the printed values over T_d have one median ([multirr], 6.5).

    On Adult the clusters are the same for T_d = .1, .2 and .3, so cells of one p and T_v repeat one
    experiment, and whatever trend they show is sampling error. That of a printed median is taken
    from our interval for the same cells, scaled to the paper's replicate count, and to the level of
    the printed value: the printed cells are held against each other here, not against ours, and
    relative errors spread in proportion to their level. Only thresholds T_v at which all T_d give
    one clustering are tested. Results are rows of Tables 1 and 2 as their CSV files hold them,
    clusters as `deniable.randomized_response.audit.clusters_table` returns them.

    Returns
    -------
    DataFrame
        ``dataset``, ``mechanism`` (whose error is used), ``p``, ``t_v``, ``clusterings`` (how many
        different ones the T_d give: 1), ``printed_low``, ``printed_high``, ``statistic``,
        ``degrees_of_freedom``, ``p_value``; then a row for each dataset and mechanism with ``p``
        and ``t_v`` empty: the sum over all.
    """
    names = clusters.groupby(["t_v", "t_d"])["cluster"].agg("; ".join)
    clusterings: dict[Any, int] = names.groupby("t_v").nunique().to_dict()
    printed = results.dropna(subset=["published"])
    rows: list[dict[str, Any]] = []
    for which, table in groups_of(printed, "dataset", "mechanism"):
        tests: list[dict[str, Any]] = [
            which | {"p": p, "t_v": t_v, "clusterings": 1} | _one_median(cells)
            for (p, t_v), cells in table.groupby(["p", "t_v"])
            if clusterings[t_v] == 1  # otherwise the cells are different experiments
        ]
        if tests:
            whole = which | {"p": None, "t_v": None, "clusterings": 1} | _range(table["published"])
            statistic = sum(test["statistic"] for test in tests)
            freedom = sum(test["degrees_of_freedom"] for test in tests)
            rows += [*tests, whole | _chi_square(statistic, freedom)]
    return pd.DataFrame(rows, columns=list(TREND_COLUMNS)).astype({"p": "Float64", "t_v": "Int64"})


def _one_median(cells: pd.DataFrame) -> dict[str, float]:
    printed = cells["published"]
    half_width = (cells["ci_high"] - cells["ci_low"]).mean() / 2
    level = printed.mean() / cells["regenerated"].mean()
    runs = np.sqrt(cells["replicates"].mean() / PRINTED_RUNS)
    error = half_width / Z_95 * level * runs
    statistic = float((((printed - printed.mean()) / error) ** 2).sum())
    return _range(printed) | _chi_square(statistic, len(cells) - 1)


def _range(printed: "pd.Series[float]") -> dict[str, float]:
    return {"printed_low": printed.min(), "printed_high": printed.max()}


def _chi_square(statistic: float, freedom: int) -> dict[str, float]:
    return {
        "statistic": statistic,
        "degrees_of_freedom": freedom,
        "p_value": float(special.chdtrc(freedom, statistic)) if freedom else 1.0,
    }


# -- printed numbers on the page -------------------------------------------------------------------


def printed_table(tables: Tables, name: str) -> dict[str, Any]:
    """Arrange a table as the paper does: a row for each p and T_d, columns by T_v.

    A row says whether it is the ``first`` of its p, and has for each T_v the ``cells``, one a
    mechanism; beside the rows are the ``keys`` of a cell.
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
    """Prepare what agrees as printed, under other readings of the matrix, other projections."""
    found = tables["multirr_agreement"]
    printed = is_as_printed(found)
    return {"rows": pd.concat([found[printed], found[~printed]]), "keys": CLUSTER_QUERY_KEYS}


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


# -- claims in words on the page -------------------------------------------------------------------

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

    A claim has section, printed, test (in words), its ``rows``, overall verdict and ``cells``. A
    cell spans what makes no difference to its claim; it has ``span``, and, unless nothing was
    decided there, ``verdict``, ``figure``, ``support``, ``contradict``, ``comparisons``. Then how
    many hold (``said``), and by what rules (``false_alarms``, ``similar``).
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
