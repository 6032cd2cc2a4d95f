"""The report's sections about breaches of privacy and designed channels ([pram], section 3)."""

from typing import Any

import pandas as pd

from deniable.display import Row, Tables, groups_of, rows_of
from deniable.papers.pram.sections.estimation import by

LOSSES = {
    "trace": "sum of variances",
    "worst_cell": "largest variance",
    "changed": "share of changed records",
    "distance": "expected distance",
}
RIVALS = {"generalized_rr": "generalized RR", "two_step": "two steps"}
NEVER_WORSE = 1e-6  # relative
SHOWN_EPSILON = 1.0  # the designs nearest to it stand open


# -- breaches --------------------------------------------------------------------------------------


def breaches(tables: Tables) -> dict[str, Any]:
    """Prepare what a report can tell: bounds, thresholds, priors near the bound, an intruder."""
    bounds = tables["pram_breach_bounds"]
    return {
        "priors": sorted(bounds["rho_1"].unique()),
        "epsilons": sorted(bounds["epsilon"].unique()),
        "bounds": by(bounds, "rho_1", "epsilon"),
        "thresholds": _thresholds(tables.get("pram_breach_thresholds")),
        "approach": _approach(tables.get("pram_approach")),
        "intruder": _intruder(tables.get("pram_intruder")),
        "worst": _worst_sets(tables.get("pram_worst_sets")),
    }


def _thresholds(table: pd.DataFrame | None) -> dict[str, Any] | None:
    """Arrange what rules out a breach: a row for both probabilities, a column a size."""
    if table is None:
        return None
    rows = [
        at | {"sizes": by(part, "categories")}
        for at, part in groups_of(
            table, "rho_1", "rho_2", "largest_parity", "largest_epsilon", "largest_factor"
        )
    ]
    return {"rows": rows, "sizes": sorted(table["categories"].unique())}


def _approach(table: pd.DataFrame | None) -> Row | None:
    """Return how close every channel comes to its bound on both sides, at the largest mass."""
    if table is None:
        return None
    last = table[table["mass"] == table["mass"].max()]
    return {"mass": float(last["mass"].iloc[0]), "gap": float(last["gap"].max())}


def _intruder(table: pd.DataFrame | None) -> dict[str, Any] | None:
    """Arrange what reports tell somebody who knows the true margin: a row an attribute and p."""
    if table is None:
        return None
    rows: list[Row] = []
    for at, part in groups_of(table, "attribute", "p", "epsilon", "parity"):
        known = part[part["factor"].notna()]
        if not len(known):
            continue
        others = known["likeliest"] != known["category"]
        rows.append(
            at
            | {"most": rows_of(known.loc[[known["factor"].idxmax()]])[0]}
            | {"least": rows_of(known.loc[[known["factor"].idxmin()]])[0]}
            | {"categories": len(known), "others": int(others.sum())}
        )
    misled = max(rows, key=lambda row: row["others"], default=None)
    return {"rows": rows, "misled": misled if misled and misled["others"] else None}


def _worst_sets(table: pd.DataFrame | None) -> dict[str, Any] | None:
    """Arrange the worst sets beside the bound: a row an attribute and p, columns by rho_1."""
    if table is None:
        return None
    found = table[table["posterior"].notna()]
    rows = [
        at | {"cells": by(part, "rho_1")}
        for at, part in groups_of(table, "attribute", "p", "epsilon")
    ]
    shares = found["posterior"] / found["bound"]
    return {
        "rows": rows,
        "priors": sorted(table["rho_1"].unique()),
        "all": rows_of(found),
        "shares": (shares.min(), shares.max()) if len(found) else None,
        "exact": bool(found["exact"].all()),
    }


# -- designed channels -----------------------------------------------------------------------------


def design(tables: Tables) -> dict[str, Any]:
    """Prepare designed channels beside the best in closed form: a row a design."""
    table = tables["pram_design"]
    rows = [
        row
        | {"saved": _saved(row), "requirements": _requirements(row["requirements"])}
        | {"loss": LOSSES.get(str(row["loss"]), str(row["loss"]).replace("_", " "))}
        for row in rows_of(table)
    ]
    shown = min(table["epsilon"], key=lambda epsilon: abs(epsilon - SHOWN_EPSILON))
    gains = {
        name: sorted(
            (row | {"share": row["saved"][name]} for row in rows if row["saved"][name] is not None),
            key=lambda row: row["share"],
        )
        for name in RIVALS
    }
    # What a rival was made for: against inverting the two steps much is saved all too easily.
    fair = {
        name: [row for row in found if ("invariant" in row["requirements"]) == (name == "two_step")]
        for name, found in gains.items()
    }
    return {
        "rows": rows,
        "shown": [row for row in rows if row["epsilon"] == shown],
        "rivals": RIVALS,
        "gains": {name: (found[0], found[-1]) for name, found in fair.items() if found},
        "compared": {name: len(found) for name, found in gains.items()},
        "worse": [row for found in gains.values() for row in found if row["share"] < -NEVER_WORSE],
        "optimality": table["optimality"].value_counts(sort=False).to_dict(),
        "channels": _channels(tables.get("pram_channels")),
    }


def _requirements(value: Any) -> str:
    return "" if pd.isna(value) else str(value)


def _saved(row: Row) -> dict[str, float | None]:
    """Return the share of a rival's loss that the design saves; nothing where there is no rival."""
    return {
        name: None if pd.isna(row[name]) or not row[name] else 1 - row["designed"] / row[name]
        for name in RIVALS
    }


def _channels(table: pd.DataFrame | None) -> list[Row] | None:
    """Arrange the entries of each designed matrix as its rows."""
    if table is None:
        return None
    found: list[Row] = []
    for at, part in groups_of(table, "design"):
        reported = list(dict.fromkeys(part["reported"]))
        entries = by(part, "true", "reported")
        rows = [
            (true, [entries.get((true, each)) for each in reported])
            for true in dict.fromkeys(part["true"])
        ]
        found.append(at | {"reported": reported, "rows": rows})
    return found
