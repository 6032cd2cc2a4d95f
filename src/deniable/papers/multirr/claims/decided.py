"""What [multirr] claims in words (section 6.5), held against the tables of this run."""

from collections.abc import Mapping
from operator import itemgetter
from typing import Any

import pandas as pd

from deniable.papers.multirr.claims.figures import OF_FIGURE_2, OF_FIGURE_3
from deniable.papers.multirr.claims.tables import OF_TABLE_1, OF_TABLE_2
from deniable.study import Evidence, Given, Row, by_sentence, decide_claims, pooled, source_of

CLAIMS = (*OF_FIGURE_2, *OF_TABLE_1, *OF_FIGURE_3, *OF_TABLE_2)
"""In the order of the text; each is about one of the tables that `claims` takes."""


def claims(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Hold every claim of section 6.5 against the tables.

    Rows of another matrix than the printed one are passed over.

    Parameters
    ----------
    tables : mapping of name to DataFrame
        ``gains`` (multirr_gain_ratios: Figure 2 under each projection), ``methods``
        (multirr_methods: Figure 3 under each projection, at the paper's best thresholds),
        ``thresholds`` (Tables 1 and 2 and multirr_sensitivity), ``attributes``
        (multirr_attributes), ``clusters`` (multirr_clusters). What is compared stands in a column
        ``median``.

    Returns
    -------
    DataFrame
        A row a claim, cluster mechanism and projection, as far as they make a difference: the
        columns of `deniable.study.claim_columns`.
    """
    clusters = tables["clusters"]
    views = {
        "gains": ("p == 0.7", "estimator", "measure", "sigma", "against"),
        "methods": ("best != 'ours'", "p", "sigma", "method", "against", "measure"),
        "thresholds": ("", "dataset", "p", "t_v"),
        "attributes": ("dataset == 'adult'", "p", "t_v", "attributes"),
    }
    evidence = {
        name: _parts(_of_one_clustering(tables[name], clusters), *view)
        for name, view in views.items()
    }
    evidence["clusters"] = [Evidence(("any", "any"), source_of(clusters), clusters)]
    return decide_claims(CLAIMS, evidence, "mechanism", "projection")


def _of_one_clustering(table: pd.DataFrame, clusters: pd.DataFrame) -> pd.DataFrame:
    """Return the rows whose T_d forms the clusters of the smallest T_d at their T_v."""
    if "against" in table or "t_d" not in table:
        return table  # compared already, each at one T_d
    named = clusters.groupby(["t_v", "t_d"])["cluster"].agg("; ".join)
    first = named.groupby(level="t_v").transform("first")
    same = set(named.index[named == first])
    least = table["t_d"].min()
    at = zip(table["t_v"], table["t_d"], strict=True)
    return table[[t_d == least or (t_v, t_d) in same for t_v, t_d in at]]


def _parts(table: pd.DataFrame, which: str, *columns: str) -> list[Evidence]:
    """Return some rows of each mechanism and projection by the values of columns.

    Rows that repeat one experiment, with several T_d that form the same clusters, are pooled.
    """
    printed = table[table["matrix"] == "printed"]
    if which:
        printed = printed.query(which)
    if "mechanism" not in printed:
        printed = printed.assign(mechanism="any")
    key, found = itemgetter(*columns), []
    for settings, part in printed.groupby(["mechanism", "projection"], sort=False):
        rows: dict[tuple[Any, ...], list[Row]] = {}
        for row in part.to_dict("records"):
            rows.setdefault(key(row), []).append(row)
        cells = {name: pooled(each) for name, each in rows.items()}
        found.append(Evidence(tuple(map(str, settings)), source_of(table), cells))
    return found


def decide(given: Given) -> dict[str, pd.DataFrame]:
    """Decide what the paper claims in words, from the tables of this run."""
    found = given.tables
    compared = [found[f"multirr_{name}"] for name in ("table1", "table2", "sensitivity")]
    tables = {name: found[f"multirr_{name}"] for name in ("attributes", "clusters")}
    tables["gains"] = found["multirr_gain_ratios"].rename(columns={"ratio": "median"})
    tables["methods"] = found["multirr_methods"].rename(columns={"compared": "median"})
    tables["thresholds"] = pd.concat(compared).rename(columns={"regenerated": "median"})
    readings = claims(tables)
    return {"multirr_claims": by_sentence(readings), "multirr_claim_readings": readings}
