"""The report's sections about RRBA ([rrba]): convergence, released tables, claims."""

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from deniable.display import Row, Tables, groups_of, rows_of
from deniable.study import FALSE_ALARMS

DATASETS = {"survey": "Survey", "alarm": "Alarm", "child": "Child"}
FILES = {
    "survey": "Survey",
    "alarm": "Alarm",
    "child": "Child",
    "survey_8000": "Survey",
    "survey_8000_resampled": "Survey, resampled",
    "alarm_8000": "Alarm",
    "child_8000": "Child",
}
PRINTED_TABLES = {"rrba_table4": "Table 4", "rrba_table5": "Table 5"}
METHODS = {
    "rrba": "RRBA",
    "laplace": "Laplace, scale as printed",
    "laplace_honest": "Laplace, honest scale",
}
EQUAL_METHODS = {
    "rrba": "RRBA, floor .1 / m",
    "rrba_half_floor": "RRBA, floor .5 / m",
    "rrba_at_truth": "RRBA, p that the true table allows",
    "rrba_uniform": "table stays uniform",
    "randomized_response": "generalized randomized response",
    "laplace_honest": "Laplace, 2 / ε, trusted curator",
}
METRICS = {
    "l2": "l2 distance, records",
    "jensen_shannon": "Jensen-Shannon distance",
    "squared_error": "squared error",
    "chi_squared": "chi-squared",
}
CRITERIA = {
    ("printed", "first"): "printed rule, first time",
    ("printed", "lasting"): "printed rule, for good",
    ("pooled", "precise"): "pooled, as precise as 500 true answers",
}
UPDATES = {
    "printed": "as printed, blocks",
    "printed_first_version": "as printed, Algorithm 1",
    "projected": "each block, projected",
    "pooled": "pooled, projected",
    "uniform": "table stays uniform",
}
EQUAL_METRICS = ("l2", "jensen_shannon")
"""The measures that the page shows at equal epsilon."""
MOSTLY = 0.5
"""Share of the runs that must have converged for a cell to count as converged."""
ALWAYS = 1.0

Range = tuple[float, float]


def ends(values: Iterable[float]) -> Range | None:
    """Return the smallest and the largest of some numbers; None if there are none."""
    found = [float(value) for value in values if not pd.isna(value)]
    return (min(found), max(found)) if found else None


def in_order(names: Iterable[str], found: Iterable[str]) -> list[str]:
    """Return what was found, known names first and in their order.

    Examples
    --------
    >>> in_order(["b", "a"], ["c", "a", "b", "a"])
    ['b', 'a', 'c']
    """
    first, there = list(names), list(dict.fromkeys(found))
    return [name for name in first if name in there] + [n for n in there if n not in first]


# -- Figures 5 and 6 -------------------------------------------------------------------------------


def convergence(tables: Tables) -> dict[str, Any]:
    """Prepare when runs converge: by data set and p, by criterion and block size."""
    shown = {name: tables[name] for name in ("rrba_fig5", "rrba_fig6") if name in tables}
    both = pd.concat(shown.values(), ignore_index=True)
    every = both.drop_duplicates(["dataset", "probability", "block_size", "p", "update",
                                  "criterion", "measure"])  # fmt: skip
    return {
        "rows": _convergence_rows(every),
        "criteria": {key: title for key, title in CRITERIA.items() if _has(every, *key)},
        "sizes": sorted(every["block_size"].unique()),
        "names": FILES,
        "runs": int(every["replicates"].max()),
        "first": _criterion(every, "printed", "first"),
        "lasting": _criterion(every, "printed", "lasting"),
        "precise": _criterion(every, "pooled", "precise"),
        "spread": _spread(every),
        "updates": _updates(every),
        "update_names": UPDATES,
    }


def _has(table: pd.DataFrame, update: str, criterion: str) -> bool:
    return bool(((table["update"] == update) & (table["criterion"] == criterion)).any())


def _wide(table: pd.DataFrame, update: str, criterion: str) -> pd.DataFrame:
    """Return a row a cell that was followed, its measures in columns."""
    part = table[(table["update"] == update) & (table["criterion"] == criterion)]
    keys = ["dataset", "p", "probability", "block_size"]
    return part.pivot_table(index=keys, columns="measure", values="mean").reset_index()


def _convergence_rows(table: pd.DataFrame) -> list[Row]:
    found: dict[tuple[str, float], Row] = {}
    for name in in_order(DATASETS, table["dataset"]):
        for p in sorted(table.loc[table["dataset"] == name, "p"].unique()):
            found[name, p] = {"dataset": name, "p": p, "cells": {}}
    for update, criterion in CRITERIA:
        if not _has(table, update, criterion):
            continue
        for of, part in groups_of(_wide(table, update, criterion), "dataset", "p", "block_size"):
            found[of["dataset"], of["p"]]["cells"][update, criterion, of["block_size"]] = {
                "converged": int((part["converged"] >= MOSTLY).sum()),
                "of": len(part),
                "within": float(part["within"].mean()),
                "tuples": float(part["tuples"].mean()),
            }
    return list(found.values())


