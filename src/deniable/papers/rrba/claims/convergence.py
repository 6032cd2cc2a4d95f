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
from deniable.papers.rrba.names import CRITERIA
from deniable.study import Claims, Outcome, alike, below, known, range_of, ratios_of, some

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
    for about in ("rrba_fig5", "rrba_fig6")
)


def under_rules(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the rows of a figure under each rule of convergence, by what the rule is called."""
    return {
        reading: table[(table["update"] == update) & (table["criterion"] == criterion)]
        for (update, criterion), reading in CRITERIA.items()
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
    largest = max(abs(math.log(a["median"] / b["median"])) for a, b in some(pairs))
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
    shares = [row["median"] for row in rows]
    figure = f"share of runs that end close to the truth, blocks of {smallest}: {range_of(shares)}"
    return below([(known(WITHIN), row) for row in rows], figure)


@figure_6(
    "At p = .009, .048, .095 nothing converges.",
    "share of converged runs below one half, each cell and block size",
)
def _none_at_small_p(table: pd.DataFrame) -> Outcome:
    rows = rows_of(table[_among(table["p"], SMALL_P)], measure="converged")
    figure = f"share of converged runs: {range_of(row['median'] for row in rows)}"
    return below([(row, known(HALF)) for row in rows], figure)


def _large_blocks_alone(table: pd.DataFrame, p: float, converging: Sequence[float]) -> Outcome:
    """Test that of the cells mentioned these converge, in large blocks, and nothing else."""
    shown = table[_among(table["p"], (p,)) & _among(table["probability"], MENTIONED)]
    shown = shown[shown["block_size"].isin(LARGE_BLOCKS + SMALL_BLOCKS)]
    expected = shown["block_size"].isin(LARGE_BLOCKS) & _among(shown["probability"], converging)
    pairs, wrong = [], []
    for row in _shares(shown.assign(expected=expected), "converged"):
        pairs.append((known(HALF), row) if row["expected"] else (row, known(HALF)))
        if (row["median"] > HALF) != row["expected"]:
            wrong.append(f"{row['probability']:g} with blocks of {row['block_size']}")
    return below(some(pairs), f"otherwise: {'; '.join(wrong) or 'none'}")


for _p, _converging, _name, _printed, _compared in (
    (
        *(0.139, HIGHER, "some_at_0.139"),
        "At p = .139 the higher probabilities (.356, .446) converge with blocks of 150 and 250.",
        "share of converged runs above one half there; below for .072 and .116, and for 18 and 50",
    ),
    (
        *(0.221, MENTIONED, "large_blocks_at_0.221"),
        "At p = .221 all probabilities converge with blocks of 150 and 250, none with 18 and 50.",
        "share of converged runs above one half, and below",
    ),
    (
        *(0.295, MENTIONED, "large_blocks_at_0.295"),
        "The same is observed at p = .295.",
        "share of converged runs above one half, and below",
    ),
):
    _test = partial(_large_blocks_alone, p=_p, converging=_converging)
    figure_6(_printed, _compared, name=_name)(_test)


@figure_6(
    "A smaller p needs larger blocks; a higher one converges at smaller blocks.",
    "smallest block size with half of the runs converged: smaller at each higher p, each cell",
)
def _smaller_p_larger_blocks(table: pd.DataFrame) -> Outcome:
    shown = table[table["measure"] == "converged"]
    reached = shown["block_size"].where(shown["mean"] >= HALF, math.inf)
    smallest = reached.groupby([shown["probability"], shown["p"]]).min()
    steps = [step for _, by_p in smallest.groupby(level="probability") for step in pairwise(by_p)]
    if not steps:
        raise LookupError("one p")
    # Where both converge at the same block size, or never, nothing is decided.
    smaller = sum(at_high < at_low for at_low, at_high in steps)
    larger = sum(at_high > at_low for at_low, at_high in steps)
    figure = "the smallest block size that converges never changes"
    if smaller or larger:
        figure = f"smaller blocks at the higher p in {smaller}, larger in {larger}"
        figure += f" of {len(steps)} steps"
    return Outcome(len(steps), smaller, larger, figure)


def _shares(table: pd.DataFrame, measure: str) -> list[dict[Any, Any]]:
    """Return shares of runs with exact intervals: Student's have no width if all runs agree."""
    shown = table[table["measure"] == measure]
    runs = shown["replicates"].to_numpy(dtype=int)
    low, high = clopper_pearson(np.rint(shown["mean"].to_numpy() * runs).astype(int), runs)
    return rows_of(shown.assign(ci_low=low, ci_high=high))


def _among(column: "pd.Series[float]", values: Sequence[float]) -> "pd.Series[bool]":
    """Return where a column has one of some values, as far as a file keeps their digits."""
    found = np.isclose(column.to_numpy()[:, None], values, rtol=1e-9, atol=0).any(axis=1)
    return pd.Series(found, index=column.index)
