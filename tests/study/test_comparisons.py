"""Verdicts on claims in words: by hand, at their limits, and how often chance alone decides."""

import itertools
import math
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

from deniable.study.comparisons import (
    FALSE_ALARMS,
    SIMILAR,
    Outcome,
    alike,
    below,
    listed,
    near,
    ratio,
    z_score,
)
from deniable.study.engine import median_summary

SEEDED = settings(deadline=None, max_examples=200, derandomize=True)
INFINITE = math.inf
# Of a normal distribution, by tables: the upper 2.5 %, 1.25 % and .25 % points.
Z_1, Z_2, Z_10 = 1.959964, 2.241403, 2.807034


def row(median: float, low: float, high: float) -> dict[str, float]:
    return {"median": median, "ci_low": low, "ci_high": high}


def known(median: float, error: float) -> dict[str, float]:
    """Return a median whose interval says that its standard error is `error`."""
    return row(median, median - Z_1 * error, median + Z_1 * error)


def known_factor(median: float, error: float) -> dict[str, float]:
    """Return a median whose logarithm has the standard error `error`."""
    spread = math.exp(Z_1 * error)
    return row(median, median / spread, median * spread)


def counts(outcome: Outcome) -> tuple[int, int, int]:
    return outcome.comparisons, outcome.support, outcome.contradict


@pytest.fixture(autouse=True)
def _nothing_warns() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


# -- by hand ---------------------------------------------------------------------------------------


def test_a_z_score_by_hand() -> None:
    # Errors 3 and 4 make 5; the medians are 10 apart.
    assert z_score((known(30, 3), known(20, 4))) == pytest.approx(2)
    assert z_score((known(20, 4), known(30, 3))) == pytest.approx(-2)
    # What counts is an interval's width, wherever the median lies in it.
    assert z_score((row(30, 30, 30 + 6 * Z_1), known(20, 4))) == pytest.approx(2)
    assert z_score((known(7, 1), known(7, 2))) == 0


def test_without_any_error_every_difference_is_beyond_chance() -> None:
    certain = row(0.2, 0.2, 0.2)
    assert z_score((row(0.1, 0.1, 0.1), certain)) == -INFINITE
    assert z_score((certain, row(0.1, 0.1, 0.1))) == INFINITE
    assert z_score((certain, certain)) == 0
    assert counts(below([(row(0.1, 0.1, 0.1), certain)], "")) == (1, 1, 0)


@pytest.mark.parametrize(
    "unknown",
    [
        row(0.2, -INFINITE, INFINITE),
        row(0.2, 0.1, INFINITE),
        row(INFINITE, 0.1, INFINITE),
    ],
    ids=["too few runs", "half open", "infinite median"],
)
def test_an_infinite_interval_decides_nothing(unknown: dict[str, float]) -> None:
    other = row(1e9, 1e9, 1e9)
    for pair in ((unknown, other), (other, unknown), (unknown, unknown)):
        assert z_score(pair) == 0
        for outcome in (below([pair], ""), alike([pair], ""), near([pair], 1e99, "")):
            assert counts(outcome) == (1, 0, 0)
            assert outcome.verdict == "undecided"
        found = ratio(*pair)
        assert (found["ci_low"], found["ci_high"]) == (0, INFINITE)


def test_more_than_half_of_the_errors_infinite_is_more_than_a_number() -> None:
    lost = row(INFINITE, INFINITE, INFINITE)
    assert z_score((known(0.2, 0.1), lost)) == -INFINITE
    assert z_score((lost, lost)) == 0
    assert counts(alike([(lost, known(0.2, 0.01)), (lost, lost)], "")) == (2, 1, 1)


def test_the_limit_of_below_grows_with_the_comparisons() -> None:
    for comparisons, limit in ((1, Z_1), (2, Z_2), (10, Z_10)):
        for beyond, expected in ((-1e-5, 0), (1e-5, comparisons)):
            apart = limit + beyond
            pairs = [(known(0, 0.6), known(apart, 0.8))] * comparisons
            assert counts(below(pairs, "")) == (comparisons, expected, 0)
            turned = [(second, first) for first, second in pairs]
            assert counts(below(turned, "")) == (comparisons, 0, expected)


