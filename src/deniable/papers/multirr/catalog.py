"""The studies of [multirr] (Multi-Dimensional Randomized Response), their tables and figures."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from deniable.study import StudyTable
from deniable.study.catalog import Study

if TYPE_CHECKING:  # not at run time: every job's process reads this room
    from deniable.records import Microdata
    from deniable.study import Simulator

CLUSTER_QUERY_KEYS = ("dataset", "matrix", "mechanism", "projection", "p", "t_d", "t_v")


# The rooms of the studies are large; only the process that simulates imports the one it needs.
def _cluster_queries(data: "Microdata", settings: Mapping[str, Any]) -> "Simulator":
    from deniable.papers.multirr.cluster_queries import ClusterQueries  # noqa: PLC0415

    return ClusterQueries(data, settings["coverage"], tuple(settings["ordinal"]))


def _pair_queries(data: "Microdata", settings: Mapping[str, Any]) -> "Simulator":
    from deniable.papers.multirr.pair_queries import PairQueries  # noqa: PLC0415

    return PairQueries(data, tuple(settings["coverages"]), tuple(settings["estimators"]))


def _adjusted_queries(data: "Microdata", settings: Mapping[str, Any]) -> "Simulator":
    from deniable.papers.multirr.adjusted_queries import AdjustedQueries  # noqa: PLC0415

    return AdjustedQueries(
        data,
        tuple(settings["coverages"]),
        tuple(settings["projections"]),
        tuple(settings["ordinal"]),
    )


def _dependence_assessment(data: "Microdata", settings: Mapping[str, Any]) -> "Simulator":
    from deniable.papers.multirr.dependence_assessment import DependenceAssessment  # noqa: PLC0415

    thresholds = tuple((t_v, t_d) for t_v in settings["t_v"] for t_d in settings["t_d"])
    return DependenceAssessment(data, tuple(settings["ordinal"]), thresholds)


def _threshold_sweep(data: "Microdata", settings: Mapping[str, Any]) -> "Simulator":
    from deniable.papers.multirr.threshold_sweep import ThresholdSweep  # noqa: PLC0415

    return ThresholdSweep(
        data,
        settings["coverage"],
        tuple((t_v, t_d) for t_v in settings["t_v"] for t_d in settings["t_d"]),
        tuple(settings["ordinal"]),
        settings["subset_seed"],
    )


PRINTED_RUNS = 1000  # [multirr], 6.5: medians over 1000 runs
_CLUSTER_QUERIES = Study(_cluster_queries, "median", "median_relative_error", PRINTED_RUNS)
STUDIES = {
    "multirr_tables": _CLUSTER_QUERIES,
    "multirr_sensitivity": _CLUSTER_QUERIES,
    "multirr_attributes": Study(_cluster_queries),
    "multirr_fig2": Study(_pair_queries),
    "multirr_fig3": Study(_adjusted_queries),
    "multirr_pairs": Study(_pair_queries),
    "multirr_assessment": Study(_dependence_assessment, "mean"),
    "multirr_sweep": Study(_threshold_sweep),
}

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
            "multirr_sweep",
            "multirr_sweep",
            "A sweep of RR-Clusters over p, both thresholds and the number of records",
            ("records", "matrix", "mechanism", "projection", "p", "t_v", "t_d"),
            value="median_relative_error",
        ),
    )
}

ON_REQUEST = ("multirr_sweep",)
"""Tables that config/config.yaml does not ask for."""

FIGURES: Mapping[str, tuple[str, ...]] = {
    "multirr_fig1": ("multirr_fig1",),
    "multirr_fig2": ("multirr_fig2",),
    "multirr_fig3": ("multirr_fig3",),
    "multirr_fig3_ours": ("multirr_fig3",),
    "multirr_table1": ("multirr_table1",),
    "multirr_table2": ("multirr_table2",),
    "multirr_pairs": ("multirr_pairs", "multirr_fig3"),
    "multirr_assessment": ("multirr_assessment",),
    "multirr_sweep": ("multirr_sweep",),
}

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
)
