"""Claims of tests and of distances ([rrba], 7.3 and 7.4), compared with Tables 3, 4 and 5.

Table 3 states neither n nor the alternative. If both rates of RRBA agree they were fitted: such a
setting can contradict a claim on RRBA, but it cannot support one. The text has both a table that is
updated with each block, and one that is released at the end. So Tables 4 and 5 may be of the last
block, as printed, or of all blocks pooled, with a floor. Tests take means for medians, in a column
``median``. Methods of
one trial share their true tables, which makes tests between them conservative.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from deniable.display import rows_of

from reproduction.papers.rrba.independence import HYPOTHESES, LEVEL, PERCENT
from reproduction.papers.rrba.names import RULES
from reproduction.study import (
    UNKNOWN,
    Comparison,
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
    source_of,
    where,
)

SETTING = ("k", "n", "effect", "margins", "pattern", "epsilon", "sampled_tables")
"""The columns that may name a setting, k first."""
SPARSE = 30
"""Records a cell of a sparse table, at most: six times the least count of the text, 5."""
GUESSING, CERTAIN = 50.0, 100.0
"""Per cent right, half of the trials a null, of a test that ignores its table, and of one without
errors. A robust test is nearer to the second: our margin."""
SCALES = {"honest": "laplace_true_limit", "printed": "laplace_true_limit_printed_scale"}
"""The text's own procedure (7.3.1), by the scale of its noise."""
MAX_NAMED = 6
VARIANTS = (
    ("floor .1 / m", "rrba"),
    ("floor .5 / m", "rrba_half_floor"),
    ("p that the true table allows", "rrba_at_truth"),
)
RELEASED = {
    "all blocks pooled": {"l2": "noisy", "jensen_shannon": "projected"},
    "last block as printed": {"l2": "last_block", "jensen_shannon": "last_block"},
}
"""The ``reading`` of RRBA's tables; of Laplace noise it is that of all blocks."""


def paired(
    table: pd.DataFrame, keys: Sequence[str], column: str, first: Any, second: Any
) -> list[Pair]:
    """Return pairs of rows of a `table`, `first` and `second` in a `column`, with equal `keys`."""
    return _matched(where(table, **{column: first}), where(table, **{column: second}), keys)


def _matched(firsts: pd.DataFrame, seconds: pd.DataFrame, keys: Sequence[str]) -> list[Pair]:
    """Return pairs of rows of two tables with equal keys; without any, raise a `LookupError`."""
    by_key = by(seconds, *keys)
    found: list[Pair] = [
        (row, by_key[key]) for key, row in by(firsts, *keys).items() if key in by_key
    ]
    if not found:
        raise LookupError(f"rows to compare with the same {', '.join(keys)}")
    return found


def undecided_where(
    unknown: Callable[[Row, Row, Comparison], bool],
    pairs: Sequence[Pair],
    outcome: Outcome,
    remark: str,
) -> Outcome:
    """Return the `outcome` of `pairs` without `unknown` ones, and a `remark` on their number."""
    lost = [unknown(*pair, each) for pair, each in zip(pairs, outcome.comparisons, strict=True)]
    kept = (UNKNOWN if each else own for each, own in zip(lost, outcome.comparisons, strict=True))
    said = remark.format(sum(lost), len(pairs)) if any(lost) else ""
    return replace(outcome, comparisons=tuple(kept), figure=outcome.figure + said)


# -- 7.3: tests of independence --------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Tests:
    """Evidence on tests."""

    right: pd.DataFrame  # as `accuracies` returns them
    others: tuple[str, ...]  # the methods that RRBA is compared with
    rates: pd.DataFrame  # of rejections


def evidence_on_tests(table_3: pd.DataFrame, power: pd.DataFrame) -> dict[str, list[Evidence]]:
    """Return evidence on tests: `table_3` by reading, `power` at equal epsilon."""
    printed = []
    table_3, power = (each.assign(median=each["regenerated"]) for each in (table_3, power))
    for (rule, small), (scale, laplace) in product(RULES.items(), SCALES.items()):
        part = where(table_3, small_cells=rule)
        given = _Tests(accuracies(*_halves(part)), ("mcindep", laplace), part)
        reading = f"{small}, {scale} scale"
        printed.append(Evidence((reading,), source_of(table_3), given))
    rates = where(power, measure="rejected")
    null = where(rates, effect=0).drop(columns="effect")
    right = accuracies(null, rates[rates["effect"] > 0])
    equal = _Tests(right, ("mcindep", "laplace"), rates)
    reading = "equal exact epsilon, no rule for small cells"
    return {"table 3": printed, "tests": [*printed, Evidence((reading,), source_of(power), equal)]}


