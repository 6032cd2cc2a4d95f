"""Verdicts on claims in words: by hand, at their limits, and how often chance alone decides."""

import math
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

from reproduction.study.comparisons import (
    LEVEL,
    SIMILAR,
    Comparison,
    Kind,
    Outcome,
    below,
    below_one,
    counted,
    equivalent,
    exact_row,
    listed,
    on_average,
    pooled,
    ratio,
    rejected,
    require_any,
    within_tolerance,
)
from reproduction.study.engine import median_summary

SEEDED = settings(deadline=None, max_examples=200, derandomize=True)
INFINITE = math.inf
# Of a normal distribution, by tables: the upper 2.5 %, 5 % and 2.5 % / 2 points, and 80 % of it.
Z_1, Z_5, Z_HALF, Z_POWER = 1.959964, 1.644854, 2.241403, 0.841621
KINDS: tuple[Kind, ...] = ("every", "order", "average", "equality")
"""Those that hold only if each comparison supports them."""


def row(median: float, low: float, high: float) -> dict[str, float]:
    return {"median": median, "ci_low": low, "ci_high": high}


def estimate(median: float, error: float) -> dict[str, float]:
    """Return a median whose interval says that its standard error is `error`."""
    return row(median, median - Z_1 * error, median + Z_1 * error)


def factor(median: float, error: float) -> dict[str, float]:
    """Return a median whose logarithm has the standard error `error`."""
    spread = math.exp(Z_1 * error)
    return row(median, median / spread, median * spread)


def counts(outcome: Outcome) -> tuple[int, int, int]:
    return len(outcome.comparisons), outcome.support, outcome.contradict


def of(*scores: float, kind: Kind = "every") -> Outcome:
    """Return the outcome of comparisons that are so many standard errors from 0."""
    return Outcome(tuple(Comparison(score, 1.0) for score in scores), "", kind)


@pytest.fixture(autouse=True)
def _nothing_warns() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


# -- one comparison --------------------------------------------------------------------------------


def test_a_comparison_by_hand() -> None:
    # Errors 3 and 4 make 5; the medians are 10 apart.
    (found,) = below([(estimate(20, 4), estimate(30, 3))], "").comparisons
    assert found.difference == 10
    assert found.error == pytest.approx(5, rel=1e-6)
    assert found.p_value(1) == pytest.approx(0.02275013, rel=1e-5)  # 2 standard errors, one side
    assert found.p_value(-1) == pytest.approx(1 - 0.02275013, rel=1e-5)
    assert found.interval == (pytest.approx(10 - 5 * Z_1), pytest.approx(10 + 5 * Z_1))
    assert found.detectable == pytest.approx((Z_5 + Z_POWER) * 5, rel=1e-5)
    # What counts is an interval's width, wherever the median lies in it.
    (skewed,) = below([(estimate(20, 4), row(30, 30, 30 + 6 * Z_1))], "").comparisons
    assert skewed.error == pytest.approx(5, rel=1e-6)


def test_what_was_picked_needs_as_much_as_all_that_it_was_picked_from() -> None:
    alone, picked = Comparison(2.0, 1.0), Comparison(2.0, 1.0, picked_from=10)
    assert picked.p_value(1) == pytest.approx(10 * alone.p_value(1))
    assert picked.p_value(-1) == 1
    assert picked.detectable > alone.detectable


def test_without_any_error_every_difference_is_beyond_chance() -> None:
    assert counts(below([(exact_row(0.1), exact_row(0.2))], "")) == (1, 1, 0)
    assert counts(below([(exact_row(0.2), exact_row(0.1))], "")) == (1, 0, 1)
    assert counts(below([(exact_row(0.2), exact_row(0.2))], "")) == (1, 0, 0)


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
        for outcome in (
            below([pair], ""),
            equivalent([pair], ""),
            within_tolerance([pair], 1e99, ""),
        ):
            assert counts(outcome) == (1, 0, 0)
            assert outcome.verdict == "undecided"
        found = ratio(*pair)
        assert (found["ci_low"], found["ci_high"]) == (0, INFINITE)


def test_more_than_half_of_the_errors_infinite_is_more_than_a_number() -> None:
    lost = row(INFINITE, INFINITE, INFINITE)
    assert counts(below([(estimate(0.2, 0.1), lost)], "")) == (1, 1, 0)
    assert counts(below([(lost, lost)], "")) == (1, 0, 0)
    assert counts(equivalent([(lost, estimate(0.2, 0.01)), (lost, lost)], "")) == (2, 1, 1)


