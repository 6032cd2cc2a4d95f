"""Models of the settings of the studies of [pram]. A grid has all combinations of its values."""

from typing import Annotated, Literal

from pydantic import Field

from deniable.validation import Coverage, Epsilon, Probability, Strict, Values

from reproduction.study import StudySettings

Records = Annotated[int, Field(ge=2, le=10_000_000)]
"""Size of a file."""


class CoverageGrid(Strict):
    """Channels and sizes of files."""

    channel: Values[
        Literal["warner", "generalized", "ordinal", "product", "near_singular", "neighbours"]
    ]
    """Channel of `reproduction.papers.pram.intervals.channels`."""
    records: Values[Records]


class WeightsGrid(Strict):
    """Sampling designs with weights, and channels."""

    design: Values[Literal["pps", "stratified"]]
    """Probabilities by a size that depends on relationship, or equal numbers of draws for each
    relationship."""
    # Channels of one attribute, but not of the relationship, on which the designs depend.
    channel: Values[Literal["warner", "generalized", "ordinal", "near_singular", "neighbours"]]
    """Channel of one attribute, of `reproduction.papers.pram.intervals.channels`."""
    records: Values[Records]


class ItemSetGrid(Strict):
    """Sizes of item sets and ε of an item."""

    epsilon: Values[Epsilon]
    """ε of an item."""
    size: Values[Annotated[int, Field(ge=1, le=12)]]
    """Number of items of a set."""
    records: Values[Records]


class InvariantGrid(Strict):
    """Attributes under invariant PRAM."""

    attribute: Values[str]
    """Attribute of Adult. The population has its marginal distribution."""
    records: Values[Records]
    method: Values[Literal["two_step", "lazy", "resampling", "two_step_fixed"]]
    """Matrix from each sample. The matrix of `two_step_fixed` is from the population, as a
    control."""
    p: Values[Probability]
    """Retention probability, of the first step or of `lazy`."""


class JointLossGrid(Strict):
    """Pairs of attributes with separate invariant matrices."""

    first: Values[str]
    """First attribute of the pair, of Adult."""
    second: Values[str]
    """Second attribute of the pair."""
    epsilon: Values[Epsilon]
    """ε of the matrices."""


class JointLossStudy(StudySettings[JointLossGrid]):
    """A study of joint distributions after invariant PRAM of single attributes."""

    coverage: Coverage = 0.1
    """Proportion sigma of cells that a query covers."""


class PramEpsilons(Strict):
    """The ε of the comparison of variances, or of optimized matrices."""

    epsilons: Values[Epsilon]
    """Exact ε of the compared or optimized matrices."""
