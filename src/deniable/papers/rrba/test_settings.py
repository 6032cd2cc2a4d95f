"""What the studies of tests of independence ([rrba], 6 and 7.3) can be told, as typed models."""

from typing import Annotated, Literal

from pydantic import Field

from deniable.study import Epsilon, Strict
from deniable.study.settings import Study

Attributes = Annotated[int, Field(ge=2, le=4)]
Records = Annotated[int, Field(ge=10, le=10_000_000)]
Effect = Annotated[float, Field(ge=0, le=1)]
# More than 1 / .05 give a critical value at the level of the paper.
SampledTables = Annotated[int, Field(ge=20, le=9999)]
SmallCells = Literal["table", "fitted", "ignore"]


class Table3Grid(Strict):
    """Settings of Table 3, with what the paper leaves out: every combination of the values."""

    k: Annotated[list[Attributes], Field(min_length=1)]
    n: Annotated[list[Records], Field(min_length=1)]
    effect: Annotated[list[Effect], Field(min_length=1)]
    sampled_tables: Annotated[list[SampledTables], Field(min_length=1)]
    small_cells: Annotated[list[SmallCells], Field(min_length=1)]


class Table3Study(Study):
    """A study of the decisions of tests of independence, as in Table 3 of [rrba]."""

    grids: Annotated[list[Table3Grid], Field(min_length=1)]


class PowerGrid(Strict):
    """Settings of sizes and powers at equal exact epsilon: every combination of the values."""

    k: Annotated[list[Attributes], Field(min_length=1)]
    margins: Annotated[list[Literal["uniform", "skewed"]], Field(min_length=1)]
    pattern: Annotated[list[Literal["all", "pair"]], Field(min_length=1)]
    n: Annotated[list[Records], Field(min_length=1)]
    effect: Annotated[list[Effect], Field(min_length=1)]
    epsilon: Annotated[list[Epsilon], Field(min_length=1)]
    sampled_tables: Annotated[list[SampledTables], Field(min_length=1)]
    small_cells: Annotated[list[SmallCells], Field(min_length=1)]


class PowerStudy(Study):
    """A study of sizes and powers of tests of independence."""

    grids: Annotated[list[PowerGrid], Field(min_length=1)]
