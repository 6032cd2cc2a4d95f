"""The report's sections about Multi-Dimensional Randomized Response ([multirr])."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from deniable.display import Row, Tables, first_of, groups_of, rows_of
from deniable.papers.multirr.catalog import CLUSTER_QUERY_KEYS
from deniable.papers.multirr.names import ESTIMATORS, METHODS
from deniable.study import FALSE_ALARMS, SIMILAR

BEST = {"both": "the paper's and ours", "paper": "the paper's", "ours": "ours"}

# -- what it is about ------------------------------------------------------------------------------


def about(tables: Tables) -> dict[str, Any]:
    """Prepare the example of the glossary: one attribute under each reading of the matrix."""
    if not {"multirr_propagation", "privacy"} <= set(tables):
        return {"example": None}
    table, audited = tables["multirr_propagation"], tables["privacy"]
    alone = table[table["attribute"] != "all"]
    sizes = alone.drop_duplicates("attribute").set_index("attribute")["cells"]
    several = sizes[sizes > 2]
    name = str((several if len(several) else sizes).idxmin())
    beside = str(sizes.drop(name).idxmin())
    p, r = float(alone["p"].max()), int(sizes[name])
    audited = audited[(audited["mechanism"] == "rr_independent") & (audited["of"] == name)]
    epsilon = audited[audited["p"] == p].set_index("matrix")["exact_epsilon"]
    readings = [
        row | {"other": (1 - row["diagonal_weight"]) / r, "epsilon": epsilon.get(row["reading"])}
        for row in rows_of(alone[(alone["attribute"] == name) & (alone["p"] == p)])
    ]
    cells = r * int(sizes[beside])
    return {
        "example": {
            "name": name,
            "categories": r,
            "p": p,
            "readings": [row | {"true": row["diagonal_weight"] + row["other"]} for row in readings],
            "beside": beside,
            "cells": cells,
            "asked": math.ceil(0.3 * cells),
        }
    }


# -- Figures 1 to 3 --------------------------------------------------------------------------------


def figure_1(tables: Tables) -> dict[str, Any]:
    """Prepare what Figure 1 says in numbers: one proportion, ten, the largest domain."""
    table = tables["multirr_fig1"]
    height = dict(zip(table["categories"], table["root_b"], strict=True))
    powers = [number for number in height if str(number).strip("0") == "1"]
    largest = max(height)
    if "multirr_accuracy" in tables:
        largest = min(height, key=lambda n: abs(n - tables["multirr_accuracy"]["cells"].max()))
    return {
        "low": (min(height), height[min(height)]),
        "ten": (10, height[10]) if 10 in height else None,
        "high": (largest, height[largest]),
        "heights": [(number, height[number]) for number in sorted({*powers, largest})],
    }


def figure_2(tables: Tables) -> dict[str, Any]:
    """Prepare the medians of Figure 2 by coverage, and what estimation gains at both ends."""
    table = first_of(tables["multirr_fig2"], "matrix", "p")
    cells = {(r["measure"], r["estimator"], r["sigma"]): r for r in rows_of(table)}
    estimators = [name for name in ESTIMATORS if name in set(table["estimator"])]
    sigmas = sorted(table["sigma"].unique())
    gains, peak = [], None
    if {"randomized", "rr_independent"} <= set(estimators):
        for sigma in dict.fromkeys((sigmas[0], sigmas[-1])):
            raw = cells["relative_error", "randomized", sigma]["median"]
            estimated = cells["relative_error", "rr_independent", sigma]["median"]
            gains.append({"sigma": sigma, "raw": raw, "estimated": estimated})
        absolute = [cells["absolute_error", "rr_independent", sigma] for sigma in sigmas]
        peak = max(absolute, key=lambda row: row["median"])
    return {
        "p": table["p"].iloc[0],
        "estimators": estimators,
        "titles_of": ESTIMATORS,
        "measures": {
            "absolute_error": "absolute error, records",
            "relative_error": "relative error",
        },
        "rows": [
            (s, {key[:2]: cell for key, cell in cells.items() if key[2] == s}) for s in sigmas
        ],
        "gains": gains,
        "peak": peak,
    }


def panels(table: pd.DataFrame) -> list[Row]:
    """Return the panels of Figure 3 with the four methods at each coverage.

    Returns
    -------
    list of dict
        ``mechanism``, ``p``, ``t_v``, ``t_d``, ``best`` (whose thresholds these are, in words), and
        ``lines``: for each sigma the ``methods`` by name, the ``lowest`` of them, and whether its
        interval is ``apart`` from RR-Independent's.
    """
    groups = groups_of(first_of(table, "matrix"), "mechanism", "p", "best", "t_v", "t_d")
    found = [panel | {"lines": lines_of(part, "method")} for panel, part in groups]
    order = list(BEST)
    found.sort(key=lambda panel: (panel["mechanism"], panel["p"], order.index(panel["best"])))
    return [panel | {"best": BEST[panel["best"]]} for panel in found]


def lines_of(table: pd.DataFrame, column: str) -> list[Row]:
    """Return for each coverage what `compared` says of the methods that a column names."""
    lines = [
        at | compared({str(row[column]): row for row in rows_of(part)})
        for at, part in groups_of(table, "sigma")
    ]
    return sorted(lines, key=lambda line: float(line["sigma"]))


def compared(cells: Mapping[str, Row], base: str = "rr_independent") -> Row:
    """Say which of several medians is lowest, and whether beyond the interval of the base's.

    Returns
    -------
    dict
        ``methods`` (the cells), ``lowest`` (a name), ``apart`` (whether its interval lies wholly
        below the base's), ``share`` (of the base's median).
    """
    lowest = min(cells, key=lambda name: float(cells[name]["median"]))
    least, other = cells[lowest], cells.get(base)
    return {
        "methods": cells,
        "lowest": lowest,
        "apart": other is not None and bool(least["ci_high"] < other["ci_low"]),
        "share": least["median"] / other["median"] if other else math.nan,
    }


def figure_3(tables: Tables) -> dict[str, Any]:
    """Prepare Figure 3, at the paper's best thresholds and at ours."""
    every = panels(tables["multirr_fig3"])
    weakest = max(panel["p"] for panel in every)
    projections = []
    if "multirr_projections" in tables:
        for projection, part in groups_of(tables["multirr_projections"], "projection"):
            projections += [panel | projection for panel in panels(part)]
    return {
        "panels": every,
        "methods": METHODS,
        "said": [
            panel | panel["lines"][0]
            for panel in every
            if panel["p"] == weakest and panel["best"] != BEST["ours"]
        ],
        "projections": projections,
    }