def _criterion(table: pd.DataFrame, update: str, criterion: str) -> Row | None:
    """Return the range of answers and of blocks, and how often what is returned is close."""
    if not _has(table, update, criterion):
        return None
    cells = _wide(table, update, criterion)
    reached = cells[cells["converged"] >= MOSTLY]
    return {
        "cells": len(cells),
        "converged": len(reached),
        "answers": ends(reached["tuples"]),
        "blocks": ends(reached["tuples"] / reached["block_size"]),
        "within": float(reached["within"].mean()) if len(reached) else None,
        "closeness": ends(reached["within"]),
    }


def _spread(table: pd.DataFrame) -> Range | None:
    """Return by how much answers of the precise criterion differ between block sizes.

    Only where all runs converge: else means are those of runs that were cut off.
    """
    if not _has(table, "pooled", "precise"):
        return None
    cells = _wide(table, "pooled", "precise")
    ratios = []
    for _, part in groups_of(cells, "dataset", "p", "probability"):
        if len(part) > 1 and (part["converged"] >= ALWAYS).all():
            ratios.append(part["tuples"].max() / part["tuples"].min())
    return ends(ratios)


def _updates(table: pd.DataFrame) -> list[Row]:
    """Return what becomes of tables without stopping: a row an update and p."""
    part = table[table["criterion"] == "none"]
    rows = []
    for name in in_order(UPDATES, part["update"]):
        for of, own in groups_of(part[part["update"] == name].sort_values("p"), "update", "p"):
            measures = own.groupby("measure")["mean"].mean()
            rows.append(of | {str(key): float(value) for key, value in measures.items()})
    return rows


# -- Tables 4 and 5, Figure 7 ----------------------------------------------------------------------


def released(tables: Tables) -> dict[str, Any]:
    """Prepare Tables 4 and 5: printed values beside ours, and what is private about them."""
    found = {name: _printed_table(tables[name]) for name in PRINTED_TABLES if name in tables}
    every = [row for table in found.values() for row in table["main"]]
    return {
        "printed_tables": found,
        "titles_of": PRINTED_TABLES,
        "methods": METHODS,
        "metrics": METRICS,
        "names": FILES,
        "tally": {name: _tally(every, name) for name in METHODS},
        "wins": {name: _wins(every, name) for name in ("laplace", "laplace_honest")},
        "figure_7": _figure_7(tables.get("rrba_fig7")),
    }


def _printed_table(table: pd.DataFrame) -> dict[str, Any]:
    main = rows_of(table[table["main"].astype(bool)])
    columns = [
        (name, k)
        for name in in_order(DATASETS, table["dataset"])
        for k in sorted(table.loc[table["dataset"] == name, "k"].unique())
    ]
    settings = []
    for of, part in groups_of(table[table["main"].astype(bool)], "p", "epsilon_claimed"):
        rows = rows_of(part)
        grids = {}
        for metric in ("l2", "jensen_shannon"):
            cells = {
                (row["method"], row["dataset"], row["k"]): row
                for row in rows
                if row["metric"] == metric
            }
            if cells:
                grids[metric] = cells
        epsilons = {
            name: ends(row["epsilon_exact"] for row in rows if row["method"] == name)
            for name in METHODS
        }
        theorem = next((row["epsilon_theorem"] for row in rows if row["method"] == "rrba"), None)
        settings.append(of | {"grids": grids, "epsilons": epsilons, "theorem": theorem})
    return {
        "main": main,
        "columns": columns,
        "spans": [(name, len(list(group))) for name, group in itertools.groupby(
            columns, lambda column: column[0])],
        "methods": in_order(METHODS, table["method"]),
        "settings": settings,
        "rows": rows_of(table),
        "runs": int(table["replicates"].max()),
    }  # fmt: skip


def _tally(rows: Sequence[Row], method: str) -> Row | None:
    """Count how printed cells of a method stand to ours."""
    own = [row for row in rows if row["method"] == method and row["published"] == row["published"]]
    if not own:
        return None
    place = {name: sum(row["printed_is"] == name for row in own) for name in
             ("below", "within", "above")}  # fmt: skip
    return place | {
        "of": len(own),
        "agrees": sum(row["verdict"] == "agrees" for row in own),
        "some": sum(row["subsets_agreeing"] > 0 for row in own),
    }