def _halves(table: pd.DataFrame) -> list[pd.DataFrame]:
    return [where(table, hypothesis=each) for each in HYPOTHESES]


def accuracies(null: pd.DataFrame, alternative: pd.DataFrame) -> pd.DataFrame:
    """Return the proportion of right decisions, half of the trials a null, in per cent.

    The halves, `null` and `alternative`, count as independent. The columns name setting and
    method, then ``median``, ``ci_low``, ``ci_high``, and ``fitted``: if both rates of RRBA are.
    """
    keys = [name for name in (*SETTING, "method") if name in null and name in alternative]
    both = null.merge(alternative, on=keys, suffixes=HYPOTHESES)
    mean = (both["regeneratedH1"] + PERCENT - both["regeneratedH0"]) / 2
    of_null, of_alternative = (both[f"ci_high{h}"] - both[f"ci_low{h}"] for h in HYPOTHESES)
    reach = np.hypot(of_null, of_alternative) / 4
    named = [name for name in (*SETTING, "method") if name in both]
    found = both[named].assign(median=mean, ci_low=mean - reach, ci_high=mean + reach, fitted=False)
    if "verdictH0" in both:
        fitted = (both["verdictH0"] == "fitted") & (both["verdictH1"] == "fitted")
        settings = found.loc[fitted & (found["method"] == "rrba"), named].drop(columns="method")
        marked = found.merge(settings, how="left", indicator=True)["_merge"]
        found["fitted"] = (marked == "both").to_numpy()
    return found


def _setting(right: pd.DataFrame) -> list[str]:
    return [name for name in SETTING if name in right]


def _of_others(given: _Tests) -> list[Pair]:
    """Return the accuracies of each other method with RRBA's, of the same setting."""
    right, others = given.right, given.others
    return [
        pair for other in others for pair in paired(right, _setting(right), "method", other, "rrba")
    ]


def _unless_fitted(pairs: Sequence[Pair], figure: str) -> Outcome:
    """Test that in each pair the first is below the second; fitted settings support nothing."""

    def unknown(_: Row, ours: Row, found: Comparison) -> bool:
        return bool(ours["fitted"] and found.difference > 0)

    remark = "; {} of {} support nothing: n and effect were fitted"
    return undecided_where(unknown, pairs, below(pairs, figure), remark)


def _better_than_laplace_and_mcindep(given: _Tests) -> Outcome:
    pairs = _of_others(given)
    gains = [ours["median"] - theirs["median"] for theirs, ours in pairs]
    return _unless_fitted(pairs, f"accuracy above by {range_of(gains)} points")


def _robust_as_values_grow(given: _Tests) -> Outcome:
    losses, largest = [], []
    right, others = given.right, given.others
    for _, part in right.groupby(_setting(right)[1:], sort=False):
        if part["k"].nunique() > 1:
            lost = {name: _lost(where(part, method=name)) for name in ("rrba", *others)}
            losses += [(lost["rrba"], lost[other]) for other in others]
            largest += _of_others(replace(given, right=part[part["k"] == part["k"].max()]))
    if not losses:
        raise LookupError("two k with the same n and effect")
    ours, theirs = (range_of(row["median"] for row in rows) for rows in zip(*losses, strict=True))
    loss = below(losses, "")
    at_largest = _unless_fitted(largest, f"lost {ours} points, the others {theirs}")
    return replace(at_largest, comparisons=loss.comparisons + at_largest.comparisons)


def _lost(right: pd.DataFrame) -> Row:
    """Return the accuracy lost from the smallest to the largest k, with its interval."""
    ordered = rows_of(right.sort_values("k", kind="stable"))
    first, last = ordered[0], ordered[-1]
    value = first["median"] - last["median"]
    reach = math.hypot(*((row["ci_high"] - row["ci_low"]) / 2 for row in (first, last)))
    return {"median": value, "ci_low": value - reach, "ci_high": value + reach}


