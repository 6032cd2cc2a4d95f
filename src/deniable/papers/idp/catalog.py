"""What is reproduced of [idp]: studies, tables, figures and sections, an entry each."""

from deniable.study.catalog import (
    MINUTES,
    Analysis,
    AnalysisTable,
    Columns,
    Figure,
    Paper,
    Section,
    Study,
    StudyTable,
    claims_columns,
)

SSE_KEYS = ("method", "epsilon", "domain_factor", "k")
FOREST_KEYS = ("method", "epsilon", "domain_factor", "k", "class")

STUDIES = {
    "idp_fig3": Study("papers.idp.sse:IdpSse", ("k",), summary="mean", datasets=("census",)),
    "idp_fig4": Study("papers.idp.sse:IdpSse", ("k",), summary="mean", datasets=("wine",)),
    "idp_fig5": Study(
        "papers.idp.forests:IdpForests",
        ("domain_factors", "attribute"),
        summary="mean",
        datasets=("census",),
    ),
    "idp_fig6": Study(
        "papers.idp.forests:IdpForests",
        ("domain_factors", "attribute"),
        summary="mean",
        datasets=("wine",),
    ),
}
TABLES = (
    StudyTable(
        "idp_fig3",
        "idp_fig3",
        "Figure 3 of [idp]: error of masked records, Census",
        SSE_KEYS,
        value="mean_sse",
    ),
    StudyTable(
        "idp_fig4",
        "idp_fig4",
        "Figure 4 of [idp]: error of masked records, Wine",
        SSE_KEYS,
        value="mean_sse",
    ),
    StudyTable(
        "idp_fig5",
        "idp_fig5",
        "Figure 5 of [idp]: classifiers trained on masked records, Census",
        FOREST_KEYS,
        value="f_measure",
    ),
    StudyTable(
        "idp_fig6",
        "idp_fig6",
        "Figure 6 of [idp]: classifiers trained on masked records, Wine",
        FOREST_KEYS,
        value="f_measure",
    ),
)
ANALYSES = (
    Analysis(
        "audit_census",
        "papers.idp.audit:audited",
        (
            AnalysisTable("census", "", None, "audit/idp"),
            AnalysisTable("census_clusters", "", None, "audit/idp"),
        ),
        "Auditing individual differential privacy on census",
        data=("census",),
        settings="analyses.idp_audit",
        resources=MINUTES,
    ),
    Analysis(
        "attack_census",
        "papers.idp.attacks:attacked",
        (
            AnalysisTable("census_attacks", "", None, "audit/idp"),
            AnalysisTable("census_protection", "", None, "audit/idp"),
        ),
        "Attacking individual differential privacy on census",
        data=("census",),
        settings="analyses.idp_attacks",
        resources=MINUTES,
    ),
    Analysis(
        "audit_wine",
        "papers.idp.audit:audited",
        (
            AnalysisTable("wine", "", None, "audit/idp"),
            AnalysisTable("wine_clusters", "", None, "audit/idp"),
        ),
        "Auditing individual differential privacy on wine",
        data=("wine",),
        settings="analyses.idp_audit",
        resources=MINUTES,
    ),
    Analysis(
        "attack_wine",
        "papers.idp.attacks:attacked",
        (
            AnalysisTable("wine_attacks", "", None, "audit/idp"),
            AnalysisTable("wine_protection", "", None, "audit/idp"),
        ),
        "Attacking individual differential privacy on wine",
        data=("wine",),
        settings="analyses.idp_attacks",
        resources=MINUTES,
    ),
    Analysis(
        "join_individual",
        "papers.idp.audit:joined",
        (
            AnalysisTable(
                "idp_audit",
                "papers.idp.audit:audit_table",
                Columns(
                    (
                        "dataset",
                        "method",
                        "reading",
                        "unit",
                        "k",
                        "epsilon",
                        "domain_factor",
                        "domain",
                        "clusters",
                        "note",
                    ),
                    verdict="holds",
                    rows_by_chance=("note", "released numbers"),
                ),
            ),
            AnalysisTable(
                "idp_audit_clusters",
                "papers.idp.audit:cluster_table",
                Columns(("dataset", "attribute", "method", "k", "domain_factor")),
            ),
            AnalysisTable(
                "idp_attacks",
                "papers.idp.attacks:attack_table",
                Columns(
                    (
                        "dataset",
                        "attack",
                        "neighbour",
                        "method",
                        "reading",
                        "unit",
                        "k",
                        "claimed_epsilon",
                    ),
                    "accuracy",
                    verdict="holds",
                    by_chance=("epsilon_at_least",),
                ),
            ),
            AnalysisTable(
                "idp_protection",
                "papers.idp.attacks:protection_table",
                Columns(
                    ("dataset", "measure", "method", "k", "epsilon"),
                    rows_by_chance=("measure", "records linked"),
                ),
            ),
        ),
        "Joining the audits of individual differential privacy",
        data=("census", "wine"),
        needs=(
            "census",
            "census_clusters",
            "census_attacks",
            "census_protection",
            "wine",
            "wine_clusters",
            "wine_attacks",
            "wine_protection",
        ),
    ),
    Analysis(
        "decide_individual_claims",
        "papers.idp.claims.decided:decide",
        (
            AnalysisTable(
                "idp_claims", "papers.idp.claims.decided:claims", claims_columns("claim", "dataset")
            ),
        ),
        "Deciding what [idp] claims in words",
        data=("census", "wine"),
        needs=("idp_fig3", "idp_fig4", "idp_fig5", "idp_fig6"),
    ),
)
FIGURES = (
    Figure(
        "idp_fig3",
        "papers.idp.figures.utility:fig3",
        ("idp_fig3",),
        "Figure 3: mean SSE of masked Census records over k, by epsilon and domain",
    ),
    Figure(
        "idp_fig4",
        "papers.idp.figures.utility:fig4",
        ("idp_fig4",),
        "Figure 4: mean SSE of masked Wine records over k, by epsilon and domain",
    ),
    Figure(
        "idp_fig5",
        "papers.idp.figures.utility:fig5",
        ("idp_fig5",),
        "Figure 5: F-measures of classifiers trained on protected Census records, over k",
    ),
    Figure(
        "idp_fig6",
        "papers.idp.figures.utility:fig6",
        ("idp_fig6",),
        "Figure 6: F-measures of classifiers trained on protected Wine records, over k",
    ),
    Figure(
        "idp_audit",
        "papers.idp.figures.privacy:claimed_and_exact",
        ("idp_audit",),
        "Exact over claimed epsilon of one centroid, of all, and of the records, over k",
    ),
    Figure(
        "idp_attacks",
        "papers.idp.figures.privacy:attacks",
        ("idp_attacks",),
        "How often an intruder tells a file from its neighbour, over claimed epsilon",
    ),
)
SECTIONS = (
    Section(
        "idp_overview",
        "Individual differential privacy: promised, delivered, protected",
        "Promised and delivered",
        "idp/overview",
        ("idp_audit",),
        "papers.idp.sections.overview:overview",
    ),
    Section(
        "idp_sse",
        "Figures 3 and 4: the error of masked records",
        "Figures 3 and 4",
        "idp/sse",
        ("idp_fig3", "idp_fig4"),
        "papers.idp.sections.utility:sse",
    ),
    Section(
        "idp_forests",
        "Figures 5 and 6: classifiers trained on masked records",
        "Figures 5 and 6",
        "idp/forests",
        ("idp_fig5", "idp_fig6"),
        "papers.idp.sections.utility:forests",
    ),
    Section(
        "idp_privacy",
        "The audit: from one centroid to the released records",
        "Audit of iDP",
        "idp/privacy",
        ("idp_audit", "idp_audit_clusters", "idp_attacks", "idp_protection"),
        "papers.idp.sections.privacy:audit",
    ),
    Section(
        "idp_claims",
        "What [idp] says in words",
        "Claims in words",
        "idp/claims",
        ("idp_claims",),
        "papers.idp.sections.utility:claims",
    ),
)

PAPER = Paper(
    "idp",
    "Individual differential privacy",
    "Conciliating Privacy and Utility in Data Releases via Individual Differential "
    "Privacy and Microaggregation",
    STUDIES,
    TABLES,
    ANALYSES,
    FIGURES,
    SECTIONS,
)
