"""P-values that are adjusted for many tests at once."""

import math

import numpy as np
from hypothesis import given, strategies as st
from scipy import stats

from deniable.contingency import benjamini_hochberg, holm

P_VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=20)


@given(P_VALUES)
def test_adjusted_p_values(p_values: list[float]) -> None:
    found = benjamini_hochberg(p_values)
    np.testing.assert_allclose(found, stats.false_discovery_control(p_values), atol=1e-12)
    stepped = holm(p_values)
    assert np.all(stepped >= found - 1e-12)
    assert np.all(stepped <= np.minimum(1, len(p_values) * np.array(p_values)) + 1e-12)
    order = np.argsort(p_values, kind="stable")
    assert np.all(np.diff(stepped[order]) >= 0)
    with_none = holm([*p_values, math.nan])
    np.testing.assert_array_equal(with_none[:-1], stepped)
    assert math.isnan(with_none[-1])


def test_holm_worked_by_hand() -> None:
    np.testing.assert_allclose(
        holm([0.01, 0.02, 0.02, 0.9]), [0.04, 0.06, 0.06, 0.9], rtol=0, atol=1e-12
    )
