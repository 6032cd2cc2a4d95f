"""Bounds of text 003, sections 2.3 and 3.3."""

import numpy as np
import pytest
from scipy import stats

from deniable.error_bounds import best_case_relative_error, root_b
from deniable.errors import DeniableError


@pytest.mark.parametrize("categories", [1, 2, 5, 10, 100, 10_000, 10**6])
@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.1])
def test_root_b_is_the_root_of_the_upper_percentile(categories, alpha):
    expected = np.sqrt(stats.chi2.isf(alpha / categories, 1))
    assert root_b(categories, alpha) == pytest.approx(expected, rel=1e-12)
    assert root_b(categories, alpha) == pytest.approx(
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
        root_b(categories, alpha)
    with pytest.raises(DeniableError, match="records must be at least 1, not 0"):
        best_case_relative_error(5, 0)
