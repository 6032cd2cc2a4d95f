"""Grids of settings ("cells"), and chunks of settings."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from deniable.errors import DeniableError

Cell = Mapping[str, Any]
Grid = Mapping[str, Sequence[Any]]


def cells_of_grids(grids: Sequence[Grid]) -> list[dict[str, Any]]:
    """Return all combinations of the values of each of `grids`; the last column varies fastest.

    >>> cells_of_grids([{"p": [0.1, 0.3], "t_v": [50]}])
    [{'p': 0.1, 't_v': 50}, {'p': 0.3, 't_v': 50}]
    """
    combined = ((grid, values) for grid in grids for values in itertools.product(*grid.values()))
    return [dict(zip(grid, values, strict=True)) for grid, values in combined]


def values_of(grids: Sequence[Grid], column: str) -> list[Any]:
    """Return the distinct values of a `column` in all `grids`, in order of appearance."""
    return list(dict.fromkeys(value for grid in grids for value in grid[column]))


def chunk_of(cells: Sequence[Cell], chunk: int, chunks: int) -> list[Cell]:
    """Return every `chunks`-th of `cells` from number `chunk` (0 is first), for balanced times."""
    if not 0 <= chunk < chunks:
        raise DeniableError(f"chunk {chunk} of {chunks} does not exist; count from 0")
    return list(cells[chunk::chunks])
