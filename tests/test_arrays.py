"""Thresholds that rounding must not decide."""

import math
from fractions import Fraction

import numpy as np
from hypothesis import given, settings, strategies as st

from deniable.arrays import ROUNDING, at_least


@settings(deadline=None, derandomize=True)
@given(st.integers(1, 10**6), st.integers(1, 10**4), st.integers(1, 1000))
def test_it_decides_as_fractions_do(whole: int, parts: int, times: int) -> None:
    # Shares of a whole, summed up or scaled, against what they exactly come to and one more.
    share = Fraction(whole, parts)
    computed = math.fsum([float(share) / 3] * 3) * times * 0.1
    exact = share * times / 10
    assert at_least(computed, float(exact))
    assert at_least(float(exact), computed)
    assert not at_least(computed, float(exact) * (1 + 3 * ROUNDING))
    assert not at_least(-computed * (1 + 3 * ROUNDING), -float(exact))


def test_what_is_no_number_is_at_least_nothing() -> None:
    found = at_least([math.nan, 1.0, 1.0, -math.inf], [0.0, math.nan, math.inf, 0.0])
    assert found.tolist() == [False, False, False, False]
    assert at_least([math.inf, math.inf, 1.0], [1.0, math.inf, -math.inf]).all()
    assert np.ndim(at_least(1, 1)) == 0
