"""Claims on convergence ([rrba], 7.2), compared with Figures 5 and 6.

The text is ambiguous in two ways. A replicate has converged when two consecutive tables are close:
for the first time (section 5, step 3), or for good (7.1). The tables of (4) are not distributions:
they stay as published, or are projected. Our criterion ``precise`` does not decide any claim.

A mean time of convergence that includes replicates cut off at the end is a lower bound. So is a
mean close to the end, because convergence for good then depends on the end. Bounds are compared
only with smaller times. Convergence within the 200 blocks counts, as in the text.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations, pairwise, product

import numpy as np
import pandas as pd

from deniable.display import Tables, rows_of
from deniable.estimation import clopper_pearson

from reproduction.papers.rrba.claims.tables import paired, undecided_where
from reproduction.study import (
    UNKNOWN,
    Comparison,
    Evidence,
    Outcome,
    Row,
    Test,
    below,
    by,
    equivalent,
    exact_row,
    groups_of,
    range_of,
    ratios_of,
    require_any,
    source_of,
    where,
)

READINGS = {  # by update and criterion
    ("printed", "first"): "first time, tables as published",
    ("projected", "first"): "first time, tables projected",
    ("printed", "lasting"): "for good, tables as published",
    ("projected", "lasting"): "for good, tables projected",
}
RUN = ["dataset", "probability", "block_size", "p"]
BLOCKS = 200  # of a replicate ([rrba], 7.1)
OPEN = "; the end of the run leaves {} of {} open"
LATE = 0.9  # a mean time of convergence after this part of a replicate counts as its end
HALF = 0.5
WITHIN = 0.95
"""The proportion of replicates within an interval of this confidence, 1 - alpha (section 5)."""
MENTIONED = (0.072, 0.116, 0.356, 0.446)  # cells in the text on Figure 6
LARGE_BLOCKS = (150, 250)
SMALL_BLOCKS = (18, 50)


def evidence_on_convergence(tables: Tables) -> dict[str, list[Evidence]]:
    """Return evidence by interpretation from `tables`: Figure 5, Figure 6 as in the text, both."""
    fig5, fig6 = tables["rrba_fig5"], where(tables["rrba_fig6"], probability=MENTIONED)
    same = where(fig5, probability=MENTIONED, dataset=tuple(fig6["dataset"].unique()))
    both = pd.concat([fig6.assign(figure="rrba_fig6"), same.assign(figure="rrba_fig5")])
    given = {"rrba_fig5": fig5, "rrba_fig6": fig6, "both": both}
    return {
        about: [
            Evidence((reading,), source_of(table), where(table, update=update, criterion=criterion))
            for (update, criterion), reading in READINGS.items()
        ]
        for about, table in given.items()
    }


def _alike_in_all_data(table: pd.DataFrame) -> Outcome:
    times = _times(table)
    steps = combinations(dict.fromkeys(times["dataset"]), 2)
    pairs = paired(times, ["probability", "block_size", "p"], "dataset", steps)
    outcome = equivalent(pairs, f"answers of two data sets differ by {ratios_of(pairs)}")
    # Times that were cut off may be farther apart, but not closer.
    lost = [
        _cut_off(first, second) or (found.difference > 0 and first["cut_off"] | second["cut_off"])
        for (first, second), found in zip(pairs, outcome.comparisons, strict=True)
    ]
    return undecided_where(lost, outcome, OPEN)


def _small_blocks_early(table: pd.DataFrame) -> Outcome:
    times = _times(table)
    steps = pairwise(sorted(set(times["block_size"])))
    pairs = paired(times, ["dataset", "probability", "p"], "block_size", steps)
    outcome = below(pairs, f"answers over those at the next larger block: {ratios_of(pairs)}")
    return undecided_where([_cut_off(*pair) for pair in pairs], outcome, OPEN)


def _times(table: pd.DataFrame) -> pd.DataFrame:
    both = _with_converged(table, "tuples")
    late = both["mean"] >= LATE * BLOCKS * both["block_size"]
    return both.assign(median=both["mean"], cut_off=(both["mean_converged"] < 1) | late)


def _cut_off(first: Row, second: Row) -> bool:
    """Return whether the smaller of two times is a lower bound."""
    return bool(min(first, second, key=lambda row: (row["median"], not row["cut_off"]))["cut_off"])


def _blocks_of_table_size_suffice(table: pd.DataFrame) -> Outcome:
    smallest = table["block_size"].min()
    both = _with_converged(where(table, block_size=smallest), "within")
    close, cut_off = both["mean"], 1 - both["mean_converged"]
    figure = f"proportion of replicates that end close, blocks of {smallest}: {range_of(close)}"
    least, most = (
        rows_of(_shares(both.assign(mean=mean.clip(0, 1))))
        for mean in (close - cut_off, close + cut_off)
    )
    found: list[Comparison] = []
    for low, high in zip(least, most, strict=True):
        known = low if low["median"] > WITHIN else high if high["median"] < WITHIN else None
        found += below([(exact_row(WITHIN), known)], "").comparisons if known else [UNKNOWN]
    return Outcome(tuple(found), figure)


def _none_at_small_p(table: pd.DataFrame) -> Outcome:
    shown = _converged(where(table, p=(0.009, 0.048, 0.095)))
    figure = f"proportion of converged replicates: {range_of(shown['median'])}"
    return below([(row, exact_row(HALF)) for row in rows_of(shown)], figure)


def _as_said(
    p: float, converging: Sequence[float], blocks: Sequence[int], table: pd.DataFrame
) -> Outcome:
    """Test for one p and some blocks that only the cells `converging` converge, in large blocks."""
    shown, half = _converged(where(table, p=p, block_size=blocks)), exact_row(HALF)
    expected = shown["block_size"].isin(LARGE_BLOCKS) & shown["probability"].isin(converging)
    both = zip(rows_of(shown), expected, strict=True)
    pairs = [(half, row) if above else (row, half) for row, above in both]
    wrong = [
        f"{row['probability']:g} with blocks of {row['block_size']}"
        for row in rows_of(shown[(shown["median"] > HALF) != expected])
    ]
    return below(pairs, f"otherwise: {'; '.join(wrong) or 'none'}")


def _smaller_p_larger_blocks(table: pd.DataFrame) -> Outcome:
    runs = {
        tuple(of.values()): by(part, "block_size")
        for of, part in groups_of(_converged(table), "figure", "probability", "p")
    }
    in_fig6, in_fig5 = ([key for key in runs if key[0] == f"rrba_fig{n}"] for n in (6, 5))
    both = ((low, high) for low, high in product(in_fig6, in_fig5) if low[1] == high[1])
    steps = [_sooner(runs[low], runs[high]) for low, high in both]
    smaller, larger = (sum(sign * each.difference > 0 for each in steps) for sign in (1, -1))
    figure = f"smaller blocks at the higher p in {smaller}, larger in {larger} of {len(steps)}"
    return Outcome(tuple(require_any(steps, "a cell that both figures follow")), figure)


def _sooner(low: Mapping[int, Row], high: Mapping[int, Row]) -> Comparison:
    """Compare whether smaller blocks suffice at the higher p, given runs by block size."""
    for_it, against = _crossing(low, high), _crossing(high, low)
    # If both converge from the same size on, or both never do, the comparison is undecided.
    if for_it.difference > 0 >= against.difference:
        return for_it
    if against.difference > 0 >= for_it.difference:
        return replace(against, difference=-against.difference)
    return UNKNOWN


def _crossing(fewer: Mapping[int, Row], more: Mapping[int, Row]) -> Comparison:
    """Compare two proportions, below and above one half, at the clearest common size."""
    half = exact_row(HALF)
    pairs = [(fewer[size], more[size]) for size in fewer.keys() & more.keys()]
    found = (below([(first, half), (half, second)], "").worst for first, second in pairs)
    clearest = min((each for each in found if each), key=lambda each: each.p_value(1))
    return replace(clearest, picked_from=len(pairs))


TESTS: Mapping[str, Test] = {
    "alike_in_all_data": _alike_in_all_data,
    "small_blocks_early": _small_blocks_early,
    "blocks_of_table_size_suffice": _blocks_of_table_size_suffice,
    "none_at_small_p": _none_at_small_p,
    "some_at_0.139": partial(_as_said, 0.139, MENTIONED[2:], LARGE_BLOCKS + SMALL_BLOCKS),
    "large_blocks_at_0.221": partial(_as_said, 0.221, MENTIONED, LARGE_BLOCKS),
    "small_blocks_at_0.221": partial(_as_said, 0.221, (), SMALL_BLOCKS),
    "same_at_0.295": partial(_as_said, 0.295, MENTIONED, LARGE_BLOCKS + SMALL_BLOCKS),
    "smaller_p_larger_blocks": _smaller_p_larger_blocks,
}


def _with_converged(table: pd.DataFrame, measure: str) -> pd.DataFrame:
    shown, converged = (where(table, measure=name) for name in (measure, "converged"))
    of_rule = require_any(shown, "runs under this rule")
    return of_rule.merge(converged[[*RUN, "mean"]], on=RUN, suffixes=("", "_converged"))


def _converged(table: pd.DataFrame) -> pd.DataFrame:
    """Return the proportions of replicates that converge; raise a `LookupError` if none exist."""
    shown = where(table, measure="converged")
    return _shares(require_any(shown, "runs at these p and block sizes"))


def _shares(table: pd.DataFrame) -> pd.DataFrame:
    """Add exact intervals to means of zeros and ones; Student's have width 0 if all agree."""
    runs = table["replicates"].to_numpy(dtype=int)
    number = np.rint(table["mean"].to_numpy(dtype=float) * runs).astype(int)
    low, high = clopper_pearson(number, runs)
    return table.assign(median=number / runs, ci_low=low, ci_high=high)
