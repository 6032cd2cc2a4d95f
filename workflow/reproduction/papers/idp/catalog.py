"""The catalog of [idp]: studies, tables, analyses, figures and sections."""

from functools import partial

from reproduction import study

HEADING = "Individual differential privacy"
SOURCE = (
    "Conciliating Privacy and Utility in Data Releases via Individual Differential Privacy "
    "and Microaggregation"
)
SSE_KEYS = ("method", "epsilon", "domain_factor", "k")
DATASETS = {"census": "Census", "wine": "Wine"}
FIGURES_OF = {"idp_fig3": "census", "idp_fig4": "wine", "idp_fig5": "census", "idp_fig6": "wine"}
SSE, FORESTS = ("idp_fig3", "idp_fig4"), ("idp_fig5", "idp_fig6")


def _table(name: str, shows: str, keys: tuple[str, ...], value: str) -> study.StudyTable:
    title = f"Figure {name[-1]} of [idp]: {shows}, {DATASETS[FIGURES_OF[name]]}"
    audited = ("true_privacy", "true_privacy_of_domain")
    return study.StudyTable(name, title, keys, value=value, audited=audited)


def _figure(name: str, draw: str, shows: str) -> study.Figure:
    shows = f"Figure {name[-1]}: {shows.format(DATASETS[FIGURES_OF[name]])}"
    return study.Figure(name, draw, shows, options={"dataset": FIGURES_OF[name]})


STUDIES = {
    name: study.Study(".sse:IdpSse" if name in SSE else ".forests:IdpForests", datasets=(dataset,))
    for name, dataset in FIGURES_OF.items()
}
OF_FORESTS = "classifiers trained on masked records"
TABLES = (
    *(_table(name, "error of masked records", SSE_KEYS, "mean_sse") for name in SSE),
    *(_table(name, OF_FORESTS, (*SSE_KEYS, "class"), "f_measure") for name in FORESTS),
)

AUDIT = study.Columns(
    (
        *("dataset", "method", "reading", "unit", "k", "epsilon"),
        *("domain_factor", "domain", "clusters", "note"),
    ),
    verdict="holds",
    rows_by_chance=("note", "released numbers"),
)
CLUSTERS = study.Columns(("dataset", "attribute", "method", "k", "domain_factor"))
OF_CLUSTERS = study.AnalysisTable("idp_audit_clusters", CLUSTERS)
ATTACKS = study.Columns(
    ("dataset", "attack", "neighbour", "method", "reading", "unit", "k", "claimed_epsilon"),
    "accuracy",
    verdict="holds",
    by_chance=("epsilon_at_least",),
)
PROTECTION = study.Columns(
    ("dataset", "measure", "method", "k", "epsilon"), rows_by_chance=("measure", "records linked")
)
OF_PROTECTION = study.AnalysisTable("idp_protection", PROTECTION)
NOISES = study.Columns(
    ("noise", "epsilon", "estimator"),
    "wasserstein",
    by_chance=(
        *("bias", "rmse", "sd_root_n", "coverage_mean", "coverage_mean_low", "coverage_mean_high"),
        *("coverage_median", "coverage_median_low", "coverage_median_high"),
    ),
)
OF_NOISES = study.AnalysisTable("idp_noises", NOISES)
EXPECTED_SSE = study.Columns(
    ("dataset", *SSE_KEYS), by_chance=("mean_sse", "ci_low", "ci_high", "standardized")
)
ANALYSES = (
    study.Analysis(
        "idp_audit",
        (study.AnalysisTable("idp_audit", AUDIT, audited=("individual",)), OF_CLUSTERS),
        data=tuple(DATASETS),
        settings=("analyses.idp_audit",),
    ),
    study.Analysis(
        "idp_attacks",
        (study.AnalysisTable("idp_attacks", ATTACKS), OF_PROTECTION),
        data=tuple(DATASETS),
        settings=("analyses.idp_attacks",),
    ),
    study.Analysis(
        "idp_noises", (OF_NOISES,), data=("adult_age",), settings=("analyses.idp_noises",)
    ),
    study.Analysis(
        "idp_claims",
        (*study.claims_tables("idp"), study.AnalysisTable("idp_expected_sse", EXPECTED_SSE)),
        data=tuple(DATASETS),
        needs=(*FIGURES_OF, "idp_audit"),
    ),
)

SHOWS = {
    "audit": "Exact over claimed ε of one centroid, of all centroids, and of the records, over k",
    "attacks": "Accuracy of an intruder who distinguishes neighbouring files, over claimed ε",
    "noises": "Errors of a distribution and its mean by noises on a grid, over exact ε",
}
OF_ERRORS = "mean SSE of masked {} records over k, by ε and domain"
OF_CLASSIFIERS = "F-measures of classifiers trained on protected {} records, over k"
FIGURES = (
    *(_figure(name, ".figures:errors", OF_ERRORS) for name in SSE),
    *(_figure(name, ".figures:f_measures", OF_CLASSIFIERS) for name in FORESTS),
    *(study.Figure(f"idp_{name}", f".figures:{name}", shows) for name, shows in SHOWS.items()),
)
_section = partial(study.section_of, "idp")
SECTIONS = (
    study.claims_section("idp", "reproduction.papers.idp.sections:WORDS"),
    _section(
        "overview",
        "Individual differential privacy: promise, exact ε and protection",
        "Promise and exact ε",
        "audit",
    ),
    _section("sse", "Figures 3 and 4: the error of masked records", "", "fig3", "fig4"),
    _section("forests", f"Figures 5 and 6: {OF_FORESTS}", "", "fig5", "fig6"),
    _section(
        "privacy",
        "The audit: from one centroid to the released records",
        "Audit of iDP",
        *("audit", "audit_clusters", "attacks", "protection"),
        of="audit_section",
    ),
    _section(
        "noises",
        "Beyond [idp]: numbers on a public grid, without a curator",
        "Numbers without a curator",
    ),
)

PAPER = study.Paper("idp", HEADING, SOURCE, STUDIES, TABLES, ANALYSES, FIGURES, SECTIONS)
