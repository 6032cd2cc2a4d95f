"""Contents of the sections without a paper: summary of verdicts, releases, findings, the run."""

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd

from deniable.display import Row, Tables, rows_of
from deniable.privacy import largest_posterior

from reproduction.papers import PAGES, PAPERS, RELEASE, STATED, TABLES, counted
from reproduction.report.contents import Contents, ReleaseFiles
from reproduction.study import corrected

ORDER = ("fails", "depends on the interpretation", "holds", "our finding")
ENUMERATED = {"pram": "pram_results"}
"""For each paper with exactly decided results, the name of their table and section."""
PRIOR, EPSILONS = 0.01, (1, 2, 4, 8)
"""A prior probability. Its largest posterior shows the meaning of each ε."""


def in_short(contents: Contents) -> Row:
    """Return the verdicts in `contents` on all papers: claims of privacy first, worst first.

    On surrogate data there are no verdicts, not even on results that do not depend on the data.
    """
    found = [(page, page.verdicts_on(contents.tables)) for page in PAGES if page.verdicts]
    if contents.surrogate:
        found = [(page, of.without_verdicts()) for page, of in found]
    privacy = [(page, each) for page, of in found for each in of.privacy]
    said, taken_back = _claims_at_once(contents.tables)
    counts = {key: counted(row["verdict"] for row in of.values()) for key, of in said.items()}
    privacy.sort(key=lambda row: (ORDER.index(row[1].verdict), -row[1].beyond))
    audited = contents.tables.get("privacy", pd.DataFrame(columns=["source", "claim", "mechanism"]))
    stated = audited[audited["source"].str.startswith(RELEASE) & (audited["claim"] == STATED)]
    return {
        "privacy": privacy,
        "cards": {page.id: page for page, _ in privacy},
        "said": said,
        "papers": [
            (page, of, None if contents.surrogate else counts.get(page.id))
            for page, of in found
            if of.privacy or of.numbers
        ],
        "taken_back": taken_back,
        "enumerated": ENUMERATED,
        "prior": PRIOR,
        "posteriors": [
            (each, float(largest_posterior(PRIOR, math.exp(each)))) for each in EPSILONS
        ],
        # By kind of plan: the number of stated ε that the exact ε exceeds, and their total number.
        "stated": [
            (str(kind), int((part["cases"] - part["hold"]).sum()), int(part["cases"].sum()))
            for kind, part in stated.groupby("mechanism", sort=False)
        ],
        "samplers": contents.tables.get("samplers", pd.DataFrame()),
        "runs": contents.runs(name for name, table in TABLES.items() if table.compared),
    }


def _claims_at_once(tables: Tables) -> tuple[dict[str, dict[str, Row]], Counter[str]]:
    """Decide the sentences of each paper, corrected by Holm's procedure over all papers.

    Exact results need no correction. Returns the claims by paper and name, and for each paper the
    number of verdicts that the correction changes to undecided.
    """
    rows = {
        (section.options["paper"], row["claim"]): row
        for page in PAGES
        for section in page.sections
        if section.id == f"{page.id}_claims" and section.possible(tables)
        for row in section.content(tables)["claims"]
    }
    said: dict[str, dict[str, Row]] = {
        key: {row["result"]: row for row in rows_of(tables[name])}
        for key, name in ENUMERATED.items()
        if name in tables
    }
    p_values, verdicts = ({key: rows[key][of] for key in rows} for of in ("p_value", "verdict"))
    taken_back: Counter[str] = Counter()
    for (paper, claim), verdict in corrected(p_values, verdicts).items():
        said.setdefault(paper, {})[claim] = rows[paper, claim] | {"verdict": verdict}
        taken_back[paper] += verdict != verdicts[paper, claim]
    return said, +taken_back


def findings(contents: Contents) -> Row:
    """Return the findings in `contents`, and whether they have its data, seed and replicates."""
    headline = re.search(r"seed\s(\d+),\sup\sto\s([\d,]+)\sreplicates", contents.findings)
    runs = contents.runs(TABLES)
    of_run = (
        headline is not None
        and bool(runs)
        and int(headline[1]) == contents.seed
        and runs[-1] == int(headline[2].replace(",", ""))
        and not contents.surrogate
    )
    return {"findings": contents.findings, "as_written": of_run}


