"""Log-linear models: closed forms, raking against statsmodels-free references, dimensions."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from deniable.contingency.log_linear import LogLinearModel, effect_columns
from deniable.errors import DeniableError

SEEDED = settings(deadline=None, max_examples=60, derandomize=True)
shapes = st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple)


def some_tables(shape: tuple[int, ...], number: int = 5, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).gamma(1.0, 20.0, (number, int(np.prod(shape))))


def plain_raking(table: np.ndarray, margins: tuple[tuple[int, ...], ...]) -> np.ndarray:
    """One table, one margin after the other, a fixed number of sweeps."""
    fitted = np.ones_like(table)
    for _ in range(500):
        for margin in margins:
            others = tuple(a for a in range(table.ndim) if a not in margin)
            fitted *= table.sum(axis=others, keepdims=True) / fitted.sum(axis=others, keepdims=True)
    return fitted


def test_independence_by_hand() -> None:
    # Rows 4 and 6, columns 3 and 7, of 10.
    exact = [Fraction(12, 10), Fraction(28, 10), Fraction(18, 10), Fraction(42, 10)]
    found = LogLinearModel.independence((2, 2)).fit([1.0, 3.0, 2.0, 4.0])
    np.testing.assert_allclose(found, [float(x) for x in exact], rtol=1e-12)


def test_conditional_independence_has_a_closed_form() -> None:
    table = some_tables((2, 3, 4), 1)[0].reshape(2, 3, 4)
    model = LogLinearModel((2, 3, 4), ((0, 1), (1, 2)))
    exact = table.sum(2)[:, :, None] * table.sum(0)[None] / table.sum((0, 2))[None, :, None]
    np.testing.assert_allclose(model.fit(table.reshape(-1)), exact.reshape(-1), rtol=1e-11)
    assert model.degrees_of_freedom == 3 * (2 - 1) * (4 - 1)


@pytest.mark.parametrize("shape", [(2, 2, 2), (2, 3, 4), (2, 2, 2, 2)])
def test_raking_over_a_batch_is_plain_raking(shape: tuple[int, ...]) -> None:
    model = LogLinearModel(shape, tuple(combinations(range(len(shape)), 2)))
    tables = some_tables(shape)
    for table, found in zip(tables, model.fit(tables), strict=True):
        plain = plain_raking(table.reshape(shape), model.margins).reshape(-1)
        np.testing.assert_allclose(found, plain, rtol=1e-8)


def test_no_three_way_interaction_is_what_is_left_out() -> None:
    fitted = LogLinearModel((2, 2, 2), ((0, 1), (0, 2), (1, 2))).fit(some_tables((2, 2, 2)))
    t = fitted.reshape(-1, 2, 2, 2)
    odds = t[:, 0, 0] * t[:, 1, 1] / (t[:, 0, 1] * t[:, 1, 0])
    np.testing.assert_allclose(odds[:, 0], odds[:, 1], rtol=1e-9)


@SEEDED
@given(shapes)
def test_fits_keep_margins_and_totals(shape: tuple[int, ...]) -> None:
    tables = some_tables(shape)
    models = [LogLinearModel.independence(shape)]
    if len(shape) > 2:
        models.append(LogLinearModel(shape, tuple(combinations(range(len(shape)), 2))))
        rest = tuple(range(2, len(shape)))
        models.append(LogLinearModel(shape, ((1, *rest), (0, *rest))))
    for model in models:
        fitted = model.fit(tables)
        np.testing.assert_allclose(fitted.sum(1), tables.sum(1), rtol=1e-10)
        for margin in model.margins:
            np.testing.assert_allclose(
                model.margin(fitted, margin), model.margin(tables, margin), rtol=1e-8
            )
        # A fit lies in the model: its logarithm is a constant and the design's columns.
        log = np.log(fitted)
        left = log - log.mean(1, keepdims=True) - (log @ model.design) @ model.design.T
        assert np.abs(left).max() < 1e-7


@SEEDED
@given(shapes)
def test_designs_are_orthonormal_and_of_the_stated_size(shape: tuple[int, ...]) -> None:
    model = LogLinearModel.independence(shape)
    design = model.design
    parameters = model.cells - 1 - model.degrees_of_freedom
    assert design.shape == (model.cells, parameters)
    np.testing.assert_allclose(design.T @ design, np.eye(parameters), atol=1e-12)
    np.testing.assert_allclose(design.sum(0), 0, atol=1e-12)
    assert model.degrees_of_freedom == np.prod(shape) - 1 - sum(s - 1 for s in shape)


def test_contrasts() -> None:
    for size in (1, 2, 5):
        c = effect_columns((size,), (0,), (1.0,))
        np.testing.assert_allclose(c.T @ c, np.eye(size - 1), atol=1e-14)
        np.testing.assert_allclose(c.sum(0), 0, atol=1e-14)


def test_empty_margins_and_empty_tables_stay_empty() -> None:
    model = LogLinearModel((2, 2, 2), ((0, 1), (0, 2), (1, 2)))
    table = np.array([0.0, 0, 5, 5, 0, 0, 5, 10])
    fitted = model.fit([table, np.zeros(8)])
    assert fitted[0, [0, 1, 4, 5]].tolist() == [0, 0, 0, 0]
    np.testing.assert_allclose(fitted[0], table, atol=1e-9)
    assert fitted[1].tolist() == [0] * 8
    assert LogLinearModel.independence((2, 2)).fit(np.zeros(4)).tolist() == [0] * 4


def test_raking_that_does_not_arrive_says_how_far_it_is() -> None:
    model = LogLinearModel((2, 2, 2), ((0, 1), (0, 2), (1, 2)))
    with pytest.warns(
        RuntimeWarning, match="5 of 5 tables have errors of up to .* allow more sweeps"
    ):
        model.fit(some_tables((2, 2, 2)), sweeps=1)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: LogLinearModel((), ()), "has no cells"),
        (lambda: LogLinearModel((2, 2), ((0, 2), (1,))), r"the marginal \(0, 2\) does not fit"),
        (lambda: LogLinearModel((2, 2), ((0,),)), "no marginal of the model has the attribute 1"),
        (lambda: LogLinearModel.independence((2, 2)).fit([1.0, 2, 3]), "do not fit a model of 4"),
        (lambda: LogLinearModel.independence((2, 2)).fit([1.0, -2, 3, 4]), "not negative"),
    ],
)
def test_refusals(build: object, message: str) -> None:
    with pytest.raises(DeniableError, match=message):
        build()  # type: ignore[operator]
