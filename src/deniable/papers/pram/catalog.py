"""What is reproduced of [pram]: studies, tables, figures and sections, an entry each."""

from deniable.study.catalog import (
    DESIGNED,
    MINUTES,
    Analysis,
    AnalysisTable,
    Columns,
    Figure,
    Paper,
    Section,
    Study,
    StudyTable,
)

STUDIES = {
    "pram_coverage": Study("papers.pram.coverage:PramCoverage", summary="mean"),
    "pram_weights": Study("papers.pram.weights:PramWeights", summary="mean"),
    "pram_item_sets": Study("papers.pram.item_sets:PramItemSets", summary="mean", datasets=()),
    "pram_invariant": Study("papers.pram.invariant:InvariantPram", summary="mean"),
    "pram_joint_loss": Study("papers.pram.joint_loss:JointLoss", ("coverage",), summary="mean"),
}
TABLES = (
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
ANALYSES = (
    Analysis(
        "check_numbered_results",
        "papers.pram.numbered_results:checked",
        (
            AnalysisTable(
                "pram_results",
                "papers.pram.numbered_results:numbered_results",
                Columns(("result",), by_chance=("says", "test", "figure")),
            ),
        ),
        "Holding every numbered result of the census report against small cases",
        caption="results",
    ),
    Analysis(
        "compare_variances",
        "papers.pram.variance:compared",
        (
            AnalysisTable(
                "pram_variance",
                "papers.pram.variance:variance_inflation",
                Columns(("attribute", "epsilon", "mechanism")),
            ),
            AnalysisTable(
                "pram_whole_file",
                "papers.pram.variance:whole_file_epsilons",
                Columns(("attribute", "epsilon", "mechanism")),
            ),
        ),
        "Comparing the variances of randomized response, PRAM and invariant PRAM",
        data=("adult",),
        settings="analyses.pram_variance",
        resources=MINUTES,
    ),
    Analysis(
        "bound_breaches",
        "papers.pram.breaches:bounded",
        (
            AnalysisTable(
                "pram_breach_bounds",
                "papers.pram.breaches:bound_table",
                Columns(("rho_1", "epsilon")),
            ),
            AnalysisTable(
                "pram_breach_thresholds",
                "papers.pram.breaches:threshold_table",
                Columns(("rho_1", "rho_2", "categories")),
            ),
            AnalysisTable(
                "pram_approach",
                "papers.pram.breaches:approach_table",
                Columns(("channel", "side", "mass")),
            ),
            AnalysisTable(
                "pram_intruder",
                "papers.pram.breaches:intruder_table",
                Columns(("attribute", "p", "category")),
            ),
            AnalysisTable(
                "pram_worst_sets",
                "papers.pram.breaches:worst_set_table",
                Columns(("attribute", "p", "rho_1")),
            ),
        ),
        "Bounding what a report can tell an intruder",
        data=("adult",),
        resources=MINUTES,
    ),
    Analysis(
        "design_channels",
        "papers.pram.design:designed",
        (
            AnalysisTable(
                "pram_design",
                "papers.pram.design:design_table",
                Columns(
                    ("attribute", "epsilon", "loss", "requirements", "estimator"),
                    tolerance=DESIGNED,
                ),
            ),
            AnalysisTable(
                "pram_channels",
                "papers.pram.design:channel_table",
                Columns(("design", "true", "reported"), by_chance=("probability",)),
            ),
        ),
        "Designing channels by convex optimization",
        data=("adult",),
        settings="analyses.pram_design",
        resources=MINUTES,
    ),
)
FIGURES = (
    Figure(
        "pram_coverage",
        "papers.pram.figures.estimation:coverage",
        ("pram_coverage",),
        "How often intervals of estimates hold the truth, by channel",
    ),
    Figure(
        "pram_variance",
        "papers.pram.figures.estimation:variance",
        ("pram_variance",),
        "Variance inflation of randomized response and invariant PRAM over epsilon",
    ),
    Figure(
        "pram_invariant",
        "papers.pram.figures.estimation:invariant",
        ("pram_invariant",),
        "Variances claimed for invariant PRAM over true ones, and coverage",
    ),
    Figure(
        "pram_joint_loss",
        "papers.pram.figures.estimation:joint_loss",
        ("pram_joint_loss",),
        "Dependence of pairs whose attributes are made invariant, over epsilon",
    ),
    Figure(
        "pram_breaches",
        "papers.pram.figures.estimation:breaches",
        ("pram_breach_bounds", "pram_approach"),
        "Bounds on what a report can tell, and priors that come close to them",
    ),
    Figure(
        "pram_design",
        "papers.pram.figures.design:design",
        ("pram_design",),
        "Losses of designed channels beside generalized RR and two steps, over epsilon",
    ),
    Figure(
        "pram_channels",
        "papers.pram.figures.design:channels",
        ("pram_channels",),
        "Designed channels as heat maps, true categories by reported ones",
    ),
)
SECTIONS = (
    Section(
        "pram_about",
        "PRAM in plain words",
        "In plain words",
        "pram/about",
        (),
        "papers.pram.sections.estimation:about",
    ),
    Section(
        "pram_results",
        "Every numbered result of the census report",
        "Numbered results",
        "pram/results",
        ("pram_results",),
        "papers.pram.sections.estimation:results",
    ),
    Section(
        "pram_coverage",
        "Estimates, and how often their intervals hold the truth",
        "Intervals",
        "pram/coverage",
        ("pram_coverage",),
        "papers.pram.sections.estimation:coverage",
    ),
    Section(
        "pram_weights",
        "Survey weights",
        "Survey weights",
        "pram/weights",
        ("pram_weights",),
        "papers.pram.sections.estimation:weights",
    ),
    Section(
        "pram_item_sets",
        "Item sets without their cells",
        "Item sets",
        "pram/item_sets",
        ("pram_item_sets",),
        "papers.pram.sections.estimation:item_sets",
    ),
    Section(
        "pram_variance",
        "What randomization costs in variance, and what invariance gives away",
        "Variance inflation",
        "pram/variance",
        ("pram_variance",),
        "papers.pram.sections.variance:variance",
    ),
    Section(
        "pram_invariant",
        "Standard errors under invariant PRAM: claimed and true",
        "Standard errors",
        "pram/invariant",
        ("pram_invariant",),
        "papers.pram.sections.variance:invariant",
    ),
    Section(
        "pram_joint_loss",
        "Invariant one by one: what is left of joint distributions",
        "Joint distributions",
        "pram/joint_loss",
        ("pram_joint_loss",),
        "papers.pram.sections.variance:joint_loss",
    ),
    Section(
        "pram_breaches",
        "Breaches: how far one report can move a probability",
        "Breaches",
        "pram/breaches",
        ("pram_breach_bounds",),
        "papers.pram.sections.privacy:breaches",
    ),
    Section(
        "pram_design",
        "Channels designed by optimization",
        "Designed channels",
        "pram/design",
        ("pram_design",),
        "papers.pram.sections.privacy:design",
    ),
)

PAPER = Paper(
    "pram",
    "PRAM and the theory of channels",
    "Nayak, Zhang and Adeshiyan, Emerging Applications of Randomized Response (2016)",
    STUDIES,
    TABLES,
    ANALYSES,
    FIGURES,
    SECTIONS,
)