# -- verdicts --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_it_holds_only_if_each_comparison_supports_it(kind: Kind) -> None:
    assert of(Z_5 + 1e-4, 9, 9, kind=kind).verdict == "holds"
    assert of(Z_5 - 1e-4, 9, 9, kind=kind).verdict == "undecided"
    assert of(Z_5 - 1e-4, 9, 9, kind=kind).support == 2


@pytest.mark.parametrize("kind", KINDS)
def test_it_fails_by_the_procedure_of_holm(kind: Kind) -> None:
    # Of two comparisons the more extreme one has to pass at half the level.
    assert of(-Z_1 - 1e-4, 9, kind=kind).verdict == "fails"
    assert of(-Z_1 + 1e-4, 9, kind=kind).verdict == "undecided"
    assert of(-Z_1 - 1e-4, 9, 9, kind=kind).verdict == "undecided"
    # The next one passes at the whole level then.
    assert of(-Z_1 - 1e-4, -Z_5 - 1e-4, kind=kind).contradict == 2
    assert of(-Z_1 + 1e-4, -Z_5 - 1e-4, kind=kind).contradict == 0


def test_some_holds_by_one_and_fails_by_all() -> None:
    assert of(Z_1 + 1e-4, -9, kind="some").verdict == "holds"
    assert of(Z_1 - 1e-4, -9, kind="some").verdict == "undecided"
    assert of(-Z_5 - 1e-4, -9, kind="some").verdict == "fails"
    assert of(-Z_5 + 1e-4, -9, kind="some").verdict == "undecided"
    assert (of(9, Z_5 + 1e-4, -9, kind="some").support, of(9, 0, kind="some").contradict) == (1, 0)


def test_without_comparisons_nothing_is_decided() -> None:
    for outcome in (below([], ""), equivalent([], ""), within_tolerance([], 1, "")):
        assert counts(outcome) == (0, 0, 0)
        assert outcome.verdict == "undecided"
        assert outcome.worst is None
        assert outcome.p_values == (1, 1)
    with pytest.raises(LookupError):
        counted([], "")
    with pytest.raises(LookupError):
        require_any([])


def test_the_worst_comparison_supports_the_least() -> None:
    assert of(2, 1, 3).worst == Comparison(1.0, 1.0)
    # Of several that do not at all, the one that is farthest from it.
    outcome = Outcome((Comparison(1.0), Comparison(-3.0), Comparison(-1.0)), "")
    assert outcome.worst == Comparison(-3.0)


def test_the_procedure_of_holm_by_hand() -> None:
    # From a textbook: at 5 %, p of .01, .04, .03, .005 against .0125, .0167, .025, .05.
    assert rejected([0.01, 0.04, 0.03, 0.005]) == 2
    assert rejected([]) == 0
    assert rejected([0.05]) == 1


@SEEDED
@given(st.lists(st.floats(0, 1), max_size=6))
def test_holm_rejects_what_adjusted_p_values_do(p_values: list[float]) -> None:
    adjusted, largest = [], 0.0
    for number, p in enumerate(sorted(p_values)):
        largest = max(largest, (len(p_values) - number) * p)
        adjusted.append(largest)
    found = rejected(p_values)
    assert all(p <= LEVEL * (1 + 1e-12) for p in adjusted[:found])
    assert all(p > LEVEL * (1 - 1e-12) for p in adjusted[found:])


# -- equalities ------------------------------------------------------------------------------------


def test_two_one_sided_tests_by_hand() -> None:
    # Together the errors are 1; at most 10 apart.
    for apart, verdict in (
        (10 - Z_5 - 1e-4, "holds"),
        (10 - Z_5 + 1e-4, "undecided"),
        (10 + Z_5 - 1e-4, "undecided"),
        (10 + Z_5 + 1e-4, "fails"),
    ):
        pair = estimate(50, 0.6), estimate(50 + apart, 0.8)
        for each in (pair, pair[::-1]):
            assert within_tolerance([each], 10, "").verdict == verdict


def test_an_equality_is_contradicted_by_both_tails_at_once() -> None:
    # With a margin far below the error the distance has two tails: 5 % are beyond 1.96 errors.
    for margin, limit in ((1e-6, Z_1), (1.0, 2.6582)):  # Pr(Z > 1.6582) + Pr(Z > 3.6582) = .0488
        for error, verdict in ((1 - 1e-3, "fails"), (1 + 2e-2, "undecided")):
            pair = exact_row(0), estimate(limit, error)
            assert within_tolerance([pair], margin, "").verdict == verdict, (margin, error)
    tails = Comparison(1 - 2.6582, 1.0, margin=1.0, equality=True).p_value(-1)
    assert tails == pytest.approx(stats.norm.sf(1.6582) + stats.norm.sf(3.6582), rel=1e-9)


