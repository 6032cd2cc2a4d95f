"""What data sets, methods and parts of the audit are called: in tables, on the page, in figures."""

from dataclasses import dataclass

DATASETS = {"census": "Census", "wine": "White wine"}
SSE_TABLES = {"census": "idp_fig3", "wine": "idp_fig4"}
FOREST_TABLES = {"census": "idp_fig5", "wine": "idp_fig6"}
MASKED = {"dp": "DP", "dp_um": "DP-UM", "idp_ls": "iDP-LS", "idp_cbls": "iDP-CBLS"}
"""The methods of the text."""
AUDITED = MASKED | {"idp_cbls_prose": "iDP-CBLS as in the prose"}
CLUSTERED = tuple(MASKED)[1:]
HONEST = ("dp_median", "dp_synthetic", "dp_naive_bayes", "dp_rule")
"""Competitors with true epsilon-differential privacy."""
_TITLES = MASKED | {"dp": "DP: Laplace noise on each value"}
SSE_TITLES = _TITLES | {
    "dp_synthetic": "true DP: synthetic records",
    "dp_median": "true DP: median of the class",
    "no_data": "no data: 0 for every value",
    "least_dp": "least SSE that true DP allows",
}
FOREST_TITLES = {
    "original": "original records (upper bound)",
    "majority": "majority class always",
    "dp_rule": "true DP: threshold rule",
    "dp_naive_bayes": "true DP: naive Bayes, one attribute",
    "dp_synthetic": "true DP: forest on synthetic records",
} | _TITLES
NOT_APPLICABLE = 0
"""The epsilon, domain factor or k of what has none."""

# As `deniable.idp.audit` has them, which the page and figures need not import.
FROZEN, AS_IT_RUNS = "scale frozen", "as it runs"
ANEW, ALL = "formed anew", "all attributes"
CERTIFICATE, SHUFFLED = "released numbers", "random order"
LINKED, CERTAIN = "records linked", "values known for certain"
UNITS = {
    "centroid": "one centroid",
    "attribute": "all centroids of an attribute",
    "record": "the released records",
}


@dataclass(frozen=True)
class Attack:
    """Which rows of the attacks belong together, and what the page calls them.

    Attributes
    ----------
    attack, reading : str
        As in the table.
    neighbour : str
        Part of what is changed.
    title : str
    """

    attack: str
    reading: str
    neighbour: str
    title: str


ATTACKS = {
    "frozen": Attack("likelihood", FROZEN, ALL, "centroids, scale frozen"),
    "runs": Attack("likelihood", AS_IT_RUNS, ALL, "centroids, as it runs"),
    "partition": Attack("partition", AS_IT_RUNS, "random record", "records, a random change"),
}
