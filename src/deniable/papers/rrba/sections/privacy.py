"""The report's page on RRBA in plain words: what is promised of privacy, what is delivered."""

import math
from typing import Any

import pandas as pd

from deniable.display import Row, Tables, groups_of, nearest, rows_of
from deniable.papers.rrba.names import DATASETS, FILES
from deniable.papers.rrba.sections.tables import EQUAL_KEYS, MEASURED, ends, in_order, ratios

SHOWN_P, SHOWN_FLOOR = 0.5, 0.1


def overview(tables: Tables) -> dict[str, Any]:
    """Prepare the epsilons of one answer, a view and rounds, beside the claim."""
    table = tables["rrba_epsilon"]
    answers = table[(table["unit"] == "answer") & _general(table)]
    p = nearest(answers["p"].unique(), SHOWN_P) or nearest(table["p"].unique(), SHOWN_P)
    floor = nearest(table["floor"].dropna().unique(), SHOWN_FLOOR)
    return {
        "p": p,
        "floor": floor,
        "names": FILES,
        "claimed": _claimed(table, p),
        "answers": _answers(answers),
        "cells": sorted(answers["cells"].unique()),
        "floors": sorted(table["floor"].dropna().unique(), reverse=True),
        "views": _views(table, p),
        "every_view": _views(table, None),
        "rounds": _rounds(table, p),
        "tally": _tally(table),
        "certain": _certain(p, answers),
        "adapting": _adapting(tables.get("rrba_equal")),
    }


def _general(table: pd.DataFrame) -> "pd.Series[bool]":
    """Return which rows are about tables of their own, not about those of a data set."""
    return table["dataset"].fillna("") == ""


def _claimed(table: pd.DataFrame, p: float | None) -> float | None:
    part = table.loc[table["p"] == p, "claimed"]
    return float(part.iloc[0]) if len(part) else None


def _answers(answers: pd.DataFrame) -> list[Row]:
    """Return a row a p: claimed, uniform tables by cells, tables at a floor by floor and cells."""
    rows = []
    for of, part in groups_of(answers.sort_values("p"), "p"):
        uniform = rows_of(part[part["table"] == "uniform"])
        lowest = rows_of(part[part["table"] == "lowest"])
        rows.append(
            of
            | {
                "claimed": float(part["claimed"].iloc[0]),
                "uniform": {row["cells"]: row for row in uniform},
                "lowest": {(row["floor"], row["cells"]): row for row in lowest},
            }
        )
    return rows


def _views(table: pd.DataFrame, p: float | None) -> list[Row]:
    """Return a row a data set (and p): answers of a view, claims, exact epsilons by table."""
    part = table[(table["unit"] == "view") & ~_general(table)]
    if p is not None:
        part = part[part["p"] == p]
    rows = []
    for name in in_order(DATASETS, part["dataset"]):
        for of, own in groups_of(part[part["dataset"] == name].sort_values("p"), "dataset", "p"):
            first = rows_of(own)[0]
            uniform = rows_of(own[own["table"] == "uniform"])
            true = rows_of(own[own["table"] == "true"])
            rows.append(
                of
                | {key: first[key] for key in ("answers", "claimed", "claimed_composed")}
                | {"uniform": uniform[0] if uniform else None}
                | {"true": {row["floor"]: row for row in true}}
            )
    return rows


def _rounds(table: pd.DataFrame, p: float | None) -> dict[str, Any] | None:
    """Return what answering again costs, by rounds and cells; one round is one answer."""
    part = table[(table["p"] == p) & (table["table"] == "uniform") & _general(table)]
    part = part[part["unit"].isin(("answer", "rounds"))]
    if not (part["unit"] == "rounds").any():
        return None
    rows = [
        of | {"cells": {row["cells"]: row for row in rows_of(own)}}
        for of, own in groups_of(part.sort_values("rounds"), "rounds")
    ]
    return {"rows": rows, "cells": sorted(part["cells"].unique())}


def _tally(table: pd.DataFrame) -> Row:
    """Count the settings in which the claim holds, for all and for each answer."""
    single = table[(table["unit"] == "answer") & (table["cells"] > 1)]
    several = table[table["unit"] != "answer"]
    ratios = single.loc[single["claimed"] > 0, "exact"] / single["claimed"]
    return {
        "single": len(single),
        "single_hold": int(single["holds"].astype(bool).sum()),
        "single_ratios": ends(ratios),
        "several": len(several),
        "several_hold": int(several["holds"].astype(bool).sum()),
        "composed_hold": int(several["holds_composed"].astype(bool).sum()),
    }


def _adapting(table: pd.DataFrame | None) -> Row | None:
    """Count the settings in which RRBA is better than a table that stays uniform."""
    if table is None:
        return None
    shown = table[(table["reading"] == "projected") & table["metric"].isin(MEASURED)]
    return ratios(shown, "rrba", "rrba_uniform", EQUAL_KEYS)


def _certain(p: float | None, answers: pd.DataFrame) -> list[Row]:
    """Return what an answer tells of a value, by cells, where all values are equally likely.

    Of those who report it a value is the true one with the probability p + (1 - p) / m.
    """
    if p is None:
        return []
    part = answers[(answers["p"] == p) & (answers["table"] == "uniform")].sort_values("cells")
    return [
        {"cells": row["cells"], "before": 1 / row["cells"], "after": p + (1 - p) / row["cells"]}
        for row in rows_of(part)
        if math.isfinite(row["exact"])
    ]
