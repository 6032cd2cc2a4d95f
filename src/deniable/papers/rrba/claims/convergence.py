"""What [rrba] says of convergence, in section 7.2, held against Figures 5 and 6."""

import math
from collections.abc import Sequence
from functools import partial
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pandas as pd

from deniable.estimation import clopper_pearson
from deniable.papers.rrba.claims.tables import paired, rows_of
from deniable.study import Claims, Outcome, alike, below, counted, known, range_of, ratios_of

READINGS = (
    # name, update, criterion
    ("printed rule, first time", "printed", "first"),
    ("printed rule, for good", "printed", "lasting"),
    ("pooled, as precise as 500 true answers", "pooled", "precise"),
)
HALF = 0.5
WITHIN = 0.9
SMALL_P = (0.009, 0.048, 0.095)
MENTIONED = (0.072, 0.116, 0.356, 0.446)
"""The cells of the text's account of Figure 6."""
HIGHER = (0.356, 0.446)
LARGE_BLOCKS = (150, 250)
SMALL_BLOCKS = (18, 50)

CLAIMS = Claims()
figure_5, figure_6 = (
    partial(CLAIMS.claim, section="7.2, Figures 5 and 6", about=about)
    for about in ("figure_5", "figure_6")
)


def under_rules(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the rows of a figure under each rule of convergence, by the name of the reading."""
    return {
        reading: table[(table["update"] == update) & (table["criterion"] == criterion)]
        for reading, update, criterion in READINGS
    }


@figure_5(
    "The behaviour of convergence is similar in all three data sets.",
    "mean answers of any two data sets within a factor of 1.2, each cell, block size, p",
)
def _alike_in_all_data(table: pd.DataFrame) -> Outcome:
    tuples = table[table["measure"] == "tuples"]
    pairs = [
        pair
        for first, second in combinations(dict.fromkeys(tuples["dataset"]), 2)
        for pair in paired(tuples, ["probability", "block_size", "p"], "dataset", first, second)
    ]
    if not pairs:
        raise LookupError("one data set")
    largest = max(abs(math.log(a["median"] / b["median"])) for a, b in pairs)
    return alike(pairs, f"answers differ by up to the factor {math.exp(largest):.3g}")


@figure_5(
    "Smaller blocks reach convergence earlier, for low and high probabilities.",
    "mean answers at each block size below those at the next larger one",
)
def _small_blocks_early(table: pd.DataFrame) -> Outcome:
    tuples = table[table["measure"] == "tuples"]
    pairs = [
        pair
        for small, large in pairwise(sorted(set(tuples["block_size"])))
        for pair in paired(tuples, ["dataset", "probability", "p"], "block_size", small, large)
    ]
    return below(pairs, f"answers over those at the next larger block: {ratios_of(pairs)}")


@figure_5(
    "A block size equal to the dimension of the table is sufficient.",
    "smallest block size: more than 90 % of runs end within the 95 % interval of 500 true answers "
    "around the truth",
)
def _blocks_of_table_size_suffice(table: pd.DataFrame) -> Outcome:
    smallest = table["block_size"].min()
    rows = _shares(table[table["block_size"] == smallest], "within")
    if not rows:
        raise LookupError("no runs")
    shares = [row["median"] for row in rows]
    figure = f"share of runs that end close to the truth, blocks of {smallest}: {range_of(shares)}"
    return below([(known(WITHIN), row) for row in rows], figure)


@figure_6(
    "At p = .009, .048, .095 nothing converges.",
    "share of converged runs below one half, each cell and block size",
)
def _none_at_small_p(table: pd.DataFrame) -> Outcome:
    rows = [row for row in rows_of(table, measure="converged") if _is_one_of(row["p"], SMALL_P)]
    if not rows:
        raise LookupError("none of these p")
    figure = f"share of converged runs: {range_of(row['median'] for row in rows)}"
    return below([(row, known(HALF)) for row in rows], figure)


@figure_6(
    "At p = .139 the higher probabilities (.356, .446) converge with blocks of 150 and 250.",
    "share of converged runs above one half there; below for .072 and .116, and for 18 and 50",
    name="some_at_0.139",
)
def _some_at_0_139(table: pd.DataFrame) -> Outcome:
    return _only(table, 0.139, HIGHER)


@figure_6(
    "At p = .221 all probabilities converge with blocks of 150 and 250, none with 18 and 50.",
    "share of converged runs above one half, and below",
    name="large_blocks_at_0.221",
)
def _large_blocks_at_0_221(table: pd.DataFrame) -> Outcome:
    return _only(table, 0.221, MENTIONED)


@figure_6(
    "The same is observed at p = .295.",
    "share of converged runs above one half, and below",
    name="large_blocks_at_0.295",
)
def _large_blocks_at_0_295(table: pd.DataFrame) -> Outcome:
    return _only(table, 0.295, MENTIONED)


def _only(table: pd.DataFrame, p: float, converging: Sequence[float]) -> Outcome:
    """Test that of the cells mentioned these converge, in large blocks, and nothing else."""
    rows = [
        row
        for row in _shares(table, "converged")
        if _is_one_of(row["p"], (p,)) and _is_one_of(row["probability"], MENTIONED)
    ]
    if not rows:
        raise LookupError(f"no p = {p}")
    pairs, wrong = [], []
    for row in rows:
        large = row["block_size"] in LARGE_BLOCKS
        if not large and row["block_size"] not in SMALL_BLOCKS:
            continue
        expected = large and _is_one_of(row["probability"], converging)
        pairs.append((known(HALF), row) if expected else (row, known(HALF)))
        if (row["median"] > HALF) != expected:
            wrong.append(f"{row['probability']:g} with blocks of {row['block_size']}")
    return below(pairs, f"otherwise: {'; '.join(wrong) or 'none'}")


@figure_6(
    "A smaller p needs larger blocks; a higher one converges at smaller blocks.",
    "smallest block size with half of the runs converged: smaller at each higher p, each cell",
)
def _smaller_p_larger_blocks(table: pd.DataFrame) -> Outcome:
    smallest: dict[tuple[float, float], float] = {}
    for row in rows_of(table, measure="converged"):
        key = float(row["probability"]), float(row["p"])
        reached = row["block_size"] if row["median"] >= HALF else math.inf
        smallest[key] = min(smallest.get(key, math.inf), reached)
    steps = [
        (smallest[probability, low], smallest[probability, high])
        for probability in sorted({key[0] for key in smallest})
        for low, high in pairwise(sorted({key[1] for key in smallest}))
    ]
    # Where both converge at the same block size, or never, nothing is decided.
    changed = [(at_low, at_high) for at_low, at_high in steps if at_low != at_high]
    if not steps:
        raise LookupError("one p")
    if not changed:
        return Outcome(len(steps), 0, 0, "the smallest block size that converges never changes")
    found = counted(
        (at_high < at_low for at_low, at_high in changed),
        f"smaller blocks at the higher p in {sum(b < a for a, b in changed)}, larger in "
        f"{sum(b > a for a, b in changed)} of {len(steps)} steps",
    )
    return Outcome(len(steps), found.support, found.contradict, found.figure)


def _shares(table: pd.DataFrame, measure: str) -> list[dict[Any, Any]]:
    """Return shares of runs with exact intervals: Student's have no width if all runs agree."""
    shown = table[table["measure"] == measure]
    runs = shown["replicates"].to_numpy(dtype=int)
    low, high = clopper_pearson(np.rint(shown["mean"].to_numpy() * runs).astype(int), runs)
    return rows_of(shown.assign(ci_low=low, ci_high=high))


def _is_one_of(value: float, values: Sequence[float]) -> bool:
    # Tables are files: numbers come back with as many digits as were written.
    return any(math.isclose(value, each, rel_tol=1e-9) for each in values)
