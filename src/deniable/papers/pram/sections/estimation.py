"""The report's sections about the census report ([pram]): its results, and estimates."""

from collections.abc import Iterable
from typing import Any

import pandas as pd

from deniable.display import Row, Tables, groups_of, rows_of
from deniable.papers.pram.names import CHANNELS, EVERY, METHODS, WITHIN

TARGETS = {"population": "population", "file": "these records"}
WEIGHTED = {
    "hajek": "weighted, over the sum of weights",
    "horvitz_thompson": "weighted, over the known total",
    "unweighted": "without weights",
}
DESIGNS = {"pps": "drawn by size", "stratified": "drawn by stratum"}
SECTIONS = {
    "1": "Section 1: estimation",
    "2": "Section 2: PRAM",
    "3": "Section 3: privacy",
    "4": "Section 4: item sets",
}


# -- what it is about, and the numbered results ----------------------------------------------------


def about(tables: Tables) -> dict[str, Any]:
    """Prepare the example of the glossary: what one report tells of the smallest attribute."""
    if "pram_intruder" not in tables:
        return {"example": None}
    table = tables["pram_intruder"]
    sizes = table.groupby("attribute", sort=False)["category"].nunique()
    name = str(sizes.idxmin())
    part = table[table["attribute"] == name]
    part = part[part["p"] == part["p"].max()]
    example = rows_of(part.loc[[part["factor"].idxmax()]])[0]
    other = (1 - example["p"]) / int(sizes[name])
    return {"example": example | {"size": int(sizes[name]), "kept": example["p"] + other}}


def results(tables: Tables) -> dict[str, Any]:
    """Prepare the numbered results by section, and how many hold."""
    table = tables["pram_results"]
    holds = table["verdict"] == "holds"
    return {
        "groups": [
            (SECTIONS.get(str(of["section"]), f"Section {of['section']}"), rows_of(part))
            for of, part in groups_of(table, "section")
        ],
        "count": len(table),
        "holds": int(holds.sum()),
        "largest": table["gap"][holds].max() if holds.any() else None,
        "failing": [row["result"] for row in rows_of(table[~holds])],
    }


# -- estimates and their intervals (section 1, (2.7), section 4) -----------------------------------


def coverage(tables: Tables) -> dict[str, Any]:
    """Prepare how often intervals hold the truth: a row a channel and target."""
    table = tables["pram_coverage"]
    rows = [
        at | {"name": CHANNELS[at["channel"]]} | _covered(part)
        for at, part in groups_of(table, "channel", "records", "target")
    ]
    single = [cell for row in rows for cell in row["single"].values()]
    each = [row | {"cell": cell} for row in rows for cell in row["each"]]
    outside = [row for row in each if not WITHIN[0] <= row["cell"]["mean"] <= WITHIN[1]]
    outside.sort(key=lambda row: row["cell"]["mean"])
    together = [row | {"cell": c} for row in rows for c in row["together"].values()]
    ratios = [row["ratios"]["variance_ratio"] for row in rows if "variance_ratio" in row["ratios"]]
    return {
        "rows": rows,
        "methods": [name for name in METHODS if any(name in row["single"] for row in rows)],
        "method_names": METHODS,
        "targets": TARGETS,
        "within": WITHIN,
        "runs": int(table["replicates"].max()),
        "means": extremes(single),
        "each": each,
        "outside": outside,
        "least_together": min(together, key=lambda row: row["cell"]["mean"], default=None),
        "ratios": extremes(ratios),
        "by_category": [row | {"lines": _by_category(row["each"])} for row in rows],
    }


def _covered(part: pd.DataFrame) -> Row:
    """Return coverages, largest bias and ratios of variances of one channel and target."""
    covered = part[part["measure"] == "coverage"]
    single = covered[covered["intervals"] == "none"]
    each = rows_of(single[single["category"] != EVERY])
    together = rows_of(covered[covered["intervals"] != "none"])
    bias = part["mean"][part["measure"] == "bias"].abs()
    return {
        "categories": len({cell["category"] for cell in each}),
        "each": each,
        "single": {cell["method"]: cell for cell in rows_of(single[single["category"] == EVERY])},
        "ends": {
            method: extremes(cell for cell in each if cell["method"] == method)
            for method in METHODS
        },
        "together": {(cell["intervals"], cell["method"]): cell for cell in together},
        "bias": float(bias.max()) if len(bias) else None,
        "ratios": {
            cell["measure"]: cell
            for cell in rows_of(part[part["measure"].str.startswith("variance_ratio")])
        },
    }


