"""Bounds of [multirr], sections 2.3, 3.2 and 3.3."""

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

from deniable.errors import DeniableError
from deniable.estimation.error_bounds import (
    absolute_error,
    accuracy_analysis,
    best_case_relative_error,
    bonferroni_critical_value,
    enough_records,
    records_needed,
    relative_error,
)

# A test of coverage fails by chance once in a million runs: 4.75 standard deviations on one side.
Z_ONE_IN_A_MILLION = 4.753424
reproducible = settings(deadline=None, derandomize=True)
ADULT = (9, 16, 7, 15, 6, 5, 2, 2)


@pytest.mark.parametrize("categories", [1, 2, 5, 10, 100, 10_000, 10**6, 10**15, 10**100])
@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.1])
def test_root_b_is_the_root_of_the_upper_percentile(categories, alpha):
    expected = np.sqrt(stats.chi2.isf(alpha / categories, 1))
    assert bonferroni_critical_value(categories, alpha) == pytest.approx(expected, rel=1e-12)
    assert bonferroni_critical_value(categories, alpha) == pytest.approx(
        stats.norm.isf(alpha / categories / 2), rel=1e-9
    )


def test_best_case_relative_error_by_hand():
    # r = 2, alpha = .05: z at .0125 = 2.241403; n = 100: 2.241403 * sqrt(1 / 100).
    assert best_case_relative_error(2, 100) == pytest.approx(0.2241403, rel=1e-6)
    assert best_case_relative_error(1, 100) == 0
    # Four times the records, half the error.
    assert best_case_relative_error(50, 400) == pytest.approx(best_case_relative_error(50, 100) / 2)


@pytest.mark.parametrize(("categories", "alpha"), [(0, 0.05), (5, 0.0), (5, 1.0), (5, np.nan)])
def test_what_has_no_bound(categories, alpha):
    with pytest.raises(DeniableError, match=f"not {categories} and {alpha}"):
        bonferroni_critical_value(categories, alpha)
    with pytest.raises(DeniableError, match="records must be at least 1, not 0"):
        best_case_relative_error(5, 0)


# Upper percentiles of the chi-square with 1 degree of freedom, as tables print them.
B = {0.05: 3.841, 0.025: 5.024, 0.01: 6.635, 0.005: 7.879, 0.001: 10.828}


@pytest.mark.parametrize(
    ("proportions", "records", "alpha", "absolute", "relative"),
    [
        # alpha / r = .025; .5 * .5 / 100; .5 / .5 / 100.
        ([0.5, 0.5], 100, 0.05, math.sqrt(B[0.025] * 0.0025), math.sqrt(B[0.025] * 0.01)),
        # alpha / r = .01; the largest of .3 * .7, .2 * .8, .1 * .9; .9 / .1.
        ([0.1, 0.2, 0.3, 0.2, 0.2], 400, 0.05, math.sqrt(6.635 * 0.21 / 400), 0.386377),
        # alpha / r = .025 and .05.
        ([0.9, 0.1], 900, 0.1, math.sqrt(B[0.05] * 0.09 / 900), math.sqrt(B[0.05] * 9 / 900)),
        # alpha / r = .001.
        ([0.1] * 10, 90, 0.01, math.sqrt(B[0.001] * 0.001), math.sqrt(B[0.001] / 10)),
        ([1.0], 7, 0.05, 0, 0),
    ],
)
def test_errors_by_hand(proportions, records, alpha, absolute, relative):
    assert absolute_error(proportions, records, alpha) == pytest.approx(absolute, rel=1e-4)
    assert relative_error(proportions, records, alpha) == pytest.approx(relative, rel=1e-4)


def test_a_proportion_of_zero_has_no_relative_error():
    assert relative_error([0.5, 0.5, 0.0], 10**9) == math.inf
    # (5) is that of .5 among 3 categories.
    assert absolute_error([0.5, 0.5, 0.0], 100) == pytest.approx(
        bonferroni_critical_value(3) * 0.05, rel=1e-15
    )
    # 1 - 1 + rounding is no negative proportion.
    assert relative_error([1 + 1e-12], 10) == 0


distributions = st.lists(st.integers(1, 50), min_size=1, max_size=12).map(
    lambda weights: np.array(weights) / sum(weights)
)