def more_attributes(tables: Tables) -> dict[str, Any]:
    """Prepare the errors of queries of several attributes: a row a p and protocol."""
    table = first_of(tables["multirr_attributes"], "dataset", "matrix", "projection", "t_d")
    # Clusters of one attribute are randomized alike, whatever the mechanism is called.
    single = table.loc[table["t_v"] == 1, "mechanism"].min()
    table = table[(table["t_v"] > 1) | (table["mechanism"] == single)]
    numbers = sorted(table["attributes"].unique())
    rows = []
    for row, part in groups_of(table, "p", "t_v", "mechanism"):
        alone = row["t_v"] == 1
        protocol = METHODS["rr_independent"] if alone else f"RR-Clusters, {row['mechanism']}"
        cells = {cell["attributes"]: cell for cell in rows_of(part)}
        rows.append(row | {"protocol": protocol, "cells": cells})
    rows.sort(key=lambda row: row["p"])
    return {
        "numbers_of": numbers,
        "rows": rows,
        "projection": table["projection"].iloc[0],
    }


# -- Tables 1 and 2 --------------------------------------------------------------------------------


def layout(table: pd.DataFrame) -> dict[str, Any]:
    """Arrange a table as the paper does: a row for each p and T_d, columns by T_v.

    Returns
    -------
    dict
        ``sizes`` (the T_v), ``mechanisms``, and ``rows``: p, t_d and for each T_v the printed value
        and one record a mechanism.
    """
    sizes = sorted(table["t_v"].unique())
    mechanisms = list(dict.fromkeys(table["mechanism"]))
    cells = {
        (cell["p"], cell["t_d"], cell["t_v"], cell["mechanism"]): cell for cell in rows_of(table)
    }
    rows = [
        {
            "p": p,
            "t_d": t_d,
            "first": t_d == min(table["t_d"]),
            "cells": [
                [cells.get((p, t_d, t_v, mechanism)) for mechanism in mechanisms] for t_v in sizes
            ],
        }
        for p in sorted(table["p"].unique())
        for t_d in sorted(table["t_d"].unique())
    ]
    return {"sizes": sizes, "mechanisms": mechanisms, "rows": rows}


