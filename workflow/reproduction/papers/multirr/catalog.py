"""The catalog of [multirr]: studies, tables, analyses, figures and sections."""

from dataclasses import replace
from functools import partial

from reproduction import study

HEADING = "Multi-Dimensional Randomized Response"
SOURCE = "Domingo-Ferrer and Soria-Comas, Multi-Dimensional Randomized Response"
PRINTED_RUNS = 1000  # replicates of each published median ([multirr], 6.5)
CLUSTER_QUERY_KEYS = ("dataset", "matrix", "mechanism", "projection", "p", "t_d", "t_v")
VARIATION = "variation"  # of an interpretation, tried after the comparison with published values
ERRORS = ("absolute_error", "relative_error")
PRINTED_TABLES = {
    "multirr_table1": ("adult", "Table 1: relative error of RR-Clusters on Adult"),
    "multirr_table2": ("adult6", "Table 2: relative error of RR-Clusters on Adult6"),
}
JOINT_DATA = ("adult", "networks/survey", "networks/alarm", "networks/child")
of_medians = partial(study.Study, summary="median")
printed = partial(
    of_medians, published_column="median_relative_error", published_replicates=PRINTED_RUNS
)
STUDIES = {
    "multirr_tables": printed(".queries.clusters:ClusterQueries"),
    "multirr_sensitivity": printed(".queries.clusters:ClusterQueries"),
    "multirr_exploration": printed(".queries.clusters:ExploredQueries"),
    "multirr_attributes": of_medians(".queries.clusters:ClusterQueries"),
    "multirr_fig2": of_medians(".queries.pairs:GainQueries"),
    "multirr_fig3": of_medians(".queries.adjusted:AdjustedQueries"),
    "multirr_pairs": of_medians(".queries.pairs:PairQueries"),
    "multirr_epsilon": of_medians(".queries.adjusted:StatedQueries"),
    "multirr_joint": of_medians(".queries.joint_estimates:JointEstimates", datasets=JOINT_DATA),
    "multirr_assessment": study.Study(".dependence_assessment:DependenceAssessment"),
    "multirr_sweep": of_medians(".queries.clusters:ThresholdSweep"),
}
of_fig2, of_fig3 = (partial(study.StudyTable, study=f"multirr_fig{number}") for number in (2, 3))
TABLES = (
    *(
        study.StudyTable(
            name, title, CLUSTER_QUERY_KEYS, "multirr_tables", (name,), {"dataset": dataset}
        )
        for name, (dataset, title) in PRINTED_TABLES.items()
    ),
    study.StudyTable(
        "multirr_sensitivity",
        "Tables 1 and 2 under other interpretations and projections",
        CLUSTER_QUERY_KEYS,
        published=("multirr_table1", "multirr_table2"),
    ),
    study.StudyTable(
        "multirr_exploration",
        "Tables 1 and 2 under interpretations that were tried after the comparison",
        (*CLUSTER_QUERY_KEYS, VARIATION),
        published=("multirr_table1", "multirr_table2"),
    ),
    study.StudyTable(
        "multirr_attributes",
        "Queries of two, three and four attributes",
        ("attributes", "dataset", "matrix", "mechanism", "projection", "p", "t_d", "t_v"),
    ),
    study.StudyTable(
        "multirr_fig2",
        "Figure 2: the gain of estimation over raw randomized data",
        ("estimator", "sigma", "measure"),
        where={"projection": "clip", "rounding": "up", "measure": ERRORS},
    ),
    of_fig2(
        "multirr_gains",
        "Figure 2 under each projection, and with sizes of queries rounded at random",
        ("projection", "rounding", "estimator", "sigma", "measure"),
        where={"measure": ERRORS},
    ),
    of_fig2(
        "multirr_gain_ratios",
        "Ratios of the medians of Figure 2, compared replicate by replicate",
        ("projection", "rounding", "estimator", "sigma", "measure", "against"),
        where={"measure": tuple(f"{error}_ratio" for error in ERRORS)},
        value="ratio",
    ),
    study.StudyTable(
        "multirr_fig3",
        "Figure 3: relative error of the four methods",
        ("mechanism", "t_v", "t_d", "p", "sigma", "method"),
        where={"measure": "relative_error", "projection": "clip"},
    ),
    of_fig3(
        "multirr_projections",
        "The four methods under each projection",
        ("projection", "mechanism", "t_v", "t_d", "p", "sigma", "method"),
        where={"measure": "relative_error"},
    ),
    of_fig3(
        "multirr_methods",
        "The four methods compared pairwise, replicate by replicate: median errors",
        ("projection", "mechanism", "t_v", "t_d", "p", "sigma", "method", "against", "measure"),
        where={"measure": ("relative_error_difference", "relative_error_ratio")},
        value="compared",
    ),
    of_fig3(
        "multirr_adjustment",
        "RR-Adjustment: sweeps, gaps, and targets without records",
        ("projection", "mechanism", "t_v", "t_d", "p", "method", "measure"),
        where={"measure": ("sweeps", "gap", "left_out")},
    ),
    study.StudyTable(
        "multirr_pairs",
        "Joint distributions of pairs from RR-Independent data",
        ("matrix", "p", "estimator", "sigma", "measure"),
    ),
    study.StudyTable(
        "multirr_epsilon",
        "The methods at stated exact ε of a record",
        ("attributes", "epsilon", "projection", "sigma", "method", "t_v", "t_d"),
    ),
    study.StudyTable(
        "joint_estimation",
        "Joint distributions of all columns: errors, and ratios by replicate",
        ("dataset", "given", "value", "design", "method", "measure", "against"),
        "multirr_joint",
    ),
    study.StudyTable(
        "multirr_assessment",
        "Dependences assessed without a trusted party",
        ("method", "matrix", "p", "measure", "t_v", "t_d"),
    ),
    study.StudyTable(
        "multirr_sweep",
        "A sweep of RR-Clusters over p, both thresholds and the number of records",
        ("records", "matrix", "mechanism", "projection", "p", "t_v", "t_d"),
        value="median_relative_error",
        on_request=True,
    ),
)

