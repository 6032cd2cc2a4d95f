"""The catalog of [pram]: studies, tables, analyses, figures and sections."""

from functools import partial

from reproduction import study

HEADING = "PRAM and the theory of channels"
SOURCE = "Nayak, Zhang and Adeshiyan, Emerging Applications of Randomized Response (2016)"
STUDIES = {
    "pram_coverage": study.Study(".intervals.coverage:PramCoverage"),
    "pram_weights": study.Study(".intervals.weights:PramWeights"),
    "pram_item_sets": study.Study(".intervals.item_sets:PramItemSets.drawn", datasets=()),
    "pram_invariant": study.Study(".invariant:InvariantPram"),
    "pram_joint_loss": study.Study(".joint_loss:JointLoss"),
}
TABLES = (
    study.StudyTable(
        "pram_coverage",
        "Coverage of the intervals of estimates",
        ("channel", "records", "target", "method", "intervals", "category", "measure"),
    ),
    study.StudyTable(
        "pram_weights",
        "Survey weights: estimates from randomized records with unequal probabilities",
        ("design", "channel", "records", "target", "estimator", "category", "measure"),
    ),
    study.StudyTable(
        "pram_item_sets",
        "Item sets from 40 items: error by size",
        ("epsilon", "size", "records", "measure"),
    ),
    study.StudyTable(
        "pram_invariant",
        "Invariant PRAM: variances claimed and true",
        ("attribute", "records", "method", "p", "estimator", "claim", "measure"),
    ),
    study.StudyTable(
        "pram_joint_loss",
        "Attributes made invariant one by one: loss of their joint distribution",
        ("first", "second", "epsilon", "estimator", "measure"),
    ),
)
MECHANISMS = study.Columns(("attribute", "epsilon", "mechanism"))
RESULTS = study.Columns(("result",), by_chance=("says", "test", "figure"))
DESIGNS = study.Columns(
    ("attribute", "epsilon", "loss", "requirements", "estimator"), tolerance=study.DESIGN_RTOL
)
ENTRIES = study.Columns(("design", "true", "reported"), by_chance=("probability",))


def _table(name: str, columns: study.Columns, *audited: str) -> study.AnalysisTable:
    return study.AnalysisTable(f"pram_{name}", columns, audited)


ANALYSES = (
    study.Analysis("pram_results", (_table("results", RESULTS),)),
    study.Analysis(
        "pram_variance",
        (
            _table("variance", MECHANISMS, "matrices"),
            _table("whole_file", MECHANISMS, "kept_secret", "published"),
        ),
        data=("adult",),
        settings=("analyses.pram_variance",),
    ),
    study.Analysis(
        "pram_breaches",
        (
            _table("breach_bounds", study.Columns(("rho_1", "epsilon"))),
            _table("breach_thresholds", study.Columns(("rho_1", "rho_2", "categories"))),
            _table("approach", study.Columns(("channel", "side", "mass"))),
            _table("intruder", study.Columns(("attribute", "p", "category"))),
            _table("worst_sets", study.Columns(("attribute", "p", "rho_1")), "posteriors"),
        ),
        data=("adult",),
    ),
    study.Analysis(
        "pram_design",
        (_table("design", DESIGNS, "designed"), _table("channels", ENTRIES)),
        data=("adult",),
        settings=("analyses.pram_design",),
    ),
)
SHOWS = {
    "coverage": "Coverage of intervals of estimates, by channel",
    "variance": "Variance inflation of randomized response and invariant PRAM over ε",
    "invariant": "Variances claimed for invariant PRAM over true ones, and coverage",
    "joint_loss": "Dependence of pairs of invariant attributes, over ε",
    "breaches": "Bounds on the information in a response, and priors that approach them",
    "design": "Losses of optimized matrices beside generalized RR and two steps, over ε",
    "channels": "Optimized matrices as heat maps, original by randomized categories",
}
OF_BREACHES = {"breaches": ("pram_breach_bounds", "pram_approach")}
FIGURES = (
    *(
        study.Figure(f"pram_{name}", f".figures:{name}", shows, OF_BREACHES.get(name, ()))
        for name, shows in SHOWS.items()
    ),
)
_part = partial(study.section_of, "pram")
SECTIONS = (
    _part("results", "All numbered results of the census report", "Numbered results"),
    study.Section(
        "pram_about", "PRAM in plain words", "In plain words", ".sections:about", needs=()
    ),
    _part("coverage", "Estimates and the coverage of their intervals", "Intervals"),
    _part("weights", "Survey weights", "Survey weights"),
    _part("item_sets", "Item sets without their cells", "Item sets"),
    _part(
        "variance",
        "Variance by randomization, and disclosure by invariance",
        "Variance inflation",
        *("variance", "whole_file"),
    ),
    _part("invariant", "Standard errors under invariant PRAM: claimed and true", "Standard errors"),
    _part("joint_loss", "Invariant one by one: loss of joint distributions", "Joint distributions"),
    _part(
        "breaches",
        "Breaches: the largest change of a probability by one response",
        "Breaches",
        *("breach_bounds", "breach_thresholds", "approach", "intruder", "worst_sets"),
    ),
    _part("design", "Optimized transition matrices", "Optimized matrices", "design", "channels"),
)

PAPER = study.Paper("pram", HEADING, SOURCE, STUDIES, TABLES, ANALYSES, FIGURES, SECTIONS)