@reproducible
@given(distributions, st.integers(1, 10**6), st.floats(0.001, 0.5))
def test_what_holds_for_any_proportions(proportions, records, alpha):
    absolute = absolute_error(proportions, records, alpha)
    relative = relative_error(proportions, records, alpha)
    assert 0 <= absolute <= relative
    # Equal frequencies are the best case of (6), and the order of categories means nothing.
    size = proportions.size
    assert relative >= best_case_relative_error(size, records, alpha) * (1 - 1e-12)
    assert relative_error(proportions[::-1], records, alpha) == relative
    assert absolute_error(proportions[::-1], records, alpha) == absolute
    assert absolute_error(proportions, 4 * records, alpha) == pytest.approx(absolute / 2)
    assert absolute_error(proportions, records, alpha / 2) >= absolute


@reproducible
@given(st.integers(1, 10**6), st.integers(1, 10**6), st.floats(0.001, 0.5))
def test_at_equal_frequencies_the_relative_error_is_the_best_case(categories, records, alpha):
    size = categories % 500 + 1
    assert relative_error(np.full(size, 1 / size), records, alpha) == pytest.approx(
        best_case_relative_error(size, records, alpha), rel=1e-9
    )


# -- coverage --------------------------------------------------------------------------------------


def within(observed: np.ndarray, truth: np.ndarray, half_widths: np.ndarray | float) -> float:
    return float((np.abs(observed - truth) <= half_widths).all(axis=1).mean())


@pytest.mark.parametrize(
    ("proportions", "records"),
    [
        (np.full(10, 0.1), 10_000),
        (np.full(2, 0.5), 1000),
        (np.array([0.5, 0.3, 0.15, 0.05]), 5000),
        (np.array([0.9, 0.06, 0.03, 0.01]), 20_000),
    ],
)
def test_simultaneous_intervals_cover(proportions, records):
    # Definition 1: all proportions at once, in at least 95 % of 10,000 samples, up to what these
    # decide, once in a million.
    draws = 10_000
    observed = np.random.default_rng(23).multinomial(records, proportions, draws) / records
    slack = Z_ONE_IN_A_MILLION * math.sqrt(0.05 * 0.95 / draws)
    half_width = absolute_error(proportions, records)
    assert within(observed, proportions, half_width) >= 0.95 - slack
    # (6) is relative to the proportions themselves.
    relative = relative_error(proportions, records)
    assert within(observed, proportions, relative * proportions) >= 0.95 - slack
    # Nor is the bound idle: three quarters of it are not enough at equal frequencies.
    if proportions.min() == proportions.max():
        assert within(observed, proportions, 0.75 * half_width) < 0.95 - slack


def test_the_intervals_of_definition_2_need_more_than_bound_6():
    # Definition 2 multiplies the estimate, not the truth: an estimate e below the truth must reach
    # up to it, which takes e / (1 - e). Ten records a cell: the stated 95 % are below 10 %.
    def coverage(size: int, records: int, error: float, draws: int = 4000) -> float:
        generator = np.random.default_rng(29)
        observed = generator.multinomial(records, np.full(size, 1 / size), draws) / records
        holds = ((1 - error) * observed <= 1 / size) & (1 / size <= (1 + error) * observed)
        return float(holds.all(axis=1).mean())

    slack = Z_ONE_IN_A_MILLION * math.sqrt(0.05 * 0.95 / 4000)
    few = best_case_relative_error(100, 1000)
    assert few > 1
    assert coverage(100, 1000, few) < 0.1
    error = best_case_relative_error(10, 10_000)
    assert coverage(10, 10_000, error) < 0.95
    assert coverage(10, 10_000, error / (1 - error)) >= 0.95 - slack
    many = best_case_relative_error(100, 10_000)
    assert coverage(100, 10_000, many) < 0.75
    # Small counts are not normal: what covers as stated at 100 records a cell falls just short.
    assert coverage(100, 10_000, many / (1 - many)) > 0.9


# -- bound (7) -------------------------------------------------------------------------------------


def test_how_many_records_are_enough():
    assert enough_records(100, 1000)
    assert not enough_records(100, 999)
    assert enough_records(100, 100, factor=1)
    assert enough_records(30, 33, factor=1.1)  # 29.999999999999996 records a cell in floats
    assert not enough_records(10**400, 10**9)
    # The text, 3.2: with a record a cell the relative error is about sqrt(B), over 200 %.
    for cells in (10, 1000, 10**6):
        found = best_case_relative_error(cells, cells)
        assert found == pytest.approx(
            bonferroni_critical_value(cells) * math.sqrt(1 - 1 / cells), rel=1e-12
        )
        assert found > 2
    # Ten a cell: still about sqrt(B / 10).
    assert best_case_relative_error(10, 100) == pytest.approx(0.842, abs=5e-4)
    assert best_case_relative_error(1000, 10_000) > 1.2


