"""The studies, which of them fills which table, and where a table's printed numbers are."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:  # not at run time: every job's process reads this room
    from deniable.microdata import Microdata
    from deniable.study import Simulator

CLUSTER_QUERY_KEYS = ("dataset", "matrix", "mechanism", "projection", "p", "t_d", "t_v")


@dataclass(frozen=True)
class Study:
    """An experiment that is repeated over the cells of a grid.

    Attributes
    ----------
    simulator : callable
        (true records, the study's settings from the config) -> what simulates its cells.
    summary : "median" or "mean"
        Of the replicates of each output.
    published_column : str, optional
        Column of the printed numbers in their files.
    published_replicates : int, optional
        Runs behind a printed number.
    from_model : bool
        Whether it draws its data from a model of its own, whatever the data sets are.
    """

    simulator: Callable[["Microdata", Mapping[str, Any]], "Simulator"]
    summary: Literal["median", "mean"] = "median"
    published_column: str = ""
    published_replicates: int | None = None
    from_model: bool = False


# The rooms of the studies are large; only the process that simulates imports the one it needs.
def _cluster_queries(data: "Microdata", settings: Mapping[str, Any]) -> "Simulator":
    from deniable.studies.cluster_queries import ClusterQueries  # noqa: PLC0415

    return ClusterQueries(data, settings["coverage"], tuple(settings["ordinal"]))


def _pair_queries(data: "Microdata", settings: Mapping[str, Any]) -> "Simulator":
    from deniable.studies.pair_queries import PairQueries  # noqa: PLC0415

    return PairQueries(data, tuple(settings["coverages"]), tuple(settings["estimators"]))


def _adjusted_queries(data: "Microdata", settings: Mapping[str, Any]) -> "Simulator":
    from deniable.studies.adjusted_queries import AdjustedQueries  # noqa: PLC0415

    return AdjustedQueries(
        data,
        tuple(settings["coverages"]),
        tuple(settings["projections"]),
        tuple(settings["ordinal"]),
    )


def _dependence_assessment(data: "Microdata", settings: Mapping[str, Any]) -> "Simulator":
    from deniable.studies.dependence_assessment import DependenceAssessment  # noqa: PLC0415

    thresholds = tuple((t_v, t_d) for t_v in settings["t_v"] for t_d in settings["t_d"])
    return DependenceAssessment(data, tuple(settings["ordinal"]), thresholds)


def _pram_coverage(data: "Microdata", settings: Mapping[str, Any]) -> "Simulator":
    from deniable.studies.pram_coverage import PramCoverage  # noqa: PLC0415

    return PramCoverage(data)


def _pram_weights(data: "Microdata", settings: Mapping[str, Any]) -> "Simulator":
    from deniable.studies.pram_weights import PramWeights  # noqa: PLC0415

    return PramWeights(data)


def _pram_item_sets(data: "Microdata", settings: Mapping[str, Any]) -> "Simulator":
    from deniable.studies.pram_item_sets import PramItemSets  # noqa: PLC0415

    return PramItemSets()


def _pram_invariant(data: "Microdata", settings: Mapping[str, Any]) -> "Simulator":
    from deniable.studies.pram_invariant import InvariantPram  # noqa: PLC0415

    return InvariantPram(data)


def _pram_joint_loss(data: "Microdata", settings: Mapping[str, Any]) -> "Simulator":
    from deniable.studies.pram_joint_loss import JointLoss  # noqa: PLC0415

    return JointLoss(data, settings["coverage"])


PRINTED_RUNS = 1000  # text 003, 6.5: medians over 1000 runs
_CLUSTER_QUERIES = Study(_cluster_queries, "median", "median_relative_error", PRINTED_RUNS)
STUDIES = {
    "multirr_tables": _CLUSTER_QUERIES,
    "multirr_sensitivity": _CLUSTER_QUERIES,
    "multirr_attributes": Study(_cluster_queries),
    "multirr_fig2": Study(_pair_queries),
    "multirr_fig3": Study(_adjusted_queries),
    "multirr_pairs": Study(_pair_queries),
    "multirr_assessment": Study(_dependence_assessment, "mean"),
    "pram_coverage": Study(_pram_coverage, "mean"),
    "pram_weights": Study(_pram_weights, "mean"),
    "pram_item_sets": Study(_pram_item_sets, "mean", from_model=True),
    "pram_invariant": Study(_pram_invariant, "mean"),
    "pram_joint_loss": Study(_pram_joint_loss, "mean"),
}


@dataclass(frozen=True)
class StudyTable:
    """A table of results.

    Attributes
    ----------
    id : str
        Name of the file under results/tables.
    study : str
        Name of the study in the config.
    title : str
        As a reader of the report sees it.
    keys : tuple of str
        Columns that name a row, in order.
    published : tuple of str
        Files of printed numbers under resources/published, without ".csv"; none for the numbers
        behind a figure that the paper only draws, or that it does not have.
    where : mapping
        The cells and outputs of the study that belong to the table, by value or values; all if
        empty.
    """

    id: str
    study: str
    title: str
    keys: tuple[str, ...]
    published: tuple[str, ...] = ()
    where: Mapping[str, Any] = field(default_factory=dict)

    def holds(self, cell: Mapping[str, Any]) -> bool:
        """Return whether a cell, or a row, belongs to the table."""
        return all(
            cell[key] in (values if isinstance(values, tuple) else (values,))
            for key, values in self.where.items()
            if key in cell
        )


FIGURE_3_KEYS = ("mechanism", "t_v", "t_d", "p", "sigma", "method")
TABLES = {
    table.id: table
    for table in (
        StudyTable(
            "multirr_table1",
            "multirr_tables",
            "Table 1: relative error of RR-Clusters on Adult",
            CLUSTER_QUERY_KEYS,
            ("multirr_table1",),
            {"dataset": "adult"},
        ),
        StudyTable(
            "multirr_table2",
            "multirr_tables",
            "Table 2: relative error of RR-Clusters on Adult6",
            CLUSTER_QUERY_KEYS,
            ("multirr_table2",),
            {"dataset": "adult6"},
        ),
        StudyTable(
            "multirr_sensitivity",
            "multirr_sensitivity",
            "Tables 1 and 2 under the other readings and projections",
            CLUSTER_QUERY_KEYS,
            ("multirr_table1", "multirr_table2"),
        ),
        StudyTable(
            "multirr_attributes",
            "multirr_attributes",
            "Queries of two, three and four attributes",
            ("attributes", *CLUSTER_QUERY_KEYS),
        ),
        StudyTable(
            "multirr_fig2",
            "multirr_fig2",
            "Figure 2: what estimation gains over the raw randomized data",
            ("estimator", "sigma", "measure"),
            where={"projection": "clip"},
        ),
        StudyTable(
            "multirr_gains",
            "multirr_fig2",
            "Figure 2 under each projection",
            ("projection", "estimator", "sigma", "measure"),
        ),
        StudyTable(
            "multirr_fig3",
            "multirr_fig3",
            "Figure 3: relative error of the four methods",
            FIGURE_3_KEYS,
            where={"measure": "relative_error", "projection": "clip"},
        ),
        StudyTable(
            "multirr_projections",
            "multirr_fig3",
            "The four methods under each projection",
            ("projection", *FIGURE_3_KEYS),
            where={"measure": "relative_error"},
        ),
        StudyTable(
            "multirr_adjustment",
            "multirr_fig3",
            "RR-Adjustment: sweeps, gaps, and targets without records",
            ("projection", "mechanism", "t_v", "t_d", "p", "method", "measure"),
            where={"measure": ("sweeps", "gap", "left_out")},
        ),
        StudyTable(
            "multirr_pairs",
            "multirr_pairs",
            "Joint distributions of pairs from RR-Independent data",
            ("matrix", "p", "estimator", "sigma", "measure"),
        ),
        StudyTable(
            "multirr_assessment",
            "multirr_assessment",
            "Dependences assessed without a trusted party",
            ("method", "matrix", "p", "measure", "t_v", "t_d"),
        ),
        StudyTable(
            "pram_coverage",
            "pram_coverage",
            "Intervals of estimates: how often they hold the truth",
            ("channel", "records", "target", "method", "intervals", "category", "measure"),
        ),
        StudyTable(
            "pram_weights",
            "pram_weights",
            "Survey weights: estimates from randomized records of unequal chances",
            ("design", "channel", "records", "target", "estimator", "category", "measure"),
        ),
        StudyTable(
            "pram_item_sets",
            "pram_item_sets",
            "Item sets of 40 items: what they cost as they grow",
            ("epsilon", "size", "records", "measure"),
        ),
        StudyTable(
            "pram_invariant",
            "pram_invariant",
            "Invariant PRAM: variances claimed and true",
            ("attribute", "records", "method", "p", "estimator", "claim", "measure"),
        ),
        StudyTable(
            "pram_joint_loss",
            "pram_joint_loss",
            "Attributes made invariant one by one: what is left of their joint distribution",
            ("first", "second", "epsilon", "estimator", "measure"),
        ),
    )
}

FIGURES: Mapping[str, tuple[str, ...]] = {
    "multirr_fig1": ("multirr_fig1",),
    "multirr_fig2": ("multirr_fig2",),
    "multirr_fig3": ("multirr_fig3",),
    "multirr_fig3_ours": ("multirr_fig3",),
    "multirr_table1": ("multirr_table1",),
    "multirr_table2": ("multirr_table2",),
    "multirr_pairs": ("multirr_pairs", "multirr_fig3"),
    "multirr_assessment": ("multirr_assessment",),
    "pram_coverage": ("pram_coverage",),
    "pram_variance": ("pram_variance",),
    "pram_invariant": ("pram_invariant",),
    "pram_joint_loss": ("pram_joint_loss",),
    "pram_breaches": ("pram_breach_bounds", "pram_approach"),
    "pram_design": ("pram_design",),
    "pram_channels": ("pram_channels",),
}
"""The figures, each with the tables that it is drawn from."""

ANALYSES = (
    "multirr_agreement",
    "multirr_clusters",
    "multirr_dependences",
    "multirr_threshold_trend",
    "multirr_fig1",
    "multirr_accuracy",
    "multirr_propagation",
    "multirr_order",
    "multirr_example1",
    "multirr_secure_sum",
    "multirr_secure_sum_faults",
    "multirr_secure_assessment",
    "multirr_linkage",
    "multirr_risk",
    "multirr_waiver",
    "multirr_claims",
    "pram_results",
    "pram_variance",
    "pram_whole_file",
    "pram_breach_bounds",
    "pram_breach_thresholds",
    "pram_approach",
    "pram_intruder",
    "pram_worst_sets",
    "pram_design",
    "pram_channels",
)
"""The tables that no study fills."""