@pytest.mark.parametrize("freedom", [4, 39, math.inf])
@pytest.mark.parametrize("margin", [0.0, 0.5, 1.0, 5.0])
def test_a_true_equality_is_refused_in_five_of_a_hundred_at_most(
    margin: float, freedom: float
) -> None:
    """Distances at the border, in true standard errors: the worst case of an equality."""
    generator = np.random.default_rng(int(10 * margin))
    drawn = generator.normal(margin, 1.0, 20 * TRIALS)
    spread = np.sqrt(generator.chisquare(freedom, drawn.size) / freedom) if freedom < 99 else 1.0
    errors = np.broadcast_to(spread, drawn.shape)
    found = [
        Comparison(margin - abs(x), e, margin, freedom=freedom, equality=True).p_value(-1)
        for x, e in zip(drawn, errors, strict=True)
    ]
    alarms = sum(p <= LEVEL for p in found)
    # A test of 5 % has more than these once in 10,000 times. One tail has twice as many at 0.
    most = stats.binom.isf(1e-4, drawn.size, LEVEL)
    assert alarms <= most
    if margin == 0:
        # The whole distribution: p-values of a true equality without margin are uniform.
        assert stats.kstest(found, "uniform").pvalue > 1e-4


def test_an_equality_of_few_runs_keeps_their_freedom() -> None:
    ours = of_runs(FEW)
    (found,) = within_tolerance([(exact_row(0.0), ours)], 0.1, "").comparisons
    assert found.freedom == pytest.approx(4)
    assert found.p_value(-1) == pytest.approx(
        stats.t.sf((ours["median"] - 0.1) / found.error, 4)
        + stats.t.sf((ours["median"] + 0.1) / found.error, 4)
    )


def test_a_better_value_than_the_published_one_has_its_own_badge() -> None:
    published = exact_row(0.8)

    def verdict(*ours: float) -> str:
        pairs = [(exact_row(each), published) for each in ours]
        return within_tolerance(pairs, 0.05, "", larger_is_better=True).verdict

    assert verdict(0.9) == verdict(0.9, 0.8) == "better than published"
    assert verdict(0.7) == verdict(0.7, 0.9) == "fails"
    assert verdict(0.8) == "holds"
    assert within_tolerance([(exact_row(0.9), published)], 0.05, "").verdict == "fails"


def test_alike_is_within_a_factor() -> None:
    # The logarithms' errors are .03 and .04, together .05.
    for apart, expected in (
        (math.log(SIMILAR) - Z_5 * 0.05 - 1e-5, (1, 0)),
        (math.log(SIMILAR) - Z_5 * 0.05 + 1e-5, (0, 0)),
        (math.log(SIMILAR) + Z_5 * 0.05 - 1e-5, (0, 0)),
        (math.log(SIMILAR) + Z_5 * 0.05 + 1e-5, (0, 1)),
    ):
        pair = factor(0.3, 0.03), factor(0.3 * math.exp(apart), 0.04)
        for each in (pair, pair[::-1]):
            assert counts(equivalent([each], ""))[1:] == expected


def test_a_margin_of_ours_is_moved_by_a_quarter() -> None:
    for apart, moved in (
        (0.0, "holds"),
        (0.74 * 10, "holds"),
        (0.76 * 10, "depends on the margin"),
        (1.24 * 10, "depends on the margin"),
        (1.26 * 10, "fails"),
    ):
        printed = within_tolerance([(exact_row(50), exact_row(50 + apart))], 10, "")
        assert printed.verdict == ("holds" if apart < 10 else "fails")
        assert replace(printed, our_margin=True).verdict == moved
    between = equivalent([(exact_row(1), exact_row(1.1)), (exact_row(1), exact_row(1.19))], "")
    assert between.support_by_margin == "1 / 2 / 2 of 2"


# -- averages, pools, ratios -----------------------------------------------------------------------


