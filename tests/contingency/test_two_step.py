"""The two-step estimate: the closed form against the printed program, and against fractions."""

import time
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from deniable.contingency.programs import nearest_table_by_program
from deniable.contingency.two_step import Independence, nearest_tables, two_step_estimate
from deniable.errors import DeniableError

SEEDED = settings(deadline=None, max_examples=60, derandomize=True)
tables = st.lists(st.floats(-50, 100), min_size=1, max_size=8).map(np.array)


def test_by_hand_in_fractions() -> None:
    # 6, -2, 2, 2 to total 8: three cells stay, each loses 2/3.
    exact = [Fraction(16, 3), Fraction(0), Fraction(4, 3), Fraction(4, 3)]
    np.testing.assert_allclose(
        nearest_tables([6.0, -2, 2, 2], 8), [float(x) for x in exact], atol=1e-12
    )
    # 10, 4, 3 to total 20: each cell gains 1.
    np.testing.assert_allclose(nearest_tables([10.0, 4, 3], 20), [11, 5, 4], atol=1e-12)


@pytest.mark.parametrize("gamma", [0.0, 0.01, 0.5, 0.99])
def test_the_closed_form_solves_the_printed_program(gamma: float) -> None:
    rng = np.random.default_rng(4)
    noisy = rng.normal(40, 60, (12, 8))
    closed = nearest_tables(noisy, 320)
    for table, found in zip(noisy, closed, strict=True):
        np.testing.assert_allclose(nearest_table_by_program(table, 320, gamma), found, atol=1e-6)


def test_the_closed_form_has_the_least_absolute_distance_too() -> None:
    rng = np.random.default_rng(5)
    for table in rng.normal(40, 60, (12, 8)):
        by_linear_program = nearest_table_by_program(table, 320, gamma=1.0)
        least = np.abs(by_linear_program - table).sum()
        assert np.abs(nearest_tables(table, 320) - table).sum() == pytest.approx(least, abs=1e-5)


@SEEDED
@given(tables, st.floats(0.5, 1000))
def test_no_table_of_that_total_is_closer(table: np.ndarray, total: float) -> None:
    found = nearest_tables(table, total)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(total, rel=1e-9)
    # The optimum of a projection: no feasible direction turns towards the noisy table.
    slopes = table - found
    assert (slopes @ found) >= total * slopes.max() - 1e-6 * (1 + np.abs(table).max()) * total


def test_each_table_of_a_batch_by_itself_and_with_its_own_total() -> None:
    rng = np.random.default_rng(6)
    noisy, totals = rng.normal(5, 10, (3, 4, 6)), rng.uniform(10, 50, (3, 4))
    found = nearest_tables(noisy, totals)
    for index in np.ndindex(3, 4):
        np.testing.assert_allclose(
            found[index], nearest_tables(noisy[index], totals[index]), atol=1e-12
        )


def test_a_hundred_thousand_tables_in_half_a_second() -> None:
    noisy = np.random.default_rng(7).normal(40, 60, (100_000, 8))
    nearest_tables(noisy[:10], 320)
    start = time.process_time()
    nearest_tables(noisy, 320)
    assert time.process_time() - start < 0.5


def test_step_two_fits_the_nearest_tables() -> None:
    noisy = np.random.default_rng(8).normal(20, 20, (5, 8))
    model = Independence((2, 2, 2))
    nearest, fitted = two_step_estimate(noisy, 160, model)
    np.testing.assert_array_equal(nearest, nearest_tables(noisy, 160))
    np.testing.assert_array_equal(fitted, model.fit(nearest))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: nearest_tables([1.0, 2], 0), "finite and positive"),
        (lambda: nearest_tables(3.0, 1), "at least one cell"),
        (lambda: nearest_tables([1.0, np.nan], 3), "not finite"),
        (lambda: nearest_table_by_program(np.ones(3), 3, 1.5), "gamma is 1.5"),
        (lambda: nearest_table_by_program(np.ones((2, 2)), 3), "one noisy table"),
    ],
)
def test_refusals(call: object, message: str) -> None:
    with pytest.raises(DeniableError, match=message):
        call()  # type: ignore[operator]
