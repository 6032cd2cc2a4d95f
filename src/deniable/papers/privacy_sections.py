"""The report's sections about privacy: claims audited, equal risk confronted, a waiver held."""

from typing import Any

import pandas as pd

from deniable.display import Row, Tables, first_of, groups_of, rows_of
from deniable.randomized_response import ASSESSMENTS, ATTRIBUTE_IN_CLUSTER, WAIVED

AS_IF_ONCE = WAIVED.rpartition(", ")[2]
"""How a claim of the waiver of [multirr], 4.3, ends in the audit."""


def stated(privacy: pd.DataFrame) -> "pd.Series[bool]":
    """Return which claims a paper or a release states, and does not waive its way to."""
    return ~(equal_risk(privacy) | waived(privacy))


def equal_risk(privacy: pd.DataFrame) -> "pd.Series[bool]":
    """Return which rows read "equal risk" attribute by attribute."""
    found: pd.Series[bool] = privacy["unit"] == ATTRIBUTE_IN_CLUSTER
    return found


def waived(privacy: pd.DataFrame) -> "pd.Series[bool]":
    """Return which rows rest on the waiver of sequential composition."""
    found: pd.Series[bool] = privacy["of"].str.endswith(AS_IF_ONCE)
    return found


def audit(tables: Tables) -> dict[str, Any]:
    """Prepare the audit: how many claims of each kind hold, and all that do not."""
    privacy = tables["privacy"]
    mechanism = privacy["mechanism"]
    assessed, released = mechanism.str.startswith("assessment"), mechanism.str.startswith("release")
    kinds = {
        "epsilon of RR-Independent and RR-Clusters": stated(privacy) & ~assessed & ~released,
        "epsilon that a release states": stated(privacy) & released,
        "4.1 and 4.3, all reports composed": stated(privacy) & assessed,
        "“equal risk” read attribute by attribute": equal_risk(privacy),
        "4.3, “as if each attribute were released only once”": waived(privacy),
    }
    rows = [
        {"kind": kind, "claims": int(which.sum()), "holds": int(privacy["holds"][which].sum())}
        for kind, which in kinds.items()
    ]
    broken = privacy[~privacy["holds"]]
    return {
        "kinds": [row for row in rows if row["claims"]],
        "records": _records(privacy),
        "broken": [
            (kind, rows_of(broken[which[broken.index]]))
            for kind, which in kinds.items()
            if which[broken.index].any()
        ],
        "samplers": tables.get("samplers", pd.DataFrame()),
    }


def _records(privacy: pd.DataFrame) -> pd.DataFrame:
    """Return record-level epsilons: a row a reading, a column a p."""
    records = privacy[(privacy["unit"] == "record") & (privacy["mechanism"] == "rr_independent")]
    return records.pivot_table(index="matrix", columns="p", values="exact_epsilon", sort=False)


def risk(tables: Tables) -> dict[str, Any]:
    """Prepare "equal risk" against all that is spent, under the matrix as printed.

    Returns
    -------
    dict
        ``rows``: for each p RR-Independent's ``record`` and for each mechanism the T_v at which one
        attribute costs most, with the totals under each assessment; ``assessments``; ``matrix``;
        ``every``, all rows under all matrices; ``facts``.
    """
    table = tables["multirr_risk"]
    part = first_of(table, "matrix")
    rows: list[Row] = []
    for row, at in groups_of(part.sort_values("p", kind="stable"), "p"):
        alone = rows_of(at[at["mechanism"] == "rr_independent"])[0]
        for group, of in groups_of(at[at["t_v"].notna()], "mechanism"):
            plain = of[of["assessment"] == "none"]
            worst = rows_of(plain.loc[[plain["attribute_epsilon"].idxmax()]])[0]
            same = of[of["t_v"] == worst["t_v"]]
            totals = {cell["assessment"]: cell for cell in rows_of(same)}
            rows.append(row | group | {"alone": alone, "worst": worst, "totals": totals})
    assessments = [
        name for name in ASSESSMENTS if name != "none" and name in set(part["assessment"])
    ]
    return {
        "matrix": part["matrix"].iloc[0],
        "rows": rows,
        "assessments": assessments,
        "every": table,
        "facts": _facts(table),
    }


def _facts(table: pd.DataFrame) -> dict[str, Any]:
    """Return where risk is equal throughout: for records, by mechanism for attributes, assessed."""
    release = table[(table["assessment"] == "none") & table["t_v"].notna()]
    assessed = table[table["assessment"] != "none"]
    return {
        "record": bool(release["equal_risk_record"].all()),
        "attribute": release.groupby("mechanism")["equal_risk_attribute"].all().to_dict(),
        "assessed": bool(assessed["equal_risk_with_assessment"].any()),
    }


def waiver(tables: Tables) -> dict[str, Any]:
    """Prepare the waiver of [multirr], 4.3: claimed, exact, and delta by number of parties."""
    table = tables["multirr_waiver"]
    rows = []
    for row, part in groups_of(table, "matrix", "p"):
        cells = {cell["parties"]: cell for cell in rows_of(part)}
        rows.append(row | {"cells": cells} | next(iter(cells.values())))
    return {
        "rows": rows,
        "parties": sorted(table["parties"].unique()),
        "releases": int(table["releases"].max()),
        "trust": [
            (sorted(part["parties"].unique()), of["trust"])
            for of, part in groups_of(table, "trust")
        ],
        "others_alike": bool((table["others_alike"] == table["parties"] - 1).all()),
    }
