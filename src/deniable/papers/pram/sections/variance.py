"""The report's sections about variances under PRAM and invariant PRAM ([pram], section 2)."""

from typing import Any

import pandas as pd

from deniable.display import Row, Tables, groups_of, rows_of
from deniable.papers.pram.names import CLAIMS, INVARIANT_METHODS, JOINT_ESTIMATORS, MECHANISMS
from deniable.papers.pram.sections.estimation import by, extremes

CONTROL = "two_step_fixed"
SHORT_NAMES = {"separate": "one by one", "separate_inverted": "inverted", "joint": "together"}
SHOWN_EPSILONS = (1.0, 4.0)  # those of a run that are nearest to these stand open


def variance(tables: Tables) -> dict[str, Any]:
    """Prepare variance inflations by attribute and epsilon, beside the whole file's epsilon."""
    table = tables["pram_variance"]
    epsilons = sorted(table["epsilon"].unique())
    cells = by(table, "attribute", "epsilon", "mechanism")
    whole = tables.get("pram_whole_file")
    known = {} if whole is None else by(whole, "attribute", "epsilon", "mechanism")
    rows = []
    for at, part in groups_of(table, "attribute", "categories"):
        grid = {}
        for epsilon in epsilons:
            of = {
                key[2]: row for key, row in cells.items() if key[:2] == (at["attribute"], epsilon)
            }
            found = known.get((at["attribute"], epsilon, "invariant_two_step"))
            grid[epsilon] = {"of": of, "whole": found and found["whole_file_epsilon"]}
        rows.append(at | {"grid": grid, "records": int(part["records"].iloc[0])})
    return {
        "rows": rows,
        "epsilons": epsilons,
        "shown": list(
            dict.fromkeys(min(epsilons, key=lambda e: abs(e - s)) for s in SHOWN_EPSILONS)
        ),
        "mechanisms": {k: v for k, v in MECHANISMS.items() if k in set(table["mechanism"])},
        "wins": _wins(rows, epsilons),
        "same": _same_matrix(cells),
        "ranges": {
            name: (part["inflation"].min(), part["inflation"].max())
            for name, part in table.groupby("mechanism")
        },
        "whole": _whole(whole),
    }


def _wins(rows: list[Row], epsilons: list[float]) -> list[tuple[float, list[str]]]:
    """Return for each epsilon the attributes where randomized response has the smaller variance."""

    def less(row: Row, epsilon: float) -> bool:
        of = row["grid"][epsilon]["of"]
        names = ("randomized_response", "invariant_two_step")
        if not set(names) <= set(of):
            return False
        return bool(of[names[0]]["inflation"] < of[names[1]]["inflation"])

    found = [(e, [row["attribute"] for row in rows if less(row, e)]) for e in epsilons]
    return [(epsilon, names) for epsilon, names in found if names]


def _same_matrix(cells: dict[Any, Row]) -> float | None:
    """Return how far randomized response and PRAM of the same parity are apart, at most."""
    gaps = [
        abs(row["inflation"] / cells[(*key[:2], "pram_given_parity")]["inflation"] - 1)
        for key, row in cells.items()
        if key[2] == "randomized_response" and (*key[:2], "pram_given_parity") in cells
    ]
    return max(gaps, default=None)


def _whole(table: pd.DataFrame | None) -> dict[str, Any] | None:
    """Return what the whole-file epsilons come to, and one case with large ones."""
    if table is None:
        return None
    made = table[table["mechanism"] != "resampling"]
    if not len(made):
        return None
    beyond = made["whole_file_epsilon"] > made["epsilon"]
    case = made[made["categories"] == made["categories"].max()]
    case = case[case["mechanism"] == case["mechanism"].iloc[0]].sort_values("epsilon")
    return {
        "cases": len(made),
        "beyond": int(beyond.sum()),
        "low": made["whole_file_epsilon"].min(),
        "high": made["whole_file_epsilon"].max(),
        "case": rows_of(case)[0],
        "rows": [
            at | {"epsilons": {row["epsilon"]: row["whole_file_epsilon"] for row in rows_of(part)}}
            for at, part in groups_of(table, "attribute", "smallest_count", "mechanism")
        ],
        "epsilons": sorted(table["epsilon"].unique()),
        "names": MECHANISMS | {"resampling": "redraw all"},
    }


