"""What the studies of [pram] can be told, as typed models, and what readers see it called.

Names have also the mechanisms, claims and estimators that are compared whatever the settings.
"""

from typing import Annotated, Literal

from pydantic import Field

from deniable.study import Coverage, Epsilon, Probability, StudySettings, Values
from deniable.validation import Strict

Records = Annotated[int, Field(ge=2, le=10_000_000)]


class CoverageGrid(Strict):
    """Channels and sizes of files: every combination of the values."""

    channel: Values[
        Literal["warner", "generalized", "ordinal", "product", "near_singular", "neighbours"]
    ]
    records: Values[Records]


class CoverageStudy(StudySettings[CoverageGrid]):
    """A study of the intervals of estimates: how often they hold the truth."""


class WeightsGrid(Strict):
    """Designs of surveys with weights: every combination of the values."""

    design: Values[Literal["pps", "stratified"]]
    # Of one attribute that is not the relationship, which the designs go by.
    channel: Values[Literal["warner", "generalized", "ordinal", "near_singular", "neighbours"]]
    records: Values[Records]


class WeightsStudy(StudySettings[WeightsGrid]):
    """A study of weighted estimates from the randomized records of a survey."""


class ItemSetGrid(Strict):
    """Sizes of item sets and epsilons of an item: every combination of the values."""

    epsilon: Values[Epsilon]
    size: Values[Annotated[int, Field(ge=1, le=12)]]
    records: Values[Records]


class ItemSetStudy(StudySettings[ItemSetGrid]):
    """A study of the supports of item sets among 40 items."""


class InvariantGrid(Strict):
    """Attributes under invariant PRAM: every combination of the values."""

    attribute: Values[str]
    records: Values[Records]
    method: Values[Literal["two_step", "lazy", "resampling", "two_step_fixed"]]
    p: Values[Probability]


class InvariantStudy(StudySettings[InvariantGrid]):
    """A study of the variances that are claimed for invariant PRAM."""


class JointLossGrid(Strict):
    """Pairs of attributes made invariant one by one: every combination of the values."""

    first: Values[str]
    second: Values[str]
    epsilon: Values[Epsilon]


class JointLossStudy(StudySettings[JointLossGrid]):
    """A study of what invariant PRAM of single attributes does to joint distributions."""

    coverage: Coverage = 0.1


class PramVariance(Strict):
    """At which epsilons the variances of mechanisms are held against each other."""

    epsilons: Values[Epsilon]


class PramDesigns(Strict):
    """For which epsilons channels are designed."""

    epsilons: Values[Epsilon]


# -- names for readers -----------------------------------------------------------------------------

CHANNELS = {
    "warner": "Warner, 2 categories",
    "generalized": "generalized RR, 16",
    "ordinal": "ordinal PRAM, 7",
    "product": "product of two, 12 cells",
    "near_singular": "near singular, 7",
    "neighbours": "neighbours only, 16",
}
METHODS = {"score": "score", "wald": "Wald"}
EVERY = "every category"
WITHIN = (0.94, 0.96)
MECHANISMS = {
    "randomized_response": "randomized response, (1.3)",
    "pram_given_parity": "PRAM with a fixed matrix of that parity, (1.3)",
    "invariant_two_step": "invariant, two steps, shares",
    "invariant_lazy": "invariant, keep or redraw, shares",
    "invariant_two_step_inverted": "invariant, two steps, inverted",
    "bound": "bound (2.6) of invariant PRAM",
}
INVARIANT_METHODS = {
    "two_step": "two steps",
    "lazy": "keep or redraw",
    "resampling": "redraw all",
    "two_step_fixed": "control: fixed matrix",
}
CLAIMS = {
    "multinomial": "reports taken for data",
    "fixed_matrix": "(1.3), matrix taken as fixed",
    "conditional": "owner's, (2.4) and sampling",
    "bound": "bound (2.6), matrix unknown",
}
JOINT_ESTIMATORS = {
    "separate": "each attribute made invariant",
    "separate_inverted": "the same, inverted with the matrices",
    "joint": "one invariant matrix for the pair",
}
