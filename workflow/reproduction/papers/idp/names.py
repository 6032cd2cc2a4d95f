"""What data sets, methods and parts of the audit are called, and what a page shows of them."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pandas as pd

from deniable.display import SIGN, Row, Tables, nearest, short

DATASETS = {"census": "Census", "wine": "White wine"}
SSE_TABLES = {"census": "idp_fig3", "wine": "idp_fig4"}
FOREST_TABLES = {"census": "idp_fig5", "wine": "idp_fig6"}
MASKED = {"dp": "DP", "dp_um": "DP-UM", "idp_ls": "iDP-LS", "idp_cbls": "iDP-CBLS"}
"""The methods of the text."""
AUDITED = MASKED | {"idp_cbls_prose": "iDP-CBLS as in the prose"}
CLUSTERED = tuple(MASKED)[1:]
DP_BASELINES = ("dp_median", "dp_synthetic", "dp_naive_bayes", "dp_rule")
"""Competitors with true epsilon-differential privacy."""
_TITLES = MASKED | {"dp": "DP: Laplace noise on each value"}
SSE_TITLES = _TITLES | {
    "dp_synthetic": "true DP: synthetic records",
    "dp_median": "true DP: median of the class",
    "no_data": "no data: 0 for every value",
    "least_dp": "least SSE of true DP, attributes\nindependent, blind to order",
}
FOREST_TITLES = {
    "original": "original records (upper bound)",
    "majority": "majority class always",
    "dp_rule": "true DP: threshold rule",
    "dp_naive_bayes": "true DP: naive Bayes, one attribute",
    "dp_synthetic": "true DP: forest on synthetic records",
} | _TITLES
NOT_APPLICABLE = 0  # the epsilon, domain factor or k of what has none

# As `deniable.idp.audit` has them, which the page and figures need not import.
FIXED_SCALE, RECOMPUTED_SCALE = "scale frozen", "as it runs"
FIXED, RECLUSTERED, ALL = "fixed", "formed anew", "all attributes"
READINGS = {
    "scale and partition frozen": (FIXED_SCALE, FIXED),
    FIXED_SCALE: (FIXED_SCALE, RECLUSTERED),
    RECOMPUTED_SCALE: (RECOMPUTED_SCALE, RECLUSTERED),
}
"""How Definition 3 may be read: reading and clusters of the audit. The first is the charitable one:
it holds fixed for the neighbour what the change of a record does change.
"""
CERTIFICATE, SHUFFLED = "released numbers", "random order"
LINKED, CERTAIN = "records linked", "values known for certain"
NEAREST = "records linked by the nearest"
UNITS = {
    "centroid": "one centroid",
    "attribute": "all centroids of an attribute",
    "record": "the released records",
}


@dataclass(frozen=True)
class Attack:
    """Rows of an `attack` in one `reading`, whose neighbour says `neighbour`, and their `title`."""

    attack: str
    reading: str
    neighbour: str
    title: str

    def rows_of(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return its rows of a `table`."""
        part = where(table, attack=self.attack, reading=self.reading)
        return part[part["neighbour"].str.contains(self.neighbour, regex=False)]


ATTACKS = {
    "frozen": Attack("likelihood", FIXED_SCALE, ALL, "centroids, scale frozen"),
    "runs": Attack("likelihood", RECOMPUTED_SCALE, ALL, "centroids, as it runs"),
    "partition": Attack("partition", RECOMPUTED_SCALE, "random record", "records, a random change"),
}


SHOWN_K, SHOWN_EPSILONS = 10.0, (0.1, 1.0)


def where(table: pd.DataFrame | None, **values: Any) -> pd.DataFrame:
    """Return the rows of a `table` with `values` by column, of a tuple any; none if it is None."""
    if table is None or table.empty:
        return pd.DataFrame() if table is None else table
    for column, value in values.items():
        found = table[column].isin(value) if isinstance(value, tuple) else table[column] == value
        table = table[found]
    return table


def noted(table: pd.DataFrame, note: str) -> pd.Series:
    """Return which rows of the audit, a `table`, have the words `note` in their note."""
    return table["note"].fillna("").astype(str).str.contains(note, regex=False)


def common(tables: Iterable[pd.DataFrame], column: str, target: float) -> float | None:
    """Return the value of a `column` in most `tables`; of several the nearest to a `target`."""
    columns = [set(table[column].dropna()) for table in tables]
    values = set().union(*columns)
    most = max((sum(value in each for each in columns) for value in values if value), default=0)
    return nearest((v for v in values if sum(v in each for each in columns) == most), target)


