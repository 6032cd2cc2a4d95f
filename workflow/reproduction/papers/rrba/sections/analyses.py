"""Sections on RRBA's privacy in plain words, on convergence, consistency and claims."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from deniable.display import Row, Tables, by, groups_of, nearest, rows_of

from reproduction.papers.rrba import names
from reproduction.papers.rrba.catalog import CONVERGENCE_KEYS
from reproduction.papers.rrba.sections.tables import (
    EQUAL_KEYS,
    MEASURED,
    Range,
    ends,
    groups_by_name,
    ratios,
    tally,
)

SHOWN_P, SHOWN_FLOOR = 0.5, 0.1
MOSTLY = 0.5
"""Share of the runs that must have converged for a cell to count as converged."""
ALWAYS = 1.0


# -- what is promised of privacy, and delivered ----------------------------------------------------


def overview(tables: Tables) -> dict[str, Any]:
    """Prepare the epsilons of one answer, a view and rounds, beside the claim, from `tables`."""
    table = tables["rrba_epsilon"].fillna({"dataset": ""})
    general = table[table["dataset"] == ""]
    answers = general[general["unit"] == "answer"].sort_values("p")
    p = nearest((answers if len(answers) else table)["p"], SHOWN_P)
    views = _views(table)
    return {
        "p": p,
        "floor": nearest(table["floor"].dropna(), SHOWN_FLOOR),
        "names": names.FILES,
        "claimed": table.loc[table["p"] == p, "claimed"].iloc[0],
        "answers": _answers(answers),
        "cells": sorted(answers["cells"].unique()),
        "floors": sorted(table["floor"].dropna().unique(), reverse=True),
        "views": [row for row in views if row["p"] == p],
        "every_view": views,
        "rounds": _rounds(general[(general["p"] == p) & (general["table"] == "uniform")]),
        "tally": _tally(table),
        "certain": _certain(answers[(answers["p"] == p) & (answers["table"] == "uniform")]),
        "adapting": _adapting(tables.get("rrba_equal")),
    }


def _answers(answers: pd.DataFrame) -> list[Row]:
    """Return a row a p: claimed, uniform tables by cells, tables at a floor by floor and cells."""
    return [
        of
        | {
            "claimed": part["claimed"].iloc[0],
            "uniform": by(part[part["table"] == "uniform"], "cells"),
            "lowest": {
                (r["floor"], r["cells"]): r for r in rows_of(part[part["table"] == "lowest"])
            },
        }
        for of, part in groups_of(answers, "p")
    ]


def _views(table: pd.DataFrame) -> list[Row]:
    """Return a row a data set and p: answers of a view, claims, exact epsilons by table."""
    views = table[(table["unit"] == "view") & (table["dataset"] != "")]
    rows = []
    for of, part in groups_by_name(views, names.DATASETS, "dataset", "p"):
        first = rows_of(part)[0]
        uniform = rows_of(part[part["table"] == "uniform"])
        true = rows_of(part[part["table"] == "true"])
        rows.append(
            of
            | {key: first[key] for key in ("answers", "claimed", "claimed_composed")}
            | {"uniform": uniform[0] if uniform else None}
            | {"true": {row["floor"]: row for row in true}}
        )
    return rows


def _rounds(uniform: pd.DataFrame) -> dict[str, Any] | None:
    """Return what answering again costs, by rounds and cells; one round is one answer."""
    if not (uniform["unit"] == "rounds").any():
        return None
    rows = [
        of | {"cells": by(own, "cells")}
        for of, own in groups_of(uniform.sort_values("rounds"), "rounds")
    ]
    return {"rows": rows, "cells": sorted(uniform["cells"].unique())}


def _tally(table: pd.DataFrame) -> Row:
    """Count the settings in which the claim holds, for all and for each answer."""
    single = table[(table["unit"] == "answer") & (table["cells"] > 1)]
    several = table[table["unit"] != "answer"]
    return {
        "single": len(single),
        "single_hold": int(single["holds"].sum()),
        "single_ratios": ends(single["exact"] / single["claimed"]),
        "uniform_ratios": ends((single["exact"] / single["claimed"])[single["table"] == "uniform"]),
        "several": len(several),
        "several_hold": int(several["holds"].sum()),
        "composed_hold": int(several["holds_composed"].sum()),
    }


def _adapting(table: pd.DataFrame | None) -> Row | None:
    """Count the settings in which RRBA is better than a table that stays uniform."""
    if table is None:
        return None
    shown = table[(table["reading"] == "projected") & table["metric"].isin(MEASURED)]
    return ratios(shown, "rrba", "rrba_uniform", EQUAL_KEYS)


def _certain(uniform: pd.DataFrame) -> list[Row]:
    """Return what an answer tells of a value, by cells, where all values are equally likely.

    Of those who report it a value is the true one with the probability p + (1 - p) / m.
    """
    found = uniform[np.isfinite(uniform["exact"])].sort_values("cells")
    return [
        {"cells": m, "before": 1 / m, "after": p + (1 - p) / m}
        for p, m in zip(found["p"], found["cells"], strict=True)
    ]


# -- Figures 5 and 6 -------------------------------------------------------------------------------


def convergence(tables: Tables) -> dict[str, Any]:
    """Prepare when runs converge, from `tables`: by data set and p, by criterion and block size."""
    both = pd.concat([tables["rrba_fig5"], tables["rrba_fig6"]], ignore_index=True)
    every = both.drop_duplicates(list(CONVERGENCE_KEYS))
    keys = ["dataset", "p", "probability", "block_size"]
    parts = {
        (update, criterion): every[(every["update"] == update) & (every["criterion"] == criterion)]
        for update, criterion in names.CRITERIA
    }
    # A row a cell that was followed, its measures in columns.
    wide = {
        key: part.pivot_table(index=keys, columns="measure", values="mean").reset_index()
        for key, part in parts.items()
        if len(part)
    }
    return {
        "rows": _convergence_rows(every, wide),
        "criteria": {key: names.CRITERIA[key] for key in wide},
        "sizes": sorted(every["block_size"].unique()),
        "names": names.FILES,
        "runs": int(every["replicates"].max()),
        "found": [
            _criterion(cells) | {"title": names.CRITERIA[key]} for key, cells in wide.items()
        ],
        "spread": _spread(wide.get(("pooled", "precise"))),
        "updates": _updates(every[every["criterion"] == "none"]),
        "update_names": names.UPDATES,
    }


def _convergence_rows(
    table: pd.DataFrame, wide: Mapping[tuple[str, str], pd.DataFrame]
) -> list[Row]:
    groups = groups_by_name(table, names.DATASETS, "dataset", "p")
    rows = {(of["dataset"], of["p"]): of | {"cells": {}} for of, _ in groups}
    for key, cells in wide.items():
        for of, part in groups_of(cells, "dataset", "p", "block_size"):
            rows[of["dataset"], of["p"]]["cells"][*key, of["block_size"]] = {
                "converged": int((part["converged"] >= MOSTLY).sum()),
                "of": len(part),
                "within": float(part["within"].mean()),
                "tuples": float(part["tuples"].mean()),
            }
    return list(rows.values())


def _criterion(cells: pd.DataFrame) -> Row:
    """Return in how many settings runs converge, when, and how often what is returned is close.

    Means of answers are those of settings in which all runs converge: else they are of runs that
    were cut off, and bounds.
    """
    always = cells[cells["converged"] >= ALWAYS]
    return {
        "cells": len(cells),
        "converged": int((cells["converged"] >= MOSTLY).sum()),
        "share": cells["converged"].mean(),
        "always": len(always),
        "answers": ends(always["tuples"]),
        "blocks": ends(always["tuples"] / always["block_size"]),
        "within": cells["within"].mean(),
        "closeness": ends(cells["within"]),
    }


def _spread(cells: pd.DataFrame | None) -> Range | None:
    """Return by how much answers of the precise criterion differ between block sizes.

    Only where all runs converge: else means are those of runs that were cut off.
    """
    groups = [] if cells is None else groups_of(cells, "dataset", "p", "probability")
    return ends(
        part["tuples"].max() / part["tuples"].min()
        for _, part in groups
        if len(part) > 1 and (part["converged"] >= ALWAYS).all()
    )


def _updates(table: pd.DataFrame) -> list[Row]:
    """Return what becomes of tables without stopping: a row an update and p."""
    groups = groups_by_name(table, names.UPDATES, "update", "p")
    return [of | dict(own.groupby("measure")["mean"].mean()) for of, own in groups]


# -- consistency, worked cases ---------------------------------------------------------------------


def consistency(tables: Tables) -> dict[str, Any]:
    """Prepare views that disagree, before and after, and the worked cases, from `tables`."""
    table = tables["rrba_consistency"]
    rows = []
    for of, part in groups_of(table, "file", "p", "views_of", "tables"):
        cells = by(part, "method")
        # What is known before the views are made consistent is the same for all methods.
        rows.append(next(iter(cells.values())) | of | {"cells": cells})
    observed = table[table["tables"] == "observed"]
    alone = table["method"] == "nearest"
    cases = tables["rrba_examples"]
    return {
        "rows": rows,
        "methods": {
            n: t for n, t in names.CONSISTENCY_METHODS.items() if n in set(table["method"])
        },
        "kinds": names.KINDS,
        "names": names.FILES,
        "trials": int(table["replicates"].max()),
        "apart": ends(observed["disagreement_before"]),
        "apart_after": ends(table.loc[~alone, "disagreement_after"]),
        "apart_alone": ends(table.loc[alone, "disagreement_after"]),
        "feasible": ends(observed["printed_feasible"]),
        "closed": ends(observed["closed_form"]),
        "gains": {of["method"]: _gains(own) for of, own in groups_of(observed, "method")},
        "cases": [of | {"rows": rows_of(part)} for of, part in groups_of(cases, "case")],
        "tally": tally(cases["verdict"], ("agrees", "differs", "not printed")),
    }


def _gains(rows: pd.DataFrame) -> Row:
    """Return how much closer to the truth tables are, and in how many settings for certain."""
    return {
        "of": len(rows),
        "closer": int((rows["ci_high"] < 0).sum()),
        "farther": int((rows["ci_low"] > 0).sum()),
        "range": ends(rows["distance_after"] / rows["distance_before"]),
    }