def run(contents: Contents) -> Row:
    """Return papers, data sources, seed, versions and config of the run from `contents`."""
    return {"papers": PAPERS} | vars(contents)


OWN: Mapping[str, Callable[[Contents], Row]] = {
    "glance": in_short,
    "releases": lambda contents: releases(contents.releases),
    "findings": findings,
    "run": run,
}  # functions that return the contents of a section, by its id
REPLICA, MAX_TESTS = "paper_", 12
"""First letters of the names of releases from papers; largest number of tests on the page."""


def releases(all_files: Sequence[ReleaseFiles]) -> Row:
    """Return the contents of the section on releases, from the files of each (`all_files`)."""
    found = [_release(each) for each in all_files]
    return {"replicas": any(each["name"].startswith(REPLICA) for each in found), "releases": found}


def _release(files: ReleaseFiles) -> Row:
    document, tables = files.document, files.tables
    release, epsilon = document["release"], document["epsilon"]
    # The mean range of the marginal proportions of a category over the tables that contain it.
    spread, apart = None, tables.get("disagreement", pd.DataFrame())
    if "highest" in apart:
        spread = float((apart["highest"] - apart["lowest"]).mean())
    return {
        "name": release["name"],
        "release": release,
        "plan": document,
        "guarantees": [g | {"epsilon": epsilon_of(g["epsilon"])} for g in document["guarantees"]],
        "target": epsilon_of(epsilon["target"]),
        "by_attribute": {k: epsilon_of(v) for k, v in epsilon["by_changed_attribute"].items()},
        "margins": _estimates(tables.get("margins")),
        "numbers": _estimates(tables.get("numbers")),
        "tests": _tests(tables.get("independence")),
        "spread": spread,
        "check": _checked(tables["check"]) if "check" in tables else None,
    }


def epsilon_of(value: Any) -> float:
    """Return the ε of a `value` in a JSON document, where infinity is a text."""
    return math.inf if isinstance(value, str) else float(value)


def _estimates(table: pd.DataFrame | None) -> list[Row]:
    """Return the estimates for all strata together, for the population if possible."""
    if table is None or "estimate" not in table:
        return []
    target = "population" if "population" in set(table["target"]) else "file"
    return rows_of(of_all_records(table[table["target"] == target]))


def of_all_records(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a `table` that are not about a single stratum."""
    return table[table["stratum"].isin(["", math.nan])] if "stratum" in table else table


def _tests(table: pd.DataFrame | None) -> Row | None:
    if table is None or "p_value" not in table:
        return None
    tested = table[table["p_value"].notna()]
    smallest = tested.sort_values(["p_value", "statistic"], ascending=[True, False])
    return {
        "number": len(tested),
        "rejected": {
            name: int(_numbers(tested[name]).sum()) for name in tested.filter(like="rejected")
        },
        "smallest": rows_of(smallest.head(MAX_TESTS)),
    }


def _checked(check: pd.DataFrame) -> Row:
    means = check.select_dtypes("number").mean().dropna().to_dict()
    measures = check[check["value"].notna()] if "value" in check else check.iloc[:0]
    return {"coverage": _coverage(check), "means": means, "measures": rows_of(measures)}


def _coverage(check: pd.DataFrame) -> Row | None:
    covered, known = (check.get(name, pd.Series()).dropna() for name in ("covered", "coverage"))
    if not len(covered):
        return None
    found: Row = {"intervals": len(covered), "covered": float(_numbers(covered).mean())}
    if len(known):
        redraws = check.loc[known.index, "redraws"].max()
        found |= {"coverage": float(known.mean()), "redraws": int(redraws)}
    return found


def _numbers(column: "pd.Series[Any]") -> "pd.Series[float]":
    """Return a column as numbers, with True and False as 1 and 0."""
    return column.astype(str).replace({"True": "1", "False": "0"}).astype(float)
