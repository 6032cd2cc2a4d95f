"""Models of the settings of the studies of [multirr]."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from deniable import randomized_response as rr
from deniable.validation import Coverage, Epsilon, Probability, Share, Strict, Values

from reproduction.study import Grid, StudySettings

# The audit computes each cell of a cluster in exact arithmetic, which limits its size.
StudiedCells = Annotated[int, Field(ge=1, le=400)]
"""T_v, the largest number of joint cells of a cluster. 1 is RR-Independent."""
Dependences = Values[Share]
"""T_d, the smallest dependence of merged clusters."""
Matrices = Values[rr.Reading]
"""Interpretation of the RR matrix (6.3.1). With `keep` each ε has a p."""
Mechanisms = Values[rr.ClusterMechanism]
"""One matrix over the cells of a cluster, or one for each attribute."""
Projections = Values[rr.Projection]
"""Method that makes estimates non-negative: clip and rescale as in [multirr], Euclidean projection,
or maximum likelihood. For pairs, of the marginal distributions of `rr_independent`."""
Probabilities = Values[Probability]
"""Probability p (6.3.1)."""
Coverages = Values[Coverage]
"""Proportions sigma of cells that a query covers, on the same randomized values. The figure of
`multirr_epsilon` shows the first."""
AllProjections = Values[rr.Projection]
"""Projections, on the same randomized values. Figure 3 shows `clip`, and the figure of
`multirr_epsilon` the first."""
Ordinal = list[str]
"""Attributes with pairs measured by Pearson's r. All others are measured by Cramér's V."""


class ClusterQueryGrid(Strict):
    """Settings of Tables 1 and 2: all combinations of the values."""

    dataset: Values[Literal["adult", "adult6"]]
    """Adult, or Adult six times."""
    matrix: Matrices
    mechanism: Mechanisms
    projection: Projections
    p: Probabilities
    t_d: Dependences
    t_v: Values[StudiedCells]


class WiderQueryGrid(ClusterQueryGrid):
    """Settings of RR-Clusters with a number of attributes per query."""

    attributes: Values[Annotated[int, Field(ge=1, le=5)]]
    """Number of attributes of a query."""


class ExploredQueryGrid(ClusterQueryGrid):
    """Settings of Tables 1 and 2 under interpretations that were tried after the comparison."""

    variation: Values[Literal["ordinal", "clustered_pairs"]]
    """The option `ordinal` applies (only here), or queries are drawn with `within`."""


class PairQueryGrid(Strict):
    """Settings of RR-Independent: all combinations of the values."""

    matrix: Matrices
    projection: Projections
    p: Probabilities


class GainQueryGrid(PairQueryGrid):
    """Settings of RR-Independent, with ways to round a query's number of cells."""

    rounding: Values[Literal["up", "random"]] = Field(["up"])
    """Rounding of the number of cells of a query. `random` has the coverage on average."""


class AdjustedQueryGrid(Strict):
    """Panels of Figure 3: all combinations of the values."""

    matrix: Matrices
    mechanism: Mechanisms
    t_v: Values[StudiedCells]
    t_d: Dependences
    p: Probabilities
    best: Annotated[list[Literal["paper", "ours", "both"]], Field(min_length=1, max_length=1)]
    """The Table 1 in which these thresholds are best at this p."""


class EpsilonQueryGrid(Strict):
    """Protocols at the exact ε of a whole record: all combinations of the values.

    The matrix is "keep", the only one with exactly one p for every ε.
    """

    attributes: Values[Literal["all", "few"]]
    """Attributes of the records."""
    matrix: Values[Literal["keep"]]
    """Interpretation of the RR matrix (6.3.1)."""
    mechanism: Mechanisms
    t_v: Values[StudiedCells]
    t_d: Dependences
    epsilon: Values[Epsilon]
    """ε of a record, never exceeded. All attributes have the same p."""


class AssessmentGrid(Strict):
    """Ways to assess dependences: all combinations of the values."""

    matrix: Matrices
    method: Values[rr.Assessment]
    """Section 4.1 (`attributes`: dependences of randomized values, `attributes_inverted`: estimated
    ones), 4.2 (`secure_sum`), or 4.3 (pairs randomized by one matrix or by two)."""
    p: Probabilities


class ClusterStudy(StudySettings[Grid]):
    """A study of count queries under RR-Clusters."""

    coverage: Coverage = 0.1
    """Proportion sigma of cells that a query covers."""
    ordinal: Ordinal = Field(default_factory=list)


class ExploredQueryStudy(ClusterStudy[ExploredQueryGrid]):
    """A study of interpretations that were tried after the comparison."""

    within: Share = 0.25
    """Probability that both attributes of a query share a cluster."""