def _robust_in_sparse_data(given: _Tests) -> Outcome:
    sparse = _sparse(given.right)
    ours = rows_of(where(sparse, method="rrba"))
    margin = (CERTAIN - GUESSING) / 2
    pairs: list[Pair] = [(exact_row(GUESSING + margin), row) for row in ours]
    pairs += _of_others(replace(given, right=sparse))
    figure = f"right in {range_of(row['median'] for row in ours)} % of trials"
    outcome = _unless_fitted(pairs, figure)
    # A larger margin makes the differences smaller.
    own = (replace(each, margin=-margin) for each in outcome.comparisons[: len(ours)])
    comparisons = (*own, *outcome.comparisons[len(ours) :])
    return replace(outcome, comparisons=comparisons, our_margin=True)


def _others_invalid_in_sparse_data(given: _Tests) -> Outcome:
    null, _ = _halves(_sparse(given.rates))
    rows = [row for other in given.others for row in rows_of(where(null, method=other))]
    figure = f"true nulls rejected in {range_of(row['median'] for row in rows)} % of trials"
    return below([(exact_row(PERCENT * LEVEL), row) for row in rows], figure)


def _sparse(table: pd.DataFrame) -> pd.DataFrame:
    found = table[table["n"] <= SPARSE * 2.0 ** table["k"]]
    if not len(found):
        raise LookupError(f"tables with at most {SPARSE} records a cell")
    return found


# -- 7.4: distances --------------------------------------------------------------------------------


def _lowest_l2_survey_child(table: pd.DataFrame) -> Readings:
    for other in ("child", "alarm"):
        part = where(table, dataset=("survey", other))
        for reading, decide in _below_laplace(part, "l2"):
            yield f"Survey and {other.capitalize()}, {reading}", decide


def _below_laplace(table: pd.DataFrame, *metrics: str) -> Readings:
    """Yield the test that RRBA is below Laplace noise of the printed scale, by RRBA's table."""
    for release, readings in RELEASED.items():
        yield release, partial(_below, table, {metric: readings[metric] for metric in metrics})


def _below(table: pd.DataFrame, readings: Mapping[str, str]) -> Outcome:
    pairs = []
    for metric, reading in readings.items():
        ours = where(table, metric=metric, method="rrba", reading=reading)
        as_released = RELEASED["all blocks pooled"][metric]
        theirs = where(table, metric=metric, method="laplace", reading=as_released)
        pairs += _matched(ours, theirs, ["file", "k", "p"])
    lost = [
        f"{row['file']} k = {row['k']} p = {row['p']:g}"
        for row, other in pairs
        if row["median"] >= other["median"]
    ]
    cells = f"{len(lost)} of {len(pairs)}" if len(lost) > MAX_NAMED else "; ".join(lost) or "none"
    return below(pairs, f"RRBA over Laplace: {ratios_of(pairs)}; not below: {cells}")


def _wins_over_laplace(given: tuple[pd.DataFrame, pd.DataFrame]) -> Readings:
    printed, equal = given
    for reading, decide in _below_laplace(printed, "l2", "jensen_shannon"):
        yield f"p and epsilon as printed, {reading}", decide
    for reading, decide in at_equal_epsilon("laplace_honest", equal):
        yield f"equal exact epsilon, {reading}", decide


def at_equal_epsilon(other: str, table: pd.DataFrame) -> Readings:
    """Yield for each floor the test that RRBA is below `other`, in the `table` ``rrba_equal``."""
    shown = where(table, reading="projected", metric=("l2", "jensen_shannon"))
    for reading, method in VARIANTS:
        yield reading, partial(_against, shown, method, other)


def _against(table: pd.DataFrame, method: str, other: str) -> Outcome:
    pairs = paired(table, ["metric", "file", "k", "epsilon"], "method", method, other)
    return below(pairs, f"over {other}: {ratios_of(pairs)}")


TESTS: Mapping[str, Test] = {
    "better_than_laplace_and_mcindep": _better_than_laplace_and_mcindep,
    "robust_as_values_grow": _robust_as_values_grow,
    "robust_in_sparse_data": _robust_in_sparse_data,
    "others_invalid_in_sparse_data": _others_invalid_in_sparse_data,
    "lowest_l2_survey_child": _lowest_l2_survey_child,
    "wins_in_high_dimensions": lambda table: _below_laplace(
        where(table[table["k"] >= 3], p=0.4), "l2"
    ),
    "wins_everywhere_at_half": lambda table: _below_laplace(where(table, p=0.5), "l2"),
    "lower_jensen_shannon": lambda table: _below_laplace(table, "jensen_shannon"),
    "wins_over_laplace": _wins_over_laplace,
}
