"""The analyses of [multirr]: what is worked out once, beside its studies."""

from deniable.study.catalog import MINUTES, Analysis, AnalysisTable, Columns, claims_columns

ANALYSES = (
    Analysis(
        "summarize_agreement",
        "papers.multirr.threshold_trend:agreement_by_reading",
        (
            AnalysisTable(
                "multirr_agreement",
                "study.engine:agreement",
                Columns(
                    ("dataset", "matrix", "mechanism", "projection"),
                    by_chance=(
                        "agrees",
                        "differs",
                        "median_ratio",
                        "typical_factor",
                        "rank_correlation",
                    ),
                ),
            ),
        ),
        "Counting which printed numbers hold",
        needs=("multirr_table1", "multirr_table2", "multirr_sensitivity"),
        takes_what_is_there=True,
        caption="agreement",
    ),
    Analysis(
        "measure_dependences",
        "papers.multirr.dependence_assessment:measured",
        (
            AnalysisTable(
                "multirr_clusters",
                "randomized_response.audit:clusters_table",
                Columns(("t_v", "t_d", "cluster")),
            ),
            AnalysisTable(
                "multirr_dependences",
                "randomized_response.dependence:dependences",
                Columns(("attribute_1", "attribute_2", "measure")),
            ),
        ),
        "Measuring dependences of all pairs and forming clusters",
        data=("adult",),
        settings="studies.multirr_tables",
    ),
    Analysis(
        "assess_threshold_trend",
        "papers.multirr.threshold_trend:trend",
        (
            AnalysisTable(
                "multirr_threshold_trend",
                "papers.multirr.threshold_trend:threshold_trend",
                Columns(("dataset", "mechanism", "p", "t_v"), by_chance=("statistic", "p_value")),
            ),
        ),
        "Testing whether the printed trend over T_d is more than chance",
        needs=("multirr_table1", "multirr_table2", "multirr_clusters"),
        takes_what_is_there=True,
        caption="threshold_trend",
    ),
    Analysis(
        "bound_errors",
        "papers.multirr.error_analysis:bounds",
        (
            AnalysisTable(
                "multirr_fig1", "papers.multirr.error_analysis:figure_1", Columns(("categories",))
            ),
            AnalysisTable(
                "multirr_accuracy",
                "papers.multirr.error_analysis:accuracy_table",
                Columns(("records", "attributes")),
            ),
            AnalysisTable(
                "multirr_propagation",
                "papers.multirr.error_analysis:propagation_table",
                Columns(("attribute", "reading", "p")),
            ),
            AnalysisTable(
                "multirr_order",
                "papers.multirr.error_analysis:expected_dependence_order",
                Columns(("measure", "reading", "p")),
            ),
        ),
        "Bounding the errors of estimates from n reports",
        data=("adult",),
        settings="studies.multirr_tables",
    ),
    Analysis(
        "work_example",
        "papers.multirr.example_1:worked",
        (
            AnalysisTable(
                "multirr_example1",
                "papers.multirr.example_1:example_1",
                Columns(("sweep", "adjusted"), by_chance=("note",)),
            ),
        ),
        "Working Example 1 of RR-Adjustment in fractions",
    ),
    Analysis(
        "sum_securely",
        "papers.multirr.secure_sum:all_trials",
        (
            AnalysisTable(
                "multirr_secure_sum",
                "papers.multirr.secure_sum:trials",
                Columns(("pair", "parties"), by_chance=("cramers_v_from_sum", "cramers_v_direct")),
            ),
            AnalysisTable(
                "multirr_secure_sum_faults",
                "papers.multirr.secure_sum:fault_trials",
                Columns(("fault",), by_chance=("remedy_or_limit",)),
            ),
            AnalysisTable(
                "multirr_secure_assessment",
                "papers.multirr.secure_assessment:secure_assessments",
                Columns(("method", "matrix", "p"), by_chance=("clusters", "clusters_direct")),
            ),
            AnalysisTable(
                "multirr_linkage",
                "papers.multirr.secure_sum:linkage_example",
                Columns(
                    ("attribute", "category"),
                    by_chance=("share_of_samples", "share_of_parties_exposed"),
                ),
            ),
        ),
        "Running the secure sum between thousands of parties",
        data=("adult",),
        settings="analyses.multirr_secure_sum",
        resources=MINUTES,
    ),
    Analysis(
        "compare_risks",
        "papers.multirr.dependence_assessment:risks",
        (
            AnalysisTable(
                "multirr_risk",
                "randomized_response.assessment_audit:risk_table",
                Columns(("matrix", "p", "mechanism", "t_v", "assessment")),
            ),
            AnalysisTable(
                "multirr_waiver",
                "randomized_response.waiver:waiver_table",
                Columns(("matrix", "p", "releases", "parties"), by_chance=("trust",)),
            ),
        ),
        "Confronting equal risk with every epsilon that is spent",
        data=("adult",),
        needs=("multirr_dependences",),
        settings="studies.multirr_tables",
        resources=MINUTES,
    ),
    Analysis(
        "decide_claims",
        "papers.multirr.claims:decide",
        (
            AnalysisTable(
                "multirr_claims",
                "papers.multirr.claims:claims",
                claims_columns("claim", "mechanism", "projection"),
            ),
        ),
        "Deciding what the paper claims in words",
        needs=(
            "multirr_gains",
            "multirr_projections",
            "multirr_table1",
            "multirr_table2",
            "multirr_sensitivity",
            "multirr_attributes",
            "multirr_clusters",
        ),
        caption="claims",
    ),
)