def _by_category(each: list[Row]) -> dict[str, dict[str, Row]]:
    """Return coverages by category and method."""
    lines: dict[str, dict[str, Row]] = {}
    for cell in each:
        lines.setdefault(cell["category"], {})[cell["method"]] = cell
    return lines


def weights(tables: Tables) -> dict[str, Any]:
    """Prepare how weighted estimates fare beside unweighted ones: a row a design and channel."""
    table = tables["pram_weights"]
    rows: list[Row] = []
    for at, part in groups_of(table, "design", "channel", "records"):
        bias = part[part["measure"] == "bias"]
        largest = bias.assign(size=bias["mean"].abs()).groupby("estimator")["size"].max()
        rows.append(
            at
            | {"name": CHANNELS[at["channel"]], "drawn": DESIGNS[at["design"]]}
            | {"bias": largest.to_dict()}
            | {"coverage": by(part[part["measure"] == "coverage"], "target", "estimator")}
            | {"ratio": by(part[part["measure"] == "variance_ratio"], "estimator")}
        )
    estimators = [name for name in WEIGHTED if name in set(table["estimator"])]
    population = table[(table["measure"] == "coverage") & (table["target"] == "population")]
    plain = population["estimator"] == "unweighted"
    return {
        "rows": rows,
        "estimators": {name: WEIGHTED[name] for name in estimators},
        "weighted": extremes(rows_of(population[~plain])),
        "unweighted": extremes(rows_of(population[plain])),
        "largest": max((row["bias"].get("unweighted", 0.0) for row in rows), default=0.0),
        "largest_weighted": max(
            (size for row in rows for name, size in row["bias"].items() if name != "unweighted"),
            default=None,
        ),
        "ratios": extremes(rows_of(table[table["measure"] == "variance_ratio"])),
        "runs": int(table["replicates"].max()),
    }


def item_sets(tables: Tables) -> dict[str, Any]:
    """Prepare what item sets cost as they grow: a row an epsilon of an item and a size."""
    table = tables["pram_item_sets"]
    table = table[table["records"] == table["records"].iloc[0]]
    rows = [at | {"of": by(part, "measure")} for at, part in groups_of(table, "epsilon", "size")]
    rows.sort(key=lambda row: (row["epsilon"], row["size"]))
    sizes = sorted(table["size"].unique())
    errors = {
        (row["epsilon"], row["size"]): row["of"]["relative_error"]["mean"]
        for row in rows
        if "relative_error" in row["of"]
    }
    ends = []
    for epsilon in dict.fromkeys((rows[0]["epsilon"], rows[-1]["epsilon"])):
        smallest, largest = (errors.get((epsilon, size)) for size in (sizes[0], sizes[-1]))
        if smallest is not None and largest is not None:
            ends.append({"epsilon": epsilon, "smallest": smallest, "largest": largest})
    return {
        "rows": rows,
        "sizes": sizes,
        "ends": ends if len(sizes) > 1 else [],
        "covered": extremes(rows_of(table[table["measure"] == "coverage_score"])),
        "records": int(table["records"].iloc[0]),
        "runs": int(table["replicates"].max()),
    }


# -- what several sections need --------------------------------------------------------------------


def by(table: pd.DataFrame, *columns: str) -> dict[Any, Row]:
    """Return the rows by the values of some columns; by the value itself if there is one."""
    rows = rows_of(table)
    if len(columns) == 1:
        return {row[columns[0]]: row for row in rows}
    return {tuple(row[column] for column in columns): row for row in rows}


def extremes(cells: Iterable[Row]) -> tuple[float, float] | None:
    """Return the smallest and the largest mean of some cells; nothing if there are none."""
    means = [float(cell["mean"]) for cell in cells]
    return (min(means), max(means)) if means else None
