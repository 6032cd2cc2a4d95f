"""The studies of [pram] (the census report), their tables and figures."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from deniable.study import StudyTable
from deniable.study.catalog import Study

if TYPE_CHECKING:  # not at run time: every job's process reads this room
    from deniable.records import Microdata
    from deniable.study import Simulator


# The rooms of the studies are large; only the process that simulates imports the one it needs.
def _pram_coverage(data: "Microdata", settings: Mapping[str, Any]) -> "Simulator":
    from deniable.papers.pram.coverage import PramCoverage  # noqa: PLC0415

    return PramCoverage(data)


def _pram_weights(data: "Microdata", settings: Mapping[str, Any]) -> "Simulator":
    from deniable.papers.pram.weights import PramWeights  # noqa: PLC0415

    return PramWeights(data)


def _pram_item_sets(data: "Microdata", settings: Mapping[str, Any]) -> "Simulator":
    from deniable.papers.pram.item_sets import PramItemSets  # noqa: PLC0415

    return PramItemSets()


def _pram_invariant(data: "Microdata", settings: Mapping[str, Any]) -> "Simulator":
    from deniable.papers.pram.invariant import InvariantPram  # noqa: PLC0415

    return InvariantPram(data)


def _pram_joint_loss(data: "Microdata", settings: Mapping[str, Any]) -> "Simulator":
    from deniable.papers.pram.joint_loss import JointLoss  # noqa: PLC0415

    return JointLoss(data, settings["coverage"])


STUDIES = {
    "pram_coverage": Study(_pram_coverage, "mean"),
    "pram_weights": Study(_pram_weights, "mean"),
    "pram_item_sets": Study(_pram_item_sets, "mean", datasets=()),
    "pram_invariant": Study(_pram_invariant, "mean"),
    "pram_joint_loss": Study(_pram_joint_loss, "mean"),
}

TABLES = {
    table.id: table
    for table in (
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
}

FIGURES: Mapping[str, tuple[str, ...]] = {
    "pram_coverage": ("pram_coverage",),
    "pram_variance": ("pram_variance",),
    "pram_invariant": ("pram_invariant",),
    "pram_joint_loss": ("pram_joint_loss",),
    "pram_breaches": ("pram_breach_bounds", "pram_approach"),
    "pram_design": ("pram_design",),
    "pram_channels": ("pram_channels",),
}

ANALYSES = (
    "pram_results",
    "pram_variance",
    "pram_whole_file",
    "pram_breach_bounds",
    "pram_breach_thresholds",
    "pram_approach",
    "pram_intruder",
    "pram_worst_sets",
    "pram_design",
    "pram_channels",
)
