"""The model of independence: closed form, marginals, dimensions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from deniable.contingency.two_step import Independence, effect_columns
from deniable.errors import DeniableError

SEEDED = settings(deadline=None, max_examples=60, derandomize=True)
shapes = st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple)


def some_tables(shape: tuple[int, ...], number: int = 5, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).gamma(1.0, 20.0, (number, int(np.prod(shape))))


def test_independence_by_hand() -> None:
    # Rows 4 and 6, columns 3 and 7, of 10.
    exact = [Fraction(12, 10), Fraction(28, 10), Fraction(18, 10), Fraction(42, 10)]
    found = Independence((2, 2)).fit([1.0, 3.0, 2.0, 4.0])
    np.testing.assert_allclose(found, [float(x) for x in exact], rtol=1e-12)


@SEEDED
@given(shapes)
def test_fits_keep_margins_and_totals(shape: tuple[int, ...]) -> None:
    tables = some_tables(shape)
    model = Independence(shape)
    fitted = model.fit(tables)
    np.testing.assert_allclose(fitted.sum(1), tables.sum(1), rtol=1e-10)
    for axis in range(len(shape)):
        kept = tables.reshape(-1, *shape).swapaxes(1, axis + 1).reshape(5, shape[axis], -1).sum(2)
        np.testing.assert_allclose(model.margin(fitted, axis), kept, rtol=1e-8)
        np.testing.assert_allclose(model.margin(tables, axis), kept, rtol=1e-12)
    # A fit lies in the model: its logarithm is a constant and the design's columns.
    log = np.log(fitted)
    left = log - log.mean(1, keepdims=True) - (log @ model.design) @ model.design.T
    assert np.abs(left).max() < 1e-7


@SEEDED
@given(shapes)
def test_designs_are_orthonormal_and_of_the_stated_size(shape: tuple[int, ...]) -> None:
    model = Independence(shape)
    design = model.design
    parameters = model.cells - 1 - model.degrees_of_freedom
    assert design.shape == (model.cells, parameters)
    np.testing.assert_allclose(design.T @ design, np.eye(parameters), atol=1e-12)
    np.testing.assert_allclose(design.sum(0), 0, atol=1e-12)
    assert model.degrees_of_freedom == np.prod(shape) - 1 - sum(s - 1 for s in shape)


def test_contrasts() -> None:
    for size in (1, 2, 5):
        c = effect_columns((size,), [(0,)], (1.0,))
        np.testing.assert_allclose(c.T @ c, np.eye(size - 1), atol=1e-14)
        np.testing.assert_allclose(c.sum(0), 0, atol=1e-14)


def test_empty_margins_and_empty_tables_stay_empty() -> None:
    fitted = Independence((2, 3)).fit([[0.0, 2, 6, 0, 1, 3], [0.0] * 6])
    assert fitted[0, [0, 3]].tolist() == [0, 0]
    np.testing.assert_allclose(fitted[0], [0.0, 2, 6, 0, 1, 3], atol=1e-9)
    assert fitted[1].tolist() == [0] * 6


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Independence(()), "has no cells"),
        (lambda: Independence((2, 0)), "has no cells"),
        (lambda: Independence((2, 2)).fit([1.0, 2, 3]), "do not fit a model of 4"),
        (lambda: Independence((2, 2)).fit([1.0, -2, 3, 4]), "not negative"),
    ],
)
def test_refusals(build: object, message: str) -> None:
    with pytest.raises(DeniableError, match=message):
        build()  # type: ignore[operator]
