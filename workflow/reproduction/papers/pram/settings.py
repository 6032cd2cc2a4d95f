"""What the studies of [pram] can be told, as typed models, and what readers see it called.

Names have also the mechanisms, claims and estimators that are compared whatever the settings.
"""

from typing import Annotated, Literal

from pydantic import Field

from deniable.validation import Strict

from reproduction.study import Coverage, Epsilon, Probability, StudySettings, Values

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
