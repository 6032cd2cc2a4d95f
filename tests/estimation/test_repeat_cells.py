"""Numbers of repetitions: exact totals, cells as close as whole records allow."""

import re
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from deniable.errors import DeniableError
from deniable.estimation.simplex import repeat_cells

SEEDED = settings(deadline=None, max_examples=150, derandomize=True)
parts = st.lists(st.integers(0, 20), min_size=1, max_size=12).filter(any)


def largest_remainders(shares: list[Fraction], records: int) -> list[int]:
    exact = [records * share for share in shares]
    times = [int(value) for value in exact]
    by_remainder = sorted(range(len(exact)), key=lambda cell: times[cell] - exact[cell])
    for cell in by_remainder[: records - sum(times)]:
        times[cell] += 1
    return times


@SEEDED
@given(parts, st.integers(1, 500))
def test_cells_are_those_of_largest_remainders_in_fractions(weights: list[int], n: int) -> None:
    shares = [Fraction(weight, sum(weights)) for weight in weights]
    times = repeat_cells([float(share) for share in shares], n)
    assert times.tolist() == largest_remainders(shares, n)
    assert times.sum() == n
    for count, share in zip(times.tolist(), shares, strict=True):
        assert abs(count - n * share) < 1
        assert share or not count
    by_share = [count for _, count in sorted(zip(shares, times.tolist(), strict=True))]
    assert all(one <= other for one, other in pairwise(by_share))


@pytest.mark.parametrize(
    ("proportions", "records", "times"),
    [
        ([0.25] * 4, 6, [2, 2, 1, 1]),
        ([0.5, 0.5], 1, [1, 0]),
        # In floating point .3 * 10 and .1 * 3 * 10 differ, although their remainders are equal.
        ([0.1 * 3, 0.3, 0.4], 5, [2, 1, 2]),
        ([0.3, 0.1 * 3, 0.4], 5, [2, 1, 2]),
        ([1.0], 7, [7]),
        ([0.0, 1.0, 0.0], 3, [0, 3, 0]),
        ([[0.4, 0.1], [0.3, 0.2]], 10, [[4, 1], [3, 2]]),
    ],
)
def test_equal_remainders_go_to_the_first_cell(proportions: Any, records: int, times: Any) -> None:
    found = repeat_cells(proportions, records)
    assert found.tolist() == times
    assert found.dtype == np.int64


def test_a_distribution_of_rounded_numbers_is_taken() -> None:
    assert repeat_cells([0.333333333, 0.333333333, 0.333333333], 9).tolist() == [3, 3, 3]


@pytest.mark.parametrize(
    ("proportions", "records", "said"),
    [
        ([0.5, 0.5], 0, "0 synthetic records are requested; request at least 1"),
        ([0.5, 0.5], -1, "-1 synthetic records"),
        ([0.5, 0.6], 5, "the proportions are not a distribution (not negative"),
        ([1.5, -0.5], 5, "project the estimate first"),
        ([0.5, np.nan], 5, "the proportions are not a distribution"),
        ([], 5, "the proportions are not a distribution"),
    ],
)
def test_what_does_not_fit_is_refused(proportions: Any, records: int, said: str) -> None:
    with pytest.raises(DeniableError, match=re.escape(said)):
        repeat_cells(proportions, records)
