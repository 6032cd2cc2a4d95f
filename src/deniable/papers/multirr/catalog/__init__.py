"""What is reproduced of [multirr]: studies, tables, figures and sections, an entry each."""

from deniable.papers.multirr.catalog.analyses import ANALYSES
from deniable.study.catalog import Figure, Paper, Section, Study, StudyTable

PRINTED_RUNS = 1000  # [multirr], 6.5: medians over 1000 runs
CLUSTER_QUERY_KEYS = ("dataset", "matrix", "mechanism", "projection", "p", "t_d", "t_v")

STUDIES = {
    "multirr_tables": Study(
        "papers.multirr.cluster_queries:ClusterQueries",
        ("coverage", "ordinal"),
        published_column="median_relative_error",
        published_replicates=PRINTED_RUNS,
    ),
    "multirr_sensitivity": Study(
        "papers.multirr.cluster_queries:ClusterQueries",
        ("coverage", "ordinal"),
        published_column="median_relative_error",
        published_replicates=PRINTED_RUNS,
    ),
    "multirr_attributes": Study(
        "papers.multirr.cluster_queries:ClusterQueries", ("coverage", "ordinal")
    ),
    "multirr_fig2": Study("papers.multirr.pair_queries:PairQueries", ("coverages", "estimators")),
    "multirr_fig3": Study(
        "papers.multirr.adjusted_queries:AdjustedQueries", ("coverages", "projections", "ordinal")
    ),
    "multirr_pairs": Study("papers.multirr.pair_queries:PairQueries", ("coverages", "estimators")),
    "multirr_assessment": Study(
        "papers.multirr.dependence_assessment:DependenceAssessment.of",
        ("ordinal", "t_v", "t_d"),
        summary="mean",
    ),
    "multirr_sweep": Study(
        "papers.multirr.threshold_sweep:ThresholdSweep.of",
        ("coverage", "t_v", "t_d", "ordinal", "subset_seed"),
    ),
}
TABLES = (
    StudyTable(
        "multirr_table1",
        "multirr_tables",
        "Table 1: relative error of RR-Clusters on Adult",
        CLUSTER_QUERY_KEYS,
        published=("multirr_table1",),
        where={"dataset": "adult"},
    ),
    StudyTable(
        "multirr_table2",
        "multirr_tables",
        "Table 2: relative error of RR-Clusters on Adult6",
        CLUSTER_QUERY_KEYS,
        published=("multirr_table2",),
        where={"dataset": "adult6"},
    ),
    StudyTable(
        "multirr_sensitivity",
        "multirr_sensitivity",
        "Tables 1 and 2 under the other readings and projections",
        CLUSTER_QUERY_KEYS,
        published=("multirr_table1", "multirr_table2"),
    ),
    StudyTable(
        "multirr_attributes",
        "multirr_attributes",
        "Queries of two, three and four attributes",
        ("attributes", "dataset", "matrix", "mechanism", "projection", "p", "t_d", "t_v"),
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
        ("mechanism", "t_v", "t_d", "p", "sigma", "method"),
        where={"measure": "relative_error", "projection": "clip"},
    ),
    StudyTable(
        "multirr_projections",
        "multirr_fig3",
        "The four methods under each projection",
        ("projection", "mechanism", "t_v", "t_d", "p", "sigma", "method"),
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
        on_request=True,
    ),
)
FIGURES = (
    Figure(
        "multirr_fig1",
        "papers.multirr.figures.analyses:figure_1",
        ("multirr_fig1",),
        "Figure 1: the factor √B of simultaneous errors over the number of categories",
    ),
    Figure(
        "multirr_fig2",
        "papers.multirr.figures.analyses:figure_2",
        ("multirr_fig2",),
        "Figure 2: absolute and relative errors of count queries over their coverage",
    ),
    Figure(
        "multirr_fig3",
        "papers.multirr.figures.analyses:figure_3",
        ("multirr_fig3",),
        "Figure 3: relative errors of the four methods at the paper's thresholds",
        {"best": "paper"},
    ),
    Figure(
        "multirr_fig3_ours",
        "papers.multirr.figures.analyses:figure_3",
        ("multirr_fig3",),
        "Figure 3 again, at the thresholds that are best in our Table 1",
        {"best": "ours"},
    ),
    Figure(
        "multirr_table1",
        "papers.multirr.figures.tables:printed_against_regenerated",
        ("multirr_table1",),
        "Table 1 as a picture: printed values beside ours",
        {"title": "Table 1: relative error of RR-Clusters on Adult"},
    ),
    Figure(
        "multirr_table2",
        "papers.multirr.figures.tables:printed_against_regenerated",
        ("multirr_table2",),
        "Table 2 as a picture: printed values beside ours",
        {"title": "Table 2: relative error of RR-Clusters on Adult6"},
    ),
    Figure(
        "multirr_pairs",
        "papers.multirr.figures.analyses:pairs",
        ("multirr_pairs", "multirr_fig3"),
        "Errors of estimated pairs over p, and which estimator wins where",
    ),
    Figure(
        "multirr_assessment",
        "papers.multirr.figures.analyses:assessment",
        ("multirr_assessment",),
        "How well assessed dependences keep ranks and clusters, over p",
    ),
    Figure(
        "multirr_sweep",
        "papers.multirr.figures.tables:thresholds",
        ("multirr_sweep",),
        "Relative errors over p and both thresholds, for several numbers of records",
    ),
)
SECTIONS = (
    Section(
        "multirr_fig1",
        "Figure 1: the price of many categories",
        "Figure 1",
        "multirr/figure_1",
        ("multirr_fig1",),
        "papers.multirr.sections.tables:figure_1",
    ),
    Section(
        "multirr_fig2",
        "Figure 2: what estimation gains",
        "Figure 2",
        "multirr/figure_2",
        ("multirr_fig2",),
        "papers.multirr.sections.tables:figure_2",
    ),
    Section(
        "multirr_fig3",
        "Figure 3: the four methods",
        "Figure 3",
        "multirr/figure_3",
        ("multirr_fig3",),
        "papers.multirr.sections.tables:figure_3",
    ),
    Section(
        "attributes",
        "Queries of more than two attributes",
        "More attributes",
        "multirr/attributes",
        ("multirr_attributes",),
        "papers.multirr.sections.tables:more_attributes",
    ),
    Section(
        "multirr_table1",
        "Table 1: relative error of RR-Clusters on Adult",
        "Table 1",
        "multirr/printed_table",
        ("multirr_table1",),
    ),
    Section(
        "multirr_table2",
        "Table 2: relative error of RR-Clusters on Adult6",
        "Table 2",
        "multirr/printed_table",
        ("multirr_table2",),
    ),
    Section(
        "readings",
        "Other readings of the matrix, other projections",
        "Other readings",
        "multirr/readings",
        ("multirr_agreement",),
        "papers.multirr.sections.tables:readings",
    ),
    Section(
        "clusters",
        "Clusters of attributes",
        "Clusters",
        "multirr/clusters",
        ("multirr_clusters",),
        "papers.multirr.sections.tables:clusters",
    ),
    Section(
        "claims",
        "What the paper says in words",
        "Claims in words",
        "multirr/claims",
        ("multirr_claims",),
        "papers.multirr.sections.tables:claims",
    ),
    Section(
        "bounds",
        "Error bounds, and what randomization does to errors",
        "Error bounds",
        "multirr/bounds",
        ("multirr_accuracy",),
        "papers.multirr.sections.analyses:bounds",
    ),
    Section(
        "adjustment",
        "RR-Adjustment: weighting reports to estimated margins",
        "RR-Adjustment",
        "multirr/adjustment",
        ("multirr_example1",),
        "papers.multirr.sections.analyses:adjustment",
    ),
    Section(
        "assessment",
        "Dependences without a trusted party",
        "Without a trusted party",
        "multirr/assessment",
        ("multirr_secure_sum",),
        "papers.multirr.sections.analyses:assessment",
    ),
    Section(
        "pairs",
        "Beyond the paper: pairs from RR-Independent data",
        "Beyond the paper",
        "multirr/pairs",
        ("multirr_pairs",),
        "papers.multirr.sections.analyses:pairs",
    ),
    Section(
        "sweep",
        "Beyond the paper: thresholds, p and the number of records",
        "A sweep",
        "multirr/sweep",
        ("multirr_sweep",),
        "papers.multirr.sections.tables:sweep",
    ),
)

PAPER = Paper(
    "multirr", "Multi-Dimensional Randomized Response", STUDIES, TABLES, ANALYSES, FIGURES, SECTIONS
)
