"""What is reproduced of [idp]: studies, tables, figures and sections, an entry each."""

from reproduction.study import (
    Analysis,
    AnalysisTable,
    Columns,
    Figure,
    Paper,
    Section,
    Study,
    StudyTable,
    claims_section,
    claims_tables,
)

SSE_KEYS = ("method", "epsilon", "domain_factor", "k")
FOREST_KEYS = (*SSE_KEYS, "class")
AUDIT_KEYS = (
    *("dataset", "method", "reading", "unit", "k", "epsilon"),
    *("domain_factor", "domain", "clusters", "note"),
)
ATTACK_KEYS = ("dataset", "attack", "neighbour", "method", "reading", "unit", "k")

DATASETS = {"census": "Census", "wine": "Wine"}
FIGURES_OF = {"idp_fig3": "census", "idp_fig4": "wine", "idp_fig5": "census", "idp_fig6": "wine"}
SSE, FORESTS = ("idp_fig3", "idp_fig4"), ("idp_fig5", "idp_fig6")

STUDIES = {
    name: Study(code, takes, summary="mean", datasets=(FIGURES_OF[name],))
    for names, code, takes in (
        (SSE, ".sse:IdpSse", ("k",)),
        (FORESTS, ".forests:IdpForests", ("domain_factors", "attribute")),
    )
    for name in names
}
TABLES = tuple(
    StudyTable(
        name,
        f"Figure {name[-1]} of [idp]: {what}, {DATASETS[FIGURES_OF[name]]}",
        keys,
        value=value,
        audited=("true_privacy", "true_privacy_of_domain"),
    )
    for names, what, keys, value in (
        (SSE, "error of masked records", SSE_KEYS, "mean_sse"),
        (FORESTS, "classifiers trained on masked records", FOREST_KEYS, "f_measure"),
    )
    for name in names
)

ANALYSES = (
    Analysis(
        "idp_audit",
        (
            AnalysisTable(
                "idp_audit",
                ".audit:audit_table",
                Columns(AUDIT_KEYS, verdict="holds", rows_by_chance=("note", "released numbers")),
                audited=("individual",),
            ),
            AnalysisTable(
                "idp_audit_clusters",
                ".audit:cluster_table",
                Columns(("dataset", "attribute", "method", "k", "domain_factor")),
            ),
            AnalysisTable(
                "idp_attacks",
                ".attacks:attack_table",
                Columns(
                    (*ATTACK_KEYS, "claimed_epsilon"),
                    "accuracy",
                    verdict="holds",
                    by_chance=("epsilon_at_least",),
                ),
            ),
            AnalysisTable(
                "idp_protection",
                ".attacks:protection_table",
                Columns(
                    ("dataset", "measure", "method", "k", "epsilon"),
                    rows_by_chance=("measure", "records linked"),
                ),
            ),
        ),
        data=tuple(DATASETS),
        settings=("analyses.idp_audit", "analyses.idp_attacks"),
    ),
    Analysis(
        "idp_noises",
        (
            AnalysisTable(
                "idp_noises",
                ".grid:compare_noises",
                Columns(
                    ("noise", "epsilon", "estimator"),
                    "wasserstein",
                    by_chance=(
                        *("bias", "rmse", "sd_root_n"),
                        *("coverage_mean", "coverage_mean_low", "coverage_mean_high"),
                        *("coverage_median", "coverage_median_low", "coverage_median_high"),
                    ),
                ),
            ),
        ),
        data=("adult_age",),
        settings=("analyses.idp_noises",),
    ),
    Analysis(
        "idp_claims",
        (
            *claims_tables("idp", ".claims.decided:claims"),
            AnalysisTable(
                "idp_expected_sse",
                ".sse:expected_table",
                Columns(
                    ("dataset", *SSE_KEYS),
                    by_chance=("mean_sse", "ci_low", "ci_high", "standardized"),
                ),
            ),
        ),
        data=tuple(DATASETS),
        needs=(*FIGURES_OF, "idp_audit"),
    ),
)
FIGURES = (
    *(
        Figure(
            name,
            draw,
            f"Figure {name[-1]}: {what.format(DATASETS[FIGURES_OF[name]])}",
            options={"dataset": FIGURES_OF[name]},
        )
        for names, draw, what in (
            (SSE, ".figures:errors", "mean SSE of masked {} records over k, by epsilon and domain"),
            (
                FORESTS,
                ".figures:f_measures",
                "F-measures of classifiers trained on protected {} records, over k",
            ),
        )
        for name in names
    ),
    Figure(
        "idp_audit",
        ".figures:claimed_and_exact",
        "Exact over claimed epsilon of one centroid, of all, and of the records, over k",
    ),
    Figure(
        "idp_attacks",
        ".figures:attacks",
        "How often an intruder tells a file from its neighbour, over claimed epsilon",
    ),
    Figure(
        "idp_noises",
        ".noises:drawn",
        "Errors of a distribution and its mean by noises on a public grid, over exact epsilon",
    ),
)
SECTIONS = (
    *(
        Section(f"idp_{name}", title, link, f".sections:{name}", needs=needs)
        for name, title, link, needs in (
            (
                "overview",
                "Individual differential privacy: promised, delivered, protected",
                "Promised and delivered",
                ("idp_audit",),
            ),
            ("sse", "Figures 3 and 4: the error of masked records", "Figures 3 and 4", SSE),
            (
                "forests",
                "Figures 5 and 6: classifiers trained on masked records",
                "Figures 5 and 6",
                FORESTS,
            ),
        )
    ),
    Section(
        "idp_privacy",
        "The audit: from one centroid to the released records",
        "Audit of iDP",
        ".audit_section:audit",
        template="idp/privacy",
        needs=("idp_audit", "idp_audit_clusters", "idp_attacks", "idp_protection"),
    ),
    Section(
        "idp_noises",
        "Beyond [idp]: numbers on a public grid, without a curator",
        "Numbers without a curator",
        ".noises:noises",
    ),
    claims_section("idp", "reproduction.papers.idp.sections:in_words"),
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
