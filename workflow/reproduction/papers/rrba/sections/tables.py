"""Sections on RRBA's tables: released ones, at equal epsilon too, and tests of independence."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from deniable.display import Row, Tables, by, groups_of, rows_of
from deniable.estimation import Z_95

from reproduction.papers.rrba.names import (
    DATASETS,
    EQUAL_METHODS,
    FILES,
    HYPOTHESES,
    METHODS,
    METRICS,
    PRINTED_TABLES,
    PROTOCOLS,
    RELEASES,
    RULES,
    SIZES,
    TESTS,
)

MEASURED = ("l2", "jensen_shannon")
"""The measures that the paper prints, and the page shows at equal epsilon."""
EQUAL_KEYS = ("metric", "file", "k", "epsilon")
OURS = "regenerated"
SETTING = ("small_cells", "sampled_tables", "k", "n", "effect")
POPULATION = ("k", "margins", "pattern", "n")
SHOWN_RULE = "ignore"
PERCENT = 100.0
ERRORS = 2.0
"""Powers differ if they do by more than so many Monte Carlo errors."""

Range = tuple[float, float]


def ends(values: Iterable[float]) -> Range | None:
    """Return the smallest and the largest of `values`, without NaN; None if there are none."""
    found = [float(value) for value in values if not pd.isna(value)]
    return (min(found), max(found)) if found else None


def in_order(names: Iterable[str], found: Iterable[str]) -> list[str]:
    """Return what was `found`, known `names` first and in their order.

    Examples
    --------
    >>> in_order(["b", "a"], ["c", "a", "b", "a"])
    ['b', 'a', 'c']
    """
    first, there = list(names), list(dict.fromkeys(found))
    return [name for name in first if name in there] + [n for n in there if n not in first]


def groups_by_name(
    table: pd.DataFrame, names: Iterable[str], *columns: str
) -> list[tuple[Row, pd.DataFrame]]:
    """Return groups of a `table` in the order of `columns`, the first in that of `names`."""
    order = in_order(names, table[columns[0]])

    def place(column: Any) -> Any:
        return column.map(order.index) if column.name == columns[0] else column

    return groups_of(table.sort_values(list(columns), key=place, kind="stable"), *columns)


def tally(found: Iterable[Any], names: Iterable[str]) -> dict[str, int]:
    """Return how often each of the `names` was `found`."""
    every = list(found)
    return {name: every.count(name) for name in names}


def ratios(
    table: pd.DataFrame, one: str, other: str, keys: Sequence[str], value: str = "mean"
) -> Row | None:
    """Compare two methods' means: their ratios, and in how many settings `one` is below `other`.

    A setting of the `table` is one of values of the `keys`; its mean stands in the column `value`.
    None if they share no setting.
    """
    first, second = (
        table[table["method"] == name].set_index(list(keys))[value] for name in (one, other)
    )
    found = (first / second).dropna()
    if not len(found):
        return None
    return {"of": len(found), "lower": int((found < 1).sum()), "range": ends(found)}


# -- Tables 4 and 5, Figure 7 ----------------------------------------------------------------------


def released(tables: Tables) -> dict[str, Any]:
    """Prepare Tables 4 and 5 from `tables`: printed beside ours, and what is private about them."""
    found = {name: tables[name] for name in PRINTED_TABLES}
    both = pd.concat(found.values())
    main = both[both["main"]]
    last = both[(both["reading"] == "last_block") & both["file"].isin(main["file"])]
    return {
        "printed_tables": {name: _printed_table(table) for name, table in found.items()},
        "titles_of": PRINTED_TABLES,
        "methods": METHODS,
        "releases": RELEASES,
        "metrics": METRICS,
        "names": FILES,
        "tally": {name: _agreement(main[main["method"] == name]) for name in METHODS},
        "readings": [
            of | each
            for of, part in groups_by_name(both, METHODS, "method", "reading", "file")
            if (each := _agreement(part))
        ],
        "wins": {
            name: {
                release: _wins(rows, name)
                for release, rows in (
                    ("pooled", main),
                    ("last_block", pd.concat([last, main[main["method"] != "rrba"]])),
                )
            }
            for name in ("laplace", "laplace_honest")
        },
        "figure_7": _figure_7(tables.get("rrba_fig7")),
    }


def _wins(rows: pd.DataFrame, other: str) -> dict[str, Row]:
    """Return by measure in how many cells RRBA is below another method."""
    keys = ("dataset", "k", "p", "epsilon_claimed")
    by_metric = {name: rows[rows["metric"] == name] for name in MEASURED}
    found = {name: ratios(part, "rrba", other, keys, OURS) for name, part in by_metric.items()}
    return {name: each for name, each in found.items() if each}


def _printed_table(table: pd.DataFrame) -> dict[str, Any]:
    columns = [
        (of["dataset"], of["k"]) for of, _ in groups_by_name(table, DATASETS, "dataset", "k")
    ]
    main = table[table["main"]]
    return {
        "columns": columns,
        "spans": Counter(name for name, _ in columns),
        "methods": in_order(METHODS, table["method"]),
        "settings": [
            of | _printed_setting(part) for of, part in groups_of(main, "p", "epsilon_claimed")
        ],
        "rows": rows_of(table),
        "runs": int(table["replicates"].max()),
    }


def _printed_setting(main: pd.DataFrame) -> Row:
    """Return the cells of each measure, the exact epsilons by method, that of Theorem 4.1."""
    by_metric = {of["metric"]: part for of, part in groups_of(main, "metric")}
    epsilons = {name: main.loc[main["method"] == name, "epsilon_exact"] for name in METHODS}
    theorem = main.loc[main["method"] == "rrba", "epsilon_theorem"].tolist()
    return {
        "grids": {
            name: by(by_metric[name], "method", "dataset", "k")
            for name in MEASURED
            if name in by_metric
        },
        "epsilons": {name: ends(exact) for name, exact in epsilons.items()},
        "theorem": theorem[0] if theorem else None,
    }


def _agreement(rows: pd.DataFrame) -> Row | None:
    """Count how printed cells stand to ours; None if nothing is printed."""
    own = rows[rows["published"].notna()]
    if not len(own):
        return None
    return tally(own["printed_is"], ("below", "within", "above")) | {
        "of": len(own),
        "agrees": int((own["verdict"] == "agrees").sum()),
        "some": int((own["subsets_agreeing"] > 0).sum()),
        "ratios": ends(own[OURS] / own["published"]),
    }


def _figure_7(table: pd.DataFrame | None) -> dict[str, Any] | None:
    """Return the ranges of the histograms: a row a panel and method, a column a k."""
    if table is None or not len(table):
        return None
    rows = []
    for of, part in groups_of(table, "file", "p", "epsilon_claimed", "metric"):
        for method, own in groups_by_name(part, METHODS, "method"):
            cells = {
                k: {
                    "mean": at_k["mean"].iloc[0],
                    "range": (at_k["bin_low"].min(), at_k["bin_high"].max()),
                    "published": at_k["published"].iloc[0],
                }
                for k, at_k in own.groupby("k")
            }
            rows.append(of | method | {"cells": cells})
    return {
        "rows": rows,
        "sizes": sorted(table["k"].unique()),
        "trials": int(table["trials"].max()),
    }


def equal(tables: Tables) -> dict[str, Any]:
    """Prepare from `tables` the distances at the same exact epsilon, and what adapting gains."""
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
                *((protocol, "rrba_uniform") for protocol in PROTOCOLS),
                ("rrba_uniform", "laplace_honest"),
            )
        },
    }


def _equal_grid(table: pd.DataFrame) -> list[Row]:
    """Return a row a file, k and method, its cells by epsilon."""
    return [
        of | method | {"cells": by(own, "epsilon")}
        for of, part in groups_by_name(table, FILES, "file", "k")
        for method, own in groups_by_name(part, EQUAL_METHODS, "method")
    ]


# -- Table 3, size and power -----------------------------------------------------------------------


def independence(tables: Tables) -> dict[str, Any]:
    """Prepare Table 3 beside ours, then sizes and powers at equal exact epsilon, from `tables`."""
    return {
        "table_3": table_3(tables["rrba_table3"]),
        "power": power(tables["rrba_power"]),
        "tests": TESTS,
        "hypotheses": HYPOTHESES,
        "rules": RULES,
    }


def table_3(table: pd.DataFrame) -> dict[str, Any]:
    """Arrange the `table` of Table 3: a row a method and hypothesis, a column a k and setting."""
    rules = list(dict.fromkeys(table["small_cells"]))
    rule = SHOWN_RULE if SHOWN_RULE in rules else rules[0]
    shown = table[table["small_cells"] == rule]
    shown = shown[shown["sampled_tables"] == shown["sampled_tables"].max()]
    settings = {
        k: list(dict.fromkeys(zip(at_k["n"], at_k["effect"], strict=True)))
        for k, at_k in shown.groupby("k")
    }
    methods = groups_by_name(shown, TESTS, "method")
    return {
        "rows": [of | _table_3_row(part) for of, part in methods],
        "settings": settings,
        "rule": rule,
        "sampled": int(shown["sampled_tables"].max()),
        "trials": int(shown["trials"].max()),
        "epsilons": {of["method"]: ends(part["epsilon_exact"]) for of, part in methods},
        **_agreements(table[table["published"].notna()]),
    }


def _table_3_row(own: pd.DataFrame) -> Row:
    return {
        "cells": by(own, "hypothesis", "k", "n", "effect"),
        "printed": {(r["hypothesis"], r["k"]): r["published"] for r in rows_of(own)},
        "accuracy": _accuracies(own, OURS),
        "accuracy_printed": _accuracies(own, "published"),
    }


def _accuracies(own: pd.DataFrame, column: str) -> dict[Any, float]:
    """Return the share of right decisions by k, n and effect, half of the trials a null."""
    wide = own.pivot(index=["k", "n", "effect"], columns="hypothesis", values=column)
    wide = wide.reindex(columns=list(HYPOTHESES))
    return dict(((PERCENT - wide["H0"] + wide["H1"]) / 2).dropna())


def _agreements(printed: pd.DataFrame) -> dict[str, Any]:
    """Return how many printed cells agree: by setting and method, and the most in one setting."""
    agrees = printed.assign(agrees=printed["verdict"].isin(["agrees", "fitted"]))
    counts = agrees.groupby([*SETTING, "method"], sort=False)["agrees"].agg(["sum", "size"])
    counts = counts.reset_index()
    best: dict[str, list[Row]] = {}
    for of, at_k in groups_by_name(counts, TESTS, "method", "k"):
        most = at_k["sum"].max()
        best.setdefault(of["method"], []).append(
            {"k": of["k"], "most": most, "of": at_k["size"].max(), "settings_of": len(at_k)}
            | {"settings": int((at_k["sum"] == most).sum())}
        )
    agreement = [
        of | {"cells": {row["method"]: (row["sum"], row["size"]) for row in rows_of(part)}}
        for of, part in groups_of(counts, *SETTING)
    ]
    fitted = printed[printed["verdict"] == "fitted"]
    return {"agreement": agreement, "best": best, "fitted": len(fitted.groupby([*SETTING]))}


def power(table: pd.DataFrame) -> dict[str, Any]:
    """Arrange sizes and powers, a `table`, at the largest epsilon; count what holds over all."""
    rejected = table[table["measure"] == "rejected"].fillna({"size": ""})
    epsilon = rejected["epsilon"].max()
    shown = rejected[rejected["epsilon"] == epsilon]
    valid = table[(table["measure"] == "valid") & (table["epsilon"] == epsilon)]
    valid_at = {tuple(of.values()): part[OURS] for of, part in groups_of(valid, *POPULATION)}
    rows = []
    for of, part in groups_of(shown.sort_values(list(POPULATION), kind="stable"), *POPULATION):
        effect = float(part["effect"].max())
        cells = {
            (row["method"], "size" if row["effect"] == 0 else "power"): row
            for row in rows_of(part)
            if row["effect"] in (0, effect)
        }
        here = ends(valid_at.get(tuple(of.values()), ()))
        rows.append(of | {"effect": effect, "cells": cells, "valid": here})
    names = in_order(("channel_aware", "rrba", "mcindep", "laplace"), rejected["method"])
    return {
        "rows": rows,
        "epsilon": epsilon,
        "methods": names,
        "trials": int(rejected["trials"].max()),
        "sizes": {name: _sizes(rejected[rejected["method"] == name]) for name in names},
        "against": {name: _compared(rejected, "channel_aware", name) for name in names[1:]},
        "valid_sizes": _valid_sizes(table),
        "all": rows_of(rejected),
    }


def _sizes(rows: pd.DataFrame) -> Row:
    """Count the sizes of a method by what was decided of them."""
    sizes = rows.loc[rows["effect"] == 0, "size"]
    return tally(sizes, SIZES) | {"of": len(sizes)}


def _compared(table: pd.DataFrame, one: str, other: str) -> Row | None:
    """Count the powers in which one method is above or below another by over two errors."""
    keys = [*POPULATION, "effect", "epsilon", "sampled_tables", "small_cells"]
    positive = table[table["effect"] > 0]
    first, second = (positive[positive["method"] == name] for name in (one, other))
    both = first.merge(second, on=keys, suffixes=("_one", "_other"))
    if not len(both):
        return None
    apart = both["regenerated_one"] - both["regenerated_other"]
    widths = (both[f"ci_high_{which}"] - both[f"ci_low_{which}"] for which in ("one", "other"))
    reach = ERRORS * sum((width / 2 / Z_95) ** 2 for width in widths) ** 0.5
    return {
        "of": len(both),
        "higher": int((apart > reach).sum()),
        "lower": int((apart < -reach).sum()),
        "range": ends(apart),
    }


def _valid_sizes(table: pd.DataFrame) -> Row | None:
    """Return the sizes of the chi-squared test where its rule holds in nearly all trials."""
    null = table[(table["effect"] == 0) & (table["method"] == "channel_aware")]
    wide = null.pivot_table(index=[*POPULATION, "epsilon"], columns="measure", values="regenerated")
    if not {"valid", "valid_and_rejected"} <= set(wide.columns):
        return None
    always = wide[wide["valid"] == PERCENT]
    return {
        "of": len(wide),
        "always": len(always),
        "sizes": ends(always["valid_and_rejected"]),
        "never": int((wide["valid"] == 0).sum()),
    }
