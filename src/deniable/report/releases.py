"""The page's part on releases: what each promises, how it fares, what it shows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from deniable.display import Row, rows_of
from deniable.files import read_json, read_table

FROZEN, AS_IT_RUNS, FIXED = "scale frozen", "as it runs", "fixed"
"""As the audit has them; the report needs to import nothing that computes."""
SHARE = "share of the class"
REPLICA = "paper_"
"""What names of releases begin with that repeat a paper's setting."""
CERTAIN = {True: "holds", False: "fails", None: "undecided"}
SHOWN = 12
"""Tables of the strongest dependence that the page lists of a collection."""
DECISIONS = {
    "rejected": "each test by itself",
    "rejected_benjamini_hochberg": "Benjamini and Hochberg",
    "rejected_holm": "Holm",
}


@dataclass(frozen=True)
class ReleaseFiles:
    """What a release left behind, as far as the page shows it."""

    description: Mapping[str, Any]  # channels.json or release.json
    tables: Mapping[str, pd.DataFrame]  # by the names of their files; a rehearsal's also ``check``
    adjustment: Mapping[str, Any] | None = None  # adjustment.json, of a release of categories


def read_releases(paths: Sequence[str]) -> list[ReleaseFiles]:
    """Read the files of all releases, each release's in a folder of its own."""
    folders: dict[Path, dict[str, Path]] = {}
    for path in map(Path, paths):
        folders.setdefault(path.parent, {})[path.stem] = path
    return [
        ReleaseFiles(
            description=read_json(files["channels" if "channels" in files else "release"]),
            tables={name: read_table(f) for name, f in files.items() if f.suffix == ".csv"},
            adjustment=read_json(files["adjustment"]) if "adjustment" in files else None,
        )
        for files in folders.values()
    ]


def releases(all_files: Sequence[ReleaseFiles]) -> Row:
    """Prepare what the page says of each release of categories, of numbers, and collection."""
    names = [each.description["release"] for each in all_files]
    return {
        "replicas": any(name.startswith(REPLICA) for name in names),
        "releases": [_categorical(each) for each in all_files if each.adjustment is not None],
        "numeric": [_numeric(each) for each in all_files if "audit" in each.tables],
        "collections": [_collection(each) for each in all_files if "independence" in each.tables],
    }


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
    """Return the mean distances of a rehearsal's files from the truth, by kind of table."""
    pairs = check["attributes"].str.contains(" x ")
    kinds = {
        "single attributes": ~pairs,
        "pairs inside a cluster": pairs & check["one_cluster"],
        "pairs across clusters": pairs & ~check["one_cluster"],
    }
    columns = ["protected", "synthetic", "adjusted", "pairs"]
    rows = [
        {"kind": kind, "tables": int(which.sum())} | dict(check.loc[which, columns].mean())
        for kind, which in kinds.items()
        if which.any()
    ]
    return {"rows": rows, "synthetic_from": check["synthetic_from"].iloc[0]}


# -- files of numbers ------------------------------------------------------------------------------


def _numeric(files: ReleaseFiles) -> Row:
    """Prepare a release's parameters, what the audit finds, what it keeps of the records."""
    parameters, tables = files.description["parameters"], files.tables
    audit, check, utility = tables["audit"], tables.get("check"), tables.get("utility")
    table = tables["estimates"] if check is None else check
    return {
        "said": files.description,
        "method": parameters.get("method", "histograms"),
        "found": {
            "frozen": _worst(audit, ("attribute", "centroid"), FROZEN),
            "as_it_runs": _worst(audit, ("attribute", "centroid"), AS_IT_RUNS),
            "records": _worst(audit, ("record",)),
        },
        "without_noise": None if "bins" in parameters else audit["without_noise"].iloc[0],
        "measured": None if utility is None else _measured(utility),
        "covered": None if check is None else _covered(check),
        "estimates": rows_of(table[table["statistic"] != SHARE]),
    }


def _worst(audit: pd.DataFrame, units: Sequence[str], reading: str | None = None) -> Row | None:
    """Return the largest multiple of what is claimed, where clusters are formed anew.

    With what becomes of the claim: one row that breaks it is enough.
    """
    chosen = audit["unit"].isin(units) & (audit["clusters"] != FIXED)
    if reading is not None:
        chosen &= audit["reading"] == reading
    rows = audit[chosen]
    if not len(rows):
        return None
    holds = set(rows["holds"].astype(str))
    verdict = False if "False" in holds else True if "True" in holds else None
    worst = rows.iloc[int(rows["times_claimed"].to_numpy().argmax())]
    return {
        "times": float(worst["times_claimed"]),
        "attribute": worst["attribute"],
        "verdict": CERTAIN[verdict],
    }


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
