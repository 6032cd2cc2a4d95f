"""The model of the settings that all studies share."""

from collections import Counter
from typing import Annotated, Any, Generic, Self, TypeVar

from pydantic import Field, model_validator

from deniable.validation import Strict, Values

from reproduction.study.grid import cells_of_grids

Grid = TypeVar("Grid", bound=Strict)


class StudySettings(Strict, Generic[Grid]):
    """The sizes of a study, and its settings: all combinations of the values of each grid."""

    # With fewer than 6 replicates no two of them enclose a median with 95 % confidence.
    replicates: Annotated[int, Field(ge=6, le=10_000_000)]
    """Number of replicates of each setting."""
    block: Annotated[int, Field(ge=1, le=100_000)] = 250
    """Number of replicates with one random stream. It changes numbers within their error."""
    chunks: Annotated[int, Field(ge=1, le=500)] = 4
    """Number of jobs that share the settings. It changes no number."""
    grids: Values[Grid]
    """Grids of settings. In a grid each option is a list, and each combination of values is a
    setting. No setting occurs twice. Without a grid (`[]`), a study of [idp] and the sweep are left
    out."""

    @model_validator(mode="after")
    def _no_cell_twice(self) -> Self:
        numbers = Counter(tuple(cell.items()) for cell in self.cells())
        if twice := [cell for cell, number in numbers.items() if number > 1]:
            named = ", ".join(f"{name} {value}" for name, value in twice[0])
            raise ValueError(f"the grids have the setting {named} twice; allowed: once")
        return self

    def cells(self) -> list[dict[str, Any]]:
        """Return the settings of all grids, in order."""
        return cells_of_grids([grid.model_dump() for grid in self.grids])