PRINTED_NUMBERS = (*PRINTED_TABLES, "multirr_sensitivity")  # tables with published values
AGREEMENT = ("agrees", "differs", "median_ratio", "typical_factor", "rank_correlation")
FIT = ("statistic", "p_value")
READING = (*CLUSTER_QUERY_KEYS[:4], VARIATION)
TREND_KEYS = ("dataset", "mechanism", "p", "t_v")
EXPOSED = ("share_of_samples", "share_of_parties_exposed")
AUDIT = study.Columns(("mechanism", "matrix", "p", "t_v", "unit", "of"), verdict="holds")
WAIVER = study.Columns(("matrix", "p", "releases", "parties"), by_chance=("trust",))


def _table(name: str, keys: tuple[str, ...], *by_chance: str) -> study.AnalysisTable:
    return study.AnalysisTable(f"multirr_{name}", study.Columns(keys, by_chance=by_chance))


of_adult = partial(study.Analysis, data=("adult",))
with_thresholds = partial(of_adult, settings=("studies.multirr_tables",))
ANALYSES = (
    study.Analysis(
        "multirr_agreement",
        (
            _table("agreement", READING, *AGREEMENT, *FIT),
            _table("misfit", (*READING, "p", "t_v"), "ratio"),
        ),
        needs=(*PRINTED_NUMBERS, "multirr_exploration"),
        takes_what_is_there=True,
    ),
    with_thresholds(
        "multirr_dependences",
        (
            _table("clusters", ("t_v", "t_d", "cluster")),
            _table("dependences", ("attribute_1", "attribute_2", "measure")),
        ),
    ),
    study.Analysis(
        "multirr_threshold_trend",
        (_table("threshold_trend", TREND_KEYS, *FIT, "p_value_without_worst"),),
        needs=(*PRINTED_TABLES, "multirr_clusters"),
        takes_what_is_there=True,
    ),
    with_thresholds(
        "multirr_error_bounds",
        (
            _table("fig1", ("categories",)),
            _table("accuracy", ("records", "attributes")),
            _table("propagation", ("attribute", "reading", "p")),
            _table("order", ("measure", "reading", "p")),
        ),
    ),
    study.Analysis("multirr_example1", (_table("example1", ("sweep", "adjusted"), "note"),)),
    of_adult(
        "multirr_secure_sum",
        (
            _table("secure_sum", ("pair", "parties"), "cramers_v_from_sum", "cramers_v_direct"),
            _table("secure_sum_faults", ("fault",), "remedy_or_limit"),
            _table("secure_assessment", ("method", "matrix", "p"), "clusters", "clusters_direct"),
            _table("linkage", ("attribute", "category"), *EXPOSED),
        ),
        settings=("analyses.multirr_secure_sum",),
    ),
    with_thresholds(
        "multirr_risk",
        (
            study.AnalysisTable("multirr_audit", AUDIT, ("multirr",)),
            _table("risk", ("matrix", "p", "mechanism", "t_v", "assessment")),
            study.AnalysisTable("multirr_waiver", WAIVER, ("waiver",)),
        ),
        needs=("multirr_dependences",),
    ),
    study.Analysis(
        "multirr_claims",
        study.claims_tables("multirr", "mechanism", "projection"),
        needs=(
            *("multirr_gain_ratios", "multirr_methods", *PRINTED_NUMBERS),
            *("multirr_attributes", "multirr_clusters"),
        ),
    ),
)


