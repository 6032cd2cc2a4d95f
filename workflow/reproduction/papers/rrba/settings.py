"""Models of the settings of the studies of [rrba]. A grid has every combination of its values."""

from typing import Annotated, Literal

from pydantic import Field

from deniable.validation import Strict

from reproduction.study import Epsilon, Grid, Probability, Share, StudySettings, Values

ReleasedFile = Literal["survey_8000", "survey_8000_resampled", "alarm_8000", "child_8000"]
Attributes = Annotated[int, Field(ge=2, le=4)]
Records = Annotated[int, Field(ge=10, le=10_000_000)]
# More than 1 / .05 give a critical value at the level of the paper.
SampledTables = Annotated[int, Field(ge=20, le=9999)]
SmallCells = Literal["table", "fitted", "ignore"]


class ConvergenceGrid(Strict):
    """Settings of Figures 5 and 6."""

    dataset: Values[Literal["survey", "alarm", "child"]]
    probability: Values[Probability]  # of the followed cell
    block_size: Values[Annotated[int, Field(ge=1, le=100_000)]]
    p: Values[Probability]
    update: Values[Literal["printed", "printed_first_version", "projected", "pooled", "uniform"]]


class ConvergenceStudy(StudySettings[ConvergenceGrid]):
    """A study of when RRBA has converged."""

    blocks: Annotated[int, Field(ge=2, le=10_000)] = 200
    # Truthful answers that an estimate must be as precise as.
    reference: Annotated[int, Field(ge=2, le=10_000_000)] = 500


class RrbaEpsilon(Strict):
    """Settings for which Theorem 4.1 is compared with exact epsilons."""

    probabilities: Values[Probability]
    floors: Values[Annotated[Share, Field(gt=0)]]
    rounds: Values[Annotated[int, Field(ge=2, le=1000)]]


class ReleasedTables(StudySettings[Grid]):
    """A study of the distances of released tables from the true ones."""

    # Sets of k attributes: all of them, or so many drawn with the seed.
    subsets: Annotated[int, Field(ge=2, le=10_000)] = 40
    subset_seed: Annotated[int, Field(ge=0)] = 2024
    block_size: Annotated[int, Field(ge=1, le=8000)] = 250


class PrintedTablesGrid(Strict):
    """Settings of Tables 4 and 5."""

    file: Values[ReleasedFile]
    k: Values[Attributes]
    p: Values[Probability]
    epsilon_claimed: Values[Epsilon]


class EqualEpsilonGrid(Strict):
    """Settings at one exact epsilon."""

    file: Values[ReleasedFile]
    k: Values[Attributes]
    epsilon: Values[Epsilon]


class Table3Grid(Strict):
    """Settings of Table 3, and the ones that the paper leaves out."""

    k: Values[Attributes]
    n: Values[Records]
    effect: Values[Share]
    sampled_tables: Values[SampledTables]
    small_cells: Values[SmallCells]


class PowerGrid(Strict):
    """Settings of sizes and powers at equal exact epsilon."""

    k: Values[Attributes]
    margins: Values[Literal["uniform", "skewed"]]
    pattern: Values[Literal["all", "pair"]]
    n: Values[Records]
    effect: Values[Share]
    epsilon: Values[Epsilon]
    sampled_tables: Values[SampledTables]
    small_cells: Values[SmallCells]


class PowerStudy(StudySettings[PowerGrid]):
    """A study of sizes and powers of tests of independence."""

    # Of a size that fewer leave undecided: replicates, twice as many, four times ... up to these.
    most_replicates: Annotated[int, Field(ge=6, le=10_000_000)] | None = None


PrintedTablesStudy = ReleasedTables[PrintedTablesGrid]
EqualEpsilonStudy = ReleasedTables[EqualEpsilonGrid]
Table3Study = StudySettings[Table3Grid]