def test_the_limits_of_near_by_hand() -> None:
    # Together the errors are 1; at most 10 apart.
    for comparisons, limit in ((1, Z_1), (2, Z_2), (10, Z_10)):
        for apart, expected in (
            (10 - limit - 1e-5, (comparisons, 0)),
            (10 - limit + 1e-5, (0, 0)),
            (10 + limit - 1e-5, (0, 0)),
            (10 + limit + 1e-5, (0, comparisons)),
        ):
            pairs = [(known(50, 0.6), known(50 + apart, 0.8))] * comparisons
            assert counts(near(pairs, 10, "")) == (comparisons, *expected)
            pairs = [(second, first) for first, second in pairs]
            assert counts(near(pairs, 10, "")) == (comparisons, *expected)


def test_the_limits_of_alike_by_hand() -> None:
    # The logarithms' errors are .03 and .04, together .05.
    for comparisons, limit in ((1, Z_1), (2, Z_2), (10, Z_10)):
        for apart, expected in (
            (math.log(SIMILAR) - limit * 0.05 - 1e-6, (comparisons, 0)),
            (math.log(SIMILAR) - limit * 0.05 + 1e-6, (0, 0)),
            (math.log(SIMILAR) + limit * 0.05 - 1e-6, (0, 0)),
            (math.log(SIMILAR) + limit * 0.05 + 1e-6, (0, comparisons)),
        ):
            pair = known_factor(0.3, 0.03), known_factor(0.3 * math.exp(apart), 0.04)
            assert counts(alike([pair] * comparisons, "")) == (comparisons, *expected)
            assert counts(alike([pair[::-1]] * comparisons, "")) == (comparisons, *expected)


def test_pairs_that_were_picked_need_as_much_as_all_that_they_were_picked_from() -> None:
    # One pair picked from ten has the limit of ten pairs.
    for beyond, expected in ((-1e-5, 0), (1e-5, 1)):
        pair = known(0, 0.6), known(5 + Z_10 + beyond, 0.8)
        assert near([pair], 5, "", picked_from=10).contradict == expected
        apart = math.exp(math.log(SIMILAR) + (Z_10 + beyond) * 0.05)
        factors = known_factor(1, 0.03), known_factor(apart, 0.04)
        assert alike([factors], "", picked_from=10).contradict == expected


def test_a_ratio_by_hand() -> None:
    found = ratio(known_factor(0.6, 0.03), known_factor(0.2, 0.04))
    assert found["median"] == pytest.approx(3)
    assert found["ci_low"] == pytest.approx(3 * math.exp(-Z_1 * 0.05))
    assert found["ci_high"] == pytest.approx(3 * math.exp(Z_1 * 0.05))
    # Its width, not its place, is what an interval gives: a factor of 4 on both sides together.
    skewed = ratio(row(0.6, 0.5, 2.0), row(0.2, 0.2, 0.2))
    assert (skewed["ci_low"], skewed["ci_high"]) == (pytest.approx(1.5), pytest.approx(6))


# -- nothing, and intervals that reach it ----------------------------------------------------------

NOTHING = row(0, 0, 0)
DOWN_TO_0 = row(0.1, 0, 0.2)
AT_0 = row(0, 0, 0.2)
SOME = row(0.1, 0.1, 0.1)


