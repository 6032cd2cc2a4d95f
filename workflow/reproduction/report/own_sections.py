"""The sections that are no paper's: all verdicts in short, releases, findings, the run."""

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import pandas as pd

from deniable.display import Row, Tables, rows_of

from reproduction.papers import PAGES, PAPERS, RELEASE, STATED, TABLES, VERDICTS
from reproduction.report.contents import Contents, ReleaseFiles
from reproduction.study import corrected

ORDER = ("fails", "depends on the reading", "holds")
ENUMERATED = {"pram": "pram_results"}
"""Tables, and sections, of results that are decided case by case and exactly, by paper."""
SUSPICION, EPSILONS = 0.01, (1, 2, 4, 8)
"""What epsilon means is shown by how far these let such a suspicion rise."""
FROZEN, AS_IT_RUNS, FIXED = "scale frozen", "as it runs", "fixed"
"""As the audit has them; the report needs to import nothing that computes."""
SHARE = "share of the class"
REPLICA = "paper_"  # what names of releases begin with that repeat a paper's setting
CERTAIN = {True: "holds", False: "fails", None: "undecided"}
SHOWN = 12  # tables of the strongest dependence that the page lists of a collection
DECISIONS = {
    "rejected": "each test by itself",
    "rejected_benjamini_hochberg": "Benjamini and Hochberg",
    "rejected_holm": "Holm",
}


def in_short(contents: Contents) -> Row:
    """Prepare the verdicts in `contents` on all papers: claims of privacy first, worst first."""
    found = [(page, page.verdicts_on(contents.tables)) for page in PAGES if page.verdicts]
    privacy = [(page, each) for page, of in found for each in of.privacy]
    claims, taken_back = _claims_at_once(contents.tables)
    return {
        "privacy": sorted(privacy, key=lambda row: (ORDER.index(row[1].verdict), -row[1].times)),
        "papers": [
            (page, of, claims.get(page.id)) for page, of in found if of.privacy or of.numbers
        ],
        "taken_back": taken_back,
        "enumerated": ENUMERATED,
        "suspicion": SUSPICION,
        "suspicions": [(each, risen(SUSPICION, each)) for each in EPSILONS],
        "stated": _stated(contents.tables.get("privacy", pd.DataFrame())),
        "samplers": contents.tables.get("samplers", pd.DataFrame()),
        "runs": contents.runs(name for name, table in TABLES.items() if table.compared),
    }


def _claims_at_once(tables: Tables) -> tuple[dict[str, list[tuple[str, str]]], Counter[str]]:
    """Count, by paper, the verdicts on its sentences that stand among those of all papers.

    By Holm's procedure over all, but for results that leave nothing to chance; with numbers in
    words. Beside them: how many verdicts of each paper's own page do not stand.
    """
    p_values, verdicts = {}, {}
    for paper in PAPERS:
        for row in rows_of(tables.get(f"{paper.key}_claims", pd.DataFrame())):
            p_values[paper.key, row["claim"]] = row["p_value"]
            verdicts[paper.key, row["claim"]] = row["verdict"]
    there = ((paper, name) for paper, name in ENUMERATED.items() if name in tables)
    counts = {paper: Counter(tables[name]["verdict"]) for paper, name in there}
    taken_back: Counter[str] = Counter()
    for (paper, claim), verdict in corrected(p_values, verdicts).items():
        counts.setdefault(paper, Counter())[verdict] += 1
        taken_back[paper] += verdict != verdicts[paper, claim]
    found: dict[str, list[tuple[str, str]]] = {key: [] for key in counts}
    for key, of in counts.items():
        for verdict, said in VERDICTS.items():
            if of[verdict]:
                found[key].append((verdict, f"{of[verdict]} {said[of[verdict] > 1]}"))
    return found, +taken_back


def risen(suspicion: float, epsilon: float) -> float:
    """Return the largest probability to which a report of `epsilon` can raise a `suspicion`.

    Bayes' rule, with a report that is exp(epsilon) times as likely if the suspicion is true.

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
    """Prepare the findings of `contents`, and whether they are about this run."""
    return {"findings": contents.findings, "as_written": is_run_of_findings(contents)}


def is_run_of_findings(contents: Contents) -> bool:
    """Return whether the run of `contents` has the seed, size and data that the findings name.

    Their "seed 5, up to 1,000 runs" gives the seed and the largest number of runs of any study.
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
    """Prepare what the run of `contents` was made from."""
    shown = ("sources", "seed", "facts", "config")
    return {"papers": PAPERS} | {name: getattr(contents, name) for name in shown}


# -- releases --------------------------------------------------------------------------------------


def releases(all_files: Sequence[ReleaseFiles]) -> Row:
    """Prepare what the page says of releases, `all_files`: of categories, numbers, collections."""
    names = [each.description["release"] for each in all_files]
    return {
        "replicas": any(name.startswith(REPLICA) for name in names),
        "releases": [
            _categorical(each)
            for each in all_files
            if "estimates" in each.tables and "audit" not in each.tables
        ],
        "planned": [each.description for each in all_files if _is_planned(each)],
        "numeric": [_numeric(each) for each in all_files if "audit" in each.tables],
        "collections": [_collection(each) for each in all_files if "independence" in each.tables],
    }


def _is_planned(files: ReleaseFiles) -> bool:
    """Return whether a release is of a file of one's own."""
    return bool(files.description["parameters"]["mechanism"] == "plan")


# -- files of categories ---------------------------------------------------------------------------


