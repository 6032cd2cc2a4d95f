"""The report's sections about RRBA ([rrba]): convergence, released tables, claims."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from deniable.display import Row, Tables, groups_of, rows_of
from deniable.papers.rrba.catalog import CONVERGENCE_KEYS
from deniable.papers.rrba.names import (
    CRITERIA,
    DATASETS,
    EQUAL_METHODS,
    FILES,
    METHODS,
    METRICS,
    PRINTED_TABLES,
    UPDATES,
)
from deniable.study import FALSE_ALARMS

MEASURED = ("l2", "jensen_shannon")
"""The measures that the paper prints, and the page shows at equal epsilon."""
EQUAL_KEYS = ("metric", "file", "k", "epsilon")
OURS = "regenerated"
MOSTLY = 0.5
"""Share of the runs that must have converged for a cell to count as converged."""
ALWAYS = 1.0

Range = tuple[float, float]
Wide = Mapping[tuple[str, str], pd.DataFrame]
"""By update and criterion: a row a cell that was followed, its measures in columns."""


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


def tally(found: Iterable[Any], names: Iterable[str]) -> dict[str, int]:
    """Return how often each of some names was found."""
    every = list(found)
    return {name: every.count(name) for name in names}


def ratios(
    table: pd.DataFrame, one: str, other: str, keys: Sequence[str], value: str = "mean"
) -> Row | None:
    """Compare two methods' means: their ratios, and in how many settings the first is lower."""
    first, second = (
        table[table["method"] == name].set_index(list(keys))[value] for name in (one, other)
    )
    found = (first / second).dropna()
    if not len(found):
        return None
    return {"of": len(found), "lower": int((found < 1).sum()), "range": ends(found)}


# -- Figures 5 and 6 -------------------------------------------------------------------------------


def convergence(tables: Tables) -> dict[str, Any]:
    """Prepare when runs converge: by data set and p, by criterion and block size."""
    both = pd.concat([tables["rrba_fig5"], tables["rrba_fig6"]], ignore_index=True)
    every = both.drop_duplicates(list(CONVERGENCE_KEYS))
    wide = _wide(every)
    return {
        "rows": _convergence_rows(every, wide),
        "criteria": {key: CRITERIA[key] for key in wide},
        "sizes": sorted(every["block_size"].unique()),
        "names": FILES,
        "runs": int(every["replicates"].max()),
        "first": _criterion(wide.get(("printed", "first"))),
        "lasting": _criterion(wide.get(("printed", "lasting"))),
        "precise": _criterion(wide.get(("pooled", "precise"))),
        "spread": _spread(wide.get(("pooled", "precise"))),
        "updates": _updates(every),
        "update_names": UPDATES,
    }


def _wide(table: pd.DataFrame) -> Wide:
    keys = ["dataset", "p", "probability", "block_size"]
    parts = {
        (update, criterion): table[(table["update"] == update) & (table["criterion"] == criterion)]
        for update, criterion in CRITERIA
    }
    return {
        key: part.pivot_table(index=keys, columns="measure", values="mean").reset_index()
        for key, part in parts.items()
        if len(part)
    }


def _convergence_rows(table: pd.DataFrame, wide: Wide) -> list[Row]:
    found: dict[tuple[str, float], Row] = {
        (name, p): {"dataset": name, "p": p, "cells": {}}
        for name in in_order(DATASETS, table["dataset"])
        for p in sorted(table.loc[table["dataset"] == name, "p"].unique())
    }
    for key, cells in wide.items():
        for of, part in groups_of(cells, "dataset", "p", "block_size"):
            found[of["dataset"], of["p"]]["cells"][*key, of["block_size"]] = {
                "converged": int((part["converged"] >= MOSTLY).sum()),
                "of": len(part),
                "within": float(part["within"].mean()),
                "tuples": float(part["tuples"].mean()),
            }
    return list(found.values())