@pytest.mark.parametrize(
    ("first", "second", "alike_counts", "found"),
    [
        (NOTHING, NOTHING, (1, 0), (math.nan, 0, INFINITE)),
        (NOTHING, SOME, (0, 1), (0, 0, 0)),
        (SOME, NOTHING, (0, 1), (INFINITE, INFINITE, INFINITE)),
        (DOWN_TO_0, SOME, (0, 0), (1, 0, INFINITE)),
        (SOME, DOWN_TO_0, (0, 0), (1, 0, INFINITE)),
        (AT_0, SOME, (0, 0), (0, 0, INFINITE)),
        (SOME, AT_0, (0, 0), (INFINITE, 0, INFINITE)),
        (AT_0, AT_0, (0, 0), (math.nan, 0, INFINITE)),
        (AT_0, NOTHING, (0, 0), (math.nan, 0, INFINITE)),
    ],
)
def test_factors_of_zero(
    first: dict[str, float],
    second: dict[str, float],
    alike_counts: tuple[int, int],
    found: tuple[float, float, float],
) -> None:
    assert counts(alike([(first, second)], "")) == (1, *alike_counts)
    np.testing.assert_array_equal([*ratio(first, second).values()], found)
    # The same from columns of numpy's numbers, which warn where Python's raise.
    table = pd.DataFrame([first, second])
    numbers = table.loc[0], table.loc[1]
    np.testing.assert_array_equal([*ratio(*numbers).values()], found)
    assert counts(alike([numbers], "")) == (1, *alike_counts)


@pytest.mark.parametrize("zero", [NOTHING, AT_0])
def test_a_ratio_to_zero_can_be_compared(zero: dict[str, float]) -> None:
    certain = zero is NOTHING
    over_zero, of_zero = ratio(SOME, zero), ratio(zero, SOME)
    assert z_score((over_zero, SOME)) == (INFINITE if certain else 0)
    assert z_score((of_zero, SOME)) == (-INFINITE if certain else 0)
    assert z_score((ratio(zero, zero), SOME)) == 0
    assert z_score((over_zero, over_zero)) == 0


ENDS = st.sampled_from([-INFINITE, 0.0, 1e-100, 0.05, 0.3, 2.0, 1e100, INFINITE])


@st.composite
def rows(draw: st.DrawFn) -> dict[str, float]:
    low, median, high = sorted(draw(st.tuples(ENDS, ENDS, ENDS)))
    return row(max(median, 0.0), low, max(high, 0.0))


@SEEDED
@given(st.lists(st.tuples(rows(), rows()), max_size=4))
def test_any_intervals_are_compared_without_a_warning(pairs: list[Any]) -> None:
    for outcome in (below(pairs, ""), alike(pairs, ""), near(pairs, 0.05, "")):
        assert outcome.comparisons == len(pairs)
        assert outcome.support + outcome.contradict <= len(pairs)
    turned = [(second, first) for first, second in pairs]
    assert counts(alike(pairs, "")) == counts(alike(turned, ""))
    assert counts(near(pairs, 0.05, "")) == counts(near(turned, 0.05, ""))
    assert below(pairs, "").support == below(turned, "").contradict
    for pair in pairs:
        found = ratio(*pair)
        assert found["ci_low"] <= found["ci_high"]
        assert not found["median"] < found["ci_low"]
        assert not math.isnan(z_score((found, found)))


@SEEDED
@given(
    st.lists(st.tuples(st.floats(0.01, 1), st.floats(0.01, 1)), min_size=1, max_size=5),
    st.floats(0.001, 0.3),
    st.floats(1.01, 3),
)
def test_less_sure_intervals_decide_no_more(
    medians: list[tuple[float, float]], error: float, wider: float
) -> None:
    for test in (below, alike):
        sure, less = (
            test([(known_factor(a, e), known_factor(b, e)) for a, b in medians], "")
            for e in (error, error * wider)
        )
        assert less.support <= sure.support
        assert less.contradict <= sure.contradict


# -- verdicts --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("support", "contradict", "verdict", "as_a_rule"),
    [
        (0, 0, "undecided", "undecided"),
        (1, 0, "holds", "holds"),
        (5, 0, "holds", "holds"),
        (0, 1, "fails", "fails"),
        (5, 1, "fails", "holds"),
        (1, 5, "fails", "fails"),
        (2, 2, "fails", "fails"),  # neither number is larger: not so as a rule
    ],
)
def test_the_verdicts(support: int, contradict: int, verdict: str, as_a_rule: str) -> None:
    assert Outcome(10, support, contradict, "").verdict == verdict
    assert Outcome(10, support, contradict, "", as_a_rule=True).verdict == as_a_rule