def invariant(tables: Tables) -> dict[str, Any]:
    """Prepare claimed beside true variances: a row a method and attribute, claims as columns."""
    table = tables["pram_invariant"]
    rows = [
        at | {"name": INVARIANT_METHODS[at["method"]]} | _claimed(part)
        for at, part in groups_of(table, "records", "p", "estimator", "method", "attribute")
    ]
    order = list(INVARIANT_METHODS)
    rows.sort(
        key=lambda row: (
            *(-row["records"], row["p"], row["estimator"] != "shares"),
            order.index(row["method"]),
        )
    )
    first = rows[0]
    shown = [row for row in rows if all(row[key] == first[key] for key in ("records", "p"))]
    of = {
        name: [r for r in shown if r["estimator"] == name and r["method"] != CONTROL]
        for name in ("shares", "inverted")
    }
    return {
        "shown": [row for row in shown if row["estimator"] == first["estimator"]],
        "rows": rows,
        "first": first,
        "claims": CLAIMS,
        "said": {name: {claim: _said(of[name], claim) for claim in CLAIMS} for name in of},
        "inflations": {
            name: extremes(row["inflation"] for row in of[name] if row["inflation"]) for name in of
        },
        "control": extremes(
            row["claims"]["multinomial"]["ratio"]
            for row in shown
            if row["method"] == CONTROL
            and row["claims"]["multinomial"]["ratio"]
            and row["estimator"] == "shares"
        ),
        "rarest": _rarest(rows),
        "runs": int(table["replicates"].max()),
    }


def _claimed(part: pd.DataFrame) -> Row:
    """Return the true inflation of an estimate, and what each claim comes to."""
    cells = by(part, "claim", "measure")
    measures = {"ratio": "claimed_to_true", "coverage": "coverage", "rarest": "coverage_rarest"}
    return {
        "inflation": cells.get(("none", "inflation")),
        "claims": {
            claim: {name: cells.get((claim, measure)) for name, measure in measures.items()}
            for claim in CLAIMS
        },
    }


def _said(rows: list[Row], claim: str) -> Row | None:
    """Return the ranges of the ratio and of the coverage of a claim over some rows."""
    found = [row["claims"][claim] for row in rows]
    ratios = extremes(each["ratio"] for each in found if each["ratio"])
    covered = extremes(each["coverage"] for each in found if each["coverage"])
    return {"ratio": ratios, "coverage": covered} if ratios and covered else None


def _rarest(rows: list[Row]) -> Row | None:
    """Return where the owner's intervals hold the share of the rarest category least often."""
    known = [
        row
        for row in rows
        if row["estimator"] == "shares" and row["claims"]["conditional"]["rarest"]
    ]
    return min(
        known, key=lambda row: float(row["claims"]["conditional"]["rarest"]["mean"]), default=None
    )


def joint_loss(tables: Tables) -> dict[str, Any]:
    """Prepare what is left of the dependence of pairs: a row a pair and epsilon."""
    table = tables["pram_joint_loss"]
    rows = []
    for at, part in groups_of(table, "first", "second", "epsilon"):
        cells = by(part, "estimator", "measure")
        rows.append(at | {"cells": cells, "true": cells.get(("true", "cramers_v"))})
    names = [name for name in JOINT_ESTIMATORS if name in set(table["estimator"])]
    rows.sort(key=lambda row: row["epsilon"])
    pairs = list(dict.fromkeys((row["first"], row["second"]) for row in rows))
    rows.sort(key=lambda row: pairs.index((row["first"], row["second"])))
    return {
        "rows": rows,
        "names": {name: JOINT_ESTIMATORS[name] for name in names},
        "short_names": SHORT_NAMES,
        "pairs": [_pair_said([r for r in rows if (r["first"], r["second"]) == p]) for p in pairs],
        "joint_best": all(_nearest(row) == "joint" for row in rows),
        "runs": int(table["replicates"].max()),
    }


def _distance(row: Row, name: str) -> float | None:
    cell = row["cells"].get((name, "distance"))
    return None if cell is None else float(cell["mean"])


def _nearest(row: Row) -> str | None:
    """Return the estimator that is nearest to the true table."""
    found = {name: _distance(row, name) for name in JOINT_ESTIMATORS}
    known = {name: value for name, value in found.items() if value is not None}
    return min(known, key=lambda name: known[name]) if known else None


def _pair_said(rows: list[Row]) -> Row:
    """Say of a pair what is left at both ends, and from which epsilon inverting is nearer."""
    nearer = None
    for row in rows:
        inverted, separate = (_distance(row, n) for n in ("separate_inverted", "separate"))
        if nearer is None and None not in (inverted, separate) and inverted < separate:  # type: ignore[operator]
            nearer = row["epsilon"]
    return {"first": rows[0], "last": rows[-1], "nearer_from": nearer}