def _wins(rows: Sequence[Row], other: str) -> Row | None:
    """Count the cells in which RRBA's mean is below another method's, by measure."""
    keys = ("dataset", "k", "p", "epsilon_claimed", "metric")
    means = {(row["method"], *(row[key] for key in keys)): row["regenerated"] for row in rows}
    found: Row = {}
    for metric in ("l2", "jensen_shannon"):
        ratios = [
            value / means[other, *key[1:]]
            for key, value in means.items()
            if key[0] == "rrba" and key[-1] == metric and (other, *key[1:]) in means
        ]
        if ratios:
            found[metric] = {
                "of": len(ratios),
                "below": sum(ratio < 1 for ratio in ratios),
                "range": ends(ratios),
            }
    return found or None


def _figure_7(table: pd.DataFrame | None) -> dict[str, Any] | None:
    """Return the ranges of the histograms: a row a panel and method, a column a k."""
    if table is None or not len(table):
        return None
    rows = []
    for of, part in groups_of(table, "file", "p", "epsilon_claimed", "metric"):
        for name in in_order(METHODS, part["method"]):
            own = part[part["method"] == name]
            cells = {
                k: {
                    "mean": float(at_k["mean"].iloc[0]),
                    "range": (float(at_k["bin_low"].min()), float(at_k["bin_high"].max())),
                    "published": float(at_k["published"].iloc[0]),
                }
                for k, at_k in own.groupby("k")
            }
            rows.append(of | {"method": name, "cells": cells})
    return {
        "rows": rows,
        "sizes": sorted(table["k"].unique()),
        "trials": int(table["trials"].max()),
    }


# -- equal epsilon ---------------------------------------------------------------------------------


def equal(tables: Tables) -> dict[str, Any]:
    """Prepare the distances at the same exact epsilon, and what adapting the table gains."""
    table = tables["rrba_equal"]
    shown = table[table["reading"] == "projected"]
    metrics = [name for name in EQUAL_METRICS if name in set(shown["metric"])]
    return {
        "grids": {name: _equal_grid(shown[shown["metric"] == name]) for name in metrics},
        "epsilons": sorted(shown["epsilon"].unique()),
        "methods": EQUAL_METHODS,
        "metrics": METRICS,
        "names": FILES,
        "runs": int(table["replicates"].max()),
        "ratios": {
            (one, other): ratios(shown[shown["metric"].isin(metrics)], one, other)
            for one, other in (
                ("rrba", "rrba_uniform"),
                ("rrba_half_floor", "rrba_uniform"),
                ("rrba_at_truth", "rrba_uniform"),
                ("randomized_response", "rrba_uniform"),
                ("rrba_uniform", "laplace_honest"),
            )
        },
    }


def _equal_grid(table: pd.DataFrame) -> list[Row]:
    """Return a row a file, k and method, its cells by epsilon."""
    rows = []
    files = in_order(FILES, table["file"])
    for of, part in sorted(
        groups_of(table, "file", "k"), key=lambda pair: (files.index(pair[0]["file"]), pair[0]["k"])
    ):
        for name in in_order(EQUAL_METHODS, part["method"]):
            own = rows_of(part[part["method"] == name])
            rows.append(of | {"method": name, "cells": {row["epsilon"]: row for row in own}})
    return rows


def ratios(table: pd.DataFrame, one: str, other: str) -> Row | None:
    """Compare two methods' means: their ratios, and in how many settings the first is lower."""
    keys = ["metric", "file", "k", "epsilon"]
    first, second = (
        table[table["method"] == name].set_index(keys)["mean"] for name in (one, other)
    )
    found = (first / second).dropna()
    if not len(found):
        return None
    return {"of": len(found), "lower": int((found < 1).sum()), "range": ends(found)}


# -- claims ----------------------------------------------------------------------------------------


def claims(tables: Tables) -> dict[str, Any]:
    """Prepare the claims of the text: a row a claim, under one reading or several."""
    found = []
    for of, part in groups_of(tables["rrba_claims"], "claim"):
        rows = rows_of(part)
        verdicts = {row["verdict"] for row in rows}
        overall = verdicts.pop() if len(verdicts) == 1 else "depends"
        by_verdict = {
            verdict: [row["reading"] for row in rows if row["verdict"] == verdict]
            for verdict in ("holds", "fails", "undecided", "surrogate")
        }
        found.append(
            of
            | {name: rows[0][name] for name in ("section", "printed", "test")}
            | {"rows": rows, "overall": overall}
            | {"readings": {name: each for name, each in by_verdict.items() if each}}
        )
    tally: dict[str, int] = {}
    for claim in found:
        tally[claim["overall"]] = tally.get(claim["overall"], 0) + 1
    order = ("holds", "fails", "undecided", "depends", "surrogate")
    return {
        "claims": found,
        "tally": {name: tally[name] for name in order if name in tally},
        "false_alarms": FALSE_ALARMS,
    }
