"""The sections of the report's page in order, and the code behind each table and figure on it.

A paper's sections stand in modules and template folders of its own; here they are listed.
"""

from collections.abc import Mapping

from deniable.display import Origin, Section
from deniable.papers import privacy_sections as privacy
from deniable.papers.catalog import TABLES
from deniable.papers.idp import report_sections as idp
from deniable.papers.multirr.sections import (
    analyses as analysis,
    sweep as multirr_sweep,
    tables as multirr,
)
from deniable.papers.pram.sections import (
    estimation as pram,
    privacy as pram_privacy,
    variance as pram_variance,
)
from deniable.papers.rrba import report_sections as rrba


def _printed(name: str) -> Section:
    title = TABLES[name].title
    prepare = multirr.printed_table(name)
    return Section(name, title, title.split(":")[0], "multirr/printed_table", (name,), prepare)


PARTS: Mapping[str, tuple[Section, ...]] = {
    "In short": (
        Section(
            "about", "What this is about", "In plain words", "multirr/about", (), multirr.about
        ),
        Section("glance", "At a glance", "At a glance", "glance"),
    ),
    "Multi-Dimensional Randomized Response": (
        Section(
            "multirr_fig1",
            "Figure 1: the price of many categories",
            "Figure 1",
            "multirr/figure_1",
            ("multirr_fig1",),
            multirr.figure_1,
        ),
        Section(
            "multirr_fig2",
            "Figure 2: what estimation gains",
            "Figure 2",
            "multirr/figure_2",
            ("multirr_fig2",),
            multirr.figure_2,
        ),
        Section(
            "multirr_fig3",
            "Figure 3: the four methods",
            "Figure 3",
            "multirr/figure_3",
            ("multirr_fig3",),
            multirr.figure_3,
        ),
        Section(
            "attributes",
            "Queries of more than two attributes",
            "More attributes",
            "multirr/attributes",
            ("multirr_attributes",),
            multirr.more_attributes,
        ),
        _printed("multirr_table1"),
        _printed("multirr_table2"),
        Section(
            "readings",
            "Other readings of the matrix, other projections",
            "Other readings",
            "multirr/readings",
            ("multirr_agreement",),
            multirr.readings,
        ),
        Section(
            "clusters",
            "Clusters of attributes",
            "Clusters",
            "multirr/clusters",
            ("multirr_clusters",),
            multirr.clusters,
        ),
        Section(
            "claims",
            "What the paper says in words",
            "Claims in words",
            "multirr/claims",
            ("multirr_claims",),
            multirr.claims,
        ),
        Section(
            "bounds",
            "Error bounds, and what randomization does to errors",
            "Error bounds",
            "multirr/bounds",
            ("multirr_accuracy",),
            analysis.bounds,
        ),
        Section(
            "adjustment",
            "RR-Adjustment: weighting reports to estimated margins",
            "RR-Adjustment",
            "multirr/adjustment",
            ("multirr_example1",),
            analysis.adjustment,
        ),
        Section(
            "assessment",
            "Dependences without a trusted party",
            "Without a trusted party",
            "multirr/assessment",
            ("multirr_secure_sum",),
            analysis.assessment,
        ),
        Section(
            "pairs",
            "Beyond the paper: pairs from RR-Independent data",
            "Beyond the paper",
            "multirr/pairs",
            ("multirr_pairs",),
            analysis.pairs,
        ),
        Section(
            "sweep",
            "Beyond the paper: thresholds, p and the number of records",
            "A sweep",
            "multirr/sweep",
            ("multirr_sweep",),
            multirr_sweep.sweep,
        ),
    ),
    "PRAM and the theory of channels": (
        Section(
            "pram_about",
            "PRAM in plain words",
            "In plain words",
            "pram/about",
            (),
            pram.about,
        ),
        Section(
            "pram_results",
            "Every numbered result of the census report",
            "Numbered results",
            "pram/results",
            ("pram_results",),
            pram.results,
        ),
        Section(
            "pram_coverage",
            "Estimates, and how often their intervals hold the truth",
            "Intervals",
            "pram/coverage",
            ("pram_coverage",),
            pram.coverage,
        ),
        Section(
            "pram_weights",
            "Survey weights",
            "Survey weights",
            "pram/weights",
            ("pram_weights",),
            pram.weights,
        ),
        Section(
            "pram_item_sets",
            "Item sets without their cells",
            "Item sets",
            "pram/item_sets",
            ("pram_item_sets",),
            pram.item_sets,
        ),
        Section(
            "pram_variance",
            "What randomization costs in variance, and what invariance gives away",
            "Variance inflation",
            "pram/variance",
            ("pram_variance",),
            pram_variance.variance,
        ),
        Section(
            "pram_invariant",
            "Standard errors under invariant PRAM: claimed and true",
            "Standard errors",
            "pram/invariant",
            ("pram_invariant",),
            pram_variance.invariant,
        ),
        Section(
            "pram_joint_loss",
            "Invariant one by one: what is left of joint distributions",
            "Joint distributions",
            "pram/joint_loss",
            ("pram_joint_loss",),
            pram_variance.joint_loss,
        ),
        Section(
            "pram_breaches",
            "Breaches: how far one report can move a probability",
            "Breaches",
            "pram/breaches",
            ("pram_breach_bounds",),
            pram_privacy.breaches,
        ),
        Section(
            "pram_design",
            "Channels designed by optimization",
            "Designed channels",
            "pram/design",
            ("pram_design",),
            pram_privacy.design,
        ),
    ),
    "Individual differential privacy": idp.SECTIONS,
    "Randomized response block aggregation": rrba.SECTIONS,
    "Privacy": (
        Section(
            "audit",
            "Privacy: claimed and exact",
            "Audit",
            "privacy/audit",
            ("privacy",),
            privacy.audit,
        ),
        Section(
            "risk",
            "“Equal risk”, confronted with all that is spent",
            "“Equal risk”",
            "privacy/risk",
            ("multirr_risk",),
            privacy.risk,
        ),
        Section(
            "waiver",
            "A waiver of sequential composition, held to its word",
            "The waiver of 4.3",
            "privacy/waiver",
            ("multirr_waiver",),
            privacy.waiver,
        ),
    ),
    "This project": (
        Section("releases", "Releases", "Releases", "releases"),
        Section("findings", "Findings", "Findings", "findings"),
        Section("run", "This run", "This run", "run"),
    ),
}
"""The sections, in order, under the headings of the list of contents."""

