"""Models of the settings of the studies of [pram]. A grid has every combination of its values."""

from typing import Annotated, Literal

from pydantic import Field

from deniable.validation import Strict

from reproduction.study import Coverage, Epsilon, Probability, StudySettings, Values

Records = Annotated[int, Field(ge=2, le=10_000_000)]


class CoverageGrid(Strict):
    """Channels and sizes of files."""

    channel: Values[
        Literal["warner", "generalized", "ordinal", "product", "near_singular", "neighbours"]
    ]
    records: Values[Records]


class WeightsGrid(Strict):
    """Designs of surveys with weights."""

    design: Values[Literal["pps", "stratified"]]
    # Of one attribute, but not the relationship, on which the designs depend.
    channel: Values[Literal["warner", "generalized", "ordinal", "near_singular", "neighbours"]]
    records: Values[Records]


class ItemSetGrid(Strict):
    """Sizes of item sets and epsilons of an item."""

    epsilon: Values[Epsilon]
    size: Values[Annotated[int, Field(ge=1, le=12)]]
    records: Values[Records]


class InvariantGrid(Strict):
    """Attributes under invariant PRAM."""

    attribute: Values[str]
    records: Values[Records]
    method: Values[Literal["two_step", "lazy", "resampling", "two_step_fixed"]]
    p: Values[Probability]


class JointLossGrid(Strict):
    """Pairs of attributes that are made invariant one by one."""

    first: Values[str]
    second: Values[str]
    epsilon: Values[Epsilon]


CoverageStudy = StudySettings[CoverageGrid]
WeightsStudy = StudySettings[WeightsGrid]
ItemSetStudy = StudySettings[ItemSetGrid]
InvariantStudy = StudySettings[InvariantGrid]


class JointLossStudy(StudySettings[JointLossGrid]):
    """A study of joint distributions after invariant PRAM of single attributes."""

    coverage: Coverage = 0.1


class PramEpsilons(Strict):
    """The epsilons of the comparison of variances, or of optimized channels."""

    epsilons: Values[Epsilon]