def test_an_average_by_hand() -> None:
    # Logarithms of the ratios: log 2 and log 1/2 + .1, errors .05 each; their mean is .05.
    pairs = [
        (factor(1, 0.03), factor(2, 0.04)),
        (factor(2, 0.03), factor(math.exp(0.1), 0.04)),
    ]
    (found,) = on_average(pairs, "").comparisons
    assert found.difference == pytest.approx(0.05)
    assert found.error == pytest.approx(0.05 / math.sqrt(2), rel=1e-6)


def test_estimates_of_one_quantity_are_pooled() -> None:
    assert pooled([row(3, 1, 9)]) == row(3, 1, 9)
    found = pooled([estimate(1, 0.3), estimate(2, 0.4)])
    assert found["median"] == 1.5
    assert found["ci_high"] - found["ci_low"] == pytest.approx(2 * Z_1 * 0.25, rel=1e-6)
    unknown = pooled([estimate(1, 0.3), row(INFINITE, 0, INFINITE)])
    assert unknown == row(INFINITE, -INFINITE, INFINITE)


def test_a_ratio_by_hand() -> None:
    found = ratio(factor(0.6, 0.03), factor(0.2, 0.04))
    assert found["median"] == pytest.approx(3)
    assert found["ci_low"] == pytest.approx(3 * math.exp(-Z_1 * 0.05))
    assert found["ci_high"] == pytest.approx(3 * math.exp(Z_1 * 0.05))
    # Its width, not its place, is what an interval gives: a factor of 4 on both sides together.
    skewed = ratio(row(0.6, 0.5, 2.0), row(0.2, 0.2, 0.2))
    assert (skewed["ci_low"], skewed["ci_high"]) == (pytest.approx(1.5), pytest.approx(6))


def test_ratios_below_one() -> None:
    assert counts(below_one([factor(0.5, 0.1), factor(0.9, 0.1), factor(2, 0.1)], "")) == (3, 1, 1)


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
    assert counts(equivalent([(first, second)], "")) == (1, *alike_counts)
    np.testing.assert_array_equal([*ratio(first, second).values()], found)
    # The same from columns of numpy's numbers, which warn where Python's raise.
    table = pd.DataFrame([first, second])
    numbers = table.loc[0], table.loc[1]
    np.testing.assert_array_equal([*ratio(*numbers).values()], found)
    assert counts(equivalent([numbers], "")) == (1, *alike_counts)


ENDS = st.sampled_from([-INFINITE, 0.0, 1e-100, 0.05, 0.3, 2.0, 1e100, INFINITE])


@st.composite
def rows(draw: st.DrawFn) -> dict[str, float]:
    low, median, high = sorted(draw(st.tuples(ENDS, ENDS, ENDS)))
    return row(max(median, 0.0), low, max(high, 0.0))


@SEEDED
@given(st.lists(st.tuples(rows(), rows()), max_size=4))
def test_any_intervals_are_compared_without_a_warning(pairs: list[Any]) -> None:
    for outcome in (below(pairs, ""), equivalent(pairs, ""), within_tolerance(pairs, 0.05, "")):
        assert outcome.support + outcome.contradict <= len(pairs)
        assert all(0 <= p <= 1 for p in outcome.p_values)
        assert outcome.verdict in ("holds", "fails", "undecided", "depends on the margin")
    turned = [(second, first) for first, second in pairs]
    assert counts(equivalent(pairs, "")) == counts(equivalent(turned, ""))
    assert counts(within_tolerance(pairs, 0.05, "")) == counts(within_tolerance(turned, 0.05, ""))
    for pair in pairs:
        found = ratio(*pair)
        assert found["ci_low"] <= found["ci_high"]
        assert not found["median"] < found["ci_low"]


@SEEDED
@given(
    st.lists(st.tuples(st.floats(0.01, 1), st.floats(0.01, 1)), min_size=1, max_size=5),
    st.floats(0.001, 0.3),
    st.floats(1.01, 3),
)
def test_less_sure_intervals_decide_no_more(
    medians: list[tuple[float, float]], error: float, wider: float
) -> None:
    for test in (below, equivalent):
        sure, less = (
            test([(factor(a, e), factor(b, e)) for a, b in medians], "")
            for e in (error, error * wider)
        )
        assert less.support <= sure.support
        assert less.contradict <= sure.contradict


def test_numbers_by_name() -> None:
    assert listed({"a": 1 / 3, "b": 20.0}) == "a: 0.333, b: 20"


# -- how often chance decides ----------------------------------------------------------------------

TRIALS = 2000
RUNS = 400
# A test with false alarms at exactly 5 % has more than these once in 10,000 times.
MOST_ALARMS = int(stats.binom.isf(1e-4, TRIALS, LEVEL))
BEST, WORST = 0.1, 1.0
"""Medians that are told from .3 in every trial."""


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


