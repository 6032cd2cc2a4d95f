"""The report's sections about RRBA's tests of independence, consistency and worked cases."""

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from deniable.display import Row, Tables, groups_of, rows_of
from deniable.estimation import Z_95
from deniable.papers.rrba.names import CONSISTENCY_METHODS, FILES, HYPOTHESES, KINDS, RULES, TESTS
from deniable.papers.rrba.sections.tables import OURS, Range, ends, in_order, tally

PRINTED_TESTS = ("rrba", "mcindep", "laplace")
"""The methods of Table 3."""
SETTING = ("small_cells", "sampled_tables", "k", "n", "effect")
POPULATION = ("k", "margins", "pattern", "n")
SHOWN_RULE = "ignore"
NOMINAL, PERCENT = 5.0, 100.0
SIZE_HELD = (4.0, 6.0)
ERRORS = 2.0
"""Powers differ if they do by more than so many Monte Carlo errors."""


# -- Table 3, size and power -----------------------------------------------------------------------


def independence(tables: Tables) -> dict[str, Any]:
    """Prepare Table 3 beside ours, then sizes and powers at equal exact epsilon."""
    return {
        "table_3": table_3(tables["rrba_table3"]),
        "power": power(tables["rrba_power"]),
        "tests": TESTS,
        "hypotheses": HYPOTHESES,
        "rules": RULES,
        "held": SIZE_HELD,
    }


def table_3(table: pd.DataFrame) -> dict[str, Any]:
    """Arrange Table 3: a row a method and hypothesis, a column a k and setting."""
    rules = list(dict.fromkeys(table["small_cells"]))
    rule = SHOWN_RULE if SHOWN_RULE in rules else rules[0]
    shown = table[table["small_cells"] == rule]
    shown = shown[shown["sampled_tables"] == shown["sampled_tables"].max()]
    settings = {
        k: list(dict.fromkeys(zip(at_k["n"], at_k["effect"], strict=True)))
        for k, at_k in shown.groupby("k")
    }
    rows = []
    for name in in_order(TESTS, shown["method"]):
        own = rows_of(shown[shown["method"] == name])
        cells = {(r["hypothesis"], r["k"], r["n"], r["effect"]): r for r in own}
        rows.append(
            {
                "method": name,
                "cells": cells,
                "printed": {(row["hypothesis"], row["k"]): row["published"] for row in own},
                "accuracy": _accuracies(cells, OURS),
                "accuracy_printed": _accuracies(cells, "published"),
            }
        )
    agreement = _agreement(table)
    printed = table.loc[table["published"].notna(), "method"]
    return {
        "rows": rows,
        "settings": settings,
        "rule": rule,
        "sampled": int(shown["sampled_tables"].max()),
        "trials": int(shown["trials"].max()),
        "epsilons": _epsilons(shown),
        "agreement": agreement,
        "best": _best(agreement, in_order(PRINTED_TESTS, printed)),
    }


def _accuracies(cells: Mapping[Any, Row], column: str) -> dict[Any, float]:
    """Return the share of right decisions by k, n and effect, half of the trials a null."""
    found = {}
    for (hypothesis, *at), row in cells.items():
        other = cells.get(("H1", *at))
        if hypothesis == "H0" and other is not None:
            found[tuple(at)] = (PERCENT - row[column] + other[column]) / 2
    return found


def _epsilons(table: pd.DataFrame) -> dict[str, Range]:
    found = {name: ends(table.loc[table["method"] == name, "epsilon_exact"]) for name in TESTS}
    return {name: each for name, each in found.items() if each}


def _agreement(table: pd.DataFrame) -> list[Row]:
    """Return how many printed cells agree: a row a setting, a column a method."""
    printed = table[table["published"].notna()]
    rows = []
    for of, part in groups_of(printed, *SETTING):
        verdicts = {
            name: part.loc[part["method"] == name, "verdict"]
            for name in in_order(PRINTED_TESTS, part["method"])
        }
        counts = {
            name: (int((found == "agrees").sum()), len(found)) for name, found in verdicts.items()
        }
        rows.append(of | {"cells": counts})
    return rows


def _best(agreement: list[Row], names: Iterable[str]) -> dict[str, list[Row]]:
    """Return by method and k the most printed cells that agree in one setting."""
    found: dict[str, list[Row]] = {name: [] for name in names}
    for name, best in found.items():
        own = [row for row in agreement if name in row["cells"]]
        for k in sorted({row["k"] for row in own}):
            counts = [row["cells"][name] for row in own if row["k"] == k]
            most = max(agree for agree, _ in counts)
            best.append(
                {
                    "k": k,
                    "most": most,
                    "of": max(of for _, of in counts),
                    "settings": sum(agree == most for agree, _ in counts),
                    "settings_of": len(counts),
                }
            )
    return found


