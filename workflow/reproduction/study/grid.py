"""Grids of settings, their cells, and chunks of cells."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from deniable.errors import DeniableError

Cell = Mapping[str, Any]
Grid = Mapping[str, Sequence[Any]]


def cells_of_grids(grids: Sequence[Grid]) -> list[dict[str, Any]]:
    """Return every combination of the values of each of `grids`, the last column running fastest.

    >>> cells_of_grids([{"p": [0.1, 0.3], "t_v": [50]}])
    [{'p': 0.1, 't_v': 50}, {'p': 0.3, 't_v': 50}]
    """
    combined = ((grid, values) for grid in grids for values in itertools.product(*grid.values()))
    return [dict(zip(grid, values, strict=True)) for grid, values in combined]


def values_of(grids: Sequence[Grid], column: str) -> list[Any]:
    """Return the values that a `column` takes in any of the `grids`, in order, each once."""
    return list(dict.fromkeys(value for grid in grids for value in grid[column]))


def chunk_of(cells: Sequence[Cell], chunk: int, chunks: int) -> list[Cell]:
    """Return one `chunk` (from 0) of `chunks` of `cells`, taken in turn to balance the cost."""
    if not 0 <= chunk < chunks:
        raise DeniableError(f"chunk {chunk} of {chunks} does not exist; count from 0")
    return list(cells[chunk::chunks])