def verdicts(generator: np.random.Generator, levels: Any, test: Any) -> list[str]:
    """Return the verdicts of a test on pairs of medians, trial by trial."""
    found = []
    for trial in medians(generator, levels):
        each = [row(*map(float, numbers)) for numbers in trial]
        found.append(test(list(zip(each[::2], each[1::2], strict=True)), "").verdict)
    return found


@pytest.mark.parametrize("comparisons", [1, 6])
def test_what_is_so_at_no_setting_seldom_fails_or_holds(comparisons: int) -> None:
    found = verdicts(np.random.default_rng(comparisons), [0.3] * 2 * comparisons, below)
    assert found.count("fails") <= MOST_ALARMS
    assert found.count("holds") <= MOST_ALARMS


def test_one_setting_where_it_is_not_so_seldom_lets_it_hold() -> None:
    # The worst case of an intersection-union test: all others are beyond doubt.
    found = verdicts(np.random.default_rng(3), [BEST, WORST] * 5 + [0.3, 0.3], below)
    assert found.count("holds") <= MOST_ALARMS
    assert found.count("undecided") >= TRIALS - 2 * MOST_ALARMS


@pytest.mark.parametrize("comparisons", [1, 6])
def test_medians_at_the_border_of_alike_are_seldom_decided(comparisons: int) -> None:
    levels = [0.3, 0.3 * SIMILAR] * comparisons
    found = verdicts(np.random.default_rng(comparisons + 50), levels, equivalent)
    assert found.count("fails") <= MOST_ALARMS
    assert found.count("holds") <= MOST_ALARMS


def test_the_detectable_difference_is_found_with_its_power() -> None:
    generator = np.random.default_rng(7)
    comparison = Comparison(0.0, 0.3)
    drawn = generator.normal(comparison.detectable, comparison.error, 10_000)
    found = sum(Outcome((Comparison(each, 0.3),), "").verdict == "holds" for each in drawn)
    # Once in 10,000 times a binomial with .8 is farther away.
    assert abs(found / 10_000 - 0.8) < 3.9 * 0.004


# -- few runs --------------------------------------------------------------------------------------


def of_runs(values: list[float]) -> dict[str, float]:
    """Return the row of a mean, as a study with few runs has it."""
    found = stats.ttest_1samp(values, 0.0)
    low, high = found.confidence_interval(0.95)
    return row(float(np.mean(values)), low, high) | {"freedom": len(values) - 1}


FEW, OTHERS = [0.2, 0.5, 0.3, 0.6, 0.4], [0.9, 1.4, 1.0]


def test_few_runs_are_held_against_a_number_by_students_test() -> None:
    (found,) = below([(exact_row(0.1), of_runs(FEW))], "").comparisons
    expected = stats.ttest_1samp(FEW, 0.1, alternative="greater")
    assert found.freedom == pytest.approx(4)
    assert found.p_value(1) == pytest.approx(expected.pvalue, rel=1e-9)
    assert found.interval == pytest.approx(
        tuple(end - 0.1 for end in (of_runs(FEW)["ci_low"], of_runs(FEW)["ci_high"]))
    )


def test_few_runs_are_compared_by_welchs_test() -> None:
    (found,) = below([(of_runs(FEW), of_runs(OTHERS))], "").comparisons
    expected = stats.ttest_ind(FEW, OTHERS, equal_var=False, alternative="less")
    assert found.freedom == pytest.approx(expected.df)
    assert found.p_value(1) == pytest.approx(expected.pvalue, rel=1e-9)
    power = stats.t.ppf(0.95, expected.df) + stats.t.ppf(0.8, expected.df)
    assert found.detectable == pytest.approx(power * found.error)


def test_a_ratio_of_few_runs_keeps_their_freedom() -> None:
    found = ratio(of_runs(FEW), exact_row(1.0))
    assert found["freedom"] == pytest.approx(4)
    (again,) = below([(exact_row(0.0), found)], "").comparisons
    (log,) = below_one([of_runs(FEW)], "").comparisons
    assert again.freedom == pytest.approx(log.freedom)


def test_the_worst_comparison_is_one_that_says_something() -> None:
    nothing = Comparison(0.0, math.inf)
    assert Outcome((nothing, Comparison(1.0, 2.0)), "").worst == Comparison(1.0, 2.0)
    assert Outcome((nothing,), "").worst is None