PICTURES = {
    "multirr_fig1": "Figure 1: the factor √B of simultaneous errors over the number of categories",
    "multirr_fig2": "Figure 2: absolute and relative errors of count queries over their coverage",
    "multirr_fig3": "Figure 3: relative errors of the four methods at the paper's thresholds",
    "multirr_fig3_ours": "Figure 3 again, at the thresholds that are best in our Table 1",
    "multirr_table1": "Table 1 as a picture: printed values beside ours",
    "multirr_table2": "Table 2 as a picture: printed values beside ours",
    "multirr_pairs": "Errors of estimated pairs over p, and which estimator wins where",
    "multirr_assessment": "How well assessed dependences keep ranks and clusters, over p",
    "multirr_sweep": "Relative errors over p and both thresholds, for several numbers of records",
    "pram_coverage": "How often intervals of estimates hold the truth, by channel",
    "pram_variance": "Variance inflation of randomized response and invariant PRAM over epsilon",
    "pram_invariant": "Variances claimed for invariant PRAM over true ones, and coverage",
    "pram_joint_loss": "Dependence of pairs whose attributes are made invariant, over epsilon",
    "pram_breaches": "Bounds on what a report can tell, and priors that come close to them",
    "pram_design": "Losses of designed channels beside generalized RR and two steps, over epsilon",
    "pram_channels": "Designed channels as heat maps, true categories by reported ones",
    **idp.PICTURES,
    **rrba.PICTURES,
}
"""What each figure shows, for those who hear the page."""

DRAWN_BY: Mapping[str, Origin] = {
    "multirr_fig1": Origin("papers.multirr.figures.analyses:figure_1", "draw"),
    "multirr_fig2": Origin("papers.multirr.figures.analyses:figure_2", "draw"),
    "multirr_fig3": Origin("papers.multirr.figures.analyses:figure_3", "draw"),
    "multirr_fig3_ours": Origin("papers.multirr.figures.analyses:figure_3", "draw"),
    "multirr_table1": Origin("papers.multirr.figures.printed:printed_against_regenerated", "draw"),
    "multirr_table2": Origin("papers.multirr.figures.printed:printed_against_regenerated", "draw"),
    "multirr_pairs": Origin("papers.multirr.figures.analyses:pairs", "draw"),
    "multirr_assessment": Origin("papers.multirr.figures.analyses:assessment", "draw"),
    "multirr_sweep": Origin("papers.multirr.figures.sweep:thresholds", "draw"),
    "pram_coverage": Origin("papers.pram.figures.estimation:coverage", "draw"),
    "pram_variance": Origin("papers.pram.figures.estimation:variance", "draw"),
    "pram_invariant": Origin("papers.pram.figures.estimation:invariant", "draw"),
    "pram_joint_loss": Origin("papers.pram.figures.estimation:joint_loss", "draw"),
    "pram_breaches": Origin("papers.pram.figures.estimation:breaches", "draw"),
    "pram_design": Origin("papers.pram.figures.design:design", "draw"),
    "pram_channels": Origin("papers.pram.figures.design:channels", "draw"),
    **idp.DRAWN_BY,
    **rrba.DRAWN_BY,
}

