"""What the studies of RRBA ([rrba]) can be told, as typed models."""

from typing import Annotated, Literal

from pydantic import Field

from deniable.study import Probability, Share, Strict
from deniable.study.settings import Study

NetworkFile = Literal["survey", "alarm", "child"]
TableUpdate = Literal["printed", "printed_first_version", "projected", "pooled", "uniform"]


class ConvergenceGrid(Strict):
    """Cells that runs of RRBA follow, and how they run: every combination of the values."""

    dataset: Annotated[list[NetworkFile], Field(min_length=1)]
    probability: Annotated[list[Probability], Field(min_length=1)]
    block_size: Annotated[list[Annotated[int, Field(ge=1, le=100_000)]], Field(min_length=1)]
    p: Annotated[list[Probability], Field(min_length=1)]
    update: Annotated[list[TableUpdate], Field(min_length=1)]


class ConvergenceStudy(Study):
    """A study of when RRBA has converged."""

    blocks: Annotated[int, Field(ge=2, le=10_000)] = 200
    # Truthful answers that an estimate must be as precise as.
    reference: Annotated[int, Field(ge=2, le=10_000_000)] = 500
    grids: Annotated[list[ConvergenceGrid], Field(min_length=1)]


class RrbaEpsilon(Strict):
    """For which settings the epsilons of RRBA are held against the claim."""

    probabilities: Annotated[list[Probability], Field(min_length=1)]
    floors: Annotated[list[Annotated[Share, Field(gt=0)]], Field(min_length=1)]
    rounds: Annotated[list[Annotated[int, Field(ge=2, le=1000)]], Field(min_length=1)]
