"""The section on releases, in one form for plans of all kinds."""

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd

from deniable.display import Row, rows_of

from reproduction.report.contents import ReleaseFiles

REPLICA, MAX_TESTS = "paper_", 12
"""Beginning of the names of releases by papers; largest number of tests that the page lists."""
DISTANCES = {
    "protected": "protected records as they are",
    "consistent": "consistent estimates",
    "shrunk": "shrunk pair estimates",
    "weights": "weighted records",
    "synthetic": "synthetic records",
    "l2_estimate": "unbiased estimates (Euclidean)",
    "l2_consistent": "consistent tables (Euclidean)",
    "l2_nearest": "two-step estimates, first step (Euclidean)",
    "js_consistent": "consistent tables (Jensen-Shannon)",
    "js_nearest": "two-step estimates, first step (Jensen-Shannon)",
}
"""Columns of checks with distances from the original tables, and their names on the page."""


def releases(all_files: Sequence[ReleaseFiles]) -> Row:
    """Return the contents of the section from the files of all releases, `all_files`."""
    found = [_release(each) for each in all_files]
    return {
        "replicas": any(each["name"].startswith(REPLICA) for each in found),
        "releases": found,
    }


def _release(files: ReleaseFiles) -> Row:
    document, tables = files.document, files.tables
    release, epsilon = document["release"], document["epsilon"]
    # The mean range of the marginal proportions that tables give the same category.
    spread, apart = None, tables.get("disagreement", pd.DataFrame())
    if "highest" in apart:
        spread = float((apart["highest"] - apart["lowest"]).mean())
    return {
        "name": release["name"],
        "release": release,
        "plan": document,
        "guarantees": [
            each | {"epsilon": epsilon_of(each["epsilon"])} for each in document["guarantees"]
        ],
        "target": epsilon_of(epsilon["target"]),
        "by_attribute": {k: epsilon_of(v) for k, v in epsilon["by_changed_attribute"].items()},
        "margins": _estimates(tables.get("margins")),
        "numbers": _estimates(tables.get("numbers")),
        "tests": _tests(tables.get("independence")),
        "spread": spread,
        "check": _checked(tables["check"]) if "check" in tables else None,
    }


def epsilon_of(value: Any) -> float:
    """Return an epsilon by its `value` in a JSON document, in which infinity is a text."""
    return math.inf if isinstance(value, str) else float(value)


def _estimates(table: pd.DataFrame | None) -> list[Row]:
    """Return the estimates of all records, for the population if possible."""
    if table is None or "estimate" not in table:
        return []
    targets = set(table["target"].dropna())
    target = "population" if "population" in targets else "file"
    return rows_of(of_all_records(table[table["target"] == target]))


def of_all_records(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a `table` that belong to no single stratum."""
    return table[table["stratum"].isin(["", math.nan])] if "stratum" in table else table


def _tests(table: pd.DataFrame | None) -> Row | None:
    """Return the number of tests and of rejections, and the tests with the smallest p-values."""
    if table is None or "p_value" not in table:
        return None
    tested = table[table["p_value"].notna()]
    decisions = {
        "each test on its own": "rejected",
        "Benjamini and Hochberg": "rejected_benjamini_hochberg",
        "Holm": "rejected_holm",
    }
    smallest = tested.sort_values(["p_value", "statistic"], ascending=[True, False])
    return {
        "number": len(tested),
        "rejected": {by: int(_numbers(tested[name]).sum()) for by, name in decisions.items()},
        "smallest": rows_of(smallest.head(MAX_TESTS)),
    }


def _checked(check: pd.DataFrame) -> Row:
    """Return coverage, mean distances and measures of a test release."""
    distances = {
        words: float(check[name].mean())
        for name, words in DISTANCES.items()
        if name in check and check[name].notna().any()
    }
    measures = check[check["value"].notna()] if "value" in check else check.iloc[:0]
    return {
        "coverage": _coverage(check),
        "distances": distances,
        "measures": rows_of(measures),
    }


def _coverage(check: pd.DataFrame) -> Row | None:
    """Return the proportion of intervals that cover, and the coverage over redraws."""
    if "covered" not in check:
        return None
    covered = check["covered"].dropna()
    if not len(covered):
        return None
    found: Row = {"intervals": len(covered), "covered": float(_numbers(covered).mean())}
    if "coverage" in check and check["coverage"].notna().any():
        known = check[check["coverage"].notna()]
        found |= {"coverage": float(known["coverage"].mean())}
        found |= {"redraws": int(known["redraws"].max())}
    return found


def _numbers(column: "pd.Series[Any]") -> "pd.Series[float]":
    """Return numbers, and truth values as 1 and 0."""
    return column.astype(str).replace({"True": "1", "False": "0"}).astype(float)
