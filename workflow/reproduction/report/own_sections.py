"""The sections that belong to no paper: all verdicts in short, releases, findings, the run."""

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping

import pandas as pd

from deniable.display import Row, Tables, rows_of

from reproduction.papers import PAGES, PAPERS, RELEASE, STATED, TABLES, counted
from reproduction.report.contents import Contents
from reproduction.report.release_section import releases
from reproduction.study import corrected

ORDER = ("fails", "depends on the reading", "holds")
ENUMERATED = {"pram": "pram_results"}
"""Tables and sections of results that are decided exactly, case by case, by paper."""
SUSPICION, EPSILONS = 0.01, (1, 2, 4, 8)
"""The meaning of these epsilons is shown by the largest posterior of this prior probability."""


def in_short(contents: Contents) -> Row:
    """Return the verdicts in `contents` on all papers: claims of privacy first, worst first."""
    found = [(page, page.verdicts_on(contents.tables)) for page in PAGES if page.verdicts]
    privacy = [(page, each) for page, of in found for each in of.privacy]
    claims, taken_back = _claims_at_once(contents.tables)
    audited = contents.tables.get("privacy", pd.DataFrame(columns=["source", "claim"]))
    of_releases = audited["source"].str.startswith(RELEASE)
    stated = audited[of_releases & (audited["claim"] == STATED)]
    return {
        "privacy": sorted(privacy, key=lambda row: (ORDER.index(row[1].verdict), -row[1].times)),
        "papers": [
            (page, of, claims.get(page.id)) for page, of in found if of.privacy or of.numbers
        ],
        "taken_back": taken_back,
        "enumerated": ENUMERATED,
        "suspicion": SUSPICION,
        "suspicions": [(each, risen(SUSPICION, each)) for each in EPSILONS],
        # The stated epsilons of releases, and the number that the exact one does not exceed.
        "stated": {"kept": int(stated["hold"].sum()), "of": int(stated["cases"].sum())}
        if len(stated)
        else None,
        "samplers": contents.tables.get("samplers", pd.DataFrame()),
        "runs": contents.runs(name for name, table in TABLES.items() if table.compared),
    }


def _claims_at_once(tables: Tables) -> tuple[dict[str, list[tuple[str, str]]], Counter[str]]:
    """Count the verdicts on sentences by paper, corrected by Holm's procedure over all papers.

    Exact results need no correction. Returns the verdicts with their numbers in words, and the
    number of verdicts on each paper's own page that the correction takes back.
    """
    p_values, verdicts = {}, {}
    for paper in PAPERS:
        for row in rows_of(tables.get(f"{paper.key}_claims", pd.DataFrame())):
            p_values[paper.key, row["claim"]] = row["p_value"]
            verdicts[paper.key, row["claim"]] = row["verdict"]
    counts = {
        paper: list(tables[name]["verdict"]) for paper, name in ENUMERATED.items() if name in tables
    }
    taken_back: Counter[str] = Counter()
    for (paper, claim), verdict in corrected(p_values, verdicts).items():
        counts.setdefault(paper, []).append(verdict)
        taken_back[paper] += verdict != verdicts[paper, claim]
    return {paper: counted(of) for paper, of in counts.items()}, +taken_back


def risen(suspicion: float, epsilon: float) -> float:
    """Return the largest posterior of a `suspicion`, a prior probability, by Bayes' rule.

    The randomized value is exp(`epsilon`) times as likely if the suspicion is true.

    >>> risen(0.5, 0), round(risen(0.01, 2), 4)
    (0.5, 0.0695)
    """
    odds = suspicion * math.exp(epsilon)
    return odds / (1 - suspicion + odds)


def findings(contents: Contents) -> Row:
    """Return the findings in `contents`, and whether they describe this run."""
    return {"findings": contents.findings, "as_written": is_run_of_findings(contents)}


def is_run_of_findings(contents: Contents) -> bool:
    """Return whether the run of `contents` has seed, size and data of the findings.

    Their "seed 5, up to 1,000 runs" gives the seed and the largest number of replicates.
    """
    headline = re.search(r"seed\s(\d+),\sup\sto\s([\d,]+)\sruns", contents.findings)
    runs = contents.runs(TABLES)
    return (
        headline is not None
        and bool(runs)
        and int(headline[1]) == contents.seed
        and runs[-1] == int(headline[2].replace(",", ""))
        and not contents.surrogate
    )


def run(contents: Contents) -> Row:
    """Return sources, seed, versions and config of the run of `contents`."""
    shown = ("sources", "seed", "facts", "config")
    return {"papers": PAPERS} | {name: getattr(contents, name) for name in shown}


OWN: Mapping[str, Callable[[Contents], Row]] = {
    "glance": in_short,
    "releases": lambda contents: releases(contents.releases),
    "findings": findings,
    "run": run,
}
"""The functions that return the contents of sections, by their ids."""
