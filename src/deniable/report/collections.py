"""The report's part on collections by RRBA: what is promised, how well tables and tests do."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from deniable.display import Row, read_folders, rows_of

SHOWN = 12
"""Tables of the strongest dependence that the page lists."""
DECISIONS = {
    "rejected": "each test by itself",
    "rejected_benjamini_hochberg": "Benjamini and Hochberg",
    "rejected_holm": "Holm",
}


@dataclass(frozen=True)
class CollectionFiles:
    """What a collection left behind, as far as the page shows it.

    Attributes
    ----------
    description : mapping
        release.json.
    margins, independence : DataFrame
        margins.csv and independence.csv.
    check : DataFrame, optional
        check.csv, which only a rehearsal has.
    """

    description: Mapping[str, Any]
    margins: pd.DataFrame
    independence: pd.DataFrame
    check: pd.DataFrame | None = None


def read_collections(paths: Sequence[str]) -> list[CollectionFiles]:
    """Read the files of all collections.

    Parameters
    ----------
    paths : sequence of str
        Each release's in a folder of its own.
    """
    tables = ("margins", "independence", "check")
    return [CollectionFiles(**files) for files in read_folders(paths, tables)]


def collections(all_files: Sequence[CollectionFiles]) -> list[Row]:
    """Prepare what the page says of each collection."""
    return [_collection(files) for files in all_files]


def _collection(files: CollectionFiles) -> Row:
    tests = files.independence
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
        "spread": float((files.margins["highest"] - files.margins["lowest"]).mean()),
        "margins": rows_of(files.margins),
        "check": None if files.check is None else _checked(files.check),
    }


def _true(column: pd.Series) -> pd.Series:
    return column.astype(str) == "True"


def _checked(check: pd.DataFrame) -> Row:
    """Return mean distances from the truth, and how often tests of either kind reject."""
    known = check[check["dependent"].notna() & check["p_value"].notna()]
    dependent = _true(known["dependent"])
    return {
        "means": {
            name: float(check[name].mean())
            for name in check.columns
            if name.startswith(("l2_", "js_")) or name == "covered"
        },
        "decided": [
            {
                "by": words,
                "independent": int((_true(known[name]) & ~dependent).sum()),
                "dependent": int((_true(known[name]) & dependent).sum()),
            }
            for name, words in DECISIONS.items()
        ]
        if len(known)
        else [],
        "independent": int((~dependent).sum()),
        "dependent": int(dependent.sum()),
    }
