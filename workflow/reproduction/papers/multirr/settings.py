"""Models of the settings of the studies of [multirr]."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from deniable import randomized_response as rr
from deniable.validation import Strict

from reproduction.study import Coverage, Epsilon, Probability, Share, StudySettings, Values

# The audit computes each cell of a cluster in exact arithmetic, which limits its size.
StudiedCells = Annotated[int, Field(ge=1, le=400)]


class ClusterQueryGrid(Strict):
    """Settings of Tables 1 and 2: all combinations of the values."""

    dataset: Values[Literal["adult", "adult6"]]
    matrix: Values[rr.Reading]
    mechanism: Values[rr.ClusterMechanism]
    projection: Values[rr.Projection]
    p: Values[Probability]
    t_d: Values[Share]
    t_v: Values[StudiedCells]


class WiderQueryGrid(ClusterQueryGrid):
    """Settings of RR-Clusters with a number of attributes per query."""

    attributes: Values[Annotated[int, Field(ge=1, le=5)]]


class ExploredQueryGrid(ClusterQueryGrid):
    """Settings of Tables 1 and 2 under interpretations that were tried after the comparison."""

    variation: Values[Literal["ordinal", "clustered_pairs"]]


class PairQueryGrid(Strict):
    """Settings of RR-Independent: all combinations of the values."""

    matrix: Values[rr.Reading]
    projection: Values[rr.Projection]
    p: Values[Probability]


class GainQueryGrid(PairQueryGrid):
    """Settings of RR-Independent, with ways to round a query's number of cells."""

    rounding: Values[Literal["up", "random"]] = Field(["up"])


class AdjustedQueryGrid(Strict):
    """Panels of Figure 3: all combinations of the values."""

    matrix: Values[rr.Reading]
    mechanism: Values[rr.ClusterMechanism]
    t_v: Values[StudiedCells]
    t_d: Values[Share]
    p: Values[Probability]
    best: Annotated[list[Literal["paper", "ours", "both"]], Field(min_length=1, max_length=1)]


class EpsilonQueryGrid(Strict):
    """Protocols at the exact ε of a whole record: all combinations of the values.

    The matrix is "keep", the only one with exactly one p for every ε.
    """

    attributes: Values[Literal["all", "few"]]
    matrix: Values[Literal["keep"]]
    mechanism: Values[rr.ClusterMechanism]
    t_v: Values[StudiedCells]
    t_d: Values[Share]
    epsilon: Values[Epsilon]


class AssessmentGrid(Strict):
    """Ways to assess dependences: all combinations of the values."""

    matrix: Values[rr.Reading]
    method: Values[rr.Assessment]
    p: Values[Probability]


class ClusterQueryStudy(StudySettings[ClusterQueryGrid]):
    """A study of count queries under RR-Clusters."""

    coverage: Coverage = 0.1
    ordinal: list[str] = Field(default_factory=list)


class WiderQueryStudy(ClusterQueryStudy):
    """A study of count queries of more than two attributes."""

    grids: Values[WiderQueryGrid]  # type: ignore[assignment]


class ExploredQueryStudy(ClusterQueryStudy):
    """A study of interpretations that were tried after the comparison."""

    within: Share = 0.25
    grids: Values[ExploredQueryGrid]  # type: ignore[assignment]


class PairQueryStudy(StudySettings[PairQueryGrid]):
    """A study of pairs of attributes under RR-Independent."""

    estimators: Values[rr.PairEstimator]
    coverages: Values[Coverage]


class GainQueryStudy(PairQueryStudy):
    """A study of the gain of estimation over raw responses."""

    grids: Values[GainQueryGrid]  # type: ignore[assignment]


class MoreRuns(Strict):
    """The number of replicates for settings where the methods are too close for the usual one."""

    mechanism: rr.ClusterMechanism
    p: Probability
    replicates: Annotated[int, Field(ge=6, le=10_000_000)]


class AdjustedQueryStudy(StudySettings[AdjustedQueryGrid]):
    """A study of the four methods of Figure 3."""

    coverages: Values[Coverage]
    projections: Values[rr.Projection]
    ordinal: list[str] = Field(default_factory=list)
    more: list[MoreRuns] = Field(default_factory=list)


class EpsilonQueryStudy(StudySettings[EpsilonQueryGrid]):
    """A study of the methods at stated ε; `few` are the attributes for RR-Joint."""

    coverages: Values[Coverage]
    projections: Values[rr.Projection]
    few: Annotated[list[str], Field(min_length=2)]
    ordinal: list[str] = Field(default_factory=list)


class AssessmentStudy(StudySettings[AssessmentGrid]):
    """A study of dependences that are assessed without a trusted party."""

    t_v: Values[StudiedCells]
    t_d: Values[Share]
    ordinal: list[str] = Field(default_factory=list)


class ThresholdGrid(Strict):
    """Settings at which all thresholds are tried: all combinations of the values."""

    records: Values[Annotated[int, Field(ge=10, le=10_000_000)]]  # in memory, 8 bytes each
    matrix: Values[rr.Reading]
    mechanism: Values[rr.ClusterMechanism]
    projection: Values[rr.Projection]
    p: Values[Probability]


class ThresholdStudy(ClusterQueryStudy):
    """A sweep of RR-Clusters over p, T_v, T_d and the number of records, possibly empty."""

    t_v: list[StudiedCells] = Field(default_factory=list)
    t_d: list[Share] = Field(default_factory=list)
    subset_seed: Annotated[int, Field(ge=0)] = 2024
    grids: list[ThresholdGrid]  # type: ignore[assignment]

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
    # The number of shares grows with the square of the number of parties.
    parties: Annotated[int, Field(ge=3, le=10_000)]
    parties_of_all_pairs: Annotated[int, Field(ge=3, le=1000)]
    fault_trials: Annotated[int, Field(ge=1, le=100_000)]
    linkage_parties: Annotated[int, Field(ge=1, le=1_000_000)]
    linkage_samples: Annotated[int, Field(ge=1, le=100_000)]