def power(table: pd.DataFrame) -> dict[str, Any]:
    """Arrange sizes and powers at the largest epsilon, and count what holds over all of them."""
    rejected = table[table["measure"] == "rejected"]
    epsilon = rejected["epsilon"].max()
    shown = rejected[rejected["epsilon"] == epsilon]
    valid = table[(table["measure"] == "valid") & (table["epsilon"] == epsilon)]
    rows = []
    for of, part in groups_of(shown.sort_values(list(POPULATION), kind="stable"), *POPULATION):
        effect = float(part["effect"].max())
        cells = {
            (row["method"], "size" if row["effect"] == 0 else "power"): row | judged_size(row)
            for row in rows_of(part)
            if row["effect"] in (0, effect)
        }
        here = valid.loc[(valid[list(POPULATION)] == pd.Series(of)).all(axis=1), OURS]
        rows.append(of | {"effect": effect, "cells": cells, "valid": ends(here)})
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


def judged_size(row: Row) -> Row:
    """Return whether a size is proved to be outside 4 to 6 per cent."""
    if row["effect"] != 0:
        return {"size": ""}
    too_large, too_small = row["ci_low"] > SIZE_HELD[1], row["ci_high"] < SIZE_HELD[0]
    return {"size": "too large" if too_large else "too small" if too_small else "held"}


def _sizes(rows: pd.DataFrame) -> Row:
    """Count the sizes of a method by whether they are outside 4 to 6 per cent."""
    judged = [judged_size(row)["size"] for row in rows_of(rows[rows["effect"] == 0])]
    return tally(judged, ("held", "too small", "too large")) | {"of": len(judged)}


def _compared(table: pd.DataFrame, one: str, other: str) -> Row | None:
    """Count the powers in which one method is above or below another by over two errors."""
    keys = [*POPULATION, "effect", "epsilon", "sampled_tables", "small_cells"]
    positive = table[table["effect"] > 0]
    first, second = (positive[positive["method"] == name] for name in (one, other))
    both = first.merge(second, on=keys, suffixes=("_one", "_other"))
    if not len(both):
        return None
    apart = both["regenerated_one"] - both["regenerated_other"]
    reach = ERRORS * (_error(both, "one") ** 2 + _error(both, "other") ** 2) ** 0.5
    return {
        "of": len(both),
        "higher": int((apart > reach).sum()),
        "lower": int((apart < -reach).sum()),
        "range": ends(apart),
    }


def _error(both: pd.DataFrame, which: str) -> "pd.Series[float]":
    return (both[f"ci_high_{which}"] - both[f"ci_low_{which}"]) / 2 / Z_95


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


# -- consistency, worked cases ---------------------------------------------------------------------


def consistency(tables: Tables) -> dict[str, Any]:
    """Prepare views that disagree, before and after, and the worked cases."""
    table = tables["rrba_consistency"]
    rows = []
    for of, part in groups_of(table, "file", "p", "views_of", "tables"):
        cells = {row["method"]: row for row in rows_of(part)}
        first = next(iter(cells.values()))
        shared = {key: first[key] for key in ("records", "views", "number")}
        before = {key: first[key] for key in first if key.endswith("_before")}
        rows.append(of | shared | before | {"cells": cells})
    observed = table[table["tables"] == "observed"]
    together = table[table["method"] != "nearest"]
    return {
        "rows": rows,
        "methods": {n: t for n, t in CONSISTENCY_METHODS.items() if n in set(table["method"])},
        "kinds": KINDS,
        "names": FILES,
        "trials": int(table["replicates"].max()),
        "apart": ends(observed["disagreement_before"]),
        "apart_after": ends(together["disagreement_after"]),
        "apart_alone": ends(table.loc[table["method"] == "nearest", "disagreement_after"]),
        "feasible": ends(observed["printed_feasible"]),
        "closed": ends(observed["closed_form"]),
        "gains": {
            name: _gains(observed[observed["method"] == name]) for name in CONSISTENCY_METHODS
        },
        "cases": worked_cases(tables["rrba_examples"]),
    }


def _gains(rows: pd.DataFrame) -> Row | None:
    """Return how much closer to the truth tables are, and in how many settings for certain."""
    if not len(rows):
        return None
    return {
        "of": len(rows),
        "closer": int((rows["ci_high"] < 0).sum()),
        "farther": int((rows["ci_low"] > 0).sum()),
        "range": ends(rows["distance_after"] / rows["distance_before"]),
    }


def worked_cases(table: pd.DataFrame) -> dict[str, Any]:
    """Arrange the worked cases by case, and count what differs."""
    cases = [of | {"rows": rows_of(part)} for of, part in groups_of(table, "case")]
    verdicts = ("agrees", "differs", "not printed")
    return {"cases": cases, "tally": tally(table["verdict"], verdicts)}