def test_without_comparisons_nothing_is_decided() -> None:
    for outcome in (below([], ""), alike([], ""), near([], 1, "")):
        assert counts(outcome) == (0, 0, 0)
        assert outcome.verdict == "undecided"


def test_numbers_by_name() -> None:
    assert listed({"a": 1 / 3, "b": 20.0}) == "a: 0.333, b: 20"


# -- how often chance decides ----------------------------------------------------------------------

TRIALS = 2000
RUNS = 400
# A test with false alarms at exactly 5 % has more than these once in 10,000 times.
MOST_ALARMS = int(stats.binom.isf(1e-4, TRIALS, FALSE_ALARMS))


def medians(generator: np.random.Generator, levels: Any) -> np.ndarray:
    """Return median, ci_low, ci_high of skewed errors with these true medians, trial by trial.

    The intervals are those of order statistics, with the ranks of `median_summary`.
    """
    summary = median_summary(np.arange(1, RUNS + 1))
    low, high = int(summary.low) - 1, int(summary.high) - 1
    shape = (TRIALS, len(levels))
    found = np.empty((*shape, 3))
    for trial in range(TRIALS):
        values = np.sort(generator.lognormal(0, 0.8, (len(levels), RUNS)), axis=1)
        middle = values[:, RUNS // 2 - 1 : RUNS // 2 + 1].mean(axis=1)
        found[trial] = np.stack([middle, values[:, low], values[:, high]], axis=1)
    return found * np.asarray(levels)[None, :, None]


def as_rows(found: np.ndarray) -> list[dict[str, float]]:
    return [row(*map(float, each)) for each in found]


@pytest.mark.parametrize("comparisons", [1, 12])
def test_equal_medians_are_seldom_found_unequal(comparisons: int) -> None:
    drawn = medians(np.random.default_rng(comparisons), [0.3] * 2 * comparisons)
    alarms = 0
    for trial in drawn:
        each = as_rows(trial)
        outcome = below(list(zip(each[::2], each[1::2], strict=True)), "")
        alarms += bool(outcome.support or outcome.contradict)
    assert alarms <= MOST_ALARMS


@pytest.mark.parametrize("comparisons", [1, 12])
def test_medians_at_the_border_of_alike_are_seldom_decided(comparisons: int) -> None:
    drawn = medians(np.random.default_rng(comparisons + 50), [0.3, 0.3 * SIMILAR] * comparisons)
    alarms = 0
    for trial in drawn:
        each = as_rows(trial)
        outcome = alike(list(zip(each[::2], each[1::2], strict=True)), "")
        alarms += bool(outcome.support or outcome.contradict)
    assert alarms <= MOST_ALARMS


def test_picking_the_extremes_of_four_gives_no_more_false_alarms() -> None:
    # The worst case: two of the four at each end of what still counts as alike, in 6 settings.
    levels = [0.3, 0.3, 0.3 * SIMILAR, 0.3 * SIMILAR] * 6
    drawn = medians(np.random.default_rng(100), levels)
    alarms = unaware = 0
    for trial in drawn:
        each = as_rows(trial)
        groups = [each[start : start + 4] for start in range(0, len(each), 4)]
        ordered = [sorted(group, key=lambda r: r["median"]) for group in groups]
        pairs = [(group[-1], group[0]) for group in ordered]
        alarms += bool(alike(pairs, "", picked_from=6).contradict)
        unaware += bool(alike(pairs, "").contradict)
    assert alarms <= MOST_ALARMS
    assert unaware > MOST_ALARMS  # the test can tell


def test_true_differences_are_found() -> None:
    drawn = medians(np.random.default_rng(7), [0.3, 0.45])
    found = sum(z_score(tuple(as_rows(trial))) < -Z_1 for trial in drawn)  # type: ignore[arg-type]
    # An error of the logarithm of .8 * sqrt(pi / 2 / 400) = .05 each: log(1.5) is 5.7 of them both.
    assert found > 0.99 * TRIALS
    below_all = list(itertools.pairwise(as_rows(drawn[0])))
    assert below(below_all, "").verdict == "holds"
