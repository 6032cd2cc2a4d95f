"""Fit the model of independence, also to noisy tables: two-step maximum likelihood.

The fitted table is the maximum-likelihood estimate under multinomial sampling.

**Two-step maximum likelihood** ([rrba], section 6, (7)) estimates tables from noisy ones. Step one
finds the table of counts closest to a noisy one: non-negative, with the stated total. Step two fits
the model to that table as if it had been observed.

Step one minimizes gamma |T - T'|_1 + (1 - gamma) |T - T'|_2^2. For every gamma < 1 its only
solution is the Euclidean projection on the simplex with that total, so gamma has no effect.
*Proof:* the projection adds one number to all cells and replaces negative results by 0. If the
number is positive or zero, no cell falls, and |T - T'|_1 = n - sum T', the least for a table of
total n. If it is negative, cells of T' below 0 rise to 0, and no other cell rises. So the sum of
the increases is the least of any non-negative table. As the total is given, so is the sum of the
decreases. Hence the projection minimizes both norms, and for the second it is the only minimum. For
gamma = 1 it is one of several solutions.
"""

import math
import string
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import scipy

from deniable.arrays import Floats
from deniable.errors import DeniableError, named_types
from deniable.estimation import euclidean_projection

Item = TypeVar("Item", int, str)


@dataclass(frozen=True)
class Independence:
    """The model of mutual independence of all attributes of a table.

    `shape` has the number of categories of each attribute. Raises `DeniableError` if there are no
    attributes, or one has no category.

    Examples
    --------
    >>> Independence((2, 3)).degrees_of_freedom
    2
    """

    shape: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.shape or min(self.shape) < 1:
            raise DeniableError(
                f"a table of shape {self.shape} has no cells; give each attribute a category"
            )

    @property
    def cells(self) -> int:
        """Number of cells of a table."""
        return math.prod(self.shape)

    @property
    def degrees_of_freedom(self) -> int:
        """Number of parameters of the interactions, which this model lacks."""
        return self.cells - 1 - sum(size - 1 for size in self.shape)

    @cached_property
    def design(self) -> Floats:
        """Orthonormal columns that, with a constant, span the logarithms of the model's tables.

        The shape is (cells, parameters).
        """
        axes = [(axis,) for axis in range(len(self.shape))]
        return effect_columns(self.shape, axes, [size**-0.5 for size in self.shape])

    def margin(self, tables: npt.ArrayLike, axis: int) -> Floats:
        """Return the marginal of the attribute at the position `axis` for each of `tables`.

        The shape (..., cells) becomes (..., categories).
        """
        values = self._batch(tables)
        letters = string.ascii_letters[: values.ndim]
        found = np.einsum(f"{letters}->a{letters[axis + 1]}", values)
        return np.asarray(found.reshape(*np.shape(tables)[:-1], -1))

    def fit(self, tables: npt.ArrayLike) -> Floats:
        """Return the tables of the model with the marginals and totals of the given ones.

        The `tables`, shape (..., cells), are finite and not negative: counts or proportions. A
        total of 0 gives zeros.

        Examples
        --------
        >>> Independence((2, 2)).fit([3.0, 1.0, 1.0, 3.0])
        array([2., 2., 2., 2.])
        """
        values = self._batch(tables).reshape(-1, self.cells)
        if not np.all(np.isfinite(values)) or np.any(values < 0):
            raise DeniableError(
                "tables must be finite and not negative to fit a model; project them first with "
                "deniable.contingency.nearest_tables"
            )
        total = values.sum(axis=1)
        scale = np.divide(1.0, total, out=np.zeros_like(total), where=total > 0)
        fitted = total.reshape(-1, *[1] * len(self.shape))
        for axis in range(len(self.shape)):
            share = self.margin(values, axis) * scale[:, None]
            open_axes = [-1 if a == axis else 1 for a in range(len(self.shape))]
            fitted = fitted * share.reshape(len(values), *open_axes)
        return np.asarray(fitted.reshape(np.shape(tables)))

    def _batch(self, tables: npt.ArrayLike) -> Floats:
        values = np.asarray(tables, dtype=float)
        if values.ndim == 0 or values.shape[-1] != self.cells:
            raise DeniableError(
                f"tables of shape {values.shape} do not fit a model of {self.cells} cells; the "
                "last axis must have one entry per cell"
            )
        return values.reshape(-1, *self.shape)


def subsets(items: Sequence[Item]) -> list[tuple[Item, ...]]:
    """Return the nonempty subsets of `items`, each in their order, smaller ones first."""
    return [subset for size in range(len(items)) for subset in combinations(items, size + 1)]


def effect_columns(
    shape: Sequence[int], sets: Sequence[Sequence[int]], spread: Sequence[float]
) -> Floats:
    """Return Helmert contrasts of `sets` of axes of a table of this `shape`, side by side.

    The contrasts of each set are orthonormal, and orthogonal to a constant. `spread` has a weight
    for each axis; the weights of the axes outside the set multiply the contrasts.
    """
    columns = []
    for axes in sets:
        column: Floats = np.ones((1, 1))
        for axis, (size, weight) in enumerate(zip(shape, spread, strict=True)):
            factor = scipy.linalg.helmert(size).T if axis in axes else np.full((size, 1), weight)
            column = np.kron(column, np.ascontiguousarray(factor))
        columns.append(column)
    return np.hstack(columns)


@named_types
def two_step_estimate(
    noisy: npt.ArrayLike, totals: npt.ArrayLike, model: Independence
) -> tuple[Floats, Floats]:
    """Return the nearest tables and the model's expected counts ([rrba], section 6), (..., cells).

    Parameters
    ----------
    noisy : finite, shape (..., cells)
        The noisy counts.
    totals : positive, shape (...) or a single number
        The number of records of each table.
    model : Independence
        The model of step two.

    Examples
    --------
    >>> model = Independence((2, 2))
    >>> nearest, fitted = two_step_estimate([6.0, -2.0, 2.0, 2.0], 8, model)
    >>> nearest.round(2).tolist(), fitted.round(2).tolist()
    ([5.33, 0.0, 1.33, 1.33], [4.44, 0.89, 2.22, 0.44])
    """
    tables = nearest_tables(noisy, totals)
    return tables, model.fit(tables)


def nearest_tables(noisy: npt.ArrayLike, totals: npt.ArrayLike) -> Floats:
    """Return the non-negative tables of given totals closest to noisy ones ([rrba], (7)).

    For `noisy` and `totals` see `two_step_estimate`.

    Examples
    --------
    >>> nearest_tables([6.0, -2.0, 4.0], 8)
    array([5., 0., 3.])
    """
    values = np.asarray(noisy, dtype=float)
    if values.ndim == 0 or not values.shape[-1]:
        raise DeniableError("a noisy table needs at least one cell on the last axis")
    n = np.broadcast_to(positive_totals(totals), values.shape[:-1])
    # Add the same number to all cells. Without negative results this is the projection.
    shifted = values + ((n - values.sum(axis=-1)) / values.shape[-1])[..., None]
    short = ~(shifted.min(axis=-1) >= 0)  # also true for NaN
    if np.any(short):
        total = n[short][..., None]
        shifted[short] = total * euclidean_projection(shifted[short] / total)
    return np.asarray(shifted)


def positive_totals(totals: npt.ArrayLike) -> Floats:
    """Return `totals` as floats; raise `DeniableError` unless they are positive and finite."""
    n = np.asarray(totals, dtype=float)
    if not np.all(np.isfinite(n)) or np.any(n <= 0):
        raise DeniableError("the totals of tables must be finite and positive; drop empty tables")
    return n
