"""Names of data sets, methods and parts of the audit, and selections of rows for pages."""

from typing import Any, NamedTuple

import pandas as pd

from deniable.display import Row, Tables, short

from reproduction.study import SIGN, nearest, where

DATASETS = {"census": "Census", "wine": "White wine"}
SSE_TABLES = {"census": "idp_fig3", "wine": "idp_fig4"}
FOREST_TABLES = {"census": "idp_fig5", "wine": "idp_fig6"}
MASKED = {"dp": "DP", "dp_um": "DP-UM", "idp_ls": "iDP-LS", "idp_cbls": "iDP-CBLS"}
"""The methods of the text."""
AUDITED = MASKED | {"idp_cbls_prose": "iDP-CBLS as in the prose"}
CLUSTERED = tuple(MASKED)[1:]
DP_BASELINES = ("dp_median", "dp_synthetic", "dp_naive_bayes", "dp_rule")
"""Competitors with central ε-DP."""
_TITLES = MASKED | {"dp": "DP: Laplace noise on each value"}
SSE_TITLES = _TITLES | {
    "dp_synthetic": "central ε-DP: synthetic records",
    "dp_median": "central ε-DP: median of the class",
    "no_data": "no data: 0 for every value",
    "least_dp": "least SSE of central ε-DP, attributes\nindependent, blind to order",
}
FOREST_TITLES = {
    "original": "original records (upper bound)",
    "majority": "always the majority class",
    "dp_rule": "central ε-DP: threshold rule",
    "dp_naive_bayes": "central ε-DP: naive Bayes, one attribute",
    "dp_synthetic": "central ε-DP: forest on synthetic records",
} | _TITLES
BEST_DP = "best_dp"  # in figures: the best classifier with central ε-DP
FOREST_LABELS = FOREST_TITLES | {BEST_DP: "central ε-DP: the best of our classifiers"}
IN_TITLE = {"idp_cbls": "iDP-CBLS", BEST_DP: "central ε-DP", "idp_ls": "iDP-LS"}
NOT_APPLICABLE = 0  # ε, domain factor or k of methods without one

# The same as in `deniable.idp.audit`, which pages and figures do not import.
FIXED_SCALE, RECOMPUTED_SCALE = "scale frozen", "as it runs"
FIXED, RECLUSTERED, ALL = "fixed", "recomputed", "all attributes"
READINGS = {
    "scale and partition frozen": (FIXED_SCALE, FIXED),
    FIXED_SCALE: (FIXED_SCALE, RECLUSTERED),
    RECOMPUTED_SCALE: (RECOMPUTED_SCALE, RECLUSTERED),
}
"""Interpretations of Definition 3, by scale ("reading") and clusters of the audit. The first keeps
the scale and the clusters of the neighbour fixed, although the change of a record changes both."""
CERTIFICATE, SHUFFLED = "released numbers", "random order"
LINKED, CERTAIN = "records linked", "values known for certain"
NEAREST = "records linked by the nearest"
UNITS = {
    "centroid": "one centroid",
    "attribute": "all centroids of an attribute",
    "record": "the released records",
}
ESTIMATORS = {
    "EMS": "smoothed EM",
    "EM, stopped early": "EM, stopped early",
    "maximum likelihood": "maximum likelihood",
}
SHOWN_ESTIMATORS = {"EMS": "-", "maximum likelihood": "--"}
"""The estimators in the figure of noises, and their lines."""


WHOLE_RECORD = "a record, all attributes"
RANDOM_CHANGE = "a random record gets another's value, first attribute"
"""Neighbours in the table of attacks."""


def noted(table: pd.DataFrame, note: str) -> pd.Series:
    """Return whether the notes of the audit, a `table`, contain the text `note`."""
    return table["note"].fillna("").astype(str).str.contains(note, regex=False)


class Shown(NamedTuple):
    """The `k`, domain `factor` and `epsilons` of a page; the audit is shown at the last ε."""

    k: float | None
    factor: float
    epsilons: list[float]

    @property
    def epsilon(self) -> float:
        return self.epsilons[-1]

    def at_k(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return the rows of a `table` with this k, and with plain noise, which has no k."""
        return table[(table["method"] == "dp") | (table["k"] == self.k)]


def shown(tables: Tables) -> Shown:
    """Return the settings of a page from `tables`: k near 10, narrowest domain, ε near .1 and 1."""
    audit = tables["idp_audit"]
    epsilons = filter(None, {nearest(audit["epsilon"].unique(), target) for target in (0.1, 1.0)})
    k = nearest(audit["k"].dropna().unique(), 10.0)
    return Shown(k, audit["domain_factor"].min(), sorted(epsilons))


def verdict_of(holds: Any) -> str:
    """Return the verdict for a value `holds`; it is undecided if empty, for a lower bound."""
    return "undecided" if pd.isna(holds) else "holds" if holds else "fails"


def found_alone(row: Row, claim: str = "") -> str:
    """Return the ε of a `row` of the audit, and a `claim`, with the verdict."""
    least = "≥ " if row["kind"] == "lower bound" else ""
    return f"{least}{short(row['exact_or_lower_bound'])}{claim} {SIGN[verdict_of(row['holds'])]}"


def failing(row: Row) -> str:
    """Return the sign of a `row` if it fails; a lower bound within the claim proves nothing."""
    return f" {SIGN['fails']}" if verdict_of(row["holds"]) == "fails" else ""


def deliveries(audit: pd.DataFrame, at: Shown) -> pd.DataFrame:
    """Return the `audit` with recomputed scales `at` one k, per data set, method, ε and unit."""
    part = at.at_k(where(audit, reading=RECOMPUTED_SCALE, domain="public", domain_factor=at.factor))
    together = (part["unit"] == "attribute") & (part["attribute"] == ALL)
    own = part[~together & ~noted(part, CERTIFICATE)]
    return own.drop_duplicates(["dataset", "method", "epsilon", "unit"], keep="last")


def forests_at(table: pd.DataFrame | None, at: Shown) -> pd.DataFrame:
    """Return the F-measures in a `table` `at` the settings of a page, or without settings."""
    more = {"domain_factor": (at.factor, NOT_APPLICABLE), "k": (at.k, NOT_APPLICABLE)}
    return where(table, epsilon=(*at.epsilons, NOT_APPLICABLE), **more)