def _figure(name: str, shows: str, *tables: str, draw: str = "", **options: str) -> study.Figure:
    """Return a figure of `tables`, plotted by `draw` with `options`; both default to its `name`."""
    needs = tuple(f"multirr_{table}" for table in tables)
    return study.Figure(f"multirr_{name}", f".figures:{draw or name}", shows, needs, options)


FIGURES = (
    _figure("fig1", "Figure 1: the factor √B of simultaneous errors over the number of categories"),
    _figure("fig2", "Figure 2: absolute and relative errors of count queries over their coverage"),
    _figure(
        "fig3",
        "Figure 3: relative errors of the four methods at the thresholds of [multirr]",
        best="paper",
    ),
    _figure(
        "fig3_ours",
        "Figure 3 again, at the thresholds that are best in our Table 1",
        "fig3",
        draw="fig3",
        best="ours",
    ),
    *(
        _figure(
            name.removeprefix("multirr_"),
            f"{title.partition(':')[0]} as a figure: published values beside ours",
            draw="printed_table",
            title=title,
        )
        for name, (_, title) in PRINTED_TABLES.items()
    ),
    _figure("pairs", "Errors of estimated pairs over p, at three coverages", "pairs", "fig3"),
    _figure("epsilon", "Relative errors of the methods over the exact ε of a whole record"),
    study.Figure(
        "joint_estimation",
        ".figures:joint_estimation",
        "Distances of joint tables of 2 and 3 columns over the exact ε of a record, by method",
    ),
    _figure("assessment", "Agreement of ranks and clusters of assessed dependences, over p"),
    _figure("sweep", "Relative errors over p and both thresholds, for several numbers of records"),
)


def _section(name: str, title: str, link: str, *tables: str, of: str = "sections") -> study.Section:
    """Return a section of `section_of`, but with an anchor without the name of the paper."""
    return replace(study.section_of("multirr", name, title, link, *tables, of=of), id=name)


SECTIONS = (
    study.claims_section("multirr", "reproduction.papers.multirr.names:WORDS"),
    study.Section(
        "multirr_fig1", "Figure 1: errors of many categories", template="multirr/figure_1"
    ),
    study.Section("multirr_fig2", "Figure 2: the gain of estimation", prepare=".sections:figure_2"),
    study.Section("multirr_fig3", "Figure 3: the four methods", prepare=".sections:figure_3"),
    _section("attributes", "Queries of more than two attributes", "More attributes"),
    *(
        study.Section(name, title, prepare=".verdicts:printed_table", options={"name": name})
        for name, (_, title) in PRINTED_TABLES.items()
    ),
    _section(
        "readings",
        "Other interpretations and projections",
        "Interpretations",
        "agreement",
        of="verdicts",
    ),
    _section("clusters", "Clusters of attributes", "Clusters", of="verdicts"),
    _section(
        "bounds",
        "Error bounds, and the effect of randomization on errors",
        "Bounds",
        *("accuracy", "propagation", "order"),
    ),
    _section("adjustment", "RR-Adjustment: weighted responses", "RR-Adjustment", "example1"),
    _section(
        "assessment",
        "Dependences without a trusted party",
        "Without a trusted party",
        *("secure_sum", "secure_sum_faults", "linkage"),
    ),
    _section("pairs", "Beyond [multirr]: pairs from RR-Independent data", "Beyond [multirr]"),
    _section("epsilon", "Beyond [multirr]: at a stated ε", "By ε"),
    study.Section(
        "joint_estimation",
        "Beyond [multirr]: one joint distribution",
        prepare=".sections:joint_estimation",
    ),
    _section("sweep", "Beyond [multirr]: thresholds, p and the number of records", "A sweep"),
)

PAPER = study.Paper("multirr", HEADING, SOURCE, STUDIES, TABLES, ANALYSES, FIGURES, SECTIONS)