def shown_epsilons(values: Iterable[float]) -> list[float]:
    """Return which of `values` are the nearest to `SHOWN_EPSILONS`, in order."""
    every = list(values)
    found = {nearest(every, target) for target in SHOWN_EPSILONS}
    return sorted(each for each in found if each is not None)


@dataclass(frozen=True)
class Shown:
    """The `k`, domain `factor` and `epsilons` of one page; delivery is shown at the last."""

    k: float | None
    factor: float | None
    epsilons: list[float]

    @property
    def epsilon(self) -> float | None:
        """The epsilon at which delivery is shown."""
        return self.epsilons[-1] if self.epsilons else None

    def at_k(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return the rows of a `table` of its k, and of plain noise, which has none."""
        return table[(table["method"] == "dp") | (table["k"] == self.k)]


def shown(tables: Tables) -> Shown:
    """Return the k that most `tables` have, the narrowest domain and the epsilons of one page."""
    audit = tables["idp_audit"]
    with_k = ("idp_audit", "idp_attacks", "idp_protection")
    names = (*with_k, *SSE_TABLES.values(), *FOREST_TABLES.values())
    clustered = [where(tables[name], method=CLUSTERED) for name in names if name in tables]
    return Shown(
        common(clustered, "k", SHOWN_K),
        audit["domain_factor"].min(),
        shown_epsilons(audit["epsilon"].unique()),
    )


def judged(row: Row) -> Row:
    """Return a `row` with its verdict in words: a lower bound within the claim decides nothing."""
    verdict: str = "undecided" if pd.isna(row["holds"]) else "holds" if row["holds"] else "fails"
    return row | {"verdict": verdict}


def found_alone(row: Row, claim: str = "") -> str:
    """Return the epsilon of a `row` of the audit, and a `claim`, with the verdict."""
    least = "≥ " if row["kind"] == "lower bound" else ""
    return f"{least}{short(row['exact_or_lower_bound'])}{claim} {SIGN[judged(row)['verdict']]}"


def found_and_claimed(row: Row) -> str:
    """Return the epsilon of a `row` of the audit beside its claim, with the verdict."""
    return found_alone(row, f" of {short(row['claimed_epsilon'])}")


def failing(row: Row) -> str:
    """Return the sign of a `row` that fails. Within a claim a lower bound proves nothing."""
    return f" {SIGN['fails']}" if judged(row)["verdict"] == "fails" else ""


def verdicts(table: pd.DataFrame) -> pd.Series:
    """Return the verdict of each row of a `table`, by its column ``holds``."""
    return table["holds"].map(lambda holds: judged({"holds": holds})["verdict"])


def deliveries(audit: pd.DataFrame, at: Shown) -> pd.DataFrame:
    """Return the rows of the `audit` of one release as it runs, in a public domain, `at` one k.

    They are one per data set, method, epsilon and unit.
    """
    part = at.at_k(where(audit, reading=RECOMPUTED_SCALE, domain="public", domain_factor=at.factor))
    together = (part["unit"] == "attribute") & (part["attribute"] == ALL)
    own = part[~together & ~noted(part, CERTIFICATE)]
    return own.drop_duplicates(["dataset", "method", "epsilon", "unit"], keep="last")


def forests_at(table: pd.DataFrame | None, at: Shown) -> pd.DataFrame:
    """Return the F-measures in a `table` `at` what is shown, and of methods without settings."""
    own: dict[str, Any] = {"domain_factor": at.factor, "k": at.k}
    shown = {name: (value, NOT_APPLICABLE) for name, value in own.items()}
    return where(table, epsilon=(*at.epsilons, NOT_APPLICABLE), **shown)


def data_driven(audit: pd.DataFrame, at: Shown) -> Row | None:
    """Count the methods of the `audit` without a finite epsilon if the data make the domain.

    It is counted `at` what is shown: its epsilon and its domain factor.
    """
    part = where(audit, domain="from the data", epsilon=at.epsilon, domain_factor=at.factor)
    if not len(part):
        return None
    endless = part[part["exact_or_lower_bound"].map(math.isinf)]
    of, at_all = (
        [title for name, title in MASKED.items() if name in set(each["method"])]
        for each in (part, endless)
    )
    return {"methods": of, "all": len(endless) == len(part), "endless": at_all}