COMPARED_BY = Origin("study.engine:compare", "collect")
"""Sets regenerated numbers beside printed ones."""

_SIMULATED_BY = {
    "multirr_tables": "papers.multirr.cluster_queries:ClusterQueries.__call__",
    "multirr_sensitivity": "papers.multirr.cluster_queries:ClusterQueries.__call__",
    "multirr_attributes": "papers.multirr.cluster_queries:ClusterQueries.__call__",
    "multirr_fig2": "papers.multirr.pair_queries:PairQueries.__call__",
    "multirr_fig3": "papers.multirr.adjusted_queries:AdjustedQueries.__call__",
    "multirr_pairs": "papers.multirr.pair_queries:PairQueries.__call__",
    "multirr_assessment": "papers.multirr.dependence_assessment:DependenceAssessment.__call__",
    "multirr_sweep": "papers.multirr.threshold_sweep:ThresholdSweep.__call__",
    "pram_coverage": "papers.pram.coverage:PramCoverage.__call__",
    "pram_weights": "papers.pram.weights:PramWeights.__call__",
    "pram_item_sets": "papers.pram.item_sets:PramItemSets.__call__",
    "pram_invariant": "papers.pram.invariant:InvariantPram.__call__",
    "pram_joint_loss": "papers.pram.joint_loss:JointLoss.__call__",
    **idp.SIMULATED_BY,
    **rrba.SIMULATED_BY,
}

MADE_BY: Mapping[str, Origin] = {
    **{name: Origin(_SIMULATED_BY[table.study], "simulate") for name, table in TABLES.items()},
    "multirr_agreement": Origin("study.engine:agreement", "summarize_agreement"),
    "multirr_clusters": Origin("randomized_response.audit:clusters_table", "measure_dependences"),
    "multirr_dependences": Origin(
        "randomized_response.dependence:dependences", "measure_dependences"
    ),
    "multirr_threshold_trend": Origin(
        "papers.multirr.threshold_trend:threshold_trend", "assess_threshold_trend"
    ),
    "multirr_fig1": Origin("papers.multirr.error_analysis:figure_1", "bound_errors"),
    "multirr_accuracy": Origin("papers.multirr.error_analysis:accuracy_table", "bound_errors"),
    "multirr_propagation": Origin(
        "papers.multirr.error_analysis:propagation_table", "bound_errors"
    ),
    "multirr_order": Origin(
        "papers.multirr.error_analysis:expected_dependence_order", "bound_errors"
    ),
    "multirr_example1": Origin("papers.multirr.example_1:example_1", "work_example"),
    "multirr_secure_sum": Origin("papers.multirr.secure_sum:trials", "sum_securely"),
    "multirr_secure_sum_faults": Origin("papers.multirr.secure_sum:fault_trials", "sum_securely"),
    "multirr_secure_assessment": Origin(
        "papers.multirr.secure_assessment:secure_assessments", "sum_securely"
    ),
    "multirr_linkage": Origin("papers.multirr.secure_sum:linkage_example", "sum_securely"),
    "multirr_risk": Origin("randomized_response.assessment_audit:risk_table", "compare_risks"),
    "multirr_waiver": Origin("randomized_response.waiver:waiver_table", "compare_risks"),
    "multirr_claims": Origin("papers.multirr.claims:claims", "decide_claims"),
    "pram_results": Origin(
        "papers.pram.numbered_results:numbered_results", "check_numbered_results"
    ),
    "pram_variance": Origin("papers.pram.variance:variance_inflation", "compare_variances"),
    "pram_whole_file": Origin("papers.pram.variance:whole_file_epsilons", "compare_variances"),
    "pram_breach_bounds": Origin("papers.pram.breaches:bound_table", "bound_breaches"),
    "pram_breach_thresholds": Origin("papers.pram.breaches:threshold_table", "bound_breaches"),
    "pram_approach": Origin("papers.pram.breaches:approach_table", "bound_breaches"),
    "pram_intruder": Origin("papers.pram.breaches:intruder_table", "bound_breaches"),
    "pram_worst_sets": Origin("papers.pram.breaches:worst_set_table", "bound_breaches"),
    "pram_design": Origin("papers.pram.design:design_table", "design_channels"),
    "pram_channels": Origin("papers.pram.design:channel_table", "design_channels"),
    **idp.MADE_BY,
    **rrba.MADE_BY,
    "privacy": Origin("randomized_response.audit:audit_multirr", "audit_privacy"),
    "samplers": Origin("randomized_response.audit:audit_release_samplers", "audit_samplers"),
}
"""The code that computes each table."""

FOLDERS = {"privacy": "audit", "samplers": "audit"}
"""Where a table is under results/, if not in tables/."""