def _criterion(cells: pd.DataFrame | None) -> Row | None:
    """Return the range of answers and of blocks, and how often what is returned is close."""
    if cells is None:
        return None
    reached = cells[cells["converged"] >= MOSTLY]
    return {
        "cells": len(cells),
        "converged": len(reached),
        "answers": ends(reached["tuples"]),
        "blocks": ends(reached["tuples"] / reached["block_size"]),
        "within": float(reached["within"].mean()) if len(reached) else None,
        "closeness": ends(reached["within"]),
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
    found = {name: tables[name] for name in PRINTED_TABLES}
    main = pd.concat([table[table["main"].astype(bool)] for table in found.values()])
    keys = ("dataset", "k", "p", "epsilon_claimed")
    return {
        "printed_tables": {name: _printed_table(table) for name, table in found.items()},
        "titles_of": PRINTED_TABLES,
        "methods": METHODS,
        "metrics": METRICS,
        "names": FILES,
        "tally": {name: _agreement(main[main["method"] == name]) for name in METHODS},
        "wins": {
            name: {
                metric: each
                for metric in MEASURED
                if (each := ratios(main[main["metric"] == metric], "rrba", name, keys, OURS))
            }
            for name in ("laplace", "laplace_honest")
        },
        "figure_7": _figure_7(tables.get("rrba_fig7")),
    }


def _printed_table(table: pd.DataFrame) -> dict[str, Any]:
    columns = [
        (name, k)
        for name in in_order(DATASETS, table["dataset"])
        for k in sorted(table.loc[table["dataset"] == name, "k"].unique())
    ]
    main = table[table["main"].astype(bool)]
    return {
        "columns": columns,
        "spans": [
            (name, len(list(group)))
            for name, group in itertools.groupby(columns, lambda column: column[0])
        ],
        "methods": in_order(METHODS, table["method"]),
        "settings": [
            of | _printed_setting(part) for of, part in groups_of(main, "p", "epsilon_claimed")
        ],
        "rows": rows_of(table),
        "runs": int(table["replicates"].max()),
    }


def _printed_setting(main: pd.DataFrame) -> Row:
    """Return the cells of each measure, the exact epsilons by method, that of Theorem 4.1."""
    by_metric = {
        of["metric"]: {(row["method"], row["dataset"], row["k"]): row for row in rows_of(part)}
        for of, part in groups_of(main, "metric")
    }
    epsilons = {of["method"]: part for of, part in groups_of(main, "method")}
    theorem = epsilons["rrba"]["epsilon_theorem"].tolist()[0] if "rrba" in epsilons else None
    return {
        "grids": {name: by_metric[name] for name in MEASURED if name in by_metric},
        "epsilons": {
            name: ends(epsilons[name]["epsilon_exact"]) if name in epsilons else None
            for name in METHODS
        },
        "theorem": theorem,
    }


def _agreement(rows: pd.DataFrame) -> Row | None:
    """Count how printed cells of a method stand to ours."""
    own = rows[rows["published"].notna()]
    if not len(own):
        return None
    return tally(own["printed_is"], ("below", "within", "above")) | {
        "of": len(own),
        "agrees": int((own["verdict"] == "agrees").sum()),
        "some": int((own["subsets_agreeing"] > 0).sum()),
    }


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
    metrics = [name for name in MEASURED if name in set(shown["metric"])]
    return {
        "grids": {name: _equal_grid(shown[shown["metric"] == name]) for name in metrics},
        "epsilons": sorted(shown["epsilon"].unique()),
        "methods": EQUAL_METHODS,
        "metrics": METRICS,
        "names": FILES,
        "runs": int(table["replicates"].max()),
        "ratios": {
            (one, other): ratios(shown[shown["metric"].isin(metrics)], one, other, EQUAL_KEYS)
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


# -- claims ----------------------------------------------------------------------------------------


def claims(tables: Tables) -> dict[str, Any]:
    """Prepare the claims of the text: a row a claim, under one reading or several."""
    found = []
    for of, part in groups_of(tables["rrba_claims"], "claim"):
        rows = rows_of(part)
        verdicts = {row["verdict"] for row in rows}
        overall = verdicts.pop() if len(verdicts) == 1 else "depends"
        by_verdict = {
            name: [row["reading"] for row in rows if row["verdict"] == name]
            for name in ("holds", "fails", "undecided", "surrogate")
        }
        found.append(
            of
            | {name: rows[0][name] for name in ("section", "printed", "test")}
            | {"rows": rows, "overall": overall}
            | {"readings": {name: each for name, each in by_verdict.items() if each}}
        )
    order = ("holds", "fails", "undecided", "depends", "surrogate")
    counts = tally((claim["overall"] for claim in found), order)
    return {
        "claims": found,
        "tally": {name: count for name, count in counts.items() if count},
        "false_alarms": FALSE_ALARMS,
    }
