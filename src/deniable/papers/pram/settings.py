"""What the studies of PRAM and of channels ([pram]) can be told, as typed models."""

from typing import Annotated, Literal

from pydantic import Field

from deniable.study import Coverage, Epsilon, Probability, Strict
from deniable.study.settings import Study

Records = Annotated[int, Field(ge=2, le=10_000_000)]


class CoverageGrid(Strict):
    """Channels and sizes of files: every combination of the values."""

    channel: Annotated[
        list[Literal["warner", "generalized", "ordinal", "product", "near_singular", "neighbours"]],
        Field(min_length=1),
    ]
    records: Annotated[list[Records], Field(min_length=1)]


class CoverageStudy(Study):
    """A study of the intervals of estimates: how often they hold the truth."""

    grids: Annotated[list[CoverageGrid], Field(min_length=1)]


class WeightsGrid(Strict):
    """Designs of surveys with weights: every combination of the values."""

    design: Annotated[list[Literal["pps", "stratified"]], Field(min_length=1)]
    # Of one attribute that is not the relationship, which the designs go by.
    channel: Annotated[
        list[Literal["warner", "generalized", "ordinal", "near_singular", "neighbours"]],
        Field(min_length=1),
    ]
    records: Annotated[list[Records], Field(min_length=1)]


class WeightsStudy(Study):
    """A study of weighted estimates from the randomized records of a survey."""

    grids: Annotated[list[WeightsGrid], Field(min_length=1)]


class ItemSetGrid(Strict):
    """Sizes of item sets and epsilons of an item: every combination of the values."""

    epsilon: Annotated[list[Epsilon], Field(min_length=1)]
    size: Annotated[list[Annotated[int, Field(ge=1, le=12)]], Field(min_length=1)]
    records: Annotated[list[Records], Field(min_length=1)]


class ItemSetStudy(Study):
    """A study of the supports of item sets among 40 items."""

    grids: Annotated[list[ItemSetGrid], Field(min_length=1)]


class InvariantGrid(Strict):
    """Attributes under invariant PRAM: every combination of the values."""

    attribute: Annotated[list[str], Field(min_length=1)]
    records: Annotated[list[Records], Field(min_length=1)]
    method: Annotated[
        list[Literal["two_step", "lazy", "resampling", "two_step_fixed"]], Field(min_length=1)
    ]
    p: Annotated[list[Probability], Field(min_length=1)]


class InvariantStudy(Study):
    """A study of the variances that are claimed for invariant PRAM."""

    grids: Annotated[list[InvariantGrid], Field(min_length=1)]


class JointLossGrid(Strict):
    """Pairs of attributes made invariant one by one: every combination of the values."""

    first: Annotated[list[str], Field(min_length=1)]
    second: Annotated[list[str], Field(min_length=1)]
    epsilon: Annotated[list[Epsilon], Field(min_length=1)]


class JointLossStudy(Study):
    """A study of what invariant PRAM of single attributes does to joint distributions."""

    coverage: Coverage = 0.1
    grids: Annotated[list[JointLossGrid], Field(min_length=1)]


class PramVariance(Strict):
    """At which epsilons the variances of mechanisms are held against each other."""

    epsilons: Annotated[list[Epsilon], Field(min_length=1)]


class PramDesigns(Strict):
    """For which epsilons channels are designed."""

    epsilons: Annotated[list[Epsilon], Field(min_length=1)]
