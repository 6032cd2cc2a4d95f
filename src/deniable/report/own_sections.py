"""The sections that are no paper's: all verdicts in short, releases, findings, the run."""

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping

import pandas as pd

from deniable.display import Row, Tables, rows_of
from deniable.papers import PAGES, PAPERS, TABLES
from deniable.papers.audit import RELEASE, STATED
from deniable.papers.sections import VERDICTS
from deniable.report.contents import Contents
from deniable.report.releases import releases
from deniable.study import corrected

ORDER = ("fails", "depends on the reading", "holds")
ENUMERATED = {"pram": "pram_results"}
"""Tables, and sections, of results that are decided case by case and exactly, by paper."""
SUSPICION, EPSILONS = 0.01, (1, 2, 4, 8)
"""What epsilon means is shown by how far these let such a suspicion rise."""


def in_short(contents: Contents) -> Row:
    """Prepare the verdicts on all papers: claims of privacy first, the worst of them first."""
    found = [(page, page.verdicts_on(contents.tables)) for page in PAGES if page.verdicts]
    privacy = [(page, each) for page, of in found for each in of.privacy]
    claims = claims_at_once(contents.tables)
    return {
        "privacy": sorted(privacy, key=lambda row: (ORDER.index(row[1].verdict), -row[1].times)),
        "papers": [
            (page, of, claims.get(page.id)) for page, of in found if of.privacy or of.numbers
        ],
        "enumerated": ENUMERATED,
        "suspicion": SUSPICION,
        "suspicions": [(each, risen(SUSPICION, each)) for each in EPSILONS],
        "stated": _stated(contents.tables.get("privacy", pd.DataFrame())),
        "samplers": contents.tables.get("samplers", pd.DataFrame()),
        "runs": contents.runs(name for name, table in TABLES.items() if table.compared),
    }


def claims_at_once(tables: Tables) -> dict[str, list[tuple[str, str]]]:
    """Count the verdicts on the sentences of each paper that stand among those of all papers.

    By Holm's procedure over all of them, but for results that leave nothing to chance; each verdict
    with its number in words.
    """
    p_values, verdicts = {}, {}
    for paper in PAPERS:
        for row in rows_of(tables.get(f"{paper.key}_claims", pd.DataFrame())):
            p_values[paper.key, row["claim"]] = row["p_value"]
            verdicts[paper.key, row["claim"]] = row["verdict"]
    counts = {
        paper: Counter(tables[name]["verdict"])
        for paper, name in ENUMERATED.items()
        if name in tables
    }
    for (paper, _), verdict in corrected(p_values, verdicts).items():
        counts.setdefault(paper, Counter())[verdict] += 1
    return {
        paper: [
            (verdict, f"{of[verdict]} {said[of[verdict] > 1]}")
            for verdict, said in VERDICTS.items()
            if of[verdict]
        ]
        for paper, of in counts.items()
    }


def risen(suspicion: float, epsilon: float) -> float:
    """Return the largest probability to which a report of some epsilon can raise a suspicion.

    Bayes' rule, with a report that is exp(epsilon) times as likely if the suspicion is true.

    Examples
    --------
    >>> risen(0.5, 0), round(risen(0.01, 2), 4)
    (0.5, 0.0695)
    """
    odds = suspicion * math.exp(epsilon)
    return odds / (1 - suspicion + odds)


def _stated(privacy: pd.DataFrame) -> Row | None:
    """Count the epsilons that releases state, and those that the exact one does not exceed."""
    if not len(privacy):
        return None
    own = privacy[privacy["source"].str.startswith(RELEASE) & (privacy["claim"] == STATED)]
    return {"kept": int(own["hold"].sum()), "of": int(own["cases"].sum())} if len(own) else None


def findings(contents: Contents) -> Row:
    """Prepare the findings, and whether they are about this run."""
    return {"findings": contents.findings, "as_written": is_run_of_findings(contents)}


def is_run_of_findings(contents: Contents) -> bool:
    """Return whether this run has the seed, the size and the data that the findings name.

    Their "seed 5, 1,000 runs" gives the seed and the largest number of runs of any study; every
    other number of runs must stand in them too ("200 runs").
    """
    headline = re.search(r"seed (\d+), ([\d,]+) runs", contents.findings)
    named = {int(n.replace(",", "")) for n in re.findall(r"(\d[\d,]*) runs", contents.findings)}
    runs = contents.runs(TABLES)
    return (
        headline is not None
        and bool(runs)
        and int(headline[1]) == contents.seed
        and runs[-1] == int(headline[2].replace(",", ""))
        and set(runs) <= named
        and not contents.surrogate
    )


def run(contents: Contents) -> Row:
    """Prepare what the run was made from."""
    shown = ("sources", "seed", "facts", "config")
    return {"papers": PAPERS} | {name: getattr(contents, name) for name in shown}


OWN: Mapping[str, Callable[[Contents], Row]] = {
    "glance": in_short,
    "releases": lambda contents: releases(contents.releases),
    "findings": findings,
    "run": run,
}
"""What prepares them, by the ids of the sections."""
