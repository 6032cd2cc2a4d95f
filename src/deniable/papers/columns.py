"""What the columns of each table are: names of rows, estimates, verdicts, what chance decides."""

from collections.abc import Mapping
from dataclasses import dataclass

from deniable.errors import DeniableError
from deniable.papers.catalog import ANALYSES, ON_REQUEST, STUDIES, TABLES
from deniable.study import SummaryName

AUDITS = ("privacy", "samplers")
WRITTEN = 2e-8
"""Tables have 9 digits: numbers that differ by less, relatively, are the same."""
COMPUTED = 1e-6
"""The same for what sums and solvers compute, which differ with versions and kinds of processor."""
DESIGNED = 1e-3
"""The same for channels found by search, which stops where little is left to gain."""
_RANDOM_COUNTS = ("rejected", "subset_min", "subset_max", "subsets_agreeing", "subsets_lowest",
                  "printed_is")  # fmt: skip
_OF_CLAIMS = ("section", "printed", "test", "figure", "support", "contradict")


@dataclass(frozen=True)
class Columns:
    """What the columns of a table are.

    Attributes
    ----------
    keys : tuple of str
        They name a row; none: its place among rows that are otherwise unnamed.
    estimate : str
        The column that ``ci_low`` and ``ci_high`` belong to, "" if there is none.
    summary : "mean" or "median"
        What the estimate is of its replicates.
    verdict : str
        The column of verdicts.
    not_kept : tuple of str
        What depends on the draws and has no interval, and what is said in words.
    rows_by_chance : tuple of two str
        A column, and how it begins in rows that depend on the draws altogether: not kept either.
    tolerance : float
        Relative, for numbers that do not depend on chance.
    decided_elsewhere : bool
        Whether a verdict rests on simulated numbers of other rows or tables.
    """

    keys: tuple[str, ...]
    estimate: str = ""
    summary: SummaryName = "mean"
    verdict: str = "verdict"
    not_kept: tuple[str, ...] = ()
    rows_by_chance: tuple[str, str] | None = None
    tolerance: float = COMPUTED
    decided_elsewhere: bool = False


def columns_of(table: str) -> Columns:
    """Return what the columns of a table are, by its name or that of an audit."""
    if table in TABLES:
        entry = TABLES[table]
        summary = STUDIES[entry.study].summary
        return Columns(
            tuple(key for key in entry.keys if key not in _RANDOM_COUNTS),
            entry.value or ("regenerated" if entry.published else summary),
            summary,
            not_kept=_RANDOM_COUNTS,
            tolerance=WRITTEN,
            decided_elsewhere=table == "rrba_equal",
        )
    if table not in _COMPUTED:
        raise DeniableError(
            f"nothing says what the columns of table {table!r} are; "
            "enter it in deniable.papers.columns"
        )
    return _COMPUTED[table]


def names_of_tables() -> tuple[str, ...]:
    """Return the names of all tables that a quick run makes."""
    asked = (name for name in TABLES if name not in ON_REQUEST)
    return (*asked, *ANALYSES, *(f"audit_{name}" for name in AUDITS))


def _claims(*keys: str) -> Columns:
    return Columns(keys, not_kept=_OF_CLAIMS, decided_elsewhere=True)


