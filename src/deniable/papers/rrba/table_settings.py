"""What the studies of released tables (Tables 4 and 5 of [rrba]) can be told, as typed models."""

from typing import Annotated, Literal

from pydantic import Field

from deniable.study import Epsilon, Probability, Strict
from deniable.study.settings import Study

ReleasedFile = Literal["survey_8000", "survey_8000_resampled", "alarm_8000", "child_8000"]
Attributes = Annotated[int, Field(ge=2, le=4)]


class ReleasedTables(Study):
    """A study of the distances of released tables from the true ones."""

    # Sets of k attributes: all of them, or so many drawn with the seed.
    subsets: Annotated[int, Field(ge=2, le=10_000)] = 40
    subset_seed: Annotated[int, Field(ge=0)] = 2024
    block_size: Annotated[int, Field(ge=1, le=8000)] = 250


class PrintedTablesGrid(Strict):
    """Settings of Tables 4 and 5, with what the paper leaves out: every combination."""

    file: Annotated[list[ReleasedFile], Field(min_length=1)]
    k: Annotated[list[Attributes], Field(min_length=1)]
    p: Annotated[list[Probability], Field(min_length=1)]
    epsilon_claimed: Annotated[list[Epsilon], Field(min_length=1)]


class PrintedTablesStudy(ReleasedTables):
    """A study of Tables 4 and 5."""

    grids: Annotated[list[PrintedTablesGrid], Field(min_length=1)]


class EqualEpsilonGrid(Strict):
    """Settings at one exact epsilon: every combination of the values."""

    file: Annotated[list[ReleasedFile], Field(min_length=1)]
    k: Annotated[list[Attributes], Field(min_length=1)]
    epsilon: Annotated[list[Epsilon], Field(min_length=1)]


class EqualEpsilonStudy(ReleasedTables):
    """A study of the same at equal exact epsilon."""

    grids: Annotated[list[EqualEpsilonGrid], Field(min_length=1)]
