"""The report's table of releases of numbers: what each promises, delivers and shows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from deniable.display import Row, read_folders, rows_of

FROZEN, AS_IT_RUNS, FIXED = "scale frozen", "as it runs", "fixed"
"""As the audit has them; the report needs to import nothing that computes."""
SHARE = "share of the class"
CERTAIN = {True: "holds", False: "fails", None: "undecided"}


@dataclass(frozen=True)
class NumericReleaseFiles:
    """What a release of numbers left behind, as far as the page shows it.

    Attributes
    ----------
    description : mapping
        release.json.
    audit, estimates : DataFrame
        audit.csv and estimates.csv.
    check, utility : DataFrame, optional
        check.csv and utility.csv, which only a rehearsal has.
    """

    description: Mapping[str, Any]
    audit: pd.DataFrame
    estimates: pd.DataFrame
    check: pd.DataFrame | None = None
    utility: pd.DataFrame | None = None


def read_numeric_releases(paths: Sequence[str]) -> list[NumericReleaseFiles]:
    """Read the files of all releases of numbers.

    Parameters
    ----------
    paths : sequence of str
        Each release's in a folder of its own.
    """
    tables = ("audit", "estimates", "check", "utility")
    return [NumericReleaseFiles(**files) for files in read_folders(paths, tables)]


def numeric_releases(releases: Sequence[NumericReleaseFiles]) -> list[Row]:
    """Prepare each release: its parameters, what the audit finds, what it keeps of the records."""
    return [_prepared(files) for files in releases]


def _prepared(files: NumericReleaseFiles) -> Row:
    said = files.description
    parameters = said["parameters"]
    table = files.check if files.check is not None else files.estimates
    return {
        "said": said,
        "method": parameters.get("method", "histograms"),
        "found": {
            "frozen": _worst(files.audit, ("attribute", "centroid"), FROZEN),
            "as_it_runs": _worst(files.audit, ("attribute", "centroid"), AS_IT_RUNS),
            "records": _worst(files.audit, ("record",)),
        },
        "without_noise": None if "bins" in parameters else files.audit["without_noise"].iloc[0],
        "measured": None if files.utility is None else _measured(files.utility),
        "covered": None if files.check is None else _covered(files.check),
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
        "values": {str(name): float(value) for name, value in single["value"].items()},
        "references": {str(name): float(x) for name, x in single["reference"].items()},
        "f_measures": rows_of(classes.rename(columns={"class": "of_class"})),
    }


def _covered(check: pd.DataFrame) -> Row | None:
    """Return how many intervals there are, and how often they hold the truth over redraws."""
    known = check[check["coverage"].notna()]
    if not len(known):
        return None
    return {
        "intervals": len(known),
        "covered": int((known["covered"].astype(str) == "True").sum()),
        "coverage": float(known["coverage"].mean()),
        "redraws": int(known["redraws"].max()),
    }
