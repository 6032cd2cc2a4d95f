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
    "pram_coverage": Study(".coverage:PramCoverage", summary="mean"),
    "pram_weights": Study(".weights:PramWeights", summary="mean"),
    "pram_item_sets": Study(".item_sets:PramItemSets", summary="mean", datasets=()),
    "pram_invariant": Study(".invariant:InvariantPram", summary="mean"),
    "pram_joint_loss": Study(".joint_loss:JointLoss", ("coverage",), summary="mean"),
}
TABLES = (
    StudyTable(
        "pram_coverage",
        "Intervals of estimates: how often they hold the truth",
        ("channel", "records", "target", "method", "intervals", "category", "measure"),
    ),
    StudyTable(
        "pram_weights",
        "Survey weights: estimates from randomized records of unequal chances",
        ("design", "channel", "records", "target", "estimator", "category", "measure"),
    ),
    StudyTable(
        "pram_item_sets",
        "Item sets of 40 items: what they cost as they grow",
        ("epsilon", "size", "records", "measure"),
    ),
    StudyTable(
        "pram_invariant",
        "Invariant PRAM: variances claimed and true",
        ("attribute", "records", "method", "p", "estimator", "claim", "measure"),
    ),
    StudyTable(
        "pram_joint_loss",
        "Attributes made invariant one by one: what is left of their joint distribution",
        ("first", "second", "epsilon", "estimator", "measure"),
    ),
)
ANALYSES = (
    Analysis(
        "check_numbered_results",
        ".numbered_results:checked",
        (
            AnalysisTable(
                "pram_results",
                ".numbered_results:numbered_results",
                Columns(("result",), by_chance=("says", "test", "figure")),
            ),
        ),
        "Holding every numbered result of the census report against small cases",
        caption="results",
    ),
    Analysis(
        "compare_variances",
        ".variance:compared",
        (
            AnalysisTable(
                "pram_variance",
                ".variance:variance_inflation",
                Columns(("attribute", "epsilon", "mechanism")),
            ),
            AnalysisTable(
                "pram_whole_file",
                ".variance:whole_file_epsilons",
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
        ".breaches:bounded",
        (
            AnalysisTable(
                "pram_breach_bounds", ".breaches:bound_table", Columns(("rho_1", "epsilon"))
            ),
            AnalysisTable(
                "pram_breach_thresholds",
                ".breaches:threshold_table",
                Columns(("rho_1", "rho_2", "categories")),
            ),
            AnalysisTable(
                "pram_approach", ".breaches:approach_table", Columns(("channel", "side", "mass"))
            ),
            AnalysisTable(
                "pram_intruder", ".breaches:intruder_table", Columns(("attribute", "p", "category"))
            ),
            AnalysisTable(
                "pram_worst_sets", ".breaches:worst_set_table", Columns(("attribute", "p", "rho_1"))
            ),
        ),
        "Bounding what a report can tell an intruder",
        data=("adult",),
        resources=MINUTES,
    ),
    Analysis(
        "design_channels",
        ".design:designed",
        (
            AnalysisTable(
                "pram_design",
                ".design:design_table",
                Columns(
                    ("attribute", "epsilon", "loss", "requirements", "estimator"),
                    tolerance=DESIGNED,
                ),
            ),
            AnalysisTable(
                "pram_channels",
                ".design:channel_table",
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
        ".figures:coverage",
        "How often intervals of estimates hold the truth, by channel",
    ),
    Figure(
        "pram_variance",
        ".figures:variance",
        "Variance inflation of randomized response and invariant PRAM over epsilon",
    ),
    Figure(
        "pram_invariant",
        ".figures:invariant",
        "Variances claimed for invariant PRAM over true ones, and coverage",
    ),
    Figure(
        "pram_joint_loss",
        ".figures:joint_loss",
        "Dependence of pairs whose attributes are made invariant, over epsilon",
    ),
    Figure(
        "pram_breaches",
        ".figures:breaches",
        "Bounds on what a report can tell, and priors that come close to them",
        tables=("pram_breach_bounds", "pram_approach"),
    ),
    Figure(
        "pram_design",
        ".figures:design",
        "Losses of designed channels beside generalized RR and two steps, over epsilon",
    ),
    Figure(
        "pram_channels",
        ".figures:channels",
        "Designed channels as heat maps, true categories by reported ones",
    ),
)
SECTIONS = (
    Section("pram_about", "PRAM in plain words", "In plain words", ".sections:about", needs=()),
    Section(
        "pram_results",
        "Every numbered result of the census report",
        "Numbered results",
        ".sections:results",
    ),
    Section(
        "pram_coverage",
        "Estimates, and how often their intervals hold the truth",
        "Intervals",
        ".sections:coverage",
    ),
    Section("pram_weights", "Survey weights", "Survey weights", ".sections:weights"),
    Section("pram_item_sets", "Item sets without their cells", "Item sets", ".sections:item_sets"),
    Section(
        "pram_variance",
        "What randomization costs in variance, and what invariance gives away",
        "Variance inflation",
        ".sections:variance",
        needs=("pram_variance", "pram_whole_file"),
    ),
    Section(
        "pram_invariant",
        "Standard errors under invariant PRAM: claimed and true",
        "Standard errors",
        ".sections:invariant",
    ),
    Section(
        "pram_joint_loss",
        "Invariant one by one: what is left of joint distributions",
        "Joint distributions",
        ".sections:joint_loss",
    ),
    Section(
        "pram_breaches",
        "Breaches: how far one report can move a probability",
        "Breaches",
        ".sections:breaches",
        needs=(
            "pram_breach_bounds",
            "pram_breach_thresholds",
            "pram_approach",
            "pram_intruder",
            "pram_worst_sets",
        ),
    ),
    Section(
        "pram_design",
        "Channels designed by optimization",
        "Designed channels",
        ".sections:design",
        needs=("pram_design", "pram_channels"),
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