def printed_table(tables: Tables, name: str) -> dict[str, Any]:
    """Prepare a table that the paper prints."""
    return {"name": name, "grid": layout(tables[name]), "keys": CLUSTER_QUERY_KEYS}


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


def sweep(tables: Tables) -> dict[str, Any]:
    """Prepare the sweep of RR-Clusters: the best thresholds at each p and number of records."""
    whole = tables["multirr_sweep"]
    table = first_of(whole, "matrix", "mechanism", "projection")
    probabilities = sorted(table["p"].unique())
    rows = []
    for row, part in groups_of(table.sort_values(["records", "t_d", "t_v"]), "records"):
        lowest = part.loc[part.groupby("p")["median_relative_error"].idxmin()]
        best = {cell["p"]: cell for cell in rows_of(lowest)}
        rows.append(row | {"best": [best.get(p) for p in probabilities]})
    first = table.iloc[0]
    return {
        "cells": len(whole),
        "sizes": sorted(table["records"].unique()),
        "probabilities": probabilities,
        "rows": rows,
        **{name: first[name] for name in ("matrix", "mechanism", "projection")},
    }


# -- claims in words -------------------------------------------------------------------------------

OVERALL = {
    "holds": "{} hold under every reading",
    "fails": "{} fail under every reading",
    "depends": "{} depend on the reading",
    "undecided": "{} the runs cannot decide under any",
    "surrogate": "{} have no verdict on surrogate data",
}


def overall(verdicts: Iterator[str] | list[str]) -> str:
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


def claims_grid(table: pd.DataFrame) -> dict[str, Any]:
    """Arrange the claims: a row a claim, columns by projection and way to randomize clusters.

    Returns
    -------
    dict
        ``projections``, ``mechanisms``; ``claims``: each with section, printed, test (in words),
        overall verdict and ``cells``. A cell spans what makes no difference to its claim; it has
        ``span``, and, unless nothing was decided there, ``verdict``, ``figure``, ``support``,
        ``contradict``, ``comparisons``.
    """
    projections = [name for name in dict.fromkeys(table["projection"]) if name != "any"]
    mechanisms = [name for name in dict.fromkeys(table["mechanism"]) if name != "any"]
    found = []
    for _, part in groups_of(table, "claim"):
        rows = [row | {"figure": in_words(row["figure"])} for row in rows_of(part)]
        cells = {(row["projection"], row["mechanism"]): row for row in rows}
        found.append(
            {name: in_words(rows[0][name]) for name in ("section", "printed", "test")}
            | {"claim": rows[0]["claim"], "rows": rows}
            | {"overall": overall([row["verdict"] for row in rows])}
            | {"cells": list(_spanned(cells, projections, mechanisms))}
        )
    return {"projections": projections, "mechanisms": mechanisms, "claims": found}


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


def claims(tables: Tables) -> dict[str, Any]:
    """Prepare the claims of the text, with how many hold."""
    grid = claims_grid(tables["multirr_claims"])
    return grid | {
        "said": [OVERALL[name].format(n) for name, n in tally(tables).items()],
        "false_alarms": FALSE_ALARMS,
        "similar": SIMILAR,
    }


def tally(tables: Tables) -> dict[str, int]:
    """Count the claims by what their verdicts come to; nothing without the table."""
    if not len(tables.get("multirr_claims", ())):
        return {}
    verdicts = tables["multirr_claims"].groupby("claim", sort=False)["verdict"].agg(list)
    counts = pd.Series([overall(each) for each in verdicts]).value_counts()
    return {name: int(counts[name]) for name in OVERALL if name in counts}