_COMPUTED: Mapping[str, Columns] = {
    # [multirr].
    "multirr_agreement": Columns(
        ("dataset", "matrix", "mechanism", "projection"),
        not_kept=("agrees", "differs", "median_ratio", "typical_factor", "rank_correlation"),
    ),
    "multirr_clusters": Columns(("t_v", "t_d", "cluster")),
    "multirr_dependences": Columns(("attribute_1", "attribute_2", "measure")),
    "multirr_threshold_trend": Columns(
        ("dataset", "mechanism", "p", "t_v"), not_kept=("statistic", "p_value")
    ),
    "multirr_fig1": Columns(("categories",)),
    "multirr_accuracy": Columns(("records", "attributes")),
    "multirr_propagation": Columns(("attribute", "reading", "p")),
    "multirr_order": Columns(("measure", "reading", "p")),
    "multirr_example1": Columns(("sweep", "adjusted"), not_kept=("note",)),
    "multirr_secure_sum": Columns(
        ("pair", "parties"), not_kept=("cramers_v_from_sum", "cramers_v_direct")
    ),
    "multirr_secure_sum_faults": Columns(("fault",), not_kept=("remedy_or_limit",)),
    "multirr_secure_assessment": Columns(
        ("method", "matrix", "p"), not_kept=("clusters", "clusters_direct")
    ),
    "multirr_linkage": Columns(
        ("attribute", "category"), not_kept=("share_of_samples", "share_of_parties_exposed")
    ),
    "multirr_risk": Columns(("matrix", "p", "mechanism", "t_v", "assessment")),
    "multirr_waiver": Columns(("matrix", "p", "releases", "parties"), not_kept=("trust",)),
    "multirr_claims": _claims("claim", "mechanism", "projection"),
    # [pram].
    "pram_results": Columns(("result",), not_kept=("says", "test", "figure")),
    "pram_variance": Columns(("attribute", "epsilon", "mechanism")),
    "pram_whole_file": Columns(("attribute", "epsilon", "mechanism")),
    "pram_breach_bounds": Columns(("rho_1", "epsilon")),
    "pram_breach_thresholds": Columns(("rho_1", "rho_2", "categories")),
    "pram_approach": Columns(("channel", "side", "mass")),
    "pram_intruder": Columns(("attribute", "p", "category")),
    "pram_worst_sets": Columns(("attribute", "p", "rho_1")),
    "pram_design": Columns(
        ("attribute", "epsilon", "loss", "requirements", "estimator"), tolerance=DESIGNED
    ),
    # Channels of equal loss differ: those behind an unchanged loss may be others.
    "pram_channels": Columns(("design", "true", "reported"), not_kept=("probability",)),
    # [idp].
    "idp_audit": Columns(
        ("dataset", "method", "reading", "unit", "k", "epsilon", "domain_factor", "domain",
         "clusters", "note"),
        verdict="holds",
        rows_by_chance=("note", "released numbers"),
    ),
    "idp_audit_clusters": Columns(("dataset", "attribute", "method", "k", "domain_factor")),
    "idp_attacks": Columns(
        ("dataset", "attack", "neighbour", "method", "reading", "unit", "k", "claimed_epsilon"),
        "accuracy",
        verdict="holds",
        not_kept=("epsilon_at_least",),
    ),
    "idp_protection": Columns(
        ("dataset", "measure", "method", "k", "epsilon"),
        rows_by_chance=("measure", "records linked"),
    ),
    "idp_claims": _claims("claim", "dataset"),
    # [rrba].
    "rrba_examples": Columns(("case", "quantity")),
    "rrba_epsilon": Columns(
        ("unit", "table", "dataset", "attributes", "answers", "rounds", "p", "floor")
    ),
    "rrba_fig4": Columns(("curve", "cells", "floor", "p")),
    "rrba_fig7": Columns(
        ("dataset", "file", "k", "p", "epsilon_claimed", "metric", "method"),
        not_kept=("bin_low", "bin_high", "count", "share", "mean"),
    ),
    "rrba_consistency": Columns(
        ("file", "records", "p", "views_of", "views", "tables", "number", "method"),
        "change",
        not_kept=("closed_form", "printed_feasible", "disagreement_before", "disagreement_after",
                  "negative_before", "negative_after", "distance_before", "distance_after"),
    ),
    "rrba_claims": _claims("claim", "reading"),
    # The audit.
    "audit_privacy": Columns(("mechanism", "matrix", "p", "t_v", "unit", "of"), verdict="holds"),
    "audit_samplers": Columns(
        ("release", "cluster"),
        not_kept=("statistic", "rare_p_value", "p_value", "draws"),
    ),
}  # fmt: skip
