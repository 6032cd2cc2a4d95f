"""Bounds of [multirr], sections 2.3, 3.2 and 3.3."""

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

from deniable.errors import DeniableError
from deniable.estimation.error_bounds import (
    best_case_relative_error,
    bonferroni_critical_value,
    records_needed,
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


# -- coverage --------------------------------------------------------------------------------------


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


def test_relative_errors_of_adult():
    # z at .05 / 16 / 2 = 2.955166, times sqrt(15 / 32561); z at .05 / 1814400 / 2 = 5.556287.
    assert best_case_relative_error(16, 32_561) == pytest.approx(0.0634280, rel=1e-5)
    assert best_case_relative_error(math.prod(ADULT), 32_561) == pytest.approx(41.4765, rel=1e-5)


# -- refusals --------------------------------------------------------------------------------------


def test_other_refusals():
    for bad in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(DeniableError, match=f"must be in .1e-9, inf., not {bad}"):
            records_needed(5, bad)
    with pytest.raises(DeniableError, match="records must be at least 1, not 0"):
        best_case_relative_error(5, 0)
    with pytest.raises(DeniableError, match="combine fewer attributes"):
        best_case_relative_error(10**300, 10)
