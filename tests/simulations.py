"""Simulations as most tests want them: every cell in one chunk, from seed 1."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from reproduction.study.engine import Simulator, SummaryName, simulate_chunk
from reproduction.study.grid import Cell, Grid


def simulated_whole(
    simulator: Simulator,
    study: str,
    grids: Sequence[Grid],
    replicates: int,
    *,
    block: int | None = None,
    root_seed: int = 1,
    summary: SummaryName = "mean",
) -> pd.DataFrame:
    """Return a study's table; all runs of a cell are one block, unless it says how many are."""
    return simulate_chunk(
        simulator,
        study,
        grids,
        chunk=0,
        chunks=1,
        replicates=replicates,
        block=block or replicates,
        root_seed=root_seed,
        summary=summary,
    )


def outputs_of(simulator: Simulator, cell: Cell) -> list[dict[str, Any]]:
    """Return what names the outputs of a cell, from one run."""
    return [dict(each) for each in simulator(cell, np.random.default_rng(0), 1)[0]]


def of_random_sets(values: np.ndarray, seed: int) -> np.ndarray:
    """Return one answer of each run, about one set drawn at random: these are independent.

    The `values` have shape (runs, ..., sets), the result has shape (runs, ...).
    """
    drawn = np.random.default_rng(seed).integers(values.shape[-1], size=len(values))
    return np.asarray(values[np.arange(len(values)), ..., drawn])
