"""What the studies of RRBA ([rrba]) can be told, as typed models, and what readers see it called.

Names have also the measures, rules and hypotheses that are compared whatever the settings.
"""

from typing import Annotated, Literal

from pydantic import Field

from deniable.validation import Strict

from reproduction.study import Epsilon, Grid, Probability, Share, StudySettings, Values

NetworkFile = Literal["survey", "alarm", "child"]
ReleasedFile = Literal["survey_8000", "survey_8000_resampled", "alarm_8000", "child_8000"]
TableUpdate = Literal["printed", "printed_first_version", "projected", "pooled", "uniform"]
Attributes = Annotated[int, Field(ge=2, le=4)]
Records = Annotated[int, Field(ge=10, le=10_000_000)]
# More than 1 / .05 give a critical value at the level of the paper.
SampledTables = Annotated[int, Field(ge=20, le=9999)]
SmallCells = Literal["table", "fitted", "ignore"]


# -- convergence and epsilon ----------------------------------------------------------------------


class ConvergenceGrid(Strict):
    """Cells that runs of RRBA follow, and how they run: every combination of the values."""

    dataset: Values[NetworkFile]
    probability: Values[Probability]
    block_size: Values[Annotated[int, Field(ge=1, le=100_000)]]
    p: Values[Probability]
    update: Values[TableUpdate]


class ConvergenceStudy(StudySettings[ConvergenceGrid]):
    """A study of when RRBA has converged."""

    blocks: Annotated[int, Field(ge=2, le=10_000)] = 200
    # Truthful answers that an estimate must be as precise as.
    reference: Annotated[int, Field(ge=2, le=10_000_000)] = 500


class RrbaEpsilon(Strict):
    """For which settings the epsilons of RRBA are held against the claim."""

    probabilities: Values[Probability]
    floors: Values[Annotated[Share, Field(gt=0)]]
    rounds: Values[Annotated[int, Field(ge=2, le=1000)]]


# -- released tables, Tables 4 and 5 --------------------------------------------------------------


class ReleasedTables(StudySettings[Grid]):
    """A study of the distances of released tables from the true ones."""

    # Sets of k attributes: all of them, or so many drawn with the seed.
    subsets: Annotated[int, Field(ge=2, le=10_000)] = 40
    subset_seed: Annotated[int, Field(ge=0)] = 2024
    block_size: Annotated[int, Field(ge=1, le=8000)] = 250


class PrintedTablesGrid(Strict):
    """Settings of Tables 4 and 5, with what the paper leaves out: every combination."""

    file: Values[ReleasedFile]
    k: Values[Attributes]
    p: Values[Probability]
    epsilon_claimed: Values[Epsilon]


class PrintedTablesStudy(ReleasedTables[PrintedTablesGrid]):
    """A study of Tables 4 and 5."""


class EqualEpsilonGrid(Strict):
    """Settings at one exact epsilon: every combination of the values."""

    file: Values[ReleasedFile]
    k: Values[Attributes]
    epsilon: Values[Epsilon]


class EqualEpsilonStudy(ReleasedTables[EqualEpsilonGrid]):
    """A study of the same at equal exact epsilon."""


# -- tests of independence, 6 and 7.3 -------------------------------------------------------------


class Table3Grid(Strict):
    """Settings of Table 3, with what the paper leaves out: every combination of the values."""

    k: Values[Attributes]
    n: Values[Records]
    effect: Values[Share]
    sampled_tables: Values[SampledTables]
    small_cells: Values[SmallCells]


class Table3Study(StudySettings[Table3Grid]):
    """A study of the decisions of tests of independence, as in Table 3 of [rrba]."""


class PowerGrid(Strict):
    """Settings of sizes and powers at equal exact epsilon: every combination of the values."""

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