def test_records_needed_by_hand():
    # B (r - 1) / error^2 with B = 5.0239: 502.4; with B = 6.6349: 4 * 6.6349 / .0625 = 424.6.
    assert records_needed(2, 0.1) == 503
    assert records_needed(5, 0.25) == 425
    assert records_needed(1, 0.1) == 1
    # 3.3: all cells of Adult's eight attributes to 10 %.
    assert records_needed(1_814_400, 0.1) == pytest.approx(5.6013e9, rel=1e-4)


@reproducible
@given(st.integers(1, 10**7), st.integers(1, 10**7), st.floats(0.001, 0.5))
def test_records_needed_is_the_inverse(categories, records, alpha):
    error = best_case_relative_error(categories, records, alpha)
    if error >= 1e-9:
        assert records_needed(categories, error, alpha) == records
    needed = records_needed(categories, 0.1, alpha)
    assert best_case_relative_error(categories, needed, alpha) <= 0.1 * (1 + 1e-12)
    if needed > 1:
        assert best_case_relative_error(categories, needed - 1, alpha) > 0.1


# -- 3.3 -------------------------------------------------------------------------------------------


def test_accuracy_analysis_by_hand():
    # Attributes of 2 and 5: B at .025 and .01, (r - 1) of 1 and 4; joint of 10: B at .005, 9.
    found = accuracy_analysis([2, 5], 400)
    assert found.relative_error_independent == pytest.approx(math.sqrt(6.635 * 4 / 400), rel=1e-4)
    assert found.widest == 1
    assert found.relative_error_joint == pytest.approx(math.sqrt(7.879 * 9 / 400), rel=1e-4)
    assert found.ratio == pytest.approx(math.sqrt(7.879 * 9 / 6.635 / 4), rel=1e-4)
    # The first of those that attain it.
    assert accuracy_analysis([2, 5, 5], 400).widest == 1
    trivial = accuracy_analysis([1, 1], 10)
    assert (trivial.relative_error_joint, trivial.ratio) == (0, 1)


def test_accuracy_analysis_of_adult():
    found = accuracy_analysis(ADULT, 32_561)
    assert ADULT[found.widest] == 16
    # z at .05 / 16 / 2 = 2.955166, times sqrt(15 / 32561); z at .05 / 1814400 / 2 = 5.556287.
    assert found.relative_error_independent == pytest.approx(0.0634280, rel=1e-5)
    assert found.relative_error_joint == pytest.approx(41.4765, rel=1e-5)


@reproducible
@given(st.lists(st.integers(1, 20), min_size=1, max_size=8), st.integers(1, 10**6))
def test_joint_is_never_better(sizes, records):
    found = accuracy_analysis(sizes, records)
    assert found.ratio >= 1
    single = [relative_error(np.full(size, 1 / size), records) for size in sizes]
    assert found.relative_error_independent == pytest.approx(max(single), abs=1e-6)
    assert single[found.widest] == pytest.approx(max(single), abs=1e-6)
    more = accuracy_analysis([*sizes, 2], records)
    assert more.relative_error_joint > found.relative_error_joint
    assert accuracy_analysis(sizes[::-1], records).ratio == pytest.approx(found.ratio)


# -- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "proportions", [[], [[0.5, 0.5]], [0.5, 0.6], [1.5, -0.5], [0.5, np.nan], [np.inf, 0.0], 1.0]
)
def test_what_is_no_distribution(proportions):
    for error in (absolute_error, relative_error):
        with pytest.raises(DeniableError, match="must be one distribution"):
            error(proportions, 100)


def test_other_refusals():
    for error in (absolute_error, relative_error):
        with pytest.raises(DeniableError, match="records must be at least 1, not 0"):
            error([0.5, 0.5], 0)
        with pytest.raises(DeniableError, match=r"not 2 and 1\.5"):
            error([0.5, 0.5], 10, 1.5)
    with pytest.raises(DeniableError, match=r"not 2 and 1\.5"):
        relative_error([1.0, 0.0], 10, 1.5)
    for bad in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(DeniableError, match=f"must be in .1e-9, inf., not {bad}"):
            records_needed(5, bad)
        with pytest.raises(DeniableError, match=f"not 5 and {bad}"):
            enough_records(5, 10, bad)
    with pytest.raises(DeniableError, match="not 0 and 10"):
        enough_records(0, 10)
    with pytest.raises(DeniableError, match="records must be at least 1, not 0"):
        enough_records(5, 0)
    with pytest.raises(DeniableError, match="there are no attributes to analyse"):
        accuracy_analysis([], 10)
    with pytest.raises(DeniableError, match="take fewer attributes together"):
        accuracy_analysis([10] * 300, 10)
