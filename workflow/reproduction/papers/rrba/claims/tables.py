"""Claims on tests and on distances ([rrba], 7.3 and 7.4), compared with Tables 3, 4 and 5.

Table 3 states neither n nor the alternative. We chose both in all settings to fit the rates of
RRBA. So these settings neither support nor contradict a claim on its power, which depends on n. The
rates of a true null are compared. Tables 4 and 5 may be of the last block, as published, or of all
blocks pooled, with a floor. The column ``median`` has means. Methods of one trial share their
original tables, which makes tests between them conservative.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from deniable.display import Tables, rows_of

from reproduction.papers.rrba.independence import HYPOTHESES, LEVEL, PERCENT
from reproduction.papers.rrba.names import COMPARED, MAIN_READINGS, PRINTED_TABLES, RULES
from reproduction.papers.rrba.table_results import RESAMPLED
from reproduction.study import (
    UNKNOWN,
    Cells,
    Compared,
    Evidence,
    Outcome,
    Pair,
    Readings,
    Row,
    Test,
    below,
    by,
    exact_row,
    range_of,
    ratios_of,
    require_any,
    source_of,
    where,
)

SETTING = ("k", "n", "effect", "margins", "pattern", "epsilon", "sampled_tables")
"""The columns that may be in a setting, k first."""
SPARSE = 30  # most records per cell of a sparse table: six times the least count of the text, 5
ROBUST, MARGIN = 75.0, 25.0
"""A robust test is right in more per cent of trials, half of them a null, than the mean of a test
that ignores its table and a test without errors. The margin is our choice."""
SCALES = {"honest": "laplace_true_limit", "printed": "laplace_true_limit_printed_scale"}
"""The procedure of the text (7.3.1), by the scale of its noise."""
MAX_NAMED = 6
CELL = ["metric", "file", "k", "p"]  # of Tables 4 and 5
VARIANTS = {
    "floor .1 / m": "rrba",
    "floor .5 / m": "rrba_half_floor",
    "p that the true table allows": "rrba_at_truth",
}
AT_EQUAL_EPSILON = Compared(
    "metric; file; k; epsilon",
    "method = rrba",
    "method = laplace_honest",
    "below",
    "over laplace_honest: {ratios}",
)


def paired(
    table: pd.DataFrame, keys: Sequence[str], column: str, steps: Iterable[tuple[Any, Any]]
) -> list[Pair]:
    """Pair rows of a `table` with equal `keys` and the values in a `column` of each of `steps`.

    Raises a `LookupError` if a step has no pair.
    """
    found: list[Pair] = []
    for step in steps:
        firsts, seconds = (by(where(table, **{column: each}), *keys) for each in step)
        own = [(row, seconds[key]) for key, row in firsts.items() if key in seconds]
        found += require_any(own, f"rows to compare with the same {', '.join(keys)}")
    return found


def undecided_where(lost: Sequence[bool], outcome: Outcome, remark: str) -> Outcome:
    """Return the `outcome` without its `lost` comparisons, with a `remark` on their number."""
    both = zip(lost, outcome.comparisons, strict=True)
    kept = tuple(UNKNOWN if is_lost else own for is_lost, own in both)
    said = remark.format(sum(lost), len(lost)) if any(lost) else ""
    return replace(outcome, comparisons=kept, figure=outcome.figure + said)


def evidence_on_tests(tables: Tables) -> dict[str, list[Evidence]]:
    """Return `accuracies` of RRBA and others from `tables`: Table 3 by interpretation, power."""
    table_3, power, printed = tables["rrba_table3"], tables["rrba_power"], []
    for (rule, small), (scale, laplace) in product(RULES.items(), SCALES.items()):
        part = where(table_3, small_cells=rule, method=("rrba", "mcindep", laplace))
        null, alternative = (where(part, hypothesis=each) for each in HYPOTHESES)
        right = accuracies(null, alternative, fitted=True)
        printed.append(Evidence((f"{small}, {scale} scale",), source_of(table_3), right))
    rates = where(power, measure="rejected", method=("rrba", "mcindep", "laplace"))
    right = accuracies(where(rates, effect=0).drop(columns="effect"), rates[rates["effect"] > 0])
    reading = "equal exact epsilon, no rule for small cells"
    return {"table 3": printed, "tests": [*printed, Evidence((reading,), source_of(power), right)]}


def accuracies(null: pd.DataFrame, alternative: pd.DataFrame, fitted: bool = False) -> pd.DataFrame:
    """Return the proportion of right decisions, half of the trials a null, in per cent.

    The halves, `null` and `alternative`, are assumed to be independent. Each row has a setting, a
    method, ``median``, ``ci_low``, ``ci_high``, and whether n and effect were `fitted` to published
    rates, a property of the design and not of the rates. The columns of the halves end in
    `HYPOTHESES`.
    """
    keys = [name for name in (*SETTING, "method") if name in null and name in alternative]
    both = null.merge(alternative, on=keys, suffixes=HYPOTHESES)
    mean = (both["regeneratedH1"] + PERCENT - both["regeneratedH0"]) / 2
    of_null, of_alternative = (both[f"ci_high{h}"] - both[f"ci_low{h}"] for h in HYPOTHESES)
    reach = np.hypot(of_null, of_alternative) / 4
    return both.assign(median=mean, ci_low=mean - reach, ci_high=mean + reach, fitted=fitted)


def _others(right: pd.DataFrame) -> list[str]:
    return sorted({*right["method"]} - {"rrba"}, reverse=True)


def _of_others(right: pd.DataFrame) -> list[Pair]:
    keys = [name for name in SETTING if name in right]
    return paired(right, keys, "method", ((other, "rrba") for other in _others(right)))


def _unless_fitted(pairs: Sequence[Pair], figure: str) -> Outcome:
    """Test that in each pair the first is below the second; fitted settings are undecided."""
    lost = [bool(ours["fitted"]) for _, ours in pairs]
    outcome = below(pairs, figure)
    return undecided_where(lost, outcome, "; {} of {} depend on n: n and effect are ours")


def _better_than_laplace_and_mcindep(right: pd.DataFrame) -> Outcome:
    pairs = _of_others(right)
    gains = [ours["median"] - theirs["median"] for theirs, ours in pairs]
    return _unless_fitted(pairs, f"accuracy above by {range_of(gains)} points")


def _robust_as_values_grow(right: pd.DataFrame) -> Outcome:
    losses: list[Pair] = []
    largest: list[Pair] = []
    keys = [name for name in SETTING[1:] if name in right]
    for _, part in right.groupby(keys, sort=False):
        if part["k"].nunique() > 1:
            ours, *others = (_lost(where(part, method=name)) for name in ("rrba", *_others(right)))
            losses += [(ours, other) for other in others]
            largest += _of_others(where(part, k=part["k"].max()))
    both = zip(*require_any(losses, "two k with the same n and effect"), strict=True)
    lost, of_others = (range_of(row["median"] for row in rows) for rows in both)
    return _unless_fitted(losses + largest, f"lost {lost} points, the others {of_others}")


def _lost(right: pd.DataFrame) -> Row:
    ordered = rows_of(right.sort_values("k", kind="stable"))
    first, last = ordered[0], ordered[-1]
    value = first["median"] - last["median"]
    reach = math.hypot(*((row["ci_high"] - row["ci_low"]) / 2 for row in (first, last)))
    return {**first, "median": value, "ci_low": value - reach, "ci_high": value + reach}


def _robust_in_sparse_data(right: pd.DataFrame) -> Outcome:
    sparse = _sparse(right)
    ours = rows_of(where(sparse, method="rrba"))
    pairs: list[Pair] = [(exact_row(ROBUST), row) for row in ours]
    figure = f"right in {range_of(row['median'] for row in ours)} % of trials"
    outcome = _unless_fitted(pairs + _of_others(sparse), figure)
    # A larger margin makes the differences smaller.
    own = (replace(each, margin=-MARGIN) for each in outcome.comparisons[: len(ours)])
    return replace(outcome, comparisons=(*own, *outcome.comparisons[len(ours) :]), our_margin=True)


def _others_invalid_in_sparse_data(right: pd.DataFrame) -> Outcome:
    names = {"regeneratedH0": "median", "ci_lowH0": "ci_low", "ci_highH0": "ci_high"}
    null = _sparse(right)[["method", *names]].rename(columns=names)
    rows = [row for other in _others(null) for row in rows_of(where(null, method=other))]
    figure = f"true nulls rejected in {range_of(row['median'] for row in rows)} % of trials"
    return below([(exact_row(PERCENT * LEVEL), row) for row in rows], figure)


def _sparse(table: pd.DataFrame) -> pd.DataFrame:
    found = table[table["n"] <= SPARSE * 2.0 ** table["k"]]
    return require_any(found, f"tables with at most {SPARSE} records a cell")


def evidence_on_distances(tables: Tables) -> dict[str, list[Evidence]]:
    """Return distances by interpretation from `tables`: Tables 4 and 5, and equal exact ε."""
    every, equal = pd.concat(tables[name] for name in PRINTED_TABLES), tables["rrba_equal"]
    every = every.rename(columns={"regenerated": "median"})
    # Each value once, so without resampled Survey; l2 first. ``in_print`` marks published values.
    every = every[~every["file"].str.endswith(RESAMPLED)]
    every = every.sort_values("metric", ascending=False, kind="stable")
    pooled = every[every["reading"] == every["metric"].map(MAIN_READINGS)]
    last = pd.concat([where(every, reading="last_block"), where(pooled, method="laplace")])
    published = pd.MultiIndex.from_frame(pooled.loc[pooled["published"].notna(), CELL])
    printed = {
        reading: part.assign(in_print=pd.MultiIndex.from_frame(part[CELL]).isin(published))
        for reading, part in (("all blocks pooled", pooled), ("last block as published", last))
    }
    shown = where(equal, reading="projected", metric=COMPARED).rename(columns={"mean": "median"})
    by_floor = {}
    for reading, method in VARIANTS.items():
        part = where(shown, method=(method, "rrba_uniform", "laplace_honest"))
        part = part.assign(method=part["method"].replace(method, "rrba"))
        columns = ("metric", "file", "k", "epsilon", "method")
        by_floor[reading] = Cells(columns, by(part, *columns))
    sources = source_of(every), source_of(equal)
    source = "surrogate" if "surrogate" in sources else sources[0]
    return {
        "distances": [Evidence((), sources[0], printed)],
        "rrba_equal": [Evidence((name,), sources[1], cells) for name, cells in by_floor.items()],
        "distances and equal": [Evidence((), source, (printed, by_floor))],
    }


def _below_laplace(printed: Mapping[str, pd.DataFrame], **cells: Any) -> Readings:
    """Yield the test that RRBA is below Laplace noise of the published scale, by interpretation."""
    for reading, table in printed.items():
        yield reading, partial(_below, where(table, **({"in_print": True} | cells)))


def _below(table: pd.DataFrame) -> Outcome:
    pairs = paired(table, CELL, "method", [("rrba", "laplace")])
    not_below = [row for row, other in pairs if row["median"] >= other["median"]]
    lost = [f"{row['file']} k = {row['k']} p = {row['p']:g}" for row in not_below]
    cells = f"{len(lost)} of {len(pairs)}" if len(lost) > MAX_NAMED else "; ".join(lost) or "none"
    return below(pairs, f"RRBA over Laplace: {ratios_of(pairs)}; not below: {cells}")


def _wins_over_laplace(given: tuple[Mapping[str, pd.DataFrame], Mapping[str, Cells]]) -> Readings:
    printed, equal = given
    for reading, decide in _below_laplace(printed, metric=COMPARED):
        yield f"p and epsilon as published, {reading}", decide
    for reading, cells in equal.items():
        yield f"equal exact epsilon, {reading}", partial(AT_EQUAL_EPSILON, cells)


TESTS: Mapping[str, Test] = {
    "better_than_laplace_and_mcindep": _better_than_laplace_and_mcindep,
    "robust_as_values_grow": _robust_as_values_grow,
    "robust_in_sparse_data": _robust_in_sparse_data,
    "others_invalid_in_sparse_data": _others_invalid_in_sparse_data,
    "wins_in_high_dimensions": partial(_below_laplace, metric="l2", k=(3, 4), p=0.4),
    "wins_over_laplace": _wins_over_laplace,
}