def _categorical(files: ReleaseFiles) -> Row:
    """Prepare what a release says of itself, and how a rehearsal fared against the truth."""
    estimates, distant = files.tables["estimates"], files.tables.get("synthetic_check")
    return {
        "said": files.description,
        "estimates": rows_of(estimates[~estimates["attributes"].str.contains(" x ")]),
        "check": files.tables.get("check"),
        "adjustment": files.adjustment,
        "distances": None if distant is None else distances(distant),
    }


def distances(check: pd.DataFrame) -> Row:
    """Return the mean distances from the truth in a rehearsal's `check`, by kind of table."""
    pairs = check["attributes"].str.contains(" x ")
    kinds = {
        "single attributes": ~pairs,
        "pairs inside a cluster": pairs & check["one_cluster"],
        "pairs across clusters": pairs & ~check["one_cluster"],
    }
    # Of reports that are no categories there is but what is estimated.
    columns = [x for x in ("protected", "synthetic", "adjusted", "pairs") if x in check]
    rows = [
        {"kind": kind, "tables": int(which.sum())} | dict(check.loc[which, columns].mean())
        for kind, which in kinds.items()
        if which.any()
    ]
    return {"rows": rows, "synthetic_from": check["synthetic_from"].iloc[0]}


# -- files of numbers ------------------------------------------------------------------------------


def _numeric(files: ReleaseFiles) -> Row:
    """Prepare a release's parameters, what the audit finds, what it keeps of the records.

    What the audit finds is for the owner, so that there may be no row of it.
    """
    parameters, tables = files.description["parameters"], files.tables
    audit, check, utility = tables["audit"], tables.get("check"), tables.get("utility")
    noiseless = not audit.empty and "bins" not in parameters
    table = tables["estimates"] if check is None else check
    return {
        "said": files.description,
        "method": parameters.get("method", "histograms"),
        "found": {
            "frozen": _worst(audit, ("attribute", "centroid"), FROZEN),
            "as_it_runs": _worst(audit, ("attribute", "centroid"), AS_IT_RUNS),
            "records": _worst(audit, ("record",)),
        },
        "without_noise": audit["without_noise"].iloc[0] if noiseless else None,
        "measured": None if utility is None else _measured(utility),
        "covered": None if check is None else _covered(check),
        "estimates": rows_of(table[table["statistic"] != SHARE]),
    }


def _worst(audit: pd.DataFrame, units: Sequence[str], reading: str | None = None) -> Row | None:
    """Return the largest multiple of what is claimed, clusters formed anew, and the verdict."""
    chosen = audit["unit"].isin(units) & (audit["clusters"] != FIXED)
    if reading is not None:
        chosen &= audit["reading"] == reading
    rows = audit[chosen]
    if not len(rows):
        return None
    holds = set(rows["holds"].astype(str))
    verdict = False if "False" in holds else True if "True" in holds else None
    worst = rows.iloc[int(rows["times_claimed"].to_numpy().argmax())]
    times, attribute = float(worst["times_claimed"]), worst["attribute"]
    return {"times": times, "attribute": attribute, "verdict": CERTAIN[verdict]}


def _measured(utility: pd.DataFrame) -> Row:
    """Return the measures by name; F-measures as a list of class, value and reference."""
    single = utility[utility["class"].isna()].set_index("measure")
    classes = utility[utility["measure"] == "F-measure"]
    return {
        "values": single["value"].to_dict(),
        "references": single["reference"].to_dict(),
        "f_measures": rows_of(classes.rename(columns={"class": "of_class"})),
    }


def _covered(check: pd.DataFrame) -> Row | None:
    """Return how many intervals there are, and how often they hold the truth over redraws."""
    known = check[check["coverage"].notna()]
    if not len(known):
        return None
    return {
        "intervals": len(known),
        "covered": int(_true(known["covered"]).sum()),
        "coverage": float(known["coverage"].mean()),
        "redraws": int(known["redraws"].max()),
    }


# -- collections of tables -------------------------------------------------------------------------


def _collection(files: ReleaseFiles) -> Row:
    """Prepare what a collection promises, and how well its tables and tests do."""
    margins, tests = files.tables["margins"], files.tables["independence"]
    tested = tests[tests["p_value"].notna()]
    strongest = tested.sort_values(["p_value", "statistic"], ascending=[True, False]).head(SHOWN)
    return {
        "said": files.description,
        "tests": {
            "number": len(tested),
            "valid": int(_true(tested["valid"]).sum()),
            "decisions": [
                {"by": words, "rejected": int(_true(tested[name]).sum())}
                for name, words in DECISIONS.items()
            ],
        },
        "strongest": rows_of(strongest),
        "spread": float((margins["highest"] - margins["lowest"]).mean()),
        "margins": rows_of(margins),
        "check": _checked(files.tables["check"]) if "check" in files.tables else None,
    }


def _true(column: pd.Series) -> pd.Series:
    return column.astype(str) == "True"


def _checked(check: pd.DataFrame) -> Row:
    """Return mean distances from the truth, and how often tests of either kind reject."""
    known = check[check["dependent"].notna() & check["p_value"].notna()]
    dependent = _true(known["dependent"])
    both = {"independent": ~dependent, "dependent": dependent}
    measured = [c for c in check if str(c).startswith(("l2_", "js_")) or c == "covered"]
    decided = [
        {"by": words} | {name: int((_true(known[test]) & of).sum()) for name, of in both.items()}
        for test, words in DECISIONS.items()
    ]
    return {
        "means": {name: float(check[name].mean()) for name in measured},
        "decided": decided if len(known) else [],
        **{name: int(of.sum()) for name, of in both.items()},
    }


OWN: Mapping[str, Callable[[Contents], Row]] = {
    "glance": in_short,
    "releases": lambda contents: releases(contents.releases),
    "findings": findings,
    "run": run,
}
"""What prepares them, by the ids of the sections."""
