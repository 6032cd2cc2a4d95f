"""Models of the settings of the studies of [rrba]. A grid has all combinations of its values."""

from typing import Annotated, Literal

from pydantic import Field

from deniable.validation import Epsilon, Probability, Share, Strict, Values

from reproduction.study import Grid, StudySettings

ReleasedFile = Literal["survey_8000", "survey_8000_resampled", "alarm_8000", "child_8000"]
"""File of the tables."""
Attributes = Annotated[int, Field(ge=2, le=4)]
"""Number of attributes of a table, binary ones for tests."""
Records = Annotated[int, Field(ge=10, le=10_000_000)]
"""Number of records."""
Effects = Values[Share]
"""Correlation of the attributes. 0 is independence."""
# More than 1 / .05 give a critical value at the level of the paper.
SampledTables = Annotated[int, Field(ge=20, le=9999)]
"""Tables behind a simulated critical value."""
SmallCells = Literal["table", "fitted", "ignore"]
"""Rule for small expected counts: in the table, in the fitted table, or none."""
Answers = Values[Epsilon]
"""Exact ε of an answer."""


class ConvergenceGrid(Strict):
    """Settings of Figures 5 and 6."""

    dataset: Values[Literal["survey", "alarm", "child"]]
    """Network of the clients."""
    probability: Values[Probability]
    """Probability of a cell. Each replicate uses the cells of the nearest probabilities."""
    block_size: Values[Annotated[int, Field(ge=1, le=100_000)]]
    """Clients of a block."""
    p: Values[Probability]
    """Probability of a truthful answer."""
    update: Values[Literal["printed", "printed_first_version", "projected", "pooled", "uniform"]]
    """Next table: by Algorithm 1 in its second version (`printed`) or first version, from the last
    block by projection (`projected`), from all blocks (`pooled`), or no update (`uniform`)."""


class ConvergenceStudy(StudySettings[ConvergenceGrid]):
    """A study of the convergence of RRBA."""

    blocks: Annotated[int, Field(ge=2, le=10_000)] = 200
    """Largest number of blocks of a replicate."""
    reference: Annotated[int, Field(ge=2, le=10_000_000)] = 500
    """Truthful answers that give the precision at which an estimate counts as converged."""


class RrbaEpsilon(Strict):
    """Settings for the comparison of Theorem 4.1 with exact ε."""

    probabilities: Values[Probability]
    """Probabilities p of a truthful answer."""
    floors: Values[Annotated[Share, Field(gt=0)]]
    """Smallest cells. 1 is the uniform table."""
    rounds: Values[Annotated[int, Field(ge=2, le=1000)]]
    """Rounds at which exact ε is compared with the claim."""


class ReleasedTables(StudySettings[Grid]):
    """A study of the distances of released tables from the original tables."""

    subsets: Annotated[int, Field(ge=2, le=10_000)] = 40
    """Number of sets of `k` attributes: all of them, or this number drawn with `subset_seed`."""
    subset_seed: Annotated[int, Field(ge=0)] = 2024
    """Seed of the choice of sets."""
    block_size: Annotated[int, Field(ge=1, le=8000)] = 250
    """Clients of a block."""


class PrintedTablesGrid(Strict):
    """Settings of Tables 4 and 5."""

    file: Values[ReleasedFile]
    k: Values[Attributes]
    p: Values[Probability]
    """Probability of a truthful answer."""
    epsilon_claimed: Values[Epsilon]
    """ε of an answer, as claimed."""


class EqualEpsilonGrid(Strict):
    """Settings at one exact ε."""

    file: Values[ReleasedFile]
    k: Values[Attributes]
    epsilon: Answers


class Table3Grid(Strict):
    """Settings of Table 3, with settings that the paper does not state."""

    k: Values[Attributes]
    n: Values[Records]
    effect: Effects
    sampled_tables: Values[SampledTables]
    small_cells: Values[SmallCells]


class PowerGrid(Strict):
    """Settings of sizes and powers at equal exact ε."""

    k: Values[Attributes]
    margins: Values[Literal["uniform", "skewed"]]
    """Marginal distributions."""
    pattern: Values[Literal["all", "pair"]]
    """Attributes that depend on each other."""
    n: Values[Records]
    effect: Effects
    epsilon: Answers
    sampled_tables: Values[SampledTables]
    small_cells: Values[SmallCells]


class PowerStudy(StudySettings[PowerGrid]):
    """A study of sizes and powers of tests of independence."""

    most_replicates: Annotated[int, Field(ge=6, le=10_000_000)] | None = None
    """Without an effect, replicates double up to this limit, until sizes are decided. The
    default is `replicates`."""