class PairStudy(StudySettings[Grid]):
    """A study of pairs of attributes under RR-Independent."""

    estimators: Values[rr.PairEstimator]
    """Estimators of the joint distributions of pairs. `randomized` does not use equation (2)."""
    coverages: Coverages


class MoreRuns(Strict):
    """The number of replicates for settings where the methods are too close for the usual one."""

    mechanism: rr.ClusterMechanism
    """The mechanism of these settings."""
    p: Probability
    """The probability p of these settings."""
    replicates: Annotated[int, Field(ge=6, le=10_000_000)]
    """Number of replicates of each of them."""


class AdjustedQueryStudy(StudySettings[AdjustedQueryGrid]):
    """A study of the four methods of Figure 3."""

    coverages: Coverages
    projections: AllProjections
    ordinal: Ordinal = Field(default_factory=list)
    more: list[MoreRuns] = Field(default_factory=list)
    """More replicates for settings where the methods are close, each entry with `mechanism`, `p`
    and `replicates`."""


class EpsilonQueryStudy(StudySettings[EpsilonQueryGrid]):
    """A study of the methods at stated ε."""

    coverages: Coverages
    projections: AllProjections
    few: Annotated[list[str], Field(min_length=2)]
    """Attributes of RR-Joint: one cluster if `t_d` is 0 and `t_v` is the number of their cells."""
    ordinal: Ordinal = Field(default_factory=list)


class JointGrid(Strict):
    """Settings of joint estimates: all combinations of the values."""

    dataset: Values[Literal["adult", "survey", "alarm", "child"]]
    """Data set."""
    given: Values[Literal["p", "epsilon"]]
    """Parameter of all designs: p of the matrix `printed`, or the exact ε of a record."""
    value: Values[Epsilon]
    """Its values."""


class JointStudy(StudySettings[JointGrid]):
    """A study of joint distributions of all columns."""

    designs: Values[
        Literal[
            "even",
            "optimal",
            "ask_1",
            "ask_2",
            "ask_pairs",
            "clusters_50",
            "clusters_100",
            "clusters_300",
            "clusters_30000",
        ]
    ]
    """Designs: ε split evenly or optimally, forms with 1 or 2 columns or a pair, or RR-Clusters
    with this T_v. With p only `even` and clusters, of which some are only for p."""


class AssessmentStudy(StudySettings[AssessmentGrid]):
    """A study of dependences that are assessed without a trusted party."""

    t_v: Values[StudiedCells]
    """Thresholds T_v, on the same replicates."""
    t_d: Dependences
    """Thresholds T_d, on the same replicates."""
    ordinal: Ordinal = Field(default_factory=list)


class ThresholdGrid(Strict):
    """Settings at which all thresholds are tried: all combinations of the values."""

    records: Values[Annotated[int, Field(ge=10, le=10_000_000)]]  # in memory, 8 bytes each
    """Size of a file: a part of Adult, or Adult repeated."""
    matrix: Matrices
    mechanism: Mechanisms
    projection: Projections
    p: Probabilities


class ThresholdStudy(ClusterStudy[ThresholdGrid]):
    """A sweep of RR-Clusters over p, T_v, T_d and the number of records, possibly empty."""

    t_v: list[StudiedCells] = Field(default_factory=list)
    """Thresholds T_v, on the same replicates, each value once. Required with a grid."""
    t_d: list[Share] = Field(default_factory=list)
    """Thresholds T_d, on the same replicates, each value once. Required with a grid."""
    subset_seed: Annotated[int, Field(ge=0)] = 2024
    """Seed of the choice of records of smaller files."""
    grids: list[ThresholdGrid]

    @model_validator(mode="after")
    def _thresholds_for_a_grid(self) -> Self:
        for name, values in (("t_v", self.t_v), ("t_d", self.t_d)):
            if self.grids and not values:
                raise ValueError(f"{name}: []; allowed: a list with at least one entry")
            if len(set(values)) < len(values):
                raise ValueError(f"{name}: {values}; allowed: each value once")
        return self


class SecureSumTrials(Strict):
    """The pair of attributes, and the numbers of parties and trials, for secure sums."""

    pair: Annotated[list[str], Field(min_length=2, max_length=2)]
    """The pair of attributes that `parties` sum, each with one record of Adult (4.2)."""
    parties: Annotated[int, Field(ge=3, le=10_000)]
    """Parties that sum one pair. The number of messages grows with their square."""
    parties_of_all_pairs: Annotated[int, Field(ge=3, le=1000)]
    """Parties that sum every pair. The number of messages grows with their square."""
    fault_trials: Annotated[int, Field(ge=1, le=100_000)]
    """Trials of each kind of party that violates the protocol."""
    linkage_parties: Annotated[int, Field(ge=1, le=1_000_000)]
    """Size of the samples in which small counts are linked (4.3)."""
    linkage_samples: Annotated[int, Field(ge=1, le=100_000)]
    """Number of these samples."""
